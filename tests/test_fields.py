"""Settings of recipes and of models are checked alike: types, ranges, names; each fault is one line with the field."""

import subprocess
import sys
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from itmlab import fields
from itmlab.models import config
from tests.refusals import refused


@dataclass(frozen=True)
class Inner:
    std: float = 0.5
    path: str = "x"


@dataclass(frozen=True)
class Outer:
    kind: Literal["one", "two"] = "one"
    inner: Inner = field(default=Inner())
    options: dict[str, Any] = field(default_factory=dict)


FITS = [
    (float, 3, 3.0),
    (int | None, None, None),
    (int | Literal["all"], "all", "all"),
    (tuple[float, ...], [1, 0.5], (1.0, 0.5)),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (Inner | None, {"std": 1, "path": "y"}, Inner(1.0, "y")),
]
WRONG = [
    (int, "3", "a whole number"),
    (int, True, "a whole number"),
    (int, 2.5, "a whole number"),
    (float, False, "a number"),
    (float, float("nan"), "a finite number"),
    (float, 10**400, "too large"),
    (int | Literal["all"], "al", "a whole number or"),
    (Literal["one", "two"], "tow", "'one' or 'two'"),
    (tuple[float, float], [1, 2, 3], "a list of 2"),
    (tuple[float, float], [1, "b"], r"x\[1\] must be .*'b'"),
    (dict[str, float], {"a": None}, "x.a must be .*None"),
    (Inner, {"st": 1}, "unknown field x.st — did you mean std"),
    (Inner, [1], "an object with fields"),
]


@pytest.mark.parametrize(("hint", "value", "wanted"), FITS)
def test_a_value_that_fits(hint, value, wanted):
    assert fields.typed(hint, value, "x") == wanted


@pytest.mark.parametrize(("hint", "value", "words"), WRONG)
def test_a_value_that_does_not_fit_is_refused(hint, value, words):
    refused(words, fields.typed, hint, value, "x")


def test_a_replacement_reaches_into_fields_and_options():
    changed = fields.replaced(Outer(), {"options": {"prior": 0.5}, "inner.std": 3})
    assert (changed.options, changed.inner.std) == ({"prior": 0.5}, 3)
    refused("unknown field prior", fields.replaced, Outer(), {"prior": 0.5})
    assert fields.from_plain(Outer, fields.to_plain(changed), "") == changed


@pytest.mark.parametrize("kind", [config.DualEncoderConfig, config.LateInteractionConfig, config.CrossEncoderConfig])
def test_every_number_of_a_model_is_checked(kind):
    wrong = {int: [0, -1, 2.0, True, "8", None], float: [float("nan"), float("inf"), True, "0.5", None]}
    for name, value in fields.to_plain(kind()).items():
        for bad in wrong.get(type(value), []):
            refused(f"{name} must be ", replace, kind(), **{name: bad})


def test_fields_stand_below_all_rooms():
    program = "import sys, itmlab.fields; print([m for m in sys.modules if m.startswith('itmlab.') or m == 'torch'])"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert set(eval(modules)) == {"itmlab.components", "itmlab.fields", "itmlab.errors"}
