"""Words explained: a corrected sentence keeps all but the words that are rewritten, and says what the heads say."""

from types import SimpleNamespace

import pytest
import torch
from workshop.analysis.negatives import cross_encoder_of
from workshop.analysis.rankings import retrievals
from workshop.analysis.scoring import matching
from workshop.analysis.words import (
    ExplainedSentence,
    Word,
    explain_words,
    word_answers,
    word_example,
)

from itmlab.models import CrossEncoder, DualEncoder, LateInteractionConfig, build_model
from itmlab.scenes import load
from itmlab.train.scores import similarity
from tests.refusals import refused
from tests.workshop.colour_cross_encoder import SURE, ColourCrossEncoder, judging_set
from tests.workshop.small_cross_encoder import small_cross_encoder
from tests.workshop.small_world import small_set


def rewritten(sentence: str, **corrections: str) -> ExplainedSentence:
    """Words at blanks and before a final point; `word="correction"` rewrites a word with mismatch 0.75."""
    words, at = [], 0
    for text in sentence.replace(".", " .").split():
        start = sentence.index(text, at)
        at = start + len(text)
        new = corrections.get(text, text)
        words.append(Word(text, start, at, 0.75 if new != text else 0.1, new.removeprefix("##"), new.startswith("##")))
    return ExplainedSentence(sentence, tuple(words))


LETTERS = " A dog,  two\ncats\tand <b>one</b>. "


@pytest.mark.parametrize(
    ("sentence", "corrections", "above", "corrected"),
    [
        (LETTERS, {}, 0.5, LETTERS),
        ("A dog  on a sofa.", {"dog": "cat", "sofa": "chair"}, 0.5, "A cat  on a chair."),
        ("A dog on a sofa.", {"dog": "cat"}, 0.75, "A cat on a sofa."),
        ("A dog on a sofa.", {"dog": "cat"}, 0.76, "A dog on a sofa."),  # not enough mismatch
        ("a foot ball.", {"ball": "##path"}, 0.5, "a footpath."),  # goes on with the word before, if there is one
        ("ball games", {"ball": "##path"}, 0.5, "path games"),
        ("a dog.", {".": "and"}, 0.5, "a dog and"),  # two words do not run into one
        ("a dog.", {"dog": "cat"}, 0.5, "a cat."),
    ],
)
def test_corrected_words_stand_where_the_words_stood(sentence, corrections, above, corrected):
    result = rewritten(sentence, **corrections)
    assert result.corrected(above) == corrected
    new = [word.removeprefix("##") for word in corrections.values()] if above < 0.76 else []
    assert [part.text for part in result.parts(above) if part.rewritten] == new


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=20, cache=tmp_path_factory.mktemp("scenes"), regions=True).select(range(6))


@pytest.mark.parametrize("kind", ["vsrn", "scan_t2i", "sgraf"])
def test_a_typed_sentence_and_single_pairs_score_as_the_whole_matrix(kind, data):
    sizes = {"dimension": 12, "word_dimension": 10, "similarity_dimension": 8}
    model = build_model(LateInteractionConfig.tiny(kind, **sizes), data.captions, seed=0).eval()
    result, scores = retrievals({"one": model}, data, by=("CIDEr",)), similarity(model, data)
    assert torch.allclose(result.similarity["one"], scores)
    typed, own_values = result.of_sentence("one", data.captions[3], k=6), result.of_caption("one", 3, k=6)
    assert typed.index.tolist() == own_values.index.tolist()
    images, captions = [4, 0, 4, 2, 0], [7, 7, 1, 29, 0]
    asked = matching(model, data)(images, [data.captions[caption] for caption in captions])
    assert torch.allclose(asked, scores[images, captions], atol=1e-5)
    assert matching(model, data)([], []).shape == (0,)


@pytest.fixture(scope="module")
def squares():
    return judging_set()


@pytest.fixture(scope="module")
def model(squares) -> ColourCrossEncoder:
    return ColourCrossEncoder([*squares.captions, "big ones", "<b>A</b> & — Red and Green"])


def test_a_sentence_made_wrong_stands_between_its_caption_and_its_correction(squares, model, tiny):
    example = word_example(
        {"tiny": tiny, "cross-encoder": model}, squares, 0, "A white square.", caption="A red square."
    )
    names, truth_labels = [row.name for row in example.rows], [row.truth_label for row in example.rows]
    assert names == ["caption", "made wrong", "corrected"] and truth_labels == [1, 0, 1]
    texts = ["".join(part.text for part in row.parts) for row in example.rows]
    assert texts == ["A red square.", "A white square.", "A red square."]
    mismatch = [part.mismatch for part in example.rows[1].parts if part.mismatch is not None]
    assert mismatch == pytest.approx([SURE[False], SURE[True], SURE[False], SURE[False]])
    assert [part.text for part in example.rows[2].parts if part.rewritten] == ["red"]
    right, wrong, better = (row.scores["cross-encoder"] for row in example.rows)
    assert wrong < 0.1 < 0.8 < right == better
    cosine = matching(tiny, squares)([0], ["A white square."]).item()
    assert example.rows[1].scores["tiny"] == pytest.approx(cosine, abs=1e-5)
    assert list(example.rows[0].scores) == ["tiny", "cross-encoder"] and example.picture.size == (48, 48)


SENTENCES = ["A red square.", "there is a square that is blue", "square", "A green and white square, a red one."]


@pytest.fixture(scope="module")
def learnt_nothing() -> CrossEncoder:
    return small_cross_encoder([*small_set().captions, "unfootballed grey horses"])


def test_answers_are_the_heads_of_the_cross_encoder_asked_for_one_sentence_at_a_time(learnt_nothing):
    model, data = learnt_nothing, small_set()
    rows = [2, 0, 2, 1]
    answers = word_answers(model, data.images, SENTENCES, rows)
    for row, (sentence, image) in enumerate(zip(SENTENCES, rows, strict=True)):
        tokens = model.prepare_captions([sentence])
        with torch.no_grad():
            answer = model(
                tokens["input_ids"],
                tokens["attention_mask"],
                model.embed_regions(**model.prepare_images([data.images[image]])),
                heads=("wod", "woc"),
            )
        length = tokens["input_ids"].shape[1]
        assert torch.allclose(answers.mismatch[row, :length], answer.wod[0].softmax(dim=1)[:, 0], atol=1e-4)
        for at in range(length):
            best = max(
                (number for number in range(len(model.tokenizer)) if number not in model.tokenizer.all_special_ids),
                key=lambda number: answer.woc[0, at, number].item(),
            )
            assert answers.written[row, at] == best
        assert answers.word_mask[row].sum() == length - 2


def test_what_cannot_be_explained_is_one_line(squares, model, tiny):
    assert isinstance(tiny, DualEncoder)
    refused("cross-encoder, got DualEncoder", cross_encoder_of, SimpleNamespace(model=tiny))
    refused("sentence 1 has no words", explain_words, model, squares.images[0], ["a", " \n"])
    refused("no caption", explain_words, model, squares.images[0], [])
