"""Sentences judged by the world: the parser's reading of captions against the graphs they were written from."""

import random

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.scenes.captions import write_captions
from itmlab.scenes.entail import FALSE, OPEN, TRUE, entails, parsed
from itmlab.scenes.lexicon import NOUNS, attributes, nouns
from itmlab.scenes.scene import Entity
from tests.scenes.make import facts

SCENES, OTHERS = 100, 4


@pytest.fixture(scope="module")
def read(many):
    """(scene, caption, what was understood) of 1,500 captions, from the most specific to the most general."""
    rows = [
        (at, caption)
        for at in range(SCENES)
        for knob in (0.0, 0.5, 1.0)
        for caption in write_captions(many[at], seed=0, index=at, unannotated=knob)
    ]
    sentences = parsed([caption.text for _, caption in rows], cache=False)
    return [(at, caption, sentence) for (at, caption), sentence in zip(rows, sentences, strict=True)]


def label_of(scene, sentence):
    return sentence.truth_label(entails(scene, sentence.graph))


def test_labels_are_those_of_the_graph_a_caption_was_written_from(read, many):
    """Sentences with their own picture, of which they are true, and with four others."""
    dice = random.Random(0)
    agree = decided = decidable = 0
    for at, caption, sentence in read:
        for other in [at, *(dice.randrange(SCENES) for _ in range(OTHERS))]:
            known, label = entails(many[other], caption.graph), label_of(many[other], sentence)
            decidable += known != OPEN
            decided += OPEN not in (known, label)
            agree += known == label != OPEN
    assert agree >= 0.99 * decided and decided >= 0.90 * decidable
    own = [label_of(many[at], sentence) for at, _, sentence in read]
    assert own.count(OPEN) <= 0.10 * len(own) and own.count(TRUE) >= 0.98 * (len(own) - own.count(OPEN))


def test_a_swapped_word_makes_a_caption_false(read, many):
    """A kind or a colour that the picture does not show, written into the caption's text."""
    dice, texts, scenes = random.Random(1), [], []
    for at, caption, _ in read:
        swapped = swap(caption, many[at], dice)
        if swapped:
            texts.append(swapped)
            scenes.append(many[at])
    labels = [label_of(scene, sentence) for scene, sentence in zip(scenes, parsed(texts, cache=False), strict=True)]
    decided = len(labels) - labels.count(OPEN)
    assert len(texts) > 1000 and decided > 0.85 * len(texts)
    assert labels.count(FALSE) >= 0.99 * decided


def swap(caption, scene, dice) -> str:
    """The caption with one animal or plain colour that the scene lacks in another's place; "" if there is none."""
    shown = {entity.kind for entity in scene.entities} | scene.scene.backdrop
    seen = {colour for entity in scene.entities for colour in (entity.colour, entity.second)}
    tokens, places = list(caption.graph.tokens), []
    for entity in caption.graph.objects:
        if nouns()[entity.lemma][0].category == "animal" and not entity.plural:
            animals = [noun for noun in NOUNS if noun.category == "animal" and noun.general == 0]
            places += [(entity.span.start, noun.lemma) for noun in animals if not {noun.lemma} & shown]
        for attribute in entity.attributes:
            if attributes()[attribute.lemma].category == "colour" and not scene.scene.backdrop & {entity.lemma}:
                colours = ("red", "blue", "green", "yellow", "pink", "black", "white")
                places += [(attribute.span.start, colour) for colour in colours if colour not in seen]
    meant = {word: {kind for n in nouns().get(word, ()) for kind in n.means | n.perhaps} for _, word in places}
    places = [(at, word) for at, word in places if not shown & meant[word]]
    if not places:
        return ""
    at, word = dice.choice(places)
    tokens[at] = word
    return " ".join(tokens)


@pytest.fixture(scope="module")
def world(scenes):
    return scenes.world


def test_hair_and_clothes_belong_to_their_wearer():
    girl = Entity("girl", hair="red", age="child", pose="stand"), Entity("shirt", colour="green", wearer=0)
    scene = facts(*girl, Entity("boots", colour="black", wearer=0), known=((0, "wear", 1), (0, "wear", 2)))
    sentences = ["A girl with red hair.", "A girl with blond hair.", "A girl in a green shirt and black boots stands."]
    assert [label_of(scene, sentence) for sentence in parsed(sentences, cache=False)] == [TRUE, FALSE, TRUE]


def test_entails_and_truth_take_sentences_and_agree(world, scenes):
    sentences = [scenes.captions[at] for at in range(0, 60, 7)]
    labels = world.truth(torch.arange(20), sentences)
    code = {True: 1, False: 0, None: -1}
    for column, sentence in enumerate(sentences):
        assert labels[:, column].tolist() == [code[world.entails(image, sentence)] for image in range(20)]
    graphs = [world.graphs[at] for at in range(5)]
    assert torch.equal(world.truth(None, graphs), world.truth(None, torch.arange(5)))


@pytest.mark.parametrize("sentence", ["", "🐕", "Freude schöner Götterfunken", "It is beautiful.", "<b></b>"])
def test_what_says_nothing_that_can_be_seen_is_undecided(world, sentence):
    assert world.entails(0, sentence) is None


def test_a_denial_is_never_taken_for_what_it_denies(world):
    shown = world.objects(0)[0].kind
    assert world.entails(0, f"There is a {shown}.") is True
    assert world.entails(0, f"There is not a {shown}.") is None
    assert world.entails(0, f"There are no {nouns()[shown][0].plural}.") is False


def test_words_that_were_not_understood_leave_a_true_sentence_open(world):
    shown = world.objects(0)[0].kind
    assert world.entails(0, f"a {shown} thinking about philosophy") is None
    absent = next(kind for kind in ("zebra", "boat", "tent") if kind not in {t.kind for t in world.objects(0)})
    assert world.entails(0, f"a {absent} thinking about philosophy") is False


def test_one_string_for_a_list_is_a_clear_error(world):
    with pytest.raises(ItmlabError, match="not a list"):
        world.truth(None, "a dog")
