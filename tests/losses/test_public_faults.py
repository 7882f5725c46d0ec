"""Known faults of TAGS-DC's public code (METHODS 3) that losses can have. The third, a trained ranking head
overwritten at load, is a checkpoint's.
"""

from itertools import permutations

import pytest
import torch

from itmlab.losses import (
    UNLABELLED,
    counted_tokens,
    masked_language,
    word_correction,
    word_discrimination,
)

PAD, CLS, SEP, VOCABULARY = 0, 1, 2, 11
CAPTIONS = [[3, 4, 5, 6, 7], [8], [9, 10, 3]]  # five words, one, three
REPLACED = [2, 0, 1]


def batch(order, length):
    """Captions in this order padded to this length, one word of each replaced, and logits that belong to the words."""
    original = torch.full((len(order), length), PAD)
    for row, which in zip(original, order, strict=True):
        row[: len(CAPTIONS[which]) + 2] = torch.tensor([CLS, *CAPTIONS[which], SEP])
    synthetic = original.clone()
    for row, which in zip(synthetic, order, strict=True):
        row[1 + REPLACED[which]] = (row[1 + REPLACED[which]] - 2) % (VOCABULARY - 3) + 3
    logits = torch.randn(length, VOCABULARY, generator=torch.Generator().manual_seed(length))[None].repeat(
        len(order), 1, 1
    )
    for row, which in zip(logits, order, strict=True):
        words = len(CAPTIONS[which])
        row[1 : words + 1] = torch.randn(words, VOCABULARY, generator=torch.Generator().manual_seed(which))
    return synthetic, original, counted_tokens(synthetic, original, original != PAD, [PAD, CLS, SEP]), logits


def losses(order, length):
    synthetic, original, counted, logits = batch(order, length)
    hidden = torch.where(counted & (synthetic != original), original, UNLABELLED)
    return torch.stack(
        [
            masked_language(logits, hidden),
            word_discrimination(logits[..., :2], synthetic, original, counted),
            word_correction(logits, synthetic, original, counted),
            word_correction(logits, synthetic, original, counted, positions="replaced"),
        ]
    )


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_word_losses_do_not_go_by_the_last_texts_length(order):
    """Fault: positions were gathered by the length of the last text of the batch, not by the batch's."""
    torch.testing.assert_close(losses(order, 7), losses((0, 1, 2), 7))
    torch.testing.assert_close(losses(order, 12), losses((0, 1, 2), 7))
