"""Settings of recipes and of models are checked alike: types, ranges, names; each fault is a line with the field."""

import json
import subprocess
import sys
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from itmlab import fields, recipes
from itmlab.errors import ItmlabError
from itmlab.models import config


@dataclass(frozen=True)
class Inner:
    std: float = 0.5
    later: int = field(default=1, metadata=fields.LATER)


@dataclass(frozen=True)
class Outer:
    kind: Literal["one", "two"] = "one"
    inner: Inner = field(default=Inner())
    options: dict[str, Any] = field(default_factory=dict)


FITS = [
    (int, 3, 3),
    (float, 3, 3.0),
    (int | None, None, None),
    (int | Literal["all"], "all", "all"),
    (Literal["one", "two"], "two", "two"),
    (tuple[float, ...], [1, 0.5], (1.0, 0.5)),
    (tuple[int, int], (1, 2), (1, 2)),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (Inner, {"deviation": 1}, Inner(1.0)),
    (Any, object, object),
]
WRONG = [
    (int, "3", "x is '3', wanted a whole number"),
    (int, True, "x is True, wanted a whole number"),
    (int, 2.5, "x is 2.5, wanted a whole number"),
    (float, False, "x is False, wanted a number"),
    (float, float("nan"), "x is nan, wanted a finite number"),
    (float, 10**400, "x is too large a number"),
    (float | None, -float("inf"), "x is -inf, wanted a finite number"),
    (int | Literal["all"], "al", "x is 'al', wanted a whole number or"),
    (Literal["one", "two"], "tow", "x is 'tow', which is not one of its values — did you mean two?"),
    (Literal["one", "two"], 5, "x is 5, which is not one of its values — there are one, two"),
    (tuple[float, float], [1, 2, 3], "x is [1, 2, 3], wanted a list of 2"),
    (tuple[float, float], [1, "b"], "x[1] is 'b', wanted a number"),
    (dict[str, float], {"a": None}, "x.a is None, wanted a number"),
    (Inner, {"st": 1}, "unknown field x.st — did you mean std?"),
    (Inner, [1], "x is [1], wanted an object with fields"),
]


@pytest.mark.parametrize(("hint", "value", "wanted"), FITS)
def test_a_value_that_fits(hint, value, wanted):
    found = fields.typed(hint, value, "x")
    assert found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize(("hint", "value", "said"), WRONG)
def test_a_value_that_does_not(hint, value, said):
    with pytest.raises(ItmlabError) as error:
        fields.typed(hint, value, "x")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_files_keep_the_names_that_they_were_published_with_and_leave_out_what_came_later():
    assert fields.to_plain(Outer()) == {"kind": "one", "inner": {"deviation": 0.5}, "options": {}}
    assert fields.to_plain(Inner(later=2)) == {"deviation": 0.5, "later": 2}
    for name in ("std", "deviation"):
        assert fields.from_plain(Outer, {"inner": {name: 2}}, "").inner == Inner(2.0)
        assert fields.replaced(Outer(), {f"inner__{name}": 2}).inner == Inner(2.0)


def test_a_name_that_is_no_field_is_an_option_and_a_new_kind_starts_without():
    one = fields.replaced(Outer(), {"prior": 0.5, "inner.later": 3})
    assert (one.options, one.inner.later) == ({"prior": 0.5}, 3)
    assert fields.replaced(one, {"kind": "two"}).options == {}


NOT_SIZES = [0, -1, 2.0, True, "8", None]
NOT_NUMBERS = [float("nan"), float("inf"), -0.1, True, "0.5", None]


@pytest.mark.parametrize(
    "named", [config.DualEncoderConfig(), config.LateInteractionConfig(), config.CrossEncoderConfig()]
)
def test_every_number_of_a_model_is_checked(named):
    for name, value in named.to_dict().items():
        name = fields.NOW.get(name, name)
        wrong = NOT_SIZES if type(value) is int else NOT_NUMBERS if type(value) is float else []
        for each in wrong:
            if name == "region_mean" and each == -0.1:  # the mean of a feature may be any finite number
                continue
            with pytest.raises(
                ItmlabError, match=f"model configuration: {name} is .*itmlab.models.{type(named).__name__}"
            ):
                replace(named, **{name: each})


def test_a_models_file_and_its_recipes_say_the_same():
    for recipe in (recipes.fne, recipes.tags, recipes.scan):
        plain = recipe.model.to_dict()
        assert plain == recipe.to_json()["model"] == json.loads(json.dumps(plain))
        assert type(recipe.model).from_dict(plain) == recipe.model


def test_fields_stand_below_all_rooms():
    program = "import sys, itmlab.fields; print([m for m in sys.modules if m.startswith('itmlab.') or m == 'torch'])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert set(eval(found)) == {"itmlab.fields", "itmlab.errors"}
