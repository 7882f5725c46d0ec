"""Files are wholly written or not there; names stay inside their root; JSON faults name file and line."""

import errno
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import plotly.graph_objects as go
import pytest
from PIL import Image

from itmlab import recipes, storage
from itmlab.errors import ItmlabError, MissingPart, UnusablePath
from itmlab.metrics import Cider
from itmlab.models import build_model
from itmlab.models.base import MODEL_FILES
from itmlab.storage import (
    ENDS,
    atomic_file,
    build_once,
    cache_directory,
    inside,
    keep,
    profile,
    read_json,
    refuse_foreign,
    usable,
    write_bytes,
    write_json,
)
from itmlab.studies.kit import saving
from tests.refusals import refused, room_for
from tests.training.world import MICRO


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path) -> None:
    path = tmp_path / "weights"
    write_bytes(path, b"good")
    with pytest.raises(RuntimeError), atomic_file(path) as file:
        file.write(b"half")
        raise RuntimeError("the power went")
    assert path.read_bytes() == b"good"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_system_refuses_is_one_line_and_still_an_oserror(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    refused(r"file/a: .*(File exists|Not a directory) — a file stands", write_bytes, tmp_path / "file" / "a", b"x")
    refused(r"folder: Is a directory — name a file", write_bytes, tmp_path / "folder", b"x")
    refused(r"folder: not a file", read_json, tmp_path / "folder")
    with room_for(1000):
        refused(r"/a: File too large — make room on that disk", write_bytes, tmp_path / "a", bytes(9999))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    with pytest.raises(OSError) as caught, usable("here"):
        raise OSError(errno.EROFS, "Read-only file system", "there")
    assert isinstance(caught.value, UnusablePath) and caught.value.errno == errno.EROFS
    assert str(caught.value) == "here: Read-only file system — change its permissions, or name another place"


def test_where_room_runs_out_what_is_kept_is_named(tmp_path) -> None:
    kept = tmp_path / "kept"
    for content, named in ((b"", False), (b"a batch", True)):
        kept.write_bytes(content)
        with pytest.raises(UnusablePath) as caught, usable(kept=kept), room_for(10):
            write_bytes(tmp_path / "a", bytes(99999))
        assert str(tmp_path / "a") in str(caught.value)
        assert str(caught.value).endswith(f"; what is finished is kept in {kept}") == named
    with pytest.raises(UnusablePath) as caught, usable(kept=kept):
        raise OSError(errno.EISDIR, "Is a directory", "there")  # which nothing was finished before
    assert "kept" not in str(caught.value)


@pytest.mark.parametrize("before", [0, ENDS - 3, 3 * ENDS])
@pytest.mark.parametrize("after", [0, ENDS - 3])
def test_only_what_bears_the_mark_within_its_ends_is_ours(tmp_path, before, after) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"." * before + b"itmlab_it" + b"." * after)
    whole = min(before, after) + len("itmlab_it") <= ENDS
    assert whole is (before + 9 <= ENDS or after + 9 <= ENDS)
    if whole:
        assert refuse_foreign(path, "itmlab_it")
    else:
        refused("out: itmlab did not write this file", refuse_foreign, path, "itmlab_it")
    refused(r"out: itmlab did not write this file .*--force\)", refuse_foreign, path, "itmlab_other")
    assert not refuse_foreign(path, "itmlab_other", force=True)


def test_what_is_empty_or_not_there_is_nobodys_and_what_is_no_file_stays(tmp_path) -> None:
    path = tmp_path / "out"
    assert not refuse_foreign(path, "itmlab_it")
    for content in (b"", bytes(ENDS)):  # as a power cut leaves a file
        path.write_bytes(content)
        assert not refuse_foreign(path, "itmlab_it")
    path.write_bytes(bytes(ENDS) + b"x" + bytes(ENDS))
    refused("did not write", refuse_foreign, path, "itmlab_it")
    for place in (tmp_path, "/dev/null"):
        refused("it is no file", refuse_foreign, place, "itmlab_it", force=True)


