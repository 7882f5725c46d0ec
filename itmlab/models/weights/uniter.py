"""Weights of a cross-encoder from public UNITER and OSCAR checkpoints, TAGS-DC's and VinVL's included (METHODS 5).

UNITER: Chen et al., ECCV 2020; OSCAR: Li et al., ECCV 2020; VinVL: Zhang et al., CVPR 2021; TAGS-DC: Fan et al., 2022,
UNITER's with two heads more. Each of our names has one public name; what finds no place is refused, so that nothing is
lost or made up in silence.
"""

import re
import warnings
from collections import Counter
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

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FILES = ("model.safetensors", "pytorch_model.bin")
WRAPPERS = ("state_dict", "model_state_dict", "model")
# Our names of modules, then the public ones.
LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
}
BODY = {"text.norm": "embeddings.LayerNorm", "pooler": "pooler.dense"}
UNITER_IMAGE = {
    "image.features": "img_embeddings.img_linear",
    "image.features_norm": "img_embeddings.img_layer_norm",
    "image.boxes": "img_embeddings.pos_linear",
    "image.boxes_norm": "img_embeddings.pos_layer_norm",
    "image.norm": "img_embeddings.LayerNorm",
}
UNITER_SEEN, OSCAR_SEEN = "img_embeddings.img_linear.weight", "img_embedding.weight"
WORDS = {
    "transform.weight": "transform.dense.weight",
    "transform.bias": "transform.dense.bias",
    "norm.weight": "transform.LayerNorm.weight",
    "norm.bias": "transform.LayerNorm.bias",
    "bias": "bias",
}
LINEAR = {"weight": "weight", "bias": "bias"}
WORD_HEADS = {"mlm": "cls.predictions", "woc": "correction_output.predictions"}
# Heads that can rank, the best first, and which of their classes means "match": 1 in UNITER's and in OSCAR's
# fine-tuning, 0 in OSCAR's pretraining.
MATCHING = {"rank_output": 0, "itm_output": 1, "classifier": 1, "cls.seq_relationship": 0}
# What only masked-region modelling needs, and a counter that some versions of BERT saved.
OF_OTHER_TASKS = re.compile(
    r"(feat_regress|region_classifier|img_embeddings\.mask_embedding)\.|embeddings\.position_ids$"
)
OLD_NAMES = {"gamma": "weight", "beta": "bias"}


class FreshHeads(UserWarning):
    """The checkpoint lacks some heads, so those start from fresh or derived weights."""


@dataclass(frozen=True)
class LoadReport:
    """What a public checkpoint gave: heads read from it, derived, or started fresh, and weights left aside."""

    read: tuple[str, ...]
    derived: tuple[str, ...]
    fresh: tuple[str, ...]
    left_aside: tuple[str, ...]


def load_public(
    path: str | Path, tokenizer: "PreTrainedTokenizerFast", *, seed: int = 0, **settings: Any
) -> tuple[CrossEncoder, LoadReport]:
    """A model with the weights of a UNITER or OSCAR checkpoint, and what was read, derived and started fresh.

    `path` is a .safetensors, .bin or .pt file, or a folder with one and its config.json; nothing in it is executed.
    Sizes come from the weights; attention heads from config.json, else 64 dimensions a head; `settings` of
    `CrossEncoderConfig` win. A ranking head in the file is used as it is. Where there is none, the ranking logit is the
    log-odds of the two-way matching head, so its sigmoid is that head's probability of a match. H_WoC, when missing,
    starts as a copy of H_MLM; other missing heads start from `seed`. Keys that belong to no known part are refused.
    """
    file, stated = _file_and_settings(Path(path))
    found = _tensors(file)
    names = plain_names(list(found), str(file))
    shown = {name: key for key, name in names.items()}
    left_aside = tuple(key for key, name in names.items() if OF_OTHER_TASKS.match(name))
    weights = {name: found[key].float() for key, name in names.items() if key not in left_aside}
    with named(file):
        config = replaced(_sizes(weights), stated | settings)
    body = body_names(config.form, config.layers, config.normalised_regions)
    lacking = [theirs for theirs in body.values() if theirs not in weights]
    if lacking:
        raise ItmlabError(f"the checkpoint lacks {listed(lacking)}", where=str(file))
    ours = {mine: weights.pop(theirs) for mine, theirs in body.items()}
    heads, derived, aside = _heads(weights, ours["text.words.weight"], config, str(file))
    if weights:
        what = f"unexpected weights: {listed((shown[name] for name in weights), most=20)}"
        remedy = "give a UNITER or OSCAR checkpoint, without the heads of other tasks"
        raise ItmlabError(what, where=str(file), remedy=remedy)
    model = build_filled(lambda: CrossEncoder(config, tokenizer), ours | heads, str(file), optional="", seed=seed)
    fresh_names = model.state_dict().keys() - ours.keys() - heads.keys()
    fresh = sorted({name.removeprefix("heads.").split(".")[0] for name in fresh_names})
    read = tuple(sorted({name.split(".")[1] for name in heads} - {note.split(" ")[0] for note in derived}))
    report = LoadReport(read, derived, tuple(fresh), left_aside + tuple(shown[name] for name in aside))
    if report.fresh or report.derived:
        heads = f"fresh: {listed(report.fresh)}; derived: {listed(report.derived)}"
        warnings.warn(f"{file.name}: heads {heads}", FreshHeads, stacklevel=2)
    return model, report


