"""Yardsticks: read with all faults at once, joined with pictures, and measured item by item beside their controls."""

import gzip
import json
import random
from collections.abc import Sequence
from itertools import pairwise, permutations
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import FaultyData
from itmlab.data.pictures import NoPictures
from itmlab.metrics import Yardstick, YardstickItem, measure, read_yardstick
from tests.refusals import refused


def pair(picture: str, caption: object, negative: str) -> dict[str, object]:
    return {"filename": picture, "caption": caption, "negative_caption": negative}


RECORDS = {
    "0": pair("000000222235.jpg", "A cat sits on a plant.", "A plant sits on a cat."),
    "1": pair("000000480021.jpg", "A man waves at two men.", "Two men wave at a man."),
    "4": pair("000000222235.jpg", "a dog and a boy ", "A boy and a puppy."),
}


def picture(path: Path, colour: str = "red") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), colour).save(path)


@pytest.fixture
def sugarcrepe(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "swap_obj.json").write_text(json.dumps(RECORDS))
    added = {"0": pair("000000000007.jpg", "A cat.", "A cat and a cup.")}
    (tmp_path / "data" / "add_obj.json.gz").write_bytes(gzip.compress(json.dumps(added).encode()))
    (tmp_path / "data" / "README.json").write_text("[]")
    return tmp_path


def test_sugarcrepe_is_read_by_its_keys(sugarcrepe) -> None:
    yardstick = read_yardstick("sugarcrepe", sugarcrepe)
    assert yardstick.kinds == {"add_obj": 1, "swap_obj": 3} and not yardstick.left_out
    texts = ("a dog and a boy ",), ("A boy and a puppy.",)
    assert yardstick.items[-1] == YardstickItem("000000222235.jpg", *texts, "swap_obj", "swap_obj.json:4")
    assert read_yardstick("sugarcrepe", sugarcrepe / "data" / "swap_obj.json").items == yardstick.items[1:]


def test_a_false_caption_that_is_a_true_one_is_counted_and_left_out(tmp_path) -> None:
    """The published file of SugarCrepe++ has two such rows in swap_obj."""
    same = {"id": 3, **pair("1.jpg", "A cat.", "a  CAT."), "caption2": "One cat."}
    record = {"id": 4, **RECORDS["1"], "caption2": "One man greets a pair of men."}
    (tmp_path / "swap_obj.json").write_text(json.dumps([same, record, same | {"negative_caption": "one cat."}]))
    yardstick = read_yardstick("sugarcrepe++", tmp_path)
    assert [item.true for item in yardstick.items] == [("A man waves at two men.", "One man greets a pair of men.")]
    assert list(yardstick.left_out.values()) == [2]
    table = measure(yardstick)
    assert table.left_out == yardstick.left_out and "left out: 2 rows" in str(table)
    (tmp_path / "swap_obj.json").write_text(json.dumps([RECORDS["1"]]))
    with pytest.raises(FaultyData, match="caption2"):
        read_yardstick("sugarcrepe++", tmp_path)


