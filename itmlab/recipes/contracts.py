"""What an own idea in a recipe keeps to, in words, and whether one does: each is tried on a small case made up for it.

`kept` is asked where an idea is handed over, and where a run begins. Whatever is broken is one ItmlabError with the
words of the contract.
"""

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from ..errors import ItmlabError
from ..fields import shown
from ..losses.triplet import Mask
from ..models import Encoded
from ..models.encoded import EncodesApart, evaluating
from ..samplers.base import ByFunction, Sampler
from ..synthesis import Negative
from ..synthesis.synhnc import FeatureNegatives

WORDS = {
    "sampler": "a sampler, called with (scores, positives, positive_scores, *, generator), gives one candidate an "
    "anchor, an int64 tensor: none that is marked in positives, -1 where there is no other, drawn from generator alone",
    "loss": "a loss, called with (scores, positives, positive_scores), gives one number, a tensor with a gradient; "
    "what is marked in positives is no negative",
    "synthesis": "a synthesis, called with (anchors, candidates, positives, *, generator), gives FeatureNegatives: "
    "features (anchor, number, dimension) of length 1 and allowed (anchor, number), made of no positive, drawn from "
    "generator alone",
    "generator": "a generator, called with (captions, graphs, image_captions, *, generator), gives for each caption a "
    "list of Negative, drawn from generator alone",
    "encoder": "an encoder's encode_images and encode_captions give Encoded with pooled (n, dimension) of length 1, "
    "with a gradient, each from its own picture or caption alone",
}
ANCHORS, CANDIDATES, DIMENSION = 12, 30, 16


class Case:
    """One idea under trial: it is called with copies of what is given, and what is broken is said with its name."""

    def __init__(self, part: str, idea: Callable, where: str):
        self.part, self.idea, self.where = part, idea, where

    def broken(self, what: str) -> ItmlabError:
        return ItmlabError(what, where=self.where, remedy=WORDS[self.part])

    def call(self, *given: Any, seed: int | None = None) -> Any:
        """What a copy of the idea gives, with a generator of its own where there is a `seed`."""
        options = {} if seed is None else {"generator": torch.Generator().manual_seed(seed)}
        called = getattr(self.idea, "choose", getattr(self.idea, "forward", self.idea))
        try:
            inspect.signature(called).bind(*given, **options)
        except TypeError as error:
            raise self.broken(f"it cannot be called so: {error}") from None
        copies = [one.clone() if isinstance(one, Tensor) else one for one in given]
        torch.default_generator.manual_seed(0)  # alone, as a GPU's is not put back
        found = copy.deepcopy(self.idea)(*copies, **options)
        for name, one, before in zip(inspect.signature(called).parameters, copies, given, strict=False):
            if isinstance(one, Tensor) and not torch.equal(one, before):
                raise self.broken(f"it changes {name} in place, which others read after it")
        return found

    def twice(self, *given: Any) -> Any:
        """What it gives, the same when it is called again with an equal generator."""
        first, second = (self.call(*given, seed=0) for _ in range(2))
        if not same(first, second):
            raise self.broken("with an equal generator it gives something else: it draws from other random numbers")
        return first


def kept(part: str, idea: Any, where: str, **offered: Any) -> Any:
    """The idea, a function that takes a sampler's place as a Sampler, if it keeps to its contract; else ItmlabError."""
    if part == "sampler":
        if not isinstance(idea, Sampler):
            if not inspect.isroutine(idea) and not inspect.isroutine(getattr(idea, "func", None)):
                raise ItmlabError("neither a function nor an itmlab.samplers.Sampler", where=where, remedy=WORDS[part])
            idea = ByFunction(idea)
    elif not callable(idea):
        raise Case(part, idea, where).broken(f"{type(idea).__name__} cannot be called")
    if part in TRIALS:
        with torch.random.fork_rng(devices=[]):
            TRIALS[part](Case(part, idea, where), dimension=offered.get("dimension") or DIMENSION)
    return idea


