"""What a figure says and what an explorer asks, as tests read them."""

import html
import re

import plotly.graph_objects as go
from ipywidgets import Widget
from workshop.explore.base import Explorer


def words(figure: go.Figure) -> list[str]:
    """The text of every annotation, in the order of drawing."""
    return [annotation.text for annotation in figure.layout.annotations]


def headings(figure: go.Figure) -> tuple[str, str]:
    """The title and the subtitle of a figure."""
    parts = re.findall("<span[^>]*>(.*?)</span>", figure.layout.title.text)
    title, subtitle = (html.unescape(part.replace("<br>", " ")) for part in [*parts, ""][:2])
    return title, subtitle


def controls(explorer: Explorer) -> dict[str, Widget]:
    """An explorer's controls by their names."""
    return {control.description: control for control in explorer.controls}


def opened(explorer: Explorer) -> Explorer:
    """The explorer with its widget made, so that `shown` are its live figures."""
    explorer.widget()
    return explorer
