"""What a run takes before it is begun: steps, parameters, memory, operations, and hours on GPUs that nobody has yet.

What a picture, a caption and a pair cost (`models.costs`, by shapes alone) is multiplied by how often a step of the
recipe does each. Assumed are captions as long as the data's, 36 regions an image, a backward pass of twice the
operations of a forward pass, and a GPU at UTILISATION of its peak (large matrices reach more, small batches less). Left
out are losses, samplers, and what the processor does meanwhile, such as decoding pictures.
"""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean
from ..models.config import LateInteractionConfig
from ..models.costs import Cost, measured_speed, unit_costs, without_weights
from . import get, names
from .recipe import Recipe

UTILISATION = 0.4
THIS_MACHINE = "this machine, timed"
LARGEST_MEASURED = 50_000_000  # parameters of a model that is timed on this machine
SMALLEST = 5_000_000  # and of one that a GPU computes rather than launches kernels for, which is not counted
GIGA = 1e9


class Gpu(NamedTuple):
    """A GPU by its maker's numbers: memory in GB, peak TFLOP/s in dense bfloat16 and in float32."""

    name: str
    memory: float
    bfloat16: float
    float32: float


GPUS = (Gpu("A100 80 GB", 80, 312, 19.5), Gpu("RTX 4090 24 GB", 24, 165.2, 82.6))


class DataSizes(NamedTuple):
    """How much there is to train on and to validate with, and how long: word pieces of a caption and of a batch's."""

    name: str
    images: int
    captions: int
    validation: tuple[int, int]
    pieces: int
    longest: int
    regions: int = 36


# Pieces: words and punctuation of the real captions and 2 of the frame, their mean and the mean of the longest of 32.
PUBLISHED = {
    "flickr30k": DataSizes("flickr30k", 29_000, 145_000, (1_014, 5_070), 16, 32),
    "coco": DataSizes("coco", 113_287, 566_747, (5_000, 25_010), 14, 22),
}
PUBLISHED["f30k_precomp"] = PUBLISHED["flickr30k"]._replace(name="f30k_precomp")


@dataclass(frozen=True)
class Estimate:
    """What a run takes. Memory is in bytes a process, by what holds it; hours by where it runs, with validation."""

    recipe: str
    size: str
    data: str
    batch: int
    steps: int
    steps_an_epoch: int
    parameters: int
    memory: dict[str, float]
    step_operations: float
    validation_operations: float
    seconds_a_step: dict[str, float]
    hours: dict[str, float]
    processes: int
    assumed: str

    @property
    def total_memory(self) -> float:
        """In bytes a process."""
        return sum(self.memory.values())

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self) | {"total_memory": self.total_memory}

    def __str__(self) -> str:
        held = ", ".join(f"{name} {_size(value)}" for name, value in self.memory.items() if value)
        epochs = self.steps / self.steps_an_epoch
        told = [
            f"{self.recipe}, {self.size}, on {self.data}: {self.steps:,} steps of {self.batch} pairs "
            f"({epochs:.3g} epochs of {self.steps_an_epoch:,})",
            f"  parameters  {self.parameters / 1e6:.1f} million",
            f"  memory      {_size(self.total_memory)}{' a process' * (self.processes > 1)}: {held}",
            f"  operations  {_number(self.step_operations / 1e12)} TFLOP a step, "
            f"{_number(self.validation_operations / 1e12)} for all validation",
        ]
        for where, seconds in self.seconds_a_step.items():
            small = any(gpu.name == where and not self.fits(gpu) for gpu in GPUS)
            fits = "; its memory does not hold it: several processes, or a smaller batch" * small
            told.append(f"  {where}: {span(seconds)} a step, {span(3600 * self.hours[where])} in all{fits}")
        peak = f"{UTILISATION:.0%} of a GPU's peak, pictures decoded in time, no fused attention"
        told.append(f"  assumed     {self.assumed}; {peak}")
        return "\n".join(part for line in told for part in textwrap.wrap(line, 100, subsequent_indent=" " * 14))

    def fits(self, gpu: Gpu) -> bool:
        """Whether a GPU holds it, with a tenth of its memory left for what is not counted."""
        return self.total_memory < 0.9 * gpu.memory * GIGA


