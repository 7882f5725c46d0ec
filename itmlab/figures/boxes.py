"""Rounded boxes, and words in them."""

from typing import NamedTuple

from .labels import label
from .letters import shortened, text_width
from .pictures import Canvas
from .theme import PAPER


class Box(NamedTuple):
    """A box by its edges, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def edge_towards(self, x: float, y: float, room: float = 0.0) -> tuple[float, float]:
        """Where the line from the middle of the box to (x, y) leaves it, `room` pixels outside."""
        middle = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        across, down = x - middle[0], y - middle[1]
        width, height = (self.right - self.left) / 2 + room, (self.bottom - self.top) / 2 + room
        share = min(width / max(abs(across), 1e-6), height / max(abs(down), 1e-6), 1.0)
        return middle[0] + share * across, middle[1] + share * down


def rounded(box: Box, radius: float) -> str:
    """The outline of a box with rounded corners, as an SVG path."""
    left, top, right, bottom = box
    r = min(radius, (right - left) / 2, (bottom - top) / 2)
    return (
        f"M {left + r:.1f} {top:.1f} L {right - r:.1f} {top:.1f} Q {right:.1f} {top:.1f} {right:.1f} {top + r:.1f} "
        f"L {right:.1f} {bottom - r:.1f} Q {right:.1f} {bottom:.1f} {right - r:.1f} {bottom:.1f} "
        f"L {left + r:.1f} {bottom:.1f} Q {left:.1f} {bottom:.1f} {left:.1f} {bottom - r:.1f} "
        f"L {left:.1f} {top + r:.1f} Q {left:.1f} {top:.1f} {left + r:.1f} {top:.1f} Z"
    )


def fill(canvas: Canvas, box: Box, colour: str, *, radius: float = 6) -> None:
    """A rounded box in one colour, below the words."""
    style = {"fillcolor": colour, "line": {"width": 0}, "layer": "below"}
    canvas.shapes.append({"type": "path", "path": rounded(box, radius), **style})


def chip_size(text: str, size: int, *, longest: float = 220) -> tuple[float, float]:
    """Width and height of a chip with `text`."""
    return min(text_width(text, size) * 1.07 + size * 1.3, longest), size * 1.9


def chip(canvas: Canvas, text: str, middle: tuple[float, float], colour: str, size: int, *, ink: str = PAPER) -> Box:
    """Bold `text`, cut where too long, in a rounded box about `middle`; gives the box."""
    width, height = chip_size(text, size)
    (x, y), short = middle, shortened(text, size * 1.07, width - size)
    box = Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    fill(canvas, box, colour, radius=height / 2.6)
    canvas.words(f"<b>{label(short)}</b>", x, y, size=size, colour=ink, across="center", down="middle")
    return box
