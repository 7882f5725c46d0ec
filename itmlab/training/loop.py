"""The training loop, from a recipe and a data set to a run directory."""

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from jaxtyping import Int64
from torch import Tensor

from ..data.batches import Batch, PairBatches
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..recipes.recipe import Recipe
from ..recipes.settings import OptimiserSettings
from ..runs.checkpoint import Checkpoints, JsonLines
from ..runs.directory import begin, held
from ..runs.run import Run
from ..runs.scores import evaluate
from .progress import Interrupted, Interruption, Progress
from .state import BatchLoss, State, add_up_gradients

# One step of the optimiser on a batch, or on a few whose gradients are added up.


class Learned(NamedTuple):
    """What a step did: its loss, its gradient's norm, and more for the record."""

    loss: float
    norm: float
    more: dict[str, Any]


def learn(state: State, recipe: Recipe, data: CaptionSet, group: list[Batch], rate: float, directory: Path) -> Learned:
    """One step of the optimiser on a group of batches (one, unless accumulating)."""
    model, task, position = state.model, state.task, state.position
    model.train()
    total, found = 0.0, []
    for batch in group:
        made = task(batch, position.epoch)
        if not torch.isfinite(made.loss):
            blamed = made.blamed if len(made.blamed) else batch.image_indices
            stop_not_finite("the loss", made.loss, blamed, state, data, directory)
        (made.loss / len(group)).backward()
        total += made.loss.item() / len(group)
        found.append(made)
        if made.chosen is not None:
            digest = hashlib.sha256(position.choices.encode() + made.chosen.cpu().numpy().tobytes())
            position.choices = digest.hexdigest()[:16]
    add_up_gradients(model, state.accelerator)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.optimiser.clip)
    if not torch.isfinite(norm):
        everybody = torch.cat([batch.image_indices for batch in group])
        stop_not_finite("the gradient", norm, everybody, state, data, directory)
    for settings in state.optimiser.param_groups:
        settings["lr"] = rate
    state.optimiser.step()
    state.optimiser.zero_grad()
    task.after_step()
    return Learned(total, norm.item(), in_all(found))


def in_all(found: list[BatchLoss]) -> dict[str, Any]:
    """Of a group of batches, the mean of each loss and the sum of each histogram; only those there are."""
    losses = {name: sum(one.losses[name] for one in found) / len(found) for name in found[0].losses}
    counts = {name: np.sum([one.counts[name] for one in found], axis=0).tolist() for name in found[0].counts}
    return ({"losses": losses} if losses else {}) | ({"difficulty": counts} if counts else {})


def stop_not_finite(
    what: str, value: Tensor, images: Int64[Tensor, "image"], state: State, data: CaptionSet, directory: Path
) -> None:
    """Stop with the step and the images that are to blame."""
    blamed = list(dict.fromkeys(images.tolist()))
    ids = [data.image_ids[image] for image in blamed[:8]]
    more = f" and {len(blamed) - 8} more" if len(blamed) > 8 else ""
    raise ItmlabError(
        f"{what} is {value.item()} at step {state.position.step + 1} (epoch {state.position.epoch + 1}), "
        f"images {', '.join(ids)}{more}",
        where=str(directory),
        remedy="the last checkpoint is intact; try a lower optimiser.learning_rate",
    )


# The learning rate as a function of the position alone, so that a resumed run needs no scheduler state.


def learning_rate_at(settings: OptimiserSettings, step: int, steps_an_epoch: int, epochs: float) -> float:
    """The rate of step `step` (from 0): a linear warm-up, then constant, stepped, linear to 0 or cosine to 0.

    `epochs` are those of the whole run; where it ends within one, not a whole number.
    """
    epoch, warm_up = step / steps_an_epoch, settings.warm_up or settings.warm_up_share * epochs
    if epoch < warm_up:
        return settings.learning_rate * (step + 1) / (math.ceil(warm_up * steps_an_epoch) + 1)
    progress = min(1.0, (epoch - warm_up) / max(epochs - warm_up, 1 / steps_an_epoch))
    factor = {
        "constant": 1.0,
        "step": 0.1 ** sum(epoch >= milestone for milestone in settings.milestones),
        "linear": 1 - progress,
        "cosine": (1 + math.cos(math.pi * progress)) / 2,
    }[settings.schedule]
    return settings.learning_rate * factor


