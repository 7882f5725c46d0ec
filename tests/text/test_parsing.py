"""Captions to graphs: what `parse` reads, the pipeline that ships with itmlab, and the cache of graphs on the disk."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import warnings

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError, MissingPart
from itmlab.text import parse, parsing
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject, Span, tokenise
from itmlab.text.parsing import SHIPPED_DIRECTORY, GraphCache, load_pipeline, pipeline_version
from tests.refusals import refused
from tests.text.rules.test_scene_graph import facts

CAPTIONS = """
A man in a red shirt is riding a horse.: man | wear | shirt; shirt | red; man | ride | horse
two dogs next to a tree: dog | next to | tree; dog | 2
a road covered by snow: snow | cover | road
the dog is white: dog | white
a group of people standing in front of a building: people | stand in front of | building; people | group of
there is a cat on the table: cat | on | table
a woman who is holding an umbrella: woman | hold | umbrella
a man and a woman sitting on a bench: man | sit on | bench; woman | sit on | bench
a man and two dogs are walking on the beach: man | walk on | beach; dog | walk on | beach; dog | 2
a man and a dog is walking: man; dog | walk
The girl who is wearing a yellow raincoat jumps into a puddle.: girl | wear | raincoat; raincoat | yellow; girl | jump \
into | puddle
a boy picking up a ball: boy | pick up | ball
a bearded guy: guy | bearded
a large tree trunk: tree trunk | large
man holding a tennis racket: man | hold | tennis racket
leg of the man: man | have | leg
the man's hat: man | have | hat
a black and white cat: cat | black; cat | white
"""  # a singular verb: only the dog walks; "bearded" is not what annotators made of it, but what is said


@pytest.mark.parametrize("caption, said", [line.split(": ") for line in CAPTIONS.strip().splitlines()])
def test_the_shipped_pipeline_reads_captions(caption, said):
    assert parse([caption], cache=False)[0].tuples() == facts(*said.split("; "))


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
    monkeypatch.setattr(parsing, "load_pipeline", None)  # a parse would now fail
    assert parse(captions) == fresh == parse(captions[::-1])[::-1]


def test_other_rules_never_get_old_graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    stale = SceneGraph(tokens=("stale",))
    GraphCache(parsing._version("english")).put_many(["a dog"], [stale])
    assert parse(["a dog"]) == [stale]
    monkeypatch.setattr(parsing, "rules_version", lambda: "other rules")
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
    refused(line, parse, captions, cache=False)


def test_an_unknown_parser_is_named_with_the_command_that_brings_it():
    refused("python -m spacy download en_no_such_model", parse, ["a dog"], parser="en_no_such_model", cache=False)


HOSTILE = ["", "   ", "dog", "…", "🐕🐕 🏖️", "ein Hund rennt über die Wiese", "一只狗在草地上奔跑"]
HOSTILE += ["<b>dog</b> <script>alert(1)</script>", "a dog\n\tand\x00\x07 a cat", "a \ud800 dog", "a dog " * 2000]
HOSTILE += ["group of " * 2000, "it on it and " * 1000, "-" * 5000, "next to in front of on top of " * 300]


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


def read(caption: str) -> dict[str, tuple[str, str, str]]:
    """Each word with its part of speech, its head's text and its relation."""
    return {token.text: (token.pos_, token.head.text, token.dep_) for token in load_pipeline()(caption)}


def test_the_shipped_pipeline_fits_into_eight_megabytes():
    assert sum(path.stat().st_size for path in SHIPPED_DIRECTORY.parent.rglob("*") if path.is_file()) <= 8_000_000


def test_the_shipped_pipeline_holds_arrays_and_text_and_no_pickle():
    files = [path for path in SHIPPED_DIRECTORY.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in (".pkl", ".pickle", ".py", ".pt", ".bin")]
    assert not [path for path in files if re.match(rb"\x80[\x02-\x05].*\.$", path.read_bytes(), re.DOTALL)]


