"""People who do something: hold, play, chase, kick, fly a kite."""

from ..draft import Draft
from ..kinds import PEOPLE
from .staging import facing, ground, put_in_hand, seated, someone, stand_apart

_GRASPS = {
    "balloon": "up",
    "umbrella": "up",
    "flower": "front",
    "book": "front",
    "cup": "side",
    "bag": "side",
    "ball": "front",
}

_CHASES = (
    *(("dog", whom) for whom in ("cat", "ball", "rabbit", "boy", "girl", "man")),
    *(("boy", whom) for whom in ("dog", "girl", "cat", "ball")),
    *(("girl", whom) for whom in ("dog", "boy", "ball", "rabbit")),
    *(("cat", "ball"), ("cat", "dog"), ("man", "dog"), ("woman", "dog")),
)


def hold(draft: Draft) -> None:
    """Someone stands or walks, holding something; an umbrella may shelter a second person."""
    kind = draft.dice.choice(tuple(_GRASPS))
    pose = draft.dice.choice(("stand", "stand", "walk"))
    person = someone(draft, base=ground(draft), pose=pose, hands=_GRASPS[kind], flip=facing(draft))
    if kind == "bag" and draft.chance(0.3):
        draft.change(person, hands="lead")
    draft.fact(person, "hold", put_in_hand(draft, person, kind, size=""))
    if kind == "umbrella":
        draft.fact(person, "under", len(draft.things) - 1)
    if kind == "book":
        draft.fact(person, "read", len(draft.things) - 1)


def play_guitar(draft: Draft) -> None:
    """Someone plays the guitar, standing or sitting."""
    sits = draft.chance(0.35)
    base, flip = ground(draft), facing(draft)
    if sits:
        seat = draft.add(draft.dice.choice(("chair", "bench", "sofa")), base=base, flip=flip)
        person = seated(draft, seat, draft.dice.choice(PEOPLE), hands="strum")
    else:
        person = someone(draft, base=base, pose="stand", hands="strum", flip=flip)
    guitar = put_in_hand(draft, person, "guitar")
    draft.fact(person, "hold", guitar)
    draft.fact(person, "play", guitar)


def chase(draft: Draft) -> None:
    """One runs after another, or after a ball."""
    base, flip = ground(draft), facing(draft)
    who, whom = draft.dice.choice(_CHASES)
    running = {"flip": flip, "base": base, "pose": "run"}
    hands = {"hands": "swing"}
    first = draft.add(who, **running, **(hands if who in PEOPLE else {}))
    second = draft.add(whom, **(running if whom != "ball" else {"base": base}), **(hands if whom in PEOPLE else {}))
    stand_apart(draft, first, second, draft.dice.uniform(0.02, 0.06), -1 if flip else 1)
    draft.fact(first, "chase", second)


def kick(draft: Draft) -> None:
    """Someone kicks a ball."""
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose="kick", hands="swing", flip=flip)
    ball = draft.add("ball", base=base - 0.03, size="")
    stand_apart(draft, person, ball, 0.0, -1 if flip else 1)
    draft.fact(person, "kick", ball)


def fly_kite(draft: Draft) -> None:
    """Someone flies a kite."""
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose=draft.dice.choice(("stand", "run")), hands="up", flip=flip)
    way = -1 if flip else 1
    kite = draft.add("kite", way * draft.dice.uniform(0.2, 0.34), draft.dice.uniform(0.3, 0.36))
    draft.change(kite, height=draft.dice.uniform(0.22, 0.27))
    draft.fact(person, "fly", kite)
