"""The training loop, from a recipe and a data set to a run directory that can be left and taken up to the bit.

Read `train`, then `Loop.run`, `Loop.train_epoch` and `learn`; below them stands what they ask. Whatever decides the
weights is in `State` (weights, optimiser, random numbers, the task's own) and `Position` (epoch, batch, step); both are
saved together, so that a resumed run repeats nothing and leaves nothing out.
"""

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from jaxtyping import Int64
from torch import Tensor, nn

from ..data.batches import Batch, PairBatches
from ..data.captionset import CaptionSet
from ..errors import ItmlabError, named
from ..fields import check
from ..models import CrossEncoderConfig
from ..models.base import WEIGHTS_FILE
from ..models.photographs import as_seen_by
from ..recipes.recipe import Recipe
from ..recipes.settings import OptimiserSettings
from ..runs.checkpoint import ANEW, Checkpoints, JsonLines
from ..runs.directory import TIMINGS_FILE, begin, described, held, refuse_another
from ..runs.run import Run, keeps, tracked
from ..runs.scores import CUTOFFS, evaluate
from ..storage import usable
from .progress import Interrupted, Interruption, Progress
from .state import BatchLoss, Position, State, Task, add_up_gradients

RECORD_EVERY = 10  # steps between two lines of the history
OnRecord = Callable[[dict[str, Any]], None]


def train(
    recipe: Recipe,
    data: CaptionSet,
    run_dir: str | Path,
    *,
    resume: bool = True,
    max_steps: int | None = None,
    checkpoint_every: int = 200,
    progress: bool = True,
    on_record: OnRecord | None = None,
    track: str | None = None,
    accelerator: Accelerator | None = None,
) -> Run:
    """Train `recipe` on the split "train" of `data` (all of it if it has none), evaluating on "val" each epoch.

    What is in `run_dir` is taken up where it was left, bit for bit; `max_steps` stops after so many steps in all. The
    weights kept are those of the best validation RSum after the warm-up, or the last where nothing is held out. The
    state is saved every `checkpoint_every` steps and after each epoch. Ctrl-C or SIGTERM finishes the step, saves and
    raises `Interrupted` (a KeyboardInterrupt). `on_record` is given each line of the history as it is made; `track`
    names the trackio project that each goes to as well. A loss that is not finite, splits without "train", or a
    directory of another recipe or data set, is an ItmlabError.
    """
    if track is not None:
        with tracked(track, recipe, run_dir) as log:
            told = log if on_record is None else lambda record: (on_record(record), log(record))
            options = {"resume": resume, "max_steps": max_steps, "checkpoint_every": checkpoint_every}
            options |= {"progress": progress, "accelerator": accelerator}
            return train(recipe, data, run_dir, **options, on_record=told)
    check(max_steps is None or max_steps > 0, "max_steps", max_steps, "1 or more")
    accelerator, directory = accelerator or Accelerator(), Path(run_dir)
    checkpoints, origin = Checkpoints(directory / "resume"), described(recipe, data)
    refuse_another(directory, origin, resume=resume)
    done = is_done(checkpoints, max_steps) and not checkpoints.others()
    accelerator.wait_for_everyone()  # before anything is written all have seen the same
    if done:
        return Run(directory)
    first = accelerator.is_main_process
    with (
        usable(kept=directory),
        held(checkpoints.directory) if first else nullcontext(),
        repeatable(accelerator),
        Interruption() as interruption,
    ):
        refuse_another(directory, origin, resume=resume)  # again, as another process may have been before the lock
        if first:
            checkpoints.forget_others()
        if is_done(checkpoints, max_steps):
            return Run(directory)
        data = as_seen_by(recipe.model, data, progress=progress)
        loop = Loop(recipe, data, directory, accelerator, checkpoints, interruption)
        loop.take_up()
        if first:  # from here on it writes: what is refused is refused before
            begin(directory, origin)
        loop.checkpoint_every, loop.on_record = checkpoint_every, on_record
        with (
            closing(JsonLines(directory / "history.jsonl", write=first)) as loop.history,
            closing(JsonLines(directory / TIMINGS_FILE, write=first)) as loop.timings,
        ):
            loop.run(max_steps, shown=progress and first)
    accelerator.wait_for_everyone()
    return Run(directory)


def is_done(checkpoints: Checkpoints, max_steps: int | None) -> bool:
    """Whether the run has been trained so far."""
    pointer = checkpoints.read_pointer()
    if not pointer:
        return False
    position = Position.read(pointer["position"], checkpoints.pointer)
    enough = max_steps is not None and position.step >= max_steps
    return position.finished or (enough and (checkpoints.directory.parent / WEIGHTS_FILE).exists())


