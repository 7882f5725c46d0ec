"""People: one figure for man, woman, boy and girl, dressed in what they wear.

First where the joints are in each pose (the composer asks for hands, the drawing for everything), then the drawing.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..scene import COLOURS, Entity
from .canvas import Colour, Pen, Point, darker, lighter


class Body(NamedTuple):
    """Joints in heights of the person, (0, 0) on the ground below them, x forward, y up."""

    head: Point
    radius: float
    neck: Point
    shoulder: Point
    hip: Point
    hands: tuple[Point, Point]  # near, far
    elbows: tuple[Point, Point]
    feet: tuple[Point, Point]
    knees: tuple[Point, Point]


_CHILDREN = ("boy", "girl")
# proportions in heights: head's radius, shoulder and hip above the ground, half the shoulders' width, length of an arm
ADULT, CHILD = (0.115, 0.72, 0.42, 0.115, 1.0), (0.16, 0.63, 0.34, 0.13, 0.8)
_LEGS: dict[str, tuple[Point, Point]] = {
    "stand": ((0.065, 0.03), (-0.065, 0.03)),
    "walk": ((0.16, 0.03), (-0.17, 0.05)),
    "run": ((0.24, 0.13), (-0.3, 0.16)),
    "jump": ((0.18, 0.14), (-0.17, 0.12)),
    "kick": ((0.3, 0.14), (-0.06, 0.03)),
    "sit": ((0.2, 0.03), (0.1, 0.03)),
    "mount": ((0.06, 0.02), (-0.02, 0.04)),
    "cycle": ((0.12, 0.04), (0.0, 0.1)),
    "aboard": ((0.05, 0.0), (-0.05, 0.0)),
    "climb": ((0.13, 0.2), (0.0, 0.03)),
    "lean": ((0.16, 0.03), (0.07, 0.03)),
}
_LOWER = {"sit": 0.2, "mount": 0.25, "cycle": 0.1, "run": 0.03, "jump": -0.03, "walk": 0.01}
_HANDS: dict[str, tuple[Point, Point]] = {
    "": ((0.17, -0.3), (-0.17, -0.3)),
    "swing": ((0.2, -0.17), (-0.2, -0.2)),
    "up": ((0.22, -0.02), (-0.16, -0.3)),
    "cheer": ((0.22, 0.2), (-0.22, 0.2)),
    "front": ((0.22, -0.16), (0.16, -0.17)),
    "strum": ((0.02, -0.22), (0.26, -0.04)),
    "grip": ((0.24, -0.13), (0.22, -0.13)),
    "side": ((0.2, -0.26), (-0.17, -0.3)),
    "lead": ((0.24, -0.2), (-0.17, -0.26)),
    "push": ((0.3, -0.12), (0.28, -0.13)),
    "pull": ((-0.27, -0.2), (0.17, -0.3)),
    "touch": ((0.31, -0.16), (-0.17, -0.3)),
    "hug": ((0.3, -0.03), (0.28, -0.08)),
    "throw": ((0.24, 0.16), (-0.2, -0.12)),
    "sweep": ((0.26, -0.22), (0.2, -0.1)),
    "climb": ((0.17, 0.14), (0.2, -0.02)),
    "fold": ((0.08, -0.16), (0.05, -0.2)),
}
_AT_HEAD = {"eat": (0.9, -0.5), "eye": (1.0, 0.0)}  # the near hand, in radii around the head


def body(kind: str, pose: str, hands: str) -> Body:
    """Return the joints of a person.

    Args:
        kind: of the person.
        pose: as in the tables above.
        hands: what the hands do, as in the tables above.
    """
    child = kind in _CHILDREN
    radius, high, hips, half, reach = CHILD if child else ADULT
    lower = hips - 0.03 if pose == "aboard" else _LOWER.get(pose, 0.0) * (0.8 if child else 1.0)
    hip = (0.0, hips - lower)
    lean = {"run": 0.07, "cycle": 0.09, "kick": -0.04, "lean": -0.09, "climb": 0.03}.get(pose, 0.0)
    shoulder = (lean, high - lower)
    head = (lean * 1.4 + 0.01, 1 - radius - 0.01 - lower)
    places = _HANDS.get(hands, _HANDS["front"])
    touch = tuple((shoulder[0] + x * (1.1 if child else 1), shoulder[1] + y * reach) for x, y in places)
    if hands in _AT_HEAD:
        x, y = _AT_HEAD[hands]
        touch = ((head[0] + radius * x, head[1] + radius * y), touch[1])
    roots = [(shoulder[0] + side * half * 0.72, shoulder[1] - 0.03) for side in (1, -1)]
    feet = _LEGS[pose]
    knees = tuple(joint(hip, foot, (hips - 0.03) * 0.51, 1) for foot in feet)
    elbows = tuple(joint(root, hand, 0.17 * reach, -1) for root, hand in zip(roots, touch, strict=True))
    return Body(head, radius, (lean, shoulder[1] + 0.02), shoulder, hip, touch, elbows, feet, knees)


def joint(root: Point, end: Point, bone: float, side: int) -> Point:
    """Return the knee or elbow between two ends of a limb.

    Args:
        root: where the limb begins.
        end: where it ends.
        bone: the length of both bones.
        side: 1 bends it forward, -1 backward.
    """
    x, y = end[0] - root[0], end[1] - root[1]
    length = math.hypot(x, y) or 1e-6
    out = math.sqrt(max(bone * bone - length * length / 4, 0.0))
    middle = ((root[0] + end[0]) / 2, (root[1] + end[1]) / 2)
    normal = (-y / length * side, x / length * side)
    return middle[0] + normal[0] * out, middle[1] + normal[1] * out


def hand(kind: str, pose: str, hands: str, *, x: float, base: float, height: float, flip: bool) -> Point:
    """Return where the near hand is in the picture, in picture heights with y down.

    Args:
        kind: of the person.
        pose: of the person.
        hands: what the hands do.
        x: where the person stands.
        base: the ground under the feet.
        height: of the person.
        flip: whether the person faces left.
    """
    (forward, up), _ = body(kind, pose, hands).hands
    return x + (-forward if flip else forward) * height, base - up * height


SKINS: tuple[Colour, ...] = ((253, 214, 180), (240, 190, 150), (205, 148, 104), (152, 100, 66), (106, 68, 46))
HAIR: dict[str, Colour] = {"blond": (236, 198, 98), "brown": (104, 66, 38), "black": (38, 32, 36),
                           "red": (190, 84, 38), "gray": (205, 206, 212)}  # fmt: skip
Worn = Mapping[str, tuple[int, Entity]]


def draw_person(pen: Pen, entity: Entity, worn: Worn) -> None:
    """Draw a person with clothes.

    Args:
        pen: draws at the person's place and size.
        entity: the person.
        worn: mark and entity of each garment, by kind.
    """
    joints = body(entity.kind, entity.pose or "stand", entity.hands)
    skin = SKINS[int(entity.shade * 4.999)]
    hair = HAIR[entity.hair]
    top = worn.get("coat") or worn.get("shirt") or worn["dress"]
    sleeve, sleeve_mark = COLOURS[top[1].colour], top[0]
    child = entity.kind in _CHILDREN
    thick = 0.078 if child else 0.066
    if "backpack" in worn:
        _backpack(pen, joints, *worn["backpack"])
    if entity.kind in ("woman", "girl"):
        _long_hair(pen, joints, hair, child)
    _arm(pen, joints, 1, thick, skin, darker(sleeve, 0.18), sleeve_mark, "coat" in worn)
    if entity.pose != "aboard":  # in a boat the legs are behind its side
        _legs(pen, joints, skin, worn, child)
    if "skirt" in worn:
        _skirt(pen, joints, *worn["skirt"], child)
    _torso(pen, joints, worn, child)
    if "tie" in worn:
        _tie(pen, joints, *worn["tie"])
    if "apron" in worn:
        _apron(pen, joints, *worn["apron"], child)
    pen.limb([joints.neck, joints.head], 0.07, darker(skin, 0.12))
    _head(pen, entity, joints, skin, hair)
    for kind, put_on in (("scarf", _scarf), ("glasses", _glasses), ("helmet", _helmet)):
        if kind in worn:
            put_on(pen, joints, *worn[kind])
    if "hat" in worn:
        _hat(pen, joints, *worn["hat"], brim=entity.shade > 0.5)
    _arm(pen, joints, 0, thick, skin, sleeve, sleeve_mark, "coat" in worn)


def _arm(pen: Pen, joints: Body, side: int, thick: float, skin: Colour, sleeve: Colour, mark: int, long: bool) -> None:
    x, y = joints.shoulder
    root = (x + (0.085, -0.085)[side], y - 0.035)
    elbow, hand = joints.elbows[side], joints.hands[side]
    pen.limb([elbow, hand], thick * 0.9, sleeve if long else skin, mark=mark if long else None)
    pen.ellipse(*hand, thick * 0.56, thick * 0.56, skin)
    pen.limb([root, elbow], thick * 1.1, sleeve, end=thick, mark=mark)


def _legs(pen: Pen, joints: Body, skin: Colour, worn: Worn, child: bool) -> None:
    thick = 0.1 if child else 0.09
    for side in (1, 0):
        shift = (0.045, -0.045)[side]
        hip = (joints.hip[0] + shift, joints.hip[1])
        knee, foot = joints.knees[side], joints.feet[side]
        colour, mark = skin, None
        if "trousers" in worn:
            mark, garment = worn["trousers"]
            colour = darker(COLOURS[garment.colour], 0.14 * side)
        knee = (knee[0] + shift * 0.4, knee[1])
        pen.limb([hip, knee, foot], thick, colour, end=thick * 0.8, mark=mark)
        if "boots" in worn:
            mark, garment = worn["boots"]
            boot = darker(COLOURS[garment.colour], 0.14 * side)
            shin = (foot[0] + (knee[0] - foot[0]) * 0.62, foot[1] + (knee[1] - foot[1]) * 0.62)
            pen.limb([shin, foot], thick * 1.16, boot, pattern=weave(garment), mark=mark)
            pen.ellipse(foot[0] + 0.034, foot[1] - 0.002, 0.08, 0.038, boot, mark=mark)
            continue
        pen.ellipse(foot[0] + 0.028, foot[1] - 0.002, 0.068, 0.032, (70, 52, 48) if side == 0 else (54, 40, 40))


def _on_head(joints: Body, points: Sequence[Point]) -> list[Point]:
    """Points given in radii of the head around its middle."""
    (x, y), r = joints.head, joints.radius
    return [(x + r * a, y + r * b) for a, b in points]


_CAPS = {  # the outline of the hair around the face
    "man": ((-0.92, -0.1), (-0.95, 0.5), (-0.5, 1.06), (0.25, 1.12), (0.86, 0.72), (0.84, 0.36), (0.2, 0.52),
            (-0.5, 0.42)),
    "woman": ((-0.98, -0.3), (-1.0, 0.5), (-0.45, 1.1), (0.3, 1.1), (0.92, 0.6), (0.9, 0.1), (0.5, 0.52), (-0.4, 0.5)),
}  # fmt: skip
_BEARD = ((-0.5, -0.28), (0.1, -0.34), (0.8, -0.2), (0.6, -0.9), (0.1, -1.08), (-0.4, -0.85))
_DOWN = ((-0.9, 0.6), (0.7, 0.7), (1.0, -0.2), (0.95, -1.25), (0.2, -1.5), (-0.8, -1.55), (-1.2, -1.1), (-1.1, -0.2))


def _head(pen: Pen, entity: Entity, joints: Body, skin: Colour, hair: Colour) -> None:
    (x, y), r = joints.head, joints.radius
    pen.ellipse(x, y, r * 0.9, r, skin)
    pen.ellipse(x - r * 0.62, y - r * 0.08, r * 0.18, r * 0.22, darker(skin, 0.1))
    pen.blob(_on_head(joints, _CAPS["man" if entity.kind in ("man", "boy") else "woman"]), hair)
    if entity.kind == "man" and (entity.shade * 7) % 1 > 0.5:
        pen.blob(_on_head(joints, _BEARD), darker(hair, 0.1), rim=False)
        pen.ellipse(x + r * 0.3, y - r * 0.52, r * 0.2, r * 0.07, (190, 90, 84), rim=False)
    else:
        smile = _on_head(joints, ((0.02, -0.42), (0.3, -0.54), (0.56, -0.42)))
        pen.limb(smile, r * 0.11, (186, 76, 76), rim=False)
    for eye in (0.08, 0.56):
        pen.ellipse(x + r * eye, y + r * 0.06, r * 0.1, r * 0.14, (36, 30, 38), rim=False)
    blush = (240, 150, 140) if entity.shade < 0.5 else skin
    for cheek in (-0.18, 0.74):
        pen.ellipse(x + r * cheek, y - r * 0.24, r * 0.14, r * 0.1, blush, rim=False)
    if entity.age == "old":
        for eye in (0.08, 0.56):
            brow = _on_head(joints, ((eye - 0.16, 0.32), (eye + 0.16, 0.34)))
            pen.limb(brow, r * 0.1, lighter(hair), rim=False)


def _long_hair(pen: Pen, joints: Body, hair: Colour, child: bool) -> None:
    (x, y), r = joints.head, joints.radius
    if child:  # two bunches
        for side in (-1.1, 1.05):
            pen.ellipse(x + r * side, y - r * 0.25, r * 0.34, r * 0.62, hair, angle=-14 * side)
    else:
        pen.blob(_on_head(joints, _DOWN), darker(hair, 0.15))


# What people wear, drawn on their joints; each garment leaves its own marks.


def weave(garment: Entity) -> tuple[str, Colour] | None:
    """Return the pattern over a thing's colour, if it has one."""
    return (garment.pattern, COLOURS[garment.second]) if garment.pattern and garment.second else None


