"""Scenes: rich, each from its own stream, things inside the picture."""

from itmlab.scenes.entail import TRUE, entails
from itmlab.scenes.lexicon import RELATIONS
from itmlab.scenes.relations import RULES
from itmlab.scenes.scene import KINDS, SETTINGS, Scene


def test_every_kind_setting_and_deed_is_shown(many):
    entities = [entity for facts in many for entity in facts.entities]
    assert {entity.kind for entity in entities} >= set(KINDS) - {"zebra", "snowman"}
    assert {facts.scene.setting for facts in many} == set(SETTINGS)
    deeds = {verb.lemma for verb in RELATIONS if verb.category == "action" and verb.lemma in verb.means}
    derived = {"touch", "carry", "follow", "play with", "have"}
    assert {fact.relation for facts in many for fact in facts.scene.facts} >= deeds - derived
    assert all(set(verb.means) <= set(RULES) for verb in RELATIONS)


def test_the_graph_of_a_scene_is_true_of_it_and_json_keeps_it(many):
    for facts in many[:200]:
        assert len(facts.scene.graph.objects) == len(facts.entities)
        assert entails(facts, facts.scene.graph) == TRUE
        assert Scene.from_json(facts.scene.to_json()) == facts.scene
