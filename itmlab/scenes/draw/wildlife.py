"""More animals: pigs, foxes, bears, lions, monkeys, penguins, owls and turtles.

Coordinates are the pen's: x forward, y up from where the animal stands, 1 is its height.
"""

import math

from ..scene import COLOURS, Entity
from .animals import BEAK, EYE, draw_legs, draw_spots
from .canvas import Colour, Pen, darker, lighter


def draw_pig(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a pig."""
    dark = darker(colour, 0.16) if entity.colour != "black" else lighter(colour, 0.16)
    snout = (238, 150, 160) if entity.colour != "pink" else (226, 112, 150)
    pen.limb([(-0.5, 0.6), (-0.6, 0.68), (-0.56, 0.76), (-0.64, 0.78)], 0.04, dark)
    draw_legs(pen, -0.32, 0.24, 0.34, 0.13, colour, entity.pose, dark)
    pen.ellipse(-0.06, 0.52, 0.48, 0.32, colour)
    if entity.pattern == "spotted":
        draw_spots(pen, [(-0.3, 0.58, 0.1), (-0.02, 0.5, 0.11), (0.16, 0.66, 0.07)], COLOURS[entity.second])
    pen.ellipse(0.4, 0.66, 0.24, 0.25, colour)
    pen.polygon([(0.24, 0.82), (0.22, 1.02), (0.4, 0.9)], dark)
    pen.polygon([(0.46, 0.88), (0.58, 0.98), (0.58, 0.78)], dark)
    pen.ellipse(0.6, 0.58, 0.1, 0.12, snout)
    for x in (0.575, 0.635):
        pen.ellipse(x, 0.58, 0.018, 0.035, darker(snout, 0.5), rim=False)
    pen.ellipse(0.44, 0.72, 0.03, 0.038, EYE if entity.colour != "black" else (240, 240, 240), rim=False)


def draw_fox(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a fox: pointed face, white chest, a thick tail with a white end."""
    pale, sock = (250, 246, 238), (66, 48, 44)
    if entity.colour == "white":
        colour, pale, sock = (240, 240, 240), (206, 210, 220), (180, 184, 194)
    if entity.pose == "sit":
        pen.blob([(-0.16, 0.1), (-0.4, 0.03), (-0.62, 0.14), (-0.6, 0.3), (-0.36, 0.26)], colour)
        pen.blob([(-0.5, 0.06), (-0.66, 0.14), (-0.64, 0.32), (-0.52, 0.24)], pale, rim=False)
        pen.limb([(-0.1, 0.18), (0.12, 0.54)], 0.36, colour, end=0.24)
        for x in (0.08, 0.18):
            pen.limb([(x, 0.46), (x + 0.03, 0.05)], 0.09, colour if x < 0.1 else sock)
        pen.blob([(0.12, 0.6), (0.28, 0.56), (0.26, 0.3), (0.16, 0.36)], pale, rim=False)
        x, y = 0.24, 0.74
    else:
        pen.blob([(-0.26, 0.54), (-0.46, 0.62), (-0.7, 0.5), (-0.8, 0.34), (-0.6, 0.34), (-0.4, 0.42)], colour)
        pen.blob([(-0.62, 0.48), (-0.76, 0.46), (-0.86, 0.28), (-0.66, 0.33)], pale, rim=False)
        draw_legs(pen, -0.26, 0.24, 0.38, 0.085, sock, entity.pose, sock)
        pen.limb([(-0.24, 0.48), (0.22, 0.5)], 0.27, colour, end=0.28)
        pen.blob([(0.26, 0.6), (0.4, 0.54), (0.34, 0.38), (0.2, 0.38)], pale, rim=False)
        x, y = 0.4, 0.72
    for side in (-0.13, 0.07):
        pen.polygon([(x + side - 0.07, y + 0.08), (x + side - 0.02, y + 0.3), (x + side + 0.11, y + 0.1)], colour)
        tip = [(x + side - 0.05, y + 0.19), (x + side - 0.02, y + 0.3), (x + side + 0.05, y + 0.19)]
        pen.polygon(tip, sock, rim=False)
    face = [(-0.2, 0.06), (-0.02, 0.17), (0.16, 0.08), (0.38, -0.1), (0.06, -0.17), (-0.16, -0.1)]
    pen.polygon([(x + a, y + b) for a, b in face], colour)
    pen.polygon([(x - 0.14, y - 0.08), (x + 0.1, y - 0.02), (x + 0.36, y - 0.1), (x + 0.06, y - 0.16)], pale, rim=False)
    pen.ellipse(x + 0.37, y - 0.09, 0.036, 0.032, (30, 26, 30))
    pen.ellipse(x + 0.1, y + 0.05, 0.026, 0.032, EYE, rim=False)


def draw_bear(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a heavy bear with round ears and a light muzzle."""
    dark = darker(colour, 0.2) if entity.colour != "black" else lighter(colour, 0.1)
    muzzle = lighter(colour, 0.4) if entity.colour != "white" else (216, 212, 206)
    if entity.pose == "sit":
        pen.blob([(-0.34, 0.06), (-0.36, 0.36), (-0.2, 0.66), (0.16, 0.66), (0.3, 0.34), (0.28, 0.06)], colour)
        pen.ellipse(0.02, 0.34, 0.19, 0.23, muzzle, rim=False)
        for x in (-0.28, 0.28):
            pen.ellipse(x, 0.1, 0.16, 0.1, dark)
            pen.limb([(x * 0.85, 0.56), (x * 1.15, 0.3)], 0.15, dark, end=0.13)
        x, y = 0.0, 0.78
        ears, nose, eyes = (-0.19, 0.19), (0.0, -0.05), (-0.09, 0.09)
    else:
        draw_legs(pen, -0.34, 0.22, 0.4, 0.19, colour, entity.pose, dark)
        trunk = [(-0.56, 0.5), (-0.42, 0.8), (-0.04, 0.84), (0.28, 0.88), (0.4, 0.6), (0.26, 0.34), (-0.4, 0.34)]
        pen.blob(trunk, colour)
        pen.ellipse(-0.56, 0.62, 0.06, 0.06, dark)
        x, y = 0.44, 0.76
        ears, nose, eyes = (-0.13, 0.11), (0.17, -0.06), (0.0, 0.14)
    for side in ears:
        pen.ellipse(x + side, y + 0.17, 0.075, 0.075, dark)
        pen.ellipse(x + side, y + 0.17, 0.04, 0.04, muzzle, rim=False)
    pen.ellipse(x, y, 0.23, 0.2, colour)
    pen.ellipse(x + nose[0], y + nose[1], 0.12, 0.095, muzzle)
    pen.ellipse(x + nose[0] * 1.3, y + nose[1] + 0.04, 0.05, 0.036, (34, 28, 32))
    for side in eyes:
        pen.ellipse(x + side, y + 0.06, 0.026, 0.03, EYE if entity.colour != "black" else (240, 240, 240), rim=False)


def draw_lion(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a lion with a great brown mane and a tufted tail."""
    colour, mane = (236, 186, 96), (164, 92, 40)
    down = entity.pose == "lie"
    y = 0.24 if down else 0.5
    pen.limb([(-0.42, y + 0.06), (-0.62, y - 0.02), (-0.66, y + 0.22)], 0.05, colour)
    pen.ellipse(-0.66, y + 0.26, 0.075, 0.085, mane)
    if down:
        pen.limb([(0.16, 0.08), (0.52, 0.07)], 0.13, colour)
        pen.limb([(-0.42, 0.09), (-0.1, 0.07)], 0.15, darker(colour, 0.12))
    else:
        draw_legs(pen, -0.32, 0.2, 0.4, 0.12, colour, entity.pose, colour)
    pen.limb([(-0.32, y), (0.16, y + 0.02)], 0.33, colour, end=0.36)
    x, y = 0.36, y + 0.2
    for step in range(9):
        turn = 2 * math.pi * step / 9
        pen.ellipse(x + 0.19 * math.cos(turn), y + 0.19 * math.sin(turn), 0.12, 0.12, mane)
    pen.ellipse(x, y, 0.24, 0.24, mane, rim=False)
    for side in (-0.12, 0.15):
        pen.ellipse(x + side, y + 0.17, 0.055, 0.055, colour, rim=False)
    pen.ellipse(x + 0.02, y, 0.17, 0.17, colour, rim=False)
    pen.ellipse(x + 0.06, y - 0.07, 0.1, 0.07, (252, 232, 190), rim=False)
    pen.polygon([(x + 0.01, y - 0.01), (x + 0.11, y - 0.01), (x + 0.06, y - 0.07)], (110, 56, 48), rim=False)
    for side in (-0.04, 0.11):
        pen.ellipse(x + side, y + 0.06, 0.025, 0.03, EYE, rim=False)


def draw_monkey(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a monkey with a curled tail, sitting, standing or climbing with its arms up."""
    face = (240, 204, 164)
    low = 0.0 if entity.pose == "sit" else 0.12
    pen.limb([(-0.14, 0.16 + low), (-0.4, 0.14), (-0.46, 0.34), (-0.36, 0.44), (-0.3, 0.36)], 0.055, colour)
    if entity.pose == "sit":
        pen.limb([(0.0, 0.14), (0.2, 0.26), (0.2, 0.05)], 0.11, darker(colour, 0.15))
        pen.ellipse(0.24, 0.04, 0.1, 0.04, face)
    else:
        for x in (-0.09, 0.09):
            pen.limb([(x, 0.3), (x * 1.5, 0.05)], 0.11, colour)
            pen.ellipse(x * 1.5 + 0.04, 0.035, 0.09, 0.035, face)
    pen.ellipse(0, 0.33 + low, 0.19, 0.25, colour)
    pen.ellipse(0.05, 0.32 + low, 0.11, 0.17, face, rim=False)
    x, y = 0.05, 0.72
    up = entity.pose == "climb"
    for side in (-1, 1):
        hand = (side * 0.2 + 0.1, 0.98) if up else (0.22 + 0.03 * side, 0.5)
        if side > 0 or up:
            elbow = (side * 0.3, 0.7) if up else (0.26, 0.32)
            pen.limb([(side * 0.13, 0.5 + low * 0.6), elbow, hand], 0.085, colour)
            pen.ellipse(*hand, 0.055, 0.055, face)
        pen.ellipse(x + side * 0.22, y + 0.02, 0.09, 0.1, colour)
        pen.ellipse(x + side * 0.22, y + 0.02, 0.055, 0.065, face, rim=False)
    pen.ellipse(x, y, 0.2, 0.19, colour)
    for side in (-0.06, 0.1):
        pen.ellipse(x + side, y + 0.04, 0.09, 0.09, face, rim=False)
        pen.ellipse(x + side + 0.01, y + 0.05, 0.026, 0.034, EYE, rim=False)
    pen.ellipse(x + 0.03, y - 0.07, 0.13, 0.09, face, rim=False)
    pen.limb([(x - 0.03, y - 0.1), (x + 0.09, y - 0.1)], 0.018, (150, 80, 70), rim=False)


def draw_penguin(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a penguin, upright, with a white front."""
    step = 0.05 if entity.pose == "walk" else 0.0
    for x, lift in ((-0.08 - step, 0.0), (0.1 + step, step)):
        pen.ellipse(x + 0.03, 0.03 + lift, 0.11, 0.035, BEAK)
    pen.limb([(-0.2, 0.6), (-0.33, 0.3)], 0.11, darker(colour, 0.2), end=0.06)
    pen.blob([(-0.24, 0.3), (-0.22, 0.66), (0.0, 0.8), (0.2, 0.66), (0.25, 0.3), (0.1, 0.05), (-0.12, 0.05)], colour)
    front = [(-0.05, 0.3), (-0.02, 0.58), (0.1, 0.68), (0.2, 0.58), (0.22, 0.3), (0.1, 0.09)]
    pen.blob(front, (250, 250, 248), rim=False)
    pen.polygon([(0.17, 0.86), (0.36, 0.8), (0.17, 0.77)], BEAK)
    pen.ellipse(0.03, 0.83, 0.18, 0.165, colour)
    pen.ellipse(0.1, 0.81, 0.1, 0.1, (250, 250, 248), rim=False)
    pen.ellipse(0.11, 0.86, 0.03, 0.038, EYE, rim=False)
    pen.limb([(0.0, 0.6), (-0.08 if not step else 0.1, 0.34)], 0.1, darker(colour, 0.12), end=0.05)


def draw_owl(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw an owl that looks at us with round eyes."""
    for x in (-0.1, 0.1):
        pen.ellipse(x, 0.03, 0.08, 0.035, BEAK)
    pen.blob([(-0.3, 0.3), (-0.28, 0.66), (0.0, 0.8), (0.28, 0.66), (0.3, 0.3), (0.14, 0.04), (-0.14, 0.04)], colour)
    pen.ellipse(0, 0.32, 0.17, 0.25, lighter(colour, 0.5), rim=False)
    for x, y in ((-0.08, 0.42), (0.08, 0.42), (0, 0.32), (-0.08, 0.22), (0.08, 0.22)):
        pen.ellipse(x, y, 0.035, 0.02, darker(colour, 0.1), rim=False)
    for side in (-1, 1):
        wing = [(side * 0.24, 0.6), (side * 0.36, 0.4), (side * 0.27, 0.14), (side * 0.18, 0.4)]
        pen.blob(wing, darker(colour, 0.22))
        pen.polygon([(side * 0.3, 0.8), (side * 0.27, 1.0), (side * 0.08, 0.93)], darker(colour, 0.15))
    pen.ellipse(0, 0.74, 0.31, 0.22, colour)
    for side in (-0.13, 0.13):
        pen.ellipse(side, 0.75, 0.13, 0.13, lighter(colour, 0.6), rim=False)
        pen.ellipse(side, 0.75, 0.09, 0.09, (250, 206, 60), rim=False)
        pen.ellipse(side, 0.75, 0.05, 0.055, EYE, rim=False)
    pen.polygon([(-0.05, 0.7), (0.05, 0.7), (0, 0.6)], BEAK, rim=False)


def draw_turtle(pen: Pen, entity: Entity, colour: Colour) -> None:
    """Draw a turtle: a domed shell with plates, green or brown; its skin is the other."""
    skin = (164, 190, 100) if entity.colour == "brown" else (196, 204, 128)
    step = 0.12 if entity.pose == "walk" else 0.0
    pen.polygon([(-0.62, 0.26), (-0.86, 0.16), (-0.6, 0.14)], skin)
    for x, shift in ((-0.42, -step), (0.36, step)):
        pen.limb([(x, 0.3), (x + shift * 1.2, 0.07)], 0.22, skin, end=0.2)
    pen.limb([(0.5, 0.32), (0.72, 0.58)], 0.2, skin)
    pen.ellipse(0.74, 0.64, 0.2, 0.18, skin)
    pen.ellipse(0.82, 0.7, 0.04, 0.05, EYE, rim=False)
    pen.limb([(0.84, 0.55), (0.92, 0.58)], 0.03, darker(skin, 0.4), rim=False)
    shell = [(-0.7, 0.22), (-0.6, 0.6), (-0.32, 0.88), (0, 0.97), (0.3, 0.88), (0.55, 0.6), (0.64, 0.22)]
    pen.polygon(shell, colour)
    for x, y in ((-0.34, 0.48), (-0.02, 0.66), (0.3, 0.48)):
        plate = [(x + 0.17 * math.cos(t * math.pi / 3), y + 0.17 * math.sin(t * math.pi / 3)) for t in range(6)]
        pen.polygon(plate, darker(colour, 0.28), rim=False)
    pen.box(-0.72, 0.2, 0.66, 0.3, lighter(colour, 0.3), round=0.045)
