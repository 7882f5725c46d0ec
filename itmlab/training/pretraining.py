"""Towers that have seen and read before they are aligned, as the papers' have: a ViT and a BERT, each on its own.

FNE begins with a ViT from ImageNet-21k and BERT (Li et al., 2023, A.2); neither knows of the other. Here the ViT learns
what the world says of each patch of a picture (the kind, colours, pose of what covers it), and BERT to fill in masked
word pieces (Devlin et al., NAACL 2019, Sec. 3.1), of the same batches but with losses of their own: nothing is said of
which caption belongs to which picture. A recipe whose `start` is such a run begins with both.
"""

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..data.batches import Batch
from ..errors import ItmlabError
from ..models.pairs import on_device
from .state import BatchLoss, Task
from .step_dual import preparation

UNASKED = -1  # the answer where a question does not arise
KEPT = -100  # the label of a word piece that need not be predicted


class TowerTask(Task):
    """The losses of both towers for a batch; data whose world has no answers about patches are an ItmlabError."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        world, config = self.data.world, self.model.config
        if not hasattr(world, "patch_answers"):
            remedy = "pretrain on scenes, or begin with a public ViT (model.image_pretrained)"
            raise ItmlabError("nothing is known of the patches of these pictures", where=self.data.name, remedy=remedy)
        self.numbers = [len(names) for names in world.questions().values()]
        if self.accelerator.num_processes > 1:
            raise ItmlabError("towers are pretrained in one process", remedy="launch it without accelerate")
        self.answers: dict[int, Int64[Tensor, "patch question"]] = {}
        self.heads = nn.ModuleDict(
            {
                "patches": nn.Linear(config.image_hidden, sum(self.numbers)),
                "words": nn.Linear(config.text_hidden, len(self.model.tokenizer)),
            }
        ).to(self.accelerator.device)

    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        model, device = self.model, self.accelerator.device
        pixels, tokens = on_device(model, batch.images), on_device(model, batch.tokens)
        hidden, labels = masked_words(
            tokens["input_ids"], tokens["word_mask"], model.tokenizer, self.recipe.towers.masked, self.generator
        )
        images = torch.zeros(len(pixels), dtype=torch.int64).index_copy(0, batch.image_rows, batch.image_indices)
        asked = torch.stack([self._asked(image) for image in images.tolist()]).to(device)
        mirrored = torch.rand(len(pixels), generator=self.generator).to(device) < 0.5
        pixels = torch.where(mirrored[:, None, None, None], pixels.flip(3), pixels)
        asked = torch.where(mirrored[:, None, None, None], asked.flip(2), asked).flatten(1, 2)
        with self.precision():
            seen = model.towers.image(pixel_values=pixels).last_hidden_state[:, 1:]
            read = model.towers.text(input_ids=hidden, attention_mask=tokens["attention_mask"]).last_hidden_state
            told = self.heads["patches"](seen)
            chosen = labels != KEPT
            words = self.heads["words"](read[chosen])
        terms = {
            "patches": patch_loss(told.float(), asked, self.numbers),
            "words": cross_entropy(words.float(), labels[chosen]),
        }
        loss = terms["patches"] + terms["words"]
        return BatchLoss(loss, batch.image_indices[:0], {name: one.item() for name, one in terms.items()})

    def _asked(self, image: int) -> Int64[Tensor, "patch question"]:
        if image not in self.answers:
            self.answers[image] = self.data.world.patch_answers(image, *self.model.patch_grid).short()
        return self.answers[image].long().unflatten(0, self.model.patch_grid)

    def state_dict(self) -> dict[str, Any]:
        return {"heads": self.heads.state_dict()}

    def load_state_dict(self, state: dict[str, Any], epoch: int) -> None:
        self.heads.load_state_dict(state["heads"])

    def preparation(self) -> dict[str, Any]:
        return preparation(self.model, self.accelerator, self.recipe)


def patch_loss(
    told: Float[Tensor, "image patch answer"], asked: Int64[Tensor, "image patch question"], numbers: list[int]
) -> Float[Tensor, ""]:
    """The cross-entropies of all questions, nats a patch; a patch of which a question does not arise adds nothing."""
    total = told.new_zeros(())
    for scores, wanted in zip(told.flatten(0, 1).split(numbers, dim=1), asked.flatten(0, 1).T, strict=True):
        total = total + cross_entropy(scores, wanted, ignore_index=UNASKED, reduction="sum")
    return total / asked[..., 0].numel()


def masked_words(
    pieces: Int64[Tensor, "caption piece"],
    words: Tensor,
    tokenizer: Any,
    share: float,
    generator: torch.Generator,
) -> tuple[Int64[Tensor, "caption piece"], Int64[Tensor, "caption piece"]]:
    """Pieces as BERT is given them, and what it is to predict, KEPT elsewhere (Devlin et al., 2019, Sec. 3.1).

    Of the word pieces (no frame, no padding) a `share` is predicted: eight of ten are hidden, one is another piece, one
    stays. At least one of the batch is.
    """
    chance = torch.rand(pieces.shape, generator=generator).to(pieces.device)
    chosen = words.bool() & (chance < share)
    if not chosen.any():
        chosen = words.bool() & (chance == chance.masked_fill(~words.bool(), 2.0).min())
    labels = pieces.masked_fill(~chosen, KEPT)
    how = torch.rand(pieces.shape, generator=generator).to(pieces.device)
    others = torch.randint(len(tokenizer), pieces.shape, generator=generator).to(pieces.device)
    given = torch.where(chosen & (how < 0.8), torch.full_like(pieces, tokenizer.mask_token_id), pieces)
    return torch.where(chosen & (how >= 0.9), others, given), labels
