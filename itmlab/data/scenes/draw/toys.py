"""Things that are held, thrown, flown and carried."""

from collections.abc import Callable

from ..kinds import COLOURS
from ..scene import Thing
from .canvas import Pen, darker, lighter
from .clothes import weave


def draw_ball(pen: Pen, thing: Thing) -> None:
    """A ball."""
    colour = COLOURS[thing.colour]
    pen.ellipse(0, 0.5, 0.48, 0.48, colour, pattern=weave(thing))
    if not thing.pattern:
        pen.limb([(-0.42, 0.36), (0.0, 0.26), (0.42, 0.36)], 0.07, darker(colour, 0.2), rim=False)
    pen.ellipse(-0.15, 0.7, 0.13, 0.1, lighter(colour, 0.65), angle=30, rim=False)


def draw_kite(pen: Pen, thing: Thing) -> None:
    """A kite with a tail of bows."""
    colour = COLOURS[thing.colour]
    pen.limb([(0, 0.34), (0.1, 0.24), (-0.06, 0.12), (0.06, 0.02)], 0.02, (90, 90, 100), rim=False)
    for x, y in ((0.08, 0.23), (-0.04, 0.12)):
        pen.polygon(
            [(x - 0.08, y + 0.035), (x - 0.08, y - 0.035), (x + 0.08, y + 0.035), (x + 0.08, y - 0.035)],
            (250, 250, 250) if thing.colour != "white" else (220, 60, 60),
        )
    pen.polygon([(0, 0.33), (0.38, 0.72), (0, 0.99), (-0.38, 0.72)], colour, pattern=weave(thing))
    if not thing.pattern:
        pen.polygon([(0, 0.33), (0.38, 0.72), (0, 0.72)], darker(colour, 0.2), rim=False)
        pen.polygon([(0, 0.99), (-0.38, 0.72), (0, 0.72)], lighter(colour, 0.35), rim=False)


def draw_balloon(pen: Pen, thing: Thing) -> None:
    """A balloon on a string."""
    colour = COLOURS[thing.colour]
    pen.limb([(0, 0.42), (0.03, 0.28), (-0.03, 0.14), (0, 0.0)], 0.02, (90, 90, 100), rim=False)
    pen.polygon([(-0.05, 0.38), (0.05, 0.38), (0, 0.45)], darker(colour, 0.15))
    pen.ellipse(0, 0.71, 0.25, 0.29, colour)
    pen.ellipse(-0.09, 0.82, 0.055, 0.085, lighter(colour, 0.65), angle=-25, rim=False)


def draw_umbrella(pen: Pen, thing: Thing) -> None:
    """An open umbrella."""
    colour = COLOURS[thing.colour]
    pen.limb([(0, 0.99), (0, 0.1), (0.04, 0.04), (0.1, 0.08)], 0.035, (96, 70, 52))
    dome = [(-0.54, 0.52), (-0.46, 0.72), (-0.26, 0.88), (0, 0.94), (0.26, 0.88), (0.46, 0.72), (0.54, 0.52)]
    hem = [(0.36, 0.58), (0.18, 0.52), (0, 0.58), (-0.18, 0.52), (-0.36, 0.58)]
    pen.polygon(dome + hem, colour, pattern=weave(thing))
    if not thing.pattern:
        for x in (-0.18, 0.18):
            pen.limb([(x, 0.54), (x * 0.7, 0.8), (0, 0.93)], 0.016, darker(colour, 0.3), rim=False)


def draw_flower(pen: Pen, thing: Thing) -> None:
    """A flower with stem and leaves."""
    colour = COLOURS[thing.colour]
    pen.limb([(0, 0.0), (0, 0.7)], 0.06, (70, 150, 70))
    pen.ellipse(0.11, 0.26, 0.13, 0.06, (88, 170, 84), angle=35)
    pen.ellipse(-0.11, 0.36, 0.12, 0.055, (88, 170, 84), angle=145)
    for x, y in ((0, 0.15), (0.143, 0.046), (0.088, -0.121), (-0.088, -0.121), (-0.143, 0.046)):
        pen.ellipse(x, 0.76 + y, 0.1, 0.1, colour)
    pen.ellipse(0, 0.76, 0.085, 0.085, (252, 208, 64) if thing.colour != "yellow" else (170, 100, 40), rim=False)


