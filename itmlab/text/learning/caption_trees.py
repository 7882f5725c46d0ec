"""Trees of short captions whose scene graphs are known: what the graph says leaves one way to read the words."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ..lemmas import noun_lemma
from .caption_joins import Joining, Unexplained
from .caption_phrases import Tree, noun_phrases, token_after
from .caption_tags import COLLECTIVES
from .conllu import Sentence, Word
from .scene_captions import Triple


def caption_trees(captions: Iterable[tuple[str, list[Triple]]], treebank: Iterable[Sentence]) -> Iterator[Sentence]:
    """One tree for each caption that its graph explains word by word; the others are left out."""
    adjectives = Counter(word.form.lower() for sentence in treebank for word in sentence if word.upos == "ADJ")
    seen: set[str] = set()
    for caption, triples in captions:
        if caption not in seen and 3 <= len(caption.split()) <= 20:
            seen.add(caption)
            tree = _tree(caption.lower().split(), triples, adjectives)
            if tree is not None:
                yield tree


def _tree(tokens: list[str], triples: list[Triple], adjectives: Counter[str]) -> Sentence | None:
    stop = tokens[-1] == "."
    tokens = tokens[:-1] if stop else tokens
    tree = Tree(tokens)
    names = {noun_lemma(subject) for subject, _, _ in triples}
    names |= {noun_lemma(thing) for _, relation, thing in triples if relation != "is"}
    said = {word for _, relation, value in triples if relation == "is" for word in value.split()} - {"of"} - COLLECTIVES
    phrases = noun_phrases(tree, names, said, adjectives)
    there = 2 if tokens[0] == "there" and tokens[1] in ("is", "are") else 0
    if not phrases or phrases[0].start != there:
        return None
    try:
        root = Joining(tree, phrases, triples).join(said, adjectives)
    except Unexplained:
        return None
    if there and root == phrases[0].head:
        tree.put(0, ("PRON", "EX", "there", "_"), 1, "expl")
        tree.put(1, ("VERB", "VBZ" if tokens[1] == "is" else "VBP", "be", "Tense=Pres|VerbForm=Fin"), 1, "")
        tree.hang(root, 1, "nsubj")
        root = 1
    if None in tree.heads or not _projective(tree.heads):
        return None
    tree.relations[root] = "root"
    words = [
        Word(token, lemma, upos, xpos, features, head, relation, token_after(tokens, place) != "'s")
        for place, (token, (upos, xpos, lemma, features), head, relation) in enumerate(
            zip(tokens, tree.tags, tree.heads, tree.relations, strict=True)
        )
    ]
    return (*words, Word(".", ".", "PUNCT", ".", "_", root, "punct")) if stop else tuple(words)


def _projective(heads: list[int]) -> bool:
    """Whether no two arcs cross and all words reach the root."""
    arcs = [(min(place, head), max(place, head)) for place, head in enumerate(heads) if place != head]
    if len(arcs) != len(heads) - 1:
        return False
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)
