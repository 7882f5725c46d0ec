"""Yardsticks in the formats that were published, with all that can be wrong in their files."""

import gzip
import io
import json
import random
from pathlib import Path

import pytest
from datasets import Dataset, Features, Value
from datasets import Image as ImageColumn
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from itmlab.data import load
from itmlab.data.faults import FaultyData
from itmlab.metrics import YardstickItem, picture_key, read_yardstick
from tests.refusals import refused


def pair(picture: str, caption: str, negative: str) -> dict[str, str]:
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


def test_sugarcrepe_is_read_by_its_keys_of_which_some_were_taken_out(sugarcrepe) -> None:
    found = read_yardstick("sugarcrepe", sugarcrepe)
    assert found.kinds == {"add_obj": 1, "swap_obj": 3} and not found.left_out
    last = found.items[-1]
    assert last == YardstickItem(
        "000000222235.jpg", ("a dog and a boy ",), ("A boy and a puppy.",), "swap_obj", "swap_obj.json:4"
    )
    alone = read_yardstick("sugarcrepe", sugarcrepe / "data" / "swap_obj.json")
    assert alone.items == found.items[1:] and "3 items of 1 kinds" in repr(alone)


@settings(deadline=None, max_examples=30)
@given(keys=st.permutations(sorted(RECORDS)), number=st.integers(1, 3))
def test_whichever_keys_are_left_in_whatever_order_their_items_are(keys, number, tmp_path_factory) -> None:
    root = tmp_path_factory.mktemp("left")
    (root / "swap_obj.json").write_text(json.dumps({key: RECORDS[key] for key in keys[:number]}))
    found = read_yardstick("sugarcrepe", root)
    assert [item.source for item in found.items] == [f"swap_obj.json:{key}" for key in keys[:number]]
    assert [item.false[0] for item in found.items] == [RECORDS[key]["negative_caption"] for key in keys[:number]]


def test_sugarcrepe_pp_has_a_list_of_records_with_two_true_captions(tmp_path) -> None:
    record = {"id": 3, **RECORDS["1"], "caption2": "One man greets a pair of men."}
    (tmp_path / "replace_rel.json").write_text(json.dumps([record]))
    [item] = read_yardstick("sugarcrepe++", tmp_path).items
    assert item.true == ("A man waves at two men.", "One man greets a pair of men.") and item.kind == "replace_rel"
    assert item.sentences == (*item.true, "Two men wave at a man.") and item.source == "replace_rel.json:0"
    (tmp_path / "replace_rel.json").write_text(json.dumps([RECORDS["1"]]))
    with pytest.raises(FaultyData, match="there is no 'caption2'"):
        read_yardstick("sugarcrepe++", tmp_path)


def foil(votes: int, **more: object) -> dict[str, object]:
    own = {"image_file": "v7w_3.jpg", "caption": "There are no people.", "foil": "There are people."}
    return {**own, "mturk": {"foil": 3 - votes, "caption": votes, "other": 0}, **more}


def test_valse_keeps_the_foils_that_two_of_three_people_took_for_false(tmp_path) -> None:
    rows = {"a": foil(3), "b": foil(1), "c": foil(2, image_file="exercising_255.jpg"), "d": foil(0)}
    (tmp_path / "existence.json").write_text(json.dumps(rows))
    (tmp_path / "actant-swap.json").write_text(json.dumps({"e": foil(3, mturk=None)}))
    found = read_yardstick("valse", tmp_path)
    assert found.kinds == {"actant-swap": 1, "existence": 2}
    assert list(found.left_out.values()) == [2] and "two of three people" in repr(found)


def spatial(**more: object) -> dict[str, object]:
    return {
        "image": "000000017697.jpg",
        "caption": "The car is behind the cat.",
        "label": 1,
        "relation": "behind",
    } | more


def test_vsr_has_one_sentence_a_row_true_or_false(tmp_path) -> None:
    rows = [spatial(), spatial(label=0, relation="touching"), spatial(relation="opposite to"), spatial(relation="near")]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    (tmp_path / "train.jsonl").write_text("not read")
    found = read_yardstick("vsr", tmp_path)
    assert [item.kind for item in found.items] == ["projective", "topological", "unallocated", "proximity"]
    assert found.items[0].true and not found.items[0].false and found.items[1].false and not found.items[1].true
    (tmp_path / "test.jsonl").write_text(json.dumps(spatial(label="true")))
    with pytest.raises(FaultyData, match=r"test\.jsonl:1: the label is neither 0 nor 1 but 'true'"):
        read_yardstick("vsr", tmp_path)


