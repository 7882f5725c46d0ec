"""Parsing captions into scene graphs: the shipped pipeline, the rules behind it, and the cache."""

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from itmlab.cli import app
from itmlab.text import parse, parsing
from itmlab.text.graph import SceneGraph
from itmlab.text.parsing import SHIPPED_DIRECTORY
from tests.refusals import refused
from tests.text.rules.test_scene_graph import facts

CAPTIONS = """
A man in a red shirt is riding a horse.: man | wear | shirt; shirt | red; man | ride | horse
two dogs next to a tree: dog | next to | tree; dog | 2
a group of people standing in front of a building: people | stand in front of | building; people | group of
a man and two dogs are walking on the beach: man | walk on | beach; dog | walk on | beach; dog | 2
a man and a dog is walking: man; dog | walk
The girl who is wearing a yellow raincoat jumps into a puddle.: girl | wear | raincoat; raincoat | yellow; girl | jump \
into | puddle
a boy picking up a ball: boy | pick up | ball
a bearded guy: guy | bearded
a large tree trunk: tree trunk | large
the man's hat: man | have | hat
A black and white photo of a dog: photo | black; photo | white; dog | in | photo
a picture of a dog: dog | in | picture
An old picture of two dogs running on the beach: picture | old; dog | 2; dog | in | picture; dog | run on | beach
a man holds a framed picture of a dog: man | hold | picture; picture | framed; dog | in | picture
a blurry photo of a cat and a dog: photo | blurry; cat | in | photo; dog | in | photo
a close up of a red flower: flower | red
an extreme close-up of an eye: close-up | extreme; eye | in | close-up
An aerial view of a city: view | aerial; city | in | view
a clear reflection of a tree: reflection | clear; tree | have | reflection
the front of a red bus: bus | red
The shiny front of a red bus: front | shiny; bus | red; bus | have | front
A large group of people standing here: group | large; people | group of; people | in | group; people | stand
a colorful pair of shoes: pair | colorful; shoe | in | pair
a large amount of snow: snow
a small piece of cake: cake | small; cake | piece
"""  # a singular verb: only the dog walks; "bearded" is not what annotators made of it


@pytest.mark.parametrize("caption, expected", [line.split(": ") for line in CAPTIONS.strip().splitlines()])
def test_the_shipped_pipeline_reads_captions(caption, expected):
    assert parse([caption], cache=False)[0].tuples() == facts(*expected.split("; "))


@pytest.mark.parametrize(
    "captions, line",
    [("a dog", "one string, not a list"), (["a dog", None], "caption 1"), (["x" * 200_001], "200,001 characters")],
)
def test_captions_that_are_not_texts_are_refused(captions, line):
    refused(line, parse, captions, cache=False)


def test_what_the_command_prints_holds_no_control_characters(tmp_path):
    file = tmp_path / "captions.txt"
    file.write_text("a \x1b[31mred\x1b[0m dog \u202eon a\u2066 sofa\n一只狗 🐶 a café\n", encoding="utf-8")
    printed = CliRunner().invoke(app, ["parse", "--file", str(file)]).output
    assert all(character.isprintable() for character in printed.replace("\n", ""))
    assert "(dog)" in printed and "\\x1b[31m" in printed and "\\u202e" in printed


HOSTILE = ["<b>dog</b>", "🐕🐕 🏖️", "一只狗在草地上奔跑", "a dog\n\tand\x00\x07 a cat", "a \ud800 dog"]
HOSTILE += ["group of " * 2000, "it on it and " * 1000, "-" * 5000, "next to in front of on top of " * 300]


@pytest.mark.parametrize("caption", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_captions_have_a_graph(caption):
    (graph,) = parse([caption], cache=False)
    assert isinstance(graph, SceneGraph)


def test_a_caption_without_a_word_has_an_empty_graph():
    assert parse(["", "  \n "], cache=False) == [SceneGraph(), SceneGraph()]
    assert parse([], cache=False) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_is_read_the_same_alone_and_among_others(captions):
    together = parse(captions, cache=False)
    assert together == [parse([caption], cache=False)[0] for caption in captions]


def test_the_shipped_pipeline_is_small_and_holds_no_pickle():
    files = [path for path in SHIPPED_DIRECTORY.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 8_000_000
    assert not [path for path in files if path.suffix in (".pkl", ".pickle", ".py", ".pt", ".bin")]
    assert not [path for path in files if re.match(rb"\x80[\x02-\x05].*\.$", path.read_bytes(), re.DOTALL)]


# The cache.


def test_the_cache_answers_without_parsing_until_the_rules_change(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    captions = ["a dog chasing a ball", "", "two cats\non a sofa"]
    graphs = parse(captions)
    monkeypatch.setattr(parsing, "scene_graph", None)  # a parse would now fail
    assert parse(captions) == graphs == parse(captions[::-1])[::-1]
    monkeypatch.setattr(parsing, "parser_version", lambda: "other rules")
    with pytest.raises(TypeError):
        parse(captions)


def garbage(path):
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096)


@pytest.mark.parametrize("damage", [garbage, os.mkdir])
def test_a_cache_that_cannot_be_used_is_a_warning(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    damage(tmp_path / "scene_graphs.sqlite")
    with pytest.warns(UserWarning, match="delete"):
        assert parse(["a dog"])[0].tuples() == {("dog",)}


def test_a_long_run_without_blanks_is_parsed_in_linear_time():
    (graph,) = parse(["a dog " + "[" * 5_000], cache=False)
    assert graph.objects[0].lemma == "dog"
