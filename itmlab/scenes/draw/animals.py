"""Animals: the four-legged on one plan (tail, legs, trunk, neck, then each its own head), birds and ducks.

Coordinates are the pen's: x forward, y up from where the animal stands, 1 is its height.
"""

from ..scene import COLOURS, Entity
from .canvas import Colour, Pen, darker, lighter, mix

EYE = (30, 26, 32)
_CURLS = [(-0.4, 0.06), (-0.28, 0.2), (-0.06, 0.26), (0.17, 0.22), (0.34, 0.1), (-0.34, -0.13), (-0.1, -0.22),
          (0.16, -0.2)]  # fmt: skip
_PATCHES = [(-0.2, 0.44, 0.05), (-0.08, 0.48, 0.045), (-0.06, 0.39, 0.04), (0.04, 0.44, 0.05), (0.1, 0.56, 0.036),
            (0.13, 0.66, 0.032), (0.155, 0.75, 0.028), (0.18, 0.83, 0.022)]  # fmt: skip
_GAITS: dict[str, tuple[tuple[float, float], ...]] = {  # forward shift and lift of each foot: hind far, hind near, ...
    "stand": ((0.03, 0), (-0.03, 0), (0.03, 0), (-0.03, 0)),
    "walk": ((0.1, 0), (-0.09, 0), (-0.07, 0), (0.1, 0.02)),
    "run": ((-0.24, 0.1), (-0.14, 0.04), (0.14, 0.08), (0.24, 0.14)),
    "jump": ((-0.28, 0.08), (-0.22, 0.03), (0.18, 0.24), (0.26, 0.2)),
}


def draw_legs(
    pen: Pen, hind: float, fore: float, top: float, wide: float, colour: Colour, pose: str, hoof: Colour
) -> None:
    """Draw two hind and two fore legs in the steps of a pose.

    Args:
        pen: draws at the animal's place and size.
        hind: the x at which the hind legs begin.
        fore: the x at which the fore legs begin.
        top: the height at which legs begin.
        wide: the thickness of a leg.
        colour: of the legs.
        pose: the animal's pose.
        hoof: the colour of the feet.
    """
    gait = _GAITS.get(pose, _GAITS["stand"])
    for (shift, lift), root, near in zip(gait, (hind, hind, fore, fore), (0, 1, 0, 1), strict=True):
        tint = colour if near else darker(colour, 0.3)
        x = root + (0.03 if near else -0.03)
        bend = (x + shift * 0.35 + (0.02 if root == hind else -0.01), top * 0.5 + lift * 0.4)
        foot = (x + shift, lift + wide * 0.5)
        pen.limb([(x, top), bend, foot], wide, tint, end=wide * 0.75)
        tint = hoof if near else darker(hoof, 0.3)
        pen.ellipse(foot[0] + wide * 0.14, foot[1] - wide * 0.1, wide * 0.55, wide * 0.42, tint)


def draw_spots(pen: Pen, spots: list[tuple[float, float, float]], colour: Colour) -> None:
    """Draw round spots.

    Args:
        pen: draws at the animal's place and size.
        spots: x, y and radius of each spot.
        colour: of the spots.
    """
    for x, y, r in spots:
        patch = [(x - r, y), (x - r * 0.3, y + r * 0.9), (x + r, y + r * 0.35), (x + r * 0.6, y - r * 0.8)]
        pen.blob(patch, colour, rim=False)


