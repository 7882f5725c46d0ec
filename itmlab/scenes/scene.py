"""What one picture shows, written down: its entities, how they relate, and where they are. Drawing reads only this."""

import json
import random
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from ..text.graph import Attribute, Relation, SceneGraph, SceneObject

# What can be drawn: each kind's category, size, proportions, colours and poses, and each setting's parts.

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (216, 54, 50), "orange": (242, 138, 38), "yellow": (247, 208, 66), "green": (62, 152, 80),
    "blue": (52, 104, 204), "purple": (130, 76, 180), "pink": (243, 142, 182), "brown": (138, 88, 50),
    "black": (44, 44, 52), "white": (247, 246, 242), "gray": (146, 150, 158),
}  # fmt: skip
_BRIGHT = "red orange yellow green blue purple pink"
_CLOTH = f"{_BRIGHT} white black gray"


@dataclass(frozen=True)
class Setting:
    """A place: what one stands on, what else is seen, what its background may be taken for, its chance, and where its
    horizon and the near end of its middle band (water, track) are: picture heights from the top, 0 for the usual.
    """

    ground: str
    around: tuple[str, ...]
    backdrop: frozenset[str] = frozenset()
    weight: float = 1.0
    horizon: float = 0.0
    shore: float = 0.0


SETTINGS: dict[str, Setting] = {
    "park": Setting("grass", ("sky",), frozenset({"tree"}), 1.4),
    "beach": Setting("sand", ("water", "sky"), frozenset(), 1.2, 0.42, 0.58),
    "street": Setting("road", ("sky",), frozenset({"house"}), 1.4),
    "winter": Setting("snow", ("sky",), frozenset({"tree"}), 1.0),
    "field": Setting("grass", ("sky",), frozenset(), 1.2),
    "forest": Setting("grass", ("sky",), frozenset({"tree"}), 0.9),
    "desert": Setting("sand", ("sky",), frozenset(), 0.8),
    "lake": Setting("grass", ("water", "sky"), frozenset({"tree"}), 1.0, 0.4, 0.82),
    "room": Setting("floor", ("wall",), frozenset(), 1.2),
    "mountain": Setting("rock", ("sky",), frozenset({"snow"}), 0.8),
    "kitchen": Setting("floor", ("wall",), frozenset({"cup"}), 1.1),
    "garden": Setting("grass", ("sky",), frozenset({"flower", "fence", "bush"}), 1.1),
    "playground": Setting("sand", ("sky",), frozenset({"ladder", "tree"}), 1.1),
    "harbor": Setting("dock", ("water", "sky"), frozenset({"boat", "house"}), 1.0, 0.4, 0.72),
    "station": Setting("platform", ("track", "sky"), frozenset({"house", "lamp", "sign"}), 1.1, 0.46, 0.66),
}


@dataclass(frozen=True)
class Kind:
    """A kind of thing: `height` in picture heights, `wide` and `poses` {pose: (width, height)} in heights."""

    category: str
    height: float = 0.3
    wide: float = 1.0
    colours: tuple[str, ...] = ()
    poses: tuple[tuple[str, float, float], ...] = ()
    patterns: tuple[str, ...] = ()
    sized: bool = False  # comes also big and small

    def proportions(self, pose: str) -> tuple[float, float]:
        """Width and height of the drawing in a pose, in heights of the kind."""
        return next(((wide, high) for name, wide, high in self.poses if name == pose), (self.wide, 1.0))


_BODY = (("stand", 0.42, 1.0), ("walk", 0.48, 1.0), ("run", 0.68, 1.0), ("jump", 0.6, 1.0), ("kick", 0.62, 1.0),
         ("sit", 0.52, 0.8), ("mount", 0.45, 0.75), ("cycle", 0.52, 0.9), ("aboard", 0.4, 0.6),
         ("climb", 0.48, 1.0), ("lean", 0.5, 1.0))  # fmt: skip


def _animal(height: float, wide: float, colours: str, *poses: tuple, patterns: str = "", sized: bool = False) -> Kind:
    """An animal that stands, walks and runs, and lies, sits or jumps where that pose is given."""
    legs = (("stand", wide, 1.0), ("walk", wide, 1.0), ("run", wide * 1.12, 1.0))
    return Kind("animal", height, wide, tuple(colours.split()), (*legs, *poses), tuple(patterns.split()), sized)


def _thing(
    height: float, wide: float, colours: str, patterns: str = "", sized: bool = False, *, category: str = "thing"
) -> Kind:
    return Kind(category, height, wide, tuple(colours.split()), (), tuple(patterns.split()), sized)


