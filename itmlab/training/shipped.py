"""The runs that ship with the package."""

from pathlib import Path

HOME = Path(__file__).parent.parent / "pretrained"


def shipped_names() -> list[str]:
    """Their names."""
    return sorted(path.parent.name for path in HOME.glob("*/recipe.json"))


def shipped_directory(name: str) -> Path:
    """Where one of them lies."""
    return HOME / name
