"""A cross-encoder's run: it learns, records its losses, and begins from other runs."""

import pytest
import torch

from itmlab.models import CrossEncoder
from itmlab.train import directory
from itmlab.train.loop import train
from tests.refusals import refused
from tests.train.towers import tower


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    return train(tower(), data, tmp_path_factory.mktemp("tower") / "run", progress=False)


def test_it_learns(data, tmp_path):
    few = {"data__steps": 80, "data__batch_size": 8, "model__dropout": 0.0, "optimiser__learning_rate": 1e-2}
    learnt = train(tower("tags", **few, tags__weights__synthetic=0.0), data, tmp_path / "run", progress=False)
    words = [record["losses"]["masked_language"] for record in learnt.history if record["kind"] == "step"]
    assert len(words) == 8 and learnt.finished and sum(words[-2:]) < 0.7 * sum(words[:2])


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
    monkeypatch.setattr(directory, "HOME", tmp_path / "shipped")
    run.export(tmp_path / "shipped" / "first", dtype="float32")
    run.model.save(tmp_path / "model")
    steady = {"model__dropout": 0.0, "data__steps": 1, "optimiser__learning_rate": 1e-12}
    for start in ("first", str(tmp_path / "model")):
        begun = train(tower(start=start, **steady), data, tmp_path / f"run-{len(start)}", progress=False)
        torch.testing.assert_close(begun.model.heads.wod.weight, run.model.heads.wod.weight, atol=1e-6, rtol=0)
        assert begun.model.tokenizer.get_vocab() == run.model.tokenizer.get_vocab()


def test_a_start_that_does_not_exist_or_fit_is_refused(run, data, tmp_path):
    for start, words in (("nowhere", "no pretrained run"), (str(run.directory), "hidden 16")):
        refused(words, train, tower(start=start, model__hidden=24), data, tmp_path / "run", progress=False)


def test_a_run_does_not_resume_with_a_start_that_changed(run, data, tmp_path):
    run.model.save(tmp_path / "model")
    recipe = tower(start=str(tmp_path / "model"))
    train(recipe, data, tmp_path / "run", max_steps=2, progress=False)
    other = CrossEncoder.load(tmp_path / "model")
    other.heads.wod.bias.data += 1
    other.save(tmp_path / "model")
    refused("start is", train, recipe, data, tmp_path / "run", progress=False)
