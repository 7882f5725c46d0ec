"""A scene made up from its own random stream: a setting, one or two events, something behind, something above.

`EVENTS` of `events` lists what can happen, how often and in which settings.
"""

import random

from .events import ANYONE, EVENTS, INDOORS, STANDING
from .scene import PEOPLE, SETTINGS, STREAM, Draft, Entity, Scene

BEHIND = f"tree house house tent tent car fence truck bench bus {STANDING} slide".split()
BEHIND_INDOORS = ("table", "sofa", "chair", "piano", "lamp", "ladder")
ABOVE = ("bird", "balloon", "airplane", "helicopter")
_SHARED = frozenset({"man", "woman", "boy", "girl", "dog", "ball"})  # kinds that two events may both bring


def compose(seed: int, index: int) -> Scene:
    """Return one scene of a world; it does not depend on any other scene.

    Args:
        seed: of the world.
        index: the number of the scene.
    """
    dice = random.Random(f"scenes/{STREAM}{seed}/{index}")
    weights = [setting.weight for setting in SETTINGS.values()]
    while True:  # a draft in which something does not fit is discarded
        draft = Draft(dice, dice.choices(tuple(SETTINGS), weights)[0])
        if _fill(draft):
            dress(draft)
            return draft.freeze()


def _fill(draft: Draft) -> bool:
    """Add one or two events and perhaps something behind and above them; whether all of it can be seen."""
    first = _cluster(draft, 0.96)
    if first is None:
        return False
    slack = 0.98 - first
    second = _cluster(draft, slack) if slack > 0.26 and draft.chance(0.8) else None
    if (second is None and draft.chance(0.5)) or draft.chance(0.4):
        _behind(draft)
    if draft.setting not in INDOORS and draft.chance(0.16):
        _above(draft)
    return _seen(draft.entities)


def _cluster(draft: Draft, room: float) -> float | None:
    """Add one event in the free width; the width it takes, None when none of a few fits."""
    fitting = [event for event in EVENTS if draft.setting in event.settings]
    for _ in range(6):
        start = len(draft.entities)
        draft.dice.choices(fitting, [event.weight for event in fitting])[0].make(draft)
        left, right = draft.span(start)
        kinds = {entity.kind for entity in draft.entities[start:]} - {"tree"}
        clear = min(entity.extent[1] for entity in draft.entities[start:]) > 0.01
        if right - left <= room and clear and not kinds & {entity.kind for entity in draft.entities[:start]} - _SHARED:
            _place(draft, start, left, right)
            return right - left
        draft.discard(start)
    return None


def _place(draft: Draft, start: int, left: float, right: float) -> None:
    """Move the new cluster to a free place; earlier things make way to the other side."""
    count, dice = len(draft.entities), draft.dice
    if start == 0:
        draft.move(0, count, dice.uniform(0.01, 0.99 - (right - left)) - left)
        return
    old_left, old_right = draft.span(0, start)
    free = max(0.99 - (right - left) - (old_right - old_left), 0.0)
    edge, gap = dice.uniform(0, 0.5) * free, dice.uniform(0, 0.5) * free
    if dice.random() < 0.5:
        draft.move(0, start, 0.005 + edge - old_left)
        draft.move(start, count, 0.005 + edge + old_right - old_left + gap - left)
    else:
        draft.move(start, count, 0.005 + edge - left)
        draft.move(0, start, 0.005 + edge + right - left + gap - old_left)


def _behind(draft: Draft) -> None:
    """Add a thing behind the events, where there is room for it."""
    kind = draft.dice.choice(BEHIND_INDOORS if draft.setting in INDOORS else BEHIND)
    if any(entity.kind in (kind, "boat", "tree") for entity in draft.entities):
        return
    lowest = min((entity.base for entity in draft.entities), default=1.0)
    base = min(draft.horizon + draft.dice.uniform(0.08, 0.14), lowest - 0.07)
    if SETTINGS[draft.setting].shore or base < draft.horizon + 0.03:
        return
    draft.add(kind, draft.dice.uniform(0.2, 0.8), base, scale=0.95, flip=draft.chance(0.5))


def _above(draft: Draft) -> None:
    """Add something in the air, where there is room for it."""
    tops = [entity.extent for entity in draft.entities]
    kind = draft.dice.choice(ABOVE)
    if any(entity.kind in ("kite", kind) for entity in draft.entities):
        return
    x, base = draft.dice.uniform(0.15, 0.85), draft.dice.uniform(0.22, 0.3)
    half = {"airplane": 0.2, "helicopter": 0.19}.get(kind, 0.14)
    if all(x + half < left or x - half > right or top > base + 0.03 for left, top, right, _ in tops):
        draft.add(kind, x, base, pose="" if kind == "balloon" else "fly", flip=draft.chance(0.5), size="", scale=0.85)


def _seen(entities: list[Entity]) -> bool:
    """Nothing reaches far out of the picture or hides most of another thing's box."""
    for at, entity in enumerate(entities):
        left, top, right, bottom = entity.extent
        if left < -0.05 or right > 1.05 or top < -0.03 or bottom > 1.0:
            return False
        area = (right - left) * (bottom - top)
        for other in entities[at + 1 :] + entities[:at]:
            a, b, c, d = other.extent
            nearer = (other.layer or other.base) > (entity.layer or entity.base)
            hidden = max(min(right, c) - max(left, a), 0) * max(min(bottom, d) - max(top, b), 0)
            if nearer and hidden > 0.62 * area:
                return False
    return True


_EXTRAS = (  # garment, its chance, who may wear it, garments and poses that it does not go with
    ("helmet", 0.12, ANYONE, "hat"),
    ("glasses", 0.22, ANYONE, ""),
    ("boots", 0.3, ANYONE, "aboard"),
    ("apron", 0.12, ANYONE, "coat"),
    ("tie", 0.22, "man boy", "coat scarf apron"),
)


def dress(draft: Draft) -> None:
    """Put clothes on everyone."""
    for number, person in enumerate(tuple(draft.entities)):
        if person.kind not in PEOPLE:
            continue
        cold = draft.setting in ("winter", "mountain") or draft.chance(0.06)
        dress = person.kind in ("woman", "girl") and not cold and draft.chance(0.42)
        _wear(draft, number, "coat" if cold and draft.chance(0.75) else "dress" if dress else "shirt")
        if not dress:
            skirt = person.kind in ("woman", "girl") and draft.chance(0.4)
            _wear(draft, number, "skirt" if skirt else "trousers")
        for kind, share in (("hat", 0.3), ("scarf", 0.45 if cold else 0.03), ("backpack", 0.14)):
            if draft.chance(share) and not (kind == "backpack" and person.hands == "strum"):
                _wear(draft, number, kind)
        for kind, share, who, instead in _EXTRAS:
            worn = {person.pose, *(entity.kind for entity in draft.entities if entity.wearer == number)}
            if person.kind in who.split() and draft.chance(share) and not worn & {*instead.split()}:
                _wear(draft, number, kind)


def _wear(draft: Draft, number: int, kind: str) -> None:
    garment, who = draft.add(kind), draft.entities[number]
    draft.change(garment, wearer=number, x=who.x, base=who.base, height=who.height, flip=who.flip)
    draft.fact(number, "wear", garment)
