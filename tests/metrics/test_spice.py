"""SPICE against its definition, written out pair by pair."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError, MissingPart
from itmlab.metrics.spice import Spice, spice_matrix
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject
from tests.metrics.wordnet_files import write_wordnet

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


def synonyms(one: str, other: str) -> bool:
    return one == other or any({one, other} <= words for words in TOGETHER)


def match(one: tuple, other: tuple, use: bool) -> bool:
    same = synonyms if use else str.__eq__
    return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))


def merged(graphs: list[SceneGraph], use: bool) -> list[set]:
    """The tuples of the graphs; those that match are put together until nothing changes."""
    groups = [{each} for each in sorted(set().union(*(graph.tuples() for graph in graphs)))]
    for _ in range(len(groups)):
        for i in range(len(groups)):
            for j in range(i):
                if any(match(a, b, use) for a in groups[i] for b in groups[j]):
                    groups[j] |= groups.pop(i)
                    break
            else:
                continue
            break
    return groups


def by_pair(caption: SceneGraph, references: list[SceneGraph], use: bool) -> float:
    said, held = merged([caption], use), merged(references, use)
    correct = sum(any(match(a, b, use) for own in held for a in one for b in own) for one in said)
    found = sum(any(match(a, b, use) for own in said for a in one for b in own) for one in held)
    if correct == 0:
        return 0.0
    precision, recall = correct / len(said), found / len(held)
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
@settings(max_examples=80, deadline=None)
@given(captions=st.lists(graphs(), min_size=1, max_size=5), data=st.data())
def test_it_is_the_definition_for_every_pair(use, captions, data):
    references = data.draw(st.lists(st.lists(graphs(), min_size=1, max_size=3), min_size=1, max_size=4))
    scores = spice_matrix(captions, references, synonyms="wordnet" if use else "none")
    expected = [[by_pair(caption, own, use) for own in references] for caption in captions]
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, torch.tensor(expected))


@settings(max_examples=60, deadline=None)
@given(captions=st.lists(graphs(), min_size=1, max_size=6))
def test_it_is_the_same_with_the_graphs_exchanged_and_one_with_itself(captions):
    scores = spice_matrix(captions, [[each] for each in captions])
    torch.testing.assert_close(scores, scores.T)
    assert torch.allclose(scores.diagonal(), torch.ones(len(captions)))
    assert 0 <= float(scores.min()) <= float(scores.max()) <= 1


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_left_out_it_is_compared_with_the_others_of_its_image(data):
    references = data.draw(st.lists(st.lists(graphs(), min_size=2, max_size=4), min_size=1, max_size=3))
    captions = [caption for own in references for caption in own]
    image = [index for index, own in enumerate(references) for _ in own]
    scores = spice_matrix(captions, references, image_of_caption=image, leave_one_out=True)
    whole = spice_matrix(captions, references)
    for caption, (graph, own) in enumerate(zip(captions, image, strict=True)):
        others = list(references[own])
        others.remove(graph)
        assert scores[caption, own] == pytest.approx(by_pair(graph, others, use=True))
        for index in set(range(len(references))) - {own}:
            assert scores[caption, index] == whole[caption, index]


def said(*facts: tuple[str, ...]) -> SceneGraph:
    """The graph whose tuples are these and their objects."""
    names = sorted({name for fact in facts for name in (fact[0], fact[-1] if len(fact) == 3 else fact[0])})
    attributes = {name: tuple(Attribute(f[1]) for f in facts if f[0] == name and len(f) == 2) for name in names}
    objects = tuple(SceneObject(name, attributes[name]) for name in names)
    links = (Relation(names.index(f[0]), f[1], names.index(f[2])) for f in facts if len(f) == 3)
    return SceneGraph(objects, tuple(links))


def test_by_hand():
    caption = said(("man", "ride", "bike"), ("bike", "red"))  # man, bike, red bike, man rides bike
    image = [said(("guy", "drive", "motorcycle")), said(("man", "ride", "bike")), said(("tree",))]
    # without synonyms the image holds man, guy, bike, motorcycle, tree and two relations; three tuples match
    assert spice_matrix([caption], [image], synonyms="none").item() == pytest.approx(2 * 3 / (4 + 7))
    # with them man and guy are one, bike and motorcycle too, the relations too: man, bike, tree, rides
    assert spice_matrix([caption], [image], synonyms="wordnet").item() == pytest.approx(2 * 3 / (4 + 4))


def test_what_was_used_for_synonyms_is_told(monkeypatch):
    assert Spice([[said(("man",))]]).synonyms == "wordnet 3.0"
    assert Spice([[said(("man",))]], synonyms="none").synonyms == "none"
    monkeypatch.setattr("itmlab.metrics.wordnet.wordnet_places", lambda: iter(()))
    assert Spice([[said(("man",))]]).synonyms == "none"
    with pytest.raises(MissingPart, match="wordnet"):
        Spice([[said(("man",))]], synonyms="wordnet")


def test_read_once_it_scores_one_caption_after_another():
    fitted = Spice([[said(("man",))], [said(("sofa", "big"))]])
    first, second = fitted.matrix([said(("guy",))]), fitted.matrix([said(("couch",)), said(("tree",))])
    assert first.tolist() == [[1, 0]]
    assert second.tolist() == [[0, pytest.approx(2 / 3)], [0, 0]]
    assert fitted.matrix([]).shape == (0, 2)
    assert torch.equal(fitted.matrix(), torch.eye(2))


def test_a_caption_of_no_image_is_left_out_nowhere():
    references = [[said(("man",)), said(("man", "big"))], [said(("tree",)), said(("tree",))]]
    captions = [references[0][0], said(("man",))]
    scores = spice_matrix(captions, references, image_of_caption=[0, -1], leave_one_out=True)
    assert scores[0].tolist() == scores[1].tolist() == [pytest.approx(2 / 3), 0]
    # not said, the captions are the references in their order; a sentence that two people wrote is left out once
    own = Spice(references).matrix(leave_one_out=True)
    assert own[:, 0].tolist() == pytest.approx([2 / 3, 2 / 3, 0, 0]) and own[2:, 1].tolist() == [1, 1]


def test_captions_without_tuples_score_zero_and_are_counted():
    empty, full = SceneGraph(), said(("man",))
    with pytest.warns(UserWarning, match="2 of 3 captions have no scene-graph tuples .* the first is number 0"):
        scores = spice_matrix([empty, full, empty], [[full]])
    assert scores.tolist() == [[0], [1], [0]]
    with pytest.warns(UserWarning, match="1 of 2 images have no scene-graph tuples"):
        scores = spice_matrix([full], [[full], [empty, empty]])
    assert scores.tolist() == [[1, 0]]
    with pytest.warns(UserWarning) as warned:
        scores = spice_matrix([empty, full], [[empty, full]], image_of_caption=[0, 0], leave_one_out=True)
    assert scores.tolist() == [[0], [0]] and len(warned) == 1


def test_what_cannot_be_answered_is_said():
    graph = said(("man",))
    with pytest.raises(ItmlabError, match="2 of 3 images have no references, the first is image 1"):
        spice_matrix([graph], [[graph], [], []])
    with pytest.raises(ItmlabError, match="a list of captions for each image"):
        spice_matrix([graph], ["a man", "a dog"])
    with pytest.raises(ItmlabError, match="a list of captions, not one"):
        spice_matrix("a man", [[graph]])
    with pytest.raises(ItmlabError, match="not a NoneType"):
        spice_matrix([None], [[graph]])
    with pytest.raises(ItmlabError, match="one of 1 images, or -1, for each of 2 captions"):
        spice_matrix([graph, graph], [[graph]], leave_one_out=True)
    with pytest.raises(ItmlabError, match="one of 1 images, or -1, for each of 1 captions"):
        spice_matrix([graph], [[graph]], image_of_caption=[1], leave_one_out=True)
    with pytest.raises(ItmlabError, match="caption 0 is the only reference of image 0: it cannot be left out"):
        spice_matrix([graph], [[graph]], image_of_caption=[0], leave_one_out=True)
    with pytest.raises(ItmlabError, match="caption 0 is not among the references of image 0"):
        spice_matrix([said(("dog",))], [[graph, graph]], image_of_caption=[0], leave_one_out=True)


def test_sentences_are_parsed(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    references = [["A man is riding a bike.", "a guy on a motorcycle"], ["A large red sofa"]]
    fitted = Spice(references, parser="english")
    scores = fitted.matrix(["A man riding a bike", "a big couch", said(("sofa", "large"))])
    assert scores[0, 0] > 0.6 and scores[0, 1] == 0
    assert scores[1, 1] == scores[2, 1] == pytest.approx(2 * 2 / (2 + 3)) and scores[1, 0] == 0
    left_out = fitted.matrix(leave_one_out=True, image_of_caption=[0, 0, -1])
    assert left_out[0, 0] < fitted.matrix()[0, 0] and left_out[2, 1] == 1
