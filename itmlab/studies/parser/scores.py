"""How well a pipeline tags, parses and lemmatises a treebank: on its words, and from its raw text."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .conllu import Sentence, doc_of, text_of

if TYPE_CHECKING:
    from spacy import Language
    from spacy.tokens import Doc


@dataclass(frozen=True)
class ParsingScores:
    """Percent F1 over words that stand at the same characters (on the treebank's own words this is accuracy).

    `las` and `uas` leave punctuation out, as spaCy does; `las_with_punctuation` is the CoNLL 2018 shared task's. All
    compare full relations, subtypes ("nsubj:pass") included.
    """

    words: float
    upos: float
    lemma: float
    uas: float
    las: float
    las_with_punctuation: float


Reading = dict[tuple[int, int], tuple[str, str, tuple[int, int] | None, str]]


def parsing_scores(pipeline: "Language", sentences: Iterable[Sentence], *, raw_text: bool) -> ParsingScores:
    """The scores of a pipeline on sentences, one a document; `raw_text` lets it find the words itself."""
    sentences = [sentence for sentence in sentences if text_of(sentence)]
    trees = [doc_of(pipeline.vocab, [sentence]) for sentence in sentences]
    gold = [_reading(tree) for tree in trees]
    docs = [text_of(sentence) if raw_text else _bare(tree) for sentence, tree in zip(sentences, trees, strict=True)]
    found = [_reading(doc) for doc in pipeline.pipe(docs, batch_size=256)]
    return ParsingScores(
        words=_f1(gold, found, lambda word: ()),
        upos=_f1(gold, found, lambda word: word[0]),
        lemma=_f1(gold, found, lambda word: word[1].lower()),
        uas=_f1(gold, found, lambda word: word[2], punctuation=False),
        las=_f1(gold, found, lambda word: word[2:], punctuation=False),
        las_with_punctuation=_f1(gold, found, lambda word: word[2:]),
    )


def _bare(tree: "Doc") -> "Doc":
    """The words alone; no blank after the last one."""
    spaces = [bool(token.whitespace_) for token in tree]
    return type(tree)(tree.vocab, words=[token.text for token in tree], spaces=[*spaces[:-1], False])


def _reading(doc: "Doc") -> Reading:
    places = [(token.idx, token.idx + len(token)) for token in doc]
    return {
        place: (token.pos_, token.lemma_, None if token.head.i == token.i else places[token.head.i], token.dep_.lower())
        for place, token in zip(places, doc, strict=True)
        if not token.is_space
    }


def _f1(gold: list[Reading], found: list[Reading], said: Callable, *, punctuation: bool = True) -> float:
    """Percent F1 of what `said` takes from each word; `punctuation` can be left out on both sides."""
    right = total = 0
    for readings in zip(gold, found, strict=True):
        kept = [{(at, said(w)) for at, w in each.items() if punctuation or w[3] != "punct"} for each in readings]
        right, total = right + len(kept[0] & kept[1]), total + len(kept[0]) + len(kept[1])
    return 100 * 2 * right / max(total, 1)
