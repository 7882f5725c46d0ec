"""People: one figure for man, woman, boy and girl, dressed in what they wear."""

from collections.abc import Mapping

from ..kinds import COLOURS
from ..scene import Thing
from .body import Body, body, is_child
from .canvas import Colour, Pen, darker, lighter
from .clothes import draw_backpack, draw_hat, draw_scarf, draw_torso

SKINS: tuple[Colour, ...] = ((253, 214, 180), (240, 190, 150), (205, 148, 104), (152, 100, 66), (106, 68, 46))
HAIR: dict[str, Colour] = {
    "blond": (236, 198, 98),
    "brown": (104, 66, 38),
    "black": (38, 32, 36),
    "red": (190, 84, 38),
    "gray": (205, 206, 212),
}
Worn = Mapping[str, tuple[int, Thing]]


def draw_person(pen: Pen, thing: Thing, worn: Worn) -> None:
    """A person with `worn` {kind: (mark, thing)} on."""
    joints = body(thing.kind, thing.pose or "stand", thing.hands)
    skin = SKINS[int(thing.shade * 4.999)]
    hair = HAIR[thing.hair]
    top = worn.get("coat") or worn.get("shirt") or worn["dress"]
    sleeve, sleeve_mark = COLOURS[top[1].colour], top[0]
    thick = 0.078 if is_child(thing.kind) else 0.066
    if "backpack" in worn:
        draw_backpack(pen, joints, *worn["backpack"])
    if thing.kind in ("woman", "girl"):
        _long_hair(pen, joints, hair, is_child(thing.kind))
    _arm(pen, joints, 1, thick, skin, darker(sleeve, 0.18), sleeve_mark, "coat" in worn)
    if thing.pose != "aboard":  # in a boat the legs are behind its side
        _legs(pen, joints, skin, worn, is_child(thing.kind))
    draw_torso(pen, joints, worn, is_child(thing.kind))
    pen.limb([joints.neck, joints.head], 0.07, darker(skin, 0.12))
    _head(pen, thing, joints, skin, hair)
    if "scarf" in worn:
        draw_scarf(pen, joints, *worn["scarf"])
    if "hat" in worn:
        draw_hat(pen, joints, *worn["hat"], brim=thing.shade > 0.5)
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
        pen.limb([hip, (knee[0] + shift * 0.4, knee[1]), foot], thick, colour, end=thick * 0.8, mark=mark)
        pen.ellipse(foot[0] + 0.028, foot[1] - 0.002, 0.068, 0.032, (70, 52, 48) if side == 0 else (54, 40, 40))


def _head(pen: Pen, thing: Thing, joints: Body, skin: Colour, hair: Colour) -> None:
    x, y = joints.head
    r = joints.radius
    pen.ellipse(x, y, r * 0.9, r, skin)
    pen.ellipse(x - r * 0.62, y - r * 0.08, r * 0.18, r * 0.22, darker(skin, 0.1))
    if thing.kind in ("man", "boy"):
        cap = [
            (-0.92, -0.1),
            (-0.95, 0.5),
            (-0.5, 1.06),
            (0.25, 1.12),
            (0.86, 0.72),
            (0.84, 0.36),
            (0.2, 0.52),
            (-0.5, 0.42),
        ]
    else:
        cap = [(-0.98, -0.3), (-1.0, 0.5), (-0.45, 1.1), (0.3, 1.1), (0.92, 0.6), (0.9, 0.1), (0.5, 0.52), (-0.4, 0.5)]
    pen.blob([(x + r * a, y + r * b) for a, b in cap], hair)
    if thing.kind == "man" and (thing.shade * 7) % 1 > 0.5:
        beard = [(-0.5, -0.28), (0.1, -0.34), (0.8, -0.2), (0.6, -0.9), (0.1, -1.08), (-0.4, -0.85)]
        pen.blob([(x + r * a, y + r * b) for a, b in beard], darker(hair, 0.1), rim=False)
        pen.ellipse(x + r * 0.3, y - r * 0.52, r * 0.2, r * 0.07, (190, 90, 84), rim=False)
    else:
        smile = [(x + r * a, y + r * b) for a, b in ((0.02, -0.42), (0.3, -0.54), (0.56, -0.42))]
        pen.limb(smile, r * 0.11, (186, 76, 76), rim=False)
    for eye in (0.08, 0.56):
        pen.ellipse(x + r * eye, y + r * 0.06, r * 0.1, r * 0.14, (36, 30, 38), rim=False)
    for cheek in (-0.18, 0.74):
        pen.ellipse(
            x + r * cheek, y - r * 0.24, r * 0.14, r * 0.1, (240, 150, 140) if thing.shade < 0.5 else skin, rim=False
        )
    if thing.age == "old":
        for eye in (0.08, 0.56):
            pen.limb(
                [(x + r * (eye - 0.16), y + r * 0.32), (x + r * (eye + 0.16), y + r * 0.34)],
                r * 0.1,
                lighter(hair),
                rim=False,
            )


def _long_hair(pen: Pen, joints: Body, hair: Colour, child: bool) -> None:
    x, y = joints.head
    r = joints.radius
    if child:  # two bunches
        for side in (-1.1, 1.05):
            pen.ellipse(x + r * side, y - r * 0.25, r * 0.34, r * 0.62, hair, angle=-14 * side)
    else:
        down = [
            (-0.9, 0.6),
            (0.7, 0.7),
            (1.0, -0.2),
            (0.95, -1.25),
            (0.2, -1.5),
            (-0.8, -1.55),
            (-1.2, -1.1),
            (-1.1, -0.2),
        ]
        pen.blob([(x + r * a, y + r * b) for a, b in down], darker(hair, 0.15))