def draw_book(pen: Pen, thing: Thing) -> None:
    """An open book, its cover towards us."""
    colour = COLOURS[thing.colour]
    pen.polygon([(-0.6, 0.9), (0, 0.78), (0.6, 0.9), (0.6, 0.98), (0, 0.86), (-0.6, 0.98)], (252, 250, 240))
    pen.polygon([(-0.64, 0.06), (0, 0.0), (0.64, 0.06), (0.64, 0.9), (0, 0.8), (-0.64, 0.9)], colour)
    pen.limb([(0, 0.02), (0, 0.8)], 0.06, darker(colour, 0.35), rim=False)
    pen.box(0.18, 0.5, 0.48, 0.62, lighter(colour, 0.6), rim=False)


def draw_guitar(pen: Pen, thing: Thing) -> None:
    """A guitar, its neck up and forward."""
    colour = COLOURS[thing.colour] if thing.colour != "brown" else (196, 128, 62)
    pen.limb([(0.1, 0.55), (1.05, 0.9)], 0.14, (86, 58, 42))
    pen.limb([(1.04, 0.9), (1.16, 0.95)], 0.22, (60, 42, 34))
    pen.ellipse(-0.72, 0.36, 0.42, 0.42, colour)
    pen.ellipse(-0.2, 0.5, 0.32, 0.33, colour)
    pen.ellipse(-0.4, 0.46, 0.16, 0.16, (50, 34, 30), rim=False)
    pen.limb([(-0.8, 0.2), (-0.74, 0.46)], 0.09, (60, 42, 34), rim=False)
    pen.limb([(-0.76, 0.33), (1.05, 0.9)], 0.03, (240, 236, 220), rim=False)


def draw_cup(pen: Pen, thing: Thing) -> None:
    """A cup with a handle."""
    colour = COLOURS[thing.colour]
    for a, b in (((0.3, 0.68), (0.5, 0.62)), ((0.5, 0.62), (0.48, 0.36)), ((0.48, 0.36), (0.26, 0.26))):
        pen.limb([a, b], 0.1, darker(colour, 0.12))
    pen.polygon([(-0.42, 0.86), (0.36, 0.86), (0.27, 0.06), (-0.33, 0.06)], colour, pattern=weave(thing))
    pen.ellipse(-0.03, 0.86, 0.39, 0.11, lighter(colour, 0.4))
    pen.ellipse(-0.03, 0.85, 0.31, 0.07, (104, 66, 44), rim=False)


def draw_bag(pen: Pen, thing: Thing) -> None:
    """A bag with a handle."""
    colour = COLOURS[thing.colour]
    for a, b in (((-0.2, 0.62), (-0.16, 0.9)), ((-0.16, 0.9), (0.16, 0.9)), ((0.16, 0.9), (0.2, 0.62))):
        pen.limb([a, b], 0.07, darker(colour, 0.35))
    pen.polygon([(-0.36, 0.66), (0.36, 0.66), (0.44, 0.03), (-0.44, 0.03)], colour)
    pen.box(-0.38, 0.52, 0.38, 0.6, darker(colour, 0.25), rim=False)
    pen.box(-0.07, 0.46, 0.07, 0.58, (244, 214, 120), rim=False)


TOYS: dict[str, Callable[[Pen, Thing], None]] = {
    "ball": draw_ball,
    "kite": draw_kite,
    "balloon": draw_balloon,
    "umbrella": draw_umbrella,
    "flower": draw_flower,
    "book": draw_book,
    "guitar": draw_guitar,
    "cup": draw_cup,
    "bag": draw_bag,
}
