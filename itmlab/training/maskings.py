"""The maskings of captions that a masked language model is trained on: phrases or words, 80 / 10 / 10."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Int64
from torch import Tensor

from ..text import PhraseMasking, SceneGraph, WordMasking
from ..text.piece_masking import MaskedPieces, mask_pieces
from .kept_pieces import KeptPieces
from .tags_settings import TagsSettings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class TrainedMaskings:
    """Draws `trained_maskings` maskings of each caption, those of one caption one after the other."""

    def __init__(
        self,
        settings: TagsSettings,
        tokenizer: "PreTrainedTokenizerFast",
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        maximum: int,
    ):
        self.times, self.tokenizer, self.graphs = settings.trained_maskings, tokenizer, graphs
        self.masking = (WordMasking if settings.masking == "word" else PhraseMasking)(settings.probability)
        self.pieces = KeptPieces(tokenizer, captions, graphs, maximum)

    def __call__(self, captions: Int64[Tensor, "caption"], *, generator: torch.Generator) -> MaskedPieces:
        """Hidden pieces of the captions of these numbers."""
        pieces = self.pieces(captions)
        hidden = [
            phrases
            for at, number in enumerate(captions.tolist())
            for phrases in self.masking.draw(
                self.graphs[number], self.times, generator=generator, length=int(pieces.words_kept[at])
            )
        ]
        rows = torch.arange(len(captions)).repeat_interleave(self.times).tolist()
        return mask_pieces(self.tokenizer, pieces, hidden, captions=rows, replacement="bert", generator=generator)
