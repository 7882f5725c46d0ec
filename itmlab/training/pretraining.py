"""Pretraining of the two encoders, each on its own, before they are aligned: a ViT and a BERT.

FNE begins with a ViT from ImageNet-21k and BERT (Li et al., 2023, A.2), which know nothing of each other. Here the ViT
learns what the world says of each patch of a picture (the kind, colours, pose of what covers it), and BERT to fill in
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
from .dual_encoder import preparation
from .state import BatchLoss, Task

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
        pieces, labels = masked_words(
            tokens["input_ids"], tokens["word_mask"], model.tokenizer, self.recipe.towers.masked, self.generator
        )
        images = torch.zeros(len(pixels), dtype=torch.int64).index_copy(0, batch.image_rows, batch.image_indices)
        answers = torch.stack([self.answers_of(image) for image in images.tolist()]).to(device)
        is_mirrored = torch.rand(len(pixels), generator=self.generator).to(device)[:, None, None, None] < 0.5
        pixels = torch.where(is_mirrored, pixels.flip(3), pixels)
        answers = torch.where(is_mirrored, answers.flip(2), answers).flatten(1, 2)
        is_masked = labels != KEPT
        with self.precision():
            patches = model.towers.image(pixel_values=pixels).last_hidden_state[:, 1:]
            words = model.towers.text(input_ids=pieces, attention_mask=tokens["attention_mask"]).last_hidden_state
            answer_logits, word_logits = self.heads["patches"](patches), self.heads["words"](words[is_masked])
        terms = {
            "patches": patch_loss(answer_logits.float(), answers, self.numbers),
            "words": cross_entropy(word_logits.float(), labels[is_masked]),
        }
        values = {name: term.item() for name, term in terms.items()}
        return BatchLoss(terms["patches"] + terms["words"], batch.image_indices[:0], values)

    def answers_of(self, image: int) -> Int64[Tensor, "row column question"]:
        """What the world says of each patch of an image."""
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


def masked_words(
    pieces: Int64[Tensor, "caption piece"],
    words: Tensor,
    tokenizer: Any,
    share: float,
    generator: torch.Generator,
) -> tuple[Int64[Tensor, "caption piece"], Int64[Tensor, "caption piece"]]:
    """Pieces as BERT reads them, and the pieces that it is to predict, KEPT elsewhere.

    Of the word pieces (no frame, no padding) a `share` is predicted, and at least one of the batch: eight of ten are
    hidden, one is another piece, one stays.

    References:
        Devlin et al. (2019), BERT, Sec. 3.1.
    """
    is_word = words.bool()
    chance = torch.rand(pieces.shape, generator=generator).to(pieces.device)
    is_masked = is_word & (chance < share)
    if not is_masked.any():
        is_masked = is_word & (chance == chance.masked_fill(~is_word, 2.0).min())
    labels = pieces.masked_fill(~is_masked, KEPT)
    how = torch.rand(pieces.shape, generator=generator).to(pieces.device)
    others = torch.randint(len(tokenizer), pieces.shape, generator=generator).to(pieces.device)
    hidden = torch.where(is_masked & (how < 0.8), torch.full_like(pieces, tokenizer.mask_token_id), pieces)
    return torch.where(is_masked & (how >= 0.9), others, hidden), labels
