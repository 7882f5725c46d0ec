"""Files are wholly written or not there; names stay inside their root; faults of JSON name file and line."""

import errno
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from itmlab import storage
from itmlab.errors import ItmlabError, UnusablePath
from itmlab.storage import (
    atomic_file,
    build_once,
    cache_directory,
    inside,
    keep,
    read_json,
    refuse_foreign,
    usable,
    write_bytes,
    write_json,
)
from tests.data.picture_files import load_captions
from tests.refusals import refused, room_for


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path) -> None:
    path = tmp_path / "weights"
    write_bytes(path, b"good")
    with pytest.raises(RuntimeError), atomic_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"good" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_follows_the_umask_and_one_that_is_replaced_keeps_its_mode(tmp_path, umask) -> None:
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "new", b"x")
        build_once(tmp_path / "built", lambda work: None)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "built")]
    assert modes == [0o666 & ~umask, 0o777 & ~umask]
    (tmp_path / "new").chmod(0o640)
    write_bytes(tmp_path / "new", b"y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_file_too_large_to_be_read_is_refused(tmp_path) -> None:
    for name, read in {"captions.jsonl": load_captions, "a.json": read_json}.items():
        with open(tmp_path / name, "wb") as file:
            file.truncate(20 * 2**30)  # takes no room on the disk
        refused("more than", read, tmp_path / name)


def test_what_the_system_refuses_is_one_line_and_still_an_oserror(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    refused(r"file/a: .* — a file stands", write_bytes, tmp_path / "file" / "a", b"x")
    refused(r": Is a directory — name a file", write_bytes, tmp_path, b"x")
    with room_for(1000):
        refused(r"/a: File too large — make room", write_bytes, tmp_path / "a", bytes(9999))
    with pytest.raises(OSError) as caught, usable("here"):
        raise OSError(errno.EROFS, "Read-only file system", "there")
    assert isinstance(caught.value, UnusablePath) and caught.value.errno == errno.EROFS


def test_only_files_with_the_mark_are_overwritten_unless_forced(tmp_path) -> None:
    path = tmp_path / "out"
    assert not refuse_foreign(path, "itmlab_it")
    for content in (b"", bytes(1000)):  # as a power failure leaves a file
        path.write_bytes(content)
        assert not refuse_foreign(path, "itmlab_it")
    for padding in (b"", b"." * 50_000):
        path.write_bytes(padding + b"itmlab_it")
        assert refuse_foreign(path, "itmlab_it")
        refused("not written by itmlab", refuse_foreign, path, "itmlab_other")
        assert not refuse_foreign(path, "itmlab_other", force=True)
    for place in (tmp_path, "/dev/null"):
        refused("not a regular file", refuse_foreign, place, "itmlab_it", force=True)


def test_json_round_trips_and_refuses_not_a_number(tmp_path) -> None:
    path, value = tmp_path / "deep" / "value.json", {"caption": "собака 🐕", "n": [1, 2.5, None]}
    write_json(path, value)
    with pytest.raises(ValueError):
        write_json(path, float("nan"))
    assert read_json(path) == value
    path.write_bytes(b"\xef\xbb\xbf" + rb'["\ud83d\ude00", "\\ud800", 1.5e3]')
    assert read_json(path) == ["😀", "\\ud800", 1500.0]


BROKEN = {b'{"a": 1,\n "b": }': r"json:2: not valid JSON", b"\xff\xfe": "utf-8", b'{"a": [NaN]}': "finite number"}
BROKEN |= {b"[1e999]": "finite number", rb'["\ud800"]': "surrogate", b"[" * 10**5: "recursion", b"1" * 5000: "digits"}


@pytest.mark.parametrize("content", BROKEN)
def test_unreadable_json_is_one_line_with_its_place(tmp_path, content) -> None:
    (tmp_path / "broken.json").write_bytes(content)
    refused(rf"broken\.json.*{BROKEN[content]}|{BROKEN[content]}", read_json, tmp_path / "broken.json")
    refused("no such file", read_json, tmp_path / "missing.json")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "link/secret", "a\0b"])
def test_no_path_leaves_its_root(tmp_path, name) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    refused("leaves its root|not a file name", inside, root, name)
    assert inside(root, "a/b.jpg") == root.resolve() / "a" / "b.jpg"


BUILD = "import sys, time, pathlib, itmlab.storage\ndef build(work):\n    (work / 'one').write_text('x')\n"
BUILD += "    print('begun', flush=True)\n    time.sleep(float(sys.argv[2]))\n    (work / 'two').write_text('y')\n"
BUILD += "print(sorted(at.name for at in itmlab.storage.build_once(pathlib.Path(sys.argv[1]), build).iterdir()))"


def test_a_directory_is_built_whole_by_processes_at_once_and_after_a_kill(tmp_path) -> None:
    def start(seconds):
        command = [sys.executable, "-c", BUILD, str(tmp_path / "cache" / "scenes"), str(seconds)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    killed = start(60)
    assert killed.stdout.readline() == "begun\n"
    killed.kill()
    killed.communicate()
    processes = [start(0.5) for _ in range(2)]
    assert all(process.communicate()[0].endswith("['one', 'two']\n") for process in processes)
    (tmp_path / "cache" / ".git").mkdir()
    with pytest.raises(ItmlabError), room_for(10):
        build_once(tmp_path / "cache" / "other", lambda work: (work / "table").write_bytes(bytes(99999)))
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [".git", "scenes"]


@pytest.mark.parametrize("fault", ["a file in its place", "another user's"])
def test_a_cache_of_no_use_is_replaced_by_a_private_one_with_a_warning(tmp_path, monkeypatch, fault) -> None:
    storage._private_folder.cache_clear()
    if fault == "another user's":  # may not be read; the tests may run as root, who may read anything
        (tmp_path / "cache" / "scenes" / "v1").mkdir(parents=True)
        (tmp_path / "cache" / "checked").write_text("")
        may_read = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: "cache" not in str(path) and may_read(path, mode))
    else:
        (tmp_path / "cache").write_text(fault)
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    built: list[Path] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert not keep(cache_directory() / "checked" / "a", lambda file: file.write(b"x"))
            assert build_once(cache_directory() / "scenes" / "v1", built.append).is_dir()
    assert len(built) == 1 and len({str(warning.message) for warning in caught}) == len(caught) <= 2
    assert all("ITMLAB_CACHE" in str(warning.message) for warning in caught)
    assert keep(tmp_path / "b", lambda file: file.write(b"x")) and (tmp_path / "b").read_bytes() == b"x"
    storage._private_folder.cache_clear()
