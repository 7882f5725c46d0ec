"""Recall, CIDEr-D, NCS and SPICE of the real COCO test split, beside loops over queries or pairs in the same run."""

import gzip
import json
import math
import random
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from itmlab.metrics import retrieval
from itmlab.metrics.spice import Spice
from itmlab.metrics.wordnet import wordnet
from itmlab.text.parsing import parse
from tests.benchmarks.timing import best_of, seconds_of
from tests.metrics.test_cider import formula
from tests.metrics.test_spice import by_pair

pytestmark = pytest.mark.usefixtures("one_thread")
IMAGES, CAPTIONS, SAMPLE = 5_000, 5, 60  # queries or pairs in which loops are timed
WHOLE = """
import json, gzip, resource, sys, time
from itmlab.metrics import cider_matrix
references = [json.loads(line)["captions"] for line in gzip.open(sys.argv[1])]
captions = [caption for texts in references for caption in texts]
cider_matrix(captions[:50], references[:10])
began = time.process_time()
shape = tuple(cider_matrix(captions, references, tokenise=sys.argv[2]).shape)
print(json.dumps({"shape": shape, "seconds": time.process_time() - began,
                  "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""


@pytest.fixture(scope="module")
def path(real_data):
    return real_data("coco/captions_test5k.jsonl.gz")


@pytest.fixture(scope="module")
def references(path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["captions"] for line in lines]


def fields_loop(similarity: np.ndarray, queries: int) -> None:
    """The first queries of both directions, one argsort a query, as the field's public code ranks."""
    for image in range(queries):
        order = np.argsort(similarity[image])[::-1]
        min(np.where(order == caption)[0][0] for caption in range(CAPTIONS * image, CAPTIONS * image + CAPTIONS))
    for caption in range(CAPTIONS * queries):
        order = np.argsort(similarity[:, caption])[::-1]
        np.where(order == caption // CAPTIONS)[0][0]


def test_recall_is_twenty_times_the_loop(capsys):
    similarity = torch.rand(IMAGES, IMAGES * CAPTIONS, generator=torch.Generator().manual_seed(0))
    loop, counting = best_of(3, lambda: fields_loop(similarity.numpy(), SAMPLE), lambda: retrieval(similarity))
    loop *= IMAGES / SAMPLE
    with capsys.disabled():
        print(f"\nrecall of 5,000 × 25,000 in both directions: {loop / counting:.0f} times the loop ({loop:.1f} s)")
    assert loop / counting >= 20


@pytest.mark.parametrize("tokenise", ["whitespace", "penn"])
def test_cider_of_the_whole_test_set(capsys, path, references, tokenise):
    documents = references[:100]
    pairs = [(texts[0], other) for texts in documents[:3] for other in documents[:3]]
    a_pair = seconds_of(lambda: [formula(*pair, documents) for pair in pairs]) / len(pairs)
    command = [sys.executable, "-c", WHOLE, path, tokenise]
    taken = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ratio = a_pair * math.prod(taken["shape"]) / taken["seconds"]
    with capsys.disabled():
        print(
            f"\nCIDEr ({tokenise}) of 25,000 captions × 5,000 images: {taken['seconds']:.1f} s of processor,", end=" "
        )
        print(f"peak {taken['gigabytes']:.2f} GB, {ratio:.0f} times a loop over pairs")
    assert taken["shape"] == [25_000, 5_000] and ratio >= 100
    assert taken["gigabytes"] < 6 and taken["seconds"] <= 90


@pytest.mark.filterwarnings("ignore:SPICE")  # captions without tuples
def test_spice_of_the_whole_test_set(references, capsys):
    parsed = iter(parse([caption for texts in references for caption in texts]))
    graphs = [[next(parsed) for _ in texts] for texts in references]
    wordnet("auto")  # reading it takes time of its own
    began = time.perf_counter()
    fitted = Spice(graphs, synonyms="none")
    scores = fitted.matrix()
    taken = time.perf_counter() - began
    captions = [graph for texts in graphs for graph in texts]
    pairs = [divmod(pair, len(graphs)) for pair in random.Random(0).sample(range(scores.numel()), SAMPLE)]
    slow = [by_pair(captions[caption], graphs[image], use=False) for caption, image in pairs]
    loop = seconds_of(lambda: [by_pair(captions[caption], graphs[image], use=False) for caption, image in pairs])
    torch.testing.assert_close(scores[tuple(torch.tensor(pairs).T)], torch.tensor(slow), rtol=1e-5, atol=1e-6)
    ratio = loop / SAMPLE * scores.numel() / taken
    with capsys.disabled():
        print(f"\nSPICE of 25,000 captions × 5,000 images: {taken:.1f} s, {ratio:.0f} times a loop over pairs")
    assert taken <= 120 and ratio >= 100
