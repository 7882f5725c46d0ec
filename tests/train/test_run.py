"""What a run is asked: its record, exports, evaluation; an ensemble of runs."""

import json

import pytest
import torch

from itmlab.train import directory
from itmlab.train.loop import train
from itmlab.train.run import Run, ensemble, keeps, pretrained
from itmlab.train.scores import similarity
from tests.refusals import refused
from tests.train.world import micro

TWO = {"split": "val", "ks": (1, 5)}


@pytest.fixture(scope="session")
def other_seed(data, tmp_path_factory):
    return train(micro(seed=1), data, tmp_path_factory.mktemp("other") / "run", progress=False)


def test_an_ensemble_averages_the_seeds_of_a_recipe(finished, other_seed, data):
    both = ensemble([finished, other_seed])
    expected = (similarity(finished.model, data) + similarity(other_seed.model, data)) / 2
    torch.testing.assert_close(both.similarity(data), expected)
    assert ensemble([finished]).evaluate(data, **TWO) == finished.evaluate(data, **TWO)
    refused("at least one run", ensemble, [])


def test_the_louder_of_two_recipes_does_not_outvote_the_other(finished, other_seed, data, monkeypatch):
    """Scores of recipes on other scales, such as cosines and logits, are standardised."""
    quiet, loud = finished.similarity(data), 50 * other_seed.similarity(data) + 7
    monkeypatch.setattr(other_seed, "recipe", micro("triplet"))
    monkeypatch.setattr(other_seed, "similarity", lambda data: loud)
    standard = [(scores - scores.mean()) / scores.std(correction=0) for scores in (quiet, loud)]
    torch.testing.assert_close(ensemble([finished, other_seed]).similarity(data), sum(standard) / 2)
    monkeypatch.setattr(other_seed, "similarity", lambda data: torch.ones_like(loud))  # a collapsed run has no vote
    torch.testing.assert_close(ensemble([finished, other_seed]).similarity(data), standard[0] / 2)


def test_data_without_regions_are_refused_with_the_call_that_loads_them(data):
    run, wanted = pretrained("tags"), 'data have none — load\\("scenes", regions="detector"\\)'
    for ask in (lambda: run.evaluate(data, ks=(1,)), lambda: run.search("a dog", data=data)):
        refused(wanted, ask)
    refused(wanted, ensemble([run]).evaluate, data, ks=(1,))


def test_an_export_can_be_used_but_not_resumed(finished, data, tmp_path):
    exported = finished.export(tmp_path / "exported")
    names = {path.name for path in exported.directory.iterdir()}
    assert {"recipe.json", "data.json", "history.jsonl", "config.json", "tokenizer.json"} < names
    assert not names & {"checkpoint.pt", "lock"}
    assert exported.recipe == finished.recipe and exported.history == finished.history and exported.finished
    full, half = ((run.directory / "model.safetensors").stat().st_size for run in (finished, exported))
    assert half < 0.6 * full
    assert exported.evaluate(data, **TWO)["rsum"] == pytest.approx(finished.evaluate(data, **TWO)["rsum"], abs=20)
    before = (exported.directory / "model.safetensors").read_bytes()
    train(micro(), data, exported.directory, progress=False)
    assert (exported.directory / "model.safetensors").read_bytes() == before


def test_an_export_overwrites_nothing_and_appears_whole(finished, tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for occupied in (finished.directory, tmp_path / "full", tmp_path / "file"):
        refused("exists already", finished.export, occupied)
    monkeypatch.setattr(type(finished.model), "save", lambda *_, **__: 1 / 0)  # ends before the weights are written
    with pytest.raises(ZeroDivisionError):
        finished.export(tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "finished", "full"]


def test_an_export_copies_nothing_that_a_link_points_at(finished, tmp_path):
    (tmp_path / "private").write_text("{}")
    (finished.directory / "data.json").unlink()
    (finished.directory / "data.json").symlink_to(tmp_path / "private")
    refused("leaves its root", finished.export, tmp_path / "new")


def test_pretrained_runs_are_found_by_name(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "HOME", tmp_path / "pretrained")
    refused("none in this installation", pretrained, "fne")
    finished.export(tmp_path / "pretrained" / "fne")
    assert pretrained("fne").recipe.name == "fne"
    refused("no pretrained run 'fnee' — .*fne", pretrained, "fnee")
    refused("no folder .*'runs/notthere'", pretrained, "runs/notthere")


def test_a_directory_without_a_run_or_without_weights_is_refused(tmp_path):
    refused(r"no recipe\.json", Run, tmp_path)
    micro().save(tmp_path / "recipe.json")
    begun = Run(tmp_path)
    assert begun.history == [] and not begun.finished
    refused("no weights yet", lambda: begun.model)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ({"kind": "epoch", "step": 4, "loss": 1.0}, "epoch"),
        ({"kind": "epoch", "epoch": 1, "step": 4, "loss": 1.0, "rsum": 9.0}, "i2t"),
        ({"kind": "warning", "epoch": 1, "step": 1}, "message"),
        ({"epoch": 1, "step": 1, "loss": 1.0}, "kind"),
        ({"kind": ["step"]}, "kind"),
    ],
)
def test_a_history_without_its_fields_is_refused_by_line_and_the_run_still_works(line, word, finished, data):
    """Issue 44, entry 21."""
    with open(finished.directory / "history.jsonl", "a") as file:
        file.write(json.dumps(line) + "\n")
    for ask in (lambda: finished.history, lambda: finished.kept_epoch, lambda: finished.finished):
        refused(rf"history\.jsonl:\d+: .*{word}", ask)
    assert finished.evaluate(data, **TWO)["rsum"] > 0 and len(finished.search("red", data=data)) == 5


def test_a_last_line_cut_by_a_kill_is_left_out(finished):
    path, records = finished.directory / "history.jsonl", finished.history
    path.write_bytes(path.read_bytes() + b'{"kind": "st')
    assert finished.history == records


def test_the_kept_epoch_is_the_one_whose_recall_the_weights_have(finished, data):
    assert finished.evaluate(data, **TWO)["rsum"] == pytest.approx(finished.kept_epoch["rsum"])
    best = None
    for epoch, rsum in enumerate((50.0, 40.0, 45.0, 45.0), start=1):  # the first is the warm-up
        best = (epoch, rsum) if keeps(rsum, best and best[1], epoch, warm_up_epochs=1) else best
    assert best == (3, 45.0)
    assert keeps(None, None, 4, 0), "the last where nothing is validated"


def test_a_run_opened_by_a_relative_path_is_found_after_chdir(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(finished.directory.parent)
    run = Run(finished.directory.name)
    monkeypatch.chdir(tmp_path)
    assert repr(run) == f"Run(fne, tiny, {finished.directory.name})" and run.history == finished.history


def test_a_result_at_chance_is_said_to_be_at_chance(finished, data, monkeypatch):
    noise = torch.rand(finished.similarity(data).shape, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(finished, "similarity", lambda part: noise[: len(part), : len(part.captions)])
    with pytest.warns(UserWarning, match="random order"):
        finished.evaluate(data, split=None)
