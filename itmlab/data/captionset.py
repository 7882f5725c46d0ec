"""`CaptionSet`: the form of all data, images with their captions and splits, and the truth where it is known."""

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from string import punctuation
from typing import Any

import torch
from jaxtyping import Bool, Int64
from PIL import Image
from torch import Tensor

from ..errors import ItmlabError, printable
from ..session import usual_defaults
from .faults import one_line
from .identity import content_groups, digest_of, digests, numbered
from .pictures import NoPictures, view

LARGEST_MASK = 4 * 2**30  # bytes of `positives`: one byte a pair


class CaptionSet:
    """Images with any number of captions each. Immutable; pictures are decoded when they are indexed.

    Args:
        name: of the data set, for error messages.
        images: RGB pictures.
        image_ids: one per image.
        captions: all captions.
        caption_ids: one per caption.
        image_of_caption: the index of the image that each caption describes.
        splits: image indices by the name of the split.
        world: the truth behind a drawn world.
        regions: region features by image.

    Raises:
        ItmlabError: lengths, indices or ids contradict each other.

    >>> images = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    >>> data = CaptionSet(name="colours", images=images, image_ids=["r", "b"], captions=["red", "a red one", "blue"],
    ...     caption_ids=["0", "1", "2"], image_of_caption=[0, 0, 1], splits={"test": [1]})
    >>> data.positives.tolist()
    [[True, True, False], [False, False, True]]
    >>> data.split("test").captions, data.captions_of([1, 0])
    (['blue'], [['blue'], ['red', 'a red one']])
    """

    @usual_defaults()
    def __init__(
        self,
        *,
        name: str,
        images: Sequence[Image.Image],
        image_ids: Sequence[str],
        captions: Sequence[str],
        caption_ids: Sequence[str],
        image_of_caption: Int64[Tensor, "caption"],
        splits: Mapping[str, Int64[Tensor, "n"]],
        world: Any = None,
        regions: Any = None,
    ):
        self.name, self.images, self.world, self.regions = name, images, world, regions
        self.image_ids, self.captions, self.caption_ids = list(image_ids), list(captions), list(caption_ids)
        self.image_of_caption = torch.as_tensor(image_of_caption, dtype=torch.int64)
        self.splits = {key: torch.as_tensor(indices, dtype=torch.int64) for key, indices in splits.items()}
        self._check()

    def _check(self) -> None:
        image_count, caption_count = len(self.image_ids), len(self.captions)
        if len(self.images) != image_count:
            raise ItmlabError(f"{len(self.images)} images but {image_count} image ids", where=self.name)
        if len(self.caption_ids) != caption_count or self.image_of_caption.shape != (caption_count,):
            owners = f"image_of_caption of shape {tuple(self.image_of_caption.shape)}"
            message = f"{caption_count} captions, {len(self.caption_ids)} caption ids and {owners} do not fit together"
            raise ItmlabError(message, where=self.name)
        for kind, ids in (("image", self.image_ids), ("caption", self.caption_ids)):
            repeated, count = Counter(ids).most_common(1)[0] if ids else ("", 1)
            if count > 1:
                raise ItmlabError(f"the {kind} id {one_line(repr(repeated))} occurs twice", where=self.name)
        for name, indices in (("image_of_caption", self.image_of_caption), *self.splits.items()):
            self._check_images(indices, f"{name} names")

    def _check_images(self, indices: Int64[Tensor, "n"], subject: str) -> None:
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < len(self):
            raise ItmlabError(f"{subject} images outside 0…{len(self) - 1}", where=self.name)

    def __getstate__(self) -> dict[str, Any]:
        """The state of copies, which compute their own identity: they may get other pairs, regions or splits."""
        computed = ("fingerprint", "image_groups", "caption_groups", "captions_of_image", "_identity")
        return {name: value for name, value in vars(self).items() if name not in computed}

    def __len__(self) -> int:
        """The number of images."""
        return len(self.image_ids)

    def __repr__(self) -> str:
        splits = ", ".join(f"{name} {len(indices)}" for name, indices in self.splits.items())
        return printable(f"CaptionSet({self.name}: {len(self)} images, {len(self.captions)} captions; {splits})")

    @cached_property
    def captions_of_image(self) -> list[Int64[Tensor, "n"]]:
        """The indices of each image's captions, in order."""
        order = torch.argsort(self.image_of_caption, stable=True)
        counts = torch.bincount(self.image_of_caption, minlength=len(self))
        return list(torch.split(order, counts.tolist()))

    def captions_of(self, images: Iterable[int] | None = None) -> list[list[str]]:
        """Return the captions of each of these images, by default of all."""
        chosen = range(len(self)) if images is None else images
        return [[self.captions[caption] for caption in self.captions_of_image[image].tolist()] for image in chosen]

    @property
    def positives(self) -> Bool[Tensor, "image caption"]:
        """True where the caption was written for the image, or for another image of the same content.

        More than 4 GB of pairs is an ItmlabError.
        """
        self._check_mask(len(self), len(self.captions))
        return self.image_groups[:, None] == self.image_groups[self.image_of_caption]

    def matches(
        self, images: Int64[Tensor, "n"] | None = None, captions: Int64[Tensor, "m"] | None = None
    ) -> Bool[Tensor, "n m"]:
        """Return whether each of these captions belongs to each of these images.

        These are `positives`, and captions that are equal word for word to a caption of the image.

        Args:
            images: indices of images, on any device; all by default.
            captions: indices of captions; all by default.
        """
        device = next((indices.device for indices in (images, captions) if indices is not None), torch.device("cpu"))
        groups, owners, texts, shared = (table.to(device) for table in self._identity)
        if images is not None:
            groups = groups[images]
        if captions is not None:
            owners, texts = owners[captions], texts[captions]
        self._check_mask(len(groups), len(owners))
        mask = groups[:, None] == owners
        for column in shared[groups].unbind(dim=1):
            mask |= column[:, None] == texts
        return mask

    @cached_property
    @usual_defaults()
    def _identity(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the group of each image, of each caption's image and of each caption, and what groups share.

        The last table has a row for each group of images: the groups of its captions that other images have too, and
        then -1.
        """
        groups, texts = self.image_groups, self.caption_groups
        owners = groups[self.image_of_caption]
        count, text_count = (len(numbers.unique()) for numbers in (groups, texts))
        pairs = (owners * text_count + texts).unique()
        is_shared = torch.bincount(pairs % max(text_count, 1), minlength=1)[pairs % max(text_count, 1)] > 1
        owner, text = pairs[is_shared] // text_count, pairs[is_shared] % text_count
        slot = torch.arange(len(owner)) - torch.searchsorted(owner, owner)
        shared = torch.full((count, int(slot.max()) + 1 if len(slot) else 0), -1)
        shared[owner, slot] = text
        return groups, owners, texts, shared

    @cached_property
    def image_groups(self) -> Int64[Tensor, "image"]:
        """A number for each image, in order of first occurrence: images of equal content have the same number.

        The content is the bytes of the picture, or the features of a set without pictures.
        """
        without_pictures = isinstance(self.images, NoPictures) and self.regions is not None
        return content_groups(self.regions if without_pictures else self.images)

    @cached_property
    def caption_groups(self) -> Int64[Tensor, "caption"]:
        """A number for each caption, in order of first occurrence: captions equal word for word have the same number.

        Capital letters, blanks and the punctuation around words do not count.
        """
        words_of = ([word.strip(punctuation) for word in text.casefold().split()] for text in self.captions)
        keys = (" ".join(filter(None, words)) for words in words_of)
        return numbered([key or caption for key, caption in zip(keys, self.captions, strict=True)])

    def _check_mask(self, images: int, captions: int) -> None:
        if images * captions > LARGEST_MASK:
            message = f"the mask of {images} images × {captions} captions would take more than 4 GB"
            raise ItmlabError(message, where=self.name, remedy="take a split or select(…)")

    def split(self, name: str) -> "CaptionSet":
        """Return the images of one split with their captions, renumbered. An unknown name is an ItmlabError."""
        if name not in self.splits:
            known = ", ".join(map(repr, self.splits)) or "none"
            raise ItmlabError(f"there is no split {name!r}", where=self.name, remedy=f"the splits are: {known}")
        return self.select(self.splits[name])

    @usual_defaults()
    def select(self, image_indices: Int64[Tensor, "n"] | Sequence[int]) -> "CaptionSet":
        """Return these images in this order with their captions, renumbered; splits, world and regions follow."""
        chosen = torch.as_tensor(image_indices, dtype=torch.int64)
        self._check_images(chosen, "select was given")
        captions = torch.cat([self.captions_of_image[i] for i in chosen.tolist()] or [chosen])
        renumbered = torch.full((len(self),), -1, dtype=torch.int64)
        renumbered[chosen] = torch.arange(len(chosen))
        # a split keeps its order, and is left out if none of its images were chosen
        splits = {name: renumbered[indices] for name, indices in self.splits.items()}
        splits = {name: indices[indices >= 0] for name, indices in splits.items() if (indices >= 0).any()}
        return CaptionSet(
            name=self.name,
            images=view(self.images, chosen.tolist()),
            image_ids=[self.image_ids[i] for i in chosen.tolist()],
            captions=[self.captions[i] for i in captions.tolist()],
            caption_ids=[self.caption_ids[i] for i in captions.tolist()],
            image_of_caption=renumbered[self.image_of_caption[captions]],
            splits=splits,
            world=None if self.world is None else self.world.select(chosen, captions),
            regions=None if self.regions is None else self.regions.select(chosen),
        )

    @usual_defaults()
    def reduced(self, share: float) -> "CaptionSet":
        """Return a set with only a share of the training images.

        The images keep their order. The draw is always the same: a smaller share is contained in a larger one.

        Args:
            share: above 0 and up to 1; the number of images is rounded, and at least one.

        Raises:
            ItmlabError: a share outside that range, or no split "train".
        """
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise ItmlabError(f"share={share!r}", remedy="give a number above 0 and up to 1: 0.1 for a tenth")
        if "train" not in self.splits:
            raise ItmlabError(f'no split "train" to reduce, only {", ".join(self.splits)}', where=self.name)
        training = self.splits["train"]
        order = torch.randperm(len(training), generator=torch.Generator().manual_seed(0))
        chosen = training[order[: max(1, round(share * len(training)))].sort().values]
        others = [indices for name, indices in self.splits.items() if name != "train"]
        stay = torch.ones(len(self), dtype=torch.bool).index_fill(0, training, False)
        stay[torch.cat([chosen, *others])] = True  # images that another split has too stay
        part = copy.copy(self)
        part.splits = {**self.splits, "train": chosen}
        return part.select(stay.nonzero().flatten())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: ids, captions, pairs, splits, pictures and features.

        Caches, indices and run directories recognise data by it.
        """
        pairs = [self.image_ids, self.captions, self.caption_ids, self.image_of_caption.tolist()]
        splits = [(name, self.splits[name].tolist()) for name in sorted(self.splits)]
        features = [] if self.regions is None else digests(self.regions)
        return digest_of([*pairs, splits, digests(self.images), features]).hex()


def proportional_splits(
    image_count: int, proportions: Sequence[float] = (0.8, 0.1, 0.1)
) -> dict[str, Int64[Tensor, "n"]]:
    """Return image indices of train, val and test, drawn at random in these proportions, ascending within each split.

    Every split with a proportion above 0 gets at least one image if there are enough. Others are left out.
    Proportions that are not three shares are an ItmlabError.

    >>> {name: len(part) for name, part in proportional_splits(1000).items()}
    {'train': 800, 'val': 100, 'test': 100}
    """
    if len(proportions) != 3 or min(proportions) < 0 or not 0 < sum(proportions) < float("inf"):
        message = f"proportions={proportions!r} are not three shares"
        raise ItmlabError(message, remedy="for example proportions=(0.8, 0.1, 0.1)")
    wanted = [name for name, share in zip(("train", "val", "test"), proportions, strict=True) if share > 0]
    shares = torch.tensor([share for share in proportions if share > 0], dtype=torch.float64)
    ends = (shares.cumsum(0) / shares.sum() * image_count).round().long().tolist()
    if image_count >= len(wanted):
        before = 0
        for place, end in enumerate(ends):  # at least one each, and enough left for those that follow
            before = ends[place] = min(max(end, before + 1), image_count - (len(ends) - 1 - place))
    order = torch.randperm(image_count, generator=torch.Generator().manual_seed(0))
    parts = zip(wanted, order.tensor_split(ends[:-1]), strict=True)
    return {name: part.sort().values for name, part in parts if len(part)}
