"""What one picture shows, written down: its things, how they relate, and where they are. Drawing reads only this."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ...text.graph import Attribute, Relation, SceneGraph, SceneObject
from .kinds import COLOURS, KINDS, SETTINGS

_POSES = ("stand", "walk", "run", "sit", "lie", "jump", "fly", "swim")
_SAID = frozenset((*COLOURS, *_POSES, "striped", "spotted", "big", "small", "old"))  # adjectives and poses of a graph
_LEMMAS = {"over": "jump over"}


@dataclass(frozen=True)
class Thing:
    """One drawn thing. Lengths are in picture heights, x to the right, y down; `base` is where it stands."""

    kind: str
    x: float = 0.5
    base: float = 1.0
    height: float = 1.0
    flip: bool = False  # facing left
    layer: float = 0.0  # drawn in rising order
    colour: str = ""
    second: str = ""  # the pattern's colour
    pattern: str = ""  # striped, spotted or none
    size: str = ""  # big, small or neither
    pose: str = ""
    age: str = ""  # child, adult or old
    hair: str = ""
    shade: float = 0.5  # which of many variants of the drawing
    wearer: int | None = None  # who wears it
    hands: str = ""  # what a person's hands do

    @property
    def category(self) -> str:
        """person, animal, vehicle, thing, worn, stuff or place."""
        return KINDS[self.kind].category

    @property
    def seen(self) -> tuple[str, ...]:
        """The words for what can be seen of it itself: colours, pattern, size, pose, age."""
        words = (self.colour, self.second, self.pattern, self.size, self.pose, self.age)
        return tuple(word for word in words if word)

    @property
    def attributes(self) -> tuple[str, ...]:
        """`seen`, and the hair's colour ("gray-haired")."""
        return (*self.seen, f"{self.hair}-haired") if self.hair else self.seen

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom in picture heights, from the drawing's proportions."""
        wide, high = KINDS[self.kind].proportions(self.pose)
        half = wide * self.height / 2
        return self.x - half, self.base - high * self.height, self.x + half, self.base


@dataclass(frozen=True)
class Fact:
    """Thing number `subject` stands in `relation` to thing number `object`, as the picture was made."""

    subject: int
    relation: str
    object: int


@dataclass(frozen=True)
class Scene:
    """A whole picture: things first, then what they wear, then the ground, the sky and the setting itself."""

    setting: str
    objects: tuple[Thing, ...]
    facts: tuple[Fact, ...]
    horizon: float = 0.5
    shade: float = 0.5

    @cached_property
    def place(self) -> int:
        """The number of the object that is the setting."""
        return next(number for number, thing in enumerate(self.objects) if thing.kind == self.setting)

    @cached_property
    def backdrop(self) -> frozenset[str]:
        """Kinds that the background may seem to show without being things of their own."""
        return SETTINGS[self.setting].backdrop

    @cached_property
    def graph(self) -> SceneGraph:
        """All that was composed as one scene graph: object `i` is `objects[i]`, the ground, sky and place included."""
        objects = tuple(
            SceneObject(thing.kind, tuple(Attribute(word) for word in thing.seen if word in _SAID), 1)
            for thing in self.objects
        )
        links = tuple(Relation(f.subject, _LEMMAS.get(f.relation, f.relation), f.object) for f in self.facts)
        return SceneGraph(objects, links)

    def to_json(self) -> str:
        """One line of JSON without what has its default."""
        plain = {
            "setting": self.setting,
            "horizon": self.horizon,
            "shade": self.shade,
            "objects": [_without_defaults(thing) for thing in self.objects],
            "facts": [[fact.subject, fact.relation, fact.object] for fact in self.facts],
        }
        return json.dumps(plain, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """The scene that `to_json` wrote down."""
        plain = json.loads(text)
        return cls(
            plain["setting"],
            tuple(Thing(**thing) for thing in plain["objects"]),
            tuple(Fact(*fact) for fact in plain["facts"]),
            plain["horizon"],
            plain["shade"],
        )


_DEFAULTS = asdict(Thing("dog"))


def _without_defaults(thing: Thing) -> dict[str, Any]:
    return {name: value for name, value in asdict(thing).items() if name == "kind" or value != _DEFAULTS[name]}
