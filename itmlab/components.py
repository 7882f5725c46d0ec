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
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ItmlabError

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")


class Component:
    """Base class of samplers, losses, margins, synthesisers and configurations: dataclasses.

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

    def state_dict(self, *arguments: Any, **options: Any) -> dict[str, "Tensor"]:
        """Return what a checkpoint must hold for an exact resume: plain tensors, such as weights or statistics.

        A module takes the arguments of `torch.nn.Module.state_dict`.
        """
        return getattr(super(), "state_dict", dict)(*arguments, **options)

    def load_state_dict(self, state: dict[str, "Tensor"]) -> None:
        """Restore what `state_dict` returned."""
        if hasattr(super(), "load_state_dict"):
            super().load_state_dict(state)


def find_component(name: str, kind: type[T]) -> type[T]:
    """Find the class of a component of a `kind` by its name in a file.

    Args:
        name: the name of one of ours, or "module:Name" of a class that is already imported.
        kind: the base class, such as `Sampler`.

    Raises:
        ItmlabError: there is no such class, or it is not a dataclass of this kind.
    """
    if ":" not in name:
        package = import_module(kind.__module__.rpartition(".")[0])  # that of the base class, such as itmlab.samplers
        public = [getattr(package, attribute) for attribute in getattr(package, "__all__", ())]
        classes = [cls for cls in public if inspect.isclass(cls) and issubclass(cls, kind)]
        ours = {cls.__name__: cls for cls in classes if dataclasses.is_dataclass(cls)}
        if name not in ours:
            raise ItmlabError(f"there is no {kind.__name__} {name!r}", remedy=f"there are {', '.join(sorted(ours))}")
        return ours[name]
    definition = find_class(name, kind)
    if not dataclasses.is_dataclass(definition):
        raise ItmlabError("this class is not a dataclass", where=name, remedy="write @dataclass above it")
    return definition


def find_class(path: str, kind: type[T]) -> type[T]:
    """Find a class derived from `kind` by its import path "module:Name", in a module that is imported already.

    Raises:
        ItmlabError: there is no such class, or it is not derived from `kind`.
    """
    module, _, names = path.partition(":")
    definition: Any = sys.modules.get(module)
    for name in names.split("."):
        definition = getattr(definition, "__dict__", {}).get(name)
    if definition is None:
        raise ItmlabError("this class is not known here", where=path, remedy=f"import {module} first")
    if not (inspect.isclass(definition) and issubclass(definition, kind)):
        raise ItmlabError(f"this is not a {kind.__name__}", where=path, remedy=f"derive it from {kind.__name__}")
    return definition


def parameters(component: Component) -> Mapping[str, Any]:
    """Return the fields of a component by name."""
    return {item.name: getattr(component, item.name) for item in dataclasses.fields(component)}


def classes_in(settings: Any) -> list[type[Component]]:
    """Return the classes of all components in a dataclass such as a recipe, also of nested ones."""
    if not dataclasses.is_dataclass(settings):
        return []
    classes = [type(settings)] if isinstance(settings, Component) else []
    return classes + [cls for item in dataclasses.fields(settings) for cls in classes_in(getattr(settings, item.name))]
