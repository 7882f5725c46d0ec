"""A scene made up from its own random stream: a setting, one or two events, something behind, something above."""

import random

from .events import EVENTS, INDOORS
from .scene import SETTINGS, Draft, Entity, Scene

_BEHIND = ("tree", "house", "tent", "car", "fence", "truck", "bench", "bus")
_SHARED = frozenset({"man", "woman", "boy", "girl", "dog", "ball"})  # kinds that two events may both bring


def compose(seed: int, index: int) -> Scene:
    """Scene number `index` of the world of `seed`; no other scene has a part in it.

    >>> scene = compose(0, 5)
    >>> scene.setting, [entity.kind for entity in scene.objects if entity.category == "animal"]
    ('winter', ['cat'])
    """
    dice = random.Random(f"scenes/{seed}/{index}")
    while True:  # a draft in which something does not fit is thrown away and another drawn
        draft = Draft(dice, dice.choices(tuple(SETTINGS), [setting.weight for setting in SETTINGS.values()])[0])
        if _fill(draft):
            draft.dress()
            return draft.freeze()


def _fill(draft: Draft) -> bool:
    first = _cluster(draft, 0.96)
    if first is None:
        return False
    slack = 0.98 - first
    second = _cluster(draft, slack) if slack > 0.26 and draft.chance(0.62) else None
    if second is None and draft.chance(0.5):
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
    kinds = ("table", "sofa", "chair") if draft.setting in INDOORS else _BEHIND
    kind = draft.dice.choice(kinds)
    if any(entity.kind in (kind, "boat", "tree") for entity in draft.entities):
        return
    lowest = min((entity.base for entity in draft.entities), default=1.0)
    base = min(draft.horizon + draft.dice.uniform(0.08, 0.14), lowest - 0.07)
    if draft.setting in ("lake", "beach") or base < draft.horizon + 0.03:
        return
    draft.add(kind, draft.dice.uniform(0.2, 0.8), base, scale=0.95, flip=draft.chance(0.5))


def _above(draft: Draft) -> None:
    tops = [entity.extent for entity in draft.entities]
    kind = draft.dice.choice(("bird", "bird", "balloon"))
    if any(entity.kind in ("kite", kind) for entity in draft.entities):
        return
    x, base = draft.dice.uniform(0.15, 0.85), draft.dice.uniform(0.22, 0.3)
    if all(x + 0.14 < left or x - 0.14 > right or top > base + 0.03 for left, top, right, _ in tops):
        draft.add(kind, x, base, pose="fly" if kind == "bird" else "", flip=draft.chance(0.5), size="", scale=0.85)


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
