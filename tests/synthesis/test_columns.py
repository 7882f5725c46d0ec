"""Tables for others, read by `datasets` and as NegCLIP's loader reads: nothing dropped in silence, no path outside."""

import ast
import random
from pathlib import Path

import datasets
import pandas
import pytest
import torch
from PIL import Image

from itmlab.data import load
from itmlab.data.captionset import CaptionSet
from itmlab.synthesis.columns import IMAGE, write_table
from tests.refusals import refused
from tests.synthesis.negatives_data import HOSTILE

COLOURS = ("red", "green", "blue", "white")


@pytest.fixture
def data() -> CaptionSet:
    """Four pictures of one colour with two captions each, each with something that a table could stumble over."""
    captions = [f"{HOSTILE[at]} {at}" for at in range(8)]
    return CaptionSet(
        name="colours",
        images=[Image.new("RGB", (9, 7), colour) for colour in COLOURS],
        image_ids=["../../out", "a\tb", "c/d", "é"],
        captions=captions,
        caption_ids=[str(at) for at in range(8)],
        image_of_caption=torch.arange(8) // 2,
        splits={},
    )


SENTENCES = [[], ["one"], ['it\'s "one"', "two\n2"], ["a\ttab"], ["x", "y", "z"], ["w"], ["v", "u"], []]
IMAGES = [[1, 2], [3], [0], [2, 3], [0, 1], [], [0, 1, 2], [1]]


class NegCLIP:
    """What NegCLIP's fork of open_clip does with a table (`training/data.py`, CsvDataset), but for the tokeniser.

    open_clip_torch, which brings torchvision and timm, is no dependency for that.
    """

    def __init__(self, path: Path, sep: str = "\t"):
        lists = {"neg_caption": ast.literal_eval, "neg_image": ast.literal_eval}
        self.home, self.table = path.parent, pandas.read_csv(path, sep=sep, converters=lists)

    def __len__(self) -> int:
        return len(self.table)

    def open(self, row: int) -> Image.Image:
        return Image.open(self.home / str(self.table["filepath"][row]))

    def __getitem__(self, row: int) -> tuple:
        near = random.choice(self.table["neg_image"][row])
        drawn = [random.choice(self.table["neg_caption"][one]) for one in (row, near)]
        return self.open(row), self.open(near), self.table["title"][row], self.table["title"][near], *drawn


def colour(picture: Image.Image) -> str:
    return next(
        name
        for name in COLOURS
        if picture.convert("RGB").getpixel((0, 0)) == Image.new("RGB", (1, 1), name).getpixel((0, 0))
    )


def from_parquet(path: Path) -> list[dict]:
    return list(datasets.Dataset.from_parquet(str(path), cache_dir=str(path.parent / "cache")))