def draw_dog(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a dog with hanging ears and a raised tail."""
    colour = mix(colour, (150, 110, 70), 0.12)
    dark = darker(colour, 0.3) if entity.colour != "black" else (28, 28, 34)
    head = (0.42, 0.78)
    if entity.pose == "lie":
        pen.limb([(-0.42, 0.1), (-0.62, 0.16)], 0.1, colour, end=0.05)
        pen.limb([(-0.3, 0.2), (0.2, 0.2)], 0.36, colour, end=0.34)
        pen.limb([(0.2, 0.06), (0.55, 0.06)], 0.11, colour)
        pen.limb([(-0.35, 0.07), (-0.05, 0.06)], 0.13, darker(colour, 0.12))
        head = (0.38, 0.38)
    elif entity.pose == "sit":
        pen.limb([(-0.24, 0.1), (-0.44, 0.2), (-0.46, 0.36)], 0.09, colour, end=0.05)
        pen.limb([(-0.12, 0.2), (0.14, 0.56)], 0.42, colour, end=0.3)
        pen.ellipse(-0.1, 0.15, 0.2, 0.15, darker(colour, 0.1))
        for x in (0.1, 0.2):
            pen.limb([(x, 0.5), (x + 0.03, 0.05)], 0.11, colour)
        pen.limb([(-0.04, 0.05), (0.1, 0.05)], 0.1, darker(colour, 0.1))
        head = (0.24, 0.8)
    else:
        lift = 0.1 if entity.pose == "jump" else 0.0
        pen.limb([(-0.36, 0.54), (-0.54, 0.72), (-0.56, 0.88)], 0.09, colour, end=0.05)
        draw_legs(pen, -0.3, 0.24, 0.42, 0.11, colour, entity.pose, colour)
        pen.limb([(-0.27, 0.48), (0.2, 0.5 + lift)], 0.32, colour, end=0.36)
        pen.limb([(0.24, 0.55 + lift), (0.38, 0.74)], 0.22, colour)
    if entity.pattern == "spotted":
        x, y = {"lie": (-0.1, 0.22), "sit": (0.0, 0.36)}.get(entity.pose, (-0.05, 0.5))
        spots = [(x - 0.16, y + 0.04, 0.1), (x + 0.08, y - 0.05, 0.09), (x + 0.2, y + 0.07, 0.06)]
        draw_spots(pen, spots, COLOURS[entity.second])
    x, y = head
    pen.ellipse(x + 0.17, y - 0.06, 0.13, 0.085, lighter(colour, 0.25) if entity.colour != "white" else (226, 222, 216))
    pen.ellipse(x, y, 0.18, 0.17, colour)
    pen.ellipse(x + 0.285, y - 0.03, 0.045, 0.036, (30, 26, 30))
    pen.ellipse(x + 0.08, y + 0.04, 0.026, 0.032, EYE if entity.colour != "black" else (240, 240, 240), rim=False)
    pen.ellipse(x - 0.12, y - 0.02, 0.07, 0.16, dark if entity.colour != "white" else (120, 92, 74), angle=-14)
    if entity.shade > 0.6:
        pen.limb([(x - 0.06, y - 0.17), (x + 0.06, y - 0.19)], 0.05, (206, 60, 60))


def draw_cat(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a cat with pointed ears, whiskers and a long tail."""
    stripe = COLOURS[entity.second] if entity.pattern else None
    if entity.pose == "lie":
        pen.limb([(-0.4, 0.12), (-0.62, 0.08), (-0.5, 0.05)], 0.09, colour, end=0.07)
        pen.limb([(-0.26, 0.19), (0.2, 0.19)], 0.36, colour, end=0.34)
        pen.limb([(0.1, 0.06), (0.45, 0.06)], 0.1, colour)
        x, y, back = 0.34, 0.36, [(-0.26, 0.35), (-0.1, 0.36), (0.06, 0.35)]
    elif entity.pose == "sit":
        pen.limb([(-0.12, 0.08), (-0.4, 0.08), (-0.46, 0.28), (-0.36, 0.4)], 0.09, colour, end=0.07)
        sat = [(-0.26, 0.14), (-0.16, 0.44), (0.06, 0.64), (0.24, 0.6), (0.26, 0.2), (0.22, 0.02), (-0.14, 0.02)]
        pen.blob(sat, colour)
        for leg in (0.08, 0.19):
            pen.limb([(leg, 0.4), (leg, 0.05)], 0.09, lighter(colour, 0.12))
        x, y, back = 0.16, 0.76, [(-0.2, 0.36), (-0.13, 0.47), (-0.24, 0.24)]
    else:
        pen.limb([(-0.3, 0.46), (-0.5, 0.56), (-0.52, 0.82), (-0.44, 0.95)], 0.085, colour, end=0.07)
        draw_legs(pen, -0.24, 0.22, 0.36, 0.09, colour, entity.pose, lighter(colour, 0.2))
        pen.limb([(-0.24, 0.44), (0.2, 0.46)], 0.3, colour, end=0.29)
        x, y, back = 0.36, 0.7, [(-0.24, 0.57), (-0.1, 0.58), (0.04, 0.58)]
    if stripe:
        for a, b in back:
            pen.limb([(a, b), (a + 0.03, b - 0.13)], 0.05, stripe, rim=False)
    for side in (-1, 1):
        pen.polygon([(x + side * 0.19, y + 0.04), (x + side * 0.15, y + 0.29), (x + side * 0.02, y + 0.14)], colour)
        inside = [(x + side * 0.15, y + 0.08), (x + side * 0.135, y + 0.2), (x + side * 0.07, y + 0.13)]
        pen.polygon(inside, (240, 170, 170), rim=False)
    pen.ellipse(x, y, 0.2, 0.165, colour)
    if stripe:
        for shift in (-0.05, 0.0, 0.05):
            pen.limb([(x + shift, y + 0.15), (x + shift * 0.8, y + 0.08)], 0.025, stripe, rim=False)
    iris = (150, 200, 80) if entity.colour != "orange" else (70, 110, 70)
    for side in (-0.07, 0.09):
        pen.ellipse(x + side, y + 0.02, 0.034, 0.042, iris, rim=False)
        pen.ellipse(x + side, y + 0.02, 0.014, 0.038, EYE, rim=False)
    pen.ellipse(x + 0.01, y - 0.05, 0.026, 0.018, (226, 120, 130), rim=False)
    for side in (-1, 1):
        for lift in (-0.02, -0.08):
            pen.limb([(x + side * 0.09, y - 0.06), (x + side * 0.26, y + lift)], 0.012, lighter(colour, 0.6), rim=False)


def draw_horse(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a horse, or a zebra."""
    zebra = entity.kind == "zebra"
    mane = {"brown": (40, 36, 42), "gray": (40, 36, 42), "white": (214, 200, 176)}.get(entity.colour, (24, 22, 28))
    mane = (40, 36, 42) if zebra else mane
    pen.limb([(-0.34, 0.58), (-0.46, 0.5), (-0.48, 0.26)], 0.09, mane, end=0.05)
    draw_legs(pen, -0.26, 0.2, 0.46, 0.075, colour, entity.pose, (52, 44, 44))
    pen.limb([(-0.24, 0.53), (0.2, 0.54)], 0.27, colour, end=0.28)
    pen.limb([(0.2, 0.58), (0.36, 0.84)], 0.22, colour, end=0.14)
    pen.blob([(0.08, 0.66), (0.2, 0.8), (0.28, 0.98), (0.38, 0.96), (0.3, 0.82), (0.2, 0.68)], mane)
    pen.limb([(0.36, 0.87), (0.52, 0.74)], 0.16, colour, end=0.11)
    pen.polygon([(0.3, 0.92), (0.32, 1.01), (0.39, 0.93)], colour)
    pen.ellipse(0.53, 0.725, 0.055, 0.05, darker(colour, 0.35))
    pen.ellipse(0.4, 0.88, 0.02, 0.024, EYE if entity.colour != "black" else (235, 235, 235), rim=False)
    if zebra:
        for x in (-0.28, -0.17, -0.06, 0.05, 0.16):
            pen.limb([(x, 0.66), (x + 0.025, 0.54), (x + 0.005, 0.43)], 0.048, mane, end=0.02, rim=False)
        for x, y in ((0.25, 0.62), (0.29, 0.71), (0.33, 0.8)):
            pen.limb([(x - 0.07, y + 0.04), (x + 0.08, y - 0.02)], 0.036, mane, rim=False)
        for x in (-0.22, 0.24):
            for y in (0.16, 0.26, 0.36):
                pen.limb([(x - 0.02, y), (x + 0.05, y)], 0.025, mane, rim=False)
        pen.limb([(0.44, 0.86), (0.48, 0.74)], 0.025, mane, rim=False)


def draw_cow(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a cow."""
    down = entity.pose == "lie"
    y = 0.26 if down else 0.58
    pen.limb([(-0.46, y + 0.1), (-0.58, y), (-0.57, y - 0.22)], 0.05, colour)
    pen.ellipse(-0.57, y - 0.24, 0.045, 0.06, (60, 48, 44))
    if down:
        pen.limb([(0.2, 0.08), (0.45, 0.07)], 0.12, darker(colour, 0.15))
        pen.limb([(-0.4, 0.08), (-0.12, 0.07)], 0.13, darker(colour, 0.15))
    else:
        draw_legs(pen, -0.36, 0.28, 0.42, 0.11, colour, entity.pose, (60, 50, 48))
        pen.ellipse(-0.22, 0.36, 0.1, 0.07, (244, 176, 176))
    pen.box(-0.5, y - 0.2, 0.4, y + 0.22, colour, round=0.17)
    if entity.pattern == "spotted":
        draw_spots(pen, [(-0.3, y + 0.05, 0.13), (0.02, y - 0.04, 0.12), (0.24, y + 0.1, 0.09)], COLOURS[entity.second])
    hx, hy = 0.5, y + 0.18
    for side in (-1, 1):
        pen.limb([(hx + side * 0.08, hy + 0.12), (hx + side * 0.15, hy + 0.23)], 0.05, (238, 226, 196), end=0.03)
        pen.ellipse(hx + side * 0.18, hy + 0.06, 0.08, 0.042, darker(colour, 0.2), angle=-side * 20)
    pen.box(hx - 0.13, hy - 0.2, hx + 0.13, hy + 0.16, colour, round=0.11)
    pen.ellipse(hx + 0.01, hy - 0.16, 0.14, 0.09, (244, 184, 180))
    for side in (-0.05, 0.07):
        pen.ellipse(hx + side, hy - 0.15, 0.018, 0.024, (150, 84, 90), rim=False)
        pen.ellipse(hx + side, hy + 0.05, 0.022, 0.028, EYE if entity.colour != "black" else (240, 240, 240), rim=False)


def draw_sheep(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a sheep."""
    face = (84, 76, 80) if entity.colour != "black" else (36, 34, 40)
    y = 0.34 if entity.pose == "lie" else 0.56
    if entity.pose != "lie":
        draw_legs(pen, -0.26, 0.2, 0.36, 0.1, face, entity.pose, (40, 36, 38))
    pen.ellipse(0, y, 0.44, 0.27, colour)
    for a, b in _CURLS:
        pen.ellipse(a, y + b, 0.14, 0.12, colour)
    for a, b in ((-0.2, 0.05), (0.02, -0.06), (0.15, 0.1)):
        pen.ellipse(a, y + b, 0.06, 0.03, darker(colour, 0.12), rim=False)
    hx, hy = 0.46, y + 0.12
    for side in (-1, 1):
        pen.ellipse(hx + side * 0.15, hy + 0.06, 0.09, 0.045, face, angle=-side * 24)
    pen.ellipse(hx, hy, 0.13, 0.18, face)
    pen.ellipse(hx - 0.01, hy + 0.15, 0.12, 0.08, colour)
    for side in (-0.045, 0.06):
        pen.ellipse(hx + side, hy + 0.03, 0.026, 0.03, (248, 248, 248), rim=False)
        pen.ellipse(hx + side + 0.006, hy + 0.03, 0.012, 0.018, EYE, rim=False)


def draw_elephant(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an elephant with trunk, tusk and big ear."""
    colour = (150, 154, 166)
    pen.limb([(-0.52, 0.66), (-0.6, 0.4)], 0.04, darker(colour, 0.2))
    pose = "walk" if entity.pose == "run" else entity.pose
    draw_legs(pen, -0.34, 0.2, 0.42, 0.19, colour, pose, lighter(colour, 0.2))
    pen.ellipse(-0.08, 0.63, 0.46, 0.3, colour)
    pen.limb([(0.42, 0.74), (0.6, 0.6), (0.6, 0.3), (0.68, 0.2)], 0.17, colour, end=0.08)
    pen.ellipse(0.36, 0.76, 0.22, 0.22, colour)
    pen.limb([(0.44, 0.6), (0.56, 0.52)], 0.06, (250, 244, 226), end=0.03)
    ear = [(0.26, 0.94), (0.08, 0.92), (0.0, 0.72), (0.1, 0.5), (0.24, 0.54), (0.32, 0.72)]
    pen.blob(ear, darker(colour, 0.16))
    pen.blob([(0.15 + (a - 0.15) * 0.65, 0.73 + (b - 0.73) * 0.65) for a, b in ear], (206, 170, 176), rim=False)
    pen.ellipse(0.45, 0.82, 0.026, 0.032, EYE, rim=False)


def draw_giraffe(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a giraffe."""
    colour, patch = (246, 206, 112), (176, 108, 48)
    pen.limb([(-0.27, 0.46), (-0.33, 0.28)], 0.03, colour)
    draw_legs(pen, -0.2, 0.1, 0.38, 0.06, colour, "walk" if entity.pose != "stand" else "stand", (96, 66, 44))
    pen.limb([(-0.19, 0.43), (0.08, 0.47)], 0.18, colour, end=0.2)
    pen.limb([(0.09, 0.5), (0.2, 0.88)], 0.14, colour, end=0.085)
    draw_spots(pen, _PATCHES, patch)
    for side in (0.16, 0.21):
        pen.limb([(side, 0.92), (side - 0.01, 0.985)], 0.02, patch)
        pen.ellipse(side - 0.01, 0.985, 0.016, 0.016, (90, 58, 36))
    pen.limb([(0.2, 0.91), (0.31, 0.86)], 0.095, colour, end=0.07)
    pen.ellipse(0.12, 0.92, 0.045, 0.02, colour, angle=20)
    pen.ellipse(0.325, 0.85, 0.03, 0.028, lighter(patch, 0.3))
    pen.ellipse(0.225, 0.92, 0.014, 0.018, EYE, rim=False)


def draw_rabbit(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a rabbit."""
    stretch, lift = (0.12, 0.1) if entity.pose == "run" else (0.0, 0.0)
    tail = lighter(colour, 0.5) if entity.colour != "white" else (228, 226, 228)
    pen.ellipse(-0.4 - stretch, 0.26 + lift, 0.1, 0.1, tail)
    pen.ellipse(-0.12, 0.26 + lift, 0.3 + stretch, 0.24, colour)
    pen.limb([(-0.2 - stretch, 0.08 + lift * 0.3), (0.0 - 2 * stretch, 0.06)], 0.13, darker(colour, 0.1))
    pen.limb([(0.12, 0.24 + lift), (0.2 + stretch * 1.5, 0.06 + lift)], 0.1, colour)
    x, y = 0.2 + stretch, 0.46 + lift
    for shift, angle in ((-0.1, 16), (0.02, -4)):
        pen.ellipse(x + shift, y + 0.3, 0.062, 0.23, colour, angle=angle)
        pen.ellipse(x + shift, y + 0.3, 0.028, 0.16, (244, 176, 184), angle=angle, rim=False)
    pen.ellipse(x, y, 0.19, 0.165, colour)
    pen.ellipse(x + 0.07, y + 0.04, 0.03, 0.038, EYE, rim=False)
    pen.ellipse(x + 0.18, y - 0.01, 0.026, 0.02, (232, 120, 140), rim=False)


# Birds and ducks.

BEAK = (246, 166, 44)


def draw_bird(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a small bird, standing or with wings spread."""
    wing = darker(colour, 0.25) if entity.colour != "black" else lighter(colour, 0.18)
    if entity.pose == "fly":
        y = 0.42
        pen.blob([(-0.1, y + 0.02), (-0.3, y + 0.5), (-0.08, y + 0.56), (0.16, y + 0.1)], wing)
        pen.polygon([(-0.3, y), (-0.72, y + 0.12), (-0.66, y - 0.1), (-0.3, y - 0.12)], wing)
        pen.ellipse(0.0, y, 0.4, 0.2, colour, angle=8)
        pen.polygon([(0.58, y + 0.15), (0.76, y + 0.07), (0.58, y + 0.02)], BEAK)
        pen.ellipse(0.44, y + 0.12, 0.18, 0.17, colour)
        near = [(-0.14, y), (-0.5, y + 0.4), (-0.36, y + 0.52), (0.04, y + 0.34), (0.2, y + 0.04)]
        pen.blob(near, lighter(wing, 0.12))
        pen.ellipse(0.5, y + 0.16, 0.035, 0.042, EYE if entity.colour != "black" else (245, 245, 245), rim=False)
        return
    for x in (-0.04, 0.1):
        pen.limb([(x, 0.25), (x, 0.03), (x + 0.09, 0.03)], 0.045, BEAK)
    pen.polygon([(-0.28, 0.42), (-0.6, 0.34), (-0.54, 0.22), (-0.2, 0.28)], wing)
    pen.ellipse(0.0, 0.44, 0.36, 0.26, colour, angle=22)
    pen.polygon([(0.46, 0.82), (0.62, 0.74), (0.46, 0.67)], BEAK)
    pen.ellipse(0.27, 0.76, 0.22, 0.21, colour)
    pen.ellipse(0.14, 0.36, 0.18, 0.12, lighter(colour, 0.45), rim=False)
    pen.ellipse(-0.1, 0.44, 0.24, 0.14, wing, angle=24)
    pen.ellipse(0.34, 0.8, 0.04, 0.05, EYE if entity.colour != "black" else (245, 245, 245), rim=False)


def draw_duck(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a duck, standing or swimming."""
    low = 0.2 if entity.pose == "swim" else 0.0
    if not low:
        for x in (-0.08, 0.08):
            pen.limb([(x, 0.24), (x, 0.04)], 0.05, BEAK)
            pen.ellipse(x + 0.06, 0.03, 0.09, 0.03, BEAK)
    y = 0.4 - low
    hull = [(-0.58, 0.2), (-0.36, 0.06), (0.1, 0.14), (0.3, 0), (0.2, -0.2), (-0.2, -0.22), (-0.46, -0.06)]
    pen.blob([(a, y + b) for a, b in hull], colour)
    pen.limb([(0.2, y), (0.26, y + 0.34)], 0.2, colour)
    head = (120, 170, 110) if entity.colour == "brown" else colour
    pen.ellipse(0.46, y + 0.38, 0.13, 0.055, BEAK, angle=-6)
    pen.ellipse(0.28, y + 0.42, 0.18, 0.17, head)
    wing = [(-0.4, y + 0.06), (-0.1, y + 0.08), (0.1, y), (-0.06, y - 0.12), (-0.3, y - 0.08)]
    pen.blob(wing, darker(colour, 0.14), rim=False)
    pen.ellipse(0.34, y + 0.46, 0.03, 0.038, EYE, rim=False)
    if low:
        pen.limb([(-0.5, 0.0), (0.45, 0.0)], 0.05, (214, 236, 246), rim=False)


draw_zebra = draw_horse
