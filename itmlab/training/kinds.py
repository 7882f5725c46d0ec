"""What a recipe's model configuration stands for: how such a model is built and read, and how it learns."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from .. import models

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from .task import Task


@dataclass(frozen=True)
class Kind:
    """Names of a builder and of a class with `load` in `itmlab.models`, and of a task's module and class here."""

    builder: str
    model: str
    task: tuple[str, str]

    def build(self, config: Any, source: "Iterable[str] | PreTrainedTokenizerFast") -> nn.Module:
        """A fresh model whose vocabulary comes from captions or is a tokeniser's."""
        return getattr(models, self.builder)(config, source)

    def load(self, directory: Path) -> nn.Module:
        """A saved model, in evaluation mode."""
        return getattr(models, self.model).load(directory)

    def new_task(self, *arguments: Any) -> "Task":
        """What makes losses of batches; the arguments are `Task`'s."""
        module, name = self.task
        return getattr(import_module(f".{module}", __package__), name)(*arguments)


KINDS: dict[type, Kind] = {
    models.TwoTowerConfig: Kind("build_model", "TwoTower", ("two_feature_task", "TwoFeatureTask")),
    models.SeparateOneTowerConfig: Kind(
        "build_separate_one_tower", "SeparateOneTower", ("two_feature_task", "TwoFeatureTask")
    ),
    models.FragmentConfig: Kind("build_fragment", "Fragment", ("two_feature_task", "TwoFeatureTask")),
    models.OneTowerConfig: Kind("build_one_tower", "OneTower", ("one_tower_task", "OneTowerTask")),
}


def kind_of(config: Any) -> Kind:
    """The kind that a configuration belongs to."""
    return KINDS[type(config)]
