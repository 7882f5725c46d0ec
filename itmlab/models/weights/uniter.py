"""Weights of a cross-encoder from public UNITER and OSCAR checkpoints, TAGS-DC's and VinVL's included (METHODS 5).

UNITER: Chen et al., ECCV 2020; OSCAR: Li et al., ECCV 2020; VinVL: Zhang et al., CVPR 2021; TAGS-DC: Fan et al., 2022,
UNITER's with two more heads. Each of our names has one public name; unknown weights are refused, so that nothing is
lost or invented in silence.
"""

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...errors import ItmlabError, named
from ...fields import replaced
from ...storage import read_json
from ..base import CONFIG_FILE, build_filled, listed, read_pickled, read_weights
from ..config import CrossEncoderConfig
from ..cross_encoder import CrossEncoder
from .names import our_names

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FILES = ("model.safetensors", "pytorch_model.bin")
WRAPPERS = ("state_dict", "model_state_dict", "model")
# Parts of public names, then of ours.
PUBLIC_NAMES = {
    r"^embeddings\.word_embeddings\.": "text.words.",
    r"^embeddings\.position_embeddings\.": "text.positions.",
    r"^embeddings\.token_type_embeddings\.": "text.types.",
    r"^embeddings\.LayerNorm\.": "text.norm.",
    r"^encoder\.layer\.": "encoder.",
    r"\.attention\.self\.": ".",
    r"\.attention\.output\.dense\.": ".attended.",
    r"\.attention\.output\.LayerNorm\.": ".attended_norm.",
    r"\.output\.LayerNorm\.": ".output_norm.",
    r"^(img_embeddings\.img_linear|img_embedding)\.": "image.features.",  # UNITER's, OSCAR's
    r"^img_embeddings\.img_layer_norm\.": "image.features_norm.",
    r"^img_embeddings\.pos_linear\.": "image.boxes.",
    r"^img_embeddings\.pos_layer_norm\.": "image.boxes_norm.",
    r"^(img_embeddings\.)?LayerNorm\.": "image.norm.",  # UNITER's, VinVL's
    r"^cls\.predictions\.": "heads.mlm.",
    r"^correction_output\.predictions\.": "heads.woc.",
    r"\.transform\.LayerNorm\.": ".norm.",
    r"^disc_output\.": "heads.wod.",  # two classes, 0 "replaced" and 1 "kept", in TAGS-DC's code as here
    r"\.dense\.": ".",
}
# Heads that can rank, the best first, and which of their classes means "match": 1 in UNITER's and in OSCAR's
# fine-tuning, 0 in OSCAR's pretraining.
MATCHING = {"rank_output": 0, "itm_output": 1, "classifier": 1, "cls.seq_relationship": 0}
# What only masked-region modelling needs, and a counter that some versions of BERT saved.
OF_OTHER_TASKS = re.compile(
    r"(feat_regress|region_classifier|img_embeddings\.mask_embedding)\.|embeddings\.position_ids$"
)
HEADS = ("itm", "mlm", "woc", "wod")


class FreshHeads(UserWarning):
    """The checkpoint lacks some heads, so those start from fresh or derived weights."""


@dataclass(frozen=True)
class LoadReport:
    """Which heads a checkpoint contained, which were derived or started fresh, and which weights were left aside."""

    read: tuple[str, ...]
    derived: tuple[str, ...]
    fresh: tuple[str, ...]
    left_aside: tuple[str, ...]


def load_public(
    path: str | Path, tokenizer: "PreTrainedTokenizerFast", *, seed: int = 0, **settings: Any
) -> tuple[CrossEncoder, LoadReport]:
    """Load a public UNITER or OSCAR checkpoint; nothing in the file is executed.

    A ranking head in the file is used unchanged. Without one, the ranking logit is the log-odds of the two-way matching
    head, so its sigmoid is that head's probability of a match. A missing H_WoC starts as a copy of H_MLM.

    Args:
        path: a .safetensors, .bin or .pt file, or a folder with one and its config.json. Sizes come from the weights;
            the number of attention heads from config.json, otherwise 64 dimensions per head.
        tokenizer: that of the checkpoint.
        seed: of heads that the checkpoint lacks.
        settings: fields of `CrossEncoderConfig` that differ.

    Returns:
        The model, and a report of its heads.

    Raises:
        ItmlabError: weights that are unknown, missing or of another model.
    """
    file, stated = _file_and_settings(Path(path))
    tensors, where = _tensors(file), str(file)
    names = our_names(tensors, PUBLIC_NAMES, where)
    left_aside = [key for key, name in names.items() if OF_OTHER_TASKS.match(name)]
    weights = {name: tensors[key].float() for key, name in names.items() if key not in left_aside}
    with named(file):
        config = replaced(_sizes(weights), stated | settings)
        _remove_decoders(weights)
        derived, unused = _derive_heads(weights, config)
    present = sorted({name.split(".")[1] for name in weights if name.startswith("heads.")})
    fresh = tuple(head for head in HEADS if head not in present)
    optional = rf"^heads\.({'|'.join(fresh)})\." if fresh else "^$"
    model = build_filled(lambda: CrossEncoder(config, tokenizer), weights, where, optional=optional, seed=seed)
    heads_read = tuple(head for head in present if head not in derived)
    left_aside += [key for key, name in names.items() if name in unused]
    derived_heads = tuple(f"{head} ({source})" for head, source in derived.items())
    report = LoadReport(heads_read, derived_heads, fresh, tuple(left_aside))
    if report.fresh or report.derived:
        heads = f"fresh: {listed(report.fresh)}; derived: {listed(report.derived)}"
        warnings.warn(f"{file.name}: heads {heads}", FreshHeads, stacklevel=2)
    return model, report


