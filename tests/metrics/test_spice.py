"""SPICE against its definition, written out pair by pair."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import MissingPart
from itmlab.metrics.spice import Spice, spice_matrix
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject
from tests.metrics.wordnet_files import write_wordnet
from tests.refusals import refused

SYNSETS = {
    # a chain: "cycle" and "bike" share a synset, "bike" and "motorcycle" another, "cycle" and "motorcycle" none
    "noun": [("bike", "cycle"), ("bike", "motorcycle"), ("man", "guy"), ("sofa", "couch")],
    "verb": [("ride", "drive")],
    "adj": [("big", "large")],
}
TOGETHER = [set(words) for part in SYNSETS.values() for words in part]
OBJECTS = ("bike", "cycle", "motorcycle", "man", "guy", "sofa", "tree")
ATTRIBUTES = ("big", "large", "red", "ride")
RELATIONS = ("ride", "drive", "on")


@pytest.fixture(autouse=True)
def small_wordnet(tmp_path_factory, monkeypatch) -> Path:
    folder = write_wordnet(tmp_path_factory.mktemp("wordnet"), SYNSETS)
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    return folder


def are_synonyms(word: str, other: str) -> bool:
    return word == other or any({word, other} <= words for words in TOGETHER)


def match(fact: tuple, other: tuple, use: bool) -> bool:
    same = are_synonyms if use else str.__eq__
    return len(fact) == len(other) and all(same(a, b) for a, b in zip(fact, other, strict=True))


def merged(graphs: list[SceneGraph], use: bool) -> list[set]:
    """The tuples of the graphs; those that match are put together until nothing changes."""
    groups = [{fact} for fact in sorted(set().union(*(graph.tuples() for graph in graphs)))]
    for _ in range(len(groups)):
        pairs = ((i, j) for i in range(len(groups)) for j in range(i))
        matches = ((i, j) for i, j in pairs if any(match(a, b, use) for a in groups[i] for b in groups[j]))
        if pair := next(matches, None):
            groups[pair[1]] |= groups.pop(pair[0])
    return groups


def by_pair(caption: SceneGraph, references: list[SceneGraph], use: bool) -> float:
    facts, others = merged([caption], use), merged(references, use)
    correct = sum(any(match(a, b, use) for other in others for a in fact for b in other) for fact in facts)
    matched = sum(any(match(a, b, use) for fact in facts for a in fact for b in other) for other in others)
    if correct == 0:
        return 0.0
    precision, recall = correct / len(facts), matched / len(others)
    return 2 * precision * recall / (precision + recall)


@st.composite
def graphs(draw):
    names = draw(st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=4))
    objects = tuple(
        SceneObject(name, tuple(map(Attribute, draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=2)))))
        for name in names
    )
    ends = st.integers(0, len(names) - 1)
    links = st.lists(st.tuples(ends, st.sampled_from(RELATIONS), ends), max_size=2)
    return SceneGraph(objects, tuple(Relation(*link) for link in draw(links)))


@pytest.mark.parametrize("use", [False, True])
@settings(max_examples=25, deadline=None)
@given(captions=st.lists(graphs(), min_size=1, max_size=5), data=st.data())
def test_it_is_the_definition_for_every_pair(use, captions, data):
    references = data.draw(st.lists(st.lists(graphs(), min_size=1, max_size=3), min_size=1, max_size=4))
    scores = spice_matrix(captions, references, synonyms="wordnet" if use else "none")
    expected = [[by_pair(caption, texts, use) for texts in references] for caption in captions]
    torch.testing.assert_close(scores, torch.tensor(expected))
    alone = spice_matrix(captions, [[caption] for caption in captions])
    torch.testing.assert_close(alone, alone.T)
    assert torch.allclose(alone.diagonal(), torch.ones(len(captions)))


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_left_out_it_is_compared_with_the_others_of_its_image(data):
    references = data.draw(st.lists(st.lists(graphs(), min_size=2, max_size=4), min_size=1, max_size=3))
    captions = [caption for texts in references for caption in texts]
    image = [index for index, texts in enumerate(references) for _ in texts]
    scores, usual = (Spice(references).matrix(leave_one_out=left_out) for left_out in (True, False))
    for caption, (graph, place) in enumerate(zip(captions, image, strict=True)):
        others = list(references[place])
        others.remove(graph)
        assert scores[caption, place] == pytest.approx(by_pair(graph, others, use=True))
        for index in set(range(len(references))) - {place}:
            assert scores[caption, index] == usual[caption, index]
    assert torch.equal(spice_matrix(captions, references), usual)


def graph_of(*facts: tuple[str, ...]) -> SceneGraph:
    """The graph whose tuples are these and their objects."""
    names = sorted({name for fact in facts for name in (fact[0], fact[-1] if len(fact) == 3 else fact[0])})
    attributes = {name: tuple(Attribute(f[1]) for f in facts if f[0] == name and len(f) == 2) for name in names}
    objects = tuple(SceneObject(name, attributes[name]) for name in names)
    links = (Relation(names.index(f[0]), f[1], names.index(f[2])) for f in facts if len(f) == 3)
    return SceneGraph(objects, tuple(links))


MAN = graph_of(("man",))


def test_by_hand():
    caption = graph_of(("man", "ride", "bike"), ("bike", "red"))  # man, bike, red bike, man rides bike
    image = [graph_of(("guy", "drive", "motorcycle")), graph_of(("man", "ride", "bike")), graph_of(("tree",))]
    # without synonyms the image holds man, guy, bike, motorcycle, tree and two relations; three tuples match
    assert spice_matrix([caption], [image], synonyms="none").item() == pytest.approx(2 * 3 / (4 + 7))
    # with them man and guy are one, bike and motorcycle too, the relations too: man, bike, tree, rides
    assert spice_matrix([caption], [image], synonyms="wordnet").item() == pytest.approx(2 * 3 / (4 + 4))


def test_it_knows_which_synonyms_it_used(monkeypatch):
    assert Spice([[MAN]]).synonyms == "wordnet 3.0" and Spice([[MAN]], synonyms="none").synonyms == "none"
    monkeypatch.setattr("itmlab.metrics.wordnet.wordnet_folder", lambda: None)
    assert Spice([[MAN]]).synonyms == "none"
    with pytest.raises(MissingPart, match="wordnet"):
        Spice([[MAN]], synonyms="wordnet")


def test_captions_without_tuples_score_zero_and_are_counted():
    with pytest.warns(UserWarning, match="2 of 3 captions have no scene-graph tuples .* the first is number 0"):
        scores = spice_matrix([SceneGraph(), MAN, SceneGraph()], [[MAN]])
    assert scores.tolist() == [[0], [1], [0]]
    with pytest.warns(UserWarning, match="1 of 2 images have no scene-graph tuples"):
        assert spice_matrix([MAN], [[MAN], [SceneGraph()] * 2]).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("captions", "references", "message"),
    [
        ([MAN], [[MAN], [], []], "image 1 has no references"),
        ([MAN], ["a man", "a dog"], "must be a list of captions"),
        ("a man", [[MAN]], "a list of captions, not one"),
        ([None], [[MAN]], "caption 0 is None"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:SPICE")
def test_input_that_cannot_be_scored_is_refused(captions, references, message):
    refused(message, spice_matrix, captions, references)
    refused("the only reference", Spice([[MAN]]).matrix, leave_one_out=True)


def test_sentences_are_parsed(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    fitted = Spice([["A man is riding a bike.", "a guy on a motorcycle"], ["A large red sofa"]])
    scores = fitted.matrix(["A man riding a bike", "a big couch", graph_of(("sofa", "large"))])
    assert scores[0, 0] > 0.6 and scores[0, 1] == 0
    assert scores[1, 1] == scores[2, 1] == pytest.approx(2 * 2 / (2 + 3)) and scores[1, 0] == 0
    assert fitted.matrix([]).shape == (0, 2)
