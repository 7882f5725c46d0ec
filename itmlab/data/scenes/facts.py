"""Does a relation hold between two things of a scene? True, False, or None where the picture does not decide."""

from .rules import MOVING, RULES, Verdict
from .scene import Scene

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
