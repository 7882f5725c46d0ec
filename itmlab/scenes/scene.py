"""What one picture shows, written down: its entities, how they relate, and where they are. Drawing reads only this."""

import json
import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..text.graph import Attribute, Relation, SceneGraph, SceneObject

_TABLES = tomllib.loads((Path(__file__).parent / "world.toml").read_text(encoding="utf-8"))
Colour = tuple[int, int, int]


def _tuples(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Setting:
    """A place; `world.toml` describes the fields."""

    ground: str
    around: tuple[str, ...]
    weight: float
    sky: tuple[Colour, Colour]
    animals: str
    phrases: tuple[tuple[str, str, str], ...]
    backdrop: tuple[str, ...] = ()
    true_of: tuple[str, ...] = ()
    standing: tuple[float, float] | None = None
    horizon: float = 0.0
    shore: float = 0.0


class Kind:
    """A kind of thing; `world.toml` describes the fields."""

    def __init__(
        self,
        category: str,
        height: float = 0.3,
        wide: float = 1.0,
        *,
        colours: str = "",
        poses: Mapping[str, tuple[float, float]] | None = None,
        four_legged: bool = False,
        patterns: str = "",
        sized: bool = False,
    ):
        self.category, self.height, self.wide, self.sized = category, height, wide, sized
        self.colours, self.patterns = tuple(colours.split()), tuple(patterns.split())
        legs = {"stand": (wide, 1.0), "walk": (wide, 1.0), "run": (wide * 1.12, 1.0)}
        self.poses: dict[str, tuple[float, float]] = (legs if four_legged else {}) | dict(poses or {})

    def proportions(self, pose: str) -> tuple[float, float]:
        """Width and height of the drawing in a pose, in heights of the kind."""
        return self.poses.get(pose, (self.wide, 1.0))


COLOURS: dict[str, Colour] = {name: tuple(colour) for name, colour in _TABLES["colours"].items()}
GROUNDS: dict[str, tuple[Colour, Colour]] = {name: _tuples(colours) for name, colours in _TABLES["grounds"].items()}
SHADES: dict[str, dict[str, Colour]] = {
    kind: {name: tuple(colour) for name, colour in shades.items()} for kind, shades in _TABLES["shades"].items()
}
SETTINGS = {
    name: Setting(**{field: _tuples(value) for field, value in fields.items()})
    for name, fields in _TABLES["settings"].items()
}
KINDS = {name: Kind(**fields) for name, fields in _TABLES["kinds"].items()}
PEOPLE = tuple(name for name, kind in KINDS.items() if kind.category == "person")
for _name in PEOPLE:
    KINDS[_name].poses = _TABLES["poses"]

STREAM = "rich-"  # begins the seed of every scene and caption, every image's id and the cache's key
PATTERNED = 0.34  # the chance of a pattern on what may have one
MORE_PATTERNS = dict.fromkeys(("shirt", "dress", "coat", "scarf", "hat", "umbrella"), ("striped", "spotted", "checked"))

_POSES = ("stand", "walk", "run", "sit", "lie", "jump", "fly", "swim")
_SAID = frozenset((*COLOURS, *_POSES, "striped", "spotted", "checked", "big", "small", "old"))  # words of a graph
_LEMMAS = {"over": "jump over"}


@dataclass(frozen=True)
class Entity:
    """One drawn entity. Lengths are in picture heights, x to the right, y down; `base` is where it stands."""

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
    """Entity number `subject` stands in `relation` to entity number `object`, as the picture was made."""

    subject: int
    relation: str
    object: int


@dataclass(frozen=True)
class Scene:
    """A whole picture: entities first, then what they wear, then the ground, the sky and the setting itself.

    >>> scene = Scene("field", (Entity("dog", pose="run"), Entity("grass"), Entity("field")), (Fact(0, "on", 1),))
    >>> sorted(scene.graph.tuples(), key=len)[-2:], Scene.from_json(scene.to_json()) == scene
    ([('dog', 'run'), ('dog', 'on', 'grass')], True)
    """

    setting: str
    objects: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    horizon: float = 0.5
    shade: float = 0.5

    @cached_property
    def place(self) -> int:
        """The number of the object that is the setting."""
        return next(number for number, entity in enumerate(self.objects) if entity.kind == self.setting)

    @cached_property
    def backdrop(self) -> frozenset[str]:
        """Kinds that the background may seem to show without being things of their own."""
        return frozenset(SETTINGS[self.setting].backdrop)

    @cached_property
    def graph(self) -> SceneGraph:
        """All that was composed as one scene graph: object `i` is `objects[i]`, the ground, sky and place included."""
        objects = tuple(
            SceneObject(entity.kind, tuple(Attribute(word) for word in entity.seen if word in _SAID), 1)
            for entity in self.objects
        )
        links = tuple(Relation(f.subject, _LEMMAS.get(f.relation, f.relation), f.object) for f in self.facts)
        return SceneGraph(objects, links)

    def to_json(self) -> str:
        """One line of JSON without what has its default."""
        plain = {name: getattr(self, name) for name in ("setting", "horizon", "shade")}
        plain["objects"] = [
            {name: value for name, value in vars(entity).items() if name == "kind" or value != getattr(Entity, name)}
            for entity in self.objects
        ]
        plain["facts"] = [[fact.subject, fact.relation, fact.object] for fact in self.facts]
        return json.dumps(plain, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """Read the scene that `to_json` wrote."""
        plain = json.loads(text)
        entities = tuple(Entity(**entity) for entity in plain["objects"])
        facts = tuple(Fact(*fact) for fact in plain["facts"])
        return cls(plain["setting"], entities, facts, plain["horizon"], plain["shade"])


# A picture while it is being made up: things added with chance attributes, moved in clusters, then frozen.

_COATS = {"zebra": "black", "giraffe": "brown"}  # kinds that always have their pattern
_HAIR = (("blond", "brown", "black", "red"), ("brown", "black"))


class Draft:
    """Entities and facts so far; positions are relative until a cluster is moved to its place.

    What is random is drawn from `dice` in a fixed order, which is part of the world's version.
    """

    def __init__(self, dice: random.Random, setting: str):
        self.dice, self.setting = dice, setting
        drawn = dice.uniform(0.48, 0.58)
        self.horizon = SETTINGS[setting].horizon or drawn
        self.entities: list[Entity] = []
        self.facts: list[Fact] = []

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return self.dice.random() < share

    def add(self, kind: str, x: float = 0.0, base: float = 0.9, *, scale: float = 1.0, **chosen) -> int:
        """Add a thing with random colour, pattern, size, hair and variant, unless `chosen`.

        Args:
            kind: of the thing.
            x: its middle.
            base: where it stands.
            scale: its size as a multiple of the usual one.
            chosen: fields of `Entity` that are given.

        Returns:
            Its number.
        """
        dice, table = self.dice, KINDS[kind]
        looks: dict = {"shade": round(dice.random(), 4)}
        if table.colours:
            looks["colour"] = dice.choice(table.colours)
        patterns = MORE_PATTERNS.get(kind, table.patterns)
        if patterns and self.chance(1.0 if kind in _COATS else PATTERNED):
            looks["pattern"] = dice.choice(patterns)
        if table.sized and self.chance(0.36):
            looks["size"] = dice.choice(("big", "small"))
        if table.category == "person":
            looks["age"] = "child" if kind in ("boy", "girl") else dice.choice(("adult", "adult", "adult", "old"))
            dark = looks["shade"] > 0.55
            looks["hair"] = "gray" if looks["age"] == "old" else dice.choice(_HAIR[dark])
        looks |= chosen
        if looks.get("pattern") and not looks.get("second"):
            looks["second"] = self._second(kind, looks["colour"])
        grown = {"big": 1.22, "small": 0.76}.get(looks.get("size", ""), 1.0)
        height = table.height * grown * scale * (0.86 + 0.3 * (base - 0.5)) * dice.uniform(0.96, 1.05)
        self.entities.append(Entity(kind, x, base, round(height, 4), **looks))
        return len(self.entities) - 1

    def _second(self, kind: str, colour: str) -> str:
        if kind in _COATS:
            return _COATS[kind]
        if KINDS[kind].category == "animal":
            return {"white": "black", "black": "white", "orange": "brown"}.get(colour, "white")
        return "white" if colour != "white" else self.dice.choice(("red", "blue", "black"))

    def change(self, number: int, **values: Any) -> None:
        """Give a thing other values."""
        self.entities[number] = replace(self.entities[number], **values)

    def fact(self, subject: int, relation: str, entity: int) -> None:
        """Note that a relation holds.

        Args:
            subject: the number of the first thing.
            relation: its name.
            entity: the number of the second thing.
        """
        self.facts.append(Fact(subject, relation, entity))

    def span(self, first: int, last: int | None = None) -> tuple[float, float]:
        """Return the left and right end of all things from number `first` up to `last`, excluded."""
        lefts, _, rights, _ = zip(*(entity.extent for entity in self.entities[first:last]), strict=True)
        return min(lefts), max(rights)

    def move(self, first: int, last: int, shift: float) -> None:
        """Move things sideways.

        Args:
            first: the number of the first one.
            last: the number after the last one.
            shift: in picture heights, to the right.
        """
        for number in range(first, last):
            self.change(number, x=self.entities[number].x + shift)

    def discard(self, first: int) -> None:
        """Take back all things from number `first` on, and what was noted about them."""
        del self.entities[first:]
        self.facts = [fact for fact in self.facts if max(fact.subject, fact.object) < first]

    def freeze(self) -> Scene:
        """Return the finished scene; its stuff and its place are its last objects."""
        setting = SETTINGS[self.setting]
        first = len(self.entities)
        entities = [
            replace(
                entity, x=round(entity.x, 4), base=round(entity.base, 4), layer=round(entity.layer or entity.base, 5)
            )
            for entity in self.entities
        ]
        stuff = (setting.ground, *setting.around)
        entities += map(Entity, (*stuff, self.setting))
        carried = {fact.subject for fact in self.facts if fact.relation in ("on", "ride", "in", "over", "climb")}
        carried |= {fact.object for fact in self.facts if fact.relation in ("hold", "wear", "fly", "throw", "use")}
        for number, entity in enumerate(self.entities):
            afloat = entity.kind == "balloon" and entity.base >= self.horizon  # it hangs in the air, before the ground
            if number in carried or entity.category == "worn" or afloat:
                continue
            if entity.pose == "fly" or entity.base < self.horizon:
                self.fact(number, "in", first + stuff.index("sky")) if "sky" in stuff else None
            elif entity.pose == "swim" or entity.kind == "boat":
                self.fact(number, "in", first + stuff.index("water"))
            elif entity.kind == "train":
                self.fact(number, "on", first + stuff.index("track"))
            else:
                self.fact(number, "on", first)
        return Scene(
            self.setting, tuple(entities), tuple(self.facts), round(self.horizon, 4), round(self.dice.random(), 6)
        )
