"""A small causal language model of captions, for fluency offline: `python -m …parser.causal_language --help`.

The one of `scenes` ships: `metrics.causal_model("scenes")`.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import torch
import typer
from jaxtyping import Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from ...data import load
from ...errors import ItmlabError
from ...metrics import Fluency, fluency
from ...storage import refuse_foreign_files, write_json
from ...text.tokens import encode_captions, train_wordpiece

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast


SIZES = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}
VOCABULARY = 800  # pieces at most
BATCH, EPOCHS, WARM_UP, RATE = 64, 8, 0.1, 4e-3
SMOOTHING = 0.02  # of the labels: what no caption says is unlikely, not impossible, and no sentence rules a mean
MADE_FILE, TIED = "made.json", "lm_head.weight"  # the output's weights are the input's


def train_causal_language(
    captions: Sequence[str],
    *,
    epochs: int = EPOCHS,
    seed: int = 0,
    report: Callable[[int, float], None] = lambda epoch, loss: None,
) -> "tuple[GPT2LMHeadModel, PreTrainedTokenizerFast]":
    """A GPT-2 of 2 layers and 64 dimensions over a WordPiece vocabulary of these captions, with its tokeniser.

    Lower-cased; [CLS] begins a sentence and [SEP] ends it. The same captions, seed and number of threads give the same
    weights. `report` is told each epoch's mean loss (nats a piece).
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    if epochs < 1:
        raise ItmlabError(f"{epochs} epochs teach nothing", remedy="give 1 or more")
    tokenizer = train_wordpiece(captions, VOCABULARY)
    tokenizer.bos_token, tokenizer.eos_token = tokenizer.cls_token, tokenizer.sep_token
    ends = {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
    quiet = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    order = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **SIZES, **ends, **quiet)).train()
    encoded, _ = encode_captions(tokenizer, captions, SIZES["n_positions"])
    steps = epochs * math.ceil(len(captions) / BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _share_of_rate(step, steps))
    for epoch in range(epochs):
        losses = [_step(model, ids, optimiser, schedule) for ids in _batches(encoded, order)]
        report(epoch, sum(losses) / len(losses))
    return model.eval(), tokenizer


def save_causal_language(model: "GPT2LMHeadModel", tokenizer: "PreTrainedTokenizerFast", directory: str | Path) -> None:
    """Write it as `transformers` reads it, weights in half precision: safetensors and JSON, no code."""
    directory = Path(directory)
    weights = {name: value.half() for name, value in model.state_dict().items() if name != TIED}
    model.save_pretrained(directory, state_dict=weights)
    tokenizer.save_pretrained(directory)


def _share_of_rate(step: int, steps: int) -> float:
    """Linear warm-up, then linear down to nothing."""
    warm = max(1, round(WARM_UP * steps))
    return min((step + 1) / warm, (steps - step) / max(1, steps - warm))


def _batches(encoded: dict[str, Tensor], order: torch.Generator) -> Iterator[Int64[Tensor, "row piece"]]:
    """All captions once, in a new order; padding is -100 behind the longest of a batch."""
    ids = encoded["input_ids"].masked_fill(encoded["attention_mask"] == 0, -100)
    for rows in torch.randperm(len(ids), generator=order).split(BATCH):
        yield ids[rows, : int(encoded["attention_mask"][rows].sum(dim=1).max())]


def _step(model: "GPT2LMHeadModel", ids: Int64[Tensor, "row piece"], optimiser: Any, schedule: Any) -> float:
    # padding comes after all that counts: a causal model needs no mask for it
    logits = model(input_ids=ids.clamp(min=0), use_cache=False).logits[:, :-1]
    targets = ids[:, 1:].flatten()
    loss = cross_entropy(logits.flatten(0, 1), targets, ignore_index=-100, label_smoothing=SMOOTHING)
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    schedule.step()
    return loss.item()


def main(
    output: Annotated[Path, typer.Argument(help="The folder to write; fluency takes its name.")],
    data: Annotated[str, typer.Option(help="The caption set; its train split is learnt, its test split measured.")] = (
        "scenes"
    ),
    root: Annotated[str | None, typer.Option(help="Where it lies.")] = None,
    epochs: Annotated[int, typer.Option()] = EPOCHS,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Train the model, save it, and say how well it knows captions that it has not seen."""
    written = MADE_FILE, "config.json", "model.safetensors", "tokenizer.json"
    refuse_foreign_files(output, written, '"perplexity_of_test_captions"')
    torch.set_num_threads(1)
    captions = load(data, root)
    learnt, unseen = captions.split("train").captions, captions.split("test").captions
    model, tokenizer = train_causal_language(
        learnt, epochs=epochs, seed=seed, report=lambda epoch, loss: print(f"epoch {epoch + 1}: {loss:.4f} nats")
    )
    save_causal_language(model, tokenizer, output)
    found = fluency(unseen, str(output))
    write_json(output / MADE_FILE, _made(captions.name, learnt, found, epochs=epochs, seed=seed))
    weights = sum(value.numel() for value in model.parameters())
    print(f"{output}: {weights:,} weights; perplexity of {len(unseen):,} unseen captions {found.corpus:.2f}")


def _made(name: str, learnt: Sequence[str], found: Fluency, **settings: int) -> dict[str, Any]:
    """How it was made and what it is worth, to lie beside it."""
    perplexity = {"mean": found.mean, "median": found.median, "corpus": found.corpus}
    return {
        "command": f"python -m itmlab.studies.parser.causal_language OUTPUT --data {name}",
        "captions": len(learnt),
        "sha256": hashlib.sha256(json.dumps(learnt).encode()).hexdigest(),
        **settings,
        "perplexity_of_test_captions": {kind: round(value, 3) for kind, value in perplexity.items()},
    }


if __name__ == "__main__":
    try:
        typer.run(main)
    except ItmlabError as error:
        raise SystemExit(f"error: {error}") from None
