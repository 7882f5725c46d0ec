"""The explorers of TAGS-DC: of masking (with a parser that knows a few words), of negatives, of words."""

import pytest
from workshop.analysis.negatives import synthetic_negatives
from workshop.explore.negatives import explore_masking, explore_negatives, explore_words

from itmlab import text
from itmlab.errors import ItmlabError
from itmlab.scenes import load
from itmlab.text.graph import SceneGraph, SceneObject, Span, tokenise
from tests.workshop.colour_cross_encoder import ColourCrossEncoder, judging_set
from tests.workshop.reading import controls, opened, words
from tests.workshop.small_cross_encoder import small_cross_encoder

NOUNS = {"dog", "man", "ball"}


def parse(captions):
    """Every known noun is an object."""
    if "fault" in captions[0]:
        raise ItmlabError("this <caption> cannot be parsed", remedy="write another")
    tokens = tokenise(captions[0])
    places = [at for at, token in enumerate(tokens) if token in NOUNS]
    return [SceneGraph(tuple(SceneObject(tokens[at], span=Span(at, at + 1)) for at in places), (), tokens)]


@pytest.fixture
def of_masking(monkeypatch):
    monkeypatch.setattr(text, "parse", lambda captions, **_: parse(captions))
    return opened(explore_masking("a man and a dog play with a ball"))


def test_it_shows_the_graph_the_phrases_and_three_draws_of_each_masking(of_masking):
    graph, hidden = of_masking.shown
    assert [text for text in words(graph) if text.startswith("<b>")] == ["<b>man</b>", "<b>dog</b>", "<b>ball</b>"]
    names = [text for text in words(hidden) if " masking, draw " in text]
    assert [name.split(",")[0] for name in names] == ["phrase masking"] * 3 + ["word masking"] * 3


def test_another_caption_another_seed_and_another_probability_are_seen(of_masking):
    created = controls(of_masking)
    before = words(of_masking.shown[1])
    created["seed"].value = 5
    assert words(of_masking.shown[1]) != before
    created["probability"].value = 1.0
    assert " ".join(words(of_masking.shown[1])).count("dog") == 1  # in the caption; hidden in every draw
    created["caption"].value = "a dog"
    assert "<b>man</b>" not in words(of_masking.shown[0])


@pytest.mark.parametrize(
    "caption",
    [
        pytest.param("", id="empty"),
        pytest.param("!", id="sign"),
        pytest.param("<img src=x onerror=alert(1)> dog $x^2$", id="markup"),
        pytest.param("dog \ud800 \u0000", id="surrogate"),
        pytest.param("🐕" * 50, id="emoji"),
        pytest.param("dog " * 10_000, id="10,000 words"),
        pytest.param("w" * 9_000, id="endless word"),
    ],
)
def test_whatever_is_typed_is_shown_letter_for_letter_or_cut(of_masking, caption):
    controls(of_masking)["caption"].value = caption
    for figure in of_masking.shown:
        assert figure.layout.height < 4_000 and len(figure.layout.annotations) < 2_000
        assert not any("<img" in text or "$" in text for text in words(figure))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=5, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def model(data):
    return small_cross_encoder(data.captions)


@pytest.fixture
def of_negatives(data, model):
    return opened(explore_negatives(model, data, picture=1, rows=4))


def test_it_shows_the_hardest_negatives_of_the_caption(of_negatives, data, model):
    chosen = int(data.captions_of_image[1][0])
    created = synthetic_negatives(data, [chosen], "tags", run=model, fluent="scenes", keep=4)
    (figure,) = of_negatives.shown
    assert f"Negatives of caption {data.caption_ids[chosen]}" in figure.layout.title.text
    assert {f"{score:.3f}" for score in created.scores[1].tolist()} <= set(words(figure))
    assert sum(text in ("✗ false", "✓ true", "? undecided") for text in words(figure)) == 5  # the caption's, too


def test_each_filter_lets_more_through_than_the_one_before(data, model):
    explorer, result = explore_negatives(model, data, rows=1000), []
    controls(explorer)["generator"].value = "wm"
    for name in ("with implied words", "the paper's", "none"):
        controls(explorer)["filter"].value = name
        result.append({text for text in words(explorer.figures()[0]) if "<b>" in text and "<span" in text})
    assert result[0] <= result[1] <= result[2] and len(result[0]) < len(result[2])


@pytest.fixture(scope="module")
def squares():
    return judging_set()


@pytest.fixture
def of_words(squares):
    return opened(explore_words({"cross-encoder": ColourCrossEncoder(squares.captions)}, squares))


def test_a_wrong_word_typed_is_seen_and_corrected(of_words):
    controls(of_words)["sentence"].value = "A blue square."
    result = " ".join(words(of_words.shown[0]))
    assert result.count("blue") == 1 and result.count("red") == 1 and "blue (95)" in result and "✗ false" in result
    controls(of_words)["rewrite from"].value = 1.0
    assert " ".join(words(of_words.shown[0])).count("blue") == 2