def made_up_scores() -> tuple[Float[Tensor, "anchor candidate"], Mask, Float[Tensor, "anchor"]]:
    """Cosines of anchors with two positives each; the last but one has a single negative, the last has none."""
    scores = torch.rand(ANCHORS, CANDIDATES, generator=torch.Generator().manual_seed(0)) * 2 - 1
    positives = torch.arange(CANDIDATES) // 2 == torch.arange(ANCHORS)[:, None]
    positives[-2], positives[-1] = torch.arange(CANDIDATES) > 0, True
    return scores, positives, scores.diagonal()[:ANCHORS].clone()


def try_sampler(case: Case, **_: Any) -> None:
    scores, positives, matched = made_up_scores()
    chosen = case.twice(scores, positives, matched)
    if not isinstance(chosen, Tensor) or chosen.dtype != torch.int64 or chosen.shape != matched.shape:
        raise case.broken(f"of {ANCHORS} anchors and {CANDIDATES} candidates it gives {said(chosen)}")
    if chosen.min() < -1 or chosen.max() >= CANDIDATES:
        raise case.broken(f"it picks candidate {int(chosen[(chosen < -1) | (chosen >= CANDIDATES)][0])}, which is none")
    picked = positives.gather(1, chosen.clamp(min=0)[:, None])[:, 0] & (chosen >= 0)
    if picked.any():
        anchor = int(picked.nonzero()[0])
        left = int((~positives[anchor]).sum())
        what = f"it picks a positive, for an anchor with {left or 'no'} negative{'s' * (left != 1)}"
        raise case.broken(what)


def try_loss(case: Case, **_: Any) -> None:
    scores, positives, matched = made_up_scores()
    given = scores.requires_grad_(), positives, matched.requires_grad_()
    value = case.call(*given)
    if not isinstance(value, Tensor) or value.ndim or not value.is_floating_point():
        raise case.broken(f"it gives {said(value)}")
    if not value.isfinite():
        raise case.broken(f"it gives {value.item()}, where an anchor has no negative")
    if not value.requires_grad:
        raise case.broken("it is not differentiable: no gradient reaches the scores")
    gradients = torch.autograd.grad(value, (scores, matched), allow_unused=True)
    if gradients[0] is None:
        raise case.broken("it is not differentiable: no gradient reaches the scores")
    if not all(one is None or one.isfinite().all() for one in gradients):
        raise case.broken("its gradient is not finite, where an anchor has no negative")
    if not same(value, case.call(*given)):
        raise case.broken("with equal scores it gives something else: it draws from numbers that are not torch's")
    if not same(value, case.call((scores + 0.37 * positives).detach(), *given[1:])):
        raise case.broken("it takes candidates that are marked in positives for negatives")


def try_synthesis(case: Case, dimension: int, **_: Any) -> None:
    numbers = torch.Generator().manual_seed(0)
    anchors, candidates, others = (
        normalize(torch.randn(count, dimension, generator=numbers), dim=1) for count in (ANCHORS, CANDIDATES, 2)
    )
    positives = torch.arange(CANDIDATES) // 2 == torch.arange(ANCHORS)[:, None]
    made = case.twice(anchors, candidates, positives)
    if not isinstance(made, FeatureNegatives):
        raise case.broken(f"it gives {said(made)}")
    shape = made.features.shape
    if len(shape) != 3 or (shape[0], shape[2]) != anchors.shape or made.allowed.shape != shape[:2]:
        raise case.broken(f"of {ANCHORS} anchors it gives features {tuple(shape)}, allowed {tuple(made.allowed.shape)}")
    if made.allowed.dtype != torch.bool:
        raise case.broken(f"allowed is {made.allowed.dtype}, not bool")
    lengths = made.features.norm(dim=2)
    if not made.features.isfinite().all() or not torch.allclose(lengths[made.allowed], torch.ones(()), atol=1e-3):
        raise case.broken("its features are not of length 1")
    elsewhere = candidates.index_copy(0, positives[0].nonzero()[:, 0], others)
    again = case.call(anchors, elsewhere, positives, seed=0)
    if not same(made.features[0], again.features[0]):
        raise case.broken("what it makes for an anchor changes with the anchor's positives")


