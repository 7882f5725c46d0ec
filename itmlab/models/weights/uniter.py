"""Weights of a cross-encoder from public UNITER and OSCAR checkpoints, TAGS-DC's and VinVL's included (METHODS 5).

UNITER: Chen et al., ECCV 2020; OSCAR: Li et al., ECCV 2020; VinVL: Zhang et al., CVPR 2021; TAGS-DC: Fan et al., 2022,
UNITER's with two more heads. Each of our names has one public name; unknown weights are refused, so that nothing is
lost or invented in silence.
"""

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...errors import ItmlabError, named
from ..base import build_filled, listed, read_weights
from ..config import CrossEncoderConfig
from ..cross_encoder import CrossEncoder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

# What torch's DataParallel puts before a name, what BERT's body has before it, and second names of the word embeddings
# and of the biases above them; then parts of public names, and of ours.
PUBLIC_NAMES = {
    r"^(module\.)+": "",
    r"^(uniter|bert)\.": "",
    r"^(cls|correction_output)\.predictions\.decoder\.weight$": "text.words.weight",
    r"\.decoder\.bias$": ".bias",
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


def load_public(path: str | Path, tokenizer: "PreTrainedTokenizerFast", config: CrossEncoderConfig) -> CrossEncoder:
    """Load a public UNITER or OSCAR checkpoint; nothing in the file is executed.

    A ranking head in the file is used unchanged. Without one, the ranking logit is the log-odds of the two-way matching
    head, so its sigmoid is that head's probability of a match. A missing H_WoC starts as a copy of H_MLM. A warning
    names the heads that are derived or start fresh.

    Args:
        path: a .safetensors file. PyTorch's file becomes one by
            `safetensors.torch.save_file(torch.load(FILE, weights_only=True), PATH)`.
        tokenizer: that of the checkpoint.
        config: the sizes, such as `CrossEncoderConfig.base("oscar")`; VinVL's have `normalised_regions` as well.

    Raises:
        ItmlabError: weights that are unknown, missing or of another model.
    """
    file, where = Path(path), str(path)
    if file.suffix != ".safetensors":
        raise ItmlabError("not a .safetensors file", where=where, remedy="convert it: see itmlab.models.load_public")
    with named(file):
        weights = _our_names(read_weights(file))
        derived = _derive_heads(weights)
    fresh = tuple(head for head in HEADS if not any(name.startswith(f"heads.{head}.") for name in weights))
    optional = rf"^heads\.({'|'.join(fresh)})\." if fresh else "^$"
    model = build_filled(lambda: CrossEncoder(config, tokenizer), weights, where, optional)
    if fresh or derived:
        message = f"{file.name}: heads fresh: {listed(fresh)}; derived: {listed(derived)}"
        warnings.warn(message, FreshHeads, stacklevel=2)
    return model


def _our_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights under our names; a name that no rule fits stays as it is."""
    weights: dict[str, Tensor] = {}
    for public_name, value in tensors.items():
        name = public_name
        for pattern, replacement in PUBLIC_NAMES.items():
            name = re.sub(pattern, replacement, name)
        if name in weights and not torch.equal(weights[name], value.float()):
            raise ItmlabError(f"{public_name} is a second name of {name} and has other values")
        if not OF_OTHER_TASKS.match(name):
            weights[name] = value.float()
    return weights


def _derive_heads(weights: dict[str, Tensor]) -> list[str]:
    """Add H_ITM and a missing H_WoC to `weights`, and return the heads that were derived, each with its source."""
    derived = []
    for source, match in MATCHING.items():
        head = {end: weights.pop(f"{source}.{end}") for end in ("weight", "bias") if f"{source}.{end}" in weights}
        if not head or "heads.itm.weight" in weights:  # never over a better one, as the released code does (METHODS 3)
            continue
        classes = len(next(iter(head.values())))
        if classes > 3:
            raise ItmlabError(f"{source} of {classes} classes is not a matching head")
        weights |= {f"heads.itm.{end}": _log_odds(rows, match) for end, rows in head.items()}
        if classes > 1:
            derived.append(f"itm (log-odds of {source})")
    mlm = {name: value for name, value in weights.items() if name.startswith("heads.mlm.")}
    if mlm and not any(name.startswith("heads.woc.") for name in weights):
        weights |= {name.replace(".mlm.", ".woc."): value.clone() for name, value in mlm.items()}
        derived.append("woc (a copy of mlm)")
    return derived


def _log_odds(rows: Tensor, match: int) -> Tensor:
    """One row from a head of several classes: class `match` less the mean of the others (VinVL has two of them)."""
    if len(rows) == 1:
        return rows.clone()
    others = [number for number in range(len(rows)) if number != match]
    return rows[match : match + 1] - rows[others].mean(dim=0, keepdim=True)
