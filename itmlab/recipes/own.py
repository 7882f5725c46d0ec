"""Own ideas in a recipe: somebody's own class or function where otherwise the name of one of ours stands.

    recipe.replace(sampler=FifthHardest(rank=4))        # an instance: each run makes one of its own like it
    recipe.replace(sampler=FifthHardest)                # a class, with `sampler__rank=4` if need be
    recipe.replace(loss=my_loss, loss__margin=0.1)      # a function
    recipe.replace(sampler="my_shop.ideas:FifthHardest")  # where it is to be imported from
    recipe.replace(sampler="fifth_hardest")             # the name under which an installed package registers it

likewise `loss`, `synthesis` (hard negatives as features), `generator` (of sentences; `tags__generator`) and `encoder`.
What each must do stands in `recipes.contracts`, which is asked at once, and again where a run begins. A package
registers a name by an entry point in the group of its kind (GROUPS):

    [project.entry-points."itmlab.samplers"]
    fifth_hardest = "my_shop.ideas:FifthHardest"

A recipe's file says where the idea is to be found, and a digest of its source, so that a run is taken up again only
with what it was begun with. The file itself brings no code in: what it names is looked for among what was handed over
in this process, by `replace` or by `use`, and among what installed packages register (SECURITY.md).
"""

import ast
import hashlib
import importlib
import inspect
import json
import linecache
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from types import FunctionType
from typing import Any

from ..errors import ItmlabError
from ..fields import check, did_you_mean, shown
from . import contracts

GROUPS = {
    "sampler": "itmlab.samplers",
    "loss": "itmlab.losses",
    "synthesis": "itmlab.synthesis",
    "generator": "itmlab.generators",
    "encoder": "itmlab.encoders",
}
# Where `Recipe.replace` takes one: the field → its kind. A loss takes the place of its name alone.
FIELDS = {
    "sampler": "sampler",
    "loss": "loss",
    "loss.kind": "loss",
    "synthesis": "synthesis",
    "generator": "generator",
    "tags.generator": "generator",
    "encoder": "encoder",
}
PLACES = {"loss": "loss.kind", "generator": "tags.generator"}
_handed_over: dict[tuple[str, str], Any] = {}  # (path, digest of the source) → the class or function


@dataclass(frozen=True)
class Own:
    """Where an own class or function is found, "module:Name", the digest of its `source`, and what it is made with."""

    path: str
    source: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        module, colon, name = self.path.partition(":")
        said = bool(colon) and all(word.isidentifier() for word in (*module.split("."), *name.split(".")))
        check(said, "path", self.path, "a module and a name in it, such as 'my_shop.ideas:FifthHardest'")

    @property
    def kind(self) -> str:
        """Its name among kinds that have one."""
        return self.path

    @classmethod
    def of(cls, thing: Any, part: str) -> "Own":
        """What is handed over for a `part` of a recipe: an instance, a class, a function, an import path or a name."""
        if isinstance(thing, str):
            thing = imported(thing, part)
        check(callable(thing), part, thing, "a class, a function, or an instance of a class")
        options: Mapping[str, Any] = {}
        if isinstance(thing, partial):
            check(not thing.args, part, thing, "options by their names")
            thing, options = thing.func, thing.keywords
        elif not inspect.isclass(thing) and not inspect.isfunction(thing):
            wanted = "its class, as each run makes a model of its own"
            check(part != "encoder", part, f"an instance of {type(thing).__name__}", wanted)
            thing, options = type(thing), _made_with(thing)
        path, source = use(thing)
        try:
            plain = json.loads(json.dumps(options, allow_nan=False))
        except (TypeError, ValueError):
            what = f"options that JSON has not: {shown(dict(options))}"
            raise ItmlabError(what, where=path, remedy="give it numbers, texts, lists and the like") from None
        return cls(path, source, plain)

    def thing(self, part: str) -> Any:
        """The class or function itself; an ItmlabError where it is not known, or not as it was."""
        if (self.path, self.source) in _handed_over:
            return _handed_over[self.path, self.source]
        for point in entry_points(group=GROUPS[part]):
            if point.value == self.path:
                path, found = use(_loaded(point, part))
                if (path, found) == (self.path, self.source):
                    return _handed_over[path, found]
        module, _, name = self.path.partition(":")
        here = "define it" if module == "__main__" else f"import it from {module}, if you trust that"
        if any(path == self.path for path, _ in _handed_over):
            what, remedy = "it is not as it was: its source has changed", "bring back what it was, or begin another run"
        else:
            what, remedy = "not known here", f"{here}, then itmlab.recipes.own.use({name})"
        raise ItmlabError(f"{what} ({self.source})", where=f"{part} {self.path}", remedy=remedy)

    def build(self, part: str, **offered: Any) -> Any:
        """A new one that keeps to its contract; of what is `offered` it is given what it has a parameter for."""
        thing, where = self.thing(part), f"{part} {self.path}"
        known = inspect.signature(thing).parameters
        options = {**{name: value for name, value in offered.items() if name in known}, **self.options}
        for name in self.options:
            if name not in known and not any(each.kind is each.VAR_KEYWORD for each in known.values()):
                remedy = did_you_mean(name, known) if known else "it has none"
                raise ItmlabError(f"there is no option {name!r}", where=where, remedy=remedy)
        if inspect.isclass(thing):
            try:
                inspect.signature(thing).bind(**options)
            except TypeError as error:
                raise ItmlabError(f"cannot be made: {error}", where=where, remedy="give its options, too") from None
        made = thing(**options) if inspect.isclass(thing) else partial(thing, **options) if options else thing
        return contracts.kept(part, made, where, **offered)

    def encoder(self, config: Any) -> type:
        """The class of an own encoder, which takes such a configuration."""
        found, where = self.thing("encoder"), f"encoder {self.path}"
        if self.options:
            raise ItmlabError("an encoder has no options", where=where, remedy="its sizes are those of the model")
        return contracts.encoder_class(found, type(config), where)


