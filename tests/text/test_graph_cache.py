"""The cache of scene graphs: what was put comes back, for its parser and caption only, whatever lies on the disk."""

import sqlite3
import subprocess
import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject, Span, tokenise
from itmlab.text.graph_cache import GraphCache

DOG = SceneGraph((SceneObject("dog", (Attribute("red", Span(1, 2)),), 2, True, Span(2, 3)),), (), tokenise("a red dog"))
PAIR = SceneGraph((SceneObject("man"), SceneObject("ball")), (Relation(0, "kick", 1),), tokenise("man kicks ball"))


@st.composite
def graphs(draw):
    text, spans = st.text(max_size=8), st.none() | st.builds(Span, st.integers(0, 9), st.integers(0, 9))
    attributes = st.lists(st.builds(Attribute, text, spans), max_size=3).map(tuple)
    counts = st.none() | st.integers(1, 99)
    objects = tuple(draw(st.lists(st.builds(SceneObject, text, attributes, counts, st.booleans(), spans), max_size=4)))
    number = st.integers(0, max(len(objects) - 1, 0))
    links = draw(st.lists(st.builds(Relation, number, text, number, spans), max_size=3)) if objects else []
    return SceneGraph(objects, tuple(links), tuple(draw(st.lists(text, max_size=6))))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(st.characters(), max_size=30), graphs(), max_size=5))
def test_any_graph_of_any_caption_comes_back_equal(tmp_path_factory, stored):
    cache = GraphCache("v1", tmp_path_factory.mktemp("cache"))
    cache.put_many(list(stored), stored.values())
    assert cache.get_many([*stored, "\ud800 never stored"]) == [*stored.values(), None]


def test_order_and_repetitions_are_kept(tmp_path):
    cache = GraphCache("v1", tmp_path)
    cache.put_many(["b", "a"], [PAIR, DOG])
    assert cache.get_many(["a", "c", "b", "a"]) == [DOG, None, PAIR, DOG]
    assert cache.get_many([]) == []


def test_many_are_asked_for_at_once(tmp_path):
    cache, captions = GraphCache("v1", tmp_path), [f"caption {index}" for index in range(1203)]
    cache.put_many(captions, [SceneGraph((SceneObject(caption),)) for caption in captions])
    assert [graph.objects[0].lemma for graph in cache.get_many(captions)] == captions


def test_another_parser_has_graphs_of_its_own(tmp_path):
    GraphCache("v1", tmp_path).put_many(["a"], [DOG])
    assert GraphCache("v2", tmp_path).get_many(["a"]) == [None]
    assert GraphCache("v", tmp_path).get_many(["1a", "a"]) == [None, None]


def test_storing_again_replaces(tmp_path):
    cache = GraphCache("v1", tmp_path)
    cache.put_many(["a"], [DOG])
    cache.put_many(["a"], [PAIR])
    assert cache.get_many(["a"]) == [PAIR]


def test_it_lies_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    GraphCache("v1").put_many(["a"], [DOG])
    assert GraphCache("v1", tmp_path).get_many(["a"]) == [DOG]


@pytest.mark.parametrize("content", [b"no database at all " * 99, b"SQLite format 3\x00" + b"\xff" * 4096, None])
def test_a_spoilt_file_is_begun_anew_with_one_line(tmp_path, content):
    cache = GraphCache("v1", tmp_path)
    if content is None:  # a database, but somebody else's
        with sqlite3.connect(cache.path) as other:
            other.execute("CREATE TABLE graphs (name TEXT)")
    else:
        cache.path.write_bytes(content)
    with pytest.warns(UserWarning, match="spoilt") as lines:
        assert cache.get_many(["a"]) == [None]
    assert len(lines) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put_many(["a"], [DOG])
        assert cache.get_many(["a"]) == [DOG]


def test_a_file_torn_in_the_middle_never_gives_a_wrong_graph(tmp_path):
    cache, captions = GraphCache("v1", tmp_path), [f"caption {index}" for index in range(2000)]
    cache.put_many(captions, [DOG] * 2000)
    content = bytearray(cache.path.read_bytes())
    content[8192:40960] = b"\x00" * (40960 - 8192)
    cache.path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cache.get_many(captions)
    assert set(found) <= {DOG, None}


def test_a_stored_text_that_is_no_graph_counts_as_not_stored(tmp_path):
    cache = GraphCache("v1", tmp_path)
    cache.put_many(["a", "b"], [DOG, PAIR])
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE graphs SET graph = '{}'")
    assert cache.get_many(["a", "b"]) == [None, None]


def test_a_place_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = GraphCache("v1", tmp_path / "file")
    with pytest.warns(UserWarning, match="not kept"):
        cache.put_many(["a"], [DOG])
    with pytest.warns(UserWarning, match="not kept"):
        assert cache.get_many(["a"]) == [None]


def test_two_processes_write_and_read_at_once(tmp_path):
    program = """
import sys
from itmlab.text.graph import SceneGraph, SceneObject
from itmlab.text.graph_cache import GraphCache
cache, own = GraphCache("v1", sys.argv[1]), sys.argv[2]
for number in range(60):
    names = [f"{own} {number} {index}" for index in range(5)]
    cache.put_many(names, [SceneGraph((SceneObject(name),)) for name in names])
    assert [graph.objects[0].lemma for graph in cache.get_many(names)] == names
"""
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path)]
    both = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("one", "two")]
    assert [process.communicate()[1] for process in both] == ["", ""]
    names = [f"{own} {number} {index}" for own in ("one", "two") for number in range(60) for index in range(5)]
    assert None not in GraphCache("v1", tmp_path).get_many(names)
