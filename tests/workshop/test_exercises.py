"""Exercises are judged by what is true here and now: a right answer passes, a wrong one is told what is wrong."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import workshop
from workshop.exercises import check, judging
from workshop.exercises.judging import EXERCISES, Wrong, agrees, scenes, truth

import itmlab
from tests.refusals import refused

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "notebooks" / "guide"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
pytestmark = pytest.mark.slow  # every test needs the truth of the test split


@pytest.fixture(scope="module", autouse=True)
def shared() -> Iterator[None]:
    """Solutions and judges share the test split, its truth (ten seconds of computing) and the shipped models."""
    load, truth_of, labels = itmlab.load, scenes().world.truth, truth()

    def load_once(name, **options):
        return scenes() if (name, options) == ("scenes", {"split": "test"}) else load(name, **options)

    def truth_once(images=None, captions=None):
        return labels if images is captions is None else truth_of(images, captions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes().world, "truth", truth_once)
        patch.setattr(itmlab, "load", load_once)
        patch.setattr(itmlab, "pretrained", judging.run)
        yield


@pytest.mark.parametrize("notebook", sorted({name[:2] for name in EXERCISES}))
def test_every_exercise_has_a_solution_that_passes(notebook, monkeypatch) -> None:
    """Those of a notebook, with the lines that the page begins with."""
    judged = {}
    judge = lambda name, answer: judged.update({name: check(name, answer)})  # noqa: E731
    monkeypatch.setattr(workshop, "check", judge, raising=False)
    first, *sections = (PAGES / "solutions.md").read_text(encoding="utf-8").split("\n## ")
    (section,) = (each for each in sections if each.startswith(notebook))
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", first + section, re.DOTALL):
        exec(code, names)
    assert {name: verdict for name, verdict in judged.items() if not verdict.passed} == {}
    assert set(judged) == {name for name in EXERCISES if name.startswith(notebook)}


def test_each_notebook_asks_its_exercises_and_leaves_the_answer_open() -> None:
    for path in NOTEBOOKS:
        sources = ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
        asked = [name for source in sources for name in re.findall(r'check\("(.+?)", answer\)', source)]
        assert asked == [name for name in sorted(EXERCISES) if name.startswith(path.stem[:2])] or path.stem[:2] > "10"
        tasks = [name for source in sources for name in re.findall(r"\*\*(\d\d\.\d)\*\* ", source)]
        assert tasks == asked and all("answer = None" in source for source in sources if "check(" in source)


def test_an_unknown_exercise_is_one_line() -> None:
    refused("no exercise '2.1' — did you mean 02.1?", check, "2.1", 0.3)


@pytest.mark.parametrize(
    ("name", "answer", "wanted"),
    [
        ("01.2", "a dog", "a whole number"),
        ("02.1", 7, "a sentence in quotation marks"),
        ("00.3", (1, 2, 3), "(a whole number, a whole number)"),
        ("03.4", [1], "a function"),
        ("04.5", {"memory": None}, "a recipe"),
        ("06.3", 0.1, "a dictionary of settings"),
    ],
)
def test_an_answer_of_another_kind_is_told_what_is_wanted(name, answer, wanted) -> None:
    verdict = check(name, answer)
    assert verdict.passed is False and verdict.says.endswith(f"expected {wanted}")


def test_each_wrong_try_brings_the_next_hint(monkeypatch) -> None:
    def judge(answer: int) -> str:
        """Think of
        multiples.

        Of seven.

        Nearly 42.
        """
        raise Wrong("too small")

    monkeypatch.setattr(judging, "_wrong_tries", Counter())
    monkeypatch.setitem(EXERCISES, "99.1", judge)
    hints = [check("99.1", 0).says.splitlines()[1].strip() for _ in range(4)]
    assert hints == [
        "Hint 1 of 3: Think of multiples.",
        "Hint 2 of 3: Of seven.",
        "Hint 3 of 3: Nearly 42.",
        "Hint 3 of 3: Nearly 42.",
    ]
    assert check("99.1", "a word").says.endswith("expected a whole number")  # not a try, so without a hint


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x + 1, None),
        (lambda x: x.add_(1), None),  # changing the argument does not change what is expected
        (lambda x: x, "test input 1: at [0] it returns 0, expected 1"),
        (lambda x: x.sum(), "it returns the shape (), expected (2,)"),
        (lambda x: x.unknown, "it fails with AttributeError"),
    ],
)
def test_a_function_is_compared_with_the_packages(function, message) -> None:
    inputs = [(torch.tensor([0.0, 1.0]),), (torch.tensor([2.0, 3.0]),)]
    if message is None:
        assert agrees(function, lambda x: x + 1, inputs, "equal") == "equal"
    else:
        with pytest.raises(Wrong, match=re.escape(message)):
            agrees(function, lambda x: x + 1, inputs, "equal")


def test_the_world_says_what_is_wrong_with_a_pair() -> None:
    data = scenes()
    own = int(data.captions_of_image[3][0])
    false = (truth() == 0).nonzero()[0]
    assert "was written for picture 3, so this pair is annotated" in check("00.3", (3, own)).says
    assert "the world calls" in check("00.3", false).says and "false of picture" in check("00.3", false).says
    assert check("00.3", (3, 99_999)).says.startswith("there is no caption 99999, only 0 to 2499")


ITS_CAPTION = "A brown monkey is holding a yellow apple."  # of picture 7, in which a word is to change


@pytest.mark.parametrize(
    ("name", "answer", "wrong"),
    [
        ("06.3", {"prior": 0.01}, "the settings should say which picture, besides prior, threshold, sharpness, margin"),
        ("06.3", {"picture": 0, "margins": 0.1}, "there is no setting 'margins': did you mean margin?"),
        ("06.3", {"picture": 99_999}, "there is no picture 99999, only 0 to 499"),
        ("07.3", (0, "unicorn"), "“unicorn” means nothing visible in “"),
        ("10.3", ITS_CAPTION, f"should change, and none be added; the caption is “{ITS_CAPTION}”"),
        ("10.3", ITS_CAPTION.replace("holding", "kicking"), "kicking a yellow apple.” false of picture 7"),
    ],
)
def test_an_answer_that_a_model_judges_is_told_what_is_wrong(name, answer, wrong) -> None:
    verdict = check(name, answer)
    assert verdict.passed is False and wrong in verdict.says
