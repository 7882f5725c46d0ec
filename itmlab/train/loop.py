"""The training loop, from a recipe and a data set to a run directory; interrupted runs resume exactly.

Read `train`, then `run_training`. Whatever decides the weights is in `State`, which is saved as one checkpoint, so that
a resumed run repeats nothing and leaves nothing out.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path

from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError, printable
from ..fields import check
from ..metrics import chance_rsum
from ..models.base import WEIGHTS_FILE
from ..models.photographs import as_seen_by
from ..session import usual_defaults
from ..storage import usable
from .directory import begin, described, locked, refuse_another
from .recipes import Recipe
from .run import Run, keeps
from .scores import CUTOFFS, evaluate
from .session import memory_named, repeatable, signals_collected, this_process
from .settings import OptimiserSettings
from .state import IDLE_RECORDS, State, add_up_gradients, first_step_warnings, reason_idle, step_details

RECORD_EVERY = 10  # steps between two lines of the history


@usual_defaults()
def train(
    recipe: Recipe,
    data: CaptionSet,
    run_dir: str | Path,
    *,
    max_steps: int | None = None,
    checkpoint_every: int = 200,
    progress: bool = True,
    warm_ups: str | Path | None = None,
) -> Run:
    """Train `recipe` on the split "train" of `data` (all of it if it has no splits), evaluating on "val" each epoch.

    An interrupted run in `run_dir` is resumed exactly: on the same machine and with the same number of threads
    (`torch.get_num_threads()`), the weights are equal to the bit to those of a run without interruption. With another
    number of threads, sums differ in their last digits.

    The saved weights are those of the best validation RSum after the warm-up, or the last ones where nothing is held
    out. Ctrl-C or SIGTERM finishes the step (on a GPU up to ten steps), saves a checkpoint and raises `Interrupted` (a
    KeyboardInterrupt); a command then ends with 130 or 143. A run that cannot learn anything is warned of
    (`TrainingWarning`).

    Args:
        recipe: what to train.
        data: the data set.
        run_dir: the run directory.
        max_steps: stop after this number of steps in all.
        checkpoint_every: steps between two checkpoints; there is one after each epoch, too.
        progress: show a progress bar.
        warm_ups: a folder in which runs that differ only after the warm-up share it. The first of them saves its state
            there, the others begin with it; their weights are equal to the bit to those of a run that shares nothing.

    Raises:
        ItmlabError: a loss that is not finite, splits without "train", a directory of another recipe or data set.
    """
    check(max_steps is None or max_steps > 0, "max_steps", max_steps, "1 or more")
    accelerator, directory = this_process(), Path(run_dir)
    origin = described(recipe, data)
    refuse_another(directory, origin)
    done = is_done(directory)
    accelerator.wait_for_everyone()  # no process writes before all have looked
    if done:
        return Run(directory)
    training, validation = parts(as_seen_by(recipe.model, data, progress=progress), recipe.data.validation)
    is_first = accelerator.is_main_process
    with (
        usable(),
        memory_named(recipe.name),
        locked(directory) if is_first else nullcontext(),
        repeatable(accelerator),
        signals_collected() as signals,
    ):
        state = State(recipe, training, accelerator, directory, signals)
        state.restore(warm_ups if accelerator.num_processes == 1 else None)
        if is_first:
            begin(directory, origin)
        accelerator.wait_for_everyone()
        shown = progress and is_first
        with closing(state.open_history()):
            run_training(state, validation, max_steps=max_steps, checkpoint_every=checkpoint_every, shown=shown)
    accelerator.wait_for_everyone()
    return Run(directory)


def is_done(directory: Path) -> bool:
    """Whether the run in `directory` is finished and has its weights."""
    return all((directory / name).exists() for name in ("recipe.json", WEIGHTS_FILE)) and Run(directory).finished


def run_training(
    state: State, validation: CaptionSet | None, *, max_steps: int | None, checkpoint_every: int, shown: bool
) -> None:
    """Train from the position of `state` to the end of the recipe, or up to `max_steps` steps in all."""
    recipe, model, task, position = state.recipe, state.model, state.task, state.position
    settings, optimiser, batches = recipe.data, state.optimiser, state.batches
    steps_per_epoch = math.ceil(len(batches) / settings.accumulate)
    total_steps = settings.steps or steps_per_epoch * settings.epochs
    epochs, last_step = math.ceil(total_steps / steps_per_epoch), min(max_steps or total_steps, total_steps)
    on_cpu = state.accelerator.device.type == "cpu"
    task.total_steps = total_steps
    with tqdm(total=last_step, initial=position.step, desc=printable(recipe.name), disable=not shown) as bar:
        for epoch in range(position.epoch, epochs):
            if position.batch == 0:  # otherwise the epoch is resumed, and `restore` has started it
                task.start_epoch(epoch)
            model.train()
            for group in groups(batches.epoch(epoch, start_batch=position.batch), settings.accumulate):
                if position.step >= last_step:
                    break
                task.step = position.step
                results = []
                for batch in group:
                    result = task(batch, epoch)
                    if result.loss.requires_grad:
                        (result.loss / len(group)).backward()
                    results.append(result)
                add_up_gradients(state.learnt, state.accelerator)
                norm = clip_grad_norm_(state.learnt.parameters(), recipe.optimiser.clip)
                is_finite = state.hold(results, group, norm)
                rate = learning_rate_at(recipe.optimiser, position.step, steps_per_epoch, total_steps / steps_per_epoch)
                for parameters in optimiser.param_groups:
                    parameters["lr"] = rate
                # a fused optimiser skips the step, as weights that are not finite would disturb the next steps
                optimiser.found_inf = (~is_finite).float()
                optimiser.step()
                task.after_step()
                position.step += 1
                position.batch += len(group)
                bar.update()
                recorded = position.step % RECORD_EVERY == 0
                begins = position.batch == len(group) and epoch in (0, settings.warm_up_epochs)  # with another loss
                if on_cpu or recorded or begins:  # a GPU is not waited for between two records
                    loss, gradient_norm = state.read_losses()
                for message in first_step_warnings(recipe, results[0], group[0], gradient_norm) if begins else ():
                    state.warn(message)
                if recorded:
                    values = {"loss": loss, "learning_rate": rate, "gradient_norm": gradient_norm}
                    state.add("step", **values, **step_details(results))
                    bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                    reason = reason_idle(results, gradient_norm)
                    position.idle = position.idle + 1 if reason else 0
                    if position.idle == IDLE_RECORDS:
                        state.warn(f"{reason} and the loss stays at {loss:.3f}: training collapsed")
                optimiser.zero_grad()
                if on_cpu or recorded:
                    state.stop_if_asked()
                if position.step % checkpoint_every == 0 or position.step == last_step:
                    state.save()
            if position.batch < len(batches) and position.step < total_steps:
                break  # `max_steps` ends within this epoch
            is_last = epoch + 1 == epochs
            scores = {}
            if state.unread:
                state.read_losses()
            if validation and ((epoch + 1) % settings.validate_every == 0 or is_last):
                state.save()  # a second signal, or the end of the process, stops a long evaluation at once
                ks = [k for k in CUTOFFS if k <= max(len(validation), 1)]  # what few images allow
                scores = evaluate(model, validation, ks=ks)
                if is_last and scores["rsum"] <= chance_rsum(validation.positives, ks):
                    state.warn(f"RSum {scores['rsum']:.1f} on validation is what a random order reaches")
            state.add("epoch", loss=position.loss_sum / position.loss_count, **scores)
            better = keeps(scores.get("rsum"), position.best, epoch + 1, settings.warm_up_epochs)
            if better and (scores or not validation):
                position.best = scores.get("rsum")
                state.save_model()
            position.epoch, position.batch = epoch + 1, 0
            position.loss_sum, position.loss_count = 0.0, 0
            state.save()
            if position.epoch == settings.warm_up_epochs and state.warm_up and not state.warm_up.exists():
                state.save(state.warm_up)
            state.stop_if_asked()
    if position.best is None:  # stopped early, or nothing is held out
        state.save_model()
    if position.epoch == epochs and state.is_first:
        state.checkpoint.unlink(missing_ok=True)


def groups(batches: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    """Yield batches in groups of `size`; the last group of an epoch may be shorter."""
    batches = iter(batches)
    while group := list(islice(batches, size)):
        yield group


def learning_rate_at(settings: OptimiserSettings, step: int, steps_an_epoch: int, epochs: float) -> float:
    """Return the learning rate of a step: a linear warm-up, then the schedule.

    It is a function of the position alone, so that a resumed run needs no scheduler state.

    Args:
        settings: the rate, the warm-up and the schedule.
        step: the step, from 0.
        steps_an_epoch: the steps of an epoch.
        epochs: the epochs of the whole run; not a whole number if it ends within one.

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


def parts(data: CaptionSet, most: int | None = None) -> tuple[CaptionSet, CaptionSet | None]:
    """Return what is trained on, and at most `most` images to evaluate on after epochs."""
    training = data.split("train") if data.splits else data  # with splits but no "train", all would be the test set too
    if len(training) < 2:
        message = f"{len(training)} image to train on, so that no caption is a negative"
        raise ItmlabError(message, where=data.name, remedy="give more images")
    if "val" not in data.splits or most == 0:
        return training, None
    held_out = data.split("val")
    return training, held_out if most is None else held_out.select(range(min(most, len(held_out))))
