"""Pretraining of the two encoders, each on its own, before they are aligned: a ViT and a BERT.

FNE begins with a ViT from ImageNet-21k and BERT (Li et al., 2023, A.2), which know nothing of each other. Here the ViT
learns what the world says of each patch of a picture (the kind, colours, pose of its object), and BERT to fill in
masked word pieces (Devlin et al., NAACL 2019, Sec. 3.1). Both read the same batches, but each has a loss of its own:
neither learns which caption belongs to which picture. A recipe whose `start` is such a run begins with both.
"""

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..data.batches import Batch
from ..errors import ItmlabError
from ..models.pairs import on_device
from ..text.alignment import UNLABELLED
from .state import BatchLoss, Task

Pieces = Int64[Tensor, "caption piece"]
UNASKED = -1  # the answer where a question does not arise


class TowerTask(Task):
    """The losses of a ViT and a BERT for a batch, each on its own side."""

    width = "text_hidden"  # the field of the model's configuration with the length of a word piece's state

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        if self.accelerator.num_processes > 1:
            raise ItmlabError("towers are pretrained in one process", remedy="launch it without accelerate")
        words = nn.Linear(getattr(self.model.config, self.width), len(self.model.tokenizer))
        heads = nn.ModuleDict({"images": self.image_head(), "words": words})
        self.heads = heads.to(self.accelerator.device)

    def image_head(self) -> nn.Module:
        """The head that answers the world's questions about each patch; only a world has answers."""
        world = self.data.world
        if not hasattr(world, "patch_answers"):
            remedy = "pretrain on scenes, or begin with a public ViT (model.image_pretrained)"
            raise ItmlabError("nothing is known of the patches of these pictures", where=self.data.name, remedy=remedy)
        self.numbers = [len(names) for names in world.questions().values()]
        grid = self.model.patch_grid
        answers = [world.patch_answers(image, *grid) for image in range(len(self.data))]
        self.answers = torch.stack(answers).short().unflatten(1, grid)
        return nn.Linear(self.model.config.image_hidden, sum(self.numbers))

    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        tokens = on_device(self.model, batch.tokens)
        hidden, labels = self.masked(tokens["input_ids"], tokens["word_mask"].bool())
        terms = {"images": self.image_loss(batch)}
        with self.precision():
            is_asked = labels != UNLABELLED
            words = self.heads["words"](self.word_states({**tokens, "input_ids": hidden})[is_asked])
        terms["words"] = cross_entropy(words.float(), labels[is_asked])
        loss = terms["images"] + terms["words"]
        return BatchLoss(loss, {name: value.item() for name, value in terms.items()})

    def masked(self, pieces: Pieces, is_word: Tensor) -> tuple[Pieces, Pieces]:
        """Pieces as BERT reads them, and the pieces that it is to predict, UNLABELLED elsewhere.

        Of the word pieces (no frame, no padding) a share is predicted, and at least one of the batch: eight of ten are
        hidden, one is another piece, one stays.

        References:
            Devlin et al. (2019), BERT, Sec. 3.1.
        """
        generator, tokenizer = self.generator, self.model.tokenizer
        chance = torch.rand(pieces.shape, generator=generator).to(pieces.device).masked_fill(~is_word, 2.0)
        is_masked = is_word & ((chance < self.recipe.towers.masked) | (chance == chance.min()))
        labels = pieces.masked_fill(~is_masked, UNLABELLED)
        how = torch.rand(pieces.shape, generator=generator).to(pieces.device)
        others = torch.randint(len(tokenizer), pieces.shape, generator=generator).to(pieces.device)
        hidden = torch.where(is_masked & (how < 0.8), torch.full_like(pieces, tokenizer.mask_token_id), pieces)
        return torch.where(is_masked & (how >= 0.9), others, hidden), labels

    def word_states(self, tokens: dict[str, Tensor]) -> Float[Tensor, "caption piece width"]:
        """The states of word pieces of captions read alone."""
        mask = tokens["attention_mask"]
        return self.model.towers.text(input_ids=tokens["input_ids"], attention_mask=mask).last_hidden_state

    def image_loss(self, batch: Batch) -> Float[Tensor, ""]:
        """The cross-entropy of the questions about all patches; half of the pictures are mirrored."""
        pixels = on_device(self.model, batch.images)
        images = torch.zeros(len(pixels), dtype=torch.int64).index_copy(0, batch.image_rows, batch.image_indices)
        asked = self.answers[images].long().to(pixels.device)
        mirrored = torch.rand(len(pixels), generator=self.generator).to(pixels.device) < 0.5
        pixels = torch.where(mirrored[:, None, None, None], pixels.flip(3), pixels)
        asked = torch.where(mirrored[:, None, None, None], asked.flip(2), asked).flatten(1, 2)
        with self.precision():
            answers = self.heads["images"](self.model.towers.image(pixel_values=pixels).last_hidden_state[:, 1:])
        return patch_loss(answers.float(), asked, self.numbers)


class RegionTowerTask(TowerTask):
    """The losses of a transformer that reads regions and captions separately: masked regions and masked words.

    References:
        Chen et al. (2020), UNITER, Sec. 3.2: masked region feature regression.
    """

    width = "hidden"

    def image_head(self) -> nn.Module:
        """The head that gives the features of hidden regions."""
        return nn.Linear(self.model.config.hidden, self.model.config.region_dimension)

    def word_states(self, tokens: dict[str, Tensor]) -> Float[Tensor, "caption piece width"]:
        return self.model.encode_captions(tokens).local

    def image_loss(self, batch: Batch) -> Float[Tensor, ""]:
        """The mean squared error of the features of the regions that are hidden, the same share as of words."""
        images = on_device(self.model, batch.images)
        features, is_region = images["regions"], images["region_mask"].bool()
        chance = torch.rand(is_region.shape, generator=self.generator).to(features.device)
        is_hidden = is_region & (chance < self.recipe.towers.masked)
        is_hidden[0, 0] = True
        visible = features.masked_fill(is_hidden[..., None], 0.0)
        with self.precision():
            states = self.model.encode_images({**images, "regions": visible}).local[:, -features.shape[1] :]
            answers = self.heads["images"](states[is_hidden])
        return (answers.float() - features[is_hidden]).pow(2).mean()


def patch_loss(
    logits: Float[Tensor, "image patch answer"], answers: Int64[Tensor, "image patch question"], numbers: list[int]
) -> Float[Tensor, ""]:
    """The cross-entropies of all questions, in nats per patch; a question that does not arise adds nothing.

    Args:
        logits: of the answers of all questions, one question after the other.
        answers: per question the right answer, UNASKED where it does not arise.
        numbers: how many answers each question has.
    """
    total = logits.new_zeros(())
    for scores, labels in zip(logits.flatten(0, 1).split(numbers, dim=1), answers.flatten(0, 1).T, strict=True):
        total = total + cross_entropy(scores, labels, ignore_index=UNASKED, reduction="sum")
    return total / answers[..., 0].numel()
