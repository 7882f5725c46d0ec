"""Things, each drawn by a function of its own kind's name: what stands, what is held or flown, what one rides in.

Coordinates are the pen's: x to the right, y up from where the thing stands, 1 is the kind's height.
"""

from collections.abc import Callable

from ..scene import Entity
from .canvas import CIRCLE, Colour, Pen, darker, lighter
from .people import weave

Drawer = Callable[[Pen, Entity, Colour], None]
_BARK, _GLASS, _TYRE, _STEEL, _LAMP = (124, 86, 56), (196, 226, 240), (46, 46, 54), (90, 92, 100), (255, 240, 170)

# Furniture, trees, houses and the like.


def _bench(pen: Pen, entity: Entity, colour: Colour) -> None:
    for x in (-0.78, 0.78):
        pen.limb([(x, 0.95), (x, 0.04)], 0.09, darker(colour, 0.35))
    for y in (0.68, 0.88):
        pen.box(-0.94, y - 0.06, 0.94, y + 0.08, colour, round=0.03)
    for x in (-0.68, 0.68):
        pen.limb([(x, 0.42), (x + 0.03, 0.04)], 0.09, darker(colour, 0.3))
    pen.box(-0.95, 0.4, 0.95, 0.5, lighter(colour, 0.15), round=0.03)


def _chair(pen: Pen, entity: Entity, colour: Colour) -> None:
    for x in (-0.22, 0.22):
        pen.limb([(x, 0.42), (x, 0.03)], 0.06, darker(colour, 0.3))
    pen.limb([(-0.27, 0.98), (-0.27, 0.03)], 0.07, colour)
    pen.limb([(0.27, 0.42), (0.29, 0.03)], 0.07, colour)
    pen.box(-0.31, 0.56, -0.2, 0.99, colour, round=0.04)
    pen.box(-0.32, 0.39, 0.33, 0.48, lighter(colour, 0.12), round=0.03)


def _sofa(pen: Pen, entity: Entity, colour: Colour) -> None:
    for x in (-0.8, 0.8):
        pen.limb([(x, 0.12), (x, 0.03)], 0.08, (84, 60, 44))
    pen.box(-0.88, 0.2, 0.88, 0.98, darker(colour, 0.12), round=0.16)
    for x in (-0.72, 0.02):
        pen.box(x, 0.3, x + 0.7, 0.54, lighter(colour, 0.14), round=0.07)
    for x in (-0.98, 0.72):
        pen.box(x, 0.1, x + 0.26, 0.68, colour, round=0.11)
    pen.box(-0.74, 0.1, 0.74, 0.32, colour, round=0.04)


def _table(pen: Pen, entity: Entity, colour: Colour) -> None:
    """A table that one can look under."""
    for x in (-0.56, 0.56):
        pen.limb([(x, 0.86), (x, 0.14)], 0.07, darker(colour, 0.4))
    for x in (-0.72, 0.72):
        pen.limb([(x, 0.86), (x, 0.04)], 0.09, darker(colour, 0.2))
    pen.box(-0.84, 0.84, 0.84, 0.99, colour, round=0.04)


def _tree(pen: Pen, entity: Entity, colour: Colour) -> None:
    """A tree: a round crown, or a fir."""
    green = (74, 156, 82) if entity.colour == "green" else (232, 138, 46)
    pen.polygon([(-0.055, 0.0), (0.055, 0.0), (0.04, 0.45), (-0.04, 0.45)], _BARK)
    if entity.shade > 0.65:
        for y, wide in ((0.2, 0.33), (0.42, 0.26), (0.62, 0.19)):
            pen.polygon([(-wide, y), (wide, y), (0, y + 0.37)], darker(green, 0.1 + 0.15 * (0.62 - y)))
        return
    pen.limb([(0, 0.3), (0.13, 0.5)], 0.04, _BARK)
    for x, y, r in ((-0.17, 0.55, 0.17), (0.18, 0.57, 0.17), (-0.1, 0.74, 0.18), (0.11, 0.77, 0.18), (0, 0.62, 0.2)):
        pen.ellipse(x, y, r, r, green)
    for x, y in ((-0.16, 0.66), (0.06, 0.84), (0.16, 0.62), (-0.03, 0.56)):
        pen.ellipse(x, y, 0.07, 0.045, lighter(green, 0.22), rim=False)


