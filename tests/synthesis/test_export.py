"""Negatives written for a whole caption set: every column, whatever the text; after a kill the same bytes."""

import json
import signal
import subprocess
import sys
import textwrap

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError, UnusablePath
from itmlab.scenes import load
from itmlab.synthesis import Negative
from itmlab.synthesis.export import export_negatives
from itmlab.synthesis.read import read_negatives
from itmlab.text import Span
from tests.refusals import refused, room_for
from tests.synthesis.negatives_data import HOSTILE, caption_set, hostile_set, swaps

FORMATS = ("jsonl", "tsv", "parquet")
HEADER = {"generator": "swaps", "options": {"words": 2}}


class Stopped(Exception):
    """What ends an export before its time."""


def stopping(generate, after):
    """`generate`, until it was asked `after` times."""
    asked = []

    def asked_again(*given, **more):
        if len(asked) == after:
            raise Stopped
        asked.append(None)
        return generate(*given, **more)

    return asked_again


def never(*given, **more):
    raise AssertionError("asked again for what was done")


@pytest.mark.parametrize("kind", FORMATS)
def test_every_column_comes_back_as_it_was(tmp_path, kind):
    data = hostile_set(12)
    done = export_negatives(data, swaps, tmp_path / f"x.{kind}", header=HEADER, batch=5)
    found = read_negatives(done.path)
    asked = []
    for start in range(0, 12, 5):
        asked += swaps(data.captions[start : start + 5], [], [], generator=torch.Generator())
    assert [len(row) for row in found.of(data)] == [len(row) for row in asked] and done.negatives == len(found) > 10
    for number, negatives in enumerate(found.of(data)):
        for place, one in enumerate(negatives):
            assert (one.caption, one.image) == (number, number // 2)
            assert one.sentence.endswith(f" {data.captions[number]} {place}")
            assert one.spans == (Span(0, 2), Span(3, 4)) and one.source == ("a\tdog", '"')
            assert one.kind == ("object", "relation") and one.replacement[1] == ""
            assert one.sentence.startswith(one.replacement[0])


def test_the_three_formats_say_the_same(tmp_path):
    data = hostile_set(40)
    files = [export_negatives(data, swaps, tmp_path / f"x.{kind}", header=HEADER).path for kind in FORMATS]
    jsonl, tsv, parquet = (read_negatives(file) for file in files)
    assert jsonl.negatives == tsv.negatives == parquet.negatives
    assert jsonl.origins == tsv.origins == parquet.origins
    assert jsonl.header | {"format": ""} == tsv.header | {"format": ""} == parquet.header | {"format": ""}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=12), min_size=1, max_size=4),
    kind=st.sampled_from(FORMATS),
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_text_survives(tmp_path, words, kind, score):
    visible = "".join(word.replace("\0", "") for word in words) + "x"
    made = Negative(f"new {visible}", spans=(Span(0, 1),) * len(words), source=tuple(words), replacement=tuple(words),
                    kind=tuple(words), score=score)  # fmt: skip
    data = caption_set([visible], [0])
    out = tmp_path / f"any.{kind}"
    export_negatives(data, lambda *_, **__: [[made]], out, header={}, resume=False)
    assert read_negatives(out).of(data) == [[made.of(0, 0)]]


def test_a_line_of_text_is_a_negative(tmp_path):
    for kind, before in (("jsonl", 1), ("tsv", 2)):
        done = export_negatives(hostile_set(), swaps, tmp_path / f"x.{kind}", header=HEADER)
        assert done.path.read_bytes().count(b"\n") == done.negatives + before


def test_the_header_says_how_it_was_made(tmp_path):
    data = hostile_set()
    done = export_negatives(data, swaps, tmp_path / "x.jsonl", header=HEADER, seed=3, batch=4)
    header = json.loads(done.path.read_text().split("\n")[0])
    assert header["generator"] == "swaps" and header["options"] == {"words": 2} and header["format"] == "jsonl"
    assert (header["seed"], header["batch"], header["truth"]) == (3, 4, False)
    assert (header["captions"], header["negatives"]) == (10, done.negatives)
    assert header["data"] == {"name": "made", "images": 5, "captions": 10, "fingerprint": data.fingerprint}
    assert {"python", "itmlab", "torch", "spacy"} <= set(header["versions"])


