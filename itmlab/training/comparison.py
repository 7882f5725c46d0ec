"""Recipes compared over several seeds: one table, paired differences, bootstrap intervals.

`compare` trains and evaluates, `compare_runs` evaluates runs that exist; both return a `runs.comparison.Comparison`.
"""

import hashlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int8, Int64
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy import ndarray
from torch import Tensor
from tqdm.auto import tqdm

from ..components import classes_in, find_class
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import check
from ..metrics.eccv import ORACLES, PLACES, first_of_each, oracle_scores, true_at_r
from ..metrics.ranking import blocks, expected_recalls_of_each, ranks
from ..metrics.semantic import SemanticRanking
from ..models import Model
from ..recipes.recipe import Recipe
from ..runs.comparison import KINDS, RECALLS, SEMANTICS, TRUTHS, Comparison, one_of, queries_of
from ..runs.run import Ensemble, Run
from ..runs.scores import CUTOFFS, Kind, check_pools, relevance_matrix, similarity
from ..storage import cores
from .interruption import Interrupted
from .loop import is_done, train
from .relevance import CaptionTruth

Metric = Callable[[Run, CaptionSet], Float[ndarray, "image"]]
Metrics = Mapping[str, Metric]


def compare(
    recipes: Sequence[Recipe] | Mapping[str, Recipe],
    data: CaptionSet,
    *,
    seeds: int | Sequence[int] = 3,
    run_root: str | Path,
    baseline: str | None = None,
    split: str = "test",
    relevance: Kind | None = None,
    truth: bool = False,
    metrics: Metrics | None = None,
    folds: int = 1,
    jobs: int | None = None,
    progress: bool = True,
) -> Comparison:
    """Train each recipe with each seed and compare them on a split, paired, against `baseline` (the first).

    Recipes go by their names, or by the keys of a mapping; `seeds=3` means 0, 1, 2. Runs lie under `run_root` by label,
    a digest of recipe and data, and seed; finished ones are not trained again. `jobs` of the others are trained at a
    time, each with its share of the cores (None: as many as there are cores). After an interruption the same call
    resumes.

    `relevance` ("cider" or "spice") adds NCS to the measures, `truth` mAP@R, R-Precision and what else is measured
    against all that is true, `metrics` own ones by name: functions of a Run and the split that give a number a picture,
    in the unit that is to be shown (percent for shares), NaN where a picture has none. With `folds` the split is cut
    into so many consecutive blocks of pictures, each ranked by itself (COCO 1K: 5 of 1,000), and their pictures pooled.
    """
    labelled, chosen = _labelled(recipes), _chosen(seeds)
    asked = {"split": split, "relevance": relevance, "truth": truth, "metrics": metrics, "folds": folds}
    baseline = one_of(labelled, baseline)
    check_split(data.split(split), **asked)
    runs = trained(labelled, data, seeds=chosen, run_root=run_root, jobs=jobs, progress=progress)
    return compare_runs(runs, data, baseline=baseline, **asked, progress=progress)


def trained(
    recipes: Sequence[Recipe] | Mapping[str, Recipe],
    data: CaptionSet,
    *,
    seeds: int | Sequence[int] = 3,
    run_root: str | Path,
    jobs: int | None = None,
    progress: bool = True,
) -> dict[str, list[Run]]:
    """The runs of each recipe by label, one a seed, as `compare` trains them: those that are there as they are.

    For what is asked of them on other pictures than the data's own: `compare_runs(trained(…), other)`.
    """
    labelled, chosen = _labelled(recipes), _chosen(seeds)
    homes = {label: Path(run_root) / directory_name(label, recipe, data) for label, recipe in labelled.items()}
    seeded = {
        label: {homes[label] / f"seed-{seed}": recipe.replace(seed=seed) for seed in chosen}
        for label, recipe in labelled.items()
    }
    every = {directory: each for group in seeded.values() for directory, each in group.items()}
    train_all(every, data, jobs=jobs, progress=progress)
    # all of them are trained: this opens them, and refuses a directory with another run
    return {
        label: [train(each, data, at, progress=False) for at, each in group.items()] for label, group in seeded.items()
    }


def _labelled(recipes: Sequence[Recipe] | Mapping[str, Recipe]) -> dict[str, Recipe]:
    labelled = dict(recipes) if isinstance(recipes, Mapping) else {recipe.name: recipe for recipe in recipes}
    if not labelled or len(labelled) != len(recipes):
        raise ItmlabError(
            "compare needs recipes with different names", remedy='compare({"p = 1e-3": fne.replace(...), ...}, ...)'
        )
    return labelled


