"""SugarCrepe as it was published: counts, the available pictures, and the blind controls."""

import pytest
from workshop.analysis import run_on_yardstick

import itmlab
from itmlab.metrics import measure, read_yardstick

pytestmark = pytest.mark.real
SUGARCREPE = {"add_att": 692, "add_obj": 2062, "replace_att": 788, "replace_obj": 1652, "replace_rel": 1406}
SUGARCREPE |= {"swap_att": 666, "swap_obj": 245}  # one of 246 was removed later


@pytest.fixture(scope="module")
def sugarcrepe(real_data):
    return read_yardstick("sugarcrepe", real_data("yardsticks/sugarcrepe"))


def test_sugarcrepe_has_7511_items_and_length_tells_what_was_added(sugarcrepe) -> None:
    assert sugarcrepe.kinds == SUGARCREPE and len(sugarcrepe.items) == 7511 and not sugarcrepe.left_out
    rows = measure(sugarcrepe).rows
    assert all(rows[kind].shares["shorter"].percent > 98 for kind in ("add_att", "add_obj"))


def test_305_of_them_are_about_the_fifty_photographs(sugarcrepe, real_data, photographs) -> None:
    joined = sugarcrepe.with_pictures(real_data("tiny_coco"))
    assert len(joined.items) == 305 and len(joined.pictures) == 50
    assert joined.left_out == {"items without an available picture": 7206}
    coco = sugarcrepe.with_pictures(photographs.load())
    assert [item.source for item in coco.items] == [item.source for item in joined.items]
    table = run_on_yardstick(itmlab.pretrained("fne"), joined, real_data("tiny_coco"))
    assert {kind: row.items for kind, row in table.rows.items() if kind != "all"} == joined.kinds
    assert 40 < table.rows["all"].shares["right"].percent < 65  # it learnt from drawings: chance