def test_a_row_has_the_columns_that_are_promised(tmp_path):
    made = Negative("a cat", spans=(Span(1, 2),), source=("dog",), replacement=("cat",), kind=("object",), truth=False)
    data = caption_set(["a dog"], [0])
    out = export_negatives(data, lambda *_, **__: [[made]], tmp_path / "x.jsonl", header={}).path
    assert json.loads(out.read_text().split("\n")[1]) == {
        "image_id": 'image\t"0"', "caption_id": "id\n0", "source": "a dog", "negative": "a cat", "spans": [[1, 2]],
        "source_words": ["dog"], "replacement": ["cat"], "phrase_type": ["object"], "score": None, "fluency": None,
        "truth": False,
    }  # fmt: skip


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("after", range(5))
def test_a_resumed_export_ends_in_the_same_bytes(tmp_path, kind, after):
    data = hostile_set()
    whole = export_negatives(data, swaps, tmp_path / f"whole.{kind}", header=HEADER, batch=2)
    out = tmp_path / f"x.{kind}"
    with pytest.raises(Stopped):
        export_negatives(data, stopping(swaps, after), out, header=HEADER, batch=2)
    assert not out.exists()
    done = export_negatives(data, stopping(swaps, 5 - after), out, header=HEADER, batch=2)
    assert out.read_bytes() == whole.path.read_bytes()
    assert (done.negatives, done.left_out) == (whole.negatives, whole.left_out)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([out.name, whole.path.name])


def test_a_kill_may_leave_any_part_of_a_line(tmp_path):
    data, out = hostile_set(4), tmp_path / "x.jsonl"
    whole = export_negatives(data, swaps, tmp_path / "whole.jsonl", header=HEADER, batch=2).path.read_bytes()
    with pytest.raises(Stopped):
        export_negatives(data, stopping(swaps, 1), out, header=HEADER, batch=2)
    part = tmp_path / "x.jsonl.part"
    left = part.read_bytes()
    for length in [*range(len('{"itmlab_negatives'), len(left), 41), len(left) - 1, len(left)]:
        for after in (b"", b"\0" * 9, b"\0\n{}", b'{"rows": [\n'):
            part.write_bytes(left[:length] + after)
            export_negatives(data, swaps, out, header=HEADER, batch=2)
            assert out.read_bytes() == whole
            out.unlink()


def test_a_killed_process_is_gone_on_with(tmp_path):
    program = f"""
        import itertools, sys, time
        from tests.synthesis.negatives_data import hostile_set, swaps
        from itmlab.synthesis.export import export_negatives
        def slow(*given, **more):
            time.sleep(float(sys.argv[2]))
            print("asked", flush=True)
            return swaps(*given, **more)
        export_negatives(hostile_set(), slow, sys.argv[1], header={HEADER}, batch=2)
    """
    out = tmp_path / "x.parquet"
    command = [sys.executable, "-c", textwrap.dedent(program), str(out)]
    with subprocess.Popen([*command, "0.2"], stdout=subprocess.PIPE, text=True) as process:
        for _ in range(3):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not out.exists()
    left = tmp_path / ".x.parquet.abc.tmp"  # as a kill within the last step leaves
    left.write_bytes(b"PAR1")
    export_negatives(hostile_set(), stopping(swaps, 3), out, header=HEADER, batch=2)
    whole = export_negatives(hostile_set(), swaps, tmp_path / "whole.parquet", header=HEADER, batch=2)
    assert out.read_bytes() == whole.path.read_bytes() and not left.exists()


def test_what_is_done_is_not_done_again(tmp_path):
    data, out = hostile_set(), tmp_path / "x.tsv"
    done = export_negatives(data, swaps, out, header=HEADER)
    (tmp_path / "x.tsv.part").write_bytes(b'{"itmlab_negatives": 1, left by a kill between the last two steps')
    assert export_negatives(data, never, out, header=HEADER) == done
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("change", "said"),
    [({"seed": 1}, "seed is 0 there and 1 here"), ({"batch": 3}, "batch is 2 there"), ({"header": {}}, "generator is")],
)
def test_what_was_made_otherwise_is_not_mixed(tmp_path, finished, change, said):
    data, out = hostile_set(), tmp_path / "x.jsonl"
    if finished:
        export_negatives(data, swaps, out, header=HEADER, batch=2)
    else:
        with pytest.raises(Stopped):
            export_negatives(data, stopping(swaps, 2), out, header=HEADER, batch=2)
    other = {"header": HEADER, "batch": 2, **change}
    refused(said, export_negatives, data, swaps, out, **other)
    export_negatives(data, swaps, out, **other, resume=False)
    anew = export_negatives(data, swaps, tmp_path / "anew.jsonl", **other)
    assert out.read_bytes() == anew.path.read_bytes()


