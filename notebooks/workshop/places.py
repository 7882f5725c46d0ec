"""Where the notebooks, figures and results are: in a checkout, and the results in an installed wheel too."""

import os
import shutil
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from itmlab.errors import ItmlabError

CHECKOUT = Path(__file__).resolve().parents[2]


def project_directory() -> Path | None:
    """Return the checkout that this package was installed from (editable), or None for an installed copy."""
    return CHECKOUT if (CHECKOUT / "pyproject.toml").is_file() else None


def notebook_directory() -> Path:
    """Return the `notebooks` folder of the checkout.

    Raises:
        ItmlabError: this is an installed wheel, which has no notebooks.
    """
    if project_directory() is None:
        remedy = "git clone the project and install it with: pip install -e ."
        raise ItmlabError("the notebooks come with the clone, not with the wheel", remedy=remedy)
    return CHECKOUT / "notebooks"


def figure_directory() -> Path:
    """Return where figures are written: ITMLAB_FIGURES, else `figures` of the checkout or the working directory."""
    named = os.environ.get("ITMLAB_FIGURES")
    return Path(named) if named else (project_directory() or Path.cwd()) / "figures"


@cache
def result_directory() -> Path:
    """Return where committed results are: in the checkout, in a wheel's data, or else in the working directory."""
    if project_directory() is not None:
        return CHECKOUT / "results"
    try:
        paths = files("itmlab") or ()
    except PackageNotFoundError:
        paths = ()
    results = (Path(str(path.locate())).resolve().parent for path in paths if "results" in path.parts)
    return next(results, Path.cwd() / "results")


def threads_of_a_process(count: int) -> dict[str, str]:
    """Return the environment in which a child process computes with so many threads, however many cores it sees."""
    libraries = ("OMP", "MKL", "OPENBLAS", "NUMBA")
    return dict.fromkeys((f"{library}_NUM_THREADS" for library in libraries), str(count))


def checked_out() -> str:
    """Return the commit that is checked out, or "" outside a checkout or without git."""
    git = shutil.which("git")
    if git is None:
        return ""
    words = [git, "-C", str(CHECKOUT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