SAVERS = {  # the files that each writes, and how
    "recipe": (["it"], lambda folder, **force: recipes.fne.save(folder / "it", **force)),
    "Cider": (["it"], lambda folder, **force: Cider([["a dog"], ["a cat"]]).save(folder / "it", **force)),
    "model": (
        MODEL_FILES,
        lambda folder, **force: build_model(MICRO, ["a dog"], seed=0).save(folder, **force),
    ),
    "figure": (
        ["it.json", "it.html", "it.png", "index.html", "plotly.min.js"],
        lambda folder, **force: saving.save(go.Figure(go.Bar(y=[1])), "it", {}, directory=folder, **force),
    ),
    "page": (["it.html"], lambda folder, **force: saving.write_figure(go.Figure(), folder / "it.html", **force)),
}


@pytest.mark.parametrize("kind", SAVERS)
def test_what_is_saved_replaces_what_was_saved_before_and_nothing_else_unless_forced(
    kind, tmp_path, monkeypatch
) -> None:
    names, save = SAVERS[kind]
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "PNG")
    monkeypatch.setattr(saving, "draw", lambda figure: picture.getvalue())
    for name in names:
        folder = tmp_path / name
        write_bytes(folder / name, b'{"of": "somebody else"}')
        refused(rf"{name}: itmlab did not write this file .*\(force=True, --force\)", save, folder)
        assert [path.name for path in folder.iterdir()] == [name]
        assert (folder / name).read_bytes() == b'{"of": "somebody else"}'
        save(folder, force=True)
        saved = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert set(saved) == set(names) and all(b"somebody" not in content for content in saved.values())
        save(folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == saved


def test_json_round_trips_and_refuses_not_a_number(tmp_path) -> None:
    path = tmp_path / "deep" / "value.json"
    write_json(path, {"caption": "собака 🐕", "n": [1, 2.5, None]})
    assert read_json(path) == {"caption": "собака 🐕", "n": [1, 2.5, None]}
    with pytest.raises(ValueError):
        write_json(path, float("nan"))
    assert read_json(path)["n"] == [1, 2.5, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1,\n "b": }', r"broken\.json:2: not JSON"),
        (b"\xff\xfe\x00", r"broken\.json: not UTF-8"),
        (b'{"a": [NaN]}', r"broken\.json: not JSON of ours: a\.0 is nan, wanted a finite number"),
        (b"-Infinity", r"broken\.json: not JSON of ours: it is -inf, wanted a finite number"),
        (b'{"a": 1e999}', r"broken\.json: not JSON of ours: a is inf, wanted a finite number"),
        (rb'["\ud83d\ude00", "\ud800"]', r"broken\.json: not JSON of ours: half of a pair of surrogates"),
        (None, r"broken\.json: no such file"),
    ],
)
def test_unreadable_json_is_one_line_with_its_place(tmp_path, content, message) -> None:
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_bytes(content)
    refused(message, read_json, path)


def test_a_byte_order_mark_is_no_fault(tmp_path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(tmp_path / "a.json") == [1]


def test_escaped_letters_are_read(tmp_path) -> None:
    (tmp_path / "a.json").write_bytes(rb'["\ud83d\ude00", "\\ud800", 1.5e3]')
    assert read_json(tmp_path / "a.json") == ["😀", "\\ud800", 1500.0]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "link/secret"])
def test_no_path_leaves_its_root(tmp_path, name) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    refused("leaves its root", inside, root, name)
    assert inside(root, "a/b.jpg") == root.resolve() / "a" / "b.jpg"


def test_a_directory_is_built_once_and_only_whole(tmp_path) -> None:
    target = tmp_path / "cache" / "scenes"

    def fail(work):
        (work / "half").write_text("x")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        build_once(target, fail)
    assert not target.exists() and os.listdir(target.parent) == []
    build_once(target, lambda work: (work / "whole").write_text("x"))
    build_once(target, fail)  # there already: not built again
    assert [path.name for path in target.iterdir()] == ["whole"]