def test_other_data_are_not_mixed(tmp_path):
    out = tmp_path / "x.jsonl"
    with pytest.raises(Stopped):
        export_negatives(hostile_set(), stopping(swaps, 2), out, header=HEADER, batch=2)
    with pytest.raises(ItmlabError, match=r"data\.images is 5 there and 6 here, and data\.captions, data\.fingerprint"):
        export_negatives(hostile_set(12), swaps, out, header=HEADER, batch=2)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("resume", [True, False])
def test_what_is_no_file_of_negatives_is_overwritten_only_when_forced(tmp_path, kind, resume):
    data, out, wanted = hostile_set(), tmp_path / f"x.{kind}", tmp_path / f"wanted.{kind}"
    export_negatives(data, swaps, wanted, header=HEADER)
    for place in (out, tmp_path / f"x.{kind}.part"):
        place.write_bytes(b'{"image": "a.png", "caption": "a dog"}\n')
        refused(f"{place.name}: itmlab did not", export_negatives, data, never, out, header=HEADER, resume=resume)
        assert place.read_bytes() == b'{"image": "a.png", "caption": "a dog"}\n'
        export_negatives(data, swaps, out, header=HEADER, resume=resume, force=True)
        assert out.read_bytes() == wanted.read_bytes()
        assert sorted(path.name for path in tmp_path.iterdir()) == [wanted.name, out.name]
        export_negatives(data, swaps, out, header=HEADER, resume=False)  # its own it writes anew unasked
        out.unlink()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_full_disk_is_one_line_and_the_same_call_goes_on_when_there_is_room(tmp_path, kind):
    data, whole = hostile_set(), tmp_path / f"whole.{kind}"
    export_negatives(data, swaps, whole, header=HEADER, batch=2)
    out, said = tmp_path / f"x.{kind}", set()
    for size in (10, 1_000, 1_500, 2_000, 2_500, whole.stat().st_size - 1):
        try:
            with room_for(size):
                export_negatives(data, swaps, out, header=HEADER, batch=2)
        except UnusablePath as error:
            said.add(str(error).replace(str(tmp_path), ""))
        assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
    assert (
        f"/x.{kind}.part: File too large — make room on that disk and do the same again, or name another place" in said
    )
    assert any(line.endswith(f"; what is finished is kept in /x.{kind}.part") for line in said)
    export_negatives(data, swaps, out, header=HEADER, batch=2)
    assert out.read_bytes() == whole.read_bytes()


def test_only_one_process_writes(tmp_path):
    data, out = hostile_set(), tmp_path / "x.jsonl"

    def at_once(*given, **more):
        refused("another process is writing here", export_negatives, data, never, out, header=HEADER)
        return swaps(*given, **more)

    assert export_negatives(data, at_once, out, header=HEADER).negatives


def test_negatives_do_not_depend_on_what_was_made_before(tmp_path):
    data = hostile_set()
    first, second = (
        read_negatives(export_negatives(data, swaps, tmp_path / f"{seed}.jsonl", header={}, seed=seed).path)
        for seed in (0, 1)
    )
    assert first.negatives != second.negatives


def test_copies_duplicates_and_empty_sentences_are_left_out_and_counted(tmp_path):
    data = caption_set(["a dog", "a cat"], [0, 0])
    made = [["a dog", "a cow", "a pig", "a cow", " "], ["a dog", "\ud800", "a\0b"]]
    done = export_negatives(
        data, lambda *_, **__: [[Negative(text) for text in row] for row in made], tmp_path / "x.jsonl", header={}
    )
    found = [[one.sentence for one in row] for row in read_negatives(done.path).of(data)]
    assert found == [["a cow", "a pig"], ["a dog"]]
    assert (done.negatives, done.left_out) == (3, 5) and "5 copies" in str(done)