RECORD_EVERY = 10  # steps between two lines of the history


def train(
    recipe: Recipe,
    data: CaptionSet,
    run_dir: str | Path,
    *,
    resume: bool = True,
    max_steps: int | None = None,
    checkpoint_every: int = 200,
    progress: bool = True,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    accelerator: Accelerator | None = None,
) -> Run:
    """Train `recipe` on the split "train" of `data` (all of it if it has none), evaluating on "val" each epoch.

    What is in `run_dir` is taken up where it was left, bit for bit; `max_steps` stops after so many steps in all. The
    weights kept are those of the best validation RSum after the warm-up, or the last where nothing is held out. The
    state is saved every `checkpoint_every` steps and after each epoch. Ctrl-C or SIGTERM finishes the step, saves and
    raises `Interrupted` (a KeyboardInterrupt). `on_record` is given each line of the history as it is made. A loss that
    is not finite, or a directory of another recipe or data set, is an ItmlabError.
    """
    accelerator = accelerator or Accelerator()
    directory = Path(run_dir)
    training, validation = parts(data, recipe.data.validation)
    with accelerator.main_process_first():
        begin(directory, recipe, data, resume=resume)
    checkpoints = Checkpoints(directory / "resume")
    found = checkpoints.load()
    if found and (found[1]["finished"] or enough(found[1]["step"], max_steps, directory)):
        return Run(directory)

    first = accelerator.is_main_process
    with (
        held(directory / "resume") if first else nullcontext(),
        repeatable(accelerator),
        Interruption() as interruption,
        record(directory, first) as (history, timings),
    ):
        state = State(recipe, training, accelerator)
        if found:
            state.restore(*found)
        position, model = state.position, state.model
        history.cut(position.history_bytes)
        batches = PairBatches(
            training,
            batch_size=recipe.data.batch_size,
            seed=recipe.seed,
            captions_per_image=recipe.data.captions_per_image,
            workers=max(1, min(8, (os.cpu_count() or 2) // (2 * accelerator.num_processes))),
            **state.task.preparation(),
        )
        steps_an_epoch = -(-len(batches) // recipe.data.accumulate)
        total = recipe.data.steps or steps_an_epoch * recipe.data.epochs
        epochs = -(-total // steps_an_epoch)
        steps = min(max_steps or 10**12, total)
        shown = Progress(recipe.name, steps, position.step, shown=progress and first)

        def save() -> None:
            tensors = state.tensors()
            position.history_bytes = history.synchronise()
            if first:
                checkpoints.save(tensors, state.position_values())

        def note(entry: dict[str, Any]) -> None:
            history.append(entry)
            if on_record and first:
                on_record(entry)

        def stop_if_asked() -> None:
            signal_number = interruption.anywhere(accelerator)
            if signal_number:
                save()
                shown.close()
                raise Interrupted(
                    signal_number,
                    f"{directory}: stopped after step {position.step}; train it again to go on from there",
                )

        def over() -> bool:
            """Whether this epoch's training is over."""
            return position.batch >= len(batches) or position.step >= total

        for epoch in range(position.epoch, epochs):
            if position.step >= steps and not over():
                break
            began, waited, before = time.monotonic(), batches.waited_seconds, state.task.clock.seconds.copy()
            if position.batch == 0:
                state.task.start_epoch(epoch)
            left = () if over() else batches.epoch(epoch, start_batch=position.batch)
            for group in grouped(left, recipe.data.accumulate):
                rate = learning_rate_at(recipe.optimiser, position.step, steps_an_epoch, total / steps_an_epoch)
                state.task.done = position.step / total
                loss, norm, more = learn(state, recipe, training, group, rate, directory)
                position.batch += len(group)
                position.step += 1
                position.loss_sum += loss
                position.loss_count += 1
                shown.step(loss, share_of_synthesis(state.task.clock.since(before), time.monotonic() - began))
                if position.step % RECORD_EVERY == 0:
                    values = {"step": position.step, "loss": loss, "learning_rate": rate, "gradient_norm": norm}
                    note({"kind": "step", "epoch": epoch + 1, **values, "choices": position.choices, **more})
                stop_if_asked()
                enough_done = position.step == steps
                if position.step % checkpoint_every == 0 or (enough_done and not over()):
                    save()
                if enough_done:
                    break
            if not over():
                break
            trained = time.monotonic()
            looked_at = validation and ((epoch + 1) % recipe.data.validate_every == 0 or epoch + 1 == epochs)
            scores = evaluate(model, validation, between=stop_if_asked) if looked_at else {}
            mean_loss = position.loss_sum / position.loss_count
            values = {"step": position.step, "loss": mean_loss, **scores, "choices": position.choices}
            note({"kind": "epoch", "epoch": epoch + 1, **values})
            waiting = batches.waited_seconds - waited
            timings.append(
                {
                    "epoch": epoch + 1,
                    "training_seconds": trained - began,
                    "waited_seconds": waiting,
                    "evaluation_seconds": time.monotonic() - trained,
                    **{f"{name}_seconds": spent for name, spent in state.task.clock.since(before).items()},
                }
            )
            shown.epoch(epoch + 1, epochs, mean_loss, first_recall(scores))
            young = epoch <= recipe.data.warm_up_epochs  # what the warm-up reached is not this recipe's doing
            if looked_at or not validation:
                better = not scores or position.best is None or scores["rsum"] > position.best
                if young or better:
                    position.best = scores.get("rsum")
                    if first:
                        model.save(directory)
            position.next_epoch()
            save()
            stop_if_asked()
        if position.best is None and first:  # stopped early, or nothing held out: these weights are all there is
            model.save(directory)
        if position.epoch == epochs:
            position.finished = True
            history.synchronise()
            if first:
                checkpoints.finish(state.position_values())
        shown.close()
    accelerator.wait_for_everyone()
    return Run(directory)


def parts(data: CaptionSet, most: int | None = None) -> tuple[CaptionSet, CaptionSet | None]:
    """What is trained on, and what is evaluated on each epoch: at most so many pictures."""
    training = data.split("train") if "train" in data.splits else data
    if "val" not in data.splits or most == 0:
        return training, None
    held_out = data.split("val")
    return training, held_out if most is None else held_out.select(range(min(most, len(held_out))))


def share_of_synthesis(seconds: dict[str, float], passed: float) -> str:
    """In words, the part of the time that making sentences took; nothing where none are made."""
    spent = seconds.get("synthesis", 0.0)
    return f", synthesis {spent / passed:.0%}" if spent else ""


def enough(step: int, max_steps: int | None, directory: Path) -> bool:
    """Whether no more steps are asked for, and there are weights to show for those done."""
    return max_steps is not None and step >= max_steps and (directory / "model.safetensors").exists()


def first_recall(scores: dict) -> float | None:
    return (scores["i2t"][1] + scores["t2i"][1]) / 2 if scores else None


def grouped(batches: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    """Batches in groups of `size`, the last one of an epoch maybe shorter."""
    batches = iter(batches)
    while group := list(islice(batches, size)):
        yield group


@contextmanager
def repeatable(accelerator: Accelerator) -> Iterator[None]:
    """Inside, a GPU adds up in a fixed order where it can; the caller's random numbers and settings are left alone."""
    gpu = accelerator.device.type == "cuda"
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=[accelerator.device] if gpu else []):
        if gpu:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS asks for
            torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@contextmanager
def record(directory: Path, write: bool) -> Iterator[tuple[JsonLines, JsonLines]]:
    logs = JsonLines(directory / "history.jsonl", write=write), JsonLines(directory / "timings.jsonl", write=write)
    try:
        yield logs
    finally:
        for log in logs:
            log.close()
