"""Candidates a second of batched refilling beside Algorithm 1's loops with the same model, as a ratio of one run."""

import time

import torch
from transformers import BertConfig, BertForMaskedLM

from itmlab.scenes import load
from itmlab.synthesis.negative import Negative, distinct
from itmlab.synthesis.refill import MaskedRefill
from itmlab.text import PhraseMasking
from itmlab.text.alignment import align, mask_pieces
from itmlab.text.tokens import train_wordpiece

K = L = 20
CAPTIONS, LOOPED = 40, 2  # the loop is timed on fewer: it takes most of a second each
BATCH = 8  # pairs of the training step whose share is printed


def test_refilling_is_ten_times_the_triple_loop(benchmark, capsys, tmp_path):
    data = load(images=CAPTIONS, cache=tmp_path)
    captions = list(data.captions)[::5]
    graphs = [data.world.graphs[at] for at in range(0, len(data.captions), 5)]
    tokenizer = train_wordpiece(data.captions)
    torch.manual_seed(0)
    size = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}
    model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **size))

    @torch.inference_mode()
    def fill(ids, attention, captions):
        return model.eval()(ids, attention).logits

    loop, batched = Loop(model, tokenizer), MaskedRefill(fill, tokenizer, maskings=K, samples=L)
    loop(captions[0], graphs[0], maskings=1), batched(captions[:2], graphs[:2], generator=torch.Generator())
    began = time.perf_counter()
    plain = [loop(*one, maskings=K) for one in zip(captions[:LOOPED], graphs[:LOOPED], strict=True)]
    per_second = LOOPED * K * L / (time.perf_counter() - began)
    seconds, rows = benchmark.pedantic(timed, args=(batched, captions, graphs), rounds=1)
    ratio = len(captions) * K * L / seconds / per_second
    step = training_step(model, tokenizer, captions[:BATCH], graphs[:BATCH])
    share = 100 * (seconds / len(captions) * BATCH) / (seconds / len(captions) * BATCH + step)
    with capsys.disabled():
        print(
            f"\nK = L = {K}: {len(captions) * K * L / seconds:.0f} candidates/s batched, {per_second:.0f}/s in loops, "
            f"ratio {ratio:.0f}; distinct a caption {sum(map(len, rows)) / len(rows):.0f} and "
            f"{sum(map(len, plain)) / len(plain):.0f}; synthesis is {share:.0f} % of a step of {BATCH} captions that "
            "trains the masked language model on all maskings"
        )
    assert ratio >= 10


def timed(batched: MaskedRefill, captions, graphs) -> tuple[float, list[list[Negative]]]:
    began = time.perf_counter()
    rows = batched(captions, graphs, generator=torch.Generator().manual_seed(0))
    return time.perf_counter() - began, rows


class Loop:
    """Algorithm 1, lines 2–12, for one caption: mask; for each sample a forward and a draw; keep what is new."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer, self.masking = model, tokenizer, PhraseMasking()
        self.generator = torch.Generator().manual_seed(0)

    @torch.inference_mode()
    def __call__(self, caption, graph, maskings) -> list[Negative]:
        self.model.eval()
        found, pieces = [], align(self.tokenizer, [caption], [graph])
        for _ in range(maskings):
            hidden = self.masking(graph, generator=self.generator)
            masked = mask_pieces(self.tokenizer, pieces, [hidden])
            for _ in range(L):
                logits = self.model(masked.input_ids, masked.attention_mask).logits
                logits[..., self.tokenizer.all_special_ids] = -torch.inf
                ids = masked.input_ids.clone()
                shares = logits[masked.hidden].softmax(dim=1)
                ids[masked.hidden] = torch.multinomial(shares, 1, generator=self.generator)[:, 0]
                found.append(Negative(self.tokenizer.decode(ids[0], skip_special_tokens=True)))
        return distinct(caption, found)


def training_step(model, tokenizer, captions, graphs) -> float:
    """Seconds of a forward and a backward of K maskings a caption, the loss of line 5."""
    generator, pieces = torch.Generator().manual_seed(0), align(tokenizer, captions, graphs)
    rows = [at for at in range(len(captions)) for _ in range(K)]
    hidden = [PhraseMasking()(graphs[at], generator=generator) for at in rows]
    masked = mask_pieces(tokenizer, pieces, hidden, captions=rows)
    began = time.perf_counter()
    model.train()(
        input_ids=masked.input_ids, attention_mask=masked.attention_mask, labels=masked.labels
    ).loss.backward()
    return time.perf_counter() - began
