"""When each relation holds between two things: one rule a name, True, False or None at the border.

What was composed is known; what is only a matter of position is decided where it is clear and left open at the border.
"""

from collections.abc import Callable

from .scene import Scene, Thing

Verdict = bool | None
MOVING = ("walk", "run", "mount", "cycle")
_TOUCHING = frozenset({"ride", "hold", "wear", "on", "in", "under", "over", "read", "play"})


def _action(name: str) -> Callable[["Facts", int, int], Verdict]:
    def rule(facts: "Facts", subject: int, thing: int) -> Verdict:
        return (subject, name, thing) in facts.known

    return rule


def _gap(a: Thing, b: Thing) -> tuple[float, float]:
    """(free width between two boxes, negative when they overlap; the smaller width)."""
    left, _, right, _ = a.extent
    c, _, d, _ = b.extent
    return max(c - right, left - d), min(right - left, d - c)


def _towards(who: Thing, whom: Thing) -> bool:
    return (whom.x < who.x) == who.flip


def _hold(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.linked.get((subject, thing), set()) & {"hold", "read", "play"}:
        return True
    a, b = facts.things[subject], facts.things[thing]
    if (subject, "fly", thing) in facts.known or (subject, "wear", thing) in facts.known:
        return None
    if a.category != "person" or b.category in ("person", "worn"):
        return None if a.category == "person" and b.category == "worn" and b.wearer == subject else False
    close = _gap(a, b)[0] < 0 and b.height < 0.3
    return None if close else False


def _carry(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.things[thing].kind == "backpack" and (subject, "wear", thing) in facts.known:
        return True
    return _hold(facts, subject, thing)


def _ride(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "in", thing) in facts.known:
        return None
    return (subject, "ride", thing) in facts.known


def _chase(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "chase", thing) in facts.known:
        return True
    a, b = facts.things[subject], facts.things[thing]
    flees = b.kind == "ball" or (b.pose == "run" and b.flip == a.flip)
    return None if a.pose == "run" and flees and _towards(a, b) else False


def _follow(facts: "Facts", subject: int, thing: int) -> Verdict:
    chase = _chase(facts, subject, thing)
    if chase is not False:
        return chase
    a, b = facts.things[subject], facts.things[thing]
    return None if a.pose in MOVING and b.pose in MOVING and a.flip == b.flip and _towards(a, b) else False


def _kick(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "kick", thing) in facts.known:
        return True
    a, b = facts.things[subject], facts.things[thing]
    return None if a.pose == "kick" and _towards(a, b) and _gap(a, b)[0] < 0.08 else False


def _play_with(facts: "Facts", subject: int, thing: int) -> Verdict:
    linked = facts.linked.get((subject, thing), set())
    if linked & {"kick", "fly"} or ("chase" in linked and facts.things[thing].kind == "ball"):
        return True
    return None if _gap(facts.things[subject], facts.things[thing])[0] < 0.2 else False


def _walk(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.linked.get((subject, thing), set()) & {"walk", "lead"}:
        return True
    a, b = facts.things[subject], facts.things[thing]
    alike = a.category == "person" and b.category == "animal" and a.pose == b.pose == "walk"
    return None if alike and _gap(a, b)[0] < 0.2 else False


def _on(facts: "Facts", subject: int, thing: int) -> Verdict:
    linked = facts.linked.get((subject, thing), set())
    if linked & {"on", "ride"} or (thing, "wear", subject) in facts.known:
        return True
    return None if linked & {"in", "over"} else False


def _in(facts: "Facts", subject: int, thing: int) -> Verdict:
    linked = facts.linked.get((subject, thing), set())
    if linked & {"in", "wear"}:
        return True
    if "on" in linked:
        return True if facts.things[thing].kind == "chair" else None
    if facts.things[thing].kind == "tree" and _gap(facts.things[subject], facts.things[thing])[0] < 0:
        return None
    return False


def _above(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.between(subject, thing) & (_TOUCHING - {"over"}):
        return None
    if (subject, "over", thing) in facts.known:
        return True
    a, b = facts.things[subject], facts.things[thing]
    higher = a.extent[3] <= b.extent[1] + 0.02
    gap, narrow = _gap(a, b)
    if higher:
        return True if gap < -0.3 * narrow else None
    return None if a.extent[3] < b.extent[3] - 0.15 and gap < 0 else False


def _over(facts: "Facts", subject: int, thing: int) -> Verdict:
    return True if (subject, "over", thing) in facts.known else _above(facts, subject, thing)


def _under(facts: "Facts", subject: int, thing: int) -> Verdict:
    if (subject, "under", thing) in facts.known:
        return True
    if (thing, "under", subject) in facts.known:
        return False
    above = _above(facts, thing, subject)
    if above is False and facts.things[thing].kind in ("tree", "table", "umbrella", "bench", "chair"):
        return None if _gap(facts.things[subject], facts.things[thing])[0] < 0.02 else False
    return above


def _afoot(facts: "Facts", *numbers: int) -> bool:
    return all(facts.ground(number)[1] not in ("", "sky") for number in numbers)


def _next_to(facts: "Facts", subject: int, thing: int) -> Verdict:
    a, b = facts.things[subject], facts.things[thing]
    if facts.between(subject, thing) & _TOUCHING or "worn" in (a.category, b.category):
        return None
    gap, narrow = _gap(a, b)
    if gap > 0.3:
        return False
    apart = abs(facts.things[facts.root(subject)].base - facts.things[facts.root(thing)].base)
    return True if -0.3 * narrow < gap < 0.08 and apart < 0.07 and _afoot(facts, subject, thing) else None


def _near(facts: "Facts", subject: int, thing: int) -> Verdict:
    if facts.between(subject, thing) & _TOUCHING:
        return None
    if _next_to(facts, subject, thing):
        return True
    a, b = facts.things[subject], facts.things[thing]
    gap, _ = _gap(a, b)
    if gap > 0.45:
        return False
    apart = abs(facts.things[facts.root(subject)].base - facts.things[facts.root(thing)].base)
    return True if gap < 0.14 and apart < 0.12 and _afoot(facts, subject, thing) else None


def _in_front_of(facts: "Facts", subject: int, thing: int) -> Verdict:
    a, b = facts.things[subject], facts.things[thing]
    if facts.between(subject, thing) & _TOUCHING or not _afoot(facts, subject, thing):
        return None
    gap, narrow = _gap(a, b)
    nearer = facts.things[facts.root(subject)].base - facts.things[facts.root(thing)].base
    if gap < -0.4 * narrow and abs(nearer) > 0.05:
        return nearer > 0
    return False if gap > 0.3 and abs(nearer) < 0.03 else None


def _behind(facts: "Facts", subject: int, thing: int) -> Verdict:
    return _in_front_of(facts, thing, subject)


def _left(facts: "Facts", subject: int, thing: int) -> Verdict:
    a, b = facts.things[subject].extent, facts.things[thing].extent
    if a[2] <= b[0] + 0.02:
        return True
    return False if b[2] <= a[0] + 0.02 else None


def _right(facts: "Facts", subject: int, thing: int) -> Verdict:
    return _left(facts, thing, subject)


def _with(facts: "Facts", subject: int, thing: int) -> Verdict:
    return True if facts.between(subject, thing) or _near(facts, subject, thing) else None


def _have(facts: "Facts", subject: int, thing: int) -> Verdict:
    return True if facts.linked.get((subject, thing), set()) & {"hold", "wear", "walk", "fly"} else None


def _open(facts: "Facts", subject: int, thing: int) -> Verdict:
    return None


RULES: dict[str, Callable[["Facts", int, int], Verdict]] = {
    "wear": _action("wear"),
    "read": _action("read"),
    "play": _action("play"),
    "fly": _action("fly"),
    "leap": _action("over"),
    "ride": _ride,
    "hold": _hold,
    "carry": _carry,
    "chase": _chase,
    "follow": _follow,
    "kick": _kick,
    "play with": _play_with,
    "walk": _walk,
    "have": _have,
    "on": _on,
    "in": _in,
    "under": _under,
    "over": _over,
    "above": _above,
    "behind": _behind,
    "in front of": _in_front_of,
    "next to": _next_to,
    "near": _near,
    "left of": _left,
    "right of": _right,
    "with": _with,
    "at": _open,
    "across": _open,
}


# Does a relation hold between two things of a scene? True, False, or None where the picture does not decide.


_AT_PLACE: dict[str, tuple[str, ...]] = {
    "park": ("in", "at"),
    "beach": ("on", "at"),
    "street": ("on", "in"),
    "winter": ("in",),
    "field": ("in", "on"),
    "forest": ("in",),
    "desert": ("in",),
    "room": ("in",),
    "mountain": ("in", "on", "near"),
}


class Facts:
    """The relations of one scene, each worked out once."""

    def __init__(self, scene: Scene):
        self.scene, self.things = scene, scene.objects
        self.known = {(fact.subject, fact.relation, fact.object) for fact in scene.facts}
        self.linked: dict[tuple[int, int], set[str]] = {}
        self.support: dict[int, int] = {}
        for fact in scene.facts:
            self.linked.setdefault((fact.subject, fact.object), set()).add(fact.relation)
            if self.things[fact.object].category != "stuff":
                if fact.relation in ("on", "ride", "in"):
                    self.support[fact.subject] = fact.object
                elif fact.relation in ("hold", "wear"):
                    self.support.setdefault(fact.object, fact.subject)
        self.worked_out: dict[tuple[int, str, int], Verdict] = {}

    def holds(self, subject: int, relation: str, thing: int) -> Verdict:
        """Whether thing number `subject` stands in `relation` (a name of RULES) to thing number `thing`."""
        key = (subject, relation, thing)
        if key not in self.worked_out:
            self.worked_out[key] = self._decide(*key)
        return self.worked_out[key]

    def _decide(self, subject: int, relation: str, thing: int) -> Verdict:
        if subject == thing:
            return False
        category = self.things[thing].category
        if self.things[subject].category in ("stuff", "place"):
            return None
        if category == "place":
            return self._at_place(subject, relation)
        if category == "stuff":
            return self._at_stuff(subject, relation, thing)
        return RULES[relation](self, subject, thing)

    def root(self, number: int) -> int:
        """What carries a thing in the end: the horse under a rider, the person who wears a hat."""
        while number in self.support:
            number = self.support[number]
        return number

    def ground(self, number: int) -> tuple[str, str]:
        """How the root of a thing stands on stuff: ("on", "grass"), ("in", "water"), ("", "") for things in the air."""
        root = self.root(number)
        for fact in self.scene.facts:
            if fact.subject == root and self.things[fact.object].category == "stuff":
                return fact.relation, self.things[fact.object].kind
        return "", ""

    def _at_place(self, subject: int, relation: str) -> Verdict:
        setting, (_, stuff) = self.scene.setting, self.ground(subject)
        if setting == "lake":
            afloat = stuff == "water"
            if relation in ("in", "on"):
                return afloat
            return True if relation in ("near", "next to", "at") and not afloat and stuff == "grass" else None
        if stuff in ("sky", "water", "") and relation != "in":
            return None
        if relation == "across":
            return True if self.things[subject].pose in MOVING else None
        return True if relation in _AT_PLACE[setting] else None

    def _at_stuff(self, subject: int, relation: str, thing: int) -> Verdict:
        kind, (how, stuff) = self.things[thing].kind, self.ground(subject)
        if relation in ("on", "in"):
            if kind != stuff:
                return False if stuff and kind in ("water", "sky", "grass", "sand", "snow", "road", "floor") else None
            if kind in ("grass", "sand", "snow", "road", "floor", "rock"):
                direct = self.root(subject) == subject
                return (True if direct else None) if relation == "on" or kind in ("snow", "grass", "sand") else None
            return True if how == relation or kind == "water" else None
        if relation == "across":
            return True if kind == stuff and self.things[subject].pose in MOVING else None
        if relation in ("near", "next to") and kind == "water":
            return True if relation == "near" and stuff not in ("water", "sky") else None
        return None

    def between(self, one: int, other: int) -> set[str]:
        """The composed relations between two things, whichever way they go."""
        return self.linked.get((one, other), set()) | self.linked.get((other, one), set())
