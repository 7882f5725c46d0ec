"""Scenes: rich, each from its own stream, things inside the picture and not hidden."""

from collections import Counter

from itmlab.scenes.compose import compose
from itmlab.scenes.entail import TRUE, entails
from itmlab.scenes.scene import Scene


def test_the_world_is_rich_enough(many):
    scenes = [facts.scene for facts in many]
    entities = [entity for scene in scenes for entity in scene.objects]
    drawn = Counter(entity.kind for entity in entities if entity.category not in ("stuff", "place"))
    assert len(drawn) >= 40 and min(drawn.values()) >= 3
    assert len({entity.colour for entity in entities} - {""}) >= 11
    properties = {
        word for entity in entities for word in (entity.size, entity.pattern, entity.pose, entity.age, entity.hair)
    }
    assert len(properties) >= 20
    assert len({fact.relation for scene in scenes for fact in scene.facts}) >= 12
    assert len({scene.setting for scene in scenes}) == 10


def test_several_of_a_kind_are_common(many):
    most = [max(Counter(t.kind for t in each.entities if t.category != "worn").values()) for each in many]
    assert 0.1 < sum(count > 1 for count in most) / len(many) < 0.7


def test_a_scene_depends_on_its_seed_and_number_only():
    assert compose(3, 17, "classic") == compose(3, 17, "classic")
    assert compose(3, 17, "classic") not in (compose(3, 18, "classic"), compose(4, 17, "classic"))


def test_one_to_a_few_main_things_and_none_tiny(many):
    for facts in many:
        main = [entity for entity in facts.scene.objects if entity.category not in ("stuff", "place", "worn")]
        assert 1 <= len(main) <= 12
        left, top, right, bottom = zip(*(entity.extent for entity in main), strict=True)
        assert max(max(b - t, r - w) for w, t, r, b in zip(left, top, right, bottom, strict=True)) > 0.15
        assert min(left) > -0.06 and max(right) < 1.06 and max(bottom) <= 1.0


def test_everyone_wears_something_and_facts_name_things_that_are_there(many):
    for facts in many:
        scene = facts.scene
        for number, entity in enumerate(scene.objects):
            if entity.category == "person":
                assert any(garment.wearer == number for garment in scene.objects)
        assert all(0 <= fact.subject < len(scene.objects) > fact.object >= 0 for fact in scene.facts)


def test_the_graph_of_a_scene_is_true_of_it(many):
    for facts in many[:200]:
        assert len(facts.scene.graph.objects) == len(facts.scene.objects)
        assert entails(facts, facts.scene.graph) == TRUE


def test_json_and_back_is_the_same_scene(many):
    for facts in many[:100]:
        assert Scene.from_json(facts.scene.to_json()) == facts.scene
