"""Reading captions: batches against one caption after another."""

import gzip
import json

from itmlab.text.parsing import load_pipeline
from tests.benchmarks.timing import seconds_of


def test_captions_are_parsed_faster_in_batches(capsys, real_data):
    with gzip.open(real_data("coco/captions_val1k.jsonl.gz"), "rt") as file:
        captions = [caption for line in file for caption in json.loads(line)["captions"]][:2_000]
    pipeline = load_pipeline()
    list(pipeline.pipe(captions[:200]))  # spaCy's caches filled on either side
    one_by_one = seconds_of(lambda: [pipeline(caption) for caption in captions[:500]]) / 500
    batched = seconds_of(lambda: list(pipeline.pipe(captions, batch_size=256))) / len(captions)
    with capsys.disabled():
        print(f"\nCOCO captions: {1 / batched:.0f} a second, {one_by_one / batched:.1f} times one by one")
    assert one_by_one > batched
