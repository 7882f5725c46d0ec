"""Accuracies over many negatives, against counts made word by word with nothing but the sentences."""

from dataclasses import replace

import pytest
import torch

from itmlab.data.scenes import load
from itmlab.errors import ItmlabError
from itmlab.explain import synthetic_negatives, word_study
from itmlab.explain.word_study import KINDS
from itmlab.synthesis import Negative
from itmlab.text import Span, phrases
from itmlab.text.alignment import token_characters

from .colour_tower import NAMES, ColourTower, judging_set
from .small_tower import small_tower


def recoloured(data, caption: int, colour: str) -> Negative:
    """The caption with another colour."""
    tokens = data.world.graphs[caption].tokens
    (at,) = [number for number, token in enumerate(tokens) if token in NAMES]
    sentence = data.captions[caption].replace(tokens[at], colour)
    negative = Negative(
        sentence, spans=(Span(at, at + 1),), source=(tokens[at],), replacement=(colour,), kind=("attribute",)
    )
    return negative.of(int(data.image_of_caption[caption]), caption)


@pytest.fixture(scope="module")
def squares():
    data = judging_set()
    others = {name: NAMES[(at + 1) % 4] for at, name in enumerate(NAMES)}
    wrong = [recoloured(data, caption, others[NAMES[caption // 2 % 4]]) for caption in range(len(data.captions))]
    return data, ColourTower(data.captions), wrong


def test_a_tower_that_knows_colours_is_right_about_every_word(squares):
    data, tower, wrong = squares
    study = word_study(tower, data, wrong)
    assert study.left_out == 0 and len(study.negatives) == 16 and int(study.replaced.sum()) == 16
    for found in (study.discrimination(), study.correction()):
        assert found.all.percent == found.replaced.percent == found.kept.percent == 100 and found.replaced.count == 16
    assert study.discrimination("attribute").replaced.of == 16 and study.discrimination("attribute").kept.of == 0
    assert study.correction("object").all.of == 16 and study.discrimination("relation").all.of == 0


def test_a_replaced_word_may_fit_and_then_it_is_missed(squares):
    _, tower, _ = squares
    lied = judging_set()
    lied.captions[0] = "A blue square."  # of a red one
    negative = Negative("A red square.", 0, 0, (Span(1, 2),), ("blue",), ("red",), ("attribute",))
    found = word_study(tower, lied, [negative]).discrimination()
    assert (found.replaced.count, found.replaced.of, found.kept.count) == (0, 1, 3)


def test_captions_without_a_world_are_parsed(squares):
    _, tower, wrong = squares
    data = judging_set()
    data.world = None
    study = word_study(tower, data, wrong[:2])
    assert study.discrimination("attribute").replaced.of == 2 and study.correction("object").all.of == 2


def test_what_does_not_stand_piece_under_piece_is_left_out_and_counted(squares):
    data, tower, wrong = squares
    longer = replace(wrong[0], sentence="A blue red square.", replacement=("blue red",), spans=(Span(1, 3),))
    retrieved = Negative("there is a square that is blue").of(0, 0)
    study = word_study(tower, data, [*wrong[:2], longer, retrieved])
    assert study.left_out == 2 and study.negatives == wrong[:2] and study.images.tolist() == [0, 0]
    with pytest.raises(ItmlabError, match="none of 2 negatives has its caption's words"):
        word_study(tower, data, [longer, retrieved])
    with pytest.raises(ItmlabError, match="is of no caption of the data"):
        word_study(tower, data, [Negative("a dog")])
    with pytest.raises(ItmlabError, match="no kind of phrase 'noun'"):
        study.correction("noun")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    data = load(images=6, cache=tmp_path_factory.mktemp("scenes"))
    tower = small_tower(data.captions)
    captions = [int(own[0]) for own in data.captions_of_image]
    made = synthetic_negatives(data, captions, run=tower, keep=4, maskings=3, samples=3, truth=False).all()
    return data, tower, made, word_study(tower, data, made)


def shortest_kind(data, caption: int, first: int, last: int) -> str:
    """The kind of the shortest phrase whose words the characters touch, by going through all phrases."""
    graph = data.world.graphs[caption]
    letters = token_characters(data.captions[caption], graph.tokens)
    token = next(number for number, (start, end) in enumerate(letters) if first < end and last > start)
    around = [one for one in phrases(graph) if one.span.start <= token < one.span.end]
    return min(around, key=lambda one: one.span.end - one.span.start).kind if around else "other"


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_accuracies_are_those_of_counting_by_hand(scenes, kind):
    data, tower, made, study = scenes
    counts = {name: [0, 0] for name in ("discriminated", "found", "corrected", "restored")}
    assert len(study.negatives) + study.left_out == len(made) and len(study.negatives) > 12
    for negative in study.negatives:
        now, was = (
            tower.tokenizer.backend_tokenizer.encode(text)
            for text in (negative.sentence, data.captions[negative.caption])
        )
        with torch.no_grad():
            said = tower(
                torch.tensor([now.ids]),
                torch.ones(1, len(now.ids)),
                heads=("wod", "woc"),
                **tower.prepare_images([data.images[negative.image]]),
            )
        said.woc[..., tower.tokenizer.all_special_ids] = -torch.inf
        for at, (one, other) in enumerate(zip(now.ids, was.ids, strict=True)):
            if one in (tower.tokenizer.cls_token_id, tower.tokenizer.sep_token_id):
                continue
            if kind not in (None, shortest_kind(data, negative.caption, *was.offsets[at])):
                continue
            kept = bool(said.wod[0, at, 1] >= said.wod[0, at, 0])
            right = kept == (one == other), int(said.woc[0, at].argmax()) == other
            for name, value in zip(("discriminated", "corrected"), right, strict=True):
                counts[name][0] += value
                counts[name][1] += 1
            if one != other:
                for name, value in zip(("found", "restored"), right, strict=True):
                    counts[name][0] += value
                    counts[name][1] += 1
    found, written = study.discrimination(kind), study.correction(kind)
    for name, share in zip(counts, (found.all, found.replaced, written.all, written.replaced), strict=True):
        assert [share.count, share.of] == counts[name]


def test_another_threshold_finds_more_or_fewer(scenes):
    study = scenes[-1]
    said = [study.discrimination(threshold=threshold).replaced.count for threshold in (0.0, 0.5, 1.1)]
    assert said[0] == 0 and said == sorted(said) and said[2] == int(study.replaced.sum())


def test_places_are_where_the_changes_are(scenes):
    study = scenes[-1]
    assert not (study.replaced & (study.place < 0)).any()
    for row, negative in enumerate(study.negatives):
        assert int(study.place[row].max()) == len(negative.spans) - 1
