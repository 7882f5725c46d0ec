"""Settings of recipes and models as frozen dataclasses: strict reading from JSON, ranges, nested replacement."""

import dataclasses
import difflib
import math
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .components import Component, find_component
from .errors import ItmlabError, named

T = TypeVar("T")

# What a number may be, and the words for it. A field says so in its annotation: `margin: Annotated[float, FROM_0]`.
Range = tuple[Callable[[Any], bool], str]
MOST = 2**20  # a count above this needs more memory than there is
FROM_1: Range = (lambda value: 1 <= value <= MOST), f"1 or more, at most {MOST}"
FROM_0: Range = (lambda value: value >= 0), "0 or more"
ABOVE_0: Range = (lambda value: value > 0), "more than 0"
BELOW_1: Range = (lambda value: 0 <= value < 1), "0 to below 1"


def between(least: float, most: float, *others: Any) -> Range:
    """The range of numbers from `least` to `most`, and the `others` that a value may be as well."""
    words = "".join(f" or {other!r}" for other in others)
    return (lambda value: value in others or least <= value <= most), f"{least} to {most}{words}"


Count = Annotated[int, FROM_1]
Share = Annotated[float, between(0, 1)]
Weight = Annotated[float, FROM_0]
Positive = Annotated[float, ABOVE_0]

UNIONS = (Union, types.UnionType)
NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def refusal(message: str, remedy: str | None = None) -> ItmlabError:
    """Return the error for a faulty recipe."""
    return ItmlabError(message, where="recipe", remedy=remedy)


def check(condition: bool, field: str, value: Any, wanted: str) -> None:
    """Raise an ItmlabError that names the field unless `condition` holds."""
    if not condition:
        raise refusal(f"{field} must be {wanted}, got {shown(value)}")


def check_ranges(settings: Any, prefix: str, **ranges: Range) -> None:
    """Raise an ItmlabError for the first field that is not finite or not in its range; None always passes.

    >>> from types import SimpleNamespace as Settings
    >>> check_ranges(Settings(clip=float("inf")), "optimiser", clip=ABOVE_0)
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: recipe: optimiser.clip must be a finite number, got inf
    """
    for name, allowed in ranges.items():
        check_range(getattr(settings, name), allowed, join(prefix, name))


def check_fields(settings: Any, prefix: str) -> None:
    """Check every field of a dataclass against its annotation, and store the value that `typed` makes of it."""
    for item in dataclasses.fields(settings):
        value = typed(hints_of(type(settings))[item.name], getattr(settings, item.name), join(prefix, item.name))
        object.__setattr__(settings, item.name, value)  # the dataclass may be frozen


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """Return the annotations of a class, with their ranges; evaluating them takes a millisecond for every recipe."""
    return get_type_hints(kind, include_extras=True)


def check_range(value: Any, allowed: Range, field: str) -> None:
    """Raise an ItmlabError unless a number, or each of a tuple, is finite and in its range; None always passes."""
    holds, wanted = allowed
    for number in value if isinstance(value, tuple) else (value,):
        check(not isinstance(number, float) or math.isfinite(number), field, value, "a finite number")
        check(number is None or holds(number), field, value, wanted)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the nearest known one, or all of them.

    >>> did_you_mean("lose", ["loss", "memory"])
    'did you mean loss?'
    """
    known = list(known)
    nearest = difflib.get_close_matches(word if isinstance(word, str) else shown(word), known, n=1, cutoff=0.6)
    return f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(known)}"


def check_known(value: str, known: Iterable[str], what: str) -> None:
    """Raise an ItmlabError with the nearest known name unless `value` is a known one.

    >>> check_known("lose", ["loss", "memory"], "part")
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: no part 'lose' — did you mean loss?
    """
    if value not in (known := list(known)):
        raise ItmlabError(f"no {what} {value!r}", remedy=did_you_mean(value, known))


def to_plain(value: Any) -> Any:
    """Return dataclasses as dicts and tuples as lists, for JSON; a component also names its class."""
    if dataclasses.is_dataclass(value):
        plain = {item.name: to_plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
        return {"class": value.class_name(), **plain} if isinstance(value, Component) else plain
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def from_plain(kind: type[T], value: Any, field: str) -> T:
    """Read `value`, as JSON gives it, as the dataclass `kind`.

    Raises:
        ItmlabError: a field is unknown, missing or of the wrong type.
    """
    if not isinstance(value, Mapping):
        raise refusal(f"{field or 'it'} must be an object with fields, got {shown(value)}")
    fields = {item.name: item for item in dataclasses.fields(kind)}
    for name in value:
        if name not in fields:
            raise refusal(f"unknown field {join(field, name)}", did_you_mean(name, fields))
    for name, item in fields.items():
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if required and name not in value:
            raise refusal(f"field {join(field, name)} is missing")
    hints = hints_of(kind)
    return kind(**{name: typed(hints[name], item, join(field, name)) for name, item in value.items()})


def typed(hint: Any, value: Any, field: str) -> Any:
    """Return `value` if it is of the type `hint`; an int passes for a float, a list for a tuple.

    A number must be finite: JSON has no other, so a recipe with one could not be saved.

    >>> typed(tuple[float, ...], [1, 0.5], "betas")
    (1.0, 0.5)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(value, int) and abs(value) >= 2**63:
        raise refusal(f"{field} is too large a number")
    if hint is Any:
        return value
    if origin is Annotated:
        value = typed(arguments[0], value, field)
        check_range(value, arguments[1], field)
        return value
    if isinstance(hint, type) and issubclass(hint, Component):
        return _component(hint, value, field)
    if origin in UNIONS:
        return _typed_by_union(arguments, value, field, hint)
    if origin is Literal and value in arguments:
        return value
    if origin is tuple and isinstance(value, (list, tuple)):
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) == len(value):
            return tuple(typed(kind, value[i], f"{field}[{i}]") for i, kind in enumerate(kinds))
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {key: typed(arguments[1], item, join(field, key)) for key, item in value.items()}
    if dataclasses.is_dataclass(hint):
        return value if isinstance(value, hint) else from_plain(hint, value, field)
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        check(math.isfinite(value), field, value, "a finite number")
        return float(value)
    if isinstance(hint, type) and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    if origin not in (None, Literal, tuple, dict, Mapping):
        return value  # an annotation of somebody's own class, such as list[str]
    raise refusal(f"{field} must be {name_of(hint)}, got {shown(value)}")


