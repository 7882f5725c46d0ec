"""Reading captions: batches against one caption after another, on one core and on two processes."""

import gzip
import json
import time

import pytest

from itmlab.text.parsing import load_pipeline
from tests.benchmarks.timing import seconds_of


def test_captions_a_second(benchmark, capsys, captions):
    pipeline = load_pipeline()
    for _ in pipeline.pipe(captions[:200]):  # spaCy's caches filled on either side
        pass
    sample = captions[:500]
    one_by_one = seconds_of(lambda: [pipeline(caption) for caption in sample]) / len(sample)
    began = time.process_time()
    batched = benchmark.pedantic(lambda: seconds_of(lambda: list(pipeline.pipe(captions, batch_size=256)))) / len(
        captions
    )
    work = (time.process_time() - began) / len(captions)
    twice = captions * 2  # starting two processes takes as long as hundreds of captions
    two = seconds_of(lambda: list(pipeline.pipe(twice, batch_size=512, n_process=2))) / len(twice)
    with capsys.disabled():
        print(
            f"\n{len(captions)} COCO captions: {1 / batched:.0f} a second in batches in one process ({1 / work:.0f} a "
            f"second of its processor time), {1 / two:.0f} in two (bound: 600 on two cores); batches are "
            f"{one_by_one / batched:.1f} times one by one"
        )


@pytest.fixture
def captions(real_data) -> list[str]:
    with gzip.open(real_data("coco/captions_val1k.jsonl.gz"), "rt") as file:
        return [caption for line in file for caption in json.loads(line)["captions"]]
