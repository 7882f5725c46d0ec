"""The report's pages measure their own results."""

import ast
import inspect

import pytest
from workshop import analysis, papers, plots, report

import itmlab
from itmlab.train import loop
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


MODULES = {"itmlab": itmlab, "analysis": analysis, "papers": papers, "plots": plots}
PAGES = [name for name, path in report.pages().items() if report.BLOCK.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", PAGES)
def test_what_the_code_of_a_page_uses_exists(name):
    for node in ast.walk(ast.parse(report.page_code(name))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(ast.unparse(node), {})
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in MODULES:
            assert hasattr(MODULES[node.value.id], node.attr), f"{node.value.id}.{node.attr}"
        function = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if function.partition(".")[0] in MODULES and "(" not in function:
            refused_options = {option.arg for option in node.keywords} - options_of(function, node)
            assert not refused_options, ast.unparse(node)


def options_of(name: str, call: ast.Call) -> set[str | None]:
    """The options that a function takes, or all that the call has where it takes any."""
    function = loop.train if name == "itmlab.train" else eval(name, dict(MODULES))  # a module that can be called
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters)
    return {option.arg for option in call.keywords} if takes_any else {*(one.name for one in parameters), None}
