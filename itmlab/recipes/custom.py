"""Custom components: anybody's own sampler, loss, synthesis, generator or encoder in a recipe.

    recipe.replace(sampler=FifthHardest(rank=4))  # an instance: every run makes its own copy of it
    recipe.replace(loss=soft_hinges)              # a function
    recipe.replace(encoder=BagOfWords)            # a class

A recipe's file holds the import path and the options of a component, and no code. Reading it imports nothing: the
component is looked up among the modules that this process has imported already, and only functions, dataclasses and
classes derived from `Sampler` or `torch.nn.Module` are accepted (SECURITY.md).
"""

import copy
import dataclasses
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ItmlabError
from ..models.encoded import EncodesApart
from ..samplers import Sampler

# The fields of a recipe that take a custom component, and where it is stored.
PLACES = {"sampler": "sampler", "loss": "loss.kind", "loss.kind": "loss.kind", "synthesis": "synthesis"}
PLACES |= {"generator": "tags.generator", "tags.generator": "tags.generator", "encoder": "encoder"}


@dataclass(frozen=True)
class Custom:
    """The import path of a class or function, "module:Name", and the options that the class is constructed with."""

    path: str = field(metadata={"json": "class"})
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def kind(self) -> str:
        """The import path, where other settings have the name of their kind."""
        return self.path

    @classmethod
    def of(cls, component: Any) -> "Custom":
        """Describe an instance, a class or a function, so that a file can name it.

        Raises:
            ItmlabError: the component cannot be found again by its name, or its options cannot be written as JSON.
        """
        is_definition = inspect.isclass(component) or inspect.isfunction(component)
        definition = component if is_definition else type(component)
        custom = cls(f"{definition.__module__}:{definition.__qualname__}")
        if custom.definition() is not definition:
            raise ItmlabError("another definition has taken its name", where=custom.path, remedy="use the newer one")
        return custom if is_definition else dataclasses.replace(custom, options=_options_of(component, custom.path))

    def definition(self) -> Any:
        """Return the class or function, which must be in a module that is imported already."""
        module, _, name = self.path.partition(":")
        definition = vars(sys.modules[module]).get(name) if module in sys.modules else None
        if definition is None:
            remedy = f"import {module} first, and define {name} at its top level"
            raise ItmlabError("this class or function is not known here", where=self.path, remedy=remedy)
        if not _is_component(definition) or definition.__module__ != module:
            remedy = "use a function, a dataclass, or a class derived from Sampler or torch.nn.Module"
            raise ItmlabError("this is not a component of a recipe", where=self.path, remedy=remedy)
        return definition

    def build(self, part: str, **offered: Any) -> Any:
        """Make a new component for a `part` of a recipe; it receives those `offered` values that it has parameters for.

        Raises:
            ItmlabError: the options do not fit, or the component is of the wrong kind for this part.
        """
        definition = self.definition()
        parameters = inspect.signature(definition).parameters
        options = {name: value for name, value in offered.items() if name in parameters} | self.options
        if inspect.isclass(definition):
            try:
                inspect.signature(definition).bind(**options)
            except TypeError as error:
                raise ItmlabError(f"it cannot be made: {error}", where=self.path, remedy="check its options") from None
            component = definition(**options)
        elif self.options:
            raise ItmlabError("a function has no options", where=self.path, remedy="write a class with __call__")
        else:
            component = partial(definition, **options)
        if not callable(component) or (part == "sampler" and not isinstance(component, Sampler)):
            remedy = "derive it from itmlab.samplers.Sampler" if part == "sampler" else "give it a method __call__"
            raise ItmlabError(f"this cannot be used as the {part}", where=self.path, remedy=remedy)
        if part == "loss":
            _check_loss(component, self.path)
        return component

    def encoder(self, config: Any) -> type[EncodesApart]:
        """Return the class of a custom encoder, which must take a configuration of the type of `config`."""
        definition = self.definition()
        if not (inspect.isclass(definition) and issubclass(definition, EncodesApart)):
            remedy = "derive it from itmlab.models.DualEncoder, OscarDualEncoder or LateInteraction"
            raise ItmlabError("this class does not encode images and captions", where=self.path, remedy=remedy)
        if definition.config_class is not type(config):
            what = f"its config_class is {definition.config_class.__name__}, the recipe's model {type(config).__name__}"
            raise ItmlabError(what, where=self.path, remedy="start from a recipe with such a model")
        return definition


def _is_component(definition: Any) -> bool:
    if inspect.isclass(definition):
        return issubclass(definition, Sampler | nn.Module) or dataclasses.is_dataclass(definition)
    return inspect.isfunction(definition)


def _options_of(component: Any, path: str) -> dict[str, Any]:
    """The attributes that are named like the constructor's parameters."""
    names = list(inspect.signature(type(component)).parameters)
    missing = [name for name in names if not hasattr(component, name)]
    if missing:
        raise ItmlabError(f"it has no attribute {missing[0]}", where=path, remedy=f"set self.{missing[0]} in __init__")
    options = {name: getattr(component, name) for name in names}
    try:
        return json.loads(json.dumps(options, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ItmlabError(f"an option is not JSON: {error}", where=path, remedy="use numbers, texts, lists") from None


def _check_loss(loss: Callable[..., Tensor], path: str) -> None:
    """Refuse a loss that does not give one finite number where two anchors have negatives and one has none."""
    scores = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    positives = torch.eye(3, 4).bool()
    positives[2] = True
    with torch.random.fork_rng(devices=[]):
        value = copy.deepcopy(loss)(scores, positives, scores.diagonal())
    if not isinstance(value, Tensor) or value.ndim or not value.isfinite() or not value.requires_grad:
        remedy = "return one finite number with a gradient, also where an anchor has no negative"
        raise ItmlabError(f"the loss of a small case is {value!r}", where=path, remedy=remedy)
