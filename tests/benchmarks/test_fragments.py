"""What the blocks of a fragment matcher save over a loop over captions, on the same weights in the same run.

1,000 images by 5,000 captions of 5 to 18 words: `tiny` has 5 to 13 regions an image, the published size 36. The loop is
the papers' equations as they are usually run: one caption after the other against all images, its words repeated for
each, the attended vectors made in full, every step of the graph over all nodes. As it takes minutes, both are timed in
turns on parts (the loop on `LOOPED` captions, the blocks on `BLOCKED`); ITMLAB_WHOLE=1 takes all.

SCAN needs no attended vector at all. SGRAF multiplies the square of each one's difference from its word by W_l, blocks
or not, and on a CPU that product and the graph's bound what can be saved.
"""

import math
import os
import time

import pytest
import torch
from torch.nn import functional

from itmlab.models import Encoded, LateInteraction, LateInteractionConfig, build_model
from itmlab.models.matchers import all_pairs

WORDS = ["a dog runs on the grass", "two red cars next to a tree"]
IMAGES, CAPTIONS = 1000, 5000
LOOPED, BLOCKED = {"tiny": 20, "published": 3}, {"tiny": 200, "published": 12}


def items(count: int, fewest: int, most: int, dimension: int, seed: int) -> Encoded:
    generator = torch.Generator().manual_seed(seed)
    counts = torch.randint(fewest, most + 1, (count,), generator=generator)
    mask = torch.arange(most)[None] < counts[:, None]
    local = functional.normalize(torch.randn(count, most, dimension, generator=generator), dim=-1) * mask[..., None]
    return Encoded(functional.normalize(local.sum(1), dim=-1), local, mask)


def attended(images: Encoded, words: torch.Tensor) -> torch.Tensor:
    """What each word attends to in each image, (image, word, dimension)."""
    cosines = (words @ images.local.transpose(1, 2)).relu()
    cosines = functional.normalize(cosines, dim=1)
    weights = (9 * cosines).masked_fill(~images.mask[:, None], -math.inf).softmax(-1)
    return functional.normalize(weights @ images.local, dim=-1)


def scan_scores(model: LateInteraction, images: Encoded, words: torch.Tensor) -> torch.Tensor:
    words = words.repeat(len(images.local), 1, 1)
    return (6 * (attended(images, words) * words).sum(-1)).exp().sum(1).log() / 6


def sgraf_scores(model: LateInteraction, images: Encoded, words: torch.Tensor) -> torch.Tensor:
    matcher = model.matcher
    whole = matcher.of_captions(words[None], torch.ones(1, len(words), dtype=torch.bool))
    words = words.repeat(len(images.local), 1, 1)
    local = functional.normalize(matcher.part((attended(images, words) - words).abs().pow(2)), dim=-1)
    whole = functional.normalize(matcher.whole((images.pooled - whole).abs().pow(2)), dim=-1)
    nodes, answers = torch.cat([whole[:, None], local], dim=1), []
    for branch in matcher.branches:
        states = nodes
        if hasattr(branch, "significance"):
            shares = functional.normalize(branch.significance(states).sigmoid(), p=1, dim=1)
            answers.append(branch.answer((shares * states).sum(1)).sigmoid())
            continue
        for inwards, outwards, update in zip(branch.inwards, branch.outwards, branch.update, strict=True):
            edges = (inwards(states) @ outwards(states).transpose(1, 2)).softmax(-1)
            states = update(edges @ states).relu()
        answers.append(branch.answer(states[:, 0]).sigmoid())
    return torch.stack(answers).mean(0).squeeze(-1)


@pytest.mark.parametrize("size", ["tiny", "published"])
@pytest.mark.parametrize("kind", ["scan_t2i", "saf", "sgraf"])
@torch.no_grad()
def test_blocks_are_faster_than_a_loop_over_captions(kind, size, capsys):
    config = (LateInteractionConfig.tiny if size == "tiny" else LateInteractionConfig.base)(kind)
    model = build_model(config, WORDS * 2, seed=0).eval()
    score = scan_scores if kind == "scan_t2i" else sgraf_scores
    count = CAPTIONS if os.environ.get("ITMLAB_WHOLE") else BLOCKED[size]
    images = items(IMAGES, *((5, 13) if size == "tiny" else (36, 36)), config.dimension, seed=1)
    captions = items(count, 5, 18, config.dimension, seed=2)
    if kind != "scan_t2i":  # once for each image, whatever the number of captions: not part of what is compared
        images, captions = model.with_whole(images, "of_images"), model.with_whole(captions, "of_captions")
    best = [math.inf, math.inf]
    for _ in range(2):
        start = time.process_time()
        looped = [score(model, images, captions.local[at][captions.mask[at]]) for at in range(LOOPED[size])]
        best[0] = min(best[0], (time.process_time() - start) / LOOPED[size])
        start = time.process_time()
        scores = all_pairs(model.matcher, images, captions, chunk=model.matcher.pairs_at_once)
        best[1] = min(best[1], (time.process_time() - start) / count)
    torch.testing.assert_close(scores[:, : LOOPED[size]], torch.stack(looped, 1), rtol=1e-3, atol=1e-3)
    with capsys.disabled():
        print(f"\n{kind}, {size}: {IMAGES} × {CAPTIONS} pairs take {best[1] * CAPTIONS:.0f} s on one core,", end=" ")
        print(f"{best[0] / best[1]:.1f} × as fast as the loop")
    assert best[1] < best[0]