def _chosen(seeds: int | Sequence[int]) -> list[int]:
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ItmlabError(f"seeds are {seeds!r}, wanted at least one and each once")
    return chosen


def train_all(runs: Mapping[Path, Recipe], data: CaptionSet, *, jobs: int | None = None, progress: bool = True) -> None:
    """Train every recipe that is not finished, each in its directory, `jobs` at a time.

    Each run gets an equal share of the cores, however few are left to do, so that its weights do not depend on that.
    On a GPU, under `accelerate launch` and with one job, runs are trained one after the other in this process.

    Raises:
        ItmlabError: as `train`, or a worker process that died.
        Interrupted: after Ctrl-C or SIGTERM; the next call resumes.
    """
    check(jobs is None or jobs >= 1, "jobs", jobs, "1 or more, or None for as many as there are cores")
    missing = {directory: recipe for directory, recipe in runs.items() if not is_done(directory)}
    alone = torch.cuda.is_available() or int(os.environ.get("WORLD_SIZE", "1")) > 1
    jobs = jobs or (1 if alone else cores())
    threads = max(1, cores() // jobs) if jobs > 1 else torch.get_num_threads()
    if jobs == 1 or len(missing) <= 1:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            for directory, recipe in missing.items():
                train(recipe, data, directory, progress=progress)
        finally:
            torch.set_num_threads(before)
        return
    tasks = []
    for directory, recipe in missing.items():
        # sent along, because a recipe's file names classes that a worker has not imported
        classes: list[type] = [*classes_in(recipe)]
        if recipe.encoder is not None:
            classes.append(find_class(recipe.encoder, Model))
        tasks.append(delayed(_train_in_worker)(recipe, data, directory, threads, classes, os.getpid()))
    try:
        with (
            sigterm_as_interrupt(),
            parallel_config("loky", inner_max_num_threads=threads),
            tqdm(total=len(missing), desc="runs", disable=not progress) as bar,
        ):
            for error in Parallel(min(jobs, len(missing)), return_as="generator", pre_dispatch="n_jobs")(tasks):
                if error is not None:
                    raise ItmlabError(error)
                bar.update()
    except KeyboardInterrupt:
        raise Interrupted(signal.SIGINT, "stopped; compare again to resume") from None
    except (TerminatedWorkerError, PicklingError) as error:
        what = "a worker process died" if isinstance(error, TerminatedWorkerError) else "cannot be sent to a worker"
        reason = " ".join(str(error.__cause__ or error).split())[:200]
        raise ItmlabError(f"{what}: {reason}", remedy="compare again, or with jobs=1") from None


def _train_in_worker(
    recipe: Recipe, data: CaptionSet, directory: Path, threads: int, classes: list[type], parent: int
) -> str | None:
    """Train one run in a worker process and return the message of an error; stop when the parent has died."""

    def stop_without_parent(_: dict[str, Any]) -> None:
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)  # finishes the step and saves

    for cls in classes:  # those of a notebook or script are not in the worker's main module
        vars(sys.modules[cls.__module__]).setdefault(cls.__qualname__, cls)
    torch.set_num_threads(threads)
    try:
        train(recipe, data, directory, progress=False, on_record=stop_without_parent)
    except (ItmlabError, Interrupted) as error:
        if os.getppid() != parent:
            os._exit(1)  # nobody takes the result, and the worker would wait for its next task
        return str(error)


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, so that worker processes are stopped."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def compare_runs(
    runs: Mapping[str, Sequence[Run | Ensemble]],
    data: CaptionSet,
    *,
    baseline: str | None = None,
    split: str = "test",
    relevance: Kind | None = None,
    truth: bool = False,
    metrics: Metrics | None = None,
    folds: int = 1,
    progress: bool = True,
) -> Comparison:
    """Compare runs that are trained, by label as many with the same seeds; all else as `compare`.

    An `ensemble` stands for a run with its first one's seed (own `metrics` know runs alone).
    """
    baseline, seeds = (
        one_of(runs, baseline),
        {label: [run.recipe.seed for run in group] for label, group in runs.items()},
    )
    if len({*map(tuple, seeds.values())}) != 1 or not seeds[baseline]:
        raise ItmlabError(f"runs are paired by their seeds, which are {seeds}", remedy="give each label the same seeds")
    held_out = data.split(split)
    check_split(held_out, split, relevance, truth, metrics, folds)
    pools = blocks(held_out.image_of_caption, torch.arange(len(held_out.captions)), len(held_out), folds)
    galleries = [held_out.select(range(len(held_out))[pool.images]) for pool in pools] if folds > 1 else [held_out]
    gains, known = [None] * folds, [None] * folds
    if relevance is not None:  # its weights of words are the whole split's, as in `evaluate`
        whole = relevance_matrix(held_out, relevance)
        gains = [whole[pool.captions, pool.images] for pool in pools] if folds > 1 else [whole]
    if truth:
        known = [CaptionTruth(gallery).judge(progress=progress).matrix() for gallery in galleries]
    captions = np.array([len(own) for own in held_out.captions_of_image])
    found: dict[str, ndarray] = {}
    for label, group in runs.items():
        of_seeds = []
        for run in group:
            parts = [reached_of_each(run, *asked) for asked in zip(galleries, gains, known, strict=True)]
            measures, reached, counted = zip(*parts, strict=True)
            of_seeds.append(np.concatenate(reached, axis=1))
        found[label] = np.stack(of_seeds)
    named, queries = measures[0], [np.concatenate(counted, axis=1)]
    for name, values in (metrics or {}).items():
        each = {
            label: np.stack([one_a_picture(name, values, run, held_out) for run in group])
            for label, group in runs.items()
        }
        there = np.isfinite(np.concatenate([*each.values()])).all(axis=0)  # in every run: paired
        if not there.any():
            raise ItmlabError(f"no picture has a {name} in every run", where=held_out.name)
        for label, own in each.items():
            found[label] = np.concatenate([found[label], np.where(there, own, 0)[:, None] / 100], axis=1)
        named, queries = [*named, name], [*queries, there[None].astype(float)]
    oracles = [oracle_recall_of_each(*each) for each in zip(known, galleries, strict=True)] if truth else []
    oracle = {kind: np.concatenate([one[kind] for one in oracles], axis=1) for kind in (ORACLES if oracles else ())}
    groups = {label: list(group) for label, group in runs.items()}
    every = np.concatenate(queries)
    about = {"name": data.name, "fingerprint": data.fingerprint, "split": split}
    return Comparison(list(runs), baseline, seeds[baseline], found, captions, groups, named, every, oracle, about)


