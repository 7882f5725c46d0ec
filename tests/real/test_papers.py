"""The papers' numbers that figures and notebooks print, and what may be cited, against the papers' text.

They lie beside the real data (`../papers`). Decimal points are left out on both sides: of one paper the text was read
by machine, which lost some.
"""

import re
from collections.abc import Callable

import pytest
from workshop.papers import itcontrast, sam, tags
from workshop.plots.drawn import drawings

from itmlab.losses.tags import PAPER_WEIGHTS
from tests.test_methods import PAPERS

pytestmark = pytest.mark.real
FILES = {"FNE": "fne", "SAM": "ncs_sam", "TAGS-DC": "tags_dc", "ITContrast": "itcontrast"}
Paper = Callable[[str], str]


@pytest.fixture
def paper(real_data) -> Paper:
    """The text of a paper by its name."""
    return lambda name: real_data(f"../papers/{FILES[name]}.txt").read_text(encoding="utf-8")


def digits(value: float) -> str:
    return f"{value:.1f}".replace(".", "")


def lines(content: str) -> list[list[str]]:
    """The numbers of each line, without their points."""
    return [re.findall(r"\d+", re.sub(r"(?<=\d)\.(?=\d)", "", line)) for line in content.splitlines()]


def printed_values(table: dict | float) -> list[float]:
    """The numbers of a nested table."""
    return (
        [number for value in table.values() for number in printed_values(value)] if isinstance(table, dict) else [table]
    )


def printed_in_a_line(content: str, values: list[float]) -> bool:
    wanted = [digits(value) for value in values]
    return any(line[at : at + len(wanted)] == wanted for line in lines(content) for at in range(len(line)))


def test_recalls_of_tags_dc_are_the_papers(paper):
    rows = {**tags.table_1.published.rows, **tags.table_2.published.rows}
    flickr = {name: rows[name][7:] for name in ("UNITER(B)", "TAGS w/ WM", "TAGS w/ SG", "TAGS", "TAGS-DC(B)")}
    assert all(printed_in_a_line(paper("TAGS-DC"), [*recall]) for recall in flickr.values())
    rsum = {name: recall[-1] for name, recall in flickr.items()}
    assert [*rsum.values()] == [542.7, 545.9, 543.7, 547.8, 549.4]


def test_tables_of_tags_dc_are_the_papers(paper):
    content = paper("TAGS-DC")
    assert re.search(r"Perplexity 51.1 +\| *3 +87.63 +\| 70.87 +\| 292.76", content)  # 51.1|3 is a slip of the text
    assert tags.table_3.published.rows["Perplexity"] == [51.13, 87.63, 70.87, 292.76]
    perplexities = {row: values["printed"] for row, values in drawings()["fluency"]["printed"].items()}
    assert sorted(perplexities.values()) == sorted(tags.table_3.published.rows["Perplexity"])
    shares = [
        value for name in ("true_negatives", "word_accuracy") for value in printed_values(drawings()[name]["printed"])
    ]
    assert all(f"{share:g}%" in content for share in shares)


def test_the_weights_of_tags_dc_are_those_of_its_table_5(paper):
    rows = [line for line in paper("TAGS-DC").splitlines() if "NSGDC(" in line]
    printed = [[float(cell) for cell in row.split("|")[-6:-1]] for row in rows]
    order = [(data, size) for data in ("flickr30k", "coco") for size in ("base", "large")]
    assert printed == [list(PAPER_WEIGHTS[key].named().values()) for key in order]


@pytest.mark.parametrize("table", [itcontrast.table_3, itcontrast.table_4], ids=["3", "4"])
def test_tables_of_itcontrast_are_the_papers(paper, table):
    content = re.sub(r"</?b>", "", paper("ITContrast"))
    for row, values in table.published.rows.items():
        assert printed_in_a_line(content, list(values)), row


def test_table_1_of_sam_is_the_papers(paper):
    content = re.sub(r"</?b>", "", paper("SAM"))
    for measure, values in sam.table_1.published.rows.items():
        row = next(line for line in content.splitlines() if line.strip().startswith(measure))
        assert [float(cell) for cell in row.split("\t") if re.fullmatch(r"[\d.]+", cell)] == values


@pytest.mark.parametrize("name", PAPERS)
def test_what_may_be_cited_is_in_the_paper(paper, name):
    content, has = paper(name), PAPERS[name]
    for kind in ("Table", "Figure"):
        captions = {int(number) for number in re.findall(rf"^{kind} (\d+)[:.]", content, re.MULTILINE)}
        assert captions == set(range(1, has[kind] + 1)), kind
    equations = {int(number) for number in re.findall(r"\((\d{1,2})\)(?:\s*$|,\s*$|\$\$)", content, re.MULTILINE)}
    assert has["Eq"] in equations and has["Eq"] + 1 not in equations
    heading = r"^(?:#+ )?(?:\*\*)?(\d(?:\.\d)*|A(?:\.\d)+)\.?(?:\*\*)? +[A-Z]"
    headings = set(re.findall(heading, content, re.MULTILINE))
    assert set(has["Sec"].split()) <= headings
