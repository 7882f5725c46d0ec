"""Hostile captions: accepted, one passes parsing, masking, tokenising, swapping, both metrics and a figure's label."""

import json
from pathlib import Path
from random import Random
from types import SimpleNamespace

import torch

from itmlab.data.entries import wrong_caption
from itmlab.metrics import cider_matrix, spice_matrix
from itmlab.models import DualEncoder
from itmlab.runs.checkpoint import shipped_directory
from itmlab.studies.kit.theme import label, shortened
from itmlab.synthesis.rules import RuleSwaps, of_categories
from itmlab.text import PhraseMasking, SceneGraph, parse
from itmlab.text.masking import WordMasking
from itmlab.text.tokens import encode_captions
from tests.hostile import damage
from tests.hostile.damage import Refused, Use

KINDS = {"who": ["dog", "man", "woman", "cat", "horse"], "where": ["beach", "tree", "hat", "shirt"]}
PLAIN = "two dogs run on the beach"


def begin(home: Path) -> SimpleNamespace:
    """A model's tokeniser, rules that swap words, and the graph of a plain sentence."""
    model = DualEncoder.load(shipped_directory("triplet"))
    return SimpleNamespace(model=model, swaps=RuleSwaps(of_categories(KINDS), number=3), plain=parse([PLAIN])[0])


def attempt(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """One caption."""
    caption = damage.text(rng, most=rng.choice((6, 12, 40)))
    if what := wrong_caption(caption):
        raise Refused(what)
    kept = rng.random() < 0.5  # in the cache
    [graph] = parse([caption], cache=kept)

    def use() -> None:
        assert SceneGraph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph
        assert not kept or parse([caption]) == [graph]
        generator = torch.Generator().manual_seed(0)
        for masking in (PhraseMasking(), WordMasking()):
            for hidden in masking.draw(graph, 3, generator=generator):
                assert all(0 <= one.span.start < one.span.end <= len(graph.tokens) for one in hidden)
        features = shared.model.encode_captions(shared.model.prepare_captions([caption]))
        assert features.pooled.isfinite().all() and features.local.isfinite().all()
        encode_captions(shared.model.tokenizer, [caption], 10_000)
        for negative in shared.swaps([caption], [graph], [[caption]], generator=generator)[0]:
            assert wrong_caption(negative.sentence) is None
        for tokenise in ("whitespace", "penn"):
            scores = cider_matrix([caption, PLAIN], [[caption, PLAIN], [PLAIN], ["a cat"]], tokenise=tokenise)
            assert scores.isfinite().all() and scores.min() >= 0 and scores.max() <= 10.001
        scores = spice_matrix([graph, shared.plain], [[graph], [shared.plain]])
        assert scores.isfinite().all()
        assert label(caption, width=30, lines=2).isprintable() and shortened(caption, 12, 200) is not None

    return use
