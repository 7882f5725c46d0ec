"""Things that stand: furniture, trees, houses and the like."""

from collections.abc import Callable

from ..kinds import COLOURS
from ..scene import Thing
from .canvas import Pen, darker, lighter
from .clothes import weave

_BARK = (124, 86, 56)


def draw_bench(pen: Pen, thing: Thing) -> None:
    """A bench with a back."""
    colour = COLOURS[thing.colour]
    for x in (-0.78, 0.78):
        pen.limb([(x, 0.95), (x, 0.04)], 0.09, darker(colour, 0.35))
    for y in (0.68, 0.88):
        pen.box(-0.94, y - 0.06, 0.94, y + 0.08, colour, round=0.03)
    for x in (-0.68, 0.68):
        pen.limb([(x, 0.42), (x + 0.03, 0.04)], 0.09, darker(colour, 0.3))
    pen.box(-0.95, 0.4, 0.95, 0.5, lighter(colour, 0.15), round=0.03)


def draw_chair(pen: Pen, thing: Thing) -> None:
    """A chair."""
    colour = COLOURS[thing.colour]
    for x in (-0.22, 0.22):
        pen.limb([(x, 0.42), (x, 0.03)], 0.06, darker(colour, 0.3))
    pen.limb([(-0.27, 0.98), (-0.27, 0.03)], 0.07, colour)
    pen.limb([(0.27, 0.42), (0.29, 0.03)], 0.07, colour)
    pen.box(-0.31, 0.56, -0.2, 0.99, colour, round=0.04)
    pen.box(-0.32, 0.39, 0.33, 0.48, lighter(colour, 0.12), round=0.03)


def draw_sofa(pen: Pen, thing: Thing) -> None:
    """A sofa."""
    colour = COLOURS[thing.colour]
    for x in (-0.8, 0.8):
        pen.limb([(x, 0.12), (x, 0.03)], 0.08, (84, 60, 44))
    pen.box(-0.88, 0.2, 0.88, 0.98, darker(colour, 0.12), round=0.16)
    for x in (-0.72, 0.02):
        pen.box(x, 0.3, x + 0.7, 0.54, lighter(colour, 0.14), round=0.07)
    for x in (-0.98, 0.72):
        pen.box(x, 0.1, x + 0.26, 0.68, colour, round=0.11)
    pen.box(-0.74, 0.1, 0.74, 0.32, colour, round=0.04)


def draw_table(pen: Pen, thing: Thing) -> None:
    """A table that one can look under."""
    colour = COLOURS[thing.colour] if thing.colour != "brown" else (172, 116, 68)
    for x in (-0.56, 0.56):
        pen.limb([(x, 0.86), (x, 0.14)], 0.07, darker(colour, 0.4))
    for x in (-0.72, 0.72):
        pen.limb([(x, 0.86), (x, 0.04)], 0.09, darker(colour, 0.2))
    pen.box(-0.84, 0.84, 0.84, 0.99, colour, round=0.04)


def draw_tree(pen: Pen, thing: Thing) -> None:
    """A tree: a round crown, or a fir."""
    green = (74, 156, 82) if thing.colour == "green" else (232, 138, 46)
    pen.polygon([(-0.055, 0.0), (0.055, 0.0), (0.04, 0.45), (-0.04, 0.45)], _BARK)
    if thing.shade > 0.65:
        for y, wide in ((0.2, 0.33), (0.42, 0.26), (0.62, 0.19)):
            pen.polygon([(-wide, y), (wide, y), (0, y + 0.37)], darker(green, 0.1 + 0.15 * (0.62 - y)))
        return
    pen.limb([(0, 0.3), (0.13, 0.5)], 0.04, _BARK)
    for x, y, r in ((-0.17, 0.55, 0.17), (0.18, 0.57, 0.17), (-0.1, 0.74, 0.18), (0.11, 0.77, 0.18), (0, 0.62, 0.2)):
        pen.ellipse(x, y, r, r, green)
    for x, y in ((-0.16, 0.66), (0.06, 0.84), (0.16, 0.62), (-0.03, 0.56)):
        pen.ellipse(x, y, 0.07, 0.045, lighter(green, 0.22), rim=False)


