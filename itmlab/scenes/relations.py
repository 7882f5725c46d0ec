"""When each relation holds between two entities: one rule a name, True, False or None at the border.

What was composed is known; what is only a matter of position is decided where it is clear and left open at the border.
"""

from collections.abc import Callable
from functools import cached_property

from .scene import SETTINGS, Scene

TruthLabel = bool | None
MOVING = ("walk", "run", "mount", "cycle")
_TOUCHING = frozenset(
    ("ride", "hold", "wear", "on", "in", "under", "over", "read", "play", "push", "pull", "pet", "hug", "climb", "use",
     "drive", "eat", "lean against", "slide down", "sweep with", "look through")
)  # fmt: skip
_TOUCHED = _TOUCHING - {"under", "over", "in"}
FOOD = ("apple", "banana", "cake", "pizza")
_NONE: frozenset[str] = frozenset()
_GROUNDS = ("grass", "sand", "snow", "road", "floor", "dock", "platform")


class Facts:
    """The relations of one scene, each worked out once.

    >>> from itmlab.scenes.scene import Fact, Entity
    >>> entities = Entity("man", 0.5, 0.7, 0.4), Entity("horse", 0.5, 0.9, 0.5), Entity("grass"), Entity("field")
    >>> facts = Facts(Scene("field", entities, (Fact(0, "ride", 1), Fact(1, "on", 2))))
    >>> facts.holds(0, "on", 1), facts.holds(1, "ride", 0), facts.holds(0, "near", 1), facts.ground(0)
    (True, False, None, ('on', 'grass'))
    """

    def __init__(self, scene: Scene):
        self.scene, self.entities = scene, scene.objects
        self.linked: dict[tuple[int, int], set[str]] = {}
        self.support: dict[int, int] = {}
        for fact in scene.facts:
            self.linked.setdefault((fact.subject, fact.object), set()).add(fact.relation)
            if self.entities[fact.object].category != "stuff":
                if fact.relation in ("on", "ride", "in", "climb"):
                    self.support[fact.subject] = fact.object
                elif fact.relation in ("hold", "wear", "use"):
                    self.support.setdefault(fact.object, fact.subject)
        self.worked_out: dict[tuple[int, str, int], TruthLabel] = {}

    def holds(self, subject: int, relation: str, entity: int) -> TruthLabel:
        """Judge whether two entities stand in a relation.

        Args:
            subject: the number of the first entity.
            relation: a name of RULES.
            entity: the number of the second one.
        """
        key = subject, relation, entity
        if key not in self.worked_out:
            self.worked_out[key] = self._decide(*key)
        return self.worked_out[key]

    def _decide(self, subject: int, relation: str, entity: int) -> TruthLabel:
        if subject == entity:
            return False
        if self.entities[subject].category in ("stuff", "place"):
            return None
        category = self.entities[entity].category
        if category == "place":
            return self._at_place(subject, relation)
        if category == "stuff":
            return self._at_stuff(subject, relation, entity)
        return RULES[relation](Pair(self, subject, entity))

    def between(self, first: int, second: int) -> set[str]:
        """Return the composed relations between two entities in either direction."""
        return self.linked.get((first, second), set()) | self.linked.get((second, first), set())

    def root(self, number: int) -> int:
        """Return what carries a thing in the end: the horse under a rider, the person who wears a hat."""
        while number in self.support:
            number = self.support[number]
        return number

    def ground(self, number: int) -> tuple[str, str]:
        """Return how the root of a thing stands on stuff.

        Returns:
            ("on", "grass") or ("in", "water"), and ("", "") for things in the air.
        """
        root = self.root(number)
        for fact in self.scene.facts:
            if fact.subject == root and self.entities[fact.object].category == "stuff":
                return fact.relation, self.entities[fact.object].kind
        return "", ""

    def _at_place(self, subject: int, relation: str) -> TruthLabel:
        setting, (_, stuff) = self.scene.setting, self.ground(subject)
        if setting == "lake":  # the word means the water: one who stands on its shore is near it and not in it
            if relation in ("in", "on"):
                return stuff == "water"
            return True if relation in ("near", "next to", "at") and stuff == "grass" else None
        if stuff in ("sky", "water", "") and relation != "in":
            return None
        if relation == "across":
            return True if self.entities[subject].pose in MOVING else None
        return True if relation in SETTINGS[setting].true_of else None

    def _at_stuff(self, subject: int, relation: str, entity: int) -> TruthLabel:
        kind, (how, stuff) = self.entities[entity].kind, self.ground(subject)
        if relation in ("on", "in"):
            if kind != stuff:
                return False if stuff and kind in ("water", "sky", "track", *_GROUNDS) else None
            if kind in (*_GROUNDS, "rock"):
                direct = self.root(subject) == subject  # a rider is on the horse; is he on the grass?
                return True if direct and (relation == "on" or kind in ("snow", "grass", "sand")) else None
            return True if how == relation or kind == "water" else None
        if relation == "across":
            return True if kind == stuff and self.entities[subject].pose in MOVING else None
        return True if relation == "near" and kind == "water" and stuff not in ("water", "sky") else None


