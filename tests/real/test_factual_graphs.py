"""The shipped parser against FACTUAL's hand-made graphs of captions that nothing was learnt from."""

from itmlab.studies.parser.learn_words import gold_tuples, read_factual
from itmlab.text import parse

LEAST = 0.85


def test_tuples_agree_with_hand_made_graphs(real_data, capsys):
    rows = read_factual(real_data("factual/random_dev.csv.gz"))
    graphs = parse([caption for caption, _ in rows], cache=False)
    pairs = [(graph.tuples(), gold_tuples(facts)) for graph, (_, facts) in zip(graphs, rows, strict=True)]
    scores = {name: f_score(pairs, size) for name, size in (("objects", 1), ("attributes", 2), ("relations", 3))}
    everything = f_score(pairs, None)
    with capsys.disabled():
        told = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
        print(f"\nFACTUAL dev ({len(rows)} captions), tuple F: {told}; all {everything:.3f}")
    assert everything >= LEAST


def f_score(pairs, size):
    """2 · common / (said + wanted) over all captions, of tuples of one size or (None) of all."""
    common = said = wanted = 0
    for mine, gold in pairs:
        mine, gold = ({fact for fact in facts if size in (None, len(fact))} for facts in (mine, gold))
        common, said, wanted = common + len(mine & gold), said + len(mine), wanted + len(gold)
    return 2 * common / (said + wanted)
