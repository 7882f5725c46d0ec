"""Which words do not fit and what is written there: known answers, and the heads of a tower asked directly."""

import math
from types import SimpleNamespace

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.explain import corrections, words
from itmlab.explain.one_towers import one_tower_of, word_answers
from itmlab.explain.words import explained
from itmlab.models import OneTower, TwoTower
from itmlab.training import Run
from tests.models.one_towers import build, records

from .colour_tower import SURE, ColourTower, judging_set
from .small_tower import small_tower
from .small_world import small_set

SENTENCES = ["A red square.", "there is a square that is blue", "square", "A green and white square, a red one."]


@pytest.fixture(scope="module")
def data():
    return judging_set()


@pytest.fixture(scope="module")
def tower(data) -> ColourTower:
    return ColourTower([*data.captions, "<b>A</b> & — Red and Green"])


@pytest.fixture(scope="module")
def learnt_nothing() -> OneTower:
    return small_tower([*small_set().captions, "unfootballed grey horses"])


def test_a_wrong_colour_does_not_fit_and_is_rewritten_to_the_right_one(data, tower):
    red, blue = words(tower, data.images[0], SENTENCES[:2], name="tower")  # picture 0 shows a red square
    assert [word.text for word in red.words] == ["A", "red", "square", "."]
    assert [word.mismatch for word in red.words] == pytest.approx([SURE[False]] * 4)
    assert not any(word.rewritten for word in red.words) and red.corrected() == red.sentence
    assert [word.correction for word in blue.words if word.mismatch > 0.5] == ["red"]
    assert blue.corrected() == "there is a square that is red"
    assert red.scores == {"tower": pytest.approx(1 / (1 + math.exp(-2)))}
    assert blue.scores == {"tower": pytest.approx(1 / (1 + math.exp(3)))}


def test_sentences_of_a_set_are_corrected_on_their_own_images(data, tower):
    made = corrections(tower, data, [1, 0, 1], ["A red square.", "A red square.", "Red & WHITE square"])
    assert made == ["A blue square.", "A red square.", "Blue & Blue square"]
    run = SimpleNamespace(model=tower)
    assert corrections(run, data, [1], ["Red square"], above=0.96) == ["Red square"]


def test_letters_positions_and_capitals_are_the_sentences(tower, data):
    sentence = "  A <b>RED</b>  squäre — and GREEN"
    (found,) = words(tower, data.images[3], [sentence])
    assert all(sentence[word.start : word.end] == word.text for word in found.words)
    assert found.corrected() == "  A <b>White</b>  squäre — and White"


def test_answers_are_the_heads_of_the_tower_asked_for_one_sentence_at_a_time(learnt_nothing):
    model, data = learnt_nothing, small_set()
    rows = [2, 0, 2, 1]
    answers = word_answers(model, data.images, SENTENCES, rows)
    for row, (sentence, image) in enumerate(zip(SENTENCES, rows, strict=True)):
        tokens = model.prepare_captions([sentence])
        with torch.no_grad():
            said = model(
                tokens["input_ids"],
                tokens["attention_mask"],
                heads=("itm", "wod", "woc"),
                **model.prepare_images([data.images[image]]),
            )
        length = tokens["input_ids"].shape[1]
        assert answers.match[row] == pytest.approx(said.itm.item(), abs=1e-4)
        assert torch.allclose(answers.mismatch[row, :length], said.wod[0].softmax(dim=1)[:, 0], atol=1e-4)
        for at in range(length):
            best = max(
                (number for number in range(len(model.tokenizer)) if number not in model.tokenizer.all_special_ids),
                key=lambda number: said.woc[0, at, number].item(),
            )
            assert answers.written[row, at] == best
        assert answers.word_mask[row].sum() == length - 2


def test_a_word_of_several_pieces_has_the_largest_mismatch_of_them(learnt_nothing):
    model, data = learnt_nothing, small_set()
    sentence = "a horseless redsquare"
    (found,) = words(model, data.images[0], [sentence])
    answers = word_answers(model, [data.images[0]], [sentence])
    encoding = model.tokenizer.backend_tokenizer.encode(sentence)
    assert len(found.words) == 3 and len(encoding.ids) > 2 + 2 * 3
    for number, word in enumerate(found.words):
        own = [answers.mismatch[0, at].item() for at, of in enumerate(encoding.word_ids) if of == number]
        assert word.mismatch == pytest.approx(max(own))


def test_a_sentence_longer_than_the_model_reads_keeps_its_end(learnt_nothing):
    long = "square " * 60
    with pytest.warns(UserWarning, match="cut to 30 tokens"):
        (found,) = words(learnt_nothing, small_set().images[0], [long])
    assert len(found.words) == 28 and found.corrected().endswith(" square" * 32 + " ")


def test_evaluation_mode_is_used_and_left_as_it_was(learnt_nothing):
    learnt_nothing.train()
    words(learnt_nothing, small_set().images[0], ["a square"])
    assert learnt_nothing.training
    learnt_nothing.eval()


def test_a_run_explains_a_sentence_on_a_picture_or_its_file(data, tower, tmp_path):
    run = SimpleNamespace(model=tower, recipe=SimpleNamespace(name="tags_dc"))
    data.images[1].save(tmp_path / "blue.png")
    for picture in (data.images[1], tmp_path / "blue.png"):
        found = Run.words(run, picture, "a green square")
        assert found.corrected() == "a blue square" and list(found.scores) == ["tags_dc"]


def test_a_model_of_regions_explains_records_of_regions():
    model = build("uniter", "regions")
    found = explained(model, records([3, 5]), ["a dog", "a cat runs", "a man"], [1, 0, 1])
    alone = explained(model, records([3, 5])[1:], ["a man"], [0])
    together, apart = ([word.mismatch for word in one.words] for one in (found[2], alone[0]))
    assert together == pytest.approx(apart, abs=1e-5)
    with pytest.raises(ItmlabError, match="looks at regions, not at pictures"):
        words(model, small_set().images[0], ["a dog"])


def test_what_cannot_be_explained_is_one_line(data, tower, tiny):
    assert isinstance(tiny, TwoTower)
    with pytest.raises(ItmlabError, match="TwoTower has no heads"):
        one_tower_of(SimpleNamespace(model=tiny))
    with pytest.raises(ItmlabError, match="sentence 1 has no words"):
        words(tower, data.images[0], ["a", " \n"])
    with pytest.raises(ItmlabError, match="2 sentences on 1 images"):
        word_answers(tower, data.images[:1], ["a", "b"])
    with pytest.raises(ItmlabError, match="0 sentences on 1 images"):
        words(tower, data.images[0], [])
