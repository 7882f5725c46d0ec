"""The figures that are kept with the project, read back as they were saved."""

import plotly.graph_objects as go

from ..errors import ItmlabError
from ..project import project_directory
from ..storage import read_json


def committed(name: str) -> go.Figure:
    """The figure NAME of the checkout's `figures`; an unknown one is an ItmlabError that lists those there."""
    root = project_directory()
    if root is None:
        raise ItmlabError(
            "the figures are not beside the package", remedy="git clone the project, then pip install -e ."
        )
    directory = root / "figures"
    if not (directory / f"{name}.json").is_file():
        there = ", ".join(sorted(path.stem for path in directory.glob("*.json"))) or "none"
        raise ItmlabError(f"no figure {name!r}", where=str(directory), remedy=f"there are: {there}")
    return go.Figure(read_json(directory / f"{name}.json")["figure"])
