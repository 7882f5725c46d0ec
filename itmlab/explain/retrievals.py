"""Several models' rankings of one split, beside how similar in meaning every pair is: any query's results, compared."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int8, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics import Cider, Spice, semantic_recall_of_each
from ..training.evaluation import embed_captions, embed_images, similarity
from ..training.reading import compares_parts, looked_at
from .attention import evaluating
from .rankings import Ranking, rank

Direction = Literal["t2i", "i2t"]


@dataclass(frozen=True, eq=False)
class Side:
    """One direction of a split: matrices (anchor, candidate), and the picture each anchor is or describes."""

    similarity: Mapping[str, Float[Tensor, "anchor candidate"]]
    relevance: Mapping[str, Float[Tensor, "anchor candidate"]]
    positives: Bool[Tensor, "anchor candidate"]
    truth: Int8[Tensor, "anchor candidate"] | None
    picture: Int64[Tensor, "anchor"]

    def rank(self, model: str, anchor: int, *, k: int = 5, by: str = "CIDEr", relevant: int | None = None) -> Ranking:
        """One query's ranking."""
        truth = None if self.truth is None else self.truth[anchor]
        scores, phi, positives = self.similarity[model][anchor], self.relevance[by][anchor], self.positives[anchor]
        return rank(scores, phi, k=k, positives=positives, truth=truth, relevant=relevant)


@dataclass(frozen=True, eq=False)
class Retrievals:
    """A split's (image, caption) matrices: each model's similarity, each φ's relevance, annotation, truth.

    `truth` is 1 true, 0 false, −1 undecided, or None without a world. `fitted` holds what gives φ of a new sentence.
    """

    data: CaptionSet
    models: Mapping[str, Any]
    similarity: Mapping[str, Float[Tensor, "image caption"]]
    relevance: Mapping[str, Float[Tensor, "image caption"]]
    positives: Bool[Tensor, "image caption"]
    truth: Int8[Tensor, "image caption"] | None
    fitted: Mapping[str, Any]
    _pictures: dict[str, Tensor] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Retrievals({self.data.name}: {', '.join(self.similarity)}; by {', '.join(self.relevance)})"

    def side(self, direction: Direction) -> Side:
        """Everything with the queries of one direction in rows."""
        if direction == "i2t":
            return Side(self.similarity, self.relevance, self.positives, self.truth, torch.arange(len(self.data)))
        similarity, relevance = (
            {name: matrix.T for name, matrix in of.items()} for of in (self.similarity, self.relevance)
        )
        truth = None if self.truth is None else self.truth.T
        return Side(similarity, relevance, self.positives.T, truth, self.data.image_of_caption)

    def of_caption(self, model: str, caption: int, **options: Any) -> Ranking:
        """The pictures that a model ranks first for a caption of the split; options as for `of_sentence`."""
        return self.side("t2i").rank(model, caption, **options)

    def of_picture(self, model: str, image: int, **options: Any) -> Ranking:
        """The captions that a model ranks first for a picture of the split; options as for `of_sentence`."""
        return self.side("i2t").rank(model, image, **options)

    def won(self, model: str, other: str, direction: Direction, *, k: int = 5) -> Int64[Tensor, "query"]:
        """The queries whose first by `model` was annotated for them, while `other` has nothing that was in its `k`."""
        side = self.side(direction)
        annotated, most = side.positives.float(), int(side.positives.sum(1).max())
        first, among = (
            semantic_recall_of_each(side.similarity[name], annotated, depth, relevant=most, sense="any") > 0
            for name, depth in ((model, 1), (other, k))
        )
        return (first & ~among).nonzero().squeeze(1)

    def of_sentence(
        self, model: str, sentence: str, *, k: int = 5, by: str = "CIDEr", relevant: int | None = None
    ) -> Ranking:
        """The `k` pictures that a model ranks first for any sentence; φ = `by` compares it with each one's captions.

        SR counts the `relevant` candidates of largest φ; without it as many as are annotated, or k. A sentence without
        words is an ItmlabError.
        """
        if not sentence.strip():
            raise ItmlabError("the sentence to search for is empty")
        relevance = self.fitted[by].matrix([sentence])[0].float()
        truth = None if self.data.world is None else _verdicts(self.data.world, sentence)
        return rank(self._scores(model, sentence), relevance, k=k, truth=truth, relevant=relevant)

    def _scores(self, name: str, sentence: str) -> Float[Tensor, "image"]:
        model = _model(self.models[name])
        with evaluating(model), torch.no_grad():
            if not hasattr(model, "encode_images") or compares_parts(model):
                return similarity(model, _with_caption(self.data, sentence))[:, 0]
            if name not in self._pictures:
                self._pictures[name] = embed_images(model, looked_at(model, self.data))
            return model.similarity(self._pictures[name], embed_captions(model, [sentence]))[:, 0]


def retrievals(
    runs: Mapping[str, Any], data: CaptionSet, *, by: Sequence[str] = ("CIDEr", "SPICE"), **options: Any
) -> Retrievals:
    """Score every pair of a split by the named Runs or models and by each φ in `by`; a world judges every pair.

    `options` are those of `metrics.Spice` (parser, synonyms). An unknown φ, and an image without captions, are an
    ItmlabError.
    """
    known = {"CIDEr": Cider, "SPICE": functools.partial(Spice, **options)}
    unknown = [name for name in by if name not in known]
    if unknown:
        raise ItmlabError(f"there is no relevance {unknown[0]!r}", remedy=f"choose from {', '.join(known)}")
    scores = {}
    for name, run in runs.items():
        model = _model(run)
        with evaluating(model):
            scores[name] = similarity(model, data)
    references = [[data.captions[caption] for caption in own.tolist()] for own in data.captions_of_image]
    fitted = {name: known[name](references) for name in by}
    relevance = {name: phi.matrix(data.captions).T.float() for name, phi in fitted.items()}
    truth = None if data.world is None else data.world.truth()
    return Retrievals(data, dict(runs), scores, relevance, data.positives, truth, fitted)


def _model(run: Any) -> Any:
    return getattr(run, "model", run)


def _verdicts(world: Any, sentence: str) -> Int8[Tensor, "image"] | None:
    """What the world says of a sentence and each picture; None where it cannot read the sentence."""
    try:
        return world.truth(None, [sentence])[:, 0]
    except ItmlabError:
        return None


def _with_caption(data: CaptionSet, sentence: str) -> CaptionSet:
    """The same pictures with one caption, for models that score pairs only together."""
    return CaptionSet(
        name=data.name,
        images=data.images,
        image_ids=data.image_ids,
        captions=[sentence],
        caption_ids=["query"],
        image_of_caption=torch.zeros(1, dtype=torch.int64),
        splits={},
        regions=data.regions,
    )
