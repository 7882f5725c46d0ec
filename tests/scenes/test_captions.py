"""Captions: true, different, with spans that spell what they name; swapping in something absent makes them false."""

import random

import pytest

from itmlab.scenes.captions import write_captions
from itmlab.scenes.entail import FALSE, TRUE, entails
from itmlab.scenes.lexicon import ATTRIBUTES, NOUNS, attributes, nouns, relations
from itmlab.scenes.wording import number_word
from itmlab.text.graph import Attribute, SceneGraph, SceneObject, tokenise
from itmlab.text.rules.noun_phrases import NUMBERS


@pytest.fixture(scope="module", params=[0.0, 0.5, 1.0])
def written(request, many):
    """(facts, caption) of 200 scenes."""
    return [
        (facts, caption)
        for index, facts in enumerate(many[:200])
        for caption in write_captions(facts, seed=0, index=index, unannotated=request.param, edition="classic")
    ]


def test_captions_are_true_of_their_image(written):
    assert all(entails(facts, caption.graph) == TRUE for facts, caption in written)


def test_tokens_are_those_of_the_text(written):
    assert all(tokenise(caption.text) == caption.graph.tokens for _, caption in written)


def test_spans_spell_what_they_name(written):
    for _, caption in written:
        graph = caption.graph
        for entity in graph.objects:
            said = graph.text(entity.span).lower()
            assert said in {name for noun in nouns()[entity.lemma] for name in (noun.lemma, noun.plural)}
            assert (said != entity.lemma) <= (entity.plural or entity.lemma in ("trousers", "pants", "mountain"))
            for attribute in entity.attributes:
                said = graph.text(attribute.span).lower()
                assert said in (attribute.lemma, *attributes()[attribute.lemma].forms)
        for link in graph.relations:
            assert graph.text(link.span).lower() in (link.lemma, *relations()[link.lemma].forms)


def test_words_point_at_things_they_name(written):
    for facts, caption in written:
        assert len(caption.means) == len(caption.graph.objects)
        for entity, numbers in zip(caption.graph.objects, caption.means, strict=True):
            kinds = {facts.entities[number].kind for number in numbers}
            assert kinds and any(kinds <= noun.means for noun in nouns()[entity.lemma])
            assert entity.count in (None, len(numbers))


def test_five_captions_of_an_image_differ(many):
    for index, facts in enumerate(many[:100]):
        captions = write_captions(facts, seed=0, index=index, unannotated=1.0, edition="classic")
        assert len({caption.text for caption in captions}) == 5


def test_captions_read_as_if_many_people_wrote_them(written):
    texts = [caption.text for _, caption in written]
    assert len(set(texts)) > 0.6 * len(texts)
    for opening in ("There is", "In ", "Two ", "A "):
        assert any(text.startswith(opening) for text in texts)
    for inside in (" who is ", " is ", " by ", " and "):
        assert any(inside in text for text in texts)
    assert 0.3 < sum(text.endswith(".") for text in texts) / len(texts) < 0.98
    assert 0.3 < sum(text[0].isupper() for text in texts) / len(texts) < 0.98


def test_a_kind_that_is_absent_makes_a_caption_false(written):
    dice, false = random.Random(0), 0
    for facts, caption in written:
        shown = {entity.kind for entity in facts.entities} | facts.scene.backdrop
        absent = [noun for noun in NOUNS if noun.means and noun.category == "animal"]
        absent = [noun.lemma for noun in absent if not shown & (noun.means | noun.perhaps)]
        at = dice.randrange(len(caption.graph.objects))
        objects = list(caption.graph.objects)
        swapped = [each for each in absent if all(not shown & (n.means | n.perhaps) for n in nouns()[each])]
        objects[at] = SceneObject(dice.choice(swapped), objects[at].attributes, objects[at].count, objects[at].plural)
        false += entails(facts, SceneGraph(tuple(objects), caption.graph.relations)) == FALSE
    assert false == len(written)


def test_a_colour_that_is_absent_makes_a_caption_false(written):
    colours = [entry.lemma for entry in ATTRIBUTES if entry.category == "colour" and not any(entry.perhaps["colour"])]
    checked = 0
    for facts, caption in written:
        seen = {colour for entity in facts.entities for colour in (entity.colour, entity.second)}
        absent = [colour for colour in colours if not seen & attributes()[colour].means["colour"]]
        for at, entity in enumerate(caption.graph.objects):
            scenery = any(facts.scene.backdrop & noun.means for noun in nouns()[entity.lemma])
            if absent and not scenery and any(attribute.lemma in colours for attribute in entity.attributes):
                objects = list(caption.graph.objects)
                objects[at] = SceneObject(entity.lemma, (Attribute(absent[0]),), entity.count, entity.plural)
                assert entails(facts, SceneGraph(tuple(objects), caption.graph.relations)) == FALSE
                checked += 1
    assert checked > 50


def test_every_count_that_a_scene_can_show_has_its_word() -> None:
    assert all(NUMBERS[number_word(count)] == count for count in range(2, 13))


def test_no_caption_tells_left_from_right_so_that_a_mirrored_picture_keeps_its_captions(written):
    """`data.flip` costs nothing on `scenes`."""
    sides = {"left", "right", "leftmost", "rightmost", "left-hand", "right-hand", "clockwise"}
    assert not any(sides & set(caption.graph.tokens) for _, caption in written)
