"""How well sentences match pictures, by any model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at, on_device, pieces_read
from itmlab.synthesis.negative import Readable
from itmlab.synthesis.tags import cross_encoder_score
from itmlab.train.scores import embed_captions, embed_images

Match = Callable[[Sequence[int], Sequence[str]], Float[Tensor, "sentence"]]  # image numbers and a sentence for each

Direction = Literal["image", "caption"]  # which of the two is the anchor


def model_of(run: Any) -> Any:
    """Return the model of a Run, or the model itself."""
    return getattr(run, "model", run)


def readable_by(run: Any) -> Readable | None:
    """Return what drops negatives that a model reads as their captions; None without a tokeniser."""
    model = model_of(run)
    return None if model is None or model.tokenizer is None else Readable(partial(pieces_read, model))


def matching(run: Any, data: CaptionSet) -> Match:
    """Return a function that scores sentences on images of `data`, each given by its number.

    The scores are logits of a cross-encoder, cosines, or what a model that compares parts returns.
    """
    model = model_of(run)
    if not model.encodes_apart:
        return cross_encoder_score(model, data)

    def match(images: Sequence[int], sentences: Sequence[str]) -> Float[Tensor, "sentence"]:
        if not len(sentences):
            return torch.zeros(0)
        # Every picture and every sentence goes through the model once, however often it is asked for.
        different, image_of = torch.tensor(images).unique(return_inverse=True)
        shown = looked_at(model, data)
        inputs = [shown[image] for image in different.tolist()]
        with evaluating(model):
            if model.compares_parts:
                return _by_parts(model, inputs, image_of, sentences)
            place = {sentence: at for at, sentence in enumerate(dict.fromkeys(sentences))}
            features = embed_captions(model, list(place))[torch.tensor([place[sentence] for sentence in sentences])]
            return (embed_images(model, inputs)[image_of] * features).sum(dim=1)

    return match


def _by_parts(
    model: Any, inputs: Sequence[Any], image_of: Int64[Tensor, "sentence"], sentences: Sequence[str]
) -> Float[Tensor, "sentence"]:
    """Return the scores of a model that compares parts, one image at a time with its sentences."""
    scores = torch.zeros(len(sentences))
    for image, input in enumerate(inputs):
        places = (image_of == image).nonzero().squeeze(1)
        tokens = model.prepare_captions([sentences[place] for place in places.tolist()])
        picture = model.encode_images(on_device(model, model.prepare_images([input])))
        captions = model.encode_captions(on_device(model, tokens))
        scores[places] = model.similarity(picture, captions)[0].float().cpu()
    return scores


def as_score(run: Any, matched: Float[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
    """Return the results of `matching` on the paper's scale: sigmoids of logits; cosines are unchanged."""
    return matched if model_of(run).encodes_apart else matched.sigmoid()