class Pair:
    """Two entities of a scene as the rules see them: `a` is the subject, `composed` what the composer stated of it."""

    def __init__(self, facts: Facts, subject: int, entity: int):
        self.facts, self.subject, self.entity = facts, subject, entity
        self.a, self.b = facts.entities[subject], facts.entities[entity]
        self.composed = facts.linked.get((subject, entity), _NONE)
        self.composed_back = facts.linked.get((entity, subject), _NONE)

    @property
    def turned(self) -> "Pair":
        """Return the same two things, the object first."""
        return Pair(self.facts, self.entity, self.subject)

    @cached_property
    def touching(self) -> set[str]:
        """Return the composed relations, in either direction, in which two things touch.

        Beside these "next to" says nothing.
        """
        return (self.composed | self.composed_back) & _TOUCHING

    @cached_property
    def gap(self) -> float:
        """Return the free width between the two boxes in picture heights, negative where they overlap."""
        (left, _, right, _), (c, _, d, _) = self.a.extent, self.b.extent
        return max(c - right, left - d)

    @property
    def narrow(self) -> float:
        """Return the smaller of the two widths."""
        return min(right - left for left, _, right, _ in (self.a.extent, self.b.extent))

    @cached_property
    def nearer(self) -> float:
        """Return how much nearer to us `a` stands, or what carries it, in picture heights."""
        entities, root = self.facts.entities, self.facts.root
        return entities[root(self.subject)].base - entities[root(self.entity)].base

    @property
    def afoot(self) -> bool:
        """Return whether both stand on something rather than hang in the air."""
        return all(self.facts.ground(number)[1] not in ("", "sky") for number in (self.subject, self.entity))

    @property
    def towards(self) -> bool:
        """Return whether `a` faces `b`."""
        return (self.b.x < self.a.x) == self.a.flip


def _hold(p: Pair) -> TruthLabel:
    if p.composed & {"hold", "read"} or ("play" in p.composed and p.b.kind not in ("piano", "drum")):
        return True
    if p.composed & {"fly", "wear", "push", "pull", "use", "throw"}:
        return None
    if p.a.category != "person" or p.b.category in ("person", "worn"):
        return None if p.a.category == "person" and p.b.category == "worn" and p.b.wearer == p.subject else False
    return None if p.gap < 0 and p.b.height < 0.3 else False


def _composed(names: str, border: Callable[[Pair], bool] = lambda p: False) -> Callable[[Pair], TruthLabel]:
    """The rule of an action: true if composed by one of `names`, open where `border` lets it look so."""
    known = frozenset(names.split(", "))
    return lambda p: True if p.composed & known else None if border(p) else False


_chase = _composed(
    "chase",
    lambda p: p.a.pose == "run" and p.towards and (p.b.kind == "ball" or (p.b.pose == "run" and p.b.flip == p.a.flip)),
)


def _walk_together(p: Pair) -> bool:
    return (p.a.category, p.b.category, p.a.pose, p.b.pose) == ("person", "animal", "walk", "walk") and p.gap < 0.2


def _follow(p: Pair) -> TruthLabel:
    together = p.a.pose in MOVING and p.b.pose in MOVING and p.a.flip == p.b.flip and p.towards
    chase = _chase(p)
    return None if together and chase is False else chase


def _on(p: Pair) -> TruthLabel:
    if p.composed & {"on", "ride"} or "wear" in p.composed_back:
        return True
    return None if p.composed & {"in", "over"} else False


def _in(p: Pair) -> TruthLabel:
    if p.composed & {"in", "wear"}:
        return True
    if "on" in p.composed:
        return True if p.b.kind == "chair" else None
    return None if p.b.kind == "tree" and p.gap < 0 else False


def _above(p: Pair) -> TruthLabel:
    if p.touching - {"over"}:
        return None
    if "over" in p.composed:
        return True
    (_, _, _, bottom), (_, top, _, low) = p.a.extent, p.b.extent
    if bottom <= top + 0.02:
        return True if p.gap < -0.3 * p.narrow else None
    return None if bottom < low - 0.15 and p.gap < 0 else False