def _size(count: float) -> str:
    return f"{count / GIGA:.3g} GB" if count >= GIGA / 10 else f"{count / 1e6:.3g} MB"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def span(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    for unit, length in (("hours", 3600), ("minutes", 60), ("s", 1)):
        if seconds >= 2 * length:
            return f"{_number(seconds / length)} {unit}"
    return f"{_number(1000 * seconds)} ms"


def estimate(
    recipe: Recipe, data: str | CaptionSet = "flickr30k", *, processes: int = 1, measured: bool = False
) -> Estimate:
    """What training `recipe` on `data` takes: a CaptionSet, or "flickr30k", "coco" or "f30k_precomp" as published.

    With several `processes` each has its share of a batch. `measured` also times the model on this machine, where it is
    small. ItmlabError: other names, an own encoder.

    >>> from itmlab import recipes
    >>> estimate(recipes.get("fne", "base"), "flickr30k").steps  # 25 epochs of 145,000 pairs, 32 at a time
    113275
    """
    sizes, settings = data_sizes(data), recipe.data
    if recipe.encoder is not None:
        raise ItmlabError("an own encoder is not known by its shapes", where="estimate", remedy="leave it out")
    pictures = sizes.captions if settings.captions_per_image == "all" else sizes.images
    an_epoch = -(-max(1, pictures // settings.batch_size) // settings.accumulate)
    steps = settings.steps or an_epoch * settings.epochs
    low = recipe.optimiser.precision != "float32"
    costs = unit_costs(without_weights(recipe.model), sizes.pieces, sizes.longest, sizes.regions, low)
    batch = batch_work(recipe, costs)
    step = [(times * settings.accumulate, cost) for times, cost in batch]
    epochs = math.ceil(steps / an_epoch)
    looks = 0 if settings.validation == 0 else math.ceil(epochs / settings.validate_every)
    validation = [(times * looks, cost) for times, cost in validation_work(recipe, costs, sizes)]
    small = measured and costs["parameters"] <= LARGEST_MEASURED
    own = measured_speed(recipe.model, sizes.pieces, sizes.regions) if small else None
    seconds, hours = {}, {}
    gpus = GPUS if costs["parameters"] >= SMALLEST else ()
    for gpu in (*gpus, *([Gpu(THIS_MACHINE, math.inf, own, own)] if own else [])):
        seconds[gpu.name] = seconds_of(step, gpu) / processes
        hours[gpu.name] = (steps * seconds[gpu.name] + seconds_of(validation, gpu) / processes) / 3600
    kept = sum(times * cost.kept for times, cost in batch_work(recipe, costs, last=True)) / processes
    operations = (sum(times * cost.operations for times, cost in work) for work in (step, validation))
    seen = f", {sizes.regions} regions" if getattr(recipe.model, "visual", "") == "regions" else ""
    return Estimate(
        *(recipe.name, recipe.size, sizes.name, settings.batch_size * settings.accumulate, steps, an_epoch),
        *(costs["parameters"], memory(recipe, costs["parameters"], kept, low), *operations, seconds, hours),
        *(processes, f"captions of {sizes.pieces} pieces, the longest of a batch {sizes.longest}{seen}"),
    )


def data_sizes(data: str | CaptionSet) -> DataSizes:
    """The sizes of a published data set, or of one that is there."""
    if isinstance(data, str):
        if data not in PUBLISHED:
            raise ItmlabError(f"no sizes of {data!r} are known", remedy=did_you_mean(data, PUBLISHED))
        return PUBLISHED[data]
    training = data.split("train") if data.splits else data
    held_out = data.split("val") if "val" in data.splits else None
    words = sorted(2 + len(caption.split()) for caption in training.captions)
    validation = (0, 0) if held_out is None else (len(held_out), len(held_out.captions))
    regions = len(data.regions[0].features) if data.regions is not None and len(data) else 36
    mean, longest = -(-sum(words) // max(len(words), 1)), words[int(0.97 * len(words))]
    return DataSizes(data.name, len(training), len(training.captions), validation, mean, longest, regions)


def memory(recipe: Recipe, parameters: int, kept: float, low: bool) -> dict[str, float]:
    """Bytes by what holds them: single precision throughout, but what autograd keeps under bfloat16."""
    copies = int(recipe.memory is not None) + int(recipe.tags is not None and recipe.tags.generator == "static")
    width = getattr(recipe.model, "dimension", 0)
    return {
        "weights": 4.0 * parameters,
        "gradients": 4.0 * parameters,
        "Adam's two means": 8.0 * parameters,
        "copy of the model": 4.0 * parameters * copies,
        "queue": 2 * 4.0 * recipe.memory.length * width if recipe.memory else 0.0,
        "bfloat16 weights": 2.0 * parameters * (low and not isinstance(recipe.model, LateInteractionConfig)),
        "activations": kept,
    }


# What a step does, in units: pictures, captions, pairs.

UNITS = ("pair", "trunk", "word")  # of a cross-encoder


Work = list[tuple[float, Cost]]  # how often each is done


def seconds_of(work: Work, gpu: Gpu) -> float:
    """What it takes on a GPU."""
    share = UTILISATION if gpu in GPUS else 1  # of what was timed, all
    return sum(n * each.operations / (gpu.bfloat16 if each.low else gpu.float32) for n, each in work) / share / 1e12


def batch_work(recipe: Recipe, costs: Mapping[str, Any], *, last: bool = False) -> Work:
    """How often a batch of the recipe does what, over all of a run or the `last`; a step is `accumulate` of these."""
    number, together = recipe.data.batch_size, recipe.data.captions_per_image
    if recipe.tags is not None:
        return _tags_work(recipe, costs, number, 1.0 if last else 1 - recipe.tags.matching_begins)
    captions = number * (1 if together == "all" else together)
    extra = captions * (recipe.extra_negatives.number if recipe.extra_negatives else 0)
    work = [(number, costs["image"].learnt()), (captions + extra, costs["caption"].learnt())]
    if recipe.memory is not None:
        work += [(number, costs["image"].looked()), (captions, costs["caption"].looked())]
    if "matching" in costs:
        work.append((number * captions, costs["matching"].learnt()))
    return work


def _tags_work(recipe: Recipe, costs: Mapping[str, Any], number: int, matching: float) -> Work:
    """Algorithm 1 (Fan et al. 2022): mined and made without gradients, then all terms of the loss in one graph."""
    tags, wanted, pair, trunk, word = recipe.tags, recipe.tags.weights.wanted, *(costs[n] for n in UNITS)
    late, work = number * matching, []
    hidden = max(1, round(tags.probability * costs["pieces"]))
    if "masked_language" in wanted:
        masked = number * tags.trained_maskings
        work += [(masked, trunk.learnt()), (masked * hidden, word.learnt())]
    if "retrieved" in wanted:
        work.append((late * (1 + 2 * tags.top_k), pair.learnt()))
        if tags.mining == "set" and tags.top_k < tags.candidates:
            work.append((late * 2 * tags.candidates, pair.looked()))
    if tags.makes_sentences:
        refills = tags.maskings * (tags.generator in ("dynamic", "static"))
        scored = refills * tags.samples or tags.hardest
        work += [
            (late * refills, trunk.looked()),
            (late * refills * hidden, word.looked()),
            (late * scored, pair.looked()),
        ]
        work += [(late * tags.hardest, trunk.learnt()), (late * ("retrieved" not in wanted), pair.learnt())]
        if "correction" in wanted:
            asked = costs["pieces"] - 2 if tags.correction == "all" else hidden
            work.append((late * tags.hardest * asked, word.learnt()))
    if tags.alignment:
        work.append((number, pair.learnt()))  # a picture and a caption apart: no more than a pair
    return work


def validation_work(recipe: Recipe, costs: Mapping[str, Any], sizes: DataSizes) -> Work:
    """Of one look at the validation set: every picture with every caption."""
    images, captions = sizes.validation
    most = images if recipe.data.validation is None else min(images, recipe.data.validation)
    captions = captions * most / max(images, 1)
    units = {"image": most, "caption": captions, "matching": most * captions, "pair": most * captions}
    return [(times, costs[name].looked()) for name, times in units.items() if name in costs]


# The book's table.


def base_table(data: str, only: Sequence[str] | None = None) -> str:
    """A row in Markdown of every recipe at base size on a published data set; recipes that take the same share one.

    Where one GPU does not hold a run, the fewest of 2, 4, … that do are told, and their hours; † if none of them do.
    """
    rows: dict[tuple[str, ...], list[str]] = {}
    alike = ("+regions", "+scratch", "+coco")  # as long at this size, and what another name stands for on COCO
    sized = (one for one in names() if get(one, "base").model != get(one).model)
    for name in only or [name for name in sized if not name.endswith(alike)]:
        of_data = f"{name}+coco" if data == "coco" and f"{name}+coco" in names() else name
        recipe = get(of_data, "base")
        found = estimate(recipe, data)
        cells = [f"{found.steps:,}", f"{found.batch}", f"{found.parameters / 1e6:.0f} M", _size(found.total_memory)]
        cells += [_number(found.step_operations / 1e12), *_hours(recipe, data)]
        rows.setdefault(tuple(cells), []).append(f"`{name}`")
    head = ["recipe", "steps", "pairs a step", "parameters", "memory", "TFLOP a step"]
    head += [f"hours, {gpu.name}" for gpu in GPUS]
    lines = [head, ["---"] * len(head), *([", ".join(alike), *cells] for cells, alike in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _hours(recipe: Recipe, data: str) -> Iterator[str]:
    numbers = (1,) if getattr(recipe.model, "compares_parts", False) else (1, 2, 4, 8, 16)
    shares = {number: estimate(recipe, data, processes=number) for number in numbers}
    for gpu in GPUS:
        number = next((number for number, found in shares.items() if found.fits(gpu)), 1)
        hours, small = shares[number].hours.get(gpu.name), " †" * (not shares[number].fits(gpu))
        yield "–" if hours is None else f"{_number(hours)}{small}" + f" on {number} GPUs" * (number > 1)
