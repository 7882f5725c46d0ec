"""A picture while it is being made up: things added with chance attributes, moved in clusters, then frozen."""

import random
from dataclasses import replace

from .kinds import KINDS, PEOPLE, SETTINGS
from .scene import Fact, Scene, Thing

_COATS = {"zebra": "black", "giraffe": "brown"}  # kinds that always have their pattern
_HAIR = (("blond", "brown", "black", "red"), ("brown", "black"))


class Draft:
    """Things and facts so far; positions are relative until a cluster is moved to its place."""

    def __init__(self, dice: random.Random, setting: str):
        self.dice, self.setting = dice, setting
        self.horizon = {"beach": 0.42, "lake": 0.4}.get(setting, dice.uniform(0.48, 0.58))
        self.things: list[Thing] = []
        self.facts: list[Fact] = []
        self.groups: list[tuple[int, ...]] = []  # things that were made up together and look alike

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return self.dice.random() < share

    def add(self, kind: str, x: float = 0.0, base: float = 0.9, *, scale: float = 1.0, **chosen) -> int:
        """Add a thing with chance colour, pattern, size, hair and variant unless `chosen`; its number."""
        dice, table = self.dice, KINDS[kind]
        looks: dict = {"shade": round(dice.random(), 4)}
        if table.colours:
            looks["colour"] = dice.choice(table.colours)
        if table.patterns and self.chance(1.0 if kind in _COATS else 0.3):
            looks["pattern"] = dice.choice(table.patterns)
        if table.sized and self.chance(0.36):
            looks["size"] = dice.choice(("big", "small"))
        if table.category == "person":
            child = kind in ("boy", "girl")
            looks["age"] = "child" if child else dice.choice(("adult", "adult", "adult", "old"))
            dark = looks["shade"] > 0.55
            looks["hair"] = "gray" if looks["age"] == "old" else dice.choice(_HAIR[dark])
        looks |= chosen
        if looks.get("pattern") and not looks.get("second"):
            looks["second"] = self._second(kind, looks["colour"])
        grown = {"big": 1.22, "small": 0.76}.get(looks.get("size", ""), 1.0)
        height = table.height * grown * scale * (0.86 + 0.3 * (base - 0.5)) * dice.uniform(0.96, 1.05)
        self.things.append(Thing(kind, x, base, round(height, 4), **looks))
        return len(self.things) - 1

    def _second(self, kind: str, colour: str) -> str:
        if kind in _COATS:
            return _COATS[kind]
        if KINDS[kind].category == "animal":
            return {"white": "black", "black": "white", "orange": "brown"}.get(colour, "white")
        return "white" if colour != "white" else self.dice.choice(("red", "blue", "black"))

    def change(self, number: int, **values) -> None:
        """Give a thing other values."""
        self.things[number] = replace(self.things[number], **values)

    def fact(self, subject: int, relation: str, thing: int) -> None:
        """Note that a relation holds."""
        self.facts.append(Fact(subject, relation, thing))

    def span(self, first: int) -> tuple[float, float]:
        """Left and right end of all things from number `first` on."""
        extents = [thing.extent for thing in self.things[first:]]
        return min(extent[0] for extent in extents), max(extent[2] for extent in extents)

    def move(self, first: int, last: int, shift: float) -> None:
        """Move things `first` to `last` (excluded) sideways."""
        for number in range(first, last):
            self.change(number, x=self.things[number].x + shift)

    def discard(self, first: int) -> None:
        """Take back all things from number `first` on, and what was noted about them."""
        del self.things[first:]
        self.facts = [fact for fact in self.facts if max(fact.subject, fact.object) < first]
        self.groups = [group for group in self.groups if max(group) < first]

    def dress(self) -> None:
        """Put clothes on everyone."""
        for number, person in enumerate(tuple(self.things)):
            if person.kind not in PEOPLE:
                continue
            cold = self.setting in ("winter", "mountain") or self.chance(0.06)
            dress = person.kind in ("woman", "girl") and not cold and self.chance(0.42)
            self._wear(number, "coat" if cold and self.chance(0.75) else "dress" if dress else "shirt")
            if not dress:
                self._wear(number, "trousers")
            for kind, share in (("hat", 0.3), ("scarf", 0.45 if cold else 0.03), ("backpack", 0.14)):
                if self.chance(share) and not (kind == "backpack" and person.hands == "strum"):
                    self._wear(number, kind)

    def _wear(self, number: int, kind: str) -> None:
        garment, who = self.add(kind), self.things[number]
        self.change(garment, wearer=number, x=who.x, base=who.base, height=who.height, flip=who.flip)
        self.fact(number, "wear", garment)

    def freeze(self) -> Scene:
        """The finished scene, with its stuff and its place as its last objects."""
        setting = SETTINGS[self.setting]
        first = len(self.things)
        things = [
            replace(thing, x=round(thing.x, 4), base=round(thing.base, 4), layer=round(thing.layer or thing.base, 5))
            for thing in self.things
        ]
        stuff = (setting.ground, *setting.around)
        things += [Thing(name) for name in (*stuff, self.setting)]
        carried = {fact.subject for fact in self.facts if fact.relation in ("on", "ride", "in", "over")}
        carried |= {fact.object for fact in self.facts if fact.relation in ("hold", "wear", "fly")}
        for number, thing in enumerate(self.things):
            afloat = thing.kind == "balloon" and thing.base >= self.horizon  # it hangs in the air, before the ground
            if number in carried or thing.category == "worn" or afloat:
                continue
            if thing.pose == "fly" or thing.base < self.horizon:
                self.fact(number, "in", first + stuff.index("sky")) if "sky" in stuff else None
            elif thing.pose == "swim" or thing.kind == "boat":
                self.fact(number, "in", first + stuff.index("water"))
            else:
                self.fact(number, "on", first)
        return Scene(
            self.setting, tuple(things), tuple(self.facts), round(self.horizon, 4), round(self.dice.random(), 6)
        )
