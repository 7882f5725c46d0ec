"""A custom component in a recipe trains, is named in its file, and is refused where it cannot be used."""

import json
from dataclasses import dataclass

import pytest
import torch

from itmlab import recipes
from itmlab.recipes.custom import Custom
from itmlab.recipes.recipe import Recipe
from itmlab.runs import Run
from itmlab.samplers import Hardest, Sampler
from itmlab.training.loop import train
from tests.recipes import components
from tests.refusals import refused
from tests.training.test_objective import IDS, ROWS, features, objective
from tests.training.world import micro

USES = {
    "sampler": ("hardest_memory", {"sampler": components.FifthHardest(1)}),
    "loss": ("info_nce", {"loss": components.soft_hinges}),
    "learnt": ("info_nce", {"loss": components.LearntTemperature(0.1)}),
    "synthesis": ("info_nce", {"synthesis": components.Between(0.4)}),
    "encoder": ("info_nce", {"encoder": components.MeanOfPieces}),
}


@pytest.mark.parametrize("name", USES)
def test_it_trains_and_resumes_to_the_bit_and_its_run_opens(name, data, tmp_path):
    base, changes = USES[name]
    recipe = micro(base, **changes, data__epochs=2)
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    whole = train(recipe, data, tmp_path / "whole", progress=False)
    train(recipe, data, tmp_path / "parts", progress=False, max_steps=3)
    parts = train(recipe, data, tmp_path / "parts", progress=False)
    weights = [run.model.state_dict() for run in (whole, parts, Run(tmp_path / "whole"))]
    assert all(torch.equal(weights[0][key], other[key]) for key in weights[0] for other in weights[1:])


def test_a_file_holds_the_import_path_and_the_options():
    plain = recipes.fne.replace(sampler=components.FifthHardest(rank=7)).to_json()["sampler"]
    assert plain == {"class": "tests.recipes.components:FifthHardest", "options": {"rank": 7}}
    assert (
        recipes.fne.replace(sampler=Hardest(2)).sampler
        == recipes.fne.replace(sampler={"kind": "hardest", "options": {"rank": 2}}).sampler
    ), "one of ours keeps its name"


def test_a_file_imports_nothing_and_calls_nothing_but_components(tmp_path, monkeypatch):
    for path in ("os:system", "subprocess:Popen", "builtins:exec", "nowhere:Sampler", "sys:modules", "x"):
        plain = recipes.fne.to_json() | {"sampler": {"class": path, "options": {"args": ["touch", "x"]}}}
        refused("not known here|not a component", Recipe.from_json(plain).build, "sampler")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "not_imported.py").write_text("raise SystemExit")
    refused("import not_imported first", Custom("not_imported:Mine").build, "sampler")


class NotASampler:
    pass


@dataclass
class WithTensor:
    weights: object

    def __call__(self, anchors, candidates, positives, *, generator): ...


def matrix_loss(scores, positives, positive_scores):
    return scores


def infinite_loss(scores, positives, positive_scores):
    return scores.masked_fill(positives, -torch.inf).amax(1).mean()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sampler": NotASampler}, "derived from Sampler"),
        ({"sampler": components.soft_hinges}, "cannot be used as the sampler"),
        ({"sampler": components.FifthHardest(), "sampler__rnak": 3}, "rnak"),
        ({"sampler": type("Local", (Sampler,), {"choose": None})}, "not known here"),
        ({"loss": matrix_loss, "sampler": None}, "one finite number"),
        ({"loss": infinite_loss, "sampler": None}, "one finite number"),
        ({"synthesis": WithTensor(torch.ones(1))}, "not JSON"),
        ({"encoder": components.LearntTemperature}, "does not encode"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(changes, words):
    refused(words, recipes.fne.replace, **changes)


def test_the_sampler_chooses_and_the_loss_is_asked_in_both_directions():
    images, captions = features(0)
    ours, mine = (
        objective("semi_hard", sampler=sampler)(images, captions, IDS, ROWS, None, epoch=1)
        for sampler in (Hardest(2), components.FifthHardest(2))
    )
    assert torch.equal(ours.chosen, mine.chosen) and torch.equal(ours.loss, mine.loss)
    scores, positives = images @ captions.T, IDS[:, None] == IDS
    expected = sum(components.soft_hinges(side, positives, scores.diagonal(), 0.3) for side in (scores, scores.T))
    mine = objective("info_nce", loss=components.soft_hinges, loss__margin=0.3)
    assert mine(images, captions, IDS, ROWS, None, epoch=1).loss.item() == pytest.approx(expected.item())


def test_options_are_the_fields_of_a_dataclass_or_attributes():
    assert Custom.of(components.Between(0.25)).options == {"share": 0.25}
    assert (
        Custom.of(components.FifthHardest).options == {} and Custom.of(components.FifthHardest()).build("x").rank == 4
    )
