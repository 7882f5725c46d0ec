"""Noisy correspondence: training with a share of the captions moved to other pictures.

References:
    Huang et al. (2021), NCR. The protocol of the committed result is METHODS 1.7.
"""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from jaxtyping import Int64
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.train.comparison import Comparison, compare_runs, trained
from itmlab.train.recipes import Recipe


def at_share(recipe: str, share: float) -> str:
    """Return the label of a recipe at a share of moved captions.

    >>> at_share("fne", 0.2)
    'fne, 20 % moved'
    """
    return f"{recipe}, {100 * share:g} % moved"


def compare_noise(
    recipes: Mapping[str, Recipe],
    data: CaptionSet,
    shares: Sequence[float],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    run_root: str | Path,
    truth: bool = False,
) -> Comparison:
    """Train every recipe at every share of moved training captions and compare them on the clean test split.

    Each seed moves other captions (`with_noise`), so that intervals include that variation. All recipes of a seed see
    the same captions. Finished runs in `run_root` are not trained again.

    Args:
        recipes: by name.
        data: clean data.
        shares: shares of training captions to move.
        seeds: seeds of training and of moving captions.
        run_root: directory of the runs.
        truth: also measure against everything that is true.

    Returns:
        A comparison whose labels are those of `at_share`.
    """
    runs: dict[str, list] = {at_share(name, share): [] for share in shares for name in recipes}
    for seed in seeds:
        for share in shares:
            noisy = with_noise(data, share, seed)
            for name, group in trained(recipes, noisy, seeds=[seed], run_root=run_root).items():
                runs[at_share(name, share)] += group
    return compare_runs(runs, data, truth=truth)


def with_noise(data: CaptionSet, share: float, seed: int = 0) -> CaptionSet:
    """Return a set in which a share of the training captions (of all without splits) belong to other images.

    The chosen captions exchange their images and none keeps its own, which NCR's released code does not exclude. An
    image keeps its number of captions, and a caption its index and id, so that the truth of a drawn world still holds.
    Images that belong to another split too are unchanged.

    Args:
        data: clean data.
        share: from 0 to 1; the number of captions is rounded.
        seed: of the draw.

    Raises:
        ItmlabError: the share is outside that range, there are too few images, or there is no split "train".
    """
    if not 0 <= share <= 1:
        raise ItmlabError(f"noise={share!r} is not a share", remedy="give a number from 0 to 1: 0.2 for a fifth")
    if share == 0:
        return data
    if data.splits and "train" not in data.splits:
        raise ItmlabError('no split "train" to put noise into', where=data.name)
    in_training = torch.zeros(len(data), dtype=torch.bool)
    in_training[data.splits.get("train", torch.arange(len(data)))] = True
    for name, indices in data.splits.items():
        if name != "train":
            in_training[indices] = False
    captions = in_training[data.image_of_caption].nonzero().flatten()
    exchanged = exchanged_rows(data.image_of_caption[captions], share, seed)
    noisy = copy.copy(data)
    noisy.image_of_caption = data.image_of_caption.clone()
    noisy.image_of_caption[captions] = data.image_of_caption[captions[exchanged]]
    return noisy


EXCHANGES = 64  # rounds in which pairs of rows may exchange: far more than a few thousand rows need to mix


def exchanged_rows(images: Int64[Tensor, "n"], share: float, seed: int = 0) -> Int64[Tensor, "n"]:
    """Return a random permutation that moves `share` of the rows (rounded) to a row of another image.

    Raises:
        ItmlabError: so many rows cannot be moved, because one image has more than half of them.

    >>> images = torch.tensor([0, 0, 1, 1])
    >>> images[exchanged_rows(images, 1.0)].tolist()
    [1, 1, 0, 0]
    """
    generator, count = torch.Generator().manual_seed(seed), round(share * len(images))
    order = torch.randperm(len(images), generator=generator)
    order = order[images[order].argsort(stable=True)]  # image by image, in random order within each
    sizes = torch.bincount(images)
    within = torch.arange(len(images)) - (sizes.cumsum(0) - sizes)[images[order]]
    may = order[within < count // 2]
    chosen = may[torch.randperm(len(may), generator=generator)[:count]]
    if not count:
        return torch.arange(len(images))
    if len(chosen) < count or count == 1:
        among = f"{len(images)} captions of {int((sizes > 0).sum())} images to train on"
        message = f"{count} of the {among} cannot each go to another image"
        raise ItmlabError(message, remedy="give another share, or more images")
    # Sorted by image and shifted by the largest number that one image has, no row keeps its image. Then pairs of rows
    # exchange their targets wherever neither gets its own image, so that every such permutation is possible.
    chosen = chosen[images[chosen].argsort(stable=True)]
    targets = chosen.roll(int(torch.bincount(images[chosen]).max()))
    for _ in range(EXCHANGES):
        first, second = torch.randperm(count, generator=generator)[: count // 2 * 2].view(2, -1)
        fits = (images[chosen[first]] != images[targets[second]]) & (images[chosen[second]] != images[targets[first]])
        first, second = first[fits], second[fits]
        targets[first], targets[second] = targets[second], targets[first]
    rows = torch.arange(len(images))
    rows[chosen] = targets
    return rows
