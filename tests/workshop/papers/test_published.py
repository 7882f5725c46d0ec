"""The papers' numbers as transcribed: settings and every digit; no item is missing."""

import math
import re
from pathlib import Path

import pytest
from workshop import papers
from workshop.papers import entries

import itmlab
from itmlab.losses.tags import PAPER_WEIGHTS

fne, sam, tags = papers.fne, papers.sam, papers.tags

TABLES = {name: entry.published for name, entry in entries().items() if entry.published is not None}
PAPERS = Path(__file__).resolve().parents[4] / "shared" / "papers"
ITEMS = {"fne": (5, 7), "sam": (5, 3), "tags": (5, 4), "itcontrast": (4, 3)}  # tables and figures of each paper


def test_every_table_and_figure_of_the_four_papers_has_an_entry() -> None:
    for paper, (tables, figures) in ITEMS.items():
        wanted = {f"{paper}.table_{n + 1}" for n in range(tables)} | {f"{paper}.figure_{n + 1}" for n in range(figures)}
        assert {name for name in entries(paper) if "section" not in name} == wanted
    assert all(name.startswith(f"{paper}.") for paper in ITEMS for name in entries(paper))
    assert fne.table_3.item == "FNE, Table 3" and tags.section_4_2.item == "TAGS-DC, Sec. 4.2"


def test_settings_that_a_table_prints_are_the_recipes() -> None:
    table = tags.table_5.published
    for label in table.rows:
        data, stage = label.split(", ")
        name = "tags" if stage.startswith("NSG(") else "tags_dc"
        recipe = itmlab.recipe(name, size={"B": "base", "L": "large"}[stage[-2]])
        weights = recipe.tags.weights
        if data == "COCO":
            weights = PAPER_WEIGHTS["coco", recipe.size]
            weights = weights.nsg_only() if name == "tags" else weights
        carried = [recipe.optimiser.learning_rate, recipe.tags.margin, recipe.tags.temperature, recipe.tags.hardest]
        carried += [weights.retrieved, weights.masked_language, weights.synthetic]
        assert [table.value(label, column) for column in table.columns[:7]] == pytest.approx(carried), label
        for column, carried in (("λ_WoD", weights.discrimination), ("λ_WoC", weights.correction)):
            printed = table.value(label, column)
            assert carried == (0 if math.isnan(printed) else pytest.approx(printed)), label


def test_settings_of_fne_are_the_recipes() -> None:
    recipe = itmlab.recipe("fne", size="base")
    assert recipe.sampler.prior == 1e-4 and recipe.memory.length == 8192
    assert [recipe.memory.length for recipe in fne.figure_5.recipes("base").values()] == [2048, 4096, 6144, 8192]
    assert [recipe.data.batch_size for recipe in fne.figure_4.recipes("base").values()] == [8, 16, 24, 32]
    assert list(sam.table_4.recipes("base")) == list(sam.table_4.published.rows)
    assert list(sam.table_5.recipes("base")) == list(sam.table_5.published.rows)


DAMAGED = {("fne.table_1", "SCAN"), ("fne.table_1", "SAEM"), ("fne.table_1", "CAMERA")}  # as the table's notes say


def digits(words: str) -> str:
    return re.sub(r"\D", "", words)


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the papers' texts are not beside the project")
def test_every_row_stands_in_the_papers_text_digit_by_digit() -> None:
    files = {"fne": "fne.txt", "sam": "ncs_sam.txt", "tags": "tags_dc.txt", "itcontrast": "itcontrast.txt"}
    absent = set()
    for name, table in TABLES.items():
        text = re.sub(r"</?b>|\*\*", "", (PAPERS / files[name.partition(".")[0]]).read_text(encoding="utf-8"))
        lines = [digits(line) for line in text.splitlines()]
        for label, row in table.rows.items():
            known = [value for value in row if not math.isnan(value)]
            ways = ("".join(digits(f"{value:{way}}") for value in known) for way in (".1f", "g", ".2f"))
            if not any(way in line for way in ways for line in lines):
                absent.add((name, label))
    settings = {place for place in absent if place[0] == "tags.table_5"}  # held against the recipes above
    pairs = {place for place in absent if place[0] == "tags.table_4"}  # two numbers a line
    assert absent - settings - pairs == DAMAGED
    assert len(fne.table_1.notes) == 3