def _torso(pen: Pen, joints: Body, worn: Worn, child: bool) -> None:
    """Shirt, dress or coat over the trunk."""
    (sx, sy), (hx, hy) = joints.shoulder, joints.hip
    half, waist = (0.13, 0.12) if child else (0.125, 0.105)
    kind = next(kind for kind in ("coat", "dress", "shirt") if kind in worn)
    mark, garment = worn[kind]
    colour = COLOURS[garment.colour]
    top = [(sx - half * 0.72, sy + 0.03), (sx + half * 0.72, sy + 0.03), (sx + half, sy - 0.04)]
    if kind == "dress":
        hem, flare = max(hy - 0.2, 0.08), 0.2 if child else 0.185
        skirt = [(hx + flare, hem), (hx, hem - 0.015), (hx - flare, hem)]
        low = [(hx + waist * 0.85, hy + 0.09), *skirt, (hx - waist * 0.85, hy + 0.09)]
    else:
        hem = hy - (0.1 if kind == "coat" else 0.03)
        wide = waist * (1.22 if kind == "coat" else 1.0)
        low = [(hx + wide, hem), (hx - wide, hem)]
    pen.polygon([*top, *low, (sx - half, sy - 0.04)], colour, pattern=weave(garment), mark=mark)
    if kind == "coat":
        pen.limb([(sx + 0.02, sy), (hx + 0.02, hem + 0.02)], 0.014, darker(colour, 0.35), rim=False, mark=mark)
        for step in (0.25, 0.5, 0.75):
            x, y = sx + 0.045 + (hx - sx) * step, sy + (hy - sy) * step
            pen.ellipse(x, y, 0.012, 0.012, lighter(colour, 0.6), rim=False, mark=mark)