def reached_of_each(
    run: Run | Ensemble,
    gallery: CaptionSet,
    gains: Float[Tensor, "caption image"] | None,
    known: Int8[Tensor, "image caption"] | None,
) -> tuple[list[str], Float[ndarray, "measure image"], Float[ndarray, "measure image"]]:
    """The measures' names, what an image's queries reach together in each among these pictures, and how many count."""
    scores = run.similarity(gallery) if isinstance(run, Ensemble) else similarity(run.model, gallery)
    own = np.array([len(captions) for captions in gallery.captions_of_image])
    parts = [(RECALLS, recall_of_each(scores, gallery), queries_of(own))]
    if gains is not None:
        parts.append((SEMANTICS, *semantics_of_each(scores, gains, gallery)))
    if known is not None:
        parts.append((TRUTHS, *truth_of_each(scores, known, gallery)))
    measures, reached, queries = zip(*parts, strict=True)
    return [name for part in measures for name in part], np.concatenate(reached), np.concatenate(queries)


def one_a_picture(name: str, metric: Metric, run: Run, data: CaptionSet) -> Float[ndarray, "image"]:
    """What an own metric says of a run: a number a picture, NaN where it has none; ItmlabError for anything else."""
    values = np.asarray(metric(run, data), dtype=float)
    if values.shape != (len(data),):
        what = f"metric {name!r} gave shape {values.shape}, wanted a number for each of the {len(data)} pictures"
        raise ItmlabError(what, where=str(run.directory), remedy="NaN for a picture that has none")
    return values


def check_split(
    held_out: CaptionSet,
    split: str,
    relevance: Kind | None,
    truth: bool,
    metrics: Metrics | None = None,
    folds: int = 1,
) -> None:
    """An ItmlabError, before the first step, where a split is too small, or an own metric has the name of another.

    How small is METHODS 2.3.
    """
    remedy = f"compare on a split of {folds * (max(CUTOFFS) + (relevance is not None))} images or more"
    check_pools(
        held_out, CUTOFFS, folds=folds, relevance=relevance, truth=truth, where=f"split {split!r}", remedy=remedy
    )
    if taken := sorted({*(metrics or {})} & {*RECALLS, *SEMANTICS, *TRUTHS, *KINDS.values()}):
        raise ItmlabError(f"there is a measure {taken[0]!r} already", remedy="give the own metric another name")


