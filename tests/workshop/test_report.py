"""The report's pages measure their own results."""

import ast

import pytest
from workshop import report

from tests.refusals import refused


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Writes a page R1 into a report of its own."""
    monkeypatch.setattr(report, "notebook_directory", lambda: tmp_path)
    (tmp_path / "report").mkdir()
    return lambda text: (tmp_path / "report" / "R1.md").write_text(text, encoding="utf-8")


def test_the_blocks_of_a_page_run_in_order_in_the_notebooks_folder(page, tmp_path):
    page("# R1\n```python\nx = 1\n```\nand\n```python\nopen('written', 'w').write(str(x + 1))\n```\n")
    report.measure_page("R1")
    assert (tmp_path / "written").read_text() == "2"


def test_what_cannot_be_measured_is_one_line(page):
    refused("no page 'R1'", report.page_code, "R1")
    page("# R1\nno code\n")
    refused("measures nothing", report.measure_page, "R1")
    page("```python\nraise SystemExit(3)\n```\n")
    refused("exit code 3", report.measure_page, "R1")


@pytest.mark.parametrize("name", report.pages())
def test_the_code_of_every_page_can_be_compiled(name):
    if report.BLOCK.search(report.pages()[name].read_text(encoding="utf-8")):
        ast.parse(report.page_code(name))
