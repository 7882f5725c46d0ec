"""What judges an answer: the exercises by their numbers, what is wrong with an answer, the hint at the second try."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from jaxtyping import Float, Int8
from torch import Tensor

from itmlab.data import load
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.fields import did_you_mean, typed
from itmlab.synthesis.negative import Generate
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
    """Judge an answer to an exercise, "02.1" being the first of notebook 02; the second wrong try brings a hint.

    Nothing is looked up: the world, the models that ship and the package's functions are asked each time. An unknown
    exercise is an ItmlabError.

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
        answer = typed_as(wanted, _plain(answer))
    except Wrong as wrong:  # of another kind: no try yet
        return Verdict(number, False, str(wrong))
    try:
        return Verdict(number, True, judge(answer))
    except Wrong as wrong:
        says = str(wrong)
    except ItmlabError as error:  # of a function that the answer was given to: a number out of range, no such word
        says = error.what
    _wrong_tries[number] += 1
    hint = f"\n  Hint: {' '.join((judge.__doc__ or '').split())}" if _wrong_tries[number] > 1 else ""
    return Verdict(number, False, says + hint)


def exercise(number: str) -> Callable[[Callable[[Any], str]], Callable[[Any], str]]:
    """The function below judges answers to this exercise."""
    return lambda judge: EXERCISES.setdefault(number, judge)


WORDS = {str: "a sentence in quotation marks", int: "a whole number", float: "a number", Recipe: "a recipe"}
WORDS |= {Generate: "a function", dict: "a dictionary of settings"}


def in_words(wanted: Any) -> str:
    """The type of an answer, as the reader is asked for it."""
    parts = getattr(wanted, "__args__", ())
    if wanted in WORDS:
        return WORDS[wanted]
    if parts[-1] is Ellipsis:
        return f"a list, each part {in_words(parts[0])}"
    return "(" + ", ".join(map(in_words, parts)) + ")"


def typed_as(wanted: Any, answer: Any) -> Any:
    """The answer if it is of this type, else what is wanted."""
    predicates = {Generate: callable, dict: lambda it: isinstance(it, dict), Recipe: lambda it: isinstance(it, Recipe)}
    with suppress(ItmlabError):
        if wanted not in predicates:
            return typed(wanted, answer, "answer")
        if predicates[wanted](answer):
            return answer
    raise Wrong(f"that does not answer this question, expected {in_words(wanted)}")


def _plain(answer: Any) -> Any:
    """Numbers of numpy and torch as Python's, also within a tuple or list."""
    if isinstance(answer, (tuple, list)):
        return tuple(map(_plain, answer))
    return answer.tolist() if hasattr(answer, "tolist") else answer


# What most of them ask.


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


def within(number: int, of: Sequence[Any], kind: str) -> int:
    if not 0 <= number < len(of):
        raise Wrong(f"there is no {kind} {number}, only 0 to {len(of) - 1}")
    return number


def near(answer: float, right: float, tolerance: float, quantity: str) -> None:
    if abs(answer - right) > tolerance:
        raise Wrong(f"{quantity} is too {'large' if answer > right else 'small'} with {answer:g}")