class Loop:
    """A run while it trains: its state, where batches come from, and where its record and checkpoints go."""

    checkpoint_every, on_record = 200, None
    history: JsonLines  # given before `run`
    timings: JsonLines

    def __init__(
        self,
        recipe: Recipe,
        data: CaptionSet,
        directory: Path,
        accelerator: Accelerator,
        checkpoints: Checkpoints,
        interruption: Interruption,
    ):
        self.recipe, self.directory, self.accelerator = recipe, directory, accelerator
        self.checkpoints, self.interruption = checkpoints, interruption
        self.first = accelerator.is_main_process  # it alone writes
        self.data, self.validation = parts(data, recipe.data.validation)
        self.state = State(recipe, self.data, accelerator, task_of(recipe))
        self.batches = PairBatches(
            self.data,
            batch_size=recipe.data.batch_size,
            seed=recipe.seed,
            captions_per_image=recipe.data.captions_per_image,
            workers=max(1, min(8, (os.cpu_count() or 2) // (2 * accelerator.num_processes))),
            **self.state.task.preparation(),
        )
        self.steps_an_epoch, self.total = steps_of(recipe, self.batches)
        self.epochs = -(-self.total // self.steps_an_epoch)

    def take_up(self) -> None:
        """Go on from the checkpoint that is there; one that is not of this run is an ItmlabError."""
        found = self.checkpoints.load()
        if found is None:
            return
        tensors, position = found
        try:
            with named(self.checkpoints.pointer):
                self.state.restore(tensors, Position.read(position, self.checkpoints.pointer))
        except ItmlabError:
            raise
        except Exception as error:  # as torch has one of its own for each way in which a tensor can be another
            what = f"the resume state is not of this run: {type(error).__name__}, {' '.join(str(error).split())[:200]}"
            raise ItmlabError(what, where=str(self.checkpoints.pointer), remedy=ANEW) from None

    def run(self, max_steps: int | None, *, shown: bool) -> None:
        """All epochs from the position on, up to `max_steps` in all."""
        state, position = self.state, self.state.position
        self.history.cut(position.history_bytes)  # what was written after the checkpoint will be written again
        self.timings.cut(None if position.step else 0)
        self.steps = min(max_steps or self.total, self.total)
        state.task.prepare(shown=shown)
        self.shown = Progress(self.recipe.name, self.steps, position.step, shown=shown, curves=True)
        for epoch in range(position.epoch, self.epochs):
            # a run left between its last step and its last evaluation has an epoch to end, but nothing to train
            if position.step >= self.steps and not self.epoch_is_over():
                break
            self.began, self.waited = time.monotonic(), self.batches.waited_seconds
            self.before = state.task.clock.seconds.copy()
            self.train_epoch(epoch)
            if not self.epoch_is_over():
                break
            self.end_epoch(epoch)
        if position.best is None and self.first:  # stopped early, or nothing held out: these weights are all there is
            state.model.save(self.directory)
        if position.epoch == self.epochs:
            position.finished = True
            self.history.synchronise()
            if self.first:
                self.checkpoints.finish(asdict(position))
        self.shown.close()

    def epoch_is_over(self) -> bool:
        """Whether all of this epoch's batches, or of the run's steps, are done."""
        position = self.state.position
        return position.batch >= len(self.batches) or position.step >= self.total

    def train_epoch(self, epoch: int) -> None:
        """The steps that are left of an epoch."""
        recipe, state, position = self.recipe, self.state, self.state.position
        if position.batch == 0:  # an epoch taken up in its middle has begun already: `restore` says so to the task
            state.task.start_epoch(epoch)
        left = () if self.epoch_is_over() else self.batches.epoch(epoch, start_batch=position.batch)
        for group in grouped(left, recipe.data.accumulate):
            epochs = self.total / self.steps_an_epoch
            rate = learning_rate_at(recipe.optimiser, position.step, self.steps_an_epoch, epochs)
            state.task.done = position.step / self.total
            loss, norm, more = learn(state, recipe, self.data, group, rate, self.directory)
            position.batch += len(group)
            position.step += 1
            position.loss_sum += loss
            position.loss_count += 1
            spent = state.task.clock.since(self.before).get("synthesis", 0.0) / (time.monotonic() - self.began)
            self.shown.step(loss, f", synthesis {spent:.0%}" if spent else "")
            if position.step % RECORD_EVERY == 0:
                values = {"step": position.step, "loss": loss, "learning_rate": rate, "gradient_norm": norm}
                self.note({"kind": "step", "epoch": epoch + 1, **values, "choices": position.choices, **more})
            self.stop_if_asked()
            last = position.step == self.steps
            # after an epoch's last step `end_epoch` saves, once it has evaluated
            if position.step % self.checkpoint_every == 0 or (last and not self.epoch_is_over()):
                self.save()
            if last:
                break

    def end_epoch(self, epoch: int) -> None:
        """Evaluate, record, keep the weights if they are the best, save."""
        settings, position = self.recipe.data, self.state.position
        trained = time.monotonic()
        looked_at = self.validation and ((epoch + 1) % settings.validate_every == 0 or epoch + 1 == self.epochs)
        scores = {}
        if looked_at:  # a few images are enough to choose by, at those cut-offs that they have
            ks = [k for k in CUTOFFS if k <= max(len(self.validation), 1)]
            scores = evaluate(self.state.model, self.validation, ks=ks, between=self.stop_if_asked)
        loss = position.loss_sum / position.loss_count
        values = {"step": position.step, "loss": loss, **scores, "choices": position.choices}
        self.note({"kind": "epoch", "epoch": epoch + 1, **values})
        # the clock has a file of its own: the history of two equal runs is equal to the byte
        self.timings.append(
            {
                "epoch": epoch + 1,
                "training_seconds": trained - self.began,
                "waited_seconds": self.batches.waited_seconds - self.waited,
                "evaluation_seconds": time.monotonic() - trained,
                **{f"{name}_seconds": spent for name, spent in self.state.task.clock.since(self.before).items()},
            }
        )
        self.shown.epoch(epoch + 1, self.epochs, loss, (scores["i2t"][1] + scores["t2i"][1]) / 2 if scores else None)
        better = keeps(scores.get("rsum"), position.best, epoch + 1, settings.warm_up_epochs)
        if better and (looked_at or not self.validation):
            position.best = scores.get("rsum")
            if self.first:
                self.state.model.save(self.directory)
        position.next_epoch()
        self.save()
        self.stop_if_asked()

    def note(self, entry: dict[str, Any]) -> None:
        """Add a line to the history."""
        self.history.append(entry)
        if self.on_record and self.first:
            self.on_record(entry)

    def save(self) -> None:
        """Put state and position on the disk; every process takes part in gathering, the first one writes."""
        tensors = self.state.tensors()
        self.state.position.history_bytes = self.history.synchronise()  # first: a checkpoint's history is on the disk
        if self.first:
            self.checkpoints.save(tensors, asdict(self.state.position))

    def stop_if_asked(self) -> None:
        """After a signal, save and raise `Interrupted`; nothing was half done, as this is asked between steps."""
        signal_number = self.interruption.anywhere(self.accelerator)
        if signal_number:
            self.save()
            self.shown.close()
            step = self.state.position.step
            raise Interrupted(
                signal_number, f"{self.directory}: stopped after step {step}; train it again to go on from there"
            )


def learn(
    state: State, recipe: Recipe, data: CaptionSet, group: list[Batch], rate: float, directory: Path
) -> tuple[float, float, dict[str, Any]]:
    """One step of the optimiser on a group of batches (one, unless accumulating): its loss, its gradient's norm, more.

    More are, for the record, the mean of each loss and the sum of each histogram over the group, as far as there are;
    and of a step that is recorded, histograms of the gradient and of the batches' cosines.
    """
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
        if made.chosen is not None:  # a chain: equal digests say that all negatives so far were the same
            digest = hashlib.sha256(position.choices.encode() + made.chosen.cpu().numpy().tobytes())
            position.choices = digest.hexdigest()[:16]
    add_up_gradients(state.learnt, state.accelerator)
    norm = torch.nn.utils.clip_grad_norm_(state.learnt.parameters(), recipe.optimiser.clip)
    if not torch.isfinite(norm):
        everybody = torch.cat([batch.image_indices for batch in group])
        stop_not_finite("the gradient", norm, everybody, state, data, directory)
    for settings in state.optimiser.param_groups:
        settings["lr"] = rate
    recorded = (position.step + 1) % RECORD_EVERY == 0
    histograms = {"gradients": exponents(state.learnt), **cosines(found)} if recorded else {}
    state.optimiser.step()
    state.optimiser.zero_grad()
    task.after_step()
    losses = {name: sum(one.losses[name] for one in found) / len(found) for name in found[0].losses}
    counts = {name: np.sum([one.counts[name] for one in found], axis=0).tolist() for name in found[0].counts}
    more = {"losses": losses, "difficulty": counts, **histograms}
    return total, norm.item(), {what: each for what, each in more.items() if each}


SMALLEST, LARGEST = -32, 3  # exponents of two between which a gradient's numbers are told apart
BINS = 40  # of a cosine, from -1 to 1


def exponents(model: nn.Module) -> list[int]:
    """How many numbers of the gradient lie in each power of two: 2ⁿ⁻¹ to 2ⁿ for n = SMALLEST to LARGEST.

    The first bin has what is smaller, zeros included, and the last what is larger. As the optimiser is given them.

    >>> from torch.nn import Linear
    >>> layer = Linear(3, 1, bias=False)
    >>> layer.weight.grad = torch.tensor([[0.0, 0.75, -0.5]])
    >>> counts = exponents(layer)
    >>> counts[0], counts[-SMALLEST]
    (1, 2)
    """
    found = torch.zeros(LARGEST - SMALLEST + 1, dtype=torch.int64)
    for weight in model.parameters():
        if weight.grad is not None:
            power = torch.where(weight.grad == 0, SMALLEST, torch.frexp(weight.grad).exponent)
            # whole numbers, as a histogram of others is not repeatable on a GPU
            found += torch.bincount(power.clamp(SMALLEST, LARGEST).flatten() - SMALLEST, minlength=len(found)).cpu()
    return found.tolist()


def cosines(found: list[BatchLoss]) -> dict[str, dict[str, list[int]]]:
    """How many pairs of the batches, positives and negatives apart, have a cosine in each of BINS bins over [-1, 1]."""
    counts = {"positive": torch.zeros(BINS, dtype=torch.int64), "negative": torch.zeros(BINS, dtype=torch.int64)}
    for values, positives in (one.cosines for one in found if one.cosines is not None):
        places = ((values + 1) * (BINS / 2)).long().clamp(0, BINS - 1)
        for name, which in (("positive", positives), ("negative", ~positives)):
            counts[name] += torch.bincount(places[which], minlength=BINS).cpu()
    given = any(one.cosines is not None for one in found)
    return {"cosines": {name: each.tolist() for name, each in counts.items()}} if given else {}


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


def learning_rate_at(settings: OptimiserSettings, step: int, steps_an_epoch: int, epochs: float) -> float:
    """The rate of step `step` (from 0): a linear warm-up, then constant, stepped, linear to 0 or cosine to 0.

    A function of the position alone, so that a resumed run needs no scheduler state. `epochs` are those of the whole
    run; where it ends within one, not a whole number.

    >>> settings = OptimiserSettings(learning_rate=1.0, schedule="linear", milestones=())
    >>> [learning_rate_at(settings, step, steps_an_epoch=2, epochs=2) for step in range(4)]
    [1.0, 0.75, 0.5, 0.25]
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


def task_of(recipe: Recipe) -> type[Task]:
    """The task that trains by this recipe."""
    from .dual_encoder import DualEncoderTask
    from .pretraining import TowerTask
    from .tags import CrossEncoderTask

    if recipe.towers is not None:
        return TowerTask

    # by `type`: OSCAR's dual encoder has a configuration that is a kind of the cross-encoder's
    return CrossEncoderTask if type(recipe.model) is CrossEncoderConfig else DualEncoderTask


def steps_of(recipe: Recipe, batches: PairBatches) -> tuple[int, int]:
    """How many steps of the optimiser an epoch has, and the whole run."""
    an_epoch = -(-len(batches) // recipe.data.accumulate)
    return an_epoch, recipe.data.steps or an_epoch * recipe.data.epochs


def parts(data: CaptionSet, most: int | None = None) -> tuple[CaptionSet, CaptionSet | None]:
    """What is trained on, and what is evaluated on each epoch: at most so many pictures."""
    training = data.split("train") if data.splits else data  # with splits but no "train", all would be the test set too
    if len(training) < 2:
        what = f"{len(training)} image to train on, of which no other's caption is a negative"
        raise ItmlabError(what, where=data.name, remedy="give more images")
    if "val" not in data.splits or most == 0:
        return training, None
    held_out = data.split("val")
    return training, held_out if most is None else held_out.select(range(min(most, len(held_out))))


def grouped(batches: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    """Batches in groups of `size`, the last one of an epoch maybe shorter."""
    batches = iter(batches)
    while group := list(islice(batches, size)):
        yield group


@contextmanager
def repeatable(accelerator: Accelerator) -> Iterator[None]:
    """Inside, a GPU adds up in a fixed order where it can; the caller's random numbers and settings are left alone."""
    gpu, filling = accelerator.device.type == "cuda", torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled = filling.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[accelerator.device] if gpu else []):
        if gpu:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS asks for
            torch.use_deterministic_algorithms(True, warn_only=True)
            filling.fill_uninitialized_memory = False  # half of all kernels, for what is written anyway
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before[0], warn_only=before[1])
            filling.fill_uninitialized_memory = filled
