"""Scenes and graphs written by hand for the tests."""

from itmlab.scenes.relations import Facts
from itmlab.scenes.scene import SETTINGS, Entity, Fact, Scene
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject


def facts(*entities: Entity, known: tuple[tuple[int, str, int], ...] = (), setting: str = "park") -> Facts:
    """The facts of a scene of these things, all of them standing on its ground unless something carries them."""
    stuff = [Entity(name) for name in (SETTINGS[setting].ground, *SETTINGS[setting].around, setting)]
    carried = {subject for subject, name, _ in known if name in ("on", "ride", "in", "over")}
    carried |= {entity for _, name, entity in known if name in ("hold", "wear", "fly")}
    standing = [(at, "on", len(entities)) for at in range(len(entities)) if at not in carried]
    return Facts(Scene(setting, (*entities, *stuff), tuple(Fact(*fact) for fact in (*known, *standing))))


def noun(words: str, count: int | None = 1) -> SceneObject:
    """As in “striped red ball”: the last word is the noun, the others its attributes."""
    *attributes, lemma = words.split()
    return SceneObject(lemma, tuple(Attribute(word) for word in attributes), count, count != 1)


def says(*entities: str | SceneObject, link: str = "", more: tuple[Relation, ...] = ()) -> SceneGraph:
    """A graph of these nouns; `link` relates the first to the second."""
    objects = tuple(noun(entity) if isinstance(entity, str) else entity for entity in entities)
    return SceneGraph(objects, ((Relation(0, link, 1),) if link else ()) + more)
