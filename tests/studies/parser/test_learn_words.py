"""What is learnt from captions with hand-made graphs, on captions made up for the purpose."""

import gzip

from itmlab.studies.parser.learn_words import gold_tuples, learn, read_factual
from itmlab.text.rules.lexicon import TABLE, Lexicon, shipped_lexicon
from itmlab.text.rules.scene_graph import scene_graph
from tests.text.trees import tree

ROWS = [
    ("iron gate", "( gate , is , metal )", "iron NOUN compound 2, gate NOUN root 0"),
    ("swivel chair", "( swivel chair )", "swivel NOUN compound 2, chair NOUN root 0"),
    ("man clad in robe", "( man , wear , robe )", "man NOUN root 0, clad VERB acl 1, in ADP case 4, robe NOUN obl 2"),
    ("heap of stones", "( stones )", "heap NOUN root 0, of ADP case 3, stones NOUN nmod 1"),
] * 4  # fmt: skip


def test_facts_of_a_table(tmp_path):
    path = tmp_path / "factual.csv.gz"
    lines = [
        "image_id,region_id,caption,scene_graph",
        '1,2,"dogs, cats","( dogs , is , 2 ) , ( dogs , near , cats )"',
        "1,3,a pole,( pole )",
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    (first, facts), (second, bare) = read_factual(path)
    assert (first, second) == ("dogs, cats", "a pole")
    assert gold_tuples(facts) == {("dog",), ("cat",), ("dog", "2"), ("dog", "near", "cat")}
    assert gold_tuples(bare) == {("pole",)}


def test_names_of_things_and_relations_are_learnt():
    docs = [tree(cells) for _, _, cells in ROWS]
    gold = [
        {("gate",), ("gate", "metal")},
        {("swivel chair",)},
        {("man",), ("robe",), ("man", "wear", "robe")},
        {("stone",)},
    ] * 4
    lexicon = learn([caption for caption, _, _ in ROWS], gold, docs)
    assert "swivel chair" in lexicon.names
    assert lexicon.attributes["iron"] == "metal"
    assert lexicon.of["heap"] == "transparent"
    assert lexicon.relations["clad in"] == "wear"
    assert [scene_graph(doc, lexicon).tuples() for doc in docs[:4]] == gold[:4]
    assert scene_graph(docs[1], Lexicon()).tuples() != gold[1]


def test_the_shipped_table_is_small_and_tells_its_source():
    text = TABLE.read_text("utf-8")
    assert TABLE.stat().st_size < 60_000
    assert "FACTUAL" in text and "CC BY 4.0" in text and "CC BY-SA 4.0" in text
    assert "tennis racket" in shipped_lexicon().names