def test_a_pipeline_is_loaded_once():
    assert load_pipeline() is load_pipeline("english")


def test_importing_itmlab_does_not_import_spacy():
    code = "import sys, itmlab.text.parsing; assert 'spacy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


TREES = """
Two dogs running on the beach: dogs NOUN dogs ROOT, running VERB dogs acl
two dogs running on the beach: beach NOUN running obl
TWO DOGS RUNNING ON THE BEACH: RUNNING VERB DOGS acl
A man riding a wave on top of a surfboard.: riding VERB man acl, wave NOUN riding obj
a man riding a horse: horse NOUN riding obj
A man sits on a bench: sits VERB sits ROOT
A man sits on a bench .: man NOUN sits nsubj
a woman holding a red umbrella: red ADJ umbrella amod
A dog and a cat on a couch: cat NOUN dog conj
The pizza is covered with cheese.: pizza NOUN covered nsubj:pass
A group of people on skis: people NOUN group nmod, skis NOUN people nmod
A fire hydrant next to a street: hydrant NOUN hydrant ROOT, fire NOUN hydrant compound
a black dog that is jumping over a fence: jumping VERB dog acl:relcl
Man in a t-shirt: t-shirt NOUN Man nmod
"""
LEMMAS = """
Two men riding horses: men man, riding ride, horses horse
children sitting at a table: children child, sitting sit
A man sits on a bench: sits sit
the leaves are green: leaves leaf
The leaves are green.: are be
women holding umbrellas: umbrellas umbrella
a dog running in the grass: running run
a bus parked on the street: parked park
"""


def cells(table: str) -> list[tuple[str, ...]]:
    """Each caption with the parts of one cell behind it."""
    rows = (line.split(": ") for line in table.strip().splitlines())
    return [(caption, *cell.split()) for caption, said in rows for cell in said.split(", ")]


@pytest.mark.parametrize("caption, word, tag, head, label", cells(TREES))
def test_the_trees_of_captions_are_as_they_are_meant(caption, word, tag, head, label):
    assert read(caption)[word] == (tag, head, label)


@pytest.mark.parametrize("caption, word, lemma", cells(LEMMAS))
def test_lemmas(caption, word, lemma):
    assert {token.text: token.lemma_ for token in load_pipeline()(caption)}[word] == lemma


def test_number_and_verb_form_are_given():
    dogs, running = load_pipeline()("two dogs running")[1:]
    assert dogs.morph.get("Number") == ["Plur"] and dogs.tag_ == "NNS"
    assert running.morph.get("VerbForm") == ["Part"] and running.tag_ == "VBG"


STRANGE = ["", " ", "dog", "🐶🐶🐶", "<b>dog</b>", "ein Hund läuft", "\x00", "?!" * 50, "dog " * 10_000]


@pytest.mark.parametrize("caption", STRANGE, ids=lambda caption: ascii(caption[:12]))
def test_strange_captions_have_a_tree(caption):
    document = load_pipeline()(caption)
    assert document.text == caption


def test_a_batch_has_the_trees_of_its_captions():
    captions = ["A man riding a horse.", "two dogs", "The sky is blue", "dogs"] * 5
    one_by_one = [load_pipeline()(caption).to_json() for caption in captions]
    assert [document.to_json() for document in load_pipeline().pipe(captions)] == one_by_one


def test_a_package_that_is_not_installed_is_named_with_the_command_that_brings_it():
    with pytest.raises(MissingPart, match="python -m spacy download en_core_web_huge") as caught:
        load_pipeline("en_core_web_huge")
    assert "\n" not in str(caught.value)


def test_a_path_that_is_not_there_says_so(tmp_path):
    refused("no such pipeline", load_pipeline, str(tmp_path / "nothing"))