def _house(pen: Pen, entity: Entity, colour: Colour) -> None:
    colour = lighter(colour, 0.12)
    roof = (150, 70, 60) if entity.colour not in ("red", "brown") else (92, 92, 104)
    pen.box(0.2, 0.72, 0.32, 0.97, darker(roof, 0.2))
    pen.box(-0.45, 0.0, 0.45, 0.58, colour)
    pen.polygon([(-0.55, 0.56), (0, 0.97), (0.55, 0.56)], roof)
    pen.box(-0.09, 0.0, 0.1, 0.34, (110, 74, 50), rim=False)
    pen.ellipse(0.06, 0.16, 0.016, 0.016, (250, 220, 120), rim=False)
    for x in (-0.36, 0.2):
        pen.box(x - 0.015, 0.255, x + 0.165, 0.455, (250, 250, 246), rim=False)
        pen.box(x, 0.27, x + 0.15, 0.44, (150, 200, 228), rim=False)
        pen.limb([(x + 0.075, 0.27), (x + 0.075, 0.44)], 0.016, (250, 250, 246), rim=False)


def _tent(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.polygon([(0.0, 0.98), (0.42, 0.9), (0.69, 0.02), (0.3, 0.02)], darker(colour, 0.25))
    pen.polygon([(-0.66, 0.02), (0.0, 0.98), (0.34, 0.02)], colour, pattern=weave(entity))
    pen.polygon([(-0.3, 0.02), (-0.06, 0.66), (0.06, 0.02)], (56, 46, 60), rim=False)
    pen.polygon([(-0.3, 0.02), (-0.06, 0.66), (-0.2, 0.02)], lighter(colour, 0.3), rim=False)


def _box(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.polygon([(-0.5, 0.72), (-0.36, 0.97), (0.56, 0.97), (0.46, 0.72)], lighter(colour, 0.3))
    pen.polygon([(0.46, 0.02), (0.46, 0.72), (0.56, 0.97), (0.56, 0.26)], darker(colour, 0.3))
    pen.box(-0.5, 0.02, 0.46, 0.74, colour)
    pen.box(-0.09, 0.02, 0.06, 0.74, lighter(colour, 0.45), rim=False)


def _fence(pen: Pen, entity: Entity, colour: Colour) -> None:
    for y in (0.3, 0.68):
        pen.box(-1.14, y - 0.05, 1.14, y + 0.06, darker(colour, 0.18))
    for step in range(7):
        x = -1.02 + step * 0.34
        pen.polygon([(x - 0.1, 0.02), (x + 0.1, 0.02), (x + 0.1, 0.8), (x, 0.97), (x - 0.1, 0.8)], colour)


def _snowman(pen: Pen, entity: Entity, colour: Colour) -> None:
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


# Things that are held, thrown, flown and carried.


def _ball(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.ellipse(0, 0.5, 0.48, 0.48, colour, pattern=weave(entity))
    if not entity.pattern:
        pen.limb([(-0.42, 0.36), (0.0, 0.26), (0.42, 0.36)], 0.07, darker(colour, 0.2), rim=False)
    pen.ellipse(-0.15, 0.7, 0.13, 0.1, lighter(colour, 0.65), angle=30, rim=False)


def _kite(pen: Pen, entity: Entity, colour: Colour) -> None:
    """A kite with a tail of bows."""
    pen.limb([(0, 0.34), (0.1, 0.24), (-0.06, 0.12), (0.06, 0.02)], 0.02, (90, 90, 100), rim=False)
    for x, y in ((0.08, 0.23), (-0.04, 0.12)):
        bow = [(x - 0.08, y + 0.035), (x - 0.08, y - 0.035), (x + 0.08, y + 0.035), (x + 0.08, y - 0.035)]
        pen.polygon(bow, (250, 250, 250) if entity.colour != "white" else (220, 60, 60))
    pen.polygon([(0, 0.33), (0.38, 0.72), (0, 0.99), (-0.38, 0.72)], colour, pattern=weave(entity))
    if not entity.pattern:
        pen.polygon([(0, 0.33), (0.38, 0.72), (0, 0.72)], darker(colour, 0.2), rim=False)
        pen.polygon([(0, 0.99), (-0.38, 0.72), (0, 0.72)], lighter(colour, 0.35), rim=False)


def _balloon(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.limb([(0, 0.42), (0.03, 0.28), (-0.03, 0.14), (0, 0.0)], 0.02, (90, 90, 100), rim=False)
    pen.polygon([(-0.05, 0.38), (0.05, 0.38), (0, 0.45)], darker(colour, 0.15))
    pen.ellipse(0, 0.71, 0.25, 0.29, colour)
    pen.ellipse(-0.09, 0.82, 0.055, 0.085, lighter(colour, 0.65), angle=-25, rim=False)


def _umbrella(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.limb([(0, 0.99), (0, 0.1), (0.04, 0.04), (0.1, 0.08)], 0.035, (96, 70, 52))
    dome = [(-0.54, 0.52), (-0.46, 0.72), (-0.26, 0.88), (0, 0.94), (0.26, 0.88), (0.46, 0.72), (0.54, 0.52)]
    hem = [(0.36, 0.58), (0.18, 0.52), (0, 0.58), (-0.18, 0.52), (-0.36, 0.58)]
    pen.polygon(dome + hem, colour, pattern=weave(entity))
    if not entity.pattern:
        for x in (-0.18, 0.18):
            pen.limb([(x, 0.54), (x * 0.7, 0.8), (0, 0.93)], 0.016, darker(colour, 0.3), rim=False)


def _flower(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.limb([(0, 0.0), (0, 0.7)], 0.06, (70, 150, 70))
    pen.ellipse(0.11, 0.26, 0.13, 0.06, (88, 170, 84), angle=35)
    pen.ellipse(-0.11, 0.36, 0.12, 0.055, (88, 170, 84), angle=145)
    for x, y in ((0, 0.15), (0.143, 0.046), (0.088, -0.121), (-0.088, -0.121), (-0.143, 0.046)):
        pen.ellipse(x, 0.76 + y, 0.1, 0.1, colour)
    pen.ellipse(0, 0.76, 0.085, 0.085, (252, 208, 64) if entity.colour != "yellow" else (170, 100, 40), rim=False)


def _book(pen: Pen, entity: Entity, colour: Colour) -> None:
    """An open book, its cover towards us."""
    pen.polygon([(-0.6, 0.9), (0, 0.78), (0.6, 0.9), (0.6, 0.98), (0, 0.86), (-0.6, 0.98)], (252, 250, 240))
    pen.polygon([(-0.64, 0.06), (0, 0.0), (0.64, 0.06), (0.64, 0.9), (0, 0.8), (-0.64, 0.9)], colour)
    pen.limb([(0, 0.02), (0, 0.8)], 0.06, darker(colour, 0.35), rim=False)
    pen.box(0.18, 0.5, 0.48, 0.62, lighter(colour, 0.6), rim=False)


def _guitar(pen: Pen, entity: Entity, colour: Colour) -> None:
    """A guitar, its neck up and forward."""
    pen.limb([(0.1, 0.55), (1.05, 0.9)], 0.14, (86, 58, 42))
    pen.limb([(1.04, 0.9), (1.16, 0.95)], 0.22, (60, 42, 34))
    pen.ellipse(-0.72, 0.36, 0.42, 0.42, colour)
    pen.ellipse(-0.2, 0.5, 0.32, 0.33, colour)
    pen.ellipse(-0.4, 0.46, 0.16, 0.16, (50, 34, 30), rim=False)
    pen.limb([(-0.8, 0.2), (-0.74, 0.46)], 0.09, (60, 42, 34), rim=False)
    pen.limb([(-0.76, 0.33), (1.05, 0.9)], 0.03, (240, 236, 220), rim=False)


def _cup(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.limb([(0.3, 0.68), (0.5, 0.62), (0.48, 0.36), (0.26, 0.26)], 0.1, darker(colour, 0.12))
    pen.polygon([(-0.42, 0.86), (0.36, 0.86), (0.27, 0.06), (-0.33, 0.06)], colour, pattern=weave(entity))
    pen.ellipse(-0.03, 0.86, 0.39, 0.11, lighter(colour, 0.4))
    pen.ellipse(-0.03, 0.85, 0.31, 0.07, (104, 66, 44), rim=False)


def _bag(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.limb([(-0.2, 0.62), (-0.16, 0.9), (0.16, 0.9), (0.2, 0.62)], 0.07, darker(colour, 0.35))
    pen.polygon([(-0.36, 0.66), (0.36, 0.66), (0.44, 0.03), (-0.44, 0.03)], colour)
    pen.box(-0.38, 0.52, 0.38, 0.6, darker(colour, 0.25), rim=False)
    pen.box(-0.07, 0.46, 0.07, 0.58, (244, 214, 120), rim=False)


# Vehicles, seen from the side.


def _wheels(pen: Pen, places: tuple[float, ...], r: float) -> None:
    for x in places:
        pen.ellipse(x, r, r, r, _TYRE)
        pen.ellipse(x, r, r * 0.5, r * 0.5, (200, 204, 210), rim=False)


def _car(pen: Pen, entity: Entity, colour: Colour) -> None:
    cabin = [(-0.62, 0.55), (-0.44, 0.98), (0.3, 0.98), (0.6, 0.56)]
    pen.polygon(cabin, darker(colour, 0.08))
    pen.polygon([(-0.5, 0.58), (-0.38, 0.9), (-0.1, 0.9), (-0.1, 0.58)], _GLASS, rim=False)
    pen.polygon([(-0.02, 0.58), (-0.02, 0.9), (0.26, 0.9), (0.48, 0.58)], _GLASS, rim=False)
    pen.box(-1.03, 0.18, 1.03, 0.6, colour, round=0.16)
    pen.box(-1.0, 0.2, 1.0, 0.29, darker(colour, 0.22), rim=False)
    pen.ellipse(0.97, 0.45, 0.06, 0.07, _LAMP, rim=False)
    pen.ellipse(-0.98, 0.45, 0.05, 0.07, (200, 40, 40), rim=False)
    pen.limb([(-0.16, 0.48), (-0.04, 0.48)], 0.04, darker(colour, 0.4), rim=False)
    _wheels(pen, (-0.58, 0.58), 0.22)


def _bus(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.box(-0.85, 0.12, 0.85, 0.99, colour, round=0.09)
    pen.box(-0.84, 0.34, 0.84, 0.42, lighter(colour, 0.5) if entity.colour != "white" else (90, 140, 200), rim=False)
    for window in range(5):
        x = -0.76 + window * 0.285
        pen.box(x, 0.54, x + 0.23, 0.86, _GLASS, round=0.03, rim=False)
    pen.box(0.67, 0.54, 0.82, 0.86, lighter(_GLASS, 0.3), round=0.03, rim=False)
    pen.ellipse(0.8, 0.24, 0.045, 0.05, _LAMP, rim=False)
    _wheels(pen, (-0.5, 0.5), 0.15)


def _truck(pen: Pen, entity: Entity, colour: Colour) -> None:
    """A truck: cab in front, load behind."""
    pen.box(-0.87, 0.3, 0.3, 0.98, (232, 232, 228) if entity.colour != "white" else (190, 196, 204), round=0.03)
    for x in (-0.6, -0.3, 0.0):
        pen.limb([(x, 0.36), (x, 0.92)], 0.02, (190, 190, 190), rim=False)
    pen.box(-0.87, 0.17, 0.86, 0.32, (70, 72, 82))
    pen.polygon([(0.34, 0.18), (0.34, 0.8), (0.62, 0.8), (0.76, 0.5), (0.87, 0.46), (0.87, 0.18)], colour)
    pen.polygon([(0.44, 0.5), (0.44, 0.73), (0.6, 0.73), (0.7, 0.5)], _GLASS, rim=False)
    pen.ellipse(0.83, 0.32, 0.04, 0.05, _LAMP, rim=False)
    _wheels(pen, (-0.6, -0.25, 0.56), 0.17)


def _spoked(pen: Pen, x: float, r: float, thick: float) -> None:
    """A wheel that one sees through: a ring of short strokes."""
    ring = [(x + r * a, r + thick / 2 + r * b) for a, b in CIRCLE[::2]]
    pen.limb([*ring, ring[0]], thick, _TYRE, rim=False)
    for a, b in CIRCLE[::4]:
        pen.limb([(x, r + thick / 2), (x + r * a, r + thick / 2 + r * b)], thick * 0.25, (170, 172, 180), rim=False)


def _bicycle(pen: Pen, entity: Entity, colour: Colour) -> None:
    for x in (-0.46, 0.46):
        _spoked(pen, x, 0.28, 0.07)
    hub, crank, seat, head = (-0.46, 0.31), (-0.06, 0.3), (-0.18, 0.7), (0.32, 0.72)
    for a, b in ((hub, crank), (hub, seat), (crank, seat), (seat, head), (crank, head), (head, (0.46, 0.31))):
        pen.limb([a, b], 0.06, colour)
    pen.limb([(-0.22, 0.74), (-0.18, 0.82)], 0.05, _TYRE)
    pen.ellipse(-0.2, 0.84, 0.14, 0.045, (60, 44, 40))
    pen.limb([head, (0.3, 0.92), (0.42, 0.95)], 0.05, _STEEL)
    pen.limb([crank, (0.0, 0.16)], 0.045, _STEEL)


def _motorcycle(pen: Pen, entity: Entity, colour: Colour) -> None:
    for x in (-0.55, 0.57):
        pen.ellipse(x, 0.27, 0.27, 0.27, _TYRE)
        pen.ellipse(x, 0.27, 0.13, 0.13, (190, 194, 202), rim=False)
    pen.limb([(0.57, 0.28), (0.36, 0.84)], 0.07, (150, 152, 160))
    pen.box(-0.22, 0.2, 0.2, 0.48, (104, 106, 116), round=0.08)
    pen.limb([(-0.1, 0.22), (-0.72, 0.24)], 0.08, (184, 188, 196))
    pen.blob([(-0.12, 0.5), (0.0, 0.74), (0.28, 0.78), (0.4, 0.62), (0.24, 0.48)], colour)
    pen.blob([(-0.8, 0.62), (-0.6, 0.72), (-0.1, 0.66), (-0.1, 0.54), (-0.5, 0.52)], (44, 40, 46))
    pen.blob([(-0.82, 0.5), (-0.6, 0.62), (-0.3, 0.56), (-0.36, 0.46)], colour)
    pen.limb([(0.36, 0.84), (0.22, 0.94)], 0.06, (44, 44, 50))
    pen.ellipse(0.46, 0.74, 0.075, 0.085, (255, 242, 180))


def _boat(pen: Pen, entity: Entity, colour: Colour) -> None:
    pen.limb([(-0.02, 0.2), (-0.02, 0.98)], 0.032, (120, 84, 56))
    pen.polygon([(0.03, 0.28), (0.03, 0.96), (0.42, 0.3)], (252, 250, 244))
    pen.polygon([(-0.07, 0.3), (-0.07, 0.86), (-0.38, 0.32)], (238, 232, 222))
    pen.polygon([(-0.5, 0.25), (0.52, 0.25), (0.36, 0.02), (-0.36, 0.02)], colour)
    stripe = lighter(colour, 0.55) if entity.colour != "white" else (60, 110, 190)
    pen.polygon([(-0.485, 0.22), (0.505, 0.22), (0.47, 0.17), (-0.45, 0.17)], stripe, rim=False)
    for x in (-0.42, -0.1, 0.22):
        pen.limb([(x, 0.015), (x + 0.2, 0.015)], 0.022, (222, 240, 248), rim=False)


def _skateboard(pen: Pen, entity: Entity, colour: Colour) -> None:
    for x in (-0.95, 0.95):
        pen.ellipse(x, 0.26, 0.27, 0.26, (240, 232, 210))
        pen.ellipse(x, 0.26, 0.1, 0.1, _TYRE, rim=False)
    pen.limb([(-1.6, 0.92), (-1.2, 0.68), (1.2, 0.68), (1.6, 0.92)], 0.3, colour)


THINGS: dict[str, Drawer] = {
    drawer.__name__[1:]: drawer
    for drawer in (
        *(_bench, _chair, _sofa, _table, _tree, _house, _tent, _box, _fence, _snowman),
        *(_ball, _kite, _balloon, _umbrella, _flower, _book, _guitar, _cup, _bag),
        *(_car, _bus, _truck, _bicycle, _motorcycle, _boat, _skateboard),
    )
}
