"""Things, each drawn by `draw_` and its kind's name: what stands, what is held or flown, eaten or played.

Coordinates are the pen's: x to the right, y up from where the thing stands, 1 is the kind's height.
"""

from ..scene import Entity
from .canvas import Colour, Pen, darker, lighter
from .people import weave

_BARK, _TYRE, _STEEL, _LAMP = (124, 86, 56), (46, 46, 54), (90, 92, 100), (255, 240, 170)

# Furniture, trees, houses and the like.


def draw_bench(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a bench."""
    for x in (-0.78, 0.78):
        pen.limb([(x, 0.95), (x, 0.04)], 0.09, darker(colour, 0.35))
    for y in (0.68, 0.88):
        pen.box(-0.94, y - 0.06, 0.94, y + 0.08, colour, round=0.03)
    for x in (-0.68, 0.68):
        pen.limb([(x, 0.42), (x + 0.03, 0.04)], 0.09, darker(colour, 0.3))
    pen.box(-0.95, 0.4, 0.95, 0.5, lighter(colour, 0.15), round=0.03)


def draw_chair(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a chair."""
    for x in (-0.22, 0.22):
        pen.limb([(x, 0.42), (x, 0.03)], 0.06, darker(colour, 0.3))
    pen.limb([(-0.27, 0.98), (-0.27, 0.03)], 0.07, colour)
    pen.limb([(0.27, 0.42), (0.29, 0.03)], 0.07, colour)
    pen.box(-0.31, 0.56, -0.2, 0.99, colour, round=0.04)
    pen.box(-0.32, 0.39, 0.33, 0.48, lighter(colour, 0.12), round=0.03)


def draw_sofa(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a sofa."""
    for x in (-0.8, 0.8):
        pen.limb([(x, 0.12), (x, 0.03)], 0.08, (84, 60, 44))
    pen.box(-0.88, 0.2, 0.88, 0.98, darker(colour, 0.12), round=0.16)
    for x in (-0.72, 0.02):
        pen.box(x, 0.3, x + 0.7, 0.54, lighter(colour, 0.14), round=0.07)
    for x in (-0.98, 0.72):
        pen.box(x, 0.1, x + 0.26, 0.68, colour, round=0.11)
    pen.box(-0.74, 0.1, 0.74, 0.32, colour, round=0.04)


def draw_table(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a table that one can look under."""
    for x in (-0.56, 0.56):
        pen.limb([(x, 0.86), (x, 0.14)], 0.07, darker(colour, 0.4))
    for x in (-0.72, 0.72):
        pen.limb([(x, 0.86), (x, 0.04)], 0.09, darker(colour, 0.2))
    pen.box(-0.84, 0.84, 0.84, 0.99, colour, round=0.04)


def draw_tree(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a tree: a round crown, or a fir."""
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


def draw_house(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a house."""
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


def draw_tent(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a tent."""
    pen.polygon([(0.0, 0.98), (0.42, 0.9), (0.69, 0.02), (0.3, 0.02)], darker(colour, 0.25))
    pen.polygon([(-0.66, 0.02), (0.0, 0.98), (0.34, 0.02)], colour, pattern=weave(entity))
    pen.polygon([(-0.3, 0.02), (-0.06, 0.66), (0.06, 0.02)], (56, 46, 60), rim=False)
    pen.polygon([(-0.3, 0.02), (-0.06, 0.66), (-0.2, 0.02)], lighter(colour, 0.3), rim=False)


def draw_box(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a box."""
    pen.polygon([(-0.5, 0.72), (-0.36, 0.97), (0.56, 0.97), (0.46, 0.72)], lighter(colour, 0.3))
    pen.polygon([(0.46, 0.02), (0.46, 0.72), (0.56, 0.97), (0.56, 0.26)], darker(colour, 0.3))
    pen.box(-0.5, 0.02, 0.46, 0.74, colour)
    pen.box(-0.09, 0.02, 0.06, 0.74, lighter(colour, 0.45), rim=False)


def draw_fence(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a fence."""
    for y in (0.3, 0.68):
        pen.box(-1.14, y - 0.05, 1.14, y + 0.06, darker(colour, 0.18))
    for step in range(7):
        x = -1.02 + step * 0.34
        pen.polygon([(x - 0.1, 0.02), (x + 0.1, 0.02), (x + 0.1, 0.8), (x, 0.97), (x - 0.1, 0.8)], colour)


def draw_snowman(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a snowman."""
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


def draw_ball(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a ball."""
    pen.ellipse(0, 0.5, 0.48, 0.48, colour, pattern=weave(entity))
    if not entity.pattern:
        pen.limb([(-0.42, 0.36), (0.0, 0.26), (0.42, 0.36)], 0.07, darker(colour, 0.2), rim=False)
    pen.ellipse(-0.15, 0.7, 0.13, 0.1, lighter(colour, 0.65), angle=30, rim=False)


def draw_kite(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a kite with a tail of bows."""
    pen.limb([(0, 0.34), (0.1, 0.24), (-0.06, 0.12), (0.06, 0.02)], 0.02, (90, 90, 100), rim=False)
    for x, y in ((0.08, 0.23), (-0.04, 0.12)):
        bow = [(x - 0.08, y + 0.035), (x - 0.08, y - 0.035), (x + 0.08, y + 0.035), (x + 0.08, y - 0.035)]
        pen.polygon(bow, (250, 250, 250) if entity.colour != "white" else (220, 60, 60))
    pen.polygon([(0, 0.33), (0.38, 0.72), (0, 0.99), (-0.38, 0.72)], colour, pattern=weave(entity))
    if not entity.pattern:
        pen.polygon([(0, 0.33), (0.38, 0.72), (0, 0.72)], darker(colour, 0.2), rim=False)
        pen.polygon([(0, 0.99), (-0.38, 0.72), (0, 0.72)], lighter(colour, 0.35), rim=False)


def draw_balloon(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a balloon."""
    pen.limb([(0, 0.42), (0.03, 0.28), (-0.03, 0.14), (0, 0.0)], 0.02, (90, 90, 100), rim=False)
    pen.polygon([(-0.05, 0.38), (0.05, 0.38), (0, 0.45)], darker(colour, 0.15))
    pen.ellipse(0, 0.71, 0.25, 0.29, colour)
    pen.ellipse(-0.09, 0.82, 0.055, 0.085, lighter(colour, 0.65), angle=-25, rim=False)


def draw_umbrella(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an umbrella."""
    pen.limb([(0, 0.99), (0, 0.1), (0.04, 0.04), (0.1, 0.08)], 0.035, (96, 70, 52))
    dome = [(-0.54, 0.52), (-0.46, 0.72), (-0.26, 0.88), (0, 0.94), (0.26, 0.88), (0.46, 0.72), (0.54, 0.52)]
    hem = [(0.36, 0.58), (0.18, 0.52), (0, 0.58), (-0.18, 0.52), (-0.36, 0.58)]
    pen.polygon(dome + hem, colour, pattern=weave(entity))
    if not entity.pattern:
        for x in (-0.18, 0.18):
            pen.limb([(x, 0.54), (x * 0.7, 0.8), (0, 0.93)], 0.016, darker(colour, 0.3), rim=False)


def draw_flower(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a flower."""
    pen.limb([(0, 0.0), (0, 0.7)], 0.06, (70, 150, 70))
    pen.ellipse(0.11, 0.26, 0.13, 0.06, (88, 170, 84), angle=35)
    pen.ellipse(-0.11, 0.36, 0.12, 0.055, (88, 170, 84), angle=145)
    for x, y in ((0, 0.15), (0.143, 0.046), (0.088, -0.121), (-0.088, -0.121), (-0.143, 0.046)):
        pen.ellipse(x, 0.76 + y, 0.1, 0.1, colour)
    pen.ellipse(0, 0.76, 0.085, 0.085, (252, 208, 64) if entity.colour != "yellow" else (170, 100, 40), rim=False)


def draw_book(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an open book, its cover towards us."""
    pen.polygon([(-0.6, 0.9), (0, 0.78), (0.6, 0.9), (0.6, 0.98), (0, 0.86), (-0.6, 0.98)], (252, 250, 240))
    pen.polygon([(-0.64, 0.06), (0, 0.0), (0.64, 0.06), (0.64, 0.9), (0, 0.8), (-0.64, 0.9)], colour)
    pen.limb([(0, 0.02), (0, 0.8)], 0.06, darker(colour, 0.35), rim=False)
    pen.box(0.18, 0.5, 0.48, 0.62, lighter(colour, 0.6), rim=False)


def draw_guitar(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a guitar, its neck up and forward."""
    pen.limb([(0.1, 0.55), (1.05, 0.9)], 0.14, (86, 58, 42))
    pen.limb([(1.04, 0.9), (1.16, 0.95)], 0.22, (60, 42, 34))
    pen.ellipse(-0.72, 0.36, 0.42, 0.42, colour)
    pen.ellipse(-0.2, 0.5, 0.32, 0.33, colour)
    pen.ellipse(-0.4, 0.46, 0.16, 0.16, (50, 34, 30), rim=False)
    pen.limb([(-0.8, 0.2), (-0.74, 0.46)], 0.09, (60, 42, 34), rim=False)
    pen.limb([(-0.76, 0.33), (1.05, 0.9)], 0.03, (240, 236, 220), rim=False)


def draw_cup(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a cup."""
    pen.limb([(0.3, 0.68), (0.5, 0.62), (0.48, 0.36), (0.26, 0.26)], 0.1, darker(colour, 0.12))
    pen.polygon([(-0.42, 0.86), (0.36, 0.86), (0.27, 0.06), (-0.33, 0.06)], colour, pattern=weave(entity))
    pen.ellipse(-0.03, 0.86, 0.39, 0.11, lighter(colour, 0.4))
    pen.ellipse(-0.03, 0.85, 0.31, 0.07, (104, 66, 44), rim=False)


def draw_bag(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a bag."""
    pen.limb([(-0.2, 0.62), (-0.16, 0.9), (0.16, 0.9), (0.2, 0.62)], 0.07, darker(colour, 0.35))
    pen.polygon([(-0.36, 0.66), (0.36, 0.66), (0.44, 0.03), (-0.44, 0.03)], colour)
    pen.box(-0.38, 0.52, 0.38, 0.6, darker(colour, 0.25), rim=False)
    pen.box(-0.07, 0.46, 0.07, 0.58, (244, 214, 120), rim=False)


# Food, instruments and tools; what stands in gardens, playgrounds and stations.


def draw_apple(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an apple."""
    pen.limb([(0, 0.7), (0.06, 0.98)], 0.1, _BARK)
    pen.ellipse(0.2, 0.9, 0.18, 0.09, (84, 160, 76), angle=20)
    for x in (-0.17, 0.17):
        pen.ellipse(x, 0.4, 0.33, 0.38, colour)
    pen.ellipse(-0.22, 0.54, 0.1, 0.12, lighter(colour, 0.6), rim=False)


def draw_banana(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a banana."""
    curve = [(-0.5, 0.86), (-0.46, 0.46), (-0.2, 0.16), (0.2, 0.14), (0.5, 0.36)]
    pen.limb(curve, 0.3, (250, 216, 70), end=0.14)
    pen.limb([(-0.5, 0.84), (-0.5, 0.98)], 0.12, (130, 100, 50))


def draw_pizza(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a whole pizza, tilted towards us."""
    pen.ellipse(0, 0.5, 0.64, 0.48, (214, 156, 84))
    pen.ellipse(0, 0.52, 0.54, 0.39, (250, 206, 96), rim=False)
    for x, y in ((-0.28, 0.62), (0.06, 0.76), (0.3, 0.5), (-0.04, 0.46), (-0.3, 0.34), (0.12, 0.24)):
        pen.ellipse(x, y, 0.12, 0.1, (206, 56, 44), rim=False)


def draw_cake(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a round cake with icing, a cherry and candles."""
    for x in (-0.3, 0.3):
        pen.limb([(x, 0.66), (x, 0.9)], 0.07, (110, 170, 220), rim=False)
        pen.ellipse(x, 0.95, 0.05, 0.06, (255, 190, 60), rim=False)
    pen.ellipse(0, 0.82, 0.09, 0.09, (210, 40, 50))
    pen.box(-0.5, 0.06, 0.5, 0.5, darker(colour, 0.12), round=0.05)
    pen.ellipse(0, 0.66, 0.5, 0.13, lighter(colour, 0.25))
    pen.box(-0.5, 0.48, 0.5, 0.66, lighter(colour, 0.25), rim=False)
    for x in (-0.42, -0.21, 0.0, 0.21, 0.42):
        pen.ellipse(x, 0.46, 0.1, 0.1, lighter(colour, 0.25), rim=False)
    pen.ellipse(0, 0.06, 0.6, 0.06, (236, 238, 242))


def draw_bucket(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a bucket."""
    pen.limb([(-0.4, 0.72), (-0.28, 0.96), (0.28, 0.96), (0.4, 0.72)], 0.045, (110, 112, 120))
    pen.polygon([(-0.43, 0.76), (0.43, 0.76), (0.32, 0.03), (-0.32, 0.03)], colour, pattern=weave(entity))
    pen.ellipse(0, 0.76, 0.43, 0.1, darker(colour, 0.35))
    pen.box(-0.42, 0.6, 0.42, 0.66, darker(colour, 0.2), rim=False)


def draw_broom(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a broom, its brush forward on the ground."""
    pen.limb([(-0.16, 0.98), (0.1, 0.26)], 0.045, (178, 128, 78))
    pen.polygon([(0.02, 0.3), (0.18, 0.28), (0.34, 0.0), (-0.02, 0.0)], colour)
    for x in (0.06, 0.14, 0.22):
        pen.limb([(0.1, 0.2), (x, 0.03)], 0.012, darker(colour, 0.35), rim=False)


def draw_camera(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a camera."""
    pen.box(-0.3, 0.7, 0.16, 1.0, darker(colour, 0.2))
    pen.box(-0.62, 0.04, 0.62, 0.8, colour, round=0.1)
    pen.ellipse(0.5, 0.42, 0.3, 0.32, (34, 34, 40))
    pen.ellipse(0.54, 0.44, 0.18, 0.2, (130, 190, 230), rim=False)
    pen.ellipse(-0.44, 0.64, 0.08, 0.08, (250, 230, 120), rim=False)


def draw_laptop(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an open laptop, its screen towards us."""
    pen.box(-0.52, 0.22, 0.52, 1.0, darker(colour, 0.2), round=0.06)
    pen.box(-0.44, 0.32, 0.44, 0.92, (140, 204, 244), rim=False)
    pen.polygon([(-0.54, 0.26), (0.54, 0.26), (0.68, 0.02), (-0.68, 0.02)], colour)
    pen.polygon([(-0.44, 0.2), (0.44, 0.2), (0.5, 0.1), (-0.5, 0.1)], darker(colour, 0.4), rim=False)


def draw_suitcase(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an upright suitcase on small wheels, its handle pulled out."""
    for x in (-0.22, 0.22):
        pen.ellipse(x, 0.04, 0.05, 0.045, _TYRE)
    for x in (-0.13, 0.13):
        pen.limb([(x, 0.7), (x, 0.98)], 0.035, (110, 112, 120))
    pen.limb([(-0.15, 0.98), (0.15, 0.98)], 0.05, _TYRE)
    pen.box(-0.34, 0.07, 0.34, 0.76, colour, round=0.08, pattern=weave(entity))
    for x in (-0.2, 0.17):
        pen.box(x, 0.08, x + 0.04, 0.75, darker(colour, 0.35), rim=False)


def draw_drum(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a drum with a light skin and zigzag cords."""
    pen.polygon([(-0.5, 0.84), (0.5, 0.84), (0.5, 0.1), (-0.5, 0.1)], colour, pattern=weave(entity))
    pen.ellipse(0, 0.1, 0.5, 0.09, darker(colour, 0.2), rim=False)
    if not entity.pattern:
        zigzag = [(-0.46, 0.74), (-0.28, 0.2), (-0.09, 0.74), (0.09, 0.2), (0.28, 0.74), (0.46, 0.2)]
        pen.limb(zigzag, 0.045, (250, 236, 190) if entity.colour != "white" else (120, 90, 70), rim=False)
    pen.ellipse(0, 0.86, 0.53, 0.12, (252, 240, 212))


def draw_piano(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an upright piano, its keys to the left."""
    for x in (-0.5, 0.46):
        pen.box(x, 0.0, x + 0.1, 0.2, darker(colour, 0.35))
    pen.box(-0.16, 0.06, 0.6, 0.98, colour, round=0.03)
    pen.box(-0.6, 0.42, 0.0, 0.56, darker(colour, 0.15))
    pen.box(-0.46, 0.06, -0.38, 0.44, darker(colour, 0.25))
    pen.box(-0.6, 0.54, -0.14, 0.62, (252, 252, 248))
    for step in range(5):
        pen.box(-0.55 + step * 0.085, 0.57, -0.515 + step * 0.085, 0.62, (34, 34, 40), rim=False)
    pen.box(-0.08, 0.66, 0.5, 0.88, lighter(colour, 0.16), rim=False)
    pen.box(-0.08, 0.16, 0.5, 0.4, lighter(colour, 0.1), rim=False)


def draw_telescope(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a telescope on three legs, its eyepiece to the left and its mouth up and forward."""
    for x in (-0.22, 0.04, 0.24):
        pen.limb([(0.0, 0.74), (x, 0.03)], 0.04, (120, 92, 66))
    pen.limb([(-0.36, 0.74), (-0.26, 0.77)], 0.07, (60, 60, 68))
    pen.limb([(-0.24, 0.775), (0.28, 0.91)], 0.13, colour, end=0.17)
    pen.limb([(0.28, 0.91), (0.33, 0.925)], 0.2, darker(colour, 0.35))
    pen.ellipse(0.0, 0.8, 0.05, 0.05, (250, 206, 90))


def draw_ladder(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a ladder."""
    for x in (-0.12, 0.12):
        pen.limb([(x, 0.02), (x * 0.85, 0.98)], 0.045, colour)
    for step in range(7):
        pen.limb([(-0.11, 0.1 + step * 0.135), (0.11, 0.1 + step * 0.135)], 0.035, darker(colour, 0.15))


def draw_slide(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a playground slide: steps behind, the chute down in front."""
    for x in (-0.72, -0.46):
        pen.limb([(x, 0.02), (x, 0.98)], 0.055, _STEEL)
    for y in (0.16, 0.32, 0.48, 0.64):
        pen.limb([(-0.72, y), (-0.46, y)], 0.045, _STEEL)
    pen.limb([(0.1, 0.36), (0.1, 0.02)], 0.055, _STEEL)
    pen.limb([(-0.66, 0.74), (-0.4, 0.74), (0.5, 0.1), (0.78, 0.07)], 0.14, colour)
    pen.limb([(-0.42, 0.82), (0.48, 0.18), (0.78, 0.15)], 0.04, lighter(colour, 0.45), rim=False)


def draw_lamp(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a tall lamp: post, lit glass and a coloured hood."""
    pen.box(-0.09, 0.0, 0.09, 0.05, (70, 72, 80), round=0.02)
    pen.limb([(0, 0.03), (0, 0.78)], 0.04, (70, 72, 80))
    pen.polygon([(-0.07, 0.76), (0.07, 0.76), (0.1, 0.9), (-0.1, 0.9)], _LAMP)
    pen.polygon([(-0.16, 0.86), (0.16, 0.86), (0.06, 1.0), (-0.06, 1.0)], colour)


def draw_sign(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a round sign on a post with an arrow on it."""
    pale = (250, 250, 246) if entity.colour not in ("white", "yellow") else (40, 42, 50)
    pen.limb([(0, 0.02), (0, 0.6)], 0.055, _STEEL)
    pen.ellipse(0, 0.75, 0.25, 0.25, colour)
    pen.box(-0.15, 0.71, 0.15, 0.79, pale, rim=False)


def draw_bush(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a bush."""
    leaves = (66, 142, 78)
    for x, y, r in ((-0.46, 0.34, 0.26), (0.46, 0.34, 0.26), (-0.2, 0.56, 0.32), (0.22, 0.58, 0.33), (0, 0.34, 0.36)):
        pen.ellipse(x, y, r, min(r, y), leaves)
    for x, y in ((-0.4, 0.44), (-0.1, 0.72), (0.26, 0.6), (0.5, 0.34), (0.02, 0.34), (-0.24, 0.22)):
        pen.ellipse(x, y, 0.1, 0.06, lighter(leaves, 0.22), rim=False)
    if entity.shade > 0.5:
        for x, y in ((-0.3, 0.6), (0.1, 0.54), (0.4, 0.5), (-0.5, 0.26), (0.16, 0.2)):
            pen.ellipse(x, y, 0.045, 0.045, (226, 70, 80), rim=False)


def draw_fountain(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a fountain: two basins, water falling in arcs."""
    water = (150, 208, 240)
    pen.box(-0.07, 0.2, 0.07, 0.62, darker(colour, 0.12))
    for side in (-1, 1):
        pen.limb([(0, 0.78), (side * 0.12, 0.96), (side * 0.26, 0.84), (side * 0.3, 0.62)], 0.05, water, rim=False)
        pen.limb([(side * 0.28, 0.5), (side * 0.4, 0.4), (side * 0.42, 0.2)], 0.05, water, rim=False)
    pen.limb([(0, 0.6), (0, 0.98)], 0.06, water, rim=False)
    pen.polygon([(-0.32, 0.62), (0.32, 0.62), (0.14, 0.46), (-0.14, 0.46)], colour)
    pen.ellipse(0, 0.62, 0.3, 0.045, water, rim=False)
    pen.polygon([(-0.58, 0.26), (0.58, 0.26), (0.46, 0.02), (-0.46, 0.02)], colour)
    pen.ellipse(0, 0.26, 0.55, 0.06, water)