def plain_names(keys: list[str], where: str | None = None) -> dict[str, str]:
    """From each key of a file to its plain form: no "module." or body prefix, today's LayerNorm names.

    Two keys of one plain form are an ItmlabError.

    >>> plain_names(["module.bert.pooler.dense.weight", "uniter.img_embeddings.LayerNorm.gamma"]).values()
    dict_values(['pooler.dense.weight', 'img_embeddings.LayerNorm.weight'])
    """
    plain = {}
    for key in keys:
        name = re.sub(r"^(module\.)*((uniter|bert)\.)?", "", key)
        stem, _, last = name.rpartition(".")
        plain[key] = f"{stem}.{OLD_NAMES[last]}" if stem and last in OLD_NAMES else name
    counts = Counter(plain.values())
    twice = sorted(key for key, name in plain.items() if counts[name] > 1)
    if twice:
        raise ItmlabError(f"the same weight under several names: {', '.join(twice)}", where=where)
    return plain


def body_names(form: str, layers: int, normalised_regions: bool) -> dict[str, str]:
    """From our names to the plain public ones, for everything but the heads."""
    modules = dict(BODY)
    for layer in range(layers):
        modules |= {f"encoder.{layer}.{ours}": f"encoder.layer.{layer}.{theirs}" for ours, theirs in LAYER.items()}
    if form == "uniter":
        modules |= UNITER_IMAGE
    else:
        modules |= {"image.features": "img_embedding"} | ({"image.norm": "LayerNorm"} if normalised_regions else {})
    names = {f"{ours}.{end}": f"{theirs}.{end}" for ours, theirs in modules.items() for end in ("weight", "bias")}
    for ours, theirs in {"words": "word", "positions": "position", "types": "token_type"}.items():
        names[f"text.{ours}.weight"] = f"embeddings.{theirs}_embeddings.weight"
    return names


def _heads(
    weights: dict[str, Tensor], words: Tensor, config: CrossEncoderConfig, where: str
) -> tuple[dict[str, Tensor], tuple[str, ...], tuple[str, ...]]:
    """Our head weights taken out of `weights`, which of them are derived, and public names not needed."""
    heads, derived, aside = {}, [], []
    for ours, theirs in WORD_HEADS.items():
        found = _word_head(weights, theirs, words, where)
        heads |= {f"heads.{ours}.{name}": value for name, value in found.items()}
    mlm = {name: value for name, value in heads.items() if name.startswith("heads.mlm.")}
    if mlm and len(heads) == len(mlm):
        heads |= {name.replace(".mlm.", ".woc."): value.clone() for name, value in mlm.items()}
        derived.append("woc (a copy of mlm)")
    # two classes, 0 "replaced" and 1 "kept", in TAGS-DC's code as here
    heads |= {f"heads.wod.{end}": value for end, value in _taken(weights, "disc_output", LINEAR, where).items()}
    for source, match in MATCHING.items():
        head = _taken(weights, source, LINEAR, where)
        if not head:
            continue
        if "heads.itm.weight" in heads:  # never over a better one, as the released code does (METHODS 3, last table)
            aside += [f"{source}.{end}" for end in head]
            continue
        shape = head["weight"].shape
        if shape[1:] != (config.hidden,) or len(head["weight"]) > 3 or head["bias"].shape != shape[:1]:
            raise ItmlabError(f"{source} of shape {tuple(shape)} is not a matching head", where=where)
        heads |= {f"heads.itm.{end}": _log_odds(rows, match) for end, rows in head.items()}
        if len(head["weight"]) > 1:
            derived.append(f"itm (log-odds of {source})")
    return heads, tuple(derived), tuple(aside)


