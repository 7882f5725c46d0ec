"""A cross-encoder's run: it learns, records its losses, and begins from other runs."""

import copy

import pytest
import torch

import itmlab
from itmlab.models import CrossEncoder, CrossEncoderConfig, OscarDualEncoderConfig
from itmlab.scenes import load
from itmlab.train import checkpoint
from itmlab.train.loop import train
from itmlab.train.named import FROM_SCRATCH
from itmlab.train.scores import similarity
from tests.refusals import refused
from tests.train.towers import tower

SCRATCH = {f"tags__{name}": value for name, value in FROM_SCRATCH.items()}
SCRATCH |= {"tags__mining": "set", "tags__alignment_temperature": 0.07, "tags__matching_begins": 0.2}
LEARNS = {**SCRATCH, "data__steps": 80, "data__batch_size": 8}


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    return train(tower(), data, tmp_path_factory.mktemp("tower") / "run", progress=False)


def test_it_learns(data, tmp_path):
    recipe = tower("uniter_pretraining", model__dropout=0.0, optimiser__learning_rate=1e-2, **LEARNS)
    learnt = train(recipe, data, tmp_path / "run", progress=False)
    steps = [record["losses"] for record in learnt.history if record["kind"] == "step"]
    assert len(steps) == 8 and learnt.finished
    assert ["retrieved" in losses for losses in steps] == [False] + [True] * 7, "matching begins after a fifth of them"
    for name in ("alignment", "masked_language"):
        assert sum(step[name] for step in steps[-2:]) < 0.7 * sum(step[name] for step in steps[:2]), name


def test_the_record_names_losses_and_counts_difficulties(data, tmp_path):
    recipe = tower(data__steps=20, data__accumulate=2, data__validation=0)
    records = train(recipe, data, tmp_path / "run", progress=False).history
    steps = [record for record in records if record["kind"] == "step"]
    assert [record["step"] for record in steps] == [10, 20]
    for record in steps:
        assert set(record["losses"]) == set(recipe.tags.weights.wanted)
        assert record["loss"] == pytest.approx(sum(record["losses"].values()), rel=1e-5)  # each of weight 1
        assert sum(record["difficulty"]["retrieved"]) == 2 * 6 * 2  # batches, pairs, negatives kept
        assert len(record["difficulty"]["synthetic"]) == 40


def test_a_run_of_steps_ends_in_the_middle_of_an_epoch_with_an_evaluation(run):
    assert [(record["epoch"], record["step"]) for record in run.epochs] == [(1, 5), (2, 9)]
    assert all("rsum" in record for record in run.epochs) and run.finished


def test_it_begins_from_a_shipped_run_by_name_and_from_a_saved_model(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "HOME", tmp_path / "shipped")
    run.export(tmp_path / "shipped" / "first", dtype="float32")
    run.model.save(tmp_path / "model")
    steady = {"model__dropout": 0.0, "data__steps": 1, "optimiser__learning_rate": 1e-12}
    for start in ("first", str(tmp_path / "model")):
        begun = train(tower(start=start, **steady), data, tmp_path / f"run-{len(start)}", progress=False)
        torch.testing.assert_close(begun.model.heads.wod.weight, run.model.heads.wod.weight, atol=1e-6, rtol=0)
        assert begun.model.tokenizer.get_vocab() == run.model.tokenizer.get_vocab()


def test_a_start_that_does_not_exist_or_fit_is_refused(run, data, tmp_path):
    for start, words in (("nowhere", "no shipped run"), (str(run.directory), "hidden 16")):
        refused(words, train, tower(start=start, model__hidden=24), data, tmp_path / "run", progress=False)


def test_a_run_does_not_resume_with_a_start_that_changed(run, data, tmp_path):
    run.model.save(tmp_path / "model")
    recipe = tower(start=str(tmp_path / "model"))
    train(recipe, data, tmp_path / "run", max_steps=2, progress=False)
    other = CrossEncoder.load(tmp_path / "model")
    other.heads.wod.bias.data += 1
    other.save(tmp_path / "model")
    refused("start is", train, recipe, data, tmp_path / "run", progress=False)


OSCAR = {"form": "oscar", "region_dimension": 192, "hidden": 16, "layers": 1, "heads": 2, "intermediate": 24,
         "vocabulary_size": 150, "maximum_tokens": 64, "positions": 64, "dropout": 0.0}  # fmt: skip


@pytest.mark.parametrize("kind", [CrossEncoderConfig, OscarDualEncoderConfig])
def test_the_tags_of_regions_are_trained_and_scored_with_unless_left_out(kind, tmp_path, tmp_path_factory):
    data = load(images=16, cache=tmp_path_factory.mktemp("scenes"), regions=True)
    bare = copy.copy(data)
    bare.regions = [regions._replace(tags=None) for regions in data.regions]
    short = {"data__batch_size": 4, "data__steps": 2, "data__validation": 0}
    recipe = (
        tower("uniter", **short) if kind is CrossEncoderConfig else itmlab.recipe("oscar").replace(**short, start=None)
    )
    recipe, runs = recipe.replace(model=kind(**OSCAR, object_tags=True)), []
    for changes in ({}, {"model__object_tags": False}, {"model__object_tags": False, "start": str(tmp_path / "0")}):
        run = train(recipe.replace(**changes), data, tmp_path / str(len(runs)), progress=False)
        runs.append((run, similarity(run.model, data), similarity(run.model, bare)))
    assert not torch.allclose(*runs[0][1:]) and not torch.allclose(runs[0][1], runs[1][1])
    for run, scores, without in runs[1:]:
        assert not run.model.config.object_tags and torch.equal(scores, without)
