"""The explorer of masking, with a parser that knows a few words."""

import pytest

from itmlab.errors import ItmlabError
from itmlab.scenes import load
from itmlab.studies.kit.theme import title_and_subtitle
from itmlab.studies.tags.explorers import explore_masking, explore_synthetic, explore_words
from itmlab.studies.tags.negatives import synthetic_negatives
from itmlab.text.graph import SceneGraph, SceneObject, Span, tokenise
from tests.studies.colour_tower import ColourTower, judging_set
from tests.studies.small_tower import small_tower

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
    made = explore_masking("a man and a dog play with a ball", parse=parse)
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
    again = explore_masking("a man and a dog play with a ball", parse=parse)
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


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=5, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def tower(data):
    return small_tower(data.captions)


@pytest.fixture
def explorer_synthetic(data, tower):
    made = explore_synthetic(tower, data, picture=1, rows=4, drawn=6)
    made.widget()
    return made


def controls_synthetic(explorer_synthetic):
    return {control.description: control for control in explorer_synthetic.controls}


def words_synthetic(figure):
    return [note.text for note in figure.layout.annotations]


def test_it_shows_the_hardest_negatives_of_the_caption(explorer_synthetic, data, tower):
    chosen = int(data.captions_of_image[1][0])
    made = synthetic_negatives(data, [chosen], "tags", run=tower, keep=4, fluent="scenes")
    (figure,) = explorer_synthetic.shown
    assert f"Negatives of caption {data.caption_ids[chosen]}" in figure.layout.title.text
    assert {f"<b>{score:.3f}</b>" for score in made.scores[1].tolist()} <= set(words_synthetic(figure))
    assert (
        sum(text in ("<b>✗ false</b>", "<b>✓ true</b>", "<b>? undecided</b>") for text in words_synthetic(figure)) == 4
    )


@pytest.mark.parametrize("way", ["wm", "vse_c", "in_batch", "whole_set"])
def test_every_generator_can_be_chosen(explorer_synthetic, way):
    before = words_synthetic(explorer_synthetic.shown[0])
    controls_synthetic(explorer_synthetic)["generator"].value = way
    assert words_synthetic(explorer_synthetic.shown[0]) != before
    assert f"{way}: the 4 hardest" in explorer_synthetic.shown[0].layout.title.text


def test_fewer_maskings_another_temperature_and_another_seed_are_seen(explorer_synthetic):
    made = controls_synthetic(explorer_synthetic)
    for name, value in (("K maskings", 1), ("L fillings", 3), ("τ", 3.0), ("seed", 7)):
        before = words_synthetic(explorer_synthetic.shown[0])
        made[name].value = value
        assert words_synthetic(explorer_synthetic.shown[0]) != before, name


def test_each_filter_lets_more_through_than_the_one_before(data, tower):
    explorer = explore_synthetic(tower, data, generator="wm", rows=1000, fluent=None)
    found = []
    for name in ("with implied words", "the paper's", "none"):
        controls_synthetic(explorer)["filter"].value = name
        found.append({text for text in words_synthetic(explorer.figures()[0]) if "<u>" in text})
    assert found[0] <= found[1] <= found[2] and len(found[0]) < len(found[2])


def test_another_picture_and_another_caption(explorer_synthetic, data):
    made = controls_synthetic(explorer_synthetic)
    made["picture"].value = 3
    made["caption"].value = 2
    chosen = int(data.captions_of_image[3][2])
    assert data.caption_ids[chosen] in explorer_synthetic.shown[0].layout.title.text


def test_a_model_that_cannot_refill_is_told_in_one_line(data):
    explorer = explore_synthetic(object(), data)
    (figure,) = explorer.figures()
    assert "Nothing to show" in figure.layout.title.text


@pytest.fixture(scope="module")
def data_words():
    return judging_set()


@pytest.fixture
def explorer_words(data_words):
    made = explore_words({"tower": ColourTower(data_words.captions)}, data_words)
    made.widget()
    return made


def controls_words(explorer_words):
    return {control.description: control for control in explorer_words.controls}


def said(explorer_words) -> list[str]:
    return [annotation.text for annotation in explorer_words.shown[0].layout.annotations]


def test_it_begins_with_a_caption_of_the_picture_and_nothing_to_correct(explorer_words):
    assert controls_words(explorer_words)["sentence"].value == "A red square."
    assert (
        said(explorer_words).count("red") == 2
        and "95" not in said(explorer_words)
        and "<b>✓ true</b>" in said(explorer_words)
    )


def test_a_wrong_word_typed_is_seen_and_corrected(explorer_words):
    controls_words(explorer_words)["sentence"].value = "A blue square."
    found = said(explorer_words)
    assert found.count("blue") == 1 and found.count("red") == 1 and "95" in found and "<b>✗ false</b>" in found
    controls_words(explorer_words)["rewrite from"].value = 1.0
    assert said(explorer_words).count("blue") == 2


def test_another_picture_brings_its_captions(explorer_words):
    controls_words(explorer_words)["picture"].value = 2
    assert controls_words(explorer_words)["sentence"].value == "A green square."
    controls_words(explorer_words)["begin with"].value = 5
    assert controls_words(explorer_words)["sentence"].value == "there is a square that is green"
    assert said(explorer_words).count("green") == 2 and "image 2" in explorer_words.shown[0].layout.title.text


def test_it_can_begin_with_a_sentence(data_words):
    made = explore_words({"tower": ColourTower(data_words.captions)}, data_words, picture=3, sentence="A red square.")
    assert controls_words(made)["picture"].value == 3 and controls_words(made)["sentence"].value == "A red square."


@pytest.mark.parametrize("sentence", ["", "   ", "\n"])
def test_nothing_typed_is_one_line(explorer_words, sentence):
    controls_words(explorer_words)["sentence"].value = sentence
    title, subtitle = title_and_subtitle(explorer_words.shown[0])
    assert title == "Nothing to show" and "has no words" in subtitle
    assert not explorer_words.shown[0].layout.images


@pytest.mark.parametrize(
    "sentence", ["<img src=x onerror=alert(1)> $x$", "dog \ud800 \u0000", "🐕" * 50, "square " * 2000]
)
@pytest.mark.filterwarnings("ignore:captions")
def test_whatever_is_typed_is_shown_letter_for_letter_or_cut_words(explorer_words, sentence):
    controls_words(explorer_words)["sentence"].value = sentence
    assert explorer_words.shown[0].layout.height < 1200 and len(said(explorer_words)) < 500
    assert not any("<img" in text or "$" in text for text in said(explorer_words))