def test_scores_and_perplexities_fill_only_what_is_open(tmp_path):
    data = caption_set(["a", "b", "c"], [0, 1, 1])
    made = [[Negative("x", score=9.0), Negative("yy")], [], [Negative("zzz", fluency=7.0)]]

    def score(images, sentences):
        return torch.tensor([image + len(sentence) / 8 for image, sentence in zip(images, sentences, strict=True)])

    out = tmp_path / "x.tsv"
    export_negatives(
        data, lambda *_, **__: made, out, header={}, score=score, fluency=lambda sentences: map(len, sentences)
    )
    found = [one for row in read_negatives(tmp_path / "x.tsv").of(data) for one in row]
    assert [(one.score, one.fluency) for one in found] == [(9.0, 1.0), (0.25, 2.0), (1.375, 7.0)]


def test_a_conditioned_generator_is_told_which_captions_it_is_asked_for(tmp_path):
    asked = []

    def conditioned(captions, graphs, image_captions, *, generator, numbers):
        asked.extend(numbers)
        return [[] for _ in captions]

    done = export_negatives(hostile_set(), conditioned, tmp_path / "x.jsonl", header={}, batch=4, conditioned=True)
    assert asked == list(range(10)) and done.negatives == 0
    assert len(read_negatives(done.path)) == 0


def test_the_generator_gets_graphs_and_the_captions_of_the_image(tmp_path):
    data = caption_set(["a dog runs", "a cow eats grass", "two dogs"], [1, 0, 1])

    def look(captions, graphs, image_captions, *, generator):
        assert captions == data.captions
        assert [("dog",) in graph.tuples() for graph in graphs] == [True, False, True]
        assert image_captions == [["a dog runs", "two dogs"], ["a cow eats grass"], ["a dog runs", "two dogs"]]
        return [[], [], []]

    export_negatives(data, look, tmp_path / "x.jsonl", header={})


def test_the_world_gives_its_verdict(tmp_path):
    data = load(images=3, cache=tmp_path / "cache")
    sentences = ["a zebra rides a bicycle in the kitchen", "an airplane", *data.captions[:8:5], "something blurred"]

    def made(captions, graphs, image_captions, *, generator):
        assert graphs == [data.world.graphs[number] for number in range(len(captions))]
        return [[Negative(each) for each in sentences] for _ in captions]

    done = export_negatives(data, made, tmp_path / "x.jsonl", header={})
    found = [one for row in read_negatives(done.path).of(data) for one in row]
    assert {one.truth for one in found} == {True, False, None}
    assert all(one.truth is data.world.entails(one.image, one.sentence) for one in found)
    export_negatives(data, made, tmp_path / "y.jsonl", header={}, truth=False)
    assert {one.truth for row in read_negatives(tmp_path / "y.jsonl").of(data) for one in row} == {None}


def _one(**fields):
    return lambda captions, *_, **__: [[Negative("new", **fields)] for _ in captions]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"out": "x.csv"}, r"its ending '\.csv' names no format"),
        ({"format": "csv"}, "no format 'csv'"),
        ({"header": {"seed": 1}}, "header has 'seed'"),
        ({"header": {"model": object()}}, "header cannot be written as JSON"),
        ({"header": {"model": "\ud800"}}, "header cannot be written as JSON"),
        ({"batch": 0}, "batch=0"),
        ({"generate": lambda *_, **__: []}, "answered 10 captions with 0 lists"),
        ({"generate": _one(score=float("nan"))}, "the score is nan, not a number"),
        ({"generate": _one(), "fluency": lambda sentences: [float("inf")] * len(sentences)}, "the fluency is inf"),
        ({"generate": _one(), "score": lambda images, sentences: [1.0]}, "10 sentences were given to score"),
        ({"generate": _one(source=("a",))}, "1 source_words"),
        ({"generate": _one(source=("\ud800",), replacement=("",), kind=("",), spans=(Span(0, 1),))}, "source_words"),
    ],
)
def test_what_cannot_be_written_is_one_clear_line(tmp_path, change, said):
    given = {"generate": swaps, "out": "x.jsonl", "header": HEADER, **change}
    with pytest.raises(ItmlabError, match=said) as raised:
        export_negatives(hostile_set(), given.pop("generate"), tmp_path / given.pop("out"), **given)
    assert "\n" not in str(raised.value) and len(HOSTILE) == 10
