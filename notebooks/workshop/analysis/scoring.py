"""How well sentences match pictures, by any model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics import fluency
from itmlab.metrics.ranking import require_positives
from itmlab.metrics.yardsticks import Match, Yardstick, YardstickTable, measure
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at
from itmlab.synthesis.tags import cross_encoder_score
from itmlab.train.scores import compared, side_of

Numbers = Int64[Tensor, "image"]
Direction = Literal["image", "caption"]  # which of the two is the anchor


def model_of(run: Any) -> Any:
    """Return the model of a Run, or the model itself."""
    return getattr(run, "model", run)


def dual_encoder_of(run: Any, *, pictures: bool = False) -> Any:
    """Return the model of a Run, or the model itself, if it has features of pictures and sentences.

    Args:
        run: a Run or a model.
        pictures: whether features of patches are needed, which a model of regions lacks.

    Raises:
        ItmlabError: it has no such features.
    """
    model = model_of(run)
    if not model.encodes_apart or (pictures and not model.takes_pictures):
        raise ItmlabError(f"{type(model).__name__} has no such features of pictures", remedy="take a dual encoder")
    return model


def require_truth(truth: Any, data: CaptionSet) -> None:
    """Refuse data without ground truth."""
    if truth is None:
        raise ItmlabError("this dataset has no ground truth", where=data.name, remedy='use itmlab.load("scenes")')


def drawn_captions(data: CaptionSet, images: Numbers, generator: torch.Generator) -> Numbers:
    """Draw one caption of each of these images; data in which an image has no caption are refused."""
    require_positives(data.image_of_caption, len(data), "image")
    owned = [data.captions_of_image[image] for image in images.tolist()]
    return torch.stack([captions[torch.randint(len(captions), (), generator=generator)] for captions in owned])


def matching(run: Any, data: CaptionSet) -> Match:
    """Return a function that scores sentences on images of `data`, each given by its number.

    The scores are logits of a cross-encoder, cosines, or what a model that compares parts returns. Every picture and
    every sentence goes through the model once per call, however often it is asked for.
    """
    model = model_of(run)
    if not model.encodes_apart:
        return cross_encoder_score(model, data)

    def match(images: Sequence[int], sentences: Sequence[str]) -> Float[Tensor, "sentence"]:
        if not len(sentences):
            return torch.zeros(0)
        numbers, rows = torch.tensor(images).unique(return_inverse=True)
        column_of = {sentence: column for column, sentence in enumerate(dict.fromkeys(sentences))}
        source, columns = looked_at(model, data), torch.tensor([column_of[sentence] for sentence in sentences])
        with evaluating(model):
            pictures = side_of(model, [source[number] for number in numbers.tolist()], "images")
            captions = side_of(model, list(column_of), "captions")
            if not model.compares_parts:
                return (pictures[rows] * captions[columns]).sum(dim=1)
            scores = torch.zeros(len(sentences))
            for row in range(len(numbers)):  # one image at a time with its own sentences: parts need much memory
                mine = rows == row
                scores[mine] = compared(model, pictures.take(torch.tensor([row])), captions.take(columns[mine]))[0]
            return scores

    return match


def as_score(run: Any, matched: Float[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
    """Return the results of `matching` on the paper's scale: sigmoids of logits; cosines are unchanged."""
    return matched if model_of(run).encodes_apart else matched.sigmoid()


def run_on_yardstick(
    run: Any, yardstick: Yardstick, images: str | Path | CaptionSet | None = None, *, text: Sequence[str] = ()
) -> YardstickTable:
    """Measure how often a run tells true from false sentences, on the items whose pictures are available.

    Args:
        run: a Run or model; None scores the text-only controls alone.
        yardstick: the items, for example of SugarCrepe.
        images: the pictures, as for `Yardstick.with_pictures`.
        text: causal language models of the text-only controls ("gpt2"), which take the likelier sentence.

    References:
        Hsieh et al. (2023), SugarCrepe.
    """
    chosen = yardstick if run is None else yardstick.with_pictures(images)
    match = None if run is None else matching(run, chosen.pictures)
    likely = {f"text only ({name})": -fluency(chosen.sentences, name).perplexity for name in text}
    return measure(chosen, match, text=likely)
