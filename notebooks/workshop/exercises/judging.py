"""Judging answers: the exercises by number, what is wrong with an answer, and three levels of hints."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from typing import Any, get_type_hints

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from itmlab.data import load
from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import one_line
from itmlab.errors import ItmlabError
from itmlab.fields import did_you_mean, typed
from itmlab.train import pretrained
from itmlab.train.recipes import Recipe
from itmlab.train.scores import similarity


class Wrong(Exception):
    """What is wrong with an answer, in one line."""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer: whether it is right (None: not answered yet), and why."""

    exercise: str
    passed: bool | None
    says: str

    def __repr__(self) -> str:
        sign = {True: "✓", False: "✗", None: "…"}[self.passed]
        return f"{sign} {self.exercise}: {self.says}"


EXERCISES: dict[str, Callable[[Any], str]] = {}
_wrong_tries: Counter[str] = Counter()


def check(number: str, answer: Any = None) -> Verdict:
    """Judge an answer to an exercise; "02.1" is the first exercise of notebook 02.

    The world, the shipped models and the package's functions judge each answer; no answer is stored. Each wrong try
    shows the next of three hints: a nudge, the method, almost the answer.

    Raises:
        ItmlabError: there is no such exercise.

    >>> check("08.2")
    … 08.2: no answer yet, expected a number
    """
    if number not in EXERCISES:
        raise ItmlabError(f"no exercise {number!r}", remedy=did_you_mean(number.zfill(4), EXERCISES))
    judge = EXERCISES[number]
    wanted = get_type_hints(judge)["answer"]
    if answer is None:
        return Verdict(number, None, f"no answer yet, expected {in_words(wanted)}")
    try:
        answer = typed(wanted, _plain(answer), "answer")
    except ItmlabError:  # an answer of another type does not count as a try
        return Verdict(number, False, f"that does not answer this question, expected {in_words(wanted)}")
    try:
        return Verdict(number, True, judge(answer))
    except Wrong as wrong:
        message = str(wrong)
    except ItmlabError as error:  # raised by a function of the package, for example for a number out of range
        message = error.what
    _wrong_tries[number] += 1
    hints = [" ".join(paragraph.split()) for paragraph in getdoc(judge).split("\n\n")]
    level = min(_wrong_tries[number], len(hints))
    return Verdict(number, False, f"{message}\n  Hint {level} of {len(hints)}: {hints[level - 1]}")


def exercise(number: str) -> Callable[[Callable[[Any], str]], Callable[[Any], str]]:
    """Register the decorated function as the judge of this exercise."""
    return lambda judge: EXERCISES.setdefault(number, judge)


WORDS = {str: "a sentence in quotation marks", int: "a whole number", float: "a number", Recipe: "a recipe"}
WORDS |= {Callable: "a function", dict: "a dictionary of settings"}


def in_words(wanted: Any) -> str:
    """Describe the type of an answer in words."""
    parts = getattr(wanted, "__args__", ())
    if wanted in WORDS:
        return WORDS[wanted]
    if parts[-1] is Ellipsis:
        return f"a list, each part {in_words(parts[0])}"
    return "(" + ", ".join(map(in_words, parts)) + ")"


def _plain(answer: Any) -> Any:
    """Numbers of numpy and torch as Python's, also within a tuple or list."""
    if isinstance(answer, (tuple, list)):
        return tuple(map(_plain, answer))
    return answer.tolist() if hasattr(answer, "tolist") else answer


# What many judges use.


@cache
def scenes(regions: bool = False) -> CaptionSet:
    return load("scenes", split="test", regions=regions)


@cache
def truth() -> Int8[Tensor, "image caption"]:
    return scenes().world.truth()


run = cache(pretrained)


@cache
def scores(name: str) -> Float[Tensor, "image caption"]:
    return similarity(run(name).model, scenes())


def uniform(*shape: int, seed: int = 0) -> Tensor:
    """Return random numbers from 0 to 1, the same at each call."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def wrong_if(fault: Any, message: str) -> None:
    """Raise `Wrong` with this message if there is a fault."""
    if fault:
        raise Wrong(message)


def within(number: int, of: Sequence[Any], kind: str) -> int:
    wrong_if(not 0 <= number < len(of), f"there is no {kind} {number}, only 0 to {len(of) - 1}")
    return number


def unannotated(picture: int, caption: int, label: str = "true") -> str:
    """Return the words of a caption of another picture that the world calls "true" or "false" of this one."""
    words = scenes().captions[within(caption, scenes().captions, "caption")]
    annotated = scenes().positives[within(picture, scenes(), "picture"), caption]
    wrong_if(annotated, f"“{words}” was written for picture {picture}, so this pair is annotated")
    actual = {1: "true", 0: "false", -1: "undecided"}[int(truth()[picture, caption])]
    wrong_if(actual != label, f"the world calls “{words}” {actual} of picture {picture}, not {label}")
    return words


def near(answer: float, right: float, tolerance: float, quantity: str) -> None:
    size = "large" if answer > right else "small"
    wrong_if(abs(answer - right) > tolerance, f"{quantity} is too {size} with {answer:g}")


def called(answer: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a student's function.

    Raises:
        Wrong: it fails.
    """
    try:
        return answer(*arguments, **options)
    except Exception as error:
        raise Wrong(f"it fails with {type(error).__name__}: {one_line(error, 200)}") from None


def agrees(
    answer: Callable[..., Any],
    expected: Callable[..., Any],
    inputs: Iterable[tuple[Any, ...]],
    says: str,
    tolerance: float = 1e-4,
) -> str:
    """Compare a student's function with the package's on several inputs, and return `says` if they agree.

    Raises:
        Wrong: the function fails, or returns another shape or other values.
    """
    for number, arguments in enumerate(inputs, start=1):
        wanted = torch.as_tensor(expected(*arguments))
        copies = [argument.clone() if isinstance(argument, Tensor) else argument for argument in arguments]
        result = called(lambda *given: torch.as_tensor(answer(*given)), *copies).detach().to(wanted)
        shapes = f"it returns the shape {tuple(result.shape)}, expected {tuple(wanted.shape)}"
        wrong_if(result.shape != wanted.shape, shapes)
        different = ~torch.isclose(result, wanted, rtol=tolerance, atol=tolerance)
        if different.any():
            place = tuple(different.nonzero()[0].tolist())
            values = f"{float(result[place]):.4g}, expected {float(wanted[place]):.4g}"
            raise Wrong(f"test input {number}: at {list(place)} it returns {values}")
    return says