def _scarf(pen: Pen, joints: Body, mark: int, garment: Entity) -> None:
    """A scarf around the neck with one end hanging."""
    (x, y), r, colour = joints.neck, joints.radius, COLOURS[garment.colour]
    end = [(x + r * 0.5, y - 0.01), (x + r * 0.62, y - 0.16)]
    pen.limb(end, 0.06, darker(colour, 0.1), pattern=weave(garment), mark=mark)
    pen.ellipse(x, y + 0.005, r * 0.95, 0.042, colour, mark=mark)


def _hat(pen: Pen, joints: Body, mark: int, garment: Entity, *, brim: bool) -> None:
    """A hat with a brim all around, or a cap with a peak."""
    (x, y), r, colour = joints.head, joints.radius, COLOURS[garment.colour]
    if brim:
        crown = [(-0.72, 0.5), (0.78, 0.5), (0.62, 1.3), (-0.56, 1.3)]
        pen.polygon(_on_head(joints, crown), colour, pattern=weave(garment), mark=mark)
        pen.ellipse(x + r * 0.03, y + r * 0.52, r * 1.4, r * 0.2, darker(colour, 0.1), mark=mark)
        pen.box(x - r * 0.7, y + r * 0.62, x + r * 0.76, y + r * 0.82, darker(colour, 0.45), rim=False, mark=mark)
    else:
        crown = [(-1.0, 0.3), (-0.9, 0.95), (-0.3, 1.28), (0.4, 1.2), (0.95, 0.75), (0.95, 0.36), (0.0, 0.4)]
        pen.polygon(_on_head(joints, crown), colour, pattern=weave(garment), mark=mark)
        pen.ellipse(x + r * 1.05, y + r * 0.42, r * 0.62, r * 0.14, darker(colour, 0.2), angle=-6, mark=mark)


