"""The house as `CONTRIBUTING.md` draws it: rooms, who may import whom, size, names. Read from the source, not run."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "itmlab"
FLOORS = (  # a room imports from floors below its own, or from its own floor where no circle comes of it
    {"errors", "session", "storage"},
    {"components", "context"},
    {"fields"},
    {"data", "text"},
    {"samplers", "losses", "metrics", "models"},
    {"synthesis"},
    {"train"},
    {"scenes"},
    {"cli"},
    {"__init__", "__main__"},
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


class Import(NamedTuple):
    """One imported name: the file and line that import it, the file that it comes from."""

    file: Path
    line: int
    target: Path
    only_for_types: bool


def room(file: Path) -> str:
    return file.parts[0] if len(file.parts) > 1 else file.stem


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


@cache
def imports(file: Path) -> tuple[Import, ...]:
    """What a file imports of the package, inside functions too."""
    return tuple(_imports(file))


def _imports(file: Path) -> Iterator[Import]:
    for_types = {
        id(inner)
        for node in ast.walk(tree(file))
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for name in node.names:
                module = home.with_name(f"{home.name}.py") if home.name else home / "__init__.py"
                candidates = (home / f"{name.name}.py", home / name.name / "__init__.py", module, home / "__init__.py")
                targets = [candidate for candidate in candidates if (PACKAGE / candidate).is_file()]
                yield Import(file, node.lineno, targets[0], id(node) in for_types)


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    reachable, left = set(), [start]
    while left:
        for node in graph.get(left.pop(), set()) - reachable:
            reachable.add(node)
            left.append(node)
    return reachable


def circles(graph: dict[str, set[str]]) -> list[str]:
    return [node for node in graph if node in reached(graph, node)]


def code_lines(source: str) -> int:
    """Lines of code: docstrings, comments and blank lines do not count."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                docstrings.update(range(first.lineno, first.end_lineno + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
MOST_LINES = {
    "itmlab without scenes": 10_500,
    "itmlab/scenes": 4_000,
    "itmlab/train": 2_700,
    "notebooks/workshop": 5_500,
    "tests": 14_500,
}


def lines_of(folder: str) -> int:
    return sum(code_lines(path.read_text(encoding="utf-8")) for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("folder", MOST_LINES)
def test_the_project_is_small(folder: str) -> None:
    root, _, part = folder.partition(" without ")
    lines = lines_of(root) - (lines_of(f"{root}/{part}") if part else 0)
    assert lines <= MOST_LINES[folder]


def test_no_function_is_longer_than_ninety_lines() -> None:
    functions = (
        (file, node)
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert [f"{file}:{node.name}" for file, node in functions if node.end_lineno - node.lineno >= 90] == []


def test_every_file_stands_in_a_room_of_the_plan() -> None:
    assert {room(file) for file in FILES} <= set(FLOOR)


def test_an_arrow_never_goes_up() -> None:
    wrong = [
        f"{file}:{line} imports {target}"
        for source in FILES
        for file, line, target, _ in imports(source)
        if FLOOR[room(target)] > FLOOR[room(file)]
    ]
    assert wrong == []


def test_rooms_make_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for file in FILES:
        graph.setdefault(room(file), set()).update(room(edge.target) for edge in imports(file))
    assert circles({name: targets - {name} for name, targets in graph.items()}) == []


PACKAGES = sorted(".".join(("itmlab", *file.parent.parts)) for file in FILES if file.name == "__init__.py")


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_exist_and_no_module_has_one_of_them(name: str) -> None:
    package = import_module(name)
    public = getattr(package, "__all__", [])
    missing = [symbol for symbol in public if not hasattr(package, symbol)]
    folder = Path(package.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    functions = {symbol for symbol in public if not isinstance(getattr(package, symbol), type(sys))}
    assert missing == [] and functions & modules == set()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "itmlab/METHODS.md"])
def test_files_named_on_a_page_are_there(page: str) -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|md|txt))`", (ROOT / page).read_text(encoding="utf-8")))
    assert named and {name for name in named if not ((PACKAGE / name).exists() or (ROOT / name).exists())} == set()
