"""SugarCrepe as it was published: counts, the available pictures, and the blind controls."""

import pytest
from workshop.analysis.yardsticks import run_on_yardstick

import itmlab
from itmlab.metrics import measure, read_yardstick, text_scores

pytestmark = pytest.mark.real
SUGARCREPE = {"add_att": 692, "add_obj": 2062, "replace_att": 788, "replace_obj": 1652, "replace_rel": 1406}
SUGARCREPE |= {"swap_att": 666, "swap_obj": 245}  # one of 246 was removed later


@pytest.fixture(scope="module")
def sugarcrepe(real_data):
    return read_yardstick("sugarcrepe", real_data("yardsticks/sugarcrepe"))


def test_sugarcrepe_has_7511_items_of_seven_kinds(sugarcrepe) -> None:
    assert sugarcrepe.kinds == SUGARCREPE and len(sugarcrepe.items) == 7511
    assert not sugarcrepe.left_out
    keys = [int(item.source.split(":")[1]) for item in sugarcrepe.items if item.kind == "swap_obj"]
    assert len(keys) == 245 and max(keys) == 245  # a key is missing in between


def test_305_of_them_are_about_the_fifty_photographs(sugarcrepe, real_data) -> None:
    found = sugarcrepe.with_pictures(real_data("tiny_coco"))
    assert len(found.items) == 305 and len(found.pictures) == 50
    assert found.left_out == {"items without an available picture": 7206}
    coco = sugarcrepe.with_pictures(itmlab.load("coco", real_data("tiny_coco")))
    assert [item.source for item in coco.items] == [item.source for item in found.items]
    table = run_on_yardstick(itmlab.pretrained("fne"), found, real_data("tiny_coco"))
    assert {kind: row.items for kind, row in table.rows.items() if kind != "all"} == found.kinds
    assert 40 < table.rows["all"].right.percent < 65  # it learnt from drawings: chance


def test_what_is_added_is_told_by_its_length(sugarcrepe) -> None:
    rows = measure(sugarcrepe, text={"text only": text_scores(sugarcrepe)}).rows
    assert all(rows[kind].controls["shorter"].percent > 98 for kind in ("add_att", "add_obj"))
    told = {kind: row.controls["text only"].percent for kind, row in rows.items()}
    assert told["add_att"] > 90 and all(50 < told[kind] < 75 for kind in told if kind != "add_att")