def test_any_set_is_read_as_json_lines(tmp_path) -> None:
    rows = [
        {"image": "1.jpg", "true": "a dog", "false": ["a cat", "a cow"], "type": "object"},
        {"image": "2.jpg", "true": ["two dogs", "dogs"], "false": "a dog", "type": "number"},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = read_yardstick("jsonl", file).items
    assert first == YardstickItem("1.jpg", ("a dog",), ("a cat", "a cow"), "object", "mine.jsonl:1")
    assert second.true == ("two dogs", "dogs")
    file.write_text(json.dumps(rows[0]) + "\n" + json.dumps({"image": "1.jpg", "true": [], "false": "a", "type": "x"}))
    with pytest.raises(FaultyData, match=r"mine\.jsonl:2: .*at least one sentence"):
        read_yardstick("jsonl", tmp_path)


def test_all_faults_of_the_files_are_reported_at_once(tmp_path) -> None:
    rows = {
        "good": RECORDS["0"],
        "empty": pair("1.jpg", "A cat.", " "),
        "number": pair("1.jpg", 5, "A dog."),
        "nameless": pair("", "A cat.", "A dog."),
        "lacking": {"filename": "1.jpg", "caption": "A cat."},
        "text": "A cat.",
    }
    (tmp_path / "swap_obj.json").write_text(json.dumps(rows))
    (tmp_path / "swap_att.json").write_text("{")
    (tmp_path / "add_att.json").write_text("3")
    with pytest.raises(FaultyData) as caught:
        read_yardstick("sugarcrepe", tmp_path)
    places = {(Path(fault.file).name, fault.row) for fault in caught.value.faults}
    assert places == {
        ("add_att.json", None), ("swap_att.json", None), *(("swap_obj.json", key) for key in rows if key != "good"),
    }  # fmt: skip


def test_what_is_not_a_yardstick_is_refused(tmp_path) -> None:
    refused("did you mean sugarcrepe", read_yardstick, "sugarcrep", tmp_path)
    refused("none of its files", read_yardstick, "sugarcrepe", tmp_path)
    refused("none of its files", read_yardstick, "sugarcrepe", tmp_path / "absent")
    (tmp_path / "add_att.json").write_text("{}")
    refused("no items", read_yardstick, "sugarcrepe", tmp_path)


def test_items_without_an_available_picture_are_counted(sugarcrepe, tmp_path) -> None:
    picture(tmp_path / "coco" / "val2014" / "COCO_val2014_000000222235.jpg")
    picture(tmp_path / "coco" / "000000000007.jpg", "blue")
    benchmark = read_yardstick("sugarcrepe", sugarcrepe)
    joined = benchmark.with_pictures(tmp_path / "coco")
    assert [item.source for item in joined.items] == ["add_obj.json.gz:0", "swap_obj.json:0", "swap_obj.json:4"]
    assert list(joined.left_out.values()) == [1]
    assert joined.pictures.images[joined.numbers[0]].getpixel((0, 0))[2] > 200
    assert joined.with_pictures().numbers == joined.numbers
    for images in (sugarcrepe / "data", None):
        refused("no picture of its 4 items", benchmark.with_pictures, images)
    refused("no such folder", benchmark.with_pictures, tmp_path / "absent")


def yardstick(items: Sequence[YardstickItem]) -> Yardstick:
    names = list(dict.fromkeys(item.image for item in items))
    empty = {"captions": [], "caption_ids": [], "image_of_caption": torch.empty(0, dtype=torch.int64), "splits": {}}
    images = NoPictures(len(names))
    return Yardstick("few", tuple(items), pictures=CaptionSet(name="few", images=images, image_ids=names, **empty))


def sides(true: int, false: int, name: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(f"true {name} {at}" for at in range(true)), tuple(f"false {name} {at} more" for at in range(false))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32))
def test_each_measure_is_what_counting_item_by_item_gives(seed) -> None:
    dice, items = random.Random(seed), []
    for name in range(dice.randint(1, 12)):
        texts = sides(dice.randint(1, 2), dice.randint(1, 3), name)
        items.append(YardstickItem(f"{dice.randint(0, 4)}.jpg", *texts, dice.choice("ab")))
    benchmark = yardstick(items)
    ids = benchmark.pictures.image_ids
    scores = {(image, text): float(dice.randint(0, 3)) for image in ids for text in benchmark.sentences}
    blind = {text: float(dice.randint(0, 2)) for text in benchmark.sentences}

    def match(images, sentences):
        return torch.tensor([scores[ids[image], text] for image, text in zip(images, sentences, strict=True)])

    table = measure(benchmark, match, text={"blind": torch.tensor([blind[text] for text in benchmark.sentences])})
    for kind, row in table.rows.items():
        chosen = [item for item in items if kind in ("all", item.kind)]
        right = tied = chance = at_random = 0
        for item in chosen:
            true, false = ([scores[item.image, text] for text in texts] for texts in (item.true, item.false))
            right += min(true) > max(false)
            tied += min(true) == max(false)
            every = list(permutations(item.sentences))
            first = [set(order[: len(item.true)]) == set(item.true) for order in every]
            chance += sum(first) / len(every)
            ranked = [all(blind[a] >= blind[b] for a, b in pairwise(order)) for order in every]
            at_random += sum(a and b for a, b in zip(first, ranked, strict=True)) / sum(ranked)
        assert (row.items, row.shares["right"].count, row.shares["right"].of, row.ties) == (
            len(chosen),
            right,
            len(chosen),
            tied,
        )
        assert row.chance == pytest.approx(chance / len(chosen))
        assert row.shares["blind"].percent == pytest.approx(100 * at_random / len(chosen))
        assert row.shares["shorter"].percent == 100  # a false sentence has a word more


@pytest.mark.parametrize(("true", "false"), [(1, 1), (2, 1), (2, 2)])
def test_a_control_that_knows_nothing_is_at_chance_and_a_model_that_ties_is_wrong(true, false) -> None:
    benchmark = yardstick([YardstickItem(f"{name}.jpg", *sides(true, false, name), "a") for name in range(8)])
    nothing = torch.zeros(len(benchmark.sentences))
    row = measure(benchmark, lambda images, sentences: nothing, text={"text only": nothing}).rows["all"]
    assert row.shares["right"].count == 0 and row.ties == 8
    for name in ("text only", "wrong picture"):
        assert row.shares[name].percent == pytest.approx(100 * row.chance) and row.shares[name].of == 8
    assert row.shares["text only"].lower < 100 * row.chance < row.shares["text only"].upper


def test_beside_a_wrong_picture_only_what_the_words_say_is_left() -> None:
    items = [YardstickItem(f"{name}.jpg", *sides(1, 1, name), "a") for name in range(40)]
    benchmark, asked = yardstick(items), []

    def looks(images, sentences):
        asked.append(images)
        return torch.tensor([float(f"true {image} " in f"{s} ") for image, s in zip(images, sentences, strict=True)])

    def reads(images, sentences):
        return torch.tensor([float(sentence.startswith("true")) for sentence in sentences])

    for match, control in ((looks, 50), (reads, 100)):
        row = measure(benchmark, match).rows["all"]
        assert row.shares["right"].percent == 100 and row.shares["wrong picture"].percent == control
    right, wrong = asked
    assert sorted(right) == sorted(wrong) and all(a != b for a, b in zip(right, wrong, strict=True))


def test_what_cannot_be_measured_is_refused() -> None:
    benchmark = yardstick([YardstickItem("0.jpg", *sides(1, 1, 0), "a")])
    refused("pictures", measure, Yardstick("few", benchmark.items), lambda images, sentences: torch.zeros(2))
    for scores in (torch.zeros(3), torch.tensor([0.0, float("nan")])):
        refused("scores", measure, benchmark, text={"text only": scores})
