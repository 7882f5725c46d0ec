"""Where the notebooks and figures of a checkout are, and which profile a notebook runs in."""

import os
from pathlib import Path
from typing import Literal

from .errors import ItmlabError

Profile = Literal["quick", "full"]


def project_directory() -> Path | None:
    """The checkout that this package was installed from (editable), or None for an installed copy."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() else None


def notebook_directory() -> Path | None:
    """The checkout's `notebooks` folder, or None."""
    root = project_directory()
    return root / "notebooks" if root is not None and (root / "notebooks").is_dir() else None


def profile() -> Profile:
    """`quick` (the default: a laptop's minute) or `full` (what made the committed figures), by ITMLAB_PROFILE."""
    name = os.environ.get("ITMLAB_PROFILE", "quick")
    if name not in ("quick", "full"):
        raise ItmlabError(f"unknown profile {name!r}", where="ITMLAB_PROFILE", remedy="use quick or full")
    return name


def figure_directory() -> Path:
    """Where figures are written: ITMLAB_FIGURES, else `figures` of the checkout (or of the working directory)."""
    given = os.environ.get("ITMLAB_FIGURES")
    return Path(given) if given else (project_directory() or Path.cwd()) / "figures"
