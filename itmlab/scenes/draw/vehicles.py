"""Vehicles, each drawn by `draw_` and its kind's name: seen from the side, driving to the right.

Coordinates are the pen's: x to the right, y up from where the vehicle stands, 1 is the kind's height.
"""

from ..scene import Entity
from .canvas import CIRCLE, Colour, Pen, darker, lighter

_GLASS, _TYRE, _STEEL, _LAMP = (196, 226, 240), (46, 46, 54), (90, 92, 100), (255, 240, 170)


def _wheels(pen: Pen, places: tuple[float, ...], r: float) -> None:
    for x in places:
        pen.ellipse(x, r, r, r, _TYRE)
        pen.ellipse(x, r, r * 0.5, r * 0.5, (200, 204, 210), rim=False)


def draw_car(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a car."""
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


def draw_bus(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a bus."""
    pen.box(-0.85, 0.12, 0.85, 0.99, colour, round=0.09)
    pen.box(-0.84, 0.34, 0.84, 0.42, lighter(colour, 0.5) if entity.colour != "white" else (90, 140, 200), rim=False)
    for window in range(5):
        x = -0.76 + window * 0.285
        pen.box(x, 0.54, x + 0.23, 0.86, _GLASS, round=0.03, rim=False)
    pen.box(0.67, 0.54, 0.82, 0.86, lighter(_GLASS, 0.3), round=0.03, rim=False)
    pen.ellipse(0.8, 0.24, 0.045, 0.05, _LAMP, rim=False)
    _wheels(pen, (-0.5, 0.5), 0.15)


def draw_truck(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a truck: cab in front, load behind."""
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


def draw_bicycle(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a bicycle."""
    for x in (-0.46, 0.46):
        _spoked(pen, x, 0.28, 0.07)
    hub, crank, seat, head = (-0.46, 0.31), (-0.06, 0.3), (-0.18, 0.7), (0.32, 0.72)
    for a, b in ((hub, crank), (hub, seat), (crank, seat), (seat, head), (crank, head), (head, (0.46, 0.31))):
        pen.limb([a, b], 0.06, colour)
    pen.limb([(-0.22, 0.74), (-0.18, 0.82)], 0.05, _TYRE)
    pen.ellipse(-0.2, 0.84, 0.14, 0.045, (60, 44, 40))
    pen.limb([head, (0.3, 0.92), (0.42, 0.95)], 0.05, _STEEL)
    pen.limb([crank, (0.0, 0.16)], 0.045, _STEEL)


def draw_motorcycle(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a motorcycle."""
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


def draw_boat(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a boat."""
    pen.limb([(-0.02, 0.2), (-0.02, 0.98)], 0.032, (120, 84, 56))
    pen.polygon([(0.03, 0.28), (0.03, 0.96), (0.42, 0.3)], (252, 250, 244))
    pen.polygon([(-0.07, 0.3), (-0.07, 0.86), (-0.38, 0.32)], (238, 232, 222))
    pen.polygon([(-0.5, 0.25), (0.52, 0.25), (0.36, 0.02), (-0.36, 0.02)], colour)
    stripe = lighter(colour, 0.55) if entity.colour != "white" else (60, 110, 190)
    pen.polygon([(-0.485, 0.22), (0.505, 0.22), (0.47, 0.17), (-0.45, 0.17)], stripe, rim=False)
    for x in (-0.42, -0.1, 0.22):
        pen.limb([(x, 0.015), (x + 0.2, 0.015)], 0.022, (222, 240, 248), rim=False)


def draw_skateboard(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a skateboard."""
    for x in (-0.95, 0.95):
        pen.ellipse(x, 0.26, 0.27, 0.26, (240, 232, 210))
        pen.ellipse(x, 0.26, 0.1, 0.1, _TYRE, rim=False)
    pen.limb([(-1.6, 0.92), (-1.2, 0.68), (1.2, 0.68), (1.6, 0.92)], 0.3, colour)


def draw_airplane(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an airplane in the air, one wing towards us."""
    pen.polygon([(-0.02, 0.62), (-0.36, 0.98), (-0.16, 0.98), (0.3, 0.62)], darker(colour, 0.2))
    pen.polygon([(-0.86, 0.52), (-1.12, 1.0), (-0.92, 1.0), (-0.56, 0.64)], darker(colour, 0.1))
    pen.limb([(-0.98, 0.52), (0.86, 0.5)], 0.32, colour, end=0.42)
    pen.limb([(-0.9, 0.42), (0.9, 0.38)], 0.08, darker(colour, 0.25), rim=False)
    for step in range(7):
        pen.ellipse(-0.56 + step * 0.18, 0.56, 0.05, 0.06, (70, 110, 150), rim=False)
    pen.polygon([(0.82, 0.58), (0.84, 0.7), (1.0, 0.64), (1.06, 0.56)], _GLASS, rim=False)
    pen.polygon([(0.3, 0.42), (-0.1, 0.42), (-0.56, 0.02), (-0.3, 0.02)], lighter(colour, 0.2))
    pen.polygon([(-0.72, 0.5), (-0.92, 0.5), (-1.12, 0.32), (-0.98, 0.32)], lighter(colour, 0.2))


def draw_helicopter(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a helicopter in the air, rotor above and at its tail."""
    pen.limb([(-0.1, 0.94), (0.2, 0.94)], 0.07, _STEEL)
    pen.box(-0.72, 0.92, 0.92, 0.97, (60, 62, 70), round=0.02)
    pen.limb([(0.08, 0.8), (0.08, 0.94)], 0.08, _STEEL)
    pen.polygon([(-0.2, 0.62), (-0.86, 0.6), (-0.9, 0.52), (-0.2, 0.4)], colour)
    pen.polygon([(-0.8, 0.56), (-0.94, 0.8), (-0.84, 0.8), (-0.7, 0.58)], darker(colour, 0.2))
    pen.ellipse(-0.86, 0.66, 0.1, 0.1, (210, 214, 222))
    pen.limb([(-0.86, 0.56), (-0.86, 0.76)], 0.03, _STEEL, rim=False)
    for x in (-0.04, 0.32):
        pen.limb([(x, 0.3), (x + 0.02, 0.06)], 0.05, _STEEL)
    pen.limb([(-0.3, 0.05), (0.56, 0.05), (0.66, 0.1)], 0.06, _STEEL)
    pen.ellipse(0.16, 0.5, 0.48, 0.31, colour)
    pen.blob([(0.24, 0.52), (0.26, 0.74), (0.5, 0.64), (0.6, 0.46), (0.4, 0.44)], _GLASS, rim=False)
    pen.box(-0.08, 0.4, 0.14, 0.66, _GLASS, round=0.04, rim=False)


def draw_train(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a steam locomotive with one carriage."""
    for x in (-0.98, -0.56):
        pen.ellipse(x, 0.13, 0.13, 0.13, _TYRE)
    pen.box(-1.12, 0.16, -0.4, 0.84, lighter(colour, 0.25), round=0.03)
    pen.box(-1.15, 0.8, -0.37, 0.88, darker(colour, 0.35), round=0.03)
    for x in (-1.04, -0.82, -0.6):
        pen.box(x, 0.46, x + 0.16, 0.7, _GLASS, rim=False)
    pen.limb([(-0.42, 0.2), (-0.3, 0.2)], 0.05, _STEEL)
    pen.polygon([(0.62, 0.66), (0.78, 0.66), (0.84, 0.98), (0.56, 0.98)], (60, 60, 70))
    pen.ellipse(0.26, 0.68, 0.1, 0.12, (250, 206, 90))
    pen.limb([(0.0, 0.46), (0.86, 0.46)], 0.44, colour)
    pen.ellipse(1.06, 0.46, 0.05, 0.2, (64, 64, 74))
    for x in (0.3, 0.66):
        pen.box(x, 0.26, x + 0.04, 0.67, (250, 220, 130), rim=False)
    pen.box(-0.3, 0.16, 0.16, 0.9, darker(colour, 0.15))
    pen.box(-0.36, 0.88, 0.22, 0.97, darker(colour, 0.4), round=0.03)
    pen.box(-0.2, 0.52, 0.06, 0.8, _GLASS, rim=False)
    pen.polygon([(0.9, 0.2), (1.04, 0.2), (1.15, 0.03), (0.9, 0.03)], (190, 60, 50))
    _wheels(pen, (-0.12, 0.28, 0.64), 0.17)
    pen.limb([(-0.12, 0.17), (0.64, 0.17)], 0.05, (220, 222, 228), rim=False)


def draw_tractor(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an open tractor: a great wheel behind, a small one in front."""
    pen.limb([(0.4, 0.6), (0.4, 0.98)], 0.06, _STEEL)
    pen.box(-0.1, 0.34, 0.64, 0.66, colour, round=0.06)
    pen.box(0.54, 0.38, 0.65, 0.62, darker(colour, 0.4), rim=False)
    for x in (0.1, 0.24):
        pen.limb([(x, 0.42), (x, 0.58)], 0.03, darker(colour, 0.3), rim=False)
    pen.box(-0.46, 0.4, 0.0, 0.54, darker(colour, 0.15))
    pen.limb([(-0.06, 0.58), (-0.12, 0.8)], 0.045, _STEEL)
    pen.limb([(-0.2, 0.76), (-0.04, 0.84)], 0.05, _TYRE)
    pen.limb([(-0.5, 0.56), (-0.46, 0.82)], 0.08, (60, 56, 60))
    for x, r in ((-0.36, 0.32), (0.48, 0.2)):
        pen.ellipse(x, r, r, r, _TYRE)
        pen.ellipse(x, r, r * 0.55, r * 0.55, (248, 214, 80) if entity.colour != "yellow" else (220, 70, 56))
        pen.ellipse(x, r, r * 0.18, r * 0.18, _STEEL, rim=False)
    pen.limb([(-0.68, 0.5), (-0.5, 0.68), (-0.2, 0.7)], 0.07, colour)


def draw_scooter(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a kick scooter with a tall handlebar."""
    for x in (-0.38, 0.36):
        pen.ellipse(x, 0.1, 0.1, 0.1, _TYRE)
        pen.ellipse(x, 0.1, 0.045, 0.045, (200, 204, 210), rim=False)
    pen.limb([(0.36, 0.12), (0.24, 0.93)], 0.065, colour)
    pen.limb([(-0.38, 0.16), (0.2, 0.15), (0.33, 0.3)], 0.075, colour)
    pen.limb([(0.14, 0.94), (0.34, 0.96)], 0.07, _TYRE)


def draw_cart(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a cart of boards with something green in it; its handle towards whoever pushes or pulls."""
    pen.limb([(-0.36, 0.5), (-0.64, 0.84)], 0.06, (110, 80, 56))
    pen.limb([(-0.68, 0.8), (-0.6, 0.9)], 0.07, (70, 54, 46))
    for x, y, r in ((-0.2, 0.82, 0.14), (0.06, 0.86, 0.16), (0.3, 0.82, 0.14)):
        pen.ellipse(x, y, r, r, (110, 170, 84) if entity.colour != "green" else (232, 150, 60))
    pen.polygon([(-0.48, 0.84), (0.62, 0.84), (0.5, 0.3), (-0.38, 0.3)], colour)
    for y in (0.48, 0.66):
        pen.limb([(-0.4, y), (0.54, y)], 0.03, darker(colour, 0.3), rim=False)
    _wheels(pen, (-0.2, 0.34), 0.2)


def draw_sled(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a wooden sled on curved runners."""
    pen.limb([(-1.1, 0.08), (0.9, 0.08), (1.2, 0.3), (1.2, 0.62)], 0.13, _STEEL)
    for x in (-0.7, 0.0, 0.7):
        pen.limb([(x, 0.12), (x, 0.6)], 0.12, darker(colour, 0.3))
    pen.limb([(-1.0, 0.72), (1.14, 0.72)], 0.34, colour)
    pen.limb([(-0.9, 0.72), (1.0, 0.72)], 0.06, darker(colour, 0.3), rim=False)