def _component(kind: type[Component], value: Any, field: str) -> Component:
    """Return a component, or make the one that JSON or a class name describes."""
    if isinstance(value, kind) and dataclasses.is_dataclass(value):
        return value
    if isinstance(value, str):
        value = {"class": value}
    if isinstance(value, Mapping) and "class" not in value and dataclasses.is_dataclass(kind):
        value = {"class": kind.class_name(), **value}  # there is one class of this kind
    if not isinstance(value, Mapping) or not isinstance(value.get("class"), str):
        remedy = f"pass an instance of a dataclass derived from {kind.__name__}, or its name"
        raise refusal(f"{field} must be a {kind.__name__}, got {shown(value)}", remedy)
    with named(f"recipe: {field}"):
        definition = find_component(value["class"], kind)
        return from_plain(definition, {name: item for name, item in value.items() if name != "class"}, field)


def _typed_by_union(hints: tuple[Any, ...], value: Any, field: str, union: Any) -> Any:
    """Return `value` by the first hint that takes it."""
    if value is None and type(None) in hints:
        return None
    others = [hint for hint in hints if hint is not type(None)]
    if len(others) == 1:  # its own error says more
        return typed(others[0], value, field)
    for hint in others:
        try:
            return typed(hint, value, field)
        except ItmlabError:
            continue
    raise refusal(f"{field} must be {name_of(union)}, got {shown(value)}")


def name_of(hint: Any) -> str:
    """Return a type in words, for an error."""
    if get_origin(hint) in UNIONS:
        return " or ".join("null" if item is type(None) else name_of(item) for item in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if get_origin(hint) is tuple:
        return "a list" if Ellipsis in get_args(hint) else f"a list of {len(get_args(hint))}"
    return NAMES.get(hint) or getattr(hint, "__name__", str(hint))


def join(field: str, name: str) -> str:
    """Return the dotted path of a field within another."""
    name = str(name) if str(name).isprintable() else shown(name)
    return f"{field}.{name}" if field else name


def shown(value: Any, most: int = 200) -> str:
    """Return a value as text for an error's one line.

    >>> shown("a\\nb"), shown([0] * 9, most=7)
    ("'a\\\\nb'", '[0, 0, …')
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # too deeply nested, or more digits than Python writes
        text = f"a {type(value).__name__} that is too large to show"
    return text if len(text) <= most else f"{text[:most]}…"


def replaced(settings: T, changes: Mapping[str, Any], field: str = "") -> T:
    """Return a copy of a dataclass with `changes`: `a__b=1` or `"a.b": 1` reach into a nested one."""
    nested: dict[str, dict[str, Any]] = {}
    plain: dict[str, Any] = {}
    names = [item.name for item in dataclasses.fields(settings)]
    for key, value in changes.items():
        name, _, rest = key.replace("__", ".").partition(".")
        if name not in names:
            raise refusal(f"unknown field {join(field, name)}", did_you_mean(name, names))
        if rest:
            nested.setdefault(name, {})[rest] = value
        else:
            plain[name] = value
    for name, inner in nested.items():
        current = plain.get(name, getattr(settings, name))
        if not dataclasses.is_dataclass(current):
            raise refusal(f"{join(field, name)} is {shown(current)} and has no field {next(iter(inner))}")
        plain[name] = replaced(current, inner, join(field, name))
    hints = hints_of(type(settings))
    checked = {name: typed(hints[name], value, join(field, name)) for name, value in plain.items()}
    return dataclasses.replace(settings, **checked)
