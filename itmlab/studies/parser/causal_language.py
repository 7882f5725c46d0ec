"""Training of the small causal language model of captions: `python -m itmlab.studies.parser.causal_language --help`.

It measures fluency offline. The one for `scenes` ships: `metrics.causal_model("scenes")`.
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import torch
import typer
from torch.nn.functional import cross_entropy

from ...data import load
from ...errors import ItmlabError
from ...metrics import fluency
from ...storage import refuse_foreign_files, write_json
from ...text.tokens import encode_captions, train_wordpiece

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

SIZES = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}
VOCABULARY = 800  # pieces at most
BATCH, EPOCHS, WARM_UP, RATE = 64, 8, 0.1, 4e-3
SMOOTHING = 0.02  # of the labels: what no caption says becomes unlikely, not impossible
TIED = "lm_head.weight"  # the output layer shares the weights of the input


def train_causal_language(
    captions: Sequence[str],
    *,
    epochs: int = EPOCHS,
    seed: int = 0,
    report: Callable[[int, float], None] = lambda epoch, loss: None,
) -> "tuple[GPT2LMHeadModel, PreTrainedTokenizerFast]":
    """Train a GPT-2 of 2 layers and 64 dimensions over a WordPiece vocabulary of these captions.

    Captions are lower-cased; [CLS] begins a sentence and [SEP] ends it. The same captions, seed and number of threads
    give the same weights.

    Args:
        report: called after each epoch with its number and mean loss (nats per piece).

    Returns:
        The model in evaluation mode and its tokeniser.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    if epochs < 1:
        raise ItmlabError(f"epochs must be at least 1, got {epochs}")
    tokenizer = train_wordpiece(captions, VOCABULARY)
    tokenizer.bos_token, tokenizer.eos_token = tokenizer.cls_token, tokenizer.sep_token
    ends = {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
    no_dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **SIZES, **ends, **no_dropout)).train()
    encoded, _ = encode_captions(tokenizer, captions, SIZES["n_positions"])
    ids, mask = encoded["input_ids"], encoded["attention_mask"]
    targets = ids.masked_fill(mask == 0, -100)
    steps = epochs * math.ceil(len(captions) / BATCH)
    warm_up = max(1, round(WARM_UP * steps))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))
    )
    order = torch.Generator().manual_seed(seed)
    for epoch in range(epochs):
        losses = []
        for rows in torch.randperm(len(ids), generator=order).split(BATCH):
            wanted = targets[rows, : int(mask[rows].sum(dim=1).max())]
            # Padding comes after everything that counts, so a causal model needs no mask for it.
            logits = model(input_ids=wanted.clamp(min=0), use_cache=False).logits[:, :-1].flatten(0, 1)
            loss = cross_entropy(logits, wanted[:, 1:].flatten(), ignore_index=-100, label_smoothing=SMOOTHING)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        report(epoch, sum(losses) / len(losses))
    return model.eval(), tokenizer


def save_causal_language(model: "GPT2LMHeadModel", tokenizer: "PreTrainedTokenizerFast", directory: Path) -> None:
    """Write the model for `transformers`, with weights in half precision: safetensors and JSON, no code."""
    weights = {name: value.half() for name, value in model.state_dict().items() if name != TIED}
    model.save_pretrained(directory, state_dict=weights)
    tokenizer.save_pretrained(directory)


def main(
    output: Annotated[Path, typer.Argument(help="The folder to write.")],
    data: Annotated[str, typer.Option(help="The caption set; trained on train, measured on test.")] = "scenes",
    root: Annotated[str | None, typer.Option(help="The folder of the caption set.")] = None,
    epochs: Annotated[int, typer.Option()] = EPOCHS,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Train the model, save it, and print its perplexity on unseen captions."""
    files = "made.json", "config.json", "model.safetensors", "tokenizer.json"
    refuse_foreign_files(output, files, '"perplexity_of_test_captions"')
    torch.set_num_threads(1)
    captions = load(data, root)
    learnt, unseen = captions.split("train").captions, captions.split("test").captions
    model, tokenizer = train_causal_language(
        learnt, epochs=epochs, seed=seed, report=lambda epoch, loss: print(f"epoch {epoch + 1}: {loss:.4f} nats")
    )
    save_causal_language(model, tokenizer, output)
    measured = fluency(unseen, str(output))
    perplexity = {"mean": measured.mean, "median": measured.median, "corpus": measured.corpus}
    made = {
        "command": f"python -m itmlab.studies.parser.causal_language OUTPUT --data {captions.name}",
        "captions": len(learnt),
        "sha256": hashlib.sha256(json.dumps(learnt).encode()).hexdigest(),
        "epochs": epochs,
        "seed": seed,
        "perplexity_of_test_captions": {kind: round(value, 3) for kind, value in perplexity.items()},
    }
    write_json(output / "made.json", made)
    print(f"{output}: perplexity of {len(unseen):,} unseen captions {measured.corpus:.2f}")


if __name__ == "__main__":
    try:
        typer.run(main)
    except ItmlabError as error:
        raise SystemExit(f"error: {error}") from None