_vehicle, _worn = partial(_thing, category="vehicle"), partial(_thing, 0.3, 0.42, category="worn")
_STAND = ("stand", 1.15, 1.0)
KINDS: dict[str, Kind] = {
    "man": Kind("person", 0.6, 0.42, poses=_BODY),
    "woman": Kind("person", 0.57, 0.42, poses=_BODY),
    "boy": Kind("person", 0.45, 0.48, poses=_BODY),
    "girl": Kind("person", 0.45, 0.48, poses=_BODY),
    "dog": _animal(0.32, 1.35, "brown black white gray yellow", ("sit", 0.95, 1.0), ("lie", 1.35, 0.58),
                   ("jump", 1.5, 1.0), patterns="spotted", sized=True),
    "cat": _animal(0.28, 1.25, "orange black white gray", ("sit", 0.85, 1.0), ("lie", 1.3, 0.6), patterns="striped",
                   sized=True),
    "horse": _animal(0.52, 1.12, "brown black white gray", ("jump", 1.3, 1.0), sized=True),
    "zebra": _animal(0.5, 1.12, "white", patterns="striped"),
    "cow": _animal(0.4, 1.45, "white brown black", ("lie", 1.45, 0.62), patterns="spotted"),
    "sheep": _animal(0.34, 1.3, "white black gray", ("lie", 1.3, 0.64), sized=True),
    "elephant": _animal(0.52, 1.4, "gray", sized=True),
    "giraffe": _animal(0.76, 0.72, "yellow", patterns="spotted"),
    "rabbit": Kind("animal", 0.28, 0.95, ("white", "brown", "gray"), (("sit", 0.95, 1.0), ("run", 1.2, 0.9))),
    "bird": Kind("animal", 0.22, 1.3, ("red", "blue", "yellow", "black", "white"), (_STAND, ("fly", 1.5, 1.0))),
    "duck": Kind("animal", 0.25, 1.15, ("white", "yellow", "brown"), (_STAND, ("swim", 1.15, 0.8))),
    "car": _vehicle(0.27, 2.1, "red blue yellow green white black orange", sized=True),
    "bus": _vehicle(0.42, 1.75, "red blue yellow green white orange"),
    "truck": _vehicle(0.4, 1.75, "red blue yellow green white", sized=True),
    "bicycle": _vehicle(0.33, 1.55, "red blue green black yellow pink"),
    "motorcycle": _vehicle(0.31, 1.7, "red blue black yellow green"),
    "boat": _vehicle(0.5, 1.05, "red blue white green brown"),
    "skateboard": _vehicle(0.085, 3.4, "red blue green yellow purple black"),
    "ball": _thing(0.17, 1.0, _BRIGHT, "striped spotted", True),
    "kite": _thing(0.26, 0.8, _BRIGHT, "striped"),
    "balloon": _thing(0.26, 0.62, _BRIGHT, sized=True),
    "umbrella": _thing(0.42, 1.1, f"{_BRIGHT} black", "striped spotted"),
    "flower": _thing(0.24, 0.5, "red yellow pink purple white blue"),
    "book": _thing(0.13, 1.35, "red blue green brown purple"),
    "guitar": _thing(0.17, 2.4, "brown red black orange"),
    "cup": _thing(0.16, 1.1, "white red blue yellow green", "striped"),
    "bag": _thing(0.17, 0.9, "red blue brown black pink green"),
    "bench": _thing(0.28, 1.9, "brown green white blue"),
    "chair": _thing(0.4, 0.68, "brown red white blue green"),
    "sofa": _thing(0.33, 2.0, "red blue green gray purple brown"),
    "table": _thing(0.3, 1.7, "brown white black"),
    "tree": _thing(0.74, 0.72, "green orange", sized=True),
    "house": _thing(0.6, 1.1, "red white yellow blue brown", sized=True),
    "tent": _thing(0.4, 1.4, "orange blue green red yellow", "striped"),
    "box": _thing(0.22, 1.15, "brown red blue white", sized=True),
    "fence": _thing(0.24, 2.3, "white brown gray"),
    "snowman": _thing(0.46, 0.7, "white"),
    "shirt": _worn(_CLOTH, "striped spotted"),
    "dress": _worn(_CLOTH, "striped spotted"),
    "coat": _worn(f"{_BRIGHT} black brown gray"),
    "trousers": _worn("blue black brown gray white"),
    "hat": _worn(f"{_BRIGHT} black white brown"),
    "scarf": _worn(_BRIGHT, "striped"),
    "backpack": _worn("red blue green purple black orange"),
    **{name: Kind("stuff") for name in ("grass", "sand", "snow", "road", "water", "floor", "wall", "sky", "rock")},
    **{name: Kind("place") for name in tuple(SETTINGS)[:10]},
    "pig": _animal(0.33, 1.4, "pink white black", patterns="spotted", sized=True),
    "fox": _animal(0.31, 1.5, "orange gray white", ("sit", 0.95, 1.0), sized=True),
    "bear": _animal(0.46, 1.35, "brown black white", ("sit", 0.85, 1.0), sized=True),
    "lion": _animal(0.4, 1.4, "yellow", ("lie", 1.4, 0.7), sized=True),
    "monkey": Kind("animal", 0.33, 0.9, ("brown", "black", "gray"),
                   (("sit", 0.9, 1.0), ("stand", 0.8, 1.0), ("climb", 0.8, 1.0)), (), True),
    "penguin": Kind("animal", 0.31, 0.62, ("black", "blue", "gray"), (("stand", 0.62, 1.0), ("walk", 0.66, 1.0)), (),
                    True),
    "turtle": Kind("animal", 0.19, 1.8, ("green", "brown"), (("stand", 1.8, 1.0), ("walk", 1.8, 1.0)), (), True),
    "owl": Kind("animal", 0.26, 0.72, ("brown", "white", "gray"), (("sit", 0.72, 1.0),), (), True),
    "airplane": _vehicle(0.2, 2.3, "white red blue yellow orange"),
    "helicopter": _vehicle(0.22, 1.9, "red blue yellow green black"),
    "train": _vehicle(0.34, 2.3, "red blue green yellow"),
    "tractor": _vehicle(0.4, 1.35, "red green blue yellow"),
    "scooter": _vehicle(0.36, 0.95, "red blue pink green black yellow"),
    "cart": _vehicle(0.27, 1.35, "brown red blue green yellow"),
    "sled": _vehicle(0.12, 2.6, "red brown blue green"),
    "lamp": _thing(0.6, 0.34, "black white red yellow green"),
    "bush": _thing(0.24, 1.45, "green", sized=True),
    "fountain": _thing(0.38, 1.2, "white gray blue"),
    "suitcase": _thing(0.27, 0.72, "red blue brown black yellow purple", "striped spotted", True),
    "camera": _thing(0.095, 1.4, "black red white blue"),
    "telescope": _thing(0.6, 0.76, "white black blue red"),
    "ladder": _thing(0.62, 0.3, "brown gray red yellow"),
    "sign": _thing(0.42, 0.5, "red yellow blue white green"),
    "piano": _thing(0.4, 1.2, "black brown white"),
    "drum": _thing(0.25, 1.1, "red blue green yellow white", "striped"),
    "laptop": _thing(0.13, 1.4, "gray black white pink"),
    "cake": _thing(0.16, 1.2, "pink white brown"),
    "pizza": _thing(0.1, 1.3, ""),
    "apple": _thing(0.09, 1.0, "red green yellow"),
    "banana": _thing(0.1, 1.1, "yellow"),
    "bucket": _thing(0.17, 1.0, "red blue yellow green gray", "striped spotted"),
    "broom": _thing(0.46, 0.36, "brown red blue green"),
    "slide": _thing(0.42, 1.6, "red blue yellow green"),
    "glasses": _worn("black red blue white green"),
    "helmet": _worn("red blue white yellow black orange"),
    "boots": _worn("brown black red yellow green", "spotted"),
    "apron": _worn("white red blue green yellow", "striped spotted checked"),
    "skirt": _worn(_CLOTH, "striped spotted checked"),
    "tie": _worn("red blue black yellow green", "striped"),
    **{name: Kind("stuff") for name in ("dock", "platform", "track")},
    **{name: Kind("place") for name in tuple(SETTINGS)[10:]},
}  # fmt: skip


