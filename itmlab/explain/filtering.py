"""What the filter of false negatives does: the share of made sentences that are truly false before and after it."""

from collections.abc import Callable
from dataclasses import replace

from ..errors import ItmlabError
from ..metrics import TrueNegatives
from ..synthesis import Negative
from ..synthesis.false_negatives import Implied, without_false_negatives
from ..training.generators import implied_in
from .made import Made
from .negative_sources import own_captions

BEFORE, AFTER, IMPLIED = "before the filter", "after the filter", "with implied words"
PAPER = 96.5  # percent of 200 sentences, judged by two people (Sec. 4.2)


def truth_by_filter(made: Made, *, keep: int | None = 31, implied: Implied | None = None) -> dict[str, TrueNegatives]:
    """The true negatives among the `keep` best of each caption, with each form of the filter (Sec. 2.1.2).

    `made` holds all candidates (`filtered=False, keep=None`), so that each form chooses from the same ones: none, the
    paper's, and the one that counts what said words imply as said too (`implied`, by default what the world's lexicon
    says; empty: left out). Negatives without verdicts are an ItmlabError.
    """
    if made.data.world is None:
        raise ItmlabError("nobody says what is true of these pictures", where=made.data.name, remedy="take scenes")
    implied = implied_in(made.data) if implied is None else implied
    said = own_captions(made.data, made.data.image_of_caption[list(made.captions)])

    def after(words: Implied | None) -> Callable[[list[Negative], list[str]], list[Negative]]:
        return lambda row, captions: without_false_negatives(row, captions, words)

    forms = {BEFORE: lambda row, captions: row, AFTER: after(None)} | ({IMPLIED: after(implied)} if implied else {})
    return {
        name: replace(
            made, negatives=[form(row, own)[:keep] for row, own in zip(made.negatives, said, strict=True)]
        ).truth
        for name, form in forms.items()
    }
