"""Pooling over real parts, and a similarity that does not depend on chunks."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.models.encoded import cosine_similarity, masked_mean, unit


def obvious_mean(local, mask, otherwise):
    """FNE Eq. 1, one row and one part at a time."""
    rows = []
    for features, real, frame in zip(local, mask, otherwise, strict=True):
        chosen = [part for part, is_real in zip(features, real, strict=True) if is_real]
        chosen = chosen or [part for part, is_frame in zip(features, frame, strict=True) if is_frame]
        rows.append(sum(chosen) / len(chosen))
    return torch.stack(rows)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 2**31))
def test_the_mean_is_over_the_real_parts(count, parts, seed):
    generator = torch.Generator().manual_seed(seed)
    local = torch.randn(count, parts, 3, generator=generator)
    mask = torch.rand(count, parts, generator=generator) < 0.5
    otherwise = mask.clone()
    otherwise[:, 0] = True
    torch.testing.assert_close(masked_mean(local, mask, otherwise), obvious_mean(local, mask, otherwise))


@pytest.mark.parametrize("chunk", [1, 3, 64, 199, 1024])
def test_any_chunk_gives_exactly_the_same_similarity(chunk):
    torch.manual_seed(0)
    images, captions = unit(torch.randn(200, 96)), unit(torch.randn(501, 96))
    assert torch.equal(cosine_similarity(images, captions, chunk=chunk), cosine_similarity(images, captions))
