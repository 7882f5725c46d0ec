"""Sentences judged by the world: the parser's reading of captions against the graphs they were written from."""

import random

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.scenes.captions import write_captions
from itmlab.scenes.entail import FALSE, OPEN, TRUE, entails, parsed
from itmlab.scenes.lexicon import NOUNS, attributes, nouns

SCENES, OTHERS = 120, 4


@pytest.fixture(scope="module")
def read(many):
    """(scene, caption, what was understood) of 1,800 captions, from the most specific to the most general."""
    rows = [
        (at, caption)
        for at in range(SCENES)
        for knob in (0.0, 0.5, 1.0)
        for caption in write_captions(many[at], seed=0, index=at, unannotated=knob, edition="classic")
    ]
    said = parsed([caption.text for _, caption in rows], cache=False)
    return [(at, caption, one) for (at, caption), one in zip(rows, said, strict=True)]


def label_of(facts, one):
    return one.truth_label(entails(facts, one.graph))


def test_captions_are_true_of_their_own_picture(read, many, capsys):
    labels = [label_of(many[at], one) for at, _, one in read]
    decided = len(labels) - labels.count(OPEN)
    true = labels.count(TRUE) / decided
    with capsys.disabled():
        print(f"\nown picture: {decided / len(labels):.1%} decided, {true:.2%} of them true")
    assert decided >= 0.90 * len(labels)
    assert labels.count(TRUE) >= 0.99 * decided


def test_labels_are_those_of_the_graph_a_caption_was_written_from(read, many, capsys):
    """7,200 pairs with other pictures and 1,800 with their own."""
    dice = random.Random(0)
    agree = decided = decidable = 0
    for at, caption, one in read:
        for other in [at, *(dice.randrange(SCENES) for _ in range(OTHERS))]:
            known, said = entails(many[other], caption.graph), label_of(many[other], one)
            decidable += known != OPEN
            decided += OPEN not in (known, said)
            agree += known == said != OPEN
    with capsys.disabled():
        print(f"\nall pairs: {decided / decidable:.1%} decided, {agree / decided:.2%} of them as the graph says")
    assert agree >= 0.99 * decided and decided >= 0.90 * decidable


def test_a_swapped_word_makes_a_caption_false(read, many):
    """A kind or a colour that the picture does not show, written into the caption's text."""
    dice, texts, scenes = random.Random(1), [], []
    for at, caption, _ in read:
        swapped = swap(caption, many[at], dice)
        if swapped:
            texts.append(swapped)
            scenes.append(many[at])
    labels = [label_of(facts, one) for facts, one in zip(scenes, parsed(texts, cache=False), strict=True)]
    decided = len(labels) - labels.count(OPEN)
    assert len(texts) > 1000 and decided > 0.85 * len(texts)
    assert labels.count(FALSE) >= 0.99 * decided


def swap(caption, facts, dice) -> str:
    """The caption with one animal or plain colour that the scene lacks in another's place; "" if there is none."""
    shown = {entity.kind for entity in facts.entities} | facts.scene.backdrop
    seen = {colour for entity in facts.entities for colour in (entity.colour, entity.second)}
    tokens, places = list(caption.graph.tokens), []
    for entity in caption.graph.objects:
        if nouns()[entity.lemma][0].category == "animal" and not entity.plural:
            animals = [noun for noun in NOUNS if noun.category == "animal" and noun.general == 0]
            places += [(entity.span.start, noun.lemma) for noun in animals if not {noun.lemma} & shown]
        for attribute in entity.attributes:
            if attributes()[attribute.lemma].category == "colour" and not facts.scene.backdrop & {entity.lemma}:
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
