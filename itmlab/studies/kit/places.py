"""Where the notebooks, figures and results of a checkout or an installed wheel are."""

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]


def project_directory() -> Path | None:
    """Return the checkout that this package was installed from (editable), or None for an installed copy."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else None


@cache
def shipped_directory() -> Path | None:
    """Return what holds `notebooks`, `figures` and the project's pages: the checkout, or a wheel's copy."""
    root = project_directory()
    if root is not None:
        return root
    try:
        paths = files("itmlab") or ()
    except PackageNotFoundError:
        return None
    return next((Path(str(path.locate())).parents[1].resolve() for path in paths if path.suffix == ".ipynb"), None)


def notebook_directory() -> Path | None:
    """Return the `notebooks` folder of the checkout or of an installed wheel, or None."""
    root = shipped_directory()
    return root / "notebooks" if root is not None and (root / "notebooks").is_dir() else None


def figure_directory() -> Path:
    """Return where figures are written: ITMLAB_FIGURES, else `figures` of the checkout or the working directory."""
    named = os.environ.get("ITMLAB_FIGURES")
    return Path(named) if named else (project_directory() or Path.cwd()) / "figures"


def threads_of_a_process(count: int) -> dict[str, str]:
    """Return the environment in which a child process computes with so many threads, however many cores it sees."""
    libraries = ("OMP", "MKL", "OPENBLAS", "NUMBA")
    return dict.fromkeys((f"{library}_NUM_THREADS" for library in libraries), str(count))