TRIALS = {"sampler": try_sampler, "loss": try_loss, "synthesis": try_synthesis}


def try_generator(idea: Callable, where: str, captions: Sequence[str], *given: Any) -> None:
    """Whether a generator of sentences keeps to its contract, on captions with their graphs and images' captions."""
    case = Case("generator", idea, where)
    with torch.random.fork_rng(devices=[]):
        made = case.twice(list(captions), *given)
    rows = made if isinstance(made, list | tuple) else []
    if len(rows) != len(captions) or not all(isinstance(row, list | tuple) for row in rows):
        raise case.broken(f"of {len(captions)} captions it gives {said(made)}")
    strange = [one for row in rows for one in row if not isinstance(one, Negative)]
    if strange:
        raise case.broken(f"it gives {said(strange[0])} for a Negative")


def encoder_class(found: Any, config_class: type, where: str) -> type[EncodesApart]:
    """The class, if it is a model that takes such a configuration."""
    if not inspect.isclass(found) or not issubclass(found, EncodesApart):
        remedy = "derive it from itmlab.models.DualEncoder, OscarDualEncoder, LateInteraction, or their EncodesApart"
        raise ItmlabError("no class of a model that encodes pictures and captions apart", where=where, remedy=remedy)
    wanted = getattr(found, "config_class", None)
    if wanted is not config_class:
        named = getattr(wanted, "__name__", wanted)
        what = f"its config_class is {named}, and the recipe's model a {config_class.__name__}"
        raise ItmlabError(what, where=where, remedy="begin from a recipe with such a model")
    return found


def try_encoder(model: EncodesApart, where: str, images: Sequence[Any], captions: Sequence[str]) -> None:
    """Whether an own encoder keeps to its contract, on two or more images and captions."""
    case = Case("encoder", model, where)
    sides = ("images", images), ("captions", captions)
    for name, items in sides:
        prepare, encode = (getattr(model, f"{verb}_{name}") for verb in ("prepare", "encode"))
        with torch.random.fork_rng(devices=[]), evaluating(model), torch.enable_grad():
            device = next(iter(model.parameters()), torch.empty(0)).device
            both, alone = (encode(moved(prepare(some), device)) for some in (items, items[:1]))
        if not isinstance(both, Encoded):
            raise case.broken(f"encode_{name} gives {said(both)}")
        pooled = both.pooled
        if pooled.shape != (len(items), model.config.dimension):
            raise case.broken(f"of {len(items)} {name} pooled is {said(pooled)}, dimension {model.config.dimension}")
        if both.mask.shape != both.local.shape[:2] or len(both.mask) != len(items):
            raise case.broken(f"encode_{name} gives local {said(both.local)} and mask {said(both.mask)}")
        if not torch.allclose(pooled.norm(dim=1), torch.ones(len(items), device=device), atol=1e-3):
            raise case.broken(f"pooled of {name} is not of length 1")
        if not pooled.requires_grad:
            raise case.broken(f"encode_{name} is not differentiable: no gradient reaches its weights")
        if not torch.allclose(pooled[:1], alone.pooled, atol=1e-3):
            raise case.broken(f"a feature of {name} changes with the others of its batch")


def moved(prepared: Any, device: torch.device) -> Any:
    if isinstance(prepared, dict):
        return {name: value.to(device) for name, value in prepared.items()}
    return prepared.to(device)


def same(one: Any, other: Any) -> bool:
    """Whether two answers are equal, tensors but for the last digits."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if not one.is_floating_point() or one.shape != other.shape or one.dtype != other.dtype:
            return torch.equal(one, other)
        return torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, Tensor) == isinstance(other, Tensor) and bool(one == other)


def said(value: Any) -> str:
    """An answer in a few words."""
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)} of {str(value.dtype).removeprefix('torch.')}"
    return shown(value, most=60) if isinstance(value, bool | int | float | str | type(None)) else type(value).__name__