STREAM = "rich-"  # begins the seed of every scene and caption, every image's id and the cache's key
PATTERNED = 0.34  # the chance of a pattern on what may have one
MORE_PATTERNS = dict.fromkeys(("shirt", "dress", "coat", "scarf", "hat", "umbrella"), ("striped", "spotted", "checked"))
PEOPLE = tuple(name for name, kind in KINDS.items() if kind.category == "person")


_POSES = ("stand", "walk", "run", "sit", "lie", "jump", "fly", "swim")
_SAID = frozenset(
    (*COLOURS, *_POSES, "striped", "spotted", "checked", "big", "small", "old")
)  # adjectives and poses of a graph
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
        return SETTINGS[self.setting].backdrop

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
        """The scene that `to_json` wrote down."""
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
        """Add a thing with chance colour, pattern, size, hair and variant unless `chosen`; its number."""
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
        """Note that a relation holds."""
        self.facts.append(Fact(subject, relation, entity))

    def span(self, first: int, last: int | None = None) -> tuple[float, float]:
        """Left and right end of all things from number `first` to `last` (excluded)."""
        lefts, _, rights, _ = zip(*(entity.extent for entity in self.entities[first:last]), strict=True)
        return min(lefts), max(rights)

    def move(self, first: int, last: int, shift: float) -> None:
        """Move things `first` to `last` (excluded) sideways."""
        for number in range(first, last):
            self.change(number, x=self.entities[number].x + shift)

    def discard(self, first: int) -> None:
        """Take back all things from number `first` on, and what was noted about them."""
        del self.entities[first:]
        self.facts = [fact for fact in self.facts if max(fact.subject, fact.object) < first]

    def freeze(self) -> Scene:
        """The finished scene, with its stuff and its place as its last objects."""
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