def directory_name(label: str, recipe: Recipe, data: CaptionSet) -> str:
    """A folder of its own for each recipe and data set, whatever they are called."""
    content = json.dumps([recipe.replace(seed=0).to_json(), data.fingerprint], sort_keys=True)
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in label).strip(".") or "recipe"
    return f"{plain}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def recall_of_each(scores: Float[Tensor, "image caption"], data: CaptionSet) -> Float[ndarray, "measure image"]:
    """How many of an image's queries find a positive at each cut-off: the image itself (0 or 1), then its captions."""
    image, caption = data.image_of_caption, torch.arange(len(data.captions))
    owner, rank = ranks(scores, image, caption, best_only=True)
    by_image = [torch.bincount(owner[rank < k], minlength=len(data)) for k in CUTOFFS]
    owner, rank = ranks(scores.T, caption, image, best_only=True)
    by_caption = [torch.bincount(image[owner[rank < k]], minlength=len(data)) for k in CUTOFFS]
    return torch.stack([*by_image, *by_caption]).double().numpy()


def semantics_of_each(
    scores: Float[Tensor, "image caption"], relevance: Float[Tensor, "caption image"], data: CaptionSet
) -> tuple[Float[ndarray, "measure image"], Float[ndarray, "measure image"]]:
    """NCS (0 to 1) summed over an image's queries at each cut-off, with and without ground truth; and how many count.

    A query to which nothing is relevant does not count.
    """
    values, depth = [], {"retrieved": max(CUTOFFS), "ideal": max(CUTOFFS)}
    from_image = scores, relevance.T, data.positives, torch.arange(len(data))
    from_caption = scores.T, relevance, data.positives.T, data.image_of_caption
    for kept in (True, False):
        for found, gains, own, owner in (from_image, from_caption):
            given = {"positives": None if kept else own, "keep_ground_truth": kept}
            ranking = SemanticRanking.of(found, gains, **given, **depth)
            values += [by_image(ranking.scores(k) / 100, owner, len(data)) for k in CUTOFFS]
    reached, counted = zip(*values, strict=True)
    return np.stack(reached), np.stack(counted)


def truth_of_each(
    scores: Float[Tensor, "image caption"], truth: Int8[Tensor, "image caption"], data: CaptionSet
) -> tuple[Float[ndarray, "measure image"], Float[ndarray, "measure image"]]:
    """TRUTHS (0 to 1) summed over an image's queries, and how many count: in mAP and R-Precision where one is true."""
    values = []
    from_image = scores, truth, data.positives, torch.arange(len(data))
    from_caption = scores.T, truth.T, data.positives.T, data.image_of_caption
    for similarities, labels, own, owner in (from_image, from_caption):
        first = (first_of_each(similarities, labels, own) == PLACES.index("unannotated")).double()
        found = true_at_r(similarities, labels)
        values += [by_image(each, owner, len(data)) for each in (found["map_at_r"], found["rprecision"], first)]
    reached, counted = zip(*values, strict=True)
    return np.stack(reached), np.stack(counted)


def oracle_recall_of_each(
    truth: Int8[Tensor, "image caption"], data: CaptionSet
) -> dict[str, Float[ndarray, "measure image"]]:
    """RECALLS as each of `metrics.eccv.ORACLES` is expected to reach them, summed over an image's queries."""
    values: dict[str, list[ndarray]] = {kind: [] for kind in ORACLES}
    from_image = truth, data.positives, torch.arange(len(data))
    from_caption = truth.T, data.positives.T, data.image_of_caption
    for labels, own, owner in (from_image, from_caption):
        for kind, scores in oracle_scores(labels).items():
            expected = expected_recalls_of_each(scores, own, CUTOFFS)
            values[kind] += [by_image(expected[k], owner, len(data))[0] for k in CUTOFFS]
    return {kind: np.stack(rows) for kind, rows in values.items()}


def by_image(each: Float[Tensor, "query"], owner: Int64[Tensor, "query"], images: int) -> Float[ndarray, "2 image"]:
    """The sum of an image's queries, and how many of them have a value (not NaN)."""
    total = torch.zeros(2, images, dtype=torch.float64)
    total[0].index_add_(0, owner, each.double().nan_to_num(0))
    total[1].index_add_(0, owner, (~each.isnan()).double())
    return total.numpy()
