"""The wordpieces of a data set's captions and the words under them, found when first asked for and kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Int64
from torch import Tensor

from ..text import SceneGraph
from ..text.alignment import Pieces, align

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

KINDS = {  # of the fields with an axis of pieces
    "input_ids": torch.int32,
    "attention_mask": torch.int8,
    "word_mask": torch.bool,
    "characters": torch.int32,
    "first_word": torch.int16,
    "last_word": torch.int16,
}


class KeptPieces:
    """`text.alignment.align` of captions by number, each worked out once; `maximum` pieces of each are kept."""

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerFast",
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        maximum: int,
    ):
        self._tokenizer, self._captions, self._graphs, self._maximum = tokenizer, captions, graphs, maximum
        count = len(captions)
        shapes = {name: (count, maximum) + (2,) * (name == "characters") for name in KINDS}
        self._rows = {name: torch.zeros(shape, dtype=KINDS[name]) for name, shape in shapes.items()}
        self._rows["words_kept"] = torch.zeros(count, dtype=torch.int64)
        self._rows["cut"] = torch.zeros(count, dtype=torch.bool)
        self._known = torch.zeros(count, dtype=torch.bool)

    def __call__(self, numbers: Int64[Tensor, "caption"]) -> Pieces:
        """The same as `align` of these captions gives."""
        missing = numbers[~self._known[numbers]].unique()
        if len(missing):
            self._learn(missing)
        lengths = self._rows["attention_mask"][numbers].sum(dim=1)
        width = int(lengths.max())
        found = {name: self._rows[name][numbers, :width] for name in KINDS}
        fields = {name: one if one.dtype is torch.bool else one.long() for name, one in found.items()}
        padding = getattr(self._tokenizer, "pad_token_id", None) or 0
        fields["input_ids"][fields["attention_mask"] == 0] = padding
        return Pieces(**fields, words_kept=self._rows["words_kept"][numbers], cut=self._rows["cut"][numbers])

    def _learn(self, numbers: Int64[Tensor, "caption"]) -> None:
        texts = [self._captions[number] for number in numbers.tolist()]
        graphs = [self._graphs[number] for number in numbers.tolist()]
        pieces = align(self._tokenizer, texts, graphs, self._maximum)
        for name in KINDS:
            value = getattr(pieces, name)
            self._rows[name][numbers, : value.shape[1]] = value.to(KINDS[name])
        self._rows["words_kept"][numbers], self._rows["cut"][numbers] = pieces.words_kept, pieces.cut
        self._known[numbers] = True