NEGCLIP = """\
\ttitle\tfilepath\tneg_caption\tneg_image
0\tA child holding an umbrella and petting a yak.\tcoco/val2014/COCO_val2014_000000184613.jpg\t['A umbrella holding a \
child and petting a yak .', 'A child petting an umbrella and holding a yak .']\t[2973, 1515, 2235]
1\tA truck on it's flatbed.\tcoco/val2014/COCO_val2014_000000551952.jpg\t"[""A flatbed on it 's truck .""]"\t[999]
2\tA truck.\tcoco/val2014/COCO_val2014_000000551952.jpg\t[]\t[999]
"""


def test_negclips_file_has_a_list_of_false_captions_as_python_writes_it(tmp_path) -> None:
    file = tmp_path / "temp_data" / "valid_neg_clip.tsv"
    file.parent.mkdir()
    file.write_text(NEGCLIP)
    found = read_yardstick("negclip", tmp_path)
    assert [len(item.false) for item in found.items] == [2, 1]
    assert found.items[1].false == ("A flatbed on it 's truck .",) and found.items[1].source == "valid_neg_clip.tsv:3"
    assert found.left_out == {"rows without a false sentence": 1}
    (tmp_path / "my_negclip.csv").write_text("title,filepath,neg_caption\na dog,1.jpg,\"['a cat', 'a cow']\"\n")
    assert read_yardstick("negclip", tmp_path).items[0].false == ("a cat", "a cow")


@pytest.mark.parametrize("cell", ["__import__('os').getcwd()", "['a', 3]", "a cat", "[" * 5000, "('a',)"])
def test_nothing_in_negclips_file_is_run(cell, tmp_path) -> None:
    (tmp_path / "neg_clip.tsv").write_text(f"title\tfilepath\tneg_caption\na dog\t1.jpg\t{cell}\n")
    with pytest.raises(FaultyData, match="neg_caption is not a list of sentences"):
        read_yardstick("negclip", tmp_path)


def in_bytes(colour: str) -> dict[str, object]:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


def test_bivlc_has_both_pictures_in_its_rows(tmp_path) -> None:
    texts = ("caption", "negative_caption", "type", "subtype")
    features = Features(
        {"image": ImageColumn(), "negative_image": ImageColumn(), **{name: Value("string") for name in texts}}
    )
    rows = [(in_bytes("red"), in_bytes("blue"), "a red", "a blue", "replace", "att")]
    rows += [(in_bytes("green"), in_bytes("red"), "a green", "a red one", "swap", "obj")]
    columns = dict(zip(("image", "negative_image", *texts), map(list, zip(*rows, strict=True)), strict=True))
    (tmp_path / "data").mkdir()
    Dataset.from_dict(columns, features=features).to_parquet(tmp_path / "data" / "test-00000-of-00001.parquet")
    found = read_yardstick("bivlc", tmp_path).with_pictures()
    assert found.kinds == {"replace_att": 1, "swap_obj": 1} and len(found.pictures) == 4
    seen = [found.pictures.images[found.number(name)].getpixel((0, 0)) for name in ("0", "0 negative", "1")]
    assert seen == [(255, 0, 0), (0, 0, 255), (0, 128, 0)]
    assert found.items[1].false_image == "1 negative"
    (tmp_path / "data" / "test-00000-of-00001.parquet").write_bytes(b"PAR1")
    refused("cannot be read as BiVLC's table", read_yardstick, "bivlc", tmp_path)


