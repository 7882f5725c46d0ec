"""How every model reads captions: into pieces, what is too long cut, counted and said."""

import warnings
from collections.abc import Sequence

from torch import Tensor, nn

from itmlab.text.tokenise import encode_captions


class CutCaptions(UserWarning):
    """Captions longer than the model reads lost their last words."""


class ReadsCaptions(nn.Module):
    """A module with a `tokenizer`, a `config` that has `maximum_tokens`, and the count `captions_cut`."""

    def prepare_captions(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`input_ids`, `attention_mask`, `word_mask` of captions; longer ones are cut, counted and warned of."""
        tokens, cut = encode_captions(self.tokenizer, captions, self.config.maximum_tokens)
        if cut:
            before, self.captions_cut = self.captions_cut, self.captions_cut + cut
            if len(str(before)) < len(str(self.captions_cut)) or not before:  # once per power of ten, not per batch
                what = f"{self.captions_cut} so far cut to {self.config.maximum_tokens} tokens, their last words unread"
                warnings.warn(f"captions: {what}", CutCaptions, stacklevel=2)
        return tokens