def _backpack(pen: Pen, joints: Body, mark: int, garment: Entity) -> None:
    """A backpack behind the trunk."""
    (x, y), colour = joints.shoulder, COLOURS[garment.colour]
    pen.box(x - 0.24, y - 0.27, x - 0.02, y + 0.03, colour, round=0.06, mark=mark)
    pen.box(x - 0.25, y - 0.25, x - 0.1, y - 0.13, darker(colour, 0.25), round=0.03, mark=mark)


def _glasses(pen: Pen, joints: Body, mark: int, garment: Entity) -> None:
    """Glasses with thick coloured frames."""
    (x, y), r, colour = joints.head, joints.radius, COLOURS[garment.colour]
    pen.limb(_on_head(joints, ((-0.75, 0.14), (0.0, 0.1))), r * 0.2, colour, mark=mark)
    for eye in (0.02, 0.64):
        pen.ellipse(x + r * eye, y + r * 0.06, r * 0.38, r * 0.36, colour, mark=mark)
    for eye in (0.02, 0.64):
        pen.ellipse(x + r * eye, y + r * 0.06, r * 0.22, r * 0.2, (226, 242, 250), rim=False, mark=mark)
        pen.ellipse(x + r * eye, y + r * 0.06, r * 0.08, r * 0.11, (36, 30, 38), rim=False)