def _remove_decoders(weights: dict[str, Tensor]) -> None:
    """Remove second names of the word embeddings and of the biases above them, which must have the same values."""
    for head in ("heads.mlm", "heads.woc"):
        tied = {f"{head}.decoder.weight": "text.words.weight", f"{head}.decoder.bias": f"{head}.bias"}
        for second, first in tied.items():
            value = weights.pop(second, None)
            if value is not None and not torch.equal(value, weights.setdefault(first, value)):
                raise ItmlabError(f"{second} is not tied to {first}")


def _derive_heads(weights: dict[str, Tensor], config: CrossEncoderConfig) -> tuple[dict[str, str], list[str]]:
    """Add H_ITM and a missing H_WoC to `weights`.

    Returns:
        The heads that were derived, each with its source, and the names of matching heads that were not needed.
    """
    derived, unused = {}, []
    for source, match in MATCHING.items():
        head = {end: weights.pop(f"{source}.{end}") for end in ("weight", "bias") if f"{source}.{end}" in weights}
        if head and "heads.itm.weight" in weights:  # never over a better one, as the released code does (METHODS 3)
            unused += [f"{source}.{end}" for end in head]
        elif head:
            shapes = [tuple(value.shape) for value in head.values()]
            classes = shapes[0][:1]
            if shapes != [(*classes, config.hidden), classes] or classes > (3,):
                raise ItmlabError(f"{source} of shapes {shapes} is not a matching head")
            weights |= {f"heads.itm.{end}": _log_odds(rows, match) for end, rows in head.items()}
            if classes > (1,):
                derived["itm"] = f"log-odds of {source}"
    mlm = {name: value for name, value in weights.items() if name.startswith("heads.mlm.")}
    if mlm and not any(name.startswith("heads.woc.") for name in weights):
        weights |= {name.replace(".mlm.", ".woc."): value.clone() for name, value in mlm.items()}
        derived["woc"] = "a copy of mlm"
    return derived, unused


def _log_odds(rows: Tensor, match: int) -> Tensor:
    """One row from a head of several classes: class `match` less the mean of the others (VinVL has two of them)."""
    if len(rows) == 1:
        return rows.clone()
    others = [number for number in range(len(rows)) if number != match]
    return rows[match : match + 1] - rows[others].mean(dim=0, keepdim=True)


def _sizes(weights: dict[str, Tensor]) -> CrossEncoderConfig:
    """The configuration by the shapes of the weights; heads of 64 dimensions, as in the published sizes."""
    if "image.features.weight" not in weights:
        remedy = "it has no image embedding of either"
        raise ItmlabError("neither a UNITER nor an OSCAR checkpoint", remedy=remedy)
    inner = "encoder.0.intermediate.weight"
    tables = ("text.words.weight", "text.positions.weight", "text.types.weight", inner, "image.features.weight")
    if missing := [name for name in tables if name not in weights or weights[name].dim() != 2]:
        raise ItmlabError(f"the checkpoint lacks {listed(missing)}")
    is_uniter = "image.boxes.weight" in weights
    vocabulary_size, hidden = weights["text.words.weight"].shape
    positions, region_numbers = len(weights["text.positions.weight"]), weights["image.features.weight"].shape[1]
    return CrossEncoderConfig(
        form="uniter" if is_uniter else "oscar",
        region_dimension=region_numbers if is_uniter else region_numbers - 6,
        hidden=hidden,
        layers=1 + max(int(name.split(".")[1]) for name in weights if name.startswith("encoder.")),
        heads=max(hidden // 64, 1),
        intermediate=len(weights[inner]),
        vocabulary_size=vocabulary_size,
        maximum_tokens=min(64 if is_uniter else 70, positions // 2),
        positions=positions,
        types=len(weights["text.types.weight"]),
        normalised_regions=not is_uniter and "image.norm.weight" in weights,
        object_tags=not is_uniter,
    )


def _file_and_settings(path: Path) -> tuple[Path, dict[str, Any]]:
    """The file of the weights, and the fields that a config.json beside it gives."""
    if not path.is_dir():
        return path, {}
    file = next((path / name for name in FILES if (path / name).is_file()), None)
    if file is None:
        raise ItmlabError(f"no {' or '.join(FILES)}", where=str(path), remedy="give the checkpoint file itself")
    config = path / CONFIG_FILE
    stated = read_json(config) if config.is_file() else {}
    if not isinstance(stated, dict) or stated.get("hidden_act", "gelu") != "gelu":
        raise ItmlabError("not the configuration of a BERT with gelu", where=str(config))
    fields = {"num_attention_heads": "heads", "hidden_dropout_prob": "dropout", "layer_norm_eps": "layer_norm_epsilon"}
    return file, {ours: stated[public] for public, ours in fields.items() if public in stated}


def _tensors(file: Path) -> dict[str, Tensor]:
    """The weights of a file by name."""
    if file.suffix == ".safetensors":
        return read_weights(file)
    content = read_pickled(file)
    for wrapper in WRAPPERS:
        if isinstance(content, dict) and isinstance(content.get(wrapper), dict):
            content = content[wrapper]
    has_names = isinstance(content, dict) and all(isinstance(key, str) for key in content)
    if not has_names or not content or not all(isinstance(value, Tensor) for value in content.values()):
        raise ItmlabError("not a file of named weights", where=str(file))
    return content