@pytest.mark.parametrize("config", ["", "[nlp]\nlang = 5", "[nlp]\nlang = 'en'\npipeline = ['os.system']\n"])
def test_a_spoilt_directory_is_one_line(tmp_path, config):
    (tmp_path / "config.cfg").write_text(config)
    with pytest.raises(ItmlabError) as caught:
        load_pipeline(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_pipeline_without_parser_is_refused(tmp_path):
    spacy.blank("en").to_disk(tmp_path)
    refused("no tagger and no parser and no lemmatizer", load_pipeline, str(tmp_path))


def test_code_that_lies_in_the_directory_is_not_run(tmp_path):
    directory = tmp_path / "model"
    shutil.copytree(SHIPPED_DIRECTORY, directory)
    for name in ("__init__.py", "functions.py", "sitecustomize.py"):
        (directory / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    load_pipeline(os.fspath(directory))("two dogs")
    assert not (tmp_path / "ran").exists()


def test_the_version_changes_with_the_files(tmp_path):
    shutil.copytree(SHIPPED_DIRECTORY, tmp_path / "model")
    (tmp_path / "model" / "note").write_text("changed")
    version = pipeline_version()
    assert version.startswith("english-") and version == pipeline_version("english")
    assert pipeline_version(str(tmp_path / "model")).rpartition("-")[2] != version.rpartition("-")[2]


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
def test_the_cache_gives_any_graph_of_any_caption_back(tmp_path_factory, stored):
    cache = GraphCache("v1", tmp_path_factory.mktemp("cache"))
    cache.put_many(list(stored), stored.values())
    assert cache.get_many([*stored, "\ud800 never stored"]) == [*stored.values(), None]


def test_the_cache_keeps_order_and_repetitions(tmp_path):
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


def test_the_file_of_graphs_lies_in_the_cache_folder(tmp_path, monkeypatch):
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


def test_a_graph_that_is_not_what_was_stored_is_one_line_and_the_cache_is_begun_anew(tmp_path):
    cache = GraphCache("v1", tmp_path)
    for other in ("x'7b7d'", "'{}'", "NULL", "(SELECT max(graph) FROM graphs)"):  # the last: another caption's
        cache.put_many(["a", "b"], [DOG, PAIR])
        with sqlite3.connect(cache.path) as connection:
            connection.execute(f"UPDATE graphs SET graph = {other}")
        with pytest.warns(UserWarning, match="spoilt") as lines:
            assert cache.get_many(["a", "b"]) == [None, None]
        assert len(lines) == 1


def test_a_cache_damaged_anywhere_gives_no_other_graph_and_says_at_most_one_line(tmp_path, request):
    captions = [f"caption {index}" for index in range(60)]
    stored = [SceneGraph((SceneObject(caption, (Attribute("red"),)),)) for caption in captions]
    cache, draw = GraphCache("v1", tmp_path), random.Random(0)
    cache.put_many(captions, stored)
    whole, begun_anew = cache.path.read_bytes(), 0
    for case in range(5000 if request.config.getoption("--long") else 150):
        damaged = bytearray(whole)
        for _ in range(draw.choice((1, 1, 20))):
            place = draw.randrange(100 if case % 5 == 0 else len(whole))
            damaged[place] = draw.randrange(256)
        if draw.random() < 0.1:
            del damaged[draw.randrange(len(whole)) :]
        cache.path.write_bytes(damaged)
        with warnings.catch_warnings(record=True) as lines:
            warnings.simplefilter("always")
            found = cache.get_many(captions)
            assert all(mine in (graph, None) for graph, mine in zip(stored, found, strict=True)), case
            cache.put_many(captions, stored)
            if cache.get_many(captions) != stored:  # damage that only the second reading met
                cache.put_many(captions, stored)
            assert cache.get_many(captions) == stored, case
        assert len(lines) <= 1, (case, [str(line.message) for line in lines])
        begun_anew += len(lines)
    assert begun_anew > 50


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
from itmlab.text.parsing import GraphCache
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
