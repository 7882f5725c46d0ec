"""The components that CONTRIBUTING.md shows train when they are passed to a recipe."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from itmlab.train.loop import train
from tests.train.world import MICRO

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_component_of_the_page_trains(number, data, tmp_path, monkeypatch):
    module = ModuleType(f"contributed_{number}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(BLOCKS[number], vars(module))
    recipe = module.recipe.replace(model=MICRO, start=None, data__batch_size=8, data__steps=2, data__warm_up_epochs=0)
    run = train(recipe, data, tmp_path / "run", progress=False)
    assert run.finished and run.epochs[-1]["loss"] > 0
