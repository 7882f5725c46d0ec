"""FACTUAL's hand-made graphs: every string is read without loss, and nearly every object found in its caption."""

import csv
import gzip

import pytest

from itmlab.text.factual import factual_graph, read_tuples
from itmlab.text.graph import tokenise

pytestmark = pytest.mark.real


@pytest.mark.parametrize("split", ["dev", "train"])
def test_every_gold_string_reads_and_its_words_are_found(real_data, split):
    with gzip.open(real_data(f"factual/random_{split}.csv.gz"), "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {"objects": [], "attributes": [], "relations": []}
    for row in rows:
        text, tokens = row["scene_graph"], tokenise(row["caption"])
        reading = read_tuples(text)
        written = " , ".join("( " + " , ".join(fields) + " )" for fields in reading.tuples)
        assert not reading.faults and written.split() == text.split(), text
        graph, faults = factual_graph(text, tokens)
        assert not faults
        found["objects"] += [entity.span is not None for entity in graph.objects]
        found["attributes"] += [one.span is not None for entity in graph.objects for one in entity.attributes]
        found["relations"] += [link.span is not None for link in graph.relations]
    shares = {name: sum(flags) / len(flags) for name, flags in found.items()}
    print({name: f"{100 * share:.1f} %" for name, share in shares.items()}, f"of {len(rows)} captions of {split}")
    assert shares["objects"] > 0.95 and shares["attributes"] > 0.95 and shares["relations"] > 0.8
