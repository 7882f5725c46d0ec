"""The shipped parser against FACTUAL's hand-made graphs of captions that nothing was learnt from."""

import csv
import gzip
import re

from itmlab.text import parse
from itmlab.text.rules.lexicon import VERBS, noun_lemma, verb_lemma

LEAST = 0.85


def test_tuples_agree_with_hand_made_graphs(real_data, capsys):
    with gzip.open(real_data("factual/random_dev.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    graphs = parse([row["caption"] for row in rows], cache=False)
    gold = (gold_tuples(row["scene_graph"]) for row in rows)
    pairs = [(graph.tuples(), tuples) for graph, tuples in zip(graphs, gold, strict=True)]
    scores = {name: f_score(pairs, size) for name, size in (("objects", 1), ("attributes", 2), ("relations", 3))}
    everything = f_score(pairs, None)
    with capsys.disabled():
        line = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
        print(f"\nFACTUAL dev ({len(rows)} captions), tuple F: {line}; all {everything:.3f}")
    assert everything >= LEAST


def gold_tuples(scene_graph):
    """Hand-made facts, "( dogs , near , cat ) , ...", as `SceneGraph.tuples` has them, nouns in the singular."""
    tuples = set()
    for part in re.split(r"\)\s*,\s*\(", scene_graph.strip()):
        fact = [word.strip() for word in part.strip().strip("()").split(",") if word.strip()]
        if not fact:
            continue
        first, last = noun_lemma(fact[0]), noun_lemma(fact[-1])
        tuples.add((first,))
        if len(fact) == 3 and fact[1] == "is":
            base = verb_lemma(fact[2])  # "standing" is "stand" in our graphs
            tuples.add((first, base if fact[2].endswith("ing") and base in VERBS else fact[2]))
        elif len(fact) == 3:
            tuples |= {(last,), (first, fact[1], last)}
    return tuples


def f_score(pairs, size):
    """2 · common / (said + wanted) over all captions, of tuples of one size or (None) of all."""
    common = predicted = wanted = 0
    for mine, gold in pairs:
        mine, gold = ({fact for fact in facts if size in (None, len(fact))} for facts in (mine, gold))
        common, predicted, wanted = common + len(mine & gold), predicted + len(mine), wanted + len(gold)
    return 2 * common / (predicted + wanted)
