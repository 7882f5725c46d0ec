"""Vehicles, seen from the side."""

from collections.abc import Callable

from ..kinds import COLOURS
from ..scene import Thing
from .canvas import CIRCLE, Pen, darker, lighter

GLASS = (196, 226, 240)
TYRE = (46, 46, 54)


def _wheel(pen: Pen, x: float, r: float) -> None:
    pen.ellipse(x, r, r, r, TYRE)
    pen.ellipse(x, r, r * 0.5, r * 0.5, (200, 204, 210), rim=False)


def draw_car(pen: Pen, thing: Thing) -> None:
    """A car."""
    colour = COLOURS[thing.colour]
    cabin = [(-0.62, 0.55), (-0.44, 0.98), (0.3, 0.98), (0.6, 0.56)]
    pen.polygon(cabin, darker(colour, 0.08))
    pen.polygon([(-0.5, 0.58), (-0.38, 0.9), (-0.1, 0.9), (-0.1, 0.58)], GLASS, rim=False)
    pen.polygon([(-0.02, 0.58), (-0.02, 0.9), (0.26, 0.9), (0.48, 0.58)], GLASS, rim=False)
    pen.box(-1.03, 0.18, 1.03, 0.6, colour, round=0.16)
    pen.box(-1.0, 0.2, 1.0, 0.29, darker(colour, 0.22), rim=False)
    pen.ellipse(0.97, 0.45, 0.06, 0.07, (255, 240, 170), rim=False)
    pen.ellipse(-0.98, 0.45, 0.05, 0.07, (200, 40, 40), rim=False)
    pen.limb([(-0.16, 0.48), (-0.04, 0.48)], 0.04, darker(colour, 0.4), rim=False)
    for x in (-0.58, 0.58):
        _wheel(pen, x, 0.22)


def draw_bus(pen: Pen, thing: Thing) -> None:
    """A bus with a row of windows."""
    colour = COLOURS[thing.colour]
    pen.box(-0.85, 0.12, 0.85, 0.99, colour, round=0.09)
    pen.box(-0.84, 0.34, 0.84, 0.42, lighter(colour, 0.5) if thing.colour != "white" else (90, 140, 200), rim=False)
    for window in range(5):
        x = -0.76 + window * 0.285
        pen.box(x, 0.54, x + 0.23, 0.86, GLASS, round=0.03, rim=False)
    pen.box(0.67, 0.54, 0.82, 0.86, lighter(GLASS, 0.3), round=0.03, rim=False)
    pen.ellipse(0.8, 0.24, 0.045, 0.05, (255, 240, 170), rim=False)
    for x in (-0.5, 0.5):
        _wheel(pen, x, 0.15)


def draw_truck(pen: Pen, thing: Thing) -> None:
    """A truck: cab in front, load behind."""
    colour = COLOURS[thing.colour]
    pen.box(-0.87, 0.3, 0.3, 0.98, (232, 232, 228) if thing.colour != "white" else (190, 196, 204), round=0.03)
    for x in (-0.6, -0.3, 0.0):
        pen.limb([(x, 0.36), (x, 0.92)], 0.02, (190, 190, 190), rim=False)
    pen.box(-0.87, 0.17, 0.86, 0.32, (70, 72, 82))
    pen.polygon([(0.34, 0.18), (0.34, 0.8), (0.62, 0.8), (0.76, 0.5), (0.87, 0.46), (0.87, 0.18)], colour)
    pen.polygon([(0.44, 0.5), (0.44, 0.73), (0.6, 0.73), (0.7, 0.5)], GLASS, rim=False)
    pen.ellipse(0.83, 0.32, 0.04, 0.05, (255, 240, 170), rim=False)
    for x in (-0.6, -0.25, 0.56):
        _wheel(pen, x, 0.17)


def _spoked(pen: Pen, x: float, r: float, thick: float) -> None:
    """A wheel that one sees through: a ring of short strokes."""
    ring = [(x + r * a, r + thick / 2 + r * b) for a, b in CIRCLE[::2]]
    pen.limb([*ring, ring[0]], thick, TYRE, rim=False)
    for a, b in CIRCLE[::4]:
        pen.limb([(x, r + thick / 2), (x + r * a, r + thick / 2 + r * b)], thick * 0.25, (170, 172, 180), rim=False)


