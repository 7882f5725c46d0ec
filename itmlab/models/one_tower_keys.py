"""The names of weights in public UNITER and OSCAR checkpoints, and ours."""

import re
from collections import Counter

from itmlab.errors import ItmlabError

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
BODY = {
    "text.norm": "embeddings.LayerNorm",
    "pooler": "pooler.dense",
}
UNITER_IMAGE = {
    "image.features": "img_embeddings.img_linear",
    "image.features_norm": "img_embeddings.img_layer_norm",
    "image.boxes": "img_embeddings.pos_linear",
    "image.boxes_norm": "img_embeddings.pos_layer_norm",
    "image.norm": "img_embeddings.LayerNorm",
}
WORDS = {
    "heads.mlm.transform.weight": "cls.predictions.transform.dense.weight",
    "heads.mlm.transform.bias": "cls.predictions.transform.dense.bias",
    "heads.mlm.norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "heads.mlm.norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "heads.mlm.bias": "cls.predictions.bias",
}
# What only masked-region modelling needs, and a counter that some versions of BERT saved.
OF_OTHER_TASKS = re.compile(
    r"(feat_regress|region_classifier|img_embeddings\.mask_embedding)\.|embeddings\.position_ids$"
)
OLD_NAMES = {"gamma": "weight", "beta": "bias"}


def plain_names(keys: list[str]) -> dict[str, str]:
    """From each key of a file to its plain form: no "module." or body prefix, today's LayerNorm names."""
    plain = {}
    for key in keys:
        name = re.sub(r"^(module\.)+", "", key)
        name = re.sub(r"^(uniter|bert)\.", "", name)
        stem, _, last = name.rpartition(".")
        plain[key] = f"{stem}.{OLD_NAMES[last]}" if stem and last in OLD_NAMES else name
    counts = Counter(plain.values())
    twice = sorted(key for key, name in plain.items() if counts[name] > 1)
    if twice:
        raise ItmlabError(f"the same weight under several names: {', '.join(twice)}")
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