def use(thing: Any) -> tuple[str, str]:
    """Lets recipes and runs that are read from files use this class or function; its path and its source's digest.

    >>> from itmlab.samplers import Hardest
    >>> use(Hardest)[0]
    'itmlab.samplers.basic:Hardest'
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    if not module or not all(word.isidentifier() for word in name.split(".")):
        what = f"{name or type(thing).__name__} cannot be found again by its name"
        raise ItmlabError(what, remedy="define a class or a function of its own in a cell or at the top of a module")
    path, source = f"{module}:{name}", source_digest(thing)
    _handed_over[path, source] = thing
    return path, source


def handed_over(value: Any, part: str) -> bool:
    """Whether a value given for a part of a recipe is an own idea, and not settings of ours."""
    return callable(value) or (isinstance(value, str) and (":" in value or value in _registered(part)))


def _registered(part: str) -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=GROUPS[part])}


def _loaded(point: Any, part: str) -> Any:
    try:
        return point.load()
    except Exception as error:  # importing somebody's module may fail in any way
        what = f"what registers it cannot be used ({type(error).__name__}: {error})"
        raise ItmlabError(what, where=f"{part} {point.value}", remedy="mend or remove its package") from error


def imported(path: str, part: str) -> Any:
    """What an import path, or the name of an entry point, stands for."""
    if path in _registered(part):
        return _loaded(_registered(part)[path], part)
    module, _, name = path.partition(":")
    try:
        found = importlib.import_module(module)
        for word in name.split("."):
            found = getattr(found, word)
    except (ImportError, AttributeError, ValueError) as error:
        raise ItmlabError(f"not to be imported: {error}", where=f"{part} {path}") from error
    return found


def _made_with(thing: Any) -> dict[str, Any]:
    """What an instance was made with: of each parameter the attribute of its name."""
    options = {}
    for name, parameter in inspect.signature(type(thing)).parameters.items():
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if not named or not hasattr(thing, name):
            what = f"nobody can tell with which {name} this {type(thing).__name__} was made"
            raise ItmlabError(what, remedy=f"keep it as self.{name}, or give the class and its options")
        options[name] = getattr(thing, name)
    return options


# The source of an idea: of the class or function, and of what it uses of its own module (a constant above it, a helper
# in another cell). A change of either makes another idea of it, whose runs lie elsewhere.

PLAIN = (bool, int, float, str, tuple, list, dict, set, frozenset, type(None))


def source_digest(thing: Any) -> str:
    """Sixteen digits of the SHA-256 of a class's or function's source, with all that it uses of its own module."""
    found: dict[str, str] = {}
    _collect(thing, found)
    if not found[thing.__qualname__]:
        what = f"the source of {thing.__qualname__} is not to be read"
        raise ItmlabError(what, remedy="define it in a file, or in a notebook's cell as a class with a method")
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def _collect(thing: Any, found: dict[str, str]) -> None:
    """The source of a thing by its name, and those of what it uses."""
    found[thing.__qualname__] = ""
    for file, line in _places(thing):
        lines = linecache.getlines(file)
        for node in _definitions("".join(lines), thing.__name__, line):
            text = textwrap.dedent("".join(lines[_first_line(node) - 1 : node.end_lineno]))
            found[thing.__qualname__] = "\n".join(line.rstrip() for line in text.strip().splitlines())
            _collect_used(node, thing.__module__, found)
            return


def _places(thing: Any) -> Iterator[tuple[str, int]]:
    """File and line of code within the definition: by it a class in a notebook's cell is found, too."""
    for each in vars(thing).values() if inspect.isclass(thing) else [thing]:
        function = inspect.unwrap(getattr(each, "__func__", getattr(each, "fget", None) or each))
        if inspect.isfunction(function):
            yield function.__code__.co_filename, function.__code__.co_firstlineno
    with suppress(OSError, TypeError):  # a class without a method, in a file
        yield inspect.getfile(thing), inspect.getsourcelines(thing)[1]


def _definitions(text: str, name: str, line: int) -> Iterator[Any]:
    """The class or function of that name around a line of a file or cell."""
    try:
        tree = compile(text, "", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        defines = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Lambda)
        if defines and getattr(node, "name", "<lambda>") == name and _first_line(node) <= line <= node.end_lineno:
            yield node


def _first_line(node: Any) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _collect_used(definition: ast.AST, module: str, found: dict[str, str]) -> None:
    """The plain values, functions and classes of its module that a definition names."""
    names = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
    within = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    within |= {node.arg for node in ast.walk(definition) if isinstance(node, ast.arg)}
    there = vars(sys.modules.get(module, object))
    for name in {node.id for node in names} - within & there.keys() - found.keys():
        value = there[name]
        if isinstance(value, PLAIN):
            found[name] = repr(sorted(map(repr, value)) if isinstance(value, set | frozenset) else value)
        elif isinstance(value, type | FunctionType) and value.__module__ == module and value.__qualname__ not in found:
            _collect(value, found)
