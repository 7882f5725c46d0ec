"""Names of weights in public checkpoints, and our names of the same weights."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ...errors import ItmlabError
from ..base import listed

WRAPPERS = r"(^|\.)((module|_orig_mod)\.)+"  # what torch's DataParallel and compile put before a name
OLD_NORMS = {"gamma": "weight", "beta": "bias"}  # of LayerNorm in checkpoints of 2018


def plain_names(names: Iterable[str], where: str) -> dict[str, str]:
    """Map the names of weights to plain ones, without the prefixes of wrappers and of the body.

    Args:
        names: the names in a checkpoint.
        where: the file, for errors.

    Raises:
        ItmlabError: two names with the same plain form.

    >>> plain_names(["module.bert.pooler.dense.weight", "0.module.norm.LayerNorm.gamma"], "x.pt").values()
    dict_values(['pooler.dense.weight', '0.norm.LayerNorm.weight'])
    """
    plain = {}
    for name in names:
        stem, _, last = re.sub(r"^(uniter|bert)\.", "", re.sub(WRAPPERS, r"\1", name)).rpartition(".")
        plain[name] = f"{stem}.{OLD_NORMS.get(last, last)}" if stem else last
    counts = Counter(plain.values())
    if repeated := sorted(name for name in plain if counts[plain[name]] > 1):
        raise ItmlabError(f"the same weight under several names: {listed(repeated)}", where=where)
    return plain


def our_name(name: str, table: Mapping[str, str]) -> str | None:
    """Return our name of a weight with this plain name; None for an unknown one.

    Args:
        name: the plain name, such as "encoder.layer.3.output.dense.bias".
        table: patterns of modules' names, and ours with a "{}" for every group.

    >>> our_name("layer.3.dense.bias", {r"layer\\.(\\d)\\.dense": "encoder.{}.output"})
    'encoder.3.output.bias'
    """
    stem, _, last = name.rpartition(".")
    for pattern, ours in table.items():
        if match := re.fullmatch(pattern, stem):
            module = ours.format(*match.groups(default=""))
            return f"{module}.{last}"
    return None
