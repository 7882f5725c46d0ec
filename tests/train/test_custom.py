"""A custom component in a recipe trains, is named in its file, and is refused where it cannot be used."""

import json
from dataclasses import dataclass

import pytest
import torch

import itmlab
from itmlab.samplers import Hardest, Sampler
from itmlab.train import Run
from itmlab.train.loop import train
from itmlab.train.recipes import Recipe
from tests.refusals import refused
from tests.train import components
from tests.train.world import micro

USES = {
    "sampler with context": ("hardest_memory", {"sampler": components.NoSharedNoun()}),
    "loss with context": ("info_nce", {"loss": components.GrowingMargin()}),
    "learnt": ("info_nce", {"loss": components.LearntTemperature(0.1)}),
    "synthesis": ("info_nce", {"synthesis": components.Between(0.4)}),
}


@pytest.mark.parametrize("name", USES)
def test_it_trains_and_resumes_to_the_bit_and_its_run_opens(name, data, tmp_path):
    base, changes = USES[name]
    recipe = micro(base, **changes, data__epochs=2)
    plain = recipe.to_json()
    assert Recipe.from_json(json.loads(json.dumps(plain))).to_json() == plain
    uninterrupted = train(recipe, data, tmp_path / "whole", progress=False)
    train(recipe, data, tmp_path / "parts", progress=False, max_steps=3)
    parts = train(recipe, data, tmp_path / "parts", progress=False)
    weights = [run.model.state_dict() for run in (uninterrupted, parts, Run(tmp_path / "whole"))]
    assert all(torch.equal(weights[0][key], other[key]) for key in weights[0] for other in weights[1:])


def test_what_a_loss_learns_is_learnt_and_leaves_the_recipe_alone(data, tmp_path):
    recipe = micro("info_nce", loss=components.LearntTemperature(0.1), data__epochs=2)
    train(recipe, data, tmp_path / "run", progress=False, max_steps=7)
    state = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)
    learnt = state["task"]["loss"]["log_scale"]
    assert learnt.isfinite() and learnt != recipe.loss.log_scale


def test_a_file_imports_nothing_and_calls_nothing_but_components(tmp_path, monkeypatch):
    for path in ("os:system", "subprocess:Popen", "builtins:exec", "nowhere:Sampler", "sys:modules", "x"):
        plain = itmlab.recipe("fne").to_json() | {"sampler": {"class": path, "args": ["touch", "x"]}}
        refused("not known here|not a Sampler|no Sampler", Recipe.from_json, plain)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "not_imported.py").write_text("raise SystemExit")
    plain = itmlab.recipe("fne").to_json() | {"sampler": {"class": "not_imported:A"}}
    refused("import not_imported", Recipe.from_json, plain)


class NotASampler:
    pass


class NoDataclass(Sampler):
    def choose(self, scores, positives, positive_scores, *, generator):
        return scores.argmax(dim=1)


@dataclass
class Unhashable(components.LearntTemperature):
    pass


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"sampler": NotASampler()}, "Sampler"),
        ({"sampler": NoDataclass()}, "dataclass"),
        ({"sampler": components.GrowingMargin()}, "Sampler"),
        ({"sampler": Hardest(), "sampler__rnak": 3}, "rnak"),
        ({"loss": Unhashable()}, "eq=False"),
        ({"encoder": components.LearntTemperature}, "not a Model"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(changes, word):
    refused(word, itmlab.recipe("fne").replace, **changes)
