"""What goes with what in a recipe: one table, by which recipes are refused, tests train, and the book shows a matrix.

Whatever the table does not name composes: an encoder with a loss, the sampler that it may ask, a memory, a fixed or an
adaptive margin, negatives made of features or sentences.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fields import check
from ..models import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig

if TYPE_CHECKING:
    from .recipe import Recipe


class Part(NamedTuple):
    """A part of recipes: the field that a refusal names, and what a recipe has of it (None, 0 or False: it has not)."""

    field: str
    of: Callable[["Recipe"], Any]


def _compares_parts(recipe: "Recipe") -> bool:
    return getattr(recipe.model, "compares_parts", False)


def _writes(recipe: "Recipe") -> bool:
    return isinstance(recipe.model, LateInteractionConfig) and recipe.model.kind == "vsrn"


def _apart(recipe: "Recipe") -> bool:
    """Whether a model of regions gives each side one feature: VSE++, OSCAR."""
    kinds = CrossEncoderConfig, DualEncoderConfig
    return type(recipe.model) not in kinds and not _compares_parts(recipe) and not _writes(recipe)


def _margin(wanted: Callable[[Any], bool]) -> Callable[["Recipe"], Any]:
    return lambda recipe: recipe.adaptive_margin if recipe.adaptive_margin and wanted(recipe.adaptive_margin) else None


def _samples(recipe: "Recipe") -> bool:
    return recipe.loss is not None and recipe.loss.kind == "sampled_triplet"


ENCODERS = {
    "dual encoder of pictures": Part("model", lambda recipe: type(recipe.model) is DualEncoderConfig),
    "dual encoder of regions (VSE++, OSCAR)": Part("model", _apart),
    "VSRN": Part("model", _writes),
    "late interaction (SCAN, SGRAF)": Part("model", _compares_parts),
    "cross-encoder": Part("model", lambda recipe: type(recipe.model) is CrossEncoderConfig),
}
PARTS = {
    "a loss of one negative": Part("loss", lambda recipe: recipe.loss if _samples(recipe) else None),
    "a loss of all negatives": Part("loss", lambda recipe: None if _samples(recipe) else recipe.loss),
    "a sampler": Part("sampler", lambda recipe: recipe.sampler and recipe.sampler.kind),
    "a memory": Part("memory", lambda recipe: recipe.memory),
    "an adaptive margin": Part("adaptive_margin", _margin(lambda settings: True)),
    "an adaptive margin alone": Part("adaptive_margin", _margin(lambda settings: not settings.with_triplet)),
    "the released adaptive margin": Part("adaptive_margin", _margin(lambda settings: settings.preset == "released")),
    "SynHNC": Part("synthesis", lambda recipe: recipe.synthesis),
    "sentences of a file": Part("extra_negatives", lambda recipe: recipe.extra_negatives),
    "global features beside": Part("loss.global_features", lambda recipe: recipe.loss and recipe.loss.global_features),
    "writing": Part("loss.writing", lambda recipe: recipe.loss and recipe.loss.writing),
    "TAGS: sentences made, losses of words": Part("tags", lambda recipe: recipe.tags),
    "an own encoder": Part("encoder", lambda recipe: recipe.encoder),
}
EVERY = ENCODERS | PARTS


class Refusal(NamedTuple):
    """Two parts that do not go together, and what is wanted of the second instead, with the reason."""

    one: str
    other: str
    wanted: str


_CROSS = {
    "a loss of one negative": "its losses are those of tags, with weights",
    "a loss of all negatives": "its losses are those of tags, with weights",
    "a sampler": "it scores candidates itself and keeps the hardest (tags.candidates, tags.top_k, tags.mining)",
    "a memory": "it reads both sides together, so there is no feature of one that could be kept",
    "an adaptive margin": "its triplets are of probabilities and not of cosines, with tags.margin",
    "SynHNC": "it reads both sides together, so there are no features to make negatives of",
    "global features beside": "its losses are those of tags, with weights",
    "an own encoder": "its losses need the heads of ours",
}
_NO_WORDS = "null, as the model is no cross-encoder: what reads a side alone cannot tell which word is wrong"
_ALONE = (
    "as adaptive_margin.with_triplet is false: φ is known of captions of the data alone, and nothing else is learnt"
)
_ALL = "null, as loss.kind {loss!r} takes all negatives; one that asks a sampler is 'sampled_triplet'"
REFUSALS = (
    *(Refusal("cross-encoder", part, f"null, as the model is a cross-encoder: {why}") for part, why in _CROSS.items()),
    *(Refusal(one, "TAGS: sentences made, losses of words", _NO_WORDS) for one in ENCODERS if one != "cross-encoder"),
    *(Refusal(one, "writing", "0, as only VSRN writes captions") for one in ENCODERS if one != "VSRN"),
    Refusal(
        "late interaction (SCAN, SGRAF)",
        "a memory",
        "null, as the model compares parts: a memory keeps one feature an item, not all its regions or words",
    ),
    Refusal(
        "the released adaptive margin",
        "a memory",
        "null, as adaptive_margin.preset is 'released', which takes the batch's own rows alone",
    ),
    Refusal("a loss of all negatives", "a sampler", _ALL),
    Refusal("an adaptive margin alone", "SynHNC", f"null, {_ALONE}"),
    Refusal("an adaptive margin alone", "sentences of a file", f"null, {_ALONE}"),
    Refusal("an adaptive margin alone", "global features beside", f"false, {_ALONE}"),
)


def refuse_mixture(recipe: "Recipe") -> None:
    """An ItmlabError that says why, for the first two parts of a recipe that do not go together."""
    loss = recipe.loss and getattr(recipe.loss.kind, "path", recipe.loss.kind)
    for one, other, wanted in REFUSALS:
        found = EVERY[other].of(recipe)
        check(not (found and EVERY[one].of(recipe)), EVERY[other].field, found, wanted.format(loss=loss))


# Kinds of a part: whoever refuses that refuses these.
KIND_OF = dict.fromkeys(("an adaptive margin alone", "the released adaptive margin"), "an adaptive margin")


def reason(one: str, other: str) -> str | None:
    """Why two parts do not go together, directly or as no encoder takes both; None where they do.

    >>> reason("VSRN", "SynHNC"), reason("sentences of a file", "writing")
    (None, None)
    >>> reason("cross-encoder", "SynHNC")
    'a cross-encoder: it reads both sides together, so there are no features to make negatives of'
    """
    for pair in ((one, other), (KIND_OF.get(one), other), (one, KIND_OF.get(other))):
        for refusal in REFUSALS:
            if {refusal.one, refusal.other} == {*pair}:
                told = refusal.wanted.replace("loss.kind {loss!r}", "such a loss")
                told = told.partition(": ")[2] or told.partition(", as ")[2]
                return f"a cross-encoder: {told}" if refusal.one == "cross-encoder" else told
    if one in PARTS and other in PARTS:
        among = [(reason(encoder, one), reason(encoder, other)) for encoder in ENCODERS]
        if all(map(any, among)):  # then what the last encoder that takes one of them says of the other
            return [own or other for own, other in among if not (own and other)][-1]
    return None
