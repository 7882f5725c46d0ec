"""Files are wholly written or not there; names stay inside their root; JSON faults name file and line."""

import os

import pytest

from itmlab.errors import ItmlabError, MissingPart
from itmlab.storage import atomic_file, build_once, cache_directory, inside, read_json, write_bytes, write_json
from tests.refusals import refused


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path) -> None:
    path = tmp_path / "weights"
    write_bytes(path, b"good")
    with pytest.raises(RuntimeError), atomic_file(path) as file:
        file.write(b"half")
        raise RuntimeError("the power went")
    assert path.read_bytes() == b"good"
    assert list(tmp_path.iterdir()) == [path]


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
