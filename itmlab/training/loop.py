"""The training loop, from a recipe and a data set to a run directory."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from ..data.batches import Batch, PairBatches
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from .checkpoint import Checkpoints
from .directory import begin, held
from .evaluation import evaluate, on_device
from .gather import add_up_gradients, share, whole_batch
from .history import JsonLines
from .interruption import Interrupted, Interruption
from .learning_rate import learning_rate_at
from .progress import Progress
from .recipe import Recipe
from .run import Run
from .state import State

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
    training, validation = parts(data)
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
            prepare_images=lambda pictures: model.prepare_images(pictures[share(len(pictures), accelerator)]),
            prepare_captions=lambda captions: model.prepare_captions(captions[share(len(captions), accelerator)]),
        )
        steps_an_epoch = -(-len(batches) // recipe.data.accumulate)
        steps = min(max_steps or 10**12, steps_an_epoch * recipe.data.epochs)
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

        for epoch in range(position.epoch, recipe.data.epochs):
            if position.step >= steps and position.batch < len(batches):
                break
            began, waited = time.monotonic(), batches.waited_seconds
            if position.batch == 0:
                state.objective.start_epoch(epoch)
            for group in grouped(batches.epoch(epoch, start_batch=position.batch), recipe.data.accumulate):
                rate = learning_rate_at(recipe.optimiser, position.step, steps_an_epoch, recipe.data.epochs)
                loss, norm = learn(state, recipe, training, group, rate, directory)
                position.batch += len(group)
                position.step += 1
                position.loss_sum += loss
                position.loss_count += 1
                shown.step(loss)
                if position.step % RECORD_EVERY == 0:
                    values = {"step": position.step, "loss": loss, "learning_rate": rate, "gradient_norm": norm}
                    note({"kind": "step", "epoch": epoch + 1, **values, "choices": position.choices})
                stop_if_asked()
                if position.step == steps and position.batch < len(batches):
                    save()
                    break
                if position.step % checkpoint_every == 0:
                    save()
            if position.batch < len(batches):
                break
            trained = time.monotonic()
            scores = evaluate(model, validation, between=stop_if_asked) if validation else {}
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
                }
            )
            shown.epoch(epoch + 1, recipe.data.epochs, mean_loss, first_recall(scores))
            young = epoch <= recipe.data.warm_up_epochs  # what the warm-up reached is not this recipe's doing
            if young or not scores or scores["rsum"] > position.best:
                position.best = scores.get("rsum")
                if first:
                    model.save(directory)
            position.next_epoch()
            save()
            stop_if_asked()
        if position.best is None and first:  # stopped early, or nothing held out: these weights are all there is
            model.save(directory)
        if position.epoch == recipe.data.epochs:
            position.finished = True
            history.synchronise()
            if first:
                checkpoints.finish(state.position_values())
        shown.close()
    accelerator.wait_for_everyone()
    return Run(directory)


def learn(
    state: State, recipe: Recipe, data: CaptionSet, group: list[Batch], rate: float, directory: Path
) -> tuple[float, float]:
    """One step of the optimiser on a group of batches (one, unless accumulating); its loss and gradient norm."""
    model, accelerator, objective = state.model, state.accelerator, state.objective
    device, position = accelerator.device, state.position
    model.train()
    low_precision = recipe.optimiser.precision == "bfloat16" or (
        recipe.optimiser.precision == "auto" and device.type == "cuda"
    )
    total = 0.0
    for batch in group:
        pixels, tokens = on_device(model, batch.images), on_device(model, batch.tokens)
        slow, rows = None, batch.image_rows.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=low_precision):
            images, captions = model.encode_images(pixels).pooled, model.encode_captions(tokens).pooled
            if state.momentum is not None:
                slow = (
                    whole_batch(state.momentum.encode_images(pixels).pooled.float(), accelerator)[rows],
                    whole_batch(state.momentum.encode_captions(tokens).pooled.float(), accelerator),
                )
        images, captions = whole_batch(images.float(), accelerator)[rows], whole_batch(captions.float(), accelerator)
        image_ids, caption_ids = batch.image_indices.to(device), batch.caption_indices.to(device)
        loss, chosen = objective(images, captions, image_ids, caption_ids, slow, position.epoch)
        if not torch.isfinite(loss):
            suspects = ~(torch.isfinite(images).all(1) & torch.isfinite(captions).all(1)).cpu()
            stop_not_finite("the loss", loss, batch.image_indices, suspects, state, data, directory)
        (loss / len(group)).backward()
        total += loss.item() / len(group)
        if chosen is not None:
            digest = hashlib.sha256(position.choices.encode() + chosen.cpu().numpy().tobytes())
            position.choices = digest.hexdigest()[:16]
    add_up_gradients(model, accelerator)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.optimiser.clip)
    if not torch.isfinite(norm):
        indices = torch.cat([batch.image_indices for batch in group])
        stop_not_finite("the gradient", norm, indices, torch.zeros(len(indices)).bool(), state, data, directory)
    for settings in state.optimiser.param_groups:
        settings["lr"] = rate
    state.optimiser.step()
    state.optimiser.zero_grad()
    if state.momentum is not None:
        state.momentum.update(model)
    return total, norm.item()


def stop_not_finite(
    what: str, value: Tensor, indices: Tensor, suspects: Tensor, state: State, data: CaptionSet, directory: Path
) -> None:
    """Stop with the step and the images whose features are not finite, or all of the batch where none is to blame."""
    blamed = list(dict.fromkeys((indices[suspects] if suspects.any() else indices).tolist()))
    ids = [data.image_ids[index] for index in blamed[:8]]
    more = f" and {len(blamed) - 8} more" if len(blamed) > 8 else ""
    raise ItmlabError(
        f"{what} is {value.item()} at step {state.position.step + 1} (epoch {state.position.epoch + 1}), "
        f"images {', '.join(ids)}{more}",
        where=str(directory),
        remedy="the last checkpoint is intact; try a lower optimiser.learning_rate",
    )


def parts(data: CaptionSet) -> tuple[CaptionSet, CaptionSet | None]:
    """What is trained on and what is evaluated on each epoch."""
    training = data.split("train") if "train" in data.splits else data
    return training, data.split("val") if "val" in data.splits else None


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
