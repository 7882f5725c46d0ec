"""`parse`: any captions in, one graph each out, in order; equal ones once; hostile ones ended."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.text import SceneGraph, graph_cache, parse

from .test_build import facts

MODULE = sys.modules["itmlab.text.parse"]  # the package's attribute of this name is the function

CAPTIONS = {
    "A man in a red shirt is riding a horse.": facts("man | wear | shirt", "shirt | red", "man | ride | horse"),
    "two dogs next to a tree": facts("dog | next to | tree", "dog | 2"),
    "a road covered by snow": facts("snow | cover | road"),
    "the dog is white": facts("dog | white"),
    "a group of people standing in front of a building": facts(
        "people | stand in front of | building", "people | group of"
    ),
    "there is a cat on the table": facts("cat | on | table"),
    "a woman who is holding an umbrella": facts("woman | hold | umbrella"),
    "a man and a woman sitting on a bench": facts("man | sit on | bench", "woman | sit on | bench"),
    "a man and two dogs are walking on the beach": facts("man | walk on | beach", "dog | walk on | beach", "dog | 2"),
    "a man and a dog is walking": facts("man", "dog | walk"),  # a singular verb: only the dog
    "The girl who is wearing a yellow raincoat jumps into a puddle.": facts(
        "girl | wear | raincoat", "raincoat | yellow", "girl | jump into | puddle"
    ),
    "a boy picking up a ball": facts("boy | pick up | ball"),
    "a bearded guy": facts("guy | bearded"),  # not what annotators made of it, but what is said
    "a large tree trunk": facts("tree trunk | large"),
    "man holding a tennis racket": facts("man | hold | tennis racket"),
    "leg of the man": facts("man | have | leg"),
    "the man's hat": facts("man | have | hat"),
    "a black and white cat": facts("cat | black", "cat | white"),
}


@pytest.mark.parametrize("caption", CAPTIONS)
def test_the_shipped_pipeline_reads_captions(caption):
    assert parse([caption], cache=False)[0].tuples() == CAPTIONS[caption]


def test_case_and_a_full_stop_change_nothing():
    plain, dressed = parse(["a dog on the grass", "A dog on the grass."], cache=False)
    assert plain.tuples() == dressed.tuples() == facts("dog | on | grass")


def test_order_is_kept_and_equal_captions_are_parsed_once():
    first, second = "a red ball", "two black dogs"
    graphs = parse([first, second, first, second, first], cache=False, batch_size=2)
    assert [graph.tokens for graph in graphs] == [tuple(c.split()) for c in (first, second, first, second, first)]
    assert graphs[0] is graphs[2] is graphs[4]


def test_spans_index_the_tokens():
    (graph,) = parse(["A brown dog is standing in front of the house."], cache=False)
    dog, house = graph.objects
    assert (graph.text(dog.span), graph.text(dog.attributes[0].span)) == ("dog", "brown")
    assert (graph.text(house.span), graph.text(graph.relations[0].span)) == ("house", "standing in front of")


def test_the_cache_answers_with_equal_graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    captions = ["a dog chasing a ball", "", "two cats\non a sofa"]
    fresh = parse(captions)
    monkeypatch.setattr(MODULE, "load_pipeline", None)  # a parse would now fail
    assert parse(captions) == fresh == parse(captions[::-1])[::-1]


def test_other_rules_never_get_old_graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    stale = SceneGraph(tokens=("stale",))
    graph_cache.GraphCache(MODULE._version("english")).put_many(["a dog"], [stale])
    assert parse(["a dog"]) == [stale]
    monkeypatch.setattr(MODULE, "rules_version", lambda: "other rules")
    assert parse(["a dog"]) != [stale]


@pytest.mark.parametrize(
    "captions, line",
    [
        ("a dog", r"one string, not a list"),
        (["a dog", None], r"caption 1 is NoneType"),
        (["a dog", 3], r"caption 1 is int"),
        (["a dog", "x" * 200_001], r"caption 1 has 200,001 characters"),
    ],
)
def test_what_is_no_caption_is_one_clear_line(captions, line):
    with pytest.raises(ItmlabError, match=line):
        parse(captions, cache=False)


def test_an_unknown_parser_is_named_with_the_command_that_brings_it():
    with pytest.raises(ItmlabError, match="python -m spacy download en_no_such_model"):
        parse(["a dog"], parser="en_no_such_model", cache=False)


HOSTILE = [
    "",
    "   ",
    "dog",
    "…",
    "🐕🐕 🏖️",
    "ein Hund rennt über die Wiese",
    "一只狗在草地上奔跑",
    "<b>dog</b> <script>alert(1)</script>",
    "a dog\n\tand\x00\x07 a cat",
    "a \ud800 dog",
    "a dog " * 2000,
    "group of " * 2000,
    "it on it and " * 1000,
    "-" * 5000,
    "next to in front of on top of " * 300,
]


@pytest.mark.parametrize("caption", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_captions_have_a_graph(caption):
    (graph,) = parse([caption], cache=False)
    assert isinstance(graph, SceneGraph)


def test_a_caption_without_a_word_is_empty():
    assert parse(["", "  \n "], cache=False) == [SceneGraph(), SceneGraph()]
    assert parse([], cache=False) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_is_read_the_same_alone_and_among_others(captions):
    together = parse(captions, cache=False)
    assert together == [parse([caption], cache=False)[0] for caption in captions]
