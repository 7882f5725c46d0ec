"""Scenes and graphs written by hand for the tests."""

from itmlab.scenes.relations import Facts
from itmlab.scenes.scene import SETTINGS, Fact, Scene, Thing
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject


def facts(*things: Thing, known: tuple[tuple[int, str, int], ...] = (), setting: str = "park") -> Facts:
    """The facts of a scene of these things, all of them standing on its ground unless something carries them."""
    stuff = [Thing(name) for name in (SETTINGS[setting].ground, *SETTINGS[setting].around, setting)]
    carried = {subject for subject, name, _ in known if name in ("on", "ride", "in", "over")}
    carried |= {thing for _, name, thing in known if name in ("hold", "wear", "fly")}
    standing = [(at, "on", len(things)) for at in range(len(things)) if at not in carried]
    return Facts(Scene(setting, (*things, *stuff), tuple(Fact(*fact) for fact in (*known, *standing))))


def noun(words: str, count: int | None = 1) -> SceneObject:
    """As in “striped red ball”: the last word is the noun, the others its attributes."""
    *attributes, lemma = words.split()
    return SceneObject(lemma, tuple(Attribute(word) for word in attributes), count, count != 1)


def says(*things: str | SceneObject, link: str = "", more: tuple[Relation, ...] = ()) -> SceneGraph:
    """A graph of these nouns; `link` relates the first to the second."""
    objects = tuple(noun(thing) if isinstance(thing, str) else thing for thing in things)
    return SceneGraph(objects, ((Relation(0, link, 1),) if link else ()) + more)
