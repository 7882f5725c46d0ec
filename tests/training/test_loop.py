"""The loop: the learning rate over a run, what is recorded and kept, and where it stops."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import itmlab
from itmlab.components import parameters
from itmlab.data.batches import Augmentation, PairBatches
from itmlab.errors import ItmlabError
from itmlab.models import DualEncoder, ImagePreparation, OscarDualEncoderConfig
from itmlab.models.dual_encoder import Momentum
from itmlab.recipes.settings import OptimiserSettings
from itmlab.runs.checkpoint import CHECKPOINT_FILE, load_checkpoint
from itmlab.training import loop
from itmlab.training.loop import learning_rate_at, train
from tests.training.test_resume import same_bytes
from tests.training.towers import MICRO_TOWER
from tests.training.world import MICRO, micro, small_world


def rates(settings, steps_an_epoch, epochs):
    return [learning_rate_at(settings, step, steps_an_epoch, epochs) for step in range(steps_an_epoch * epochs)]


def test_the_paper_decays_ten_times_at_the_5th_and_15th_epoch():
    by_epoch = rates(itmlab.recipe("fne", size="base").optimiser, 1, 25)
    assert by_epoch == pytest.approx([2e-5] * 5 + [2e-6] * 10 + [2e-7] * 10)


def test_a_warm_up_rises_in_equal_steps_to_the_full_rate():
    settings = OptimiserSettings(learning_rate=1.0, schedule="constant", warm_up=2.0)
    assert rates(settings, 2, 4) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1])


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


def test_a_warm_up_may_be_a_share_of_all_steps_and_a_run_may_end_within_an_epoch():
    settings = OptimiserSettings(learning_rate=1.0, schedule="linear", warm_up_share=0.25)
    values = [learning_rate_at(settings, step, 5, 12 / 5) for step in range(12)]
    assert values == pytest.approx([0.25, 0.5, 0.75, 1, 8 / 9, 7 / 9, 6 / 9, 5 / 9, 4 / 9, 3 / 9, 2 / 9, 1 / 9])


def test_it_learns(data, tmp_path):
    run = train(micro("triplet", data__epochs=15, model__dropout=0.0), data, tmp_path / "run", progress=False)
    assert run.finished
    assert run.epochs[-1]["loss"] < run.epochs[0]["loss"] / 2
    scores = run.evaluate(data, split="train")
    assert scores["i2t"][10] > 60 and scores["t2i"][10] > 60  # by chance about 30


def test_the_record_has_every_tenth_step_and_every_epoch(finished, data):
    records = finished.history
    assert [record["kind"] for record in records] == ["epoch", "epoch", "step", "epoch", "epoch"]
    assert [record["epoch"] for record in finished.epochs] == [1, 2, 3, 4]
    assert records[2]["step"] == 10 and records[2]["gradient_norm"] > 0
    weights = sum(weight.numel() for weight in finished.model.parameters())
    assert 0 < sum(records[2]["gradients"]) <= weights and len(records[2]["gradients"]) == 36
    pairs = {name: sum(counts) for name, counts in records[2]["cosines"].items()}
    each = micro().data.captions_per_image
    size = micro().data.batch_size * each  # a pair a caption
    assert pairs == {"positive": size * each, "negative": size * (size - each)}
    recall = finished.epochs[-1]
    assert recall["rsum"] == sum(recall["i2t"].values()) + sum(recall["t2i"].values())
    text = (finished.directory / "history.jsonl").read_text()
    assert "seconds" not in text, "the clock would make two runs differ"
    timings = [json.loads(line) for line in (finished.directory / "timings.jsonl").read_text().splitlines()]
    assert len(timings) == 4 and all(timing["training_seconds"] > 0 for timing in timings)


def test_the_weights_kept_are_those_of_the_best_epoch(finished, data):
    best = max(record["rsum"] for record in finished.epochs)
    assert finished.evaluate(data, split="val", ks=(1, 5))["rsum"] == pytest.approx(best)


def test_without_splits_all_is_trained_on_and_the_last_weights_kept(data, tmp_path):
    whole = data.split("train")
    whole.splits.clear()
    run = train(micro(), whole, tmp_path / "run", progress=False)
    assert run.finished and "rsum" not in run.epochs[-1]
    assert run.evaluate(whole, split=None)["rsum"] > 0


def test_splits_without_train_are_refused_rather_than_all_trained_on(data, tmp_path):
    with pytest.raises(ItmlabError, match="no split 'train' — the splits are: 'test'"):
        train(micro(), data.split("test"), tmp_path / "run", progress=False)


def test_one_image_has_no_negative_and_is_refused(data, tmp_path):
    with pytest.raises(ItmlabError, match=r"1 image to train on.* give more images"):
        train(micro(), data.split("train").select([0]), tmp_path / "run", progress=False)


@pytest.mark.parametrize("steps", [0, -5])
def test_no_steps_are_refused(steps, data, tmp_path):
    with pytest.raises(ItmlabError, match=f"max_steps is {steps}, wanted 1 or more"):
        train(micro(), data, tmp_path / "run", max_steps=steps, progress=False)


def test_a_few_steps_give_a_model_already(data, tmp_path):
    run = train(micro(), data, tmp_path / "run", max_steps=2, progress=False)
    assert not run.finished and run.epochs == []
    assert len(run.search("a red field", data=data, k=3)) == 3
    assert train(micro(), data, tmp_path / "run", max_steps=1, progress=False).epochs == []


def test_the_same_seed_gives_the_same_run_and_leaves_the_callers_random_numbers_alone(finished, data, tmp_path):
    torch.manual_seed(123)
    before = torch.get_rng_state()
    again = train(micro(), data, tmp_path / "again", progress=False)
    assert torch.get_rng_state().equal(before)
    weights = [(run.directory / "model.safetensors").read_bytes() for run in (again, finished)]
    assert weights[0] == weights[1]
    other = train(micro(seed=1), data, tmp_path / "other", progress=False)
    assert (other.directory / "model.safetensors").read_bytes() != weights[0]


def test_accumulated_batches_make_one_step(data, tmp_path):
    recipe = micro("triplet", data__accumulate=3)
    run = train(recipe, data, tmp_path / "run", progress=False)
    assert run.epochs[-1]["step"] == 2 * 4  # 4 batches an epoch: three, then one


def test_gradients_of_accumulated_batches_are_their_mean(data, tmp_path, monkeypatch):
    """Twice the same batch accumulated moves the weights as once the same batch does."""
    steady = {"optimiser__schedule": "constant", "optimiser__warm_up": 0.0}
    recipe = micro("triplet", model__dropout=0.0, data__epochs=1, **steady)
    once = train(recipe, data, tmp_path / "once", max_steps=1, progress=False)
    epoch = PairBatches.epoch
    monkeypatch.setattr(PairBatches, "epoch", lambda *given, **named: (b for b in epoch(*given, **named) for _ in "ab"))
    twice = train(recipe.replace(data__accumulate=2), data, tmp_path / "twice", max_steps=1, progress=False)
    for first, second in zip(once.model.parameters(), twice.model.parameters(), strict=True):
        torch.testing.assert_close(first, second, atol=1e-6, rtol=1e-5)


def test_the_learning_rate_of_the_schedule_reaches_the_optimiser(data, tmp_path, monkeypatch):
    seen = []
    learn = loop.learn

    def looking(state, recipe, training, group, rate, directory):
        result = learn(state, recipe, training, group, rate, directory)
        seen.append((rate, {settings["lr"] for settings in state.optimiser.param_groups}))
        return result

    monkeypatch.setattr(loop, "learn", looking)
    recipe = micro("triplet", optimiser__schedule="step", optimiser__milestones=(2,), optimiser__warm_up=0.0)
    train(recipe, data, tmp_path / "run", progress=False)
    assert [rate for rate, _ in seen] == pytest.approx([3e-3] * 8 + [3e-4] * 8)
    assert all(used == {rate} for rate, used in seen)


def spoil(monkeypatch, *, from_step):
    """Picture 5 becomes NaN when it is prepared after so many batches."""
    prepare, batches, marked = ImagePreparation.__call__, [], small_world().images[5].tobytes()

    def spoiling(self, pictures, *changes):
        pixels = prepare(self, pictures, *changes)
        batches.append(1)
        if len(batches) > from_step:
            for row, picture in enumerate(pictures):
                if picture.tobytes() == marked:
                    pixels[row] = float("nan")
        return pixels

    monkeypatch.setattr(ImagePreparation, "__call__", spoiling)


def test_a_loss_that_is_not_finite_stops_naming_step_and_image(finished, data, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        spoil(patch, from_step=4)
        with pytest.raises(ItmlabError, match=r"the loss is nan at step \d+ \(epoch \d\), images picture-5 ") as error:
            train(micro(), data, tmp_path / "run", checkpoint_every=1, progress=False)
    assert "\n" not in str(error.value)
    state = load_checkpoint(tmp_path / "run" / CHECKPOINT_FILE)
    assert state["position"]["step"] >= 4 and all(weight.isfinite().all() for weight in state["model"].values())
    again = train(micro(), data, tmp_path / "run", progress=False)
    assert (again.directory / "model.safetensors").read_bytes() == (
        finished.directory / "model.safetensors"
    ).read_bytes()


def test_a_momentum_feature_that_is_not_finite_stops_before_the_memory_has_it(data, tmp_path, monkeypatch):
    """In epoch 0 the memory only fills: no loss reads what is put there."""
    encode = Momentum.encode_captions

    def spoilt(self, tokens):
        encoded = encode(self, tokens)
        encoded.pooled[3] = float("nan")
        return encoded

    monkeypatch.setattr(Momentum, "encode_captions", spoilt)
    with pytest.raises(ItmlabError, match=r"the loss is nan at step 1 \(epoch 1\), images picture-\d+ —"):
        train(micro(), data, tmp_path / "run", progress=False)


def test_a_gradient_that_is_not_finite_stops_too(data, tmp_path, monkeypatch):
    encode = DualEncoder.encode_images

    def steep(self, pixels):
        encoded = encode(self, pixels)
        if encoded.pooled.requires_grad:
            encoded.pooled.register_hook(lambda gradient: gradient * float("inf"))
        return encoded

    monkeypatch.setattr(DualEncoder, "encode_images", steep)
    with pytest.raises(ItmlabError, match=r"the gradient is (nan|inf) at step 1 \(epoch 1\), images picture-\d+"):
        train(micro(), data, tmp_path / "run", progress=False)


def test_low_precision_trains_as_well(data, tmp_path):
    run = train(micro(optimiser__precision="bfloat16"), data, tmp_path / "run", progress=False)
    assert run.finished and all(weight.dtype == torch.float32 for weight in run.model.parameters())


AUGMENTED = {"data__crop": (0.5, 1.0), "data__flip": 0.5, "data__randaugment": (2, 7)}


@pytest.mark.parametrize("model", [MICRO, OscarDualEncoderConfig(**(parameters(MICRO_TOWER) | {"form": "oscar"}))])
def test_pictures_are_augmented_in_training_alone_alike_by_any_threads(model, data, tmp_path, monkeypatch):
    augment, changed = Augmentation.__call__, []
    monkeypatch.setattr(Augmentation, "__call__", lambda *given, **more: changed.append(1) or augment(*given, **more))
    runs = []
    for cores in (2, 16):  # a worker, and eight
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        recipe = micro("triplet", model=model, data__epochs=2, **AUGMENTED)
        runs.append(train(recipe, data, tmp_path / str(cores), progress=False))
    assert same_bytes(*runs)
    plain = train(micro("triplet", model=model, data__epochs=2), data, tmp_path / "plain", progress=False)
    assert plain.history != runs[0].history
    assert len(changed) == 2 * 2 * 32  # runs, epochs, pictures: none of validation
    runs[0].evaluate(data, ks=(1,))
    assert len(changed) == 2 * 2 * 32
