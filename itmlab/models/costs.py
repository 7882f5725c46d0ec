"""What a model costs by the shapes of its tensors: floating-point operations, and what autograd keeps, of each unit.

The model is made on torch's meta device, of shapes without numbers, so that no weights are fetched and the largest fits
anywhere; a picture, a caption and a pair go through it and are counted. Recurrent matchers, which torch does not run on
shapes alone, are small and run on two items of zeros. Attention maps are kept as without a fused kernel.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ..errors import ItmlabError
from ..text.tokens import train_wordpiece
from .config import DualEncoderConfig, LateInteractionConfig
from .cross_encoder import CrossEncoder
from .dual_encoder import DualEncoder
from .fragment import LateInteraction
from .oscar import OscarDualEncoder

# What published towers are, so that nothing is fetched to count them.
TOWERS = {
    "base": {"hidden": 768, "layers": 12, "heads": 12, "intermediate": 3072},
    "large": {"hidden": 1024, "layers": 24, "heads": 16, "intermediate": 4096},
}


PASSES = 5  # of which the fastest is this machine's speed


class Cost(NamedTuple):
    """Floating-point operations, in bfloat16 if `low`, and bytes that autograd keeps for a backward pass."""

    operations: float
    kept: float
    low: bool

    def learnt(self) -> "Cost":
        """Forward and backward."""
        return self._replace(operations=3 * self.operations)

    def looked(self) -> "Cost":
        """Forward alone, of which nothing is kept."""
        return self._replace(kept=0.0)


class _Shapes(TorchDispatchMode):
    """Answers what a model asks of numbers that are not there: that all is as it should be, without padding."""

    def __torch_dispatch__(self, function: Any, types: Any, given: tuple = (), options: dict | None = None) -> Any:
        if function is torch.ops.aten._local_scalar_dense.default and given[0].is_meta:
            return True if given[0].dtype == torch.bool else 1
        return function(*given, **(options or {}))


@contextmanager
def _counted(model: nn.Module) -> Iterator[Callable[[], tuple[float, float]]]:
    """Within it operations and what autograd keeps are counted; what it gives tells them afterwards."""
    from torch.utils.flop_counter import FlopCounterMode

    own = {weight.untyped_storage()._cdata for weight in model.parameters()}
    kept: dict[int, Any] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage  # held, so that no other takes its place
        return tensor

    counter = FlopCounterMode(display=False)
    with _Shapes(), counter, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield lambda: (counter.get_total_flops(), sum(storage.nbytes() for storage in kept.values()))


@cache
def unit_costs(config: Any, pieces: int, longest: int, regions: int, low: bool) -> dict[str, Any]:
    """`parameters`, and what an "image", a "caption" and, of models that compare parts, a pair's "matching" cost.

    A cross-encoder has instead "pair" (matching alone), "trunk" (without heads) and "word" (the vocabulary's at one).
    """
    pieces, longest = (min(each, config.maximum_tokens) for each in (pieces, longest))
    recurrent = isinstance(config, LateInteractionConfig)
    low = low and not recurrent  # recurrent networks stay in single precision
    with torch.device("cpu" if recurrent else "meta"), torch.random.fork_rng(devices=[]):
        model = outlined(config)
        costs: dict[str, Any] = {"parameters": sum(one.numel() for one in model.parameters() if one.requires_grad)}
        model.train().to(torch.bfloat16 if low else torch.float32)

        def cost(of: int, call: Callable[[], Any]) -> Cost:
            with _counted(model) as told:
                held = call()
                found = told()
            del held
            return Cost(found[0] / of, found[1] / of, low)

        images = image_inputs(config, 2, regions, torch.bfloat16 if low else torch.float32)
        if isinstance(model, CrossEncoder):
            ids, mask = caption_inputs(2, pieces)["input_ids"], torch.ones(2, pieces, dtype=torch.bool)
            seen, one = model.embed_regions(**images), torch.zeros(1, config.hidden, dtype=model.pooler.weight.dtype)
            costs["pair"] = cost(2, lambda: model.score(ids, mask, seen))
            costs["trunk"] = cost(2, lambda: model(ids, mask, seen, heads=()))
            return costs | {"word": cost(1, lambda: model.heads.mlm(one, model.text.words.weight)), "pieces": pieces}
        tokens = caption_inputs(2, longest)
        costs["image"] = cost(2, lambda: model.encode_images(images))
        costs["caption"] = cost(2, lambda: model.encode_captions(tokens))
        if getattr(model, "writer", None) is not None:
            seen = model.encode_images(images)
            written = cost(2, lambda: model.caption_nats(seen, tokens))
            read = costs["caption"]
            costs["caption"] = Cost(read.operations + written.operations, read.kept + written.kept, low)
        if recurrent and model.matcher is not None:
            sides = model.encode_images(images), model.encode_captions(tokens)
            costs["matching"] = cost(4, lambda: model.similarity(*sides))
        elif getattr(model, "matcher", None) is not None:  # compared as those of such a model
            costs["matching"] = unit_costs(config.matching, pieces, longest, regions, low)["matching"]
        return costs


def without_weights(config: Any) -> Any:
    """The configuration with the sizes of the published towers that it names, and nothing to fetch."""
    if not isinstance(config, DualEncoderConfig) or config.image_pretrained is None:
        return config
    if config.image_tower == "clip":
        raise ItmlabError("CLIP's sizes are in its checkpoint", where="estimate", remedy="a ViT with a BERT is known")
    sizes = TOWERS["large" if "large" in config.image_pretrained else "base"]
    both = {f"{side}_{name}": value for side in ("image", "text") for name, value in sizes.items()}
    positions = {"vocabulary_size": 30522, "maximum_tokens": max(config.maximum_tokens, 512)}
    fetched = ("image_pretrained", "text_pretrained", "image_settings", "text_settings")
    return replace(config, **dict.fromkeys(fetched), **both, **positions)


def outlined(config: Any) -> nn.Module:
    """A fresh model of the configuration on the device at hand, with as many pieces as it says."""
    tokenizer = train_wordpiece(["a dog"], 60)
    tokenizer.add_tokens([f"piece{number}" for number in range(config.vocabulary_size - len(tokenizer))])
    kinds = (DualEncoder, OscarDualEncoder, LateInteraction, CrossEncoder)
    return next(kind for kind in kinds if kind.config_class is type(config))(config, tokenizer)


def image_inputs(config: Any, count: int, regions: int, dtype: torch.dtype = torch.float32) -> Any:
    """Prepared images of zeros, as a model of this configuration takes them."""
    if getattr(config, "visual", "pictures") != "regions":
        pixels = torch.zeros(count, 3, config.image_size, config.image_size, dtype=dtype)
        return pixels if isinstance(config, DualEncoderConfig) else {"pixels": pixels}
    given = {"regions": torch.zeros(count, regions, config.region_dimension, dtype=dtype)}
    given["region_mask"] = torch.ones(count, regions, dtype=torch.bool)
    if config.box_dimension:
        given["boxes"] = torch.zeros(count, regions, config.box_dimension, dtype=dtype)
    if getattr(config, "object_tags", False):  # a piece a region, as far as there is room
        room = min(regions, config.maximum_tags)
        given |= {"tags": torch.zeros(count, room, dtype=torch.long), "tag_mask": torch.ones(count, room).bool()}
    return given


def caption_inputs(count: int, pieces: int) -> dict[str, torch.Tensor]:
    """Prepared captions of so many pieces, two of them the frame."""
    ones = torch.ones(count, pieces, dtype=torch.long)
    return {"input_ids": ones, "attention_mask": ones, "word_mask": ones.bool()}


@cache
def measured_speed(config: Any, pieces: int, regions: int, count: int = 32) -> float:
    """TFLOP/s of this machine, by a forward and a backward pass of the real model on zeros.

    The fastest of `PASSES` counts, on a GPU where there is one: whatever else runs can only slow a pass.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pieces = min(pieces, config.maximum_tokens)
    costs = unit_costs(config, pieces, pieces, regions, False)
    with torch.device(device), torch.random.fork_rng(devices=[]):
        model = outlined(config).train()
        images, tokens = image_inputs(config, count, regions), caption_inputs(count, pieces)
        fastest = math.inf
        for _ in range(PASSES):
            began = time.perf_counter()
            if isinstance(model, CrossEncoder):
                out = model.score(tokens["input_ids"], tokens["attention_mask"], model.embed_regions(**images)).sum()
                done = costs["pair"].operations
            else:
                out = sum(side.pooled.sum() for side in model(images, tokens))
                done = costs["image"].operations + costs["caption"].operations
            out.backward()
            if device == "cuda":
                torch.cuda.synchronize()
            fastest = min(fastest, time.perf_counter() - began)
    return 3 * count * done / fastest / 1e12