def test_all_that_is_wrong_in_the_files_is_told_at_once(tmp_path) -> None:
    rows = {
        "good": RECORDS["0"],
        "same": pair("1.jpg", "A cat.", "a  CAT."),
        "empty": pair("1.jpg", "A cat.", " "),
        "number": pair("1.jpg", 5, "A dog."),
        "nameless": pair("", "A cat.", "A dog."),
        "lacking": {"filename": "1.jpg", "caption": "A cat."},
        "text": "A cat.",
    }
    (tmp_path / "swap_obj.json").write_text(json.dumps(rows)[:-1] + ', "good": ' + json.dumps(RECORDS["1"]) + "}")
    (tmp_path / "swap_att.json").write_text("{")
    (tmp_path / "add_att.json").write_text("3")
    with pytest.raises(FaultyData) as caught:
        read_yardstick("sugarcrepe", tmp_path)
    told = {(Path(fault.file).name, fault.row): fault.what for fault in caught.value.faults}
    assert told == {
        ("add_att.json", None): "neither an object nor a list of records",
        ("swap_att.json", None): told["swap_att.json", None],
        ("swap_obj.json", "good"): "the key stands twice",
        ("swap_obj.json", "same"): "a false sentence says the same as a true one",
        ("swap_obj.json", "empty"): "a false sentence: it is empty",
        ("swap_obj.json", "number"): "a true sentence: not a text but 5",
        ("swap_obj.json", "nameless"): "no name of a picture but ''",
        ("swap_obj.json", "lacking"): "there is no 'negative_caption'",
        ("swap_obj.json", "text"): "not a record",
    }
    with pytest.warns(UserWarning, match="9 faults"):
        found = read_yardstick("sugarcrepe", tmp_path, on_fault="skip", skipped_to=tmp_path / "skipped.jsonl")
    assert len(found.items) == 1 and len(found.skipped) == 9


def test_what_is_no_yardstick_is_refused(tmp_path) -> None:
    refused("no yardstick 'sugarcrep'.*did you mean sugarcrepe", read_yardstick, "sugarcrep", tmp_path)
    refused("none of its files.*it has existence.json, plurals.json", read_yardstick, "valse", tmp_path)
    refused("no such file or folder", read_yardstick, "valse", tmp_path / "absent")
    (tmp_path / "existence.json").write_text("{}")
    refused("there are no items in it", read_yardstick, "valse", tmp_path)


@given(number=st.integers(0, 10**12 - 1), year=st.sampled_from([2014, 2017]), split=st.sampled_from(["train", "val"]))
def test_a_photograph_has_one_key_in_all_editions_of_coco(number, year, split) -> None:
    names = (
        f"{number:012}.jpg",
        f"COCO_{split}{year}_{number:012}.jpg",
        f"coco/{split}2014/{number:012}.jpg",
        str(number),
    )
    assert {picture_key(name) for name in names} == {str(number)}


def test_items_whose_pictures_are_not_at_hand_are_counted(sugarcrepe, tmp_path) -> None:
    picture(tmp_path / "coco" / "val2014" / "COCO_val2014_000000222235.jpg")
    picture(tmp_path / "coco" / "000000000007.jpg", "blue")
    whole = read_yardstick("sugarcrepe", sugarcrepe)
    found = whole.with_pictures(tmp_path / "coco")
    assert [item.source for item in found.items] == ["add_obj.json.gz:0", "swap_obj.json:0", "swap_obj.json:4"]
    assert found.left_out == {"items whose picture is not at hand": 1} and found.whole == whole.items
    assert found.pictures.images[found.number("000000000007.jpg")].getpixel((0, 0))[2] > 200
    assert found.pictures.captions_of([found.number("000000222235.jpg")]) == [
        ["A cat sits on a plant.", "a dog and a boy "]
    ]
    refused("none of its pictures is at hand.*give --images.*jpg", whole.with_pictures, sugarcrepe / "data")
    refused("there is no such folder of pictures", whole.with_pictures, tmp_path / "absent")
    refused("none of its pictures is at hand", whole.with_pictures)
    (tmp_path / "coco" / "000000480021.jpg").write_bytes(b"no picture")
    refused("1 of its pictures cannot be read", whole.with_pictures, tmp_path / "coco")


def test_pictures_may_be_those_of_a_data_set(sugarcrepe, tmp_path) -> None:
    picture(tmp_path / "mine" / "images" / "COCO_val2014_000000480021.jpg")
    (tmp_path / "mine" / "captions.csv").write_text("image,caption\nCOCO_val2014_000000480021.jpg,a man\n")
    found = read_yardstick("sugarcrepe", sugarcrepe).with_pictures(load("folder", tmp_path / "mine"))
    assert [item.source for item in found.items] == ["swap_obj.json:1"] and found.number("000000480021.jpg") == 0
    assert found.left_out == {"items whose picture is not at hand": 3}


def test_the_order_of_the_files_rows_changes_no_item(tmp_path) -> None:
    rows = list(RECORDS.items())
    random.Random(3).shuffle(rows)
    (tmp_path / "swap_obj.json").write_text(json.dumps(dict(rows)))
    shuffled = set(read_yardstick("sugarcrepe", tmp_path).items)
    (tmp_path / "swap_obj.json").write_text(json.dumps(RECORDS))
    assert shuffled == set(read_yardstick("sugarcrepe", tmp_path).items)