def draw_house(pen: Pen, thing: Thing) -> None:
    """A house with door, windows and a roof."""
    colour = lighter(COLOURS[thing.colour], 0.12)
    roof = (150, 70, 60) if thing.colour not in ("red", "brown") else (92, 92, 104)
    pen.box(0.2, 0.72, 0.32, 0.97, darker(roof, 0.2))
    pen.box(-0.45, 0.0, 0.45, 0.58, colour)
    pen.polygon([(-0.55, 0.56), (0, 0.97), (0.55, 0.56)], roof)
    pen.box(-0.09, 0.0, 0.1, 0.34, (110, 74, 50), rim=False)
    pen.ellipse(0.06, 0.16, 0.016, 0.016, (250, 220, 120), rim=False)
    for x in (-0.36, 0.2):
        pen.box(x - 0.015, 0.255, x + 0.165, 0.455, (250, 250, 246), rim=False)
        pen.box(x, 0.27, x + 0.15, 0.44, (150, 200, 228), rim=False)
        pen.limb([(x + 0.075, 0.27), (x + 0.075, 0.44)], 0.016, (250, 250, 246), rim=False)


def draw_tent(pen: Pen, thing: Thing) -> None:
    """A tent."""
    colour = COLOURS[thing.colour]
    pen.polygon([(0.0, 0.98), (0.42, 0.9), (0.69, 0.02), (0.3, 0.02)], darker(colour, 0.25))
    pen.polygon([(-0.66, 0.02), (0.0, 0.98), (0.34, 0.02)], colour, pattern=weave(thing))
    pen.polygon([(-0.3, 0.02), (-0.06, 0.66), (0.06, 0.02)], (56, 46, 60), rim=False)
    pen.polygon([(-0.3, 0.02), (-0.06, 0.66), (-0.2, 0.02)], lighter(colour, 0.3), rim=False)


def draw_box(pen: Pen, thing: Thing) -> None:
    """A box with a lid."""
    colour = COLOURS[thing.colour] if thing.colour != "brown" else (190, 140, 88)
    pen.polygon([(-0.5, 0.72), (-0.36, 0.97), (0.56, 0.97), (0.46, 0.72)], lighter(colour, 0.3))
    pen.polygon([(0.46, 0.02), (0.46, 0.72), (0.56, 0.97), (0.56, 0.26)], darker(colour, 0.3))
    pen.box(-0.5, 0.02, 0.46, 0.74, colour)
    pen.box(-0.09, 0.02, 0.06, 0.74, lighter(colour, 0.45), rim=False)


def draw_fence(pen: Pen, thing: Thing) -> None:
    """A picket fence."""
    colour = COLOURS[thing.colour]
    for y in (0.3, 0.68):
        pen.box(-1.14, y - 0.05, 1.14, y + 0.06, darker(colour, 0.18))
    for step in range(7):
        x = -1.02 + step * 0.34
        pen.polygon([(x - 0.1, 0.02), (x + 0.1, 0.02), (x + 0.1, 0.8), (x, 0.97), (x - 0.1, 0.8)], colour)


def draw_snowman(pen: Pen, thing: Thing) -> None:
    """A snowman with a carrot nose."""
    snow = (250, 251, 255)
    for side in (-1, 1):
        pen.limb([(side * 0.16, 0.56), (side * 0.33, 0.7)], 0.025, _BARK)
    pen.ellipse(0, 0.22, 0.27, 0.22, snow)
    pen.ellipse(0, 0.52, 0.2, 0.18, snow)
    pen.ellipse(0, 0.78, 0.15, 0.14, snow)
    pen.box(-0.17, 0.87, 0.17, 0.9, (44, 44, 56))
    pen.box(-0.11, 0.88, 0.11, 1.0, (44, 44, 56))
    pen.polygon([(0.0, 0.79), (0.17, 0.76), (0.0, 0.74)], (244, 140, 40))
    for x, y in ((-0.05, 0.82), (0.06, 0.82), (0, 0.58), (0, 0.49), (0, 0.3)):
        pen.ellipse(x, y, 0.018, 0.018, (40, 40, 50), rim=False)


FURNITURE: dict[str, Callable[[Pen, Thing], None]] = {
    "bench": draw_bench,
    "chair": draw_chair,
    "sofa": draw_sofa,
    "table": draw_table,
    "tree": draw_tree,
    "house": draw_house,
    "tent": draw_tent,
    "box": draw_box,
    "fence": draw_fence,
    "snowman": draw_snowman,
}