@pytest.mark.parametrize("images", [None, IMAGES])
def test_negclips_loader_reads_every_pair_that_has_negatives(tmp_path, data, images) -> None:
    done = write_table(data, tmp_path / "x.tsv", "negclip", SENTENCES, images=images)
    read = NegCLIP(done.path)
    kept = [at for at in range(8) if SENTENCES[at] and (images is None or IMAGES[at])]
    assert [*read.table["title"]] == [data.captions[at] for at in kept] and done.rows == len(kept)
    assert [*read.table["neg_caption"]] == [SENTENCES[at] for at in kept]
    assert done.left_out == 8 - len(kept) and f"{done.left_out} pairs left out" in str(done)
    for row, at in enumerate(kept):
        picture, near, title, other, negative, others = read[row]
        assert title == data.captions[at] and negative in SENTENCES[at] and any(others in some for some in SENTENCES)
        assert colour(picture) == COLOURS[at // 2] != colour(near) and data.captions.index(other) // 2 != at // 2
        owners = {kept[one] // 2 for one in read.table["neg_image"][row]}
        assert owners <= (set(range(4)) - {at // 2} if images is None else set(IMAGES[at]))


def test_a_near_picture_that_has_no_row_is_none(tmp_path, data) -> None:
    sentences = [["n"], [], ["n"], [], ["n"], [], [], []]
    images = [
        [1],
        [],
        [2, 3],
        [],
        [3],
        [],
        [],
        [],
    ]  # the last image has no row, so the third, so the second, so the first
    refused("no pair has negatives enough", write_table, data, tmp_path / "x.tsv", "negclip", sentences, images=images)
    assert not list(tmp_path.iterdir())


def test_sentence_transformers_triplets_and_tuples(tmp_path, data) -> None:
    done = write_table(data, tmp_path / "x.parquet", "sentence-transformers", SENTENCES)
    rows = from_parquet(done.path)
    assert [*rows[0]] == ["anchor", "positive", "negative"] and done.rows == sum(map(len, SENTENCES)) == len(rows)
    told = [(colour(row["anchor"]), row["positive"], row["negative"]) for row in rows]
    assert told == [(COLOURS[at // 2], data.captions[at], one) for at in range(8) for one in SENTENCES[at]]
    done = write_table(data, tmp_path / "y.parquet", "sentence-transformers", SENTENCES, number=2)
    rows = from_parquet(done.path)
    assert [*rows[0]] == ["anchor", "positive", "negative_1", "negative_2"] and (done.rows, done.left_out) == (3, 5)
    assert [(row["negative_1"], row["negative_2"]) for row in rows] == [tuple(SENTENCES[at][:2]) for at in (2, 4, 6)]
    more = {"images": IMAGES, "anchors": "captions", "number": 2}
    rows = from_parquet(write_table(data, tmp_path / "z.parquet", "sentence-transformers", SENTENCES, **more).path)
    assert [row["anchor"] for row in rows] == [data.captions[at] for at in (0, 3, 4, 6)]
    assert [colour(row["negative_2"]) for row in rows] == [COLOURS[IMAGES[at][1]] for at in (0, 3, 4, 6)]


def test_vlm2vec_has_a_row_a_negative_and_keeps_pairs_without(tmp_path, data) -> None:
    done = write_table(data, tmp_path / "x.parquet", "vlm2vec", SENTENCES)
    rows = from_parquet(done.path)
    assert done.rows == len(rows) == sum(max(len(some), 1) for some in SENTENCES) and done.left_out == 0
    assert {*rows[0]} == {"qry", "qry_image_path", "pos_text", "pos_image_path", "neg_text", "neg_image_path"}
    assert rows[0]["neg_text"] == "" and rows[0]["qry"].startswith(IMAGE) and rows[0]["pos_image_path"] == ""
    assert [row["neg_text"] for row in rows[1:4]] == ["one", *SENTENCES[2]]
    assert all(colour(Image.open(tmp_path / row["qry_image_path"])) in COLOURS for row in rows)
    done = write_table(data, tmp_path / "y.parquet", "vlm2vec", SENTENCES, images=IMAGES, anchors="captions")
    rows = from_parquet(done.path)
    first = rows[0]
    assert first["qry"].endswith(data.captions[0]) and (first["qry_image_path"], first["pos_text"]) == ("", IMAGE)
    assert [colour(Image.open(tmp_path / row["neg_image_path"])) for row in rows[:2]] == ["green", "blue"]
    empty = [row for row in rows if not row["neg_image_path"]]
    assert len(empty) == 1 and empty[0]["neg_text"] == "" and empty[0]["qry"].endswith(data.captions[5])


def test_paths_begin_at_the_root_of_a_folder_and_never_lead_out(tmp_path, data) -> None:
    (tmp_path / "root/images").mkdir(parents=True)
    for name in ("a", "b"):
        Image.new("RGB", (8, 8), "red" if name == "a" else "blue").save(tmp_path / f"root/images/{name}.png")
    (tmp_path / "root/captions.csv").write_text("image,caption\na.png,a red one\nb.png,a blue one\n")
    folder = load("folder", tmp_path / "root")
    done = write_table(folder, tmp_path / "x.tsv", "negclip", [["n"], ["m"]], root=tmp_path / "root")
    assert [*NegCLIP(done.path).table["filepath"]] == ["images/a.png", "images/b.png"]
    assert done.pictures == tmp_path / "root"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for made, root in ((folder, elsewhere), (folder, None), (data, tmp_path)):
        sentences = [["n"]] * len(made.captions)
        done = write_table(made, elsewhere / "x.tsv", "negclip", sentences, root=root, force=True)
        for path in NegCLIP(done.path).table["filepath"]:
            assert (elsewhere / path).resolve().is_relative_to(elsewhere / f"pictures-{made.fingerprint[:12]}")
            Image.open(elsewhere / path).load()


def test_what_cannot_be_written_is_refused(tmp_path, data) -> None:
    refused("no layout 'csv'", write_table, data, tmp_path / "x.csv", "csv", SENTENCES)
    refused(r"negclip is no \.csv", write_table, data, tmp_path / "x.csv", "negclip", SENTENCES)
    refused("without images", write_table, data, tmp_path / "x.parquet", "vlm2vec", SENTENCES, anchors="captions")
    for layout, number in (("vlm2vec", 2), ("sentence-transformers", 0)):
        refused("number", write_table, data, tmp_path / "x.parquet", layout, SENTENCES, number=number)
    refused("enough", write_table, data, tmp_path / "x.parquet", "sentence-transformers", SENTENCES, number=4)
    (tmp_path / "mine.tsv").write_text("not itmlab's")
    refused("did not write", write_table, data, tmp_path / "mine.tsv", "negclip", SENTENCES)
    assert (tmp_path / "mine.tsv").read_text() == "not itmlab's"
    again = [write_table(data, tmp_path / "x.tsv", "negclip", SENTENCES).path.read_bytes() for _ in range(2)]
    assert again[0] == again[1]
