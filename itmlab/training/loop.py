"""The training loop, from a recipe and a data set to a run directory; interrupted runs resume exactly.

Read `train`, then `Loop.run`, `Loop.train_epoch` and `learn`. Whatever decides the weights is in `State`, which
is saved as one checkpoint, so that a resumed run repeats nothing and leaves nothing out.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from jaxtyping import Int64
from torch import Tensor, nn
from tqdm.auto import tqdm

from ..data.batches import Batch, PairBatches
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import check
from ..models import CrossEncoderConfig
from ..models.base import WEIGHTS_FILE
from ..models.photographs import as_seen_by
from ..recipes.recipe import Recipe
from ..recipes.settings import OptimiserSettings
from ..runs.checkpoint import CHECKPOINT_FILE, REMEDY, JsonLines, load_checkpoint, locked, save_checkpoint
from ..runs.directory import TIMINGS_FILE, begin, described, refuse_another
from ..runs.run import Run, keeps
from ..runs.scores import CUTOFFS, evaluate
from ..storage import usable
from .interruption import Interrupted, Interruption
from .state import BatchLoss, State, Task, add_up_gradients

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
    accelerator: Accelerator | None = None,
) -> Run:
    """Train `recipe` on the split "train" of `data` (all of it if it has no splits), evaluating on "val" each epoch.

    An interrupted run in `run_dir` is resumed exactly. The saved weights are those of the best validation RSum after
    the warm-up, or the last ones where nothing is held out. Ctrl-C or SIGTERM finishes the step, saves a checkpoint
    and raises `Interrupted` (a KeyboardInterrupt).

    Args:
        recipe: what to train.
        data: the data set.
        run_dir: the run directory.
        resume: continue a run that exists; False refuses it.
        max_steps: stop after this number of steps in all.
        checkpoint_every: steps between two checkpoints; there is one after each epoch, too.
        progress: show a progress bar.
        on_record: called with each line of the history.
        accelerator: as set up by the caller, for several processes.

    Raises:
        ItmlabError: a loss that is not finite, splits without "train", a directory of another recipe or data set.
    """
    check(max_steps is None or max_steps > 0, "max_steps", max_steps, "1 or more")
    accelerator, directory = accelerator or Accelerator(), Path(run_dir)
    origin = described(recipe, data)
    refuse_another(directory, origin, resume=resume)
    done = is_done(directory, max_steps)
    accelerator.wait_for_everyone()  # no process writes before all have looked
    if done:
        return Run(directory)
    first = accelerator.is_main_process
    with (
        usable(kept=directory),
        locked(directory) if first else nullcontext(),
        repeatable(accelerator),
        Interruption() as interruption,
    ):
        refuse_another(directory, origin, resume=resume)  # another process may have trained before the lock
        if is_done(directory, max_steps):
            return Run(directory)
        data = as_seen_by(recipe.model, data, progress=progress)
        loop = Loop(recipe, data, directory, accelerator, interruption, checkpoint_every, on_record)
        loop.restore()
        if first:
            begin(directory, origin)
        accelerator.wait_for_everyone()
        loop.run(max_steps, shown=progress and first)
    accelerator.wait_for_everyone()
    return Run(directory)


def is_done(directory: Path, max_steps: int | None = None) -> bool:
    """Whether the run in `directory` is finished, or has its weights after at least `max_steps` steps."""
    if not (directory / "recipe.json").exists() or not (directory / WEIGHTS_FILE).exists():
        return False
    if Run(directory).finished:
        return True
    path = directory / CHECKPOINT_FILE
    return max_steps is not None and path.exists() and load_checkpoint(path)["position"]["step"] >= max_steps


class Loop:
    """A run while it trains: its state, where batches come from, and where records and checkpoints go."""

    def __init__(
        self,
        recipe: Recipe,
        data: CaptionSet,
        directory: Path,
        accelerator: Accelerator,
        interruption: Interruption,
        checkpoint_every: int,
        on_record: OnRecord | None,
    ):
        self.recipe, self.directory = recipe, directory
        self.accelerator, self.interruption = accelerator, interruption
        self.checkpoint_every, self.on_record = checkpoint_every, on_record
        self.first = accelerator.is_main_process  # only this process writes
        self.checkpoint = directory / CHECKPOINT_FILE
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
        self.steps_per_epoch, self.total = steps_of(recipe, self.batches)
        self.epochs = -(-self.total // self.steps_per_epoch)

    def restore(self) -> None:
        """Continue from the checkpoint, if there is one; one that does not fit this run is an ItmlabError."""
        self.saved = self.checkpoint.exists()
        if not self.saved:
            return
        try:
            self.state.load_state_dict(load_checkpoint(self.checkpoint))
        except ItmlabError:
            raise
        except Exception as error:  # torch raises many types for tensors that do not fit
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            what = f"the checkpoint does not fit this run: {reason}"
            raise ItmlabError(what, where=str(self.checkpoint), remedy=REMEDY) from None

    def run(self, max_steps: int | None, *, shown: bool) -> None:
        """Train all epochs from the position on, up to `max_steps` in all."""
        state, position = self.state, self.state.position
        self.steps = min(max_steps or self.total, self.total)
        state.task.prepare(shown=shown)
        history, timings = self.directory / "history.jsonl", self.directory / TIMINGS_FILE
        timed = timings.stat().st_size if position.step and timings.exists() else 0
        with (
            closing(JsonLines(history, length=position.history_bytes, write=self.first)) as self.history,
            closing(JsonLines(timings, length=timed, write=self.first)) as self.timings,
            tqdm(total=self.steps, initial=position.step, desc=self.recipe.name, disable=not shown) as self.bar,
        ):
            for epoch in range(position.epoch, self.epochs):
                # a run that stopped between its last step and its last evaluation has only the evaluation left
                if position.step >= self.steps and not self.epoch_is_over():
                    break
                self.began, self.waited = time.monotonic(), self.batches.waited_seconds
                self.before = state.task.clock.seconds.copy()
                self.train_epoch(epoch)
                if not self.epoch_is_over():
                    break
                self.end_epoch(epoch)
            if position.best is None and self.first:  # stopped early, or nothing is held out
                state.model.save(self.directory)
        if position.epoch == self.epochs and self.first:
            self.checkpoint.unlink(missing_ok=True)

    def epoch_is_over(self) -> bool:
        """Whether all batches of this epoch, or all steps of the run, are done."""
        position = self.state.position
        return position.batch >= len(self.batches) or position.step >= self.total

    def train_epoch(self, epoch: int) -> None:
        """Take the remaining steps of an epoch."""
        recipe, state, position = self.recipe, self.state, self.state.position
        if position.batch == 0:  # otherwise the epoch is resumed, and `load_state_dict` has started it
            state.task.start_epoch(epoch)
        remaining = () if self.epoch_is_over() else self.batches.epoch(epoch, start_batch=position.batch)
        for group in grouped(remaining, recipe.data.accumulate):
            epochs = self.total / self.steps_per_epoch
            rate = learning_rate_at(recipe.optimiser, position.step, self.steps_per_epoch, epochs)
            state.task.step, state.task.total_steps = position.step, self.total
            loss, norm, more = learn(state, recipe, self.data, group, rate, self.directory)
            position.batch += len(group)
            position.step += 1
            position.loss_sum += loss
            position.loss_count += 1
            self.bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            self.bar.update()
            if position.step % RECORD_EVERY == 0:
                values = {"step": position.step, "loss": loss, "learning_rate": rate, "gradient_norm": norm}
                self.note({"kind": "step", "epoch": epoch + 1, **values, **more})
            self.stop_if_asked()
            last = position.step == self.steps
            # after an epoch's last step `end_epoch` saves, once it has evaluated
            if position.step % self.checkpoint_every == 0 or (last and not self.epoch_is_over()):
                self.save()
            if last:
                break

    def end_epoch(self, epoch: int) -> None:
        """Evaluate, record, save the weights if they are the best, save a checkpoint."""
        settings, position = self.recipe.data, self.state.position
        if not self.saved:  # weights without a checkpoint could not be resumed after a kill
            self.save()
        trained = time.monotonic()
        validates = self.validation and ((epoch + 1) % settings.validate_every == 0 or epoch + 1 == self.epochs)
        scores = {}
        if validates:  # a few images are enough to choose by, at the cut-offs that they allow
            ks = [k for k in CUTOFFS if k <= max(len(self.validation), 1)]
            scores = evaluate(self.state.model, self.validation, ks=ks, between=self.stop_if_asked)
        loss = position.loss_sum / position.loss_count
        self.note({"kind": "epoch", "epoch": epoch + 1, "step": position.step, "loss": loss, **scores})
        # times have a file of their own: the histories of two equal runs are equal to the byte
        self.timings.append(
            {
                "epoch": epoch + 1,
                "training_seconds": trained - self.began,
                "waited_seconds": self.batches.waited_seconds - self.waited,
                "evaluation_seconds": time.monotonic() - trained,
                **{f"{name}_seconds": spent for name, spent in self.state.task.clock.since(self.before).items()},
            }
        )
        better = keeps(scores.get("rsum"), position.best, epoch + 1, settings.warm_up_epochs)
        if better and (validates or not self.validation):
            position.best = scores.get("rsum")
            if self.first:
                self.state.model.save(self.directory)
        position.next_epoch()
        self.save()
        self.stop_if_asked()

    def note(self, record: dict[str, Any]) -> None:
        """Add a line to the history."""
        self.history.append(record)
        if self.on_record and self.first:
            self.on_record(record)

    def save(self) -> None:
        """Save a checkpoint; all processes take part in gathering, the first one writes."""
        self.state.position.history_bytes = self.history.synchronise()  # before the checkpoint that counts on it
        state = self.state.state_dict()
        self.saved = True
        if self.first:
            save_checkpoint(self.checkpoint, state)

    def stop_if_asked(self) -> None:
        """After a signal, save and raise `Interrupted`. Called between steps only."""
        signal_number = self.interruption.anywhere(self.accelerator)
        if signal_number:
            self.save()
            step = self.state.position.step
            raise Interrupted(signal_number, f"{self.directory}: stopped after step {step}; train again to resume")


def learn(
    state: State, recipe: Recipe, data: CaptionSet, group: list[Batch], rate: float, directory: Path
) -> tuple[float, float, dict[str, Any]]:
    """Take one step of the optimiser on a group of batches (one batch, unless accumulating).

    Returns:
        The loss, the norm of the gradient, and further entries for the record: the mean of each term of the loss, the
        sum of each histogram, and every `RECORD_EVERY` steps histograms of the gradient and of the cosines.
    """
    model, task, position = state.model, state.task, state.position
    model.train()
    total, results = 0.0, []
    for batch in group:
        result = task(batch, position.epoch)
        if not torch.isfinite(result.loss):
            blamed = result.blamed[result.blamed >= 0]
            blamed = blamed if len(blamed) else batch.image_indices
            stop_not_finite("the loss", result.loss, blamed, state, data, directory)
        (result.loss / len(group)).backward()
        total += result.loss.item() / len(group)
        results.append(result)
    add_up_gradients(state.learnt, state.accelerator)
    norm = torch.nn.utils.clip_grad_norm_(state.learnt.parameters(), recipe.optimiser.clip)
    if not torch.isfinite(norm):
        images = torch.cat([batch.image_indices for batch in group])
        stop_not_finite("the gradient", norm, images, state, data, directory)
    for settings in state.optimiser.param_groups:
        settings["lr"] = rate
    recorded = (position.step + 1) % RECORD_EVERY == 0
    histograms = {"gradients": exponents(state.learnt), **cosines(results)} if recorded else {}
    state.optimiser.step()
    state.optimiser.zero_grad()
    task.after_step()
    losses = {name: float(sum(result.losses[name] for result in results)) / len(results) for name in results[0].losses}
    counts = {name: np.sum([result.counts[name] for result in results], axis=0).tolist() for name in results[0].counts}
    more = {"losses": losses, "difficulty": counts, **histograms}
    return total, norm.item(), {name: entry for name, entry in more.items() if entry}


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
    from .pretraining import TowerTask
    from .step_dual import DualEncoderTask
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
