"""What events share: where to stand, which way to look, things put in hands, beside others and on seats."""

from ..draft import Draft
from ..draw.body import body, hand
from ..kinds import PEOPLE

INDOORS = ("room",)


WATER = ("beach", "lake")


_BASES = {"lake": (0.9, 0.96), "beach": (0.8, 0.95), "street": (0.8, 0.95)}


SEATS = {"bench": 0.47, "chair": 0.46, "sofa": 0.46, "box": 0.93}


def ground(draft: Draft) -> float:
    """A chance place to stand on, as picture height from the top."""
    return draft.dice.uniform(*_BASES.get(draft.setting, (max(draft.horizon + 0.2, 0.78), 0.95)))


def facing(draft: Draft) -> bool:
    return draft.chance(0.5)


def someone(draft: Draft, **how) -> int:
    return draft.add(draft.dice.choice(PEOPLE), **how)


def put_in_hand(draft: Draft, person: int, kind: str, **chosen) -> int:
    """Add a thing of `kind` in a person's near hand; the hands must already be posed."""
    who = draft.things[person]
    x, y = hand(who.kind, who.pose, who.hands, x=who.x, base=who.base, height=who.height, flip=who.flip)
    held = draft.add(kind, base=who.base, **chosen)
    drop = {"umbrella": 0.15, "flower": 0.3, "book": 0.3, "guitar": 0.36, "cup": 0.4, "bag": 0.86, "ball": 0.3}.get(
        kind, 0.0
    )
    if kind == "guitar":
        x = who.x + (-0.1 if who.flip else 0.1) * who.height
    if kind == "ball":
        x += (-0.05 if who.flip else 0.05) * who.height
    draft.change(held, x=x, base=y + drop * draft.things[held].height, layer=who.base + 0.002, flip=who.flip)
    return held


def stand_apart(draft: Draft, first: int, second: int, gap: float, way: int) -> None:
    """Put the second `gap` beside the first, to the right for `way` 1."""
    a, b = draft.things[first].extent, draft.things[second].extent
    shift = a[2] + gap - b[0] if way > 0 else a[0] - gap - b[2]
    draft.change(second, x=draft.things[second].x + shift)


def seated(draft: Draft, seat: int, kind: str, *, side: float = 0.0, hands: str = "front") -> int:
    it = draft.things[seat]
    person = draft.add(kind, base=it.base, pose="sit", hands=hands, flip=it.flip, scale=0.95)
    who = draft.things[person]
    hip = body(who.kind, "sit", hands).hip[1] - 0.05
    base = it.base - SEATS[it.kind] * it.height + hip * who.height
    draft.change(person, x=it.x + side * it.height, base=min(base, it.base + 0.02), layer=it.base + 0.001)
    draft.fact(person, "on", seat)
    return person
