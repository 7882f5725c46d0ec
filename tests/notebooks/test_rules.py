"""The rules of the course (`guide/lecturing.md`), counted for every notebook; `pytest -s` prints the table."""

import json
import re
from collections.abc import Callable
from functools import cache
from inspect import getdoc
from itertools import pairwise
from pathlib import Path
from typing import get_type_hints

import pytest
from workshop.exercises.judging import EXERCISES
from workshop.outputs import BELONGS, LARGEST, outputs_belong

from itmlab.synthesis.negative import Generate

HOME = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = sorted(path.stem for path in HOME.glob("*.ipynb"))
LIMITS = {"words": 1200, "decimals": 12, "code cells": 18, "lines of a cell": 12, "longest line": 88}
STUDENT = r"\*\*\d\d\.\d\*\* |\*\*(?:Predict|Explain|Run|Write|Judge|Your turn)\b|check\(|^answer = |# yours"
FIRST_TERMS = 3  # links to the glossary, at least
EQUATIONS_IN = ("02", "03", "04", "06", "08", "09")  # the methods that are written on screen or by the student


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


@cache
def cells(name: str, kind: str | None = None) -> list[str]:
    content = json.loads((HOME / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in content if kind in (None, cell["cell_type"])]


def prose(name: str) -> str:
    """The sentences: without addresses of links, formulas, code and the numbers of exercises."""
    text = "\n".join(cells(name, "markdown"))
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]+`", " ", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"\b\d\d\.\d\b(?!\d| %)", " ", text)


def counts(name: str) -> dict[str, int]:
    code = cells(name, "code")
    every = cells(name)
    return {
        "words": len(re.findall(r"[^\W\d_][\w'’-]*", prose(name))),
        "decimals": len(re.findall(r"\d[.,]\d", prose(name))),
        "code cells": len(code),
        "lines": sum(len(cell.splitlines()) for cell in code),
        "lines of a cell": max(len(cell.splitlines()) for cell in code),
        "longest line": max(len(line) for cell in code for line in cell.splitlines()),
        "cells": len(every),
        "student's": sum(bool(re.search(STUDENT, cell, re.MULTILINE)) for cell in every),
    }


def test_the_table_of_all_notebooks() -> None:
    rows = {name: counts(name) for name in NAMES}
    columns = list(rows[NAMES[0]])
    print("\n" + " " * 34 + "  ".join(columns))
    for name, row in rows.items():
        print(f"{name:34}" + "  ".join(f"{row[column]:>{len(column)}}" for column in columns))
    assert [name[:3] for name in NAMES] == [f"{number:02}_" for number in range(14)]


def test_it_is_short(name) -> None:
    counted = counts(name)
    assert {key: counted[key] for key, limit in LIMITS.items() if counted[key] > limit} == {}


def test_every_third_cell_belongs_to_the_student(name) -> None:
    counted = counts(name)
    assert 3 * counted["student's"] >= counted["cells"]


def test_it_computes_what_it_shows(name) -> None:
    code = "\n".join(cells(name, "code"))
    banned = r"\bquick\b|profile\(|record_result|save_result|plots\.save|plots\.committed|figures/|\btitle=|subtitle="
    assert re.findall(banned, code) == []


def test_only_the_public_api_is_used(name) -> None:
    assert re.findall(r"\b_[a-z]\w*\(|\._[a-z]\w*", "\n".join(cells(name, "code"))) == []


def test_it_opens_with_three_goals_and_ends_with_a_recap_and_the_report(name) -> None:
    opening, recap = cells(name, "markdown")[0], cells(name, "markdown")[-1].partition("## Recap")[2]
    assert opening.startswith("# ") and "**What you will see.**" in opening
    assert re.search(r"\*\*How long it takes\.\*\*.*(second|minute)", opening)
    assert len(re.findall(r"^- ", opening.partition("After this notebook you can")[2], re.MULTILINE)) == 3
    sentences = re.findall(r"[.!?](?=\s|$)", re.sub(r"\]\([^)]*\)", "]", recap))
    assert 3 <= len(sentences) <= 5 and "](report/" in recap


def test_terms_lead_to_the_glossary(name) -> None:
    links = re.findall(r"guide/glossary\.md#term-[\w-]+", "\n".join(cells(name, "markdown")))
    assert len(links) >= FIRST_TERMS and len(links) == len(set(links))  # the first use of a term only


def test_prose_stands_above_each_code_cell(name) -> None:
    content = json.loads((HOME / f"{name}.ipynb").read_text(encoding="utf-8"))
    kinds = [cell["cell_type"] for cell in content["cells"]]
    assert all("code" not in pair or pair[0] == "markdown" or pair[1] == "markdown" for pair in pairwise(kinds))
    assert content["metadata"]["kernelspec"]["name"] == "python3"  # no question for a kernel


def test_exercises_stand_in_place_with_three_hints(name) -> None:
    numbers = sorted(number for number in EXERCISES if number[:2] == name[:2])
    every = cells(name)
    asked = [number for cell in every for number in re.findall(r'check\("(.+?)", answer\)', cell)]
    assert asked == numbers and numbers
    for before, cell in pairwise(every):
        for number in re.findall(r'check\("(.+?)", answer\)', cell):
            assert f"**{number}** " in before and "answer = None" in cell
    assert all(len(getdoc(EXERCISES[number]).split("\n\n")) == 3 for number in numbers)
    places = [at for at, cell in enumerate(every) if "check(" in cell]
    assert places[0] < 0.75 * len(every)  # not all of them at the end


def test_a_third_of_all_exercises_are_functions() -> None:
    wanted = [get_type_hints(judge)["answer"] for judge in EXERCISES.values()]
    assert 3 * sum(kind in (Callable, Generate) for kind in wanted) >= len(wanted)


@pytest.mark.parametrize("number", EQUATIONS_IN)
def test_the_method_is_written_by_the_student(number) -> None:
    assert any(
        get_type_hints(judge)["answer"] in (Callable, Generate)
        for key, judge in EXERCISES.items()
        if key.startswith(number)
    )


def test_outputs_belong_to_the_code_and_numbers_of_the_prose_to_the_outputs(name) -> None:
    content = json.loads((HOME / f"{name}.ipynb").read_text(encoding="utf-8"))
    if BELONGS not in content["metadata"]:
        assert all(not cell.get("outputs") for cell in content["cells"])
        pytest.skip("its outputs are not committed")
    assert outputs_belong(HOME / f"{name}.ipynb") and (HOME / f"{name}.ipynb").stat().st_size <= LARGEST
    outputs = json.dumps([cell["outputs"] for cell in content["cells"] if cell["cell_type"] == "code"])
    printed = outputs + "\n".join(cells(name, "code"))
    without_places = re.sub(r"(Secs?\.|Sections?|Eqs?\.|METHODS) \d[\d.]*", "", prose(name))
    measured = re.findall(r"\d+(?:\.\d+)? %|\d+\.\d+", without_places)
    assert [number for number in measured if number.removesuffix(" %") not in printed] == []
