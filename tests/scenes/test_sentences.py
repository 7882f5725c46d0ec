"""Sentences judged by the world: the parser's reading of captions against the graphs they were written from."""

import random

import pytest
import torch

from itmlab.scenes.captions import write_captions
from itmlab.scenes.entail import OPEN, TRUE, entails, parsed
from itmlab.scenes.lexicon import nouns

SCENES, OTHERS = 60, 4


@pytest.fixture(scope="module")
def read(many):
    """(scene, caption, what was understood) of 900 captions, from the most specific to the most general."""
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
    """Each sentence is judged with its own picture, where it is true, and with four others."""
    dice = random.Random(0)
    agree = decided = decidable = 0
    for at, caption, sentence in read:
        for other in [at, *(dice.randrange(SCENES) for _ in range(OTHERS))]:
            known, label = entails(many[other], caption.graph), label_of(many[other], sentence)
            decidable += known != OPEN
            decided += OPEN not in (known, label)
            agree += known == label != OPEN
    assert agree >= 0.99 * decided and decided >= 0.90 * decidable
    labels = [label_of(many[at], sentence) for at, _, sentence in read]
    assert labels.count(OPEN) <= 0.10 * len(labels)
    assert labels.count(TRUE) >= 0.98 * (len(labels) - labels.count(OPEN))


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