def draw_bicycle(pen: Pen, thing: Thing) -> None:
    """A bicycle."""
    colour = COLOURS[thing.colour]
    for x in (-0.46, 0.46):
        _spoked(pen, x, 0.28, 0.07)
    hub, crank, seat, head = (-0.46, 0.31), (-0.06, 0.3), (-0.18, 0.7), (0.32, 0.72)
    for a, b in ((hub, crank), (hub, seat), (crank, seat), (seat, head), (crank, head), (head, (0.46, 0.31))):
        pen.limb([a, b], 0.06, colour)
    pen.limb([(-0.22, 0.74), (-0.18, 0.82)], 0.05, TYRE)
    pen.ellipse(-0.2, 0.84, 0.14, 0.045, (60, 44, 40))
    pen.limb([head, (0.3, 0.92), (0.42, 0.95)], 0.05, (90, 92, 100))
    pen.limb([crank, (0.0, 0.16)], 0.045, (90, 92, 100))


def draw_motorcycle(pen: Pen, thing: Thing) -> None:
    """A motorcycle."""
    colour = COLOURS[thing.colour]
    for x in (-0.55, 0.57):
        pen.ellipse(x, 0.27, 0.27, 0.27, TYRE)
        pen.ellipse(x, 0.27, 0.13, 0.13, (190, 194, 202), rim=False)
    pen.limb([(0.57, 0.28), (0.36, 0.84)], 0.07, (150, 152, 160))
    pen.box(-0.22, 0.2, 0.2, 0.48, (104, 106, 116), round=0.08)
    pen.limb([(-0.1, 0.22), (-0.72, 0.24)], 0.08, (184, 188, 196))
    pen.blob([(-0.12, 0.5), (0.0, 0.74), (0.28, 0.78), (0.4, 0.62), (0.24, 0.48)], colour)
    pen.blob([(-0.8, 0.62), (-0.6, 0.72), (-0.1, 0.66), (-0.1, 0.54), (-0.5, 0.52)], (44, 40, 46))
    pen.blob([(-0.82, 0.5), (-0.6, 0.62), (-0.3, 0.56), (-0.36, 0.46)], colour)
    pen.limb([(0.36, 0.84), (0.22, 0.94)], 0.06, (44, 44, 50))
    pen.ellipse(0.46, 0.74, 0.075, 0.085, (255, 242, 180))


def draw_boat(pen: Pen, thing: Thing) -> None:
    """A sailing boat."""
    colour = COLOURS[thing.colour]
    pen.limb([(-0.02, 0.2), (-0.02, 0.98)], 0.032, (120, 84, 56))
    pen.polygon([(0.03, 0.28), (0.03, 0.96), (0.42, 0.3)], (252, 250, 244))
    pen.polygon([(-0.07, 0.3), (-0.07, 0.86), (-0.38, 0.32)], (238, 232, 222))
    pen.polygon([(-0.5, 0.25), (0.52, 0.25), (0.36, 0.02), (-0.36, 0.02)], colour)
    pen.polygon(
        [(-0.485, 0.22), (0.505, 0.22), (0.47, 0.17), (-0.45, 0.17)],
        lighter(colour, 0.55) if thing.colour != "white" else (60, 110, 190),
        rim=False,
    )
    for x in (-0.42, -0.1, 0.22):
        pen.limb([(x, 0.015), (x + 0.2, 0.015)], 0.022, (222, 240, 248), rim=False)


def draw_skateboard(pen: Pen, thing: Thing) -> None:
    """A skateboard."""
    colour = COLOURS[thing.colour]
    for x in (-0.95, 0.95):
        pen.ellipse(x, 0.26, 0.27, 0.26, (240, 232, 210))
        pen.ellipse(x, 0.26, 0.1, 0.1, TYRE, rim=False)
    pen.limb([(-1.6, 0.92), (-1.2, 0.68), (1.2, 0.68), (1.6, 0.92)], 0.3, colour)


VEHICLES: dict[str, Callable[[Pen, Thing], None]] = {
    "car": draw_car,
    "bus": draw_bus,
    "truck": draw_truck,
    "bicycle": draw_bicycle,
    "motorcycle": draw_motorcycle,
    "boat": draw_boat,
    "skateboard": draw_skateboard,
}
