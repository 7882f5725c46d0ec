"""Birds and ducks."""

from ..kinds import COLOURS
from ..scene import Thing
from .canvas import Pen, darker, lighter

_BEAK = (246, 166, 44)
_EYE = (30, 26, 32)


def draw_bird(pen: Pen, thing: Thing) -> None:
    """A small bird, standing or with wings spread."""
    colour = COLOURS[thing.colour]
    wing = darker(colour, 0.25) if thing.colour != "black" else lighter(colour, 0.18)
    if thing.pose == "fly":
        y = 0.42
        pen.blob([(-0.1, y + 0.02), (-0.3, y + 0.5), (-0.08, y + 0.56), (0.16, y + 0.1)], wing)
        pen.polygon([(-0.3, y), (-0.72, y + 0.12), (-0.66, y - 0.1), (-0.3, y - 0.12)], wing)
        pen.ellipse(0.0, y, 0.4, 0.2, colour, angle=8)
        pen.polygon([(0.58, y + 0.15), (0.76, y + 0.07), (0.58, y + 0.02)], _BEAK)
        pen.ellipse(0.44, y + 0.12, 0.18, 0.17, colour)
        pen.blob(
            [(-0.14, y), (-0.5, y + 0.4), (-0.36, y + 0.52), (0.04, y + 0.34), (0.2, y + 0.04)], lighter(wing, 0.12)
        )
        pen.ellipse(0.5, y + 0.16, 0.035, 0.042, _EYE if thing.colour != "black" else (245, 245, 245), rim=False)
        return
    for x in (-0.04, 0.1):
        pen.limb([(x, 0.25), (x, 0.03), (x + 0.09, 0.03)], 0.045, _BEAK)
    pen.polygon([(-0.28, 0.42), (-0.6, 0.34), (-0.54, 0.22), (-0.2, 0.28)], wing)
    pen.ellipse(0.0, 0.44, 0.36, 0.26, colour, angle=22)
    pen.polygon([(0.46, 0.82), (0.62, 0.74), (0.46, 0.67)], _BEAK)
    pen.ellipse(0.27, 0.76, 0.22, 0.21, colour)
    pen.ellipse(0.14, 0.36, 0.18, 0.12, lighter(colour, 0.45), rim=False)
    pen.ellipse(-0.1, 0.44, 0.24, 0.14, wing, angle=24)
    pen.ellipse(0.34, 0.8, 0.04, 0.05, _EYE if thing.colour != "black" else (245, 245, 245), rim=False)


def draw_duck(pen: Pen, thing: Thing) -> None:
    """A duck, standing or swimming."""
    colour = {"white": (250, 249, 244), "yellow": (250, 216, 74), "brown": (156, 112, 72)}[thing.colour]
    low = 0.2 if thing.pose == "swim" else 0.0
    if not low:
        for x in (-0.08, 0.08):
            pen.limb([(x, 0.24), (x, 0.04)], 0.05, _BEAK)
            pen.ellipse(x + 0.06, 0.03, 0.09, 0.03, _BEAK)
    y = 0.4 - low
    pen.blob(
        [
            (-0.58, y + 0.2),
            (-0.36, y + 0.06),
            (0.1, y + 0.14),
            (0.3, y),
            (0.2, y - 0.2),
            (-0.2, y - 0.22),
            (-0.46, y - 0.06),
        ],
        colour,
    )
    pen.limb([(0.2, y), (0.26, y + 0.34)], 0.2, colour)
    head = (120, 170, 110) if thing.colour == "brown" else colour
    pen.ellipse(0.46, y + 0.38, 0.13, 0.055, _BEAK, angle=-6)
    pen.ellipse(0.28, y + 0.42, 0.18, 0.17, head)
    pen.blob(
        [(-0.4, y + 0.06), (-0.1, y + 0.08), (0.1, y), (-0.06, y - 0.12), (-0.3, y - 0.08)],
        darker(colour, 0.14),
        rim=False,
    )
    pen.ellipse(0.34, y + 0.46, 0.03, 0.038, _EYE, rim=False)
    if low:
        pen.limb([(-0.5, 0.0), (0.45, 0.0)], 0.05, (214, 236, 246), rim=False)
