"""Changes of a sentence are found to the letter, and each can be put back by itself."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.scenes import load
from itmlab.studies.tags.negatives import synthetic_negatives
from itmlab.studies.tags.word_accuracy import (
    KINDS,
    SENTENCES,
    WORDS,
    changed_places,
    put_back,
    with_only,
    word_study,
    word_truth,
)
from itmlab.studies.tags.words import corrections
from itmlab.synthesis import Negative
from itmlab.synthesis.negative import Change, edited
from itmlab.text import Span, phrases
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise
from tests.studies.colour_tower import NAMES, ColourTower, judging_set
from tests.studies.small_tower import small_tower

CAPTION = "A red dog, next to two cats, sleeps."


def made(caption: str, changes: list[tuple[int, int, str]]) -> Negative:
    tokens = tokenise(caption)
    new = [Change(Span(start, end), words, "word") for start, end, words in changes]
    return edited(caption, tokens, token_characters(caption, tokens), new)


def test_places_are_the_letters_of_the_new_words():
    negative = made(CAPTION, [(0, 2, "the small blue"), (6, 7, "a")])
    places = changed_places(negative, CAPTION)
    assert [negative.sentence[start:end] for start, end in places] == ["The small blue", "a"]
    assert with_only(negative, places, 0) == "The small blue dog, next to two cats, sleeps."
    assert with_only(negative, places, 1) == "A red dog, next to a cats, sleeps."
    assert put_back(negative, places, []) == negative.sentence


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_change_alone_is_the_edit_with_that_change_alone(data):
    caption = " ".join(data.draw(st.lists(st.sampled_from(["A", "dog", "cat", "two", "T-shirt", ","]), min_size=2)))
    count = len(tokenise(caption))
    cuts = sorted(data.draw(st.sets(st.integers(0, count), min_size=2, max_size=6)))
    words = st.sampled_from(["cow", "big cow", "an", "dog"])
    changes = [(start, end, data.draw(words)) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    negative = made(caption, changes)
    places = changed_places(negative, caption)
    assert len(places) == len(changes)
    for number, change in enumerate(changes):
        assert with_only(negative, places, number) == made(caption, [change]).sentence
    assert put_back(negative, places, range(len(places))) == caption


@pytest.mark.parametrize(
    "negative",
    [
        pytest.param(Negative("a cat on a mat"), id="retrieved"),
        pytest.param(Negative("A cat.", spans=(Span(1, 2),), source=("dog",), replacement=("cow",)), id="other words"),
        pytest.param(Negative("A cat.", spans=(Span(7, 8),), source=("dog",), replacement=("cat",)), id="outside"),
        pytest.param(Negative("A cat.", spans=(Span(1, 2),), source=("cow",), replacement=("cat",)), id="other"),
        pytest.param(Negative("A cat.", spans=(Span(1, 1),), source=("dog",), replacement=("cat",)), id="no words"),
    ],
)
def test_what_was_not_made_of_the_caption_word_by_word_has_no_places(negative):
    assert changed_places(negative, "A dog.") is None


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


def test_of_squares_every_new_colour_is_false_and_every_correction_true():
    data = judging_set()
    tower = ColourTower(data.captions)
    wrong = [recoloured(data, caption, "blue" if caption % 8 < 2 else "red") for caption in (0, 1, 2, 3, 5)]
    study = word_study(tower, data, wrong)
    found = word_truth(tower, data, study)
    assert tuple(found.mismatched) == WORDS and tuple(found.sentences) == SENTENCES
    assert (found.mismatched["replaced, false"].count, found.mismatched["replaced, false"].of) == (5, 5)
    assert found.mismatched["kept"].count == 0 and found.mismatched["replaced, true"].of == 0
    assert found.sentences == {
        "caption": {1: 5, 0: 0, -1: 0}, "made wrong": {1: 0, 0: 5, -1: 0}, "corrected": {1: 5, 0: 0, -1: 0}
    }  # fmt: skip
    assert found.restored.percent == 100 and found.true["all"].percent == found.true["attribute"].percent == 100
    assert word_truth(tower, data, study, threshold=0.01).mismatched["replaced, false"].count == 0
    assert word_truth(tower, data, study, above=1.01).sentences["corrected"] == found.sentences["made wrong"]


def test_of_scenes_the_verdicts_are_those_of_asking_one_by_one(tmp_path):
    data = load(images=6, cache=tmp_path)
    tower = small_tower(data.captions)
    captions = [int(own[0]) for own in data.captions_of_image]
    made = synthetic_negatives(data, captions, run=tower, keep=3, maskings=3, samples=3, truth=False).all()
    study = word_study(tower, data, made)
    found = word_truth(tower, data, study)
    code = {True: 1, False: 0, None: -1}
    sentences = {"made wrong": [one.sentence for one in study.negatives]}
    sentences["corrected"] = corrections(tower, data, study.images.tolist(), sentences["made wrong"])
    for stage, texts in sentences.items():
        verdicts = [code[data.world.entails(one.image, text)] for one, text in zip(study.negatives, texts, strict=True)]
        assert found.sentences[stage] == {verdict: verdicts.count(verdict) for verdict in (1, 0, -1)}
    decided = len(study.negatives) - found.sentences["corrected"][-1]
    assert (found.true["all"].count, found.true["all"].of) == (found.sentences["corrected"][1], decided)
    assert sum(share.of for share in found.mismatched.values()) == int(study.counted.sum())
    assert found.mismatched["kept"].of == int((study.counted & ~study.replaced).sum())


def test_a_word_is_judged_by_the_caption_with_that_word_alone(tmp_path):
    data = load(images=6, cache=tmp_path)
    tower = small_tower(data.captions)
    captions = [int(own[0]) for own in data.captions_of_image]
    made = synthetic_negatives(data, captions, run=tower, keep=None, maskings=4, samples=3, truth=False).all()
    single, double = ([one for one in made if len(one.spans) == changes] for changes in (1, 2))
    for some in (single, double):
        study = word_study(tower, data, some)
        expected = dict.fromkeys(WORDS[1:], 0)
        for row, negative in enumerate(study.negatives):
            for piece in study.replaced[row].nonzero().flatten().tolist():
                others = [one for one in range(len(negative.spans)) if one != int(study.place[row, piece])]
                sentence = negative.sentence
                for other in others:  # the other change said as the caption says it
                    words = list(tokenise(sentence))
                    span = negative.spans[other]
                    words[span.start : span.end] = [negative.source[other]]
                    sentence = " ".join(words)
                verdict = data.world.entails(negative.image, sentence)
                expected[{True: WORDS[1], None: WORDS[2], False: WORDS[3]}[verdict]] += 1
        found = word_truth(tower, data, study)
        assert {name: found.mismatched[name].of for name in expected} == expected and sum(expected.values()) > 10


def test_only_a_world_judges():
    data = judging_set()
    tower = ColourTower(data.captions)
    study = word_study(tower, data, [recoloured(data, 0, "blue")])
    data.world = None
    with pytest.raises(ItmlabError, match="only a world says which sentences are true"):
        word_truth(tower, data, study)
