"""Where a person's joints are in each pose; the composer asks it for hands, the drawing for everything."""

import math
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Body:
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


@dataclass(frozen=True)
class Build:
    """Proportions: head's radius, heights of shoulder and hip, half the shoulders' width, thickness of limbs."""

    radius: float
    shoulder: float
    hip: float
    half: float
    arm: float
    leg: float


ADULT = Build(radius=0.115, shoulder=0.72, hip=0.42, half=0.115, arm=0.066, leg=0.09)
CHILD = Build(radius=0.16, shoulder=0.63, hip=0.34, half=0.13, arm=0.078, leg=0.1)
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
}


def is_child(kind: str) -> bool:
    """Whether a kind of person is a child."""
    return kind in ("boy", "girl")


def body(kind: str, pose: str, hands: str) -> Body:
    """The joints of a person of `kind` in `pose` (see the table above) with `hands` doing what."""
    build = CHILD if is_child(kind) else ADULT
    lower = build.hip - 0.03 if pose == "aboard" else _LOWER.get(pose, 0.0) * (0.8 if is_child(kind) else 1.0)
    hip = (0.0, build.hip - lower)
    lean = {"run": 0.07, "cycle": 0.09, "kick": -0.04}.get(pose, 0.0)
    shoulder = (lean, build.shoulder - lower)
    head = (lean * 1.4 + 0.01, 1 - build.radius - 0.01 - lower)
    reach = 0.8 if is_child(kind) else 1.0
    touch = tuple((shoulder[0] + x * (1.1 if reach < 1 else 1), shoulder[1] + y * reach) for x, y in _HANDS[hands])
    roots = (
        (shoulder[0] + build.half * 0.72, shoulder[1] - 0.03),
        (shoulder[0] - build.half * 0.72, shoulder[1] - 0.03),
    )
    feet = _LEGS[pose]
    leg = (build.hip - 0.03) * 0.51
    knees = tuple(joint(hip, foot, leg, 1) for foot in feet)
    elbows = tuple(joint(root, hand, 0.17 * reach, -1) for root, hand in zip(roots, touch, strict=True))
    return Body(head, build.radius, (lean, shoulder[1] + 0.02), shoulder, hip, touch, elbows, feet, knees)


def joint(root: Point, end: Point, bone: float, side: int) -> Point:
    """The knee or elbow between `root` and `end` when both bones are `bone` long; `side` 1 bends it forward."""
    x, y = end[0] - root[0], end[1] - root[1]
    length = math.hypot(x, y) or 1e-6
    out = math.sqrt(max(bone * bone - length * length / 4, 0.0))
    middle = ((root[0] + end[0]) / 2, (root[1] + end[1]) / 2)
    normal = (-y / length * side, x / length * side)
    return middle[0] + normal[0] * out, middle[1] + normal[1] * out


def hand(kind: str, pose: str, hands: str, *, x: float, base: float, height: float, flip: bool) -> Point:
    """Where the near hand is in the picture (picture heights, y down)."""
    (forward, up), _ = body(kind, pose, hands).hands
    return x + (-forward if flip else forward) * height, base - up * height
