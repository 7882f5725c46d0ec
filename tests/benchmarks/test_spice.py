"""SPICE of the real COCO test split, 25,000 captions by 5,000 images, beside a loop over pairs in the same run."""

import random
import time

import pytest
import torch

from itmlab.data.faults import Faults
from itmlab.data.tables import read_rows
from itmlab.metrics.spice import Spice
from itmlab.metrics.wordnet import wordnet
from itmlab.text.parsing import parse

pytestmark = pytest.mark.real
SAMPLE = 300  # pairs, drawn at random, in which the loop is timed; as many of captions with their own image
LIMIT = 120  # seconds for the whole matrix


def match(one, other, synsets) -> bool:
    if len(one) != len(other):
        return False
    return all(a == b or synsets(a) & synsets(b) for a, b in zip(one, other, strict=True))


def merged(graphs, synsets) -> list[set]:
    groups: list[set] = []
    for each in set().union(*(graph.tuples() for graph in graphs)):
        near = [group for group in groups if any(match(each, own, synsets) for own in group)]
        groups = [group for group in groups if group not in near] + [set().union({each}, *near)]
    return groups


def pair_by_pair(said, held, synsets) -> float:
    correct = sum(any(match(a, b, synsets) for own in held for b in own for a in one) for one in said)
    found = sum(any(match(a, b, synsets) for own in said for b in own for a in one) for one in held)
    return 2 * correct * found / max(correct * len(held) + found * len(said), 1)


@pytest.fixture(scope="module")
def graphs(real_data):
    rows = [row for _, row in read_rows(real_data("coco/captions_test5k.jsonl.gz"), Faults("test5k"))]
    parsed = iter(parse([caption for row in rows for caption in row["captions"]]))
    return [[next(parsed) for _ in row["captions"]] for row in rows]


@pytest.mark.filterwarnings("ignore:SPICE")  # captions without tuples
def test_the_whole_test_split_in_two_minutes(graphs, benchmark, capsys):
    captions = [graph for own in graphs for graph in own]
    wordnet("auto")  # reading it is no part of the matrix

    start = time.perf_counter()
    fitted = Spice(graphs)
    scores = fitted.matrix(captions)
    whole = time.perf_counter() - start

    known = wordnet("auto")
    synsets = (lambda _: frozenset()) if known is None else known.synsets
    chosen = random.Random(0).sample(range(scores.numel()), SAMPLE)
    pairs = [(5 * image, image) for image in range(SAMPLE)] + [divmod(each, len(graphs)) for each in chosen]
    read = [(merged([captions[caption]], synsets), merged(graphs[image], synsets)) for caption, image in pairs]
    slow = [pair_by_pair(*pair, synsets) for pair in read[:SAMPLE]]
    start = time.perf_counter()
    slow += [pair_by_pair(*pair, synsets) for pair in read[SAMPLE:]]
    loop = (time.perf_counter() - start) / SAMPLE * scores.numel()

    torch.testing.assert_close(scores[tuple(torch.tensor(pairs).T)], torch.tensor(slow), rtol=1e-5, atol=1e-6)
    benchmark.extra_info.update(seconds=whole, times_the_loop=loop / whole, synonyms=fitted.synonyms)
    benchmark.pedantic(fitted.matrix, args=(captions[:500],), rounds=1)
    with capsys.disabled():
        print(f"\nSPICE ({fitted.synonyms}) of 25,000 captions × 5,000 images: {whole:.1f} s,", end=" ")
        print(f"{loop / whole:.0f} times a loop over pairs ({loop / 3600:.1f} h)")
    assert whole <= LIMIT and loop / whole >= 100
