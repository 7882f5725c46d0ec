"""Sitting, standing beside, lying under: people, animals and furniture."""

from ..draft import Draft
from ..kinds import KINDS, PEOPLE
from .staging import INDOORS, SEATS, facing, ground, put_in_hand, seated, someone, stand_apart


def sit(draft: Draft) -> None:
    """Someone sits on a seat, perhaps reading, or an animal does."""
    base = ground(draft)
    kind = draft.dice.choice(
        ("chair", "sofa", "sofa", "box") if draft.setting in INDOORS else ("bench", "bench", "chair", "box")
    )
    seat = draft.add(kind, base=base, flip=facing(draft), size="")
    wide = kind in ("bench", "sofa")
    side = draft.dice.uniform(-0.4, 0.4) if wide else 0.0
    if draft.chance(0.3):
        animal = draft.add(draft.dice.choice(("cat", "dog", "cat", "bird")), pose="sit", flip=facing(draft), scale=0.85)
        if draft.things[animal].kind == "bird":
            draft.change(animal, pose="stand")
        elif wide and draft.chance(0.4):
            draft.change(animal, pose="lie")
        it = draft.things[seat]
        draft.change(animal, x=side * it.height, base=base - SEATS[kind] * it.height, layer=base + 0.001)
        draft.fact(animal, "on", seat)
        return
    person = seated(draft, seat, draft.dice.choice(PEOPLE), side=side)
    if draft.chance(0.4):
        thing = put_in_hand(draft, person, draft.dice.choice(("book", "book", "cup", "flower")), size="")
        draft.fact(person, "hold", thing)
        if draft.things[thing].kind == "book":
            draft.fact(person, "read", thing)
    elif wide and draft.chance(0.45):
        draft.change(person, x=-0.5 * draft.things[seat].height)
        seated(draft, seat, draft.dice.choice(PEOPLE), side=0.45)


def table(draft: Draft) -> None:
    """Something on a table, perhaps an animal or a thing under it."""
    base = ground(draft)
    it = draft.things[draft.add("table", base=base)]
    number = len(draft.things) - 1
    top = draft.add(
        draft.dice.choice(("cup", "flower", "book", "cat", "cup", "bag")),
        draft.dice.uniform(-0.16, 0.16),
        base,
        size="",
    )
    if draft.things[top].kind == "cat":
        draft.change(top, pose=draft.dice.choice(("sit", "lie")))
    draft.change(top, base=base - 0.97 * it.height, layer=base + 0.001)
    draft.fact(top, "on", number)
    if draft.chance(0.6):
        low = draft.add(
            draft.dice.choice(("dog", "cat", "ball", "rabbit", "box")), 0.0, base - 0.008, scale=0.74, size=""
        )
        if draft.things[low].category == "animal":
            draft.change(low, pose="lie" if draft.things[low].kind != "rabbit" else "sit", flip=facing(draft))
        draft.change(low, layer=base - 0.004)
        draft.fact(low, "under", number)


def beside(draft: Draft) -> None:
    """Someone beside an animal, a vehicle or a thing."""
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose="stand", flip=flip)
    things = ("dog", "cat", "bicycle", "box", "chair", "rabbit")
    if draft.setting not in INDOORS:
        things += ("horse", "motorcycle", "sheep", "cow", "elephant")
    kind = "snowman" if draft.setting == "winter" and draft.chance(0.5) else draft.dice.choice(things)
    poses = [name for name, _, _ in KINDS[kind].poses if name in ("stand", "sit", "lie")]
    other = draft.add(
        kind,
        base=base - draft.dice.uniform(0, 0.015),
        pose=draft.dice.choice(poses) if poses else "",
        flip=facing(draft),
    )
    stand_apart(draft, person, other, draft.dice.uniform(0.0, 0.03), draft.dice.choice((-1, 1)))


def under_tree(draft: Draft) -> None:
    """Someone or an animal under a tree."""
    base = ground(draft)
    draft.add("tree", base=base - 0.03, size="", scale=1.05)
    kind = draft.dice.choice(("dog", "cat", "rabbit", "sheep", "cow", "boy", "girl", "horse", "bench"))
    pose = {"boy": "stand", "girl": "stand", "horse": "stand", "bench": "", "cow": "lie", "sheep": "lie"}.get(
        kind, "sit"
    )
    low = draft.add(kind, draft.dice.choice((-0.12, 0.12)), base, pose=pose, flip=facing(draft), scale=0.8, size="")
    draft.fact(low, "under", low - 1)