def _under(p: Pair) -> TruthLabel:
    if "under" in p.composed or "under" in p.composed_back:
        return "under" in p.composed
    above = _above(p.turned)
    if above is False and p.b.kind in ("tree", "table", "umbrella", "bench", "chair"):
        return None if p.gap < 0.02 else False
    return above


def _next_to(p: Pair) -> TruthLabel:
    if p.touching or "worn" in (p.a.category, p.b.category):
        return None
    if p.gap > 0.3:
        return False
    return True if -0.3 * p.narrow < p.gap < 0.08 and abs(p.nearer) < 0.07 and p.afoot else None


def _near(p: Pair) -> TruthLabel:
    if p.touching:
        return None
    if _next_to(p):
        return True
    if p.gap > 0.45:
        return False
    return True if p.gap < 0.14 and abs(p.nearer) < 0.12 and p.afoot else None


def _in_front_of(p: Pair) -> TruthLabel:
    if p.touching or not p.afoot:
        return None
    if p.gap < -0.4 * p.narrow and abs(p.nearer) > 0.05:
        return p.nearer > 0
    return False if p.gap > 0.3 and abs(p.nearer) < 0.03 else None


def _left(p: Pair) -> TruthLabel:
    (left, _, right, _), (c, _, d, _) = p.a.extent, p.b.extent
    return True if right <= c + 0.02 else False if d <= left + 0.02 else None


def _close(limit: float, *categories: str) -> Callable[[Pair], bool]:
    """The border of a person's deeds: something of these categories before them and within reach."""
    return lambda p: p.a.category == "person" and p.b.category in categories and p.towards and p.gap < limit


_pet, _hug = _composed("pet", _close(0.03, "animal")), _composed("hug", _close(0.0, "person", "animal"))
_play_with = _composed("kick, fly, throw", lambda p: p.gap < 0.2)
RULES: dict[str, Callable[[Pair], TruthLabel]] = {
    **{name: _composed(name) for name in ("wear", "read", "play", "fly")},
    "leap": _composed("over"),
    "ride": lambda p: None if p.composed & {"in", "drive", "slide down"} else "ride" in p.composed,
    "drive": _composed("drive", lambda p: p.b.category == "vehicle" and bool(p.composed & {"ride", "in"})),
    "push": _composed("push", _close(0.05, "vehicle", "thing")),
    "pull": _composed("pull", lambda p: bool(p.composed & {"walk", "lead", "hold"})),
    "eat": _composed("eat", lambda p: p.b.kind in FOOD and p.gap < 0.05),
    "feed": _composed("feed", _close(0.1, "animal")),
    "pet": _pet,
    "touch": lambda p: True if p.composed & _TOUCHED else None if p.gap < 0.05 else False,
    "hug": _hug,
    "lean against": _composed("lean against", lambda p: p.a.category == "person" and p.gap < 0.02),
    "photograph": _composed("photograph", lambda p: p.a.hands == "eye" and p.towards),
    "look through": _composed("look through", lambda p: p.b.kind in ("camera", "telescope") and p.gap < 0.05),
    "throw": _composed("throw", lambda p: p.b.kind == "ball" and p.gap < 0.1),
    "sweep with": _composed("sweep with", lambda p: p.b.kind == "broom" and p.gap < 0.05),
    "use": _composed("use, play", lambda p: p.a.category == "person" and p.gap < 0.1),
    "climb": _composed("climb", lambda p: p.b.kind in ("ladder", "tree", "slide") and p.gap < 0),
    "slide down": _composed("slide down"),
    "hold": _hold,
    "carry": lambda p: True if p.b.kind == "backpack" and "wear" in p.composed else _hold(p),
    "chase": _chase,
    "follow": _follow,
    "kick": _composed("kick", lambda p: p.a.pose == "kick" and p.towards and p.gap < 0.08),
    "play with": lambda p: True if "chase" in p.composed and p.b.kind == "ball" else _play_with(p),
    "walk": _composed("walk, lead", _walk_together),
    "have": lambda p: True if p.composed & {"hold", "wear", "walk", "fly", "pull", "push"} else None,
    "on": _on,
    "in": _in,
    "under": _under,
    "over": lambda p: True if "over" in p.composed else _above(p),
    "above": _above,
    "behind": lambda p: _in_front_of(p.turned),
    "in front of": _in_front_of,
    "next to": _next_to,
    "near": _near,
    "left of": _left,
    "right of": lambda p: _left(p.turned),
    "with": lambda p: True if p.composed or p.composed_back or _near(p) else None,
    **{name: lambda p: None for name in ("at", "across")},
}
