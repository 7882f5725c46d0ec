"""Maskings of a caption: whole phrases, single words, never nothing, and shares that are what they say."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject, Span, tokenise
from itmlab.text.masking import PhraseMasking, WordMasking, phrases, realised_share
from tests.refusals import refused

SENTENCE = "Two brown dogs next to a man , and a cat ."
GRAPH = SceneGraph(
    (
        SceneObject("dog", (Attribute("brown", Span(1, 2)),), 2, True, Span(2, 3)),
        SceneObject("man", (), span=Span(6, 7)),
        SceneObject("cat", (Attribute("unseen"),), span=Span(10, 11)),
    ),
    (Relation(0, "next to", 1, Span(3, 5)), Relation(0, "next to", 2, Span(3, 5))),
    tokenise(SENTENCE),
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@st.composite
def graphs(draw):
    """Sentences with phrases anywhere: nested, overlapping, over punctuation, or none at all."""
    tokens = tuple(draw(st.lists(st.sampled_from(["dog", "a", ".", "🐕", "x-ray", "!"]), max_size=9)))
    edges = st.tuples(st.integers(0, len(tokens)), st.integers(0, len(tokens))).map(sorted)
    spans = st.none() | edges.map(lambda pair: Span(*pair))
    attributes = st.lists(st.builds(Attribute, st.just("red"), spans), max_size=2).map(tuple)
    objects = tuple(draw(st.lists(st.builds(SceneObject, st.just("dog"), attributes, span=spans), max_size=4)))
    links = [Relation(0, "on", 0, draw(spans))] if objects and draw(st.booleans()) else []
    return SceneGraph(objects, tuple(links), tokens)


def test_phrases_are_objects_attributes_and_relations_in_the_order_of_the_sentence():
    assert [(phrase.kind, GRAPH.text(phrase.span)) for phrase in phrases(GRAPH)] == [
        ("attribute", "brown"),
        ("object", "dogs"),
        ("relation", "next to"),  # once, though two relations share it
        ("object", "man"),
        ("object", "cat"),
    ]


@pytest.mark.parametrize("span", [Span(1, 3), Span(-1, 1), Span(2, 1)])
def test_a_phrase_outside_the_sentence_is_one_clear_error(span):
    refused("between 0 and 1", WordMasking, 1.5)
    refused("outside a sentence of 2", phrases, SceneGraph((SceneObject("dog", span=span),), tokens=("a", "dog")))


def test_word_masking_hides_words_and_never_punctuation():
    every = WordMasking(1.0)(GRAPH, generator=seeded())
    assert [GRAPH.text(phrase.span) for phrase in every] == [token for token in GRAPH.tokens if token not in ",."]
    assert realised_share(GRAPH, every) == 1.0


@settings(max_examples=150, deadline=None)
@given(graphs(), st.sampled_from([0.0, 0.15, 0.9]), st.integers(0, 99))
def test_something_is_always_masked_and_only_what_may_be(graph, probability, seed):
    for masking in (PhraseMasking(probability), WordMasking(probability)):
        masked = masking(graph, generator=seeded(seed))
        assert bool(masked) == bool(graph.tokens)
        assert set(masked) <= set(masking.candidates(graph))
        assert 0 < realised_share(graph, masked) <= 1 or not graph.tokens


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 99), st.integers(0, 25))
def test_many_maskings_are_the_same_as_one_after_the_other(graph, seed, times):
    for masking in (PhraseMasking(), WordMasking()):
        together = masking.draw(graph, times, generator=seeded(seed))
        generator = seeded(seed)
        assert together == [masking(graph, generator=generator) for _ in range(times)]


def test_the_expected_share_is_what_every_outcome_adds_up_to():
    """Written out over all 2ⁿ outcomes, the empty one shared out among the phrases."""
    p, candidates, total = 0.15, phrases(GRAPH), 0.0
    for outcome in range(2 ** len(candidates)):
        chosen = [phrase for bit, phrase in enumerate(candidates) if outcome >> bit & 1]
        chance = p ** len(chosen) * (1 - p) ** (len(candidates) - len(chosen))
        instead = [chosen] if chosen else [[phrase] for phrase in candidates]
        total += sum(chance / len(instead) * realised_share(GRAPH, phrase) for phrase in instead)
    assert PhraseMasking(p).expected_share(GRAPH) == pytest.approx(total, rel=1e-12)


def test_each_phrase_is_as_likely_as_the_others():
    masking, counts = PhraseMasking(0.0), {}
    for (phrase,) in masking.draw(GRAPH, 5_000, generator=seeded(3)):
        counts[phrase] = counts.get(phrase, 0) + 1
    assert len(counts) == 5 and all(900 < count < 1100 for count in counts.values())


def test_a_sentence_cut_short_is_masked_before_the_cut():
    assert [GRAPH.text(phrase.span) for phrase in PhraseMasking(1.0).candidates(GRAPH, length=4)] == ["brown", "dogs"]
    assert [GRAPH.text(phrase.span) for phrase in PhraseMasking(1.0).candidates(GRAPH, length=1)] == ["Two"]
    assert PhraseMasking()(GRAPH, generator=seeded(), length=0) == []
