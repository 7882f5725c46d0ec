"""The explorer of masking, with a parser that knows a few words."""

import pytest

from itmlab.errors import ItmlabError
from itmlab.text.graph import SceneGraph, SceneObject, Span, tokenise
from itmlab.widgets import masking

NOUNS = {"dog", "man", "ball"}


def parse(captions):
    """Every known noun is an object."""
    if "fault" in captions[0]:
        raise ItmlabError("this <caption> cannot be parsed", remedy="write another")
    tokens = tokenise(captions[0])
    places = [at for at, token in enumerate(tokens) if token in NOUNS]
    return [SceneGraph(tuple(SceneObject(tokens[at], span=Span(at, at + 1)) for at in places), (), tokens)]


@pytest.fixture
def explorer():
    made = masking("a man and a dog play with a ball", parse=parse)
    made.widget()
    return made


def controls(explorer):
    return {control.description: control for control in explorer.controls}


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def test_it_shows_the_graph_the_phrases_and_three_draws_of_each_masking(explorer):
    graph, hidden = explorer.shown
    assert [text for text in words(graph) if text.startswith("<b>")] == ["<b>man</b>", "<b>dog</b>", "<b>ball</b>"]
    names = [text for text in words(hidden) if " masking, draw " in text]
    assert [name.split(",")[0] for name in names] == ["phrase masking"] * 3 + ["word masking"] * 3


def test_another_caption_another_seed_and_another_probability_are_seen(explorer):
    made = controls(explorer)
    before = words(explorer.shown[1])
    made["seed"].value = 5
    assert words(explorer.shown[1]) != before
    made["probability"].value = 1.0
    assert words(explorer.shown[1]).count("dog") == 1  # in the caption; hidden in every draw
    made["caption"].value = "a dog"
    assert "<b>man</b>" not in words(explorer.shown[0])


def test_the_same_seed_draws_the_same(explorer):
    again = masking("a man and a dog play with a ball", parse=parse)
    assert [words(figure) for figure in again.figures()] == [words(figure) for figure in explorer.shown]


def test_a_caption_that_cannot_be_parsed_is_one_line(explorer):
    controls(explorer)["caption"].value = "a fault"
    assert ">this &lt;caption&gt; cannot be parsed — write another" in explorer.shown[0].layout.title.text
    assert not explorer.shown[0].layout.annotations and not explorer.shown[0].layout.shapes


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
def test_whatever_is_typed_is_shown_letter_for_letter_or_cut(explorer, caption):
    controls(explorer)["caption"].value = caption
    for figure in explorer.shown:
        assert figure.layout.height < 4_000 and len(figure.layout.annotations) < 2_000
        assert not any("<img" in text or "$" in text for text in words(figure))


def test_nothing_typed_leaves_nothing_of_before(explorer):
    controls(explorer)["caption"].value = ""
    assert not explorer.shown[0].layout.shapes and "dog" not in words(explorer.shown[1])