def _helmet(pen: Pen, joints: Body, mark: int, garment: Entity) -> None:
    """A round helmet over ear and brow, with a pale band and a strap."""
    colour = COLOURS[garment.colour]
    pale = lighter(colour, 0.6) if garment.colour != "white" else (206, 60, 56)
    pen.limb(_on_head(joints, ((-0.5, 0.0), (-0.2, -0.8), (0.3, -0.9))), joints.radius * 0.14, (50, 48, 54), mark=mark)
    back, front = [(-1.18, 0.0), (-1.16, 0.7), (-0.6, 1.3)], [(0.3, 1.34), (0.98, 0.9), (1.14, 0.36)]
    shell = [*back, *front, (-0.3, 0.34), (-0.5, -0.12)]
    pen.polygon(_on_head(joints, shell), colour, mark=mark)
    band = [(-1.1, 0.62), (-0.98, 0.88), (0.98, 0.88), (1.08, 0.62)]
    pen.polygon(_on_head(joints, band), pale, rim=False, mark=mark)


def _skirt(pen: Pen, joints: Body, mark: int, garment: Entity, child: bool) -> None:
    """A flared skirt from the waist to above the knees."""
    (x, y), colour = joints.hip, COLOURS[garment.colour]
    flare, hem = 0.2 if child else 0.19, max(y - 0.2, 0.08)
    outline = [(x - 0.1, y + 0.07), (x + 0.1, y + 0.07), (x + flare, hem), (x, hem - 0.015), (x - flare, hem)]
    pen.polygon(outline, colour, pattern=weave(garment), mark=mark)


def _tie(pen: Pen, joints: Body, mark: int, garment: Entity) -> None:
    """A tie down the front of a shirt."""
    (x, y), (hx, hy), colour = joints.shoulder, joints.hip, COLOURS[garment.colour]
    tip = (x + 0.045 + (hx - x) * 0.85, y + (hy - y) * 0.85)
    pen.polygon([(x + 0.01, y + 0.02), (x + 0.09, y + 0.02), (x + 0.05, y - 0.06)], (250, 250, 248), rim=False)
    tail = [(x + 0.035, y), (x + 0.065, y), (tip[0] + 0.045, tip[1] + 0.05), tip, (tip[0] - 0.045, tip[1] + 0.05)]
    pen.polygon(tail, colour, pattern=weave(garment), mark=mark)


def _apron(pen: Pen, joints: Body, mark: int, garment: Entity, child: bool) -> None:
    """An apron: a bib on the chest and a wide front to the knees."""
    (x, y), (hx, hy), colour = joints.shoulder, joints.hip, COLOURS[garment.colour]
    wide, low = 0.13 if child else 0.115, max(hy - 0.14, 0.1)
    for side in (-0.03, 0.09):
        pen.limb([(x + side, y + 0.02), (x + side, y - 0.06)], 0.02, colour, mark=mark)
    front = [(x - 0.05, y - 0.05), (x + 0.11, y - 0.05), (hx + wide, hy + 0.08), (hx + wide * 1.15, low)]
    front += [(hx - wide * 0.75, low), (hx - wide * 0.7, hy + 0.08)]
    pen.polygon(front, colour, pattern=weave(garment), mark=mark)
    pen.limb([(hx - wide * 0.9, hy + 0.08), (hx + wide, hy + 0.08)], 0.02, darker(colour, 0.25), rim=False, mark=mark)