def _taken(weights: dict[str, Tensor], module: str, names: dict[str, str], where: str) -> dict[str, Tensor]:
    """A head's weights taken out of `weights`, by our names of its parts; nothing where there is none."""
    keys = {ours: f"{module}.{theirs}" for ours, theirs in names.items()}
    lacking = [key for key in keys.values() if key not in weights]
    if 0 < len(lacking) < len(keys):
        raise ItmlabError(f"the checkpoint has a part of a head and lacks {listed(lacking)}", where=where)
    return {} if lacking else {ours: weights.pop(key) for ours, key in keys.items()}


def _word_head(weights: dict[str, Tensor], prefix: str, words: Tensor, where: str) -> dict[str, Tensor]:
    """A head over the vocabulary taken out of `weights`, by our names of its parts; nothing where there is none."""
    decoder = weights.pop(f"{prefix}.decoder.weight", None)
    if decoder is not None and not torch.equal(decoder, words):
        raise ItmlabError("the decoder is not tied to the word embeddings", where=where)
    bias = weights.pop(f"{prefix}.decoder.bias", None)  # a second name of the bias
    if bias is not None and not torch.equal(bias, weights.setdefault(f"{prefix}.bias", bias)):
        raise ItmlabError(f"{prefix}.bias and {prefix}.decoder.bias differ", where=where)
    return _taken(weights, prefix, WORDS, where)


def _log_odds(rows: Tensor, match: int) -> Tensor:
    """One row from a head of several classes: class `match` less the mean of the others (VinVL has two of them)."""
    if len(rows) == 1:
        return rows.clone()
    others = [number for number in range(len(rows)) if number != match]
    return rows[match : match + 1] - rows[others].mean(dim=0, keepdim=True)


def _sizes(weights: dict[str, Tensor]) -> CrossEncoderConfig:
    """The configuration that the shapes tell; heads of 64 dimensions, which is what the published sizes have."""
    uniter, oscar = UNITER_SEEN in weights, OSCAR_SEEN in weights
    if uniter == oscar:
        raise ItmlabError("neither a UNITER nor an OSCAR checkpoint", remedy="it has no image embedding of either")
    tables = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    words, places, types = tables
    inner, seen = "encoder.layer.0.intermediate.dense.weight", UNITER_SEEN if uniter else OSCAR_SEEN
    lacking = [name for name in (*tables, inner, seen) if name not in weights or weights[name].dim() != 2]
    if lacking:
        raise ItmlabError(f"the checkpoint lacks {listed(lacking)}")
    layers = 1 + max(int(found[1]) for name in weights if (found := re.match(r"encoder\.layer\.(\d{1,4})\.", name)))
    image = weights[seen]
    vocabulary_size, hidden = weights[words].shape
    positions = len(weights[places])
    return CrossEncoderConfig(
        form="uniter" if uniter else "oscar",
        region_dimension=image.shape[1] - (0 if uniter else 6),
        hidden=hidden,
        layers=layers,
        heads=max(hidden // 64, 1),
        intermediate=len(weights[inner]),
        vocabulary_size=vocabulary_size,
        maximum_tokens=min(64 if uniter else 70, positions // 2),
        maximum_tags=min(64, positions // 2),
        positions=positions,
        types=len(weights[types]),
        normalised_regions=not uniter and "LayerNorm.weight" in weights,
        object_tags=not uniter,
    )


def _file_and_settings(path: Path) -> tuple[Path, dict[str, Any]]:
    if not path.is_dir():
        return path, {}
    file = next((path / name for name in FILES if (path / name).is_file()), None)
    if file is None:
        raise ItmlabError(f"no {' or '.join(FILES)}", where=str(path), remedy="give the checkpoint file itself")
    if not (path / CONFIG_FILE).is_file():
        return file, {}
    stated = read_json(path / CONFIG_FILE)
    if not isinstance(stated, dict):
        raise ItmlabError("not a model configuration", where=str(path / CONFIG_FILE))
    if stated.get("hidden_act", "gelu") != "gelu":
        raise ItmlabError(f"the activation {stated['hidden_act']!r} is not gelu", where=str(path / CONFIG_FILE))
    known = {"num_attention_heads": "heads", "hidden_dropout_prob": "dropout", "layer_norm_eps": "layer_norm_epsilon"}
    return file, {ours: stated[theirs] for theirs, ours in known.items() if theirs in stated}


def _tensors(file: Path) -> dict[str, Tensor]:
    if file.suffix == ".safetensors":
        return read_weights(file)
    content = read_pickled(file)
    for wrapper in WRAPPERS:
        if isinstance(content, dict) and isinstance(content.get(wrapper), dict):
            content = content[wrapper]
    named = isinstance(content, dict) and all(isinstance(key, str) for key in content)
    if not named or not content or not all(isinstance(one, Tensor) for one in content.values()):
        raise ItmlabError("not a file of named weights", where=str(file))
    return content
