"""Components: the parts of a recipe that own their parameters, such as samplers and losses.

A component is a dataclass. Its fields are its parameters and its JSON; whatever changes while a run trains is set in
`__post_init__` and is not a field. A recipe's file names the class of a component by its name (ours) or by its import
path (anybody's). Reading a file imports nothing: another class must be in a module that this process has imported.
"""

import dataclasses
import inspect
import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ItmlabError

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T", bound="Component")
HOMES = ("losses", "samplers", "synthesis")  # the packages of our components


class Component:
    """Base class of samplers, losses, margins and synthesisers, which are dataclasses.

    One that is also a `torch.nn.Module` has weights: it calls `torch.nn.Module.__init__` in `__post_init__`, and is a
    `dataclass(eq=False)`.
    """

    @classmethod
    def class_name(cls) -> str:
        """The name by which a file finds the class: "Hardest" for ours, "module:Name" for any other."""
        is_ours = cls.__module__.partition(".")[0] == __package__
        return cls.__name__ if is_ours else f"{cls.__module__}:{cls.__qualname__}"

    def observe(self, scores: "Tensor", positives: "Tensor") -> None:
        """Learn from one batch's own scores, (pair, pair); only components with statistics do anything here."""

    def start_epoch(self, epoch: int) -> None:
        """Note that epoch number `epoch` begins."""

    def state_dict(self) -> dict[str, "Tensor"]:
        """Return what a checkpoint must hold for an exact resume: plain tensors, such as weights or statistics."""
        return getattr(super(), "state_dict", dict)()

    def load_state_dict(self, state: dict[str, "Tensor"]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            ItmlabError: the state is another component's.
        """
        if hasattr(super(), "load_state_dict"):
            super().load_state_dict(state)
        elif state:
            raise ItmlabError(f"{type(self).__name__} keeps no state, but was given {', '.join(sorted(state))}")


def find_component(name: str, kind: type[T]) -> type[T]:
    """Find the class of a component of a `kind` by its name in a file.

    Args:
        name: the name of one of ours, or "module:Name" of a class that is already imported.
        kind: the base class, such as `Sampler`.

    Raises:
        ItmlabError: there is no such class, or it is not a dataclass of this kind.
    """
    module, colon, path = name.partition(":")
    if not colon:
        packages = [import_module(f"{__package__}.{home}") for home in HOMES]
        ours = {cls.__name__: cls for package in packages for cls in _components_of(package, kind)}
        if name not in ours:
            raise ItmlabError(f"there is no {kind.__name__} {name!r}", remedy=f"there are {', '.join(sorted(ours))}")
        return ours[name]
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if found is not None else None
    if found is None:
        raise ItmlabError("this class is not known here", where=name, remedy=f"import {module} first")
    if not (inspect.isclass(found) and issubclass(found, kind) and dataclasses.is_dataclass(found)):
        raise ItmlabError(
            f"this is not a {kind.__name__}", where=name, remedy=f"derive a dataclass from {kind.__name__}"
        )
    return found


def _components_of(package: ModuleType, kind: type[T]) -> list[type[T]]:
    """The components of a kind that a package of ours offers."""
    offered = [getattr(package, name) for name in package.__all__]
    classes = [cls for cls in offered if inspect.isclass(cls) and issubclass(cls, kind)]
    return [cls for cls in classes if dataclasses.is_dataclass(cls)]


def parameters(component: Component) -> Mapping[str, Any]:
    """The fields of a component by name."""
    return {item.name: getattr(component, item.name) for item in dataclasses.fields(component)}


def classes_in(settings: Any) -> list[type[Component]]:
    """The classes of all components in a dataclass, such as a recipe, also of those within others."""
    if not dataclasses.is_dataclass(settings):
        return []
    own = [type(settings)] if isinstance(settings, Component) else []
    return own + [cls for item in dataclasses.fields(settings) for cls in classes_in(getattr(settings, item.name))]
