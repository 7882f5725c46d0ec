"""The loop: the learning rate over a run, what is recorded and kept, and where it stops."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import itmlab
from itmlab.data.batches import PairBatches
from itmlab.errors import ItmlabError
from itmlab.losses import Loss
from itmlab.models import DualEncoder
from itmlab.models.dual_encoder import Momentum
from itmlab.train import loop
from itmlab.train.directory import CHECKPOINT_FILE, load_checkpoint
from itmlab.train.loop import learning_rate_at, train
from itmlab.train.settings import OptimiserSettings
from itmlab.train.state import TrainingWarning
from tests.refusals import refused
from tests.train.test_resume import same_bytes
from tests.train.world import micro


def rates(settings, steps_an_epoch, epochs):
    return [learning_rate_at(settings, step, steps_an_epoch, epochs) for step in range(steps_an_epoch * epochs)]


def test_the_paper_decays_ten_times_at_the_5th_and_15th_epoch():
    by_epoch = rates(itmlab.recipe("fne", size="base").optimiser, 1, 25)
    assert by_epoch == pytest.approx([2e-5] * 5 + [2e-6] * 10 + [2e-7] * 10)


@given(
    schedule=st.sampled_from(["constant", "step", "linear", "cosine"]),
    warm_up=st.floats(0, 30),
    steps_an_epoch=st.integers(1, 7),
    epochs=st.integers(1, 9),
)
def test_it_is_never_above_the_rate_nor_negative_nor_rises_after_the_warm_up(schedule, warm_up, steps_an_epoch, epochs):
    settings = OptimiserSettings(learning_rate=1.0, schedule=schedule, warm_up=warm_up)
    values = rates(settings, steps_an_epoch, epochs)
    assert all(0 <= value <= 1 for value in values)
    after = [value for step, value in enumerate(values) if step / steps_an_epoch >= warm_up]
    assert after == sorted(after, reverse=True)


def test_it_learns(data, tmp_path):
    run = train(micro("triplet", data__epochs=15, model__dropout=0.0), data, tmp_path / "run", progress=False)
    assert run.finished
    assert run.epochs[-1]["loss"] < run.epochs[0]["loss"] / 2
    scores = run.evaluate(data, split="train")
    assert scores["i2t"][10] > 60 and scores["t2i"][10] > 60  # by chance about 30


def test_the_record_has_every_tenth_step_and_every_epoch(finished):
    records = [record for record in finished.history if record["kind"] != "warning"]
    assert [record["kind"] for record in records] == ["epoch", "epoch", "step", "epoch", "epoch"]
    assert records[2]["step"] == 10 and records[2]["gradient_norm"] > 0
    captions = micro().data.captions_per_image
    pairs = {name: sum(counts) for name, counts in records[2]["cosines"].items()}
    assert sum(pairs.values()) == (micro().data.batch_size * captions) ** 2 and pairs["positive"] >= 8 * captions**2
    recall = finished.epochs[-1]
    assert recall["rsum"] == sum(recall["i2t"].values()) + sum(recall["t2i"].values())


def test_the_weights_kept_are_those_of_the_best_epoch(finished, data):
    best = max(record["rsum"] for record in finished.epochs)
    assert finished.evaluate(data, split="val", ks=(1, 5))["rsum"] == pytest.approx(best)


def test_without_splits_all_is_trained_on_and_the_last_weights_kept(data, tmp_path):
    training = data.split("train")
    training.splits.clear()
    run = train(micro(data__epochs=1), training, tmp_path / "run", progress=False)
    assert run.finished and "rsum" not in run.epochs[-1]


def test_what_cannot_be_trained_on_is_refused(data, tmp_path):
    refused("no split 'train'", train, micro(), data.split("test"), tmp_path / "run", progress=False)
    refused("1 image to train on", train, micro(), data.split("train").select([0]), tmp_path / "run", progress=False)
    refused("max_steps must be 1 or more, got 0", train, micro(), data, tmp_path / "run", max_steps=0, progress=False)


def test_a_few_steps_give_a_model_already(data, tmp_path):
    run = train(micro(), data, tmp_path / "run", max_steps=2, progress=False)
    assert not run.finished and run.epochs == []
    assert len(run.search("a red field", data=data, k=3)) == 3
    assert train(micro(), data, tmp_path / "run", max_steps=1, progress=False).epochs == []


@pytest.mark.parametrize("error", [MemoryError, lambda: torch.empty(2**60), lambda: torch.empty(2**62, 2**62)])
def test_memory_that_cannot_be_had_is_refused(error, data, tmp_path, monkeypatch):
    def state(*_):
        raise error()

    monkeypatch.setattr(loop, "State", state)
    refused("more memory than there is", train, micro(), data, tmp_path / "run", progress=False)


def test_gradients_of_accumulated_batches_are_their_mean(data, tmp_path, monkeypatch):
    """Twice the same batch accumulated moves the weights as once the same batch does."""
    steady = {"optimiser__schedule": "constant", "optimiser__warm_up": 0.0}
    recipe = micro("triplet", model__dropout=0.0, data__epochs=1, **steady)
    once = train(recipe, data, tmp_path / "once", max_steps=1, progress=False)
    epoch = PairBatches.epoch
    monkeypatch.setattr(
        PairBatches, "epoch", lambda *options, **named: (b for b in epoch(*options, **named) for _ in "ab")
    )
    twice = train(recipe.replace(data__accumulate=2), data, tmp_path / "twice", max_steps=1, progress=False)
    for first, second in zip(once.model.parameters(), twice.model.parameters(), strict=True):
        torch.testing.assert_close(first, second, atol=1e-6, rtol=1e-5)


def test_a_loss_that_is_not_finite_stops_before_a_checkpoint_has_it(finished, data, tmp_path, monkeypatch):
    begin, calls = Momentum.__init__, []

    def beginning(self, model, **options):
        begin(self, model, **options)
        encode = self.model.encode_captions

        def with_nan(tokens):
            encoded = encode(tokens)
            calls.append(1)
            if len(calls) > 5:  # no loss reads what the memory is given in this step
                encoded.pooled[3] = float("nan")
            return encoded

        self.model.encode_captions = with_nan

    with monkeypatch.context() as patch:
        patch.setattr(Momentum, "__init__", beginning)
        with pytest.raises(ItmlabError, match=r"the loss is nan at step 6 \(epoch 2\); images .*picture-\d+"):
            train(micro(), data, tmp_path / "run", checkpoint_every=1, progress=False)
    state = load_checkpoint(tmp_path / "run" / CHECKPOINT_FILE)
    assert state["position"]["step"] == 5 and all(weight.isfinite().all() for weight in state["model"].values())
    assert same_bytes(train(micro(), data, tmp_path / "run", progress=False), finished)


def test_low_precision_trains_as_well(data, tmp_path):
    run = train(micro(optimiser__precision="bfloat16"), data, tmp_path / "run", progress=False)
    assert run.finished and all(weight.dtype == torch.float32 for weight in run.model.parameters())


def messages(run):
    return [record["message"] for record in run.history if record["kind"] == "warning"]


def test_a_run_that_learns_is_not_warned_of(data, tmp_path):
    run = train(micro("info_nce", data__epochs=15, model__dropout=0.0), data, tmp_path / "run", progress=False)
    assert messages(run) == []


@dataclass
class Idle(Loss):
    """A loss without a gradient."""

    def forward(self, scores, positives, positive_scores):
        return 0 * positive_scores


HOPELESS = {
    "no negative": {"data__batch_size": 1, "data__captions_per_image": 2, "data__epochs": 1},
    "one pair": {"data__batch_size": 1, "data__captions_per_image": 1, "data__epochs": 1},
    "learning_rate": {"optimiser__learning_rate": 1e-30, "data__epochs": 1},
    "no gradient": {"data__epochs": 2, "loss": Idle()},  # from the end of the warm-up
    "similarities are equal": {"data__epochs": 13},
    "random order": {"data__epochs": 1, "optimiser__learning_rate": 1e-5},
}


def all_alike(encode):
    def encode_alike(self, inputs):
        encoded = encode(self, inputs)
        return encoded._replace(pooled=torch.full_like(encoded.pooled, 0.25))

    return encode_alike


@pytest.mark.parametrize("words", HOPELESS)
def test_a_hopeless_run_is_warned_of(words, data, tmp_path, monkeypatch):
    if words == "similarities are equal":
        for name in ("encode_images", "encode_captions"):
            monkeypatch.setattr(DualEncoder, name, all_alike(getattr(DualEncoder, name)))
    with pytest.warns(TrainingWarning, match=words):
        run = train(micro("triplet", **HOPELESS[words]), data, tmp_path / "run", progress=False)
    first = next(record for record in run.history if words in record.get("message", ""))
    steps = {"no gradient": 5, "similarities are equal": 50, "random order": run.history[-1]["step"]}
    assert first["step"] == steps.get(words, 1)
