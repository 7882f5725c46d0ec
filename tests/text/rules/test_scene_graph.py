"""What the rules make of parses written by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from itmlab.text.graph import Span
from itmlab.text.rules.lexicon import word_set
from itmlab.text.rules.scene_graph import scene_graph
from tests.text.trees import VOCABULARY, tree


def facts(*lines: str) -> set[tuple[str, ...]]:
    """Tuples from lines like "dog | chase | ball"; objects of longer tuples need no line of their own."""
    result = {tuple(part.strip() for part in line.split("|")) for line in lines}
    result |= {(fact[0],) for fact in result}
    return result | {(fact[2],) for fact in result if len(fact) == 3}


def cases(text: str) -> dict[str, tuple[str, set[tuple[str, ...]]]]:
    """By name the cells of a tree, which are the indented lines, and the facts behind the name."""
    result = {}
    for name, expected, cells in re.findall(r"^(\S.*?):(.*)\n((?: +.*\n)+)", text, re.MULTILINE):
        result[name] = " ".join(cells.split()), facts(*filter(None, expected.strip().split("; ")))
    return result


UNIVERSAL = cases("""
red bench: bench | red
    a DET det 3, red ADJ amod 3, bench NOUN root 0
verb and preposition: man | sit on | bench
    a DET det 2, man NOUN nsubj 4, is AUX aux 4, sitting VERB root 0, on ADP case 7, a DET det 7, bench NOUN obl 4
several words as one preposition: dog | in front of | house; house | 2
    a DET det 2, dog NOUN root 0, in ADP case 4, front NOUN nmod 2, of ADP case 7, two NUM nummod 7,
    houses NOUN nmod 4
passive with its auxiliary: man | ride | horse
    a DET det 2, horse NOUN nsubj:pass 4, is AUX aux:pass 4, ridden VERB root 0, by ADP case 7, a DET det 7,
    man NOUN obl:agent 4
relative clause without its object: man | sit on | sofa
    the DET det 2, sofa NOUN root 0, the DET det 4, man NOUN nsubj 6, is AUX aux 6, sitting VERB acl:relcl 2,
    on ADP obl 6
part of a whole: man | have | leg
    leg NOUN root 0, of ADP case 4, the DET det 4, man NOUN nmod 1
two adjectives: cat | black; cat | white
    black ADJ amod 4, and CCONJ cc 3, white ADJ conj 1, cat NOUN root 0
the wearer rides, not the hat: man | with | hat; man | ride | horse
    a DET det 2, man NOUN root 0, with ADP case 5, a DET det 5, hat NOUN nmod 2, riding VERB acl 5, a DET det 8,
    horse NOUN obj 6
a meal on it: meal | on | table
    a DET det 2, table NOUN root 0, with ADP case 5, a DET det 5, meal NOUN nmod 2, on ADP case 7, it PRON nmod 5
a name of two words: tennis racket
    a DET det 3, tennis NOUN compound 3, racket NOUN root 0
no dog: dog
    no DET det 2, dogs NOUN root 0
nothing to see:
    hello INTJ root 0
""")


@pytest.mark.parametrize("cells, wanted", UNIVERSAL.values(), ids=list(UNIVERSAL))
def test_universal_dependencies(cells, wanted):
    assert scene_graph(tree(cells)).tuples() == wanted


def test_spans_are_the_tokens_that_say_each_part():
    graph = scene_graph(tree(UNIVERSAL["several words as one preposition"][0]))
    dog, house = graph.objects
    assert (dog.span, house.span, graph.relations[0].span) == (Span(1, 2), Span(6, 7), Span(2, 5))
    graph = scene_graph(tree(UNIVERSAL["verb and preposition"][0]))
    assert graph.text(graph.relations[0].span) == "sitting on"
    graph = scene_graph(tree(UNIVERSAL["a name of two words"][0]))
    assert graph.text(graph.objects[0].span) == "tennis racket"


@pytest.mark.parametrize(
    "cells, count, plural",
    [
        ("a DET det 2, dog NOUN root 0", 1, False),
        ("two NUM nummod 2, dogs NOUN root 0", 2, True),
        ("3 NUM nummod 2, dogs NOUN root 0", 3, True),
        ("some DET det 2, dogs NOUN root 0", None, True),
        ("dogs NOUN root 0", None, True),
        ("no DET det 2, dog NOUN root 0", 0, False),
        ("a DET det 2, pair NOUN root 0, of ADP case 4, dogs NOUN nmod 2", 2, True),
    ],
)
def test_counts(cells, count, plural):
    (entity,) = scene_graph(tree(cells)).objects
    assert (entity.lemma, entity.count, entity.plural) == ("dog", count, plural)


FAULTS = cases("""
a verb taken for a noun: kid | kick | ball
    a DET det 3, kid NOUN compound 3, kicks NOUN root 0, a DET det 5, ball NOUN obj 3
two subjects: man | wear | hat; man | hold | bag
    a DET det 2, man NOUN root 0, wearing VERB acl 2, a DET det 5, hat NOUN nsubj 6, holds VERB ccomp 3, a DET det 8,
    bag NOUN obj 6
""")


@pytest.mark.parametrize("cells, wanted", FAULTS.values(), ids=list(FAULTS))
def test_frequent_faults_of_taggers_are_mended(cells, wanted):
    assert scene_graph(tree(cells)).tuples() == wanted


WORDS = st.sampled_from(
    sorted(
        word_set("dog dogs a two of in front on is there riding covered by it who 's and red next to group , 1000 🐕")
    )
)
TAGS = st.sampled_from(sorted(word_set("NOUN VERB ADJ ADP DET PRON AUX NUM PART CCONJ PUNCT ADV X")))
LABELS = st.sampled_from(
    sorted(
        word_set(
            "nsubj obj obl nmod case prep pobj acl acl:relcl relcl conj cc compound amod nummod det cop aux expl attr "
            "nmod:poss dep advcl aux:pass nsubj:pass xcomp mark punct fixed agent"
        )
    )
)


@given(st.lists(st.tuples(WORDS, TAGS, LABELS), min_size=1, max_size=14), st.data())
def test_any_tree_gives_a_graph_with_spans_inside_the_sentence(rows, data):
    """Labels and heads at random: rings after attaching, prepositions of nothing, relative clauses of themselves."""
    order = data.draw(st.permutations(range(len(rows))))
    heads = [0] * len(rows)
    for rank, at in enumerate(order):  # any tree: each word is attached to one before it in some order
        heads[at] = order[data.draw(st.integers(0, rank - 1))] if rank else at
    words, tags, labels = zip(*rows, strict=True)
    deps = ["ROOT" if heads[at] == at else label for at, label in enumerate(labels)]
    graph = scene_graph(Doc(VOCABULARY, list(words), pos=list(tags), deps=deps, heads=heads))
    parts = [part for entity in graph.objects for part in (entity, *entity.attributes)] + list(graph.relations)
    assert all(0 <= part.span.start < part.span.end <= len(words) and part.lemma for part in parts)
