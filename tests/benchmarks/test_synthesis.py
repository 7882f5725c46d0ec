"""Synthesis all at once beside the paper's loops with the same models, as ratios within one run."""

import numpy as np
import torch
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from torch.nn.functional import normalize
from transformers import BertConfig, BertForMaskedLM

from itmlab.scenes import load
from itmlab.synthesis import SynHNC
from itmlab.synthesis.tags import MaskedRefill
from itmlab.text import PhraseMasking
from itmlab.text.alignment import align, mask_pieces
from itmlab.text.tokens import train_wordpiece
from tests.benchmarks.timing import best_of, seconds_of
from tests.synthesis.memory_by_loops import kernel_weights, reconstruction_weights
from tests.synthesis.negatives_data import seeded

PAIRS, DIMENSION, CLUSTERS, SIGMA, REGULARISATION = 128, 256, 8, 0.1, 1e-3
TIMES = 20  # K and L of Algorithm 1


def test_synthesis_is_twenty_times_a_loop_over_anchors(capsys):
    """One direction of a batch whose captions fall into a dozen themes."""
    themes, generator = normalize(torch.randn(12, DIMENSION, generator=seeded(0)), dim=1), seeded(1)
    chosen = torch.randint(12, (2, PAIRS), generator=generator)
    noise = torch.randn(2, PAIRS, DIMENSION, generator=generator)
    anchors, candidates = normalize(themes[chosen] + 0.06 * noise, dim=2)
    positives, synthesis = torch.eye(PAIRS, dtype=torch.bool), SynHNC(CLUSTERS, SIGMA, regularisation=REGULARISATION)

    def anchor_by_anchor() -> None:
        """scikit-learn's k-means and numpy's pseudo-inverse, as one would write it from the paper."""
        for anchor, mask in zip(anchors.numpy(), positives.numpy(), strict=True):
            negatives = candidates.numpy()[~mask]
            labels = KMeans(CLUSTERS, n_init=1, max_iter=20, random_state=0).fit(negatives).labels_
            for prototypes in (negatives[labels == cluster].T for cluster in range(CLUSTERS)):
                weights = reconstruction_weights(prototypes, SIGMA, "least_squares", REGULARISATION)
                assert np.isfinite(weights @ kernel_weights(anchor, prototypes, SIGMA)).all()

    with threadpool_limits(1):
        at_once, loop = best_of(
            4, lambda: synthesis(anchors, candidates, positives, generator=generator), anchor_by_anchor
        )
    with capsys.disabled():
        print(f"\nSynHNC, one direction: {loop / at_once:.0f} times a loop over anchors ({loop * 1e3:.0f} ms)")
    assert loop / at_once >= 20


def test_refilling_is_ten_times_a_forward_for_each_sample(capsys, tmp_path):
    data = load(images=40, cache=tmp_path)
    captions, graphs = list(data.captions)[::5], data.world.graphs[::5]
    tokenizer = train_wordpiece(data.captions)
    size = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}
    model, masking = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **size)).eval(), PhraseMasking()
    refill = MaskedRefill(lambda ids, mask, _: model(ids, mask).logits, tokenizer, maskings=TIMES, samples=TIMES)

    def sample_by_sample(caption: str, graph) -> None:
        pieces, generator = align(tokenizer, [caption], [graph]), seeded(0)
        for _ in range(TIMES):
            masked = mask_pieces(tokenizer, pieces, [masking(graph, generator=generator)])
            for _ in range(TIMES):
                shares = model(masked.input_ids, masked.attention_mask).logits[masked.hidden].softmax(dim=1)
                ids = masked.input_ids.masked_scatter(masked.hidden, torch.multinomial(shares, 1, generator=generator))
                tokenizer.decode(ids[0], skip_special_tokens=True)

    with torch.inference_mode():
        loop = seconds_of(lambda: [sample_by_sample(*pair) for pair in zip(captions[:2], graphs[:2], strict=True)]) / 2
        at_once = seconds_of(lambda: refill(captions, graphs, generator=seeded(0))) / len(captions)
    with capsys.disabled():
        print(f"\nK = L = {TIMES}: {TIMES**2 / at_once:.0f} sentences a second, {loop / at_once:.0f} times the loop")
    assert loop / at_once >= 10
