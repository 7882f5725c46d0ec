"""Graphs from captions: the rules cost less than the parser; both together are to keep 600 captions/s."""

import time

from itmlab.text.parsing import load_pipeline
from itmlab.text.rules.scene_graph import scene_graph

CAPTIONS = [
    f"{who} in a {colour} shirt is {deed} {where}"
    for who in ("A man", "Two women", "A group of people", "the young boy")
    for colour in ("red", "black and white", "light blue")
    for deed in ("riding a horse", "sitting on a bench", "holding a tennis racket", "standing next to a large tree")
    for where in ("on the beach .", "in front of a brick building", "in the park .", "")
] * 4


def test_building_graphs(benchmark, capsys):
    pipeline = load_pipeline()
    list(pipeline.pipe(CAPTIONS[:50]))
    began = time.perf_counter()
    docs = list(pipeline.pipe(CAPTIONS, batch_size=256))
    parsing = time.perf_counter() - began
    seconds = benchmark.pedantic(lambda: timed(docs))
    with capsys.disabled():
        rate = len(docs) / (parsing + seconds)
        print(
            f"\nparsing {len(docs) / parsing:.0f}/s, graphs {len(docs) / seconds:.0f}/s, both {rate:.0f}/s on one core"
        )


def timed(docs) -> float:
    began = time.perf_counter()
    for doc in docs:
        scene_graph(doc)
    return time.perf_counter() - began