def test_processes_that_build_the_same_at_once_all_find_it_whole(tmp_path) -> None:
    program = """
import sys, time
from pathlib import Path
from itmlab.storage import build_once
def build(work):
    (work / "one").write_text("x" * 10**6)
    time.sleep(0.5)
    (work / "two").write_text("y")
found = build_once(Path(sys.argv[1]), build)
print(*sorted((path.name, path.stat().st_size) for path in found.iterdir()))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "cache" / "scenes")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {process.communicate()[0] for process in both} == {"('one', 1000000) ('two', 1)\n"}
    assert os.listdir(tmp_path / "cache") == ["scenes"]


def test_what_killed_builds_left_is_removed_by_the_next_and_what_lives_is_not(tmp_path) -> None:
    program = "import sys, time; from pathlib import Path; from itmlab.storage import build_once\n"
    program += "build_once(Path(sys.argv[1]), lambda work: (print(work.parent, flush=True), time.sleep(60)))"
    command = [sys.executable, "-c", program]
    builds = [
        subprocess.Popen([*command, str(tmp_path / name)], stdout=subprocess.PIPE, text=True) for name in ("one", "two")
    ]
    begun = [Path(process.stdout.readline().strip()) for process in builds]
    try:
        builds[0].kill()
        builds[0].wait()
        assert all(path.is_dir() for path in begun)
        build_once(tmp_path / "three", lambda work: None)
        assert [path.is_dir() for path in begun] == [False, True]
    finally:
        for process in builds:
            process.kill()
            process.communicate()
    build_once(tmp_path / "two", lambda work: None)
    assert sorted(os.listdir(tmp_path)) == ["three", "two"]


def test_hidden_folders_of_others_stay_where_something_is_built(tmp_path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".three.abc").mkdir()
    build_once(tmp_path / "three", lambda work: None)
    assert sorted(os.listdir(tmp_path)) == [".git", ".three.abc", "three"]


def test_a_cache_that_cannot_be_written_is_done_without_and_one_warning_says_so(tmp_path, monkeypatch) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    built = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for _ in range(3):
            assert not keep(cache_directory() / "checked" / "a", lambda file: file.write(b"x"))
            found = build_once(cache_directory() / "scenes" / "v1", built.append)
            assert found.is_dir()
    assert len(built) == 1  # for this process, once
    (said,) = [str(one.message) for one in warned]
    assert said.startswith(f"{tmp_path}/cache: nothing is kept here (") and said.endswith(
        "ITMLAB_CACHE names another place"
    )
    assert keep(tmp_path / "b", lambda file: file.write(b"x")) and (tmp_path / "b").read_bytes() == b"x"
    storage._own_folder.cache_clear()


def test_a_build_for_which_there_is_no_room_is_one_line(tmp_path) -> None:
    def build(work):
        with room_for(10):
            (work / "table").write_bytes(bytes(99999))

    refused(r"scenes: File too large — make room", build_once, tmp_path / "scenes", build)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["nope", "", "Quick"])
def test_profiles_are_two(name, monkeypatch) -> None:
    assert (profile("quick"), profile("full")) == ("quick", "full")
    refused(f"--profile: unknown profile '{name}' — use quick or full", profile, name)
    monkeypatch.setenv("ITMLAB_PROFILE", name)
    refused(f"ITMLAB_PROFILE: unknown profile '{name}'", profile)


def test_the_cache_goes_where_the_environment_says(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("ITMLAB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "itmlab"


def test_an_error_is_one_line_with_place_and_remedy() -> None:
    error = ItmlabError("empty caption", where="captions.csv:3", remedy="remove the row")
    assert str(error) == "captions.csv:3: empty caption — remove the row"
    assert str(MissingPart("faiss", "pip install faiss-cpu", needed_for="approximate search")).endswith(
        "— run: pip install faiss-cpu"
    )
