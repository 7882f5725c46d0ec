"""Checking every picture of a set, once."""

import os

import pytest

from itmlab.data import images, load, verify
from itmlab.errors import ItmlabError

from .picture_files import write_folder


@pytest.fixture
def checked(monkeypatch):
    """The paths of the pictures that are really looked at."""
    seen = []

    def watched(source, **options):
        seen.append((os.path.basename(source), options["decode"]))
        images.check_image(source, **options)

    monkeypatch.setattr(verify, "check_image", watched)
    return seen


def test_a_sound_set_is_checked_once_until_it_changes(tmp_path, checked):
    root = write_folder(tmp_path / "own", 3)
    load("folder", root)
    assert sorted(checked) == [("0.jpg", True), ("1.jpg", True), ("2.jpg", True)]
    load("folder", root)
    assert len(checked) == 3
    (root / "images" / "1.jpg").write_bytes(b"")
    with pytest.raises(ItmlabError, match=r"1.jpg: the picture is empty"):
        load("folder", root)
    with pytest.raises(ItmlabError, match=r"1.jpg: the picture is empty"):
        load("folder", root)


def test_how_deep_is_a_choice_and_by_default_a_matter_of_size(tmp_path, checked, monkeypatch):
    root = write_folder(tmp_path / "own", 3)
    load("folder", root, verify="header")
    assert {decode for _, decode in checked} == {False}
    monkeypatch.setattr(verify, "DECODED_UP_TO", 2)
    checked.clear()
    load("folder", root)
    assert checked == []  # three are too many to decode, and their headers are known
    load("folder", root, verify="decode")
    assert {decode for _, decode in checked} == {True}
