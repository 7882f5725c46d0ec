"""One or several of a kind, doing the same."""

from ..draft import Draft
from ..kinds import KINDS, PEOPLE
from .staging import facing, ground, stand_apart

_HERDS = {
    "field": ("cow", "sheep", "horse", "rabbit", "dog"),
    "desert": ("elephant", "zebra", "giraffe", "horse"),
    "forest": ("rabbit", "dog", "horse", "bird", "elephant"),
    "lake": ("duck", "duck", "horse", "dog", "giraffe"),
    "park": ("dog", "duck", "bird", "rabbit", "cat"),
    "room": ("cat", "dog", "rabbit"),
    "mountain": ("sheep", "horse", "cow", "dog"),
    "street": ("dog", "cat", "bird", "horse"),
    "beach": ("dog", "bird", "horse", "duck"),
    "winter": ("dog", "rabbit", "horse", "sheep", "cat"),
}


def animals(draft: Draft) -> None:
    """One animal, or up to four of a kind."""
    kind = draft.dice.choice(_HERDS[draft.setting])
    _many(draft, kind, draft.dice.choice((1, 1, 1, 2, 2, 3, 4)))


def people(draft: Draft) -> None:
    """One to three people of a kind, doing the same."""
    _many(draft, draft.dice.choice(PEOPLE), draft.dice.choice((1, 2, 2, 3)))


def vehicles(draft: Draft) -> None:
    """One vehicle, or two or three."""
    kind = draft.dice.choice(("car", "car", "bus", "truck", "bicycle", "motorcycle"))
    _many(draft, kind, draft.dice.choice((1, 1, 2, 3) if kind not in ("bus", "truck") else (1,)))


def toys(draft: Draft) -> None:
    """One to four of a toy."""
    kind = draft.dice.choice(("ball", "balloon", "box", "bag", "flower", "ball", "balloon"))
    _many(draft, kind, draft.dice.choice((1, 2, 3, 4)))


def _many(draft: Draft, kind: str, count: int) -> None:
    poses = [name for name, _, _ in KINDS[kind].poses]
    allowed = {
        "person": ("stand", "walk", "run", "jump"),
        "animal": tuple(p for p in poses if p not in ("fly", "swim", "jump")),
    }
    pose = draft.dice.choice(allowed.get(KINDS[kind].category, ("",)))
    swims = kind == "duck" and draft.setting == "lake"
    hands = {"run": "swing", "walk": "swing", "jump": "cheer"}.get(pose, "") if kind in PEOPLE else ""
    flip, base = facing(draft), ground(draft)
    colour = draft.dice.choice(KINDS[kind].colours) if KINDS[kind].colours and draft.chance(0.6) else None
    alike = {"size": "" if count > 1 else None, "colour": colour}
    alike = {name: value for name, value in alike.items() if value is not None}
    numbers, small = [], KINDS[kind].height < 0.3
    for step in range(count):
        at = min(base + draft.dice.uniform(-0.03, 0.03), 0.96)
        if swims:
            pose, at = "swim", draft.dice.uniform(0.6, 0.78)
        number = draft.add(
            kind,
            0.0,
            at,
            pose=pose,
            flip=flip,
            hands=hands,
            scale=(1.25, 1.1, 0.86, 0.8)[count - 1] if small else 1.0 if count < 3 else 0.8,
            **alike,
        )
        if kind == "balloon":
            draft.change(number, base=at - draft.dice.uniform(0.0, 0.4))
        if pose == "jump" and kind in PEOPLE:
            draft.change(number, base=at - 0.06)
        if step:
            stand_apart(draft, number - 1, number, draft.dice.uniform(-0.02, 0.03), 1)
        numbers.append(number)
    draft.groups.append(tuple(numbers))
