"""Synthetic sentences beside the captions that they were made of, token under token, for the two losses of words."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from ..losses import counted_tokens
from ..models import OneTower
from .pair_rows import Tokens


class WordTokens(NamedTuple):
    """Under each token of the sentences their captions', and which of them count."""

    original: Int64[Tensor, "sentence piece"]
    counted: Bool[Tensor, "sentence piece"]

    @property
    def compared(self) -> float:
        """The part of the sentences of which any token counts."""
        return float(self.counted.any(dim=1).double().mean())


def word_tokens(
    model: OneTower, sentences: Tokens, captions: Tokens, of_caption: Int64[Tensor, "sentence"]
) -> WordTokens:
    """The tokens of each sentence's caption, a row of `captions`, where both have as many.

    A filling may be read back in other pieces than were drawn ("dog" and "##s" as "dogs"). Of such a sentence, shorter
    or longer than its caption, no token counts.
    """
    width, longest = sentences.ids.shape[1], captions.ids.shape[1]
    original = torch.nn.functional.pad(captions.ids[of_caption].long(), (0, max(width - longest, 0)))[:, :width]
    same = sentences.lengths == captions.lengths[of_caption]
    original = torch.where(same[:, None], original, sentences.ids)
    counted = counted_tokens(sentences.ids, original, sentences.mask, model.tokenizer.all_special_ids)
    return WordTokens(original, counted & same[:, None])
