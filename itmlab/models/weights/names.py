"""Names of weights in public checkpoints, and our names of the same weights."""

import re
from collections.abc import Iterable, Mapping

from ...errors import ItmlabError

# What torch's DataParallel and compile put before a name, what BERT's body has before it, and the names that
# LayerNorm's weights had in 2018.
USUAL_NAMES = {
    r"(^|\.)((module|_orig_mod)\.)+": r"\1",
    r"^(uniter|bert)\.": "",
    r"\.gamma$": ".weight",
    r"\.beta$": ".bias",
}


def our_names(names: Iterable[str], table: Mapping[str, str], where: str) -> dict[str, str]:
    """Map the names of weights in a checkpoint to ours; a name that no rule fits stays as it is.

    Args:
        names: the names in a checkpoint.
        table: regular expressions and what replaces them, in this order.
        where: the file, for errors.

    Raises:
        ItmlabError: two names of the same weight.

    >>> our_names(["module.bert.pooler.dense.weight", "0.module.LayerNorm.gamma"], {r"\\.dense": ""}, "x.pt").values()
    dict_values(['pooler.weight', '0.LayerNorm.weight'])
    """
    ours, names_of = {}, {}
    for name in names:
        plain = name
        for pattern, replacement in (USUAL_NAMES | dict(table)).items():
            plain = re.sub(pattern, replacement, plain)
        ours[name] = plain
        if names_of.setdefault(plain, name) != name:
            message = f"the same weight under several names: {names_of[plain]} and {name}"
            raise ItmlabError(message, where=where)
    return ours
