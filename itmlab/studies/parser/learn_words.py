"""Learns `caption_words.json` from FACTUAL's training captions and their hand-made graphs, and from a treebank's verbs.

    python -m itmlab.studies.parser.learn_words factual/random_train.csv.gz ud_english_ewt/train.conllu.gz

The captions are parsed by the shipped pipeline; what the rules make of them is laid beside the hand-made graph.
"""

import gzip
import itertools
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...storage import write_bytes
from ...text.graph import SceneGraph
from ...text.rules.lexicon import TABLE, Lexicon, noun_lemma, verb_lemma, verbs
from ...text.rules.scene_graph import scene_graph
from ...text.rules.tree import is_preposition
from .captions import Triples, read_factual

if TYPE_CHECKING:
    from spacy import Language

SOURCE = (
    "Learnt by itmlab.studies.parser.learn_words from the training split of FACTUAL (Li et al., ACL Findings 2023; "
    "Visual Genome captions, CC BY 4.0) and from the verbs of UD English EWT (CC BY-SA 4.0)."
)


def gold_tuples(facts: Triples) -> set[tuple[str, ...]]:
    """Hand-made facts as `SceneGraph.tuples` has them, nouns in the singular.

    >>> sorted(gold_tuples([("dogs", "is", "standing"), ("dogs", "near", "cat")]))
    [('cat',), ('dog',), ('dog', 'near', 'cat'), ('dog', 'stand')]
    """
    found: set[tuple[str, ...]] = set()
    for fact in facts:
        first, last = noun_lemma(fact[0]), noun_lemma(fact[-1])
        found.add((first,))
        if len(fact) == 3 and fact[1] == "is":
            found.add((first, _deed(fact[2])))
        elif len(fact) == 3:
            found |= {(last,), (first, fact[1], last)}
    return found


def _deed(attribute: str) -> str:
    """ "standing" as the rules write it: "stand"; other attributes as they are."""
    base = verb_lemma(attribute)
    return base if attribute.endswith("ing") and base in verbs() else attribute


def learn(captions: list[str], gold: list[set[tuple[str, ...]]], docs: list) -> Lexicon:
    """The table, from captions, their hand-made tuples and their parses."""

    def graphs(lexicon: Lexicon) -> list[SceneGraph]:
        return [scene_graph(doc, lexicon) for doc in docs]

    lexicon = Lexicon(**_tags(captions, gold), **_nouns(captions, gold))
    lexicon = replace(lexicon, of=_of(docs, gold, lexicon))
    for _ in range(2):
        lexicon = replace(lexicon, objects=lexicon.objects | _objects(graphs(lexicon), gold))
        lexicon = replace(lexicon, attributes=lexicon.attributes | _attributes(graphs(lexicon), gold))
        lexicon = replace(lexicon, relations=_relations(graphs(replace(lexicon, relations={})), gold))
    return lexicon


def _tags(captions: list[str], gold: list[set[tuple[str, ...]]]) -> dict[str, frozenset[str]]:
    """Forms that nearly always say a thing, and forms that nearly always say a deed."""
    seen, entities, deeds = Counter(), Counter(), Counter()
    for caption, facts in zip(captions, gold, strict=True):
        heads = {fact[0].rpartition(" ")[2] for fact in facts if len(fact) == 1}
        verbs = {fact[1].partition(" ")[0] for fact in facts if len(fact) == 3}
        for word in set(re.findall(r"[a-z]{2,}", caption.lower())):
            seen[word] += 1
            entities[word] += noun_lemma(word) in heads
            deeds[word] += not is_preposition(word) and verb_lemma(word) in verbs
    nouns = {word for word, count in entities.items() if count >= 3 and count >= 0.85 * seen[word]}
    actions = {word for word, count in deeds.items() if count >= 3 and count >= 0.8 * seen[word]}
    worn = Counter(fact[2] for facts in gold for fact in facts if len(fact) == 3 and fact[1] == "wear")
    clothes = {name for name, count in worn.items() if count >= 2}
    return {"nouns": frozenset(nouns), "actions": frozenset(actions - nouns), "worn": frozenset(clothes)}


def _nouns(captions: list[str], gold: list[set[tuple[str, ...]]]) -> dict[str, dict[str, str]]:
    """How a word before a noun goes with it: pair by pair, and word by word."""
    pairs: dict[str, Counter[str]] = defaultdict(Counter)
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for caption, facts in zip(captions, gold, strict=True):
        said = re.findall(r"[\w'-]+|[^\w\s]", caption.lower())
        for first, second in itertools.pairwise(said):
            if is_preposition(first) or not first.isalpha():
                continue
            second = noun_lemma(second)
            if kind := _kind(first, second, facts):
                pairs[f"{first} {second}"][kind] += 1
                words[first][kind] += 1
    usual = {word: counts.most_common(1)[0][0] for word, counts in words.items() if counts.total() >= 3}
    modifiers = {word: kind for word, kind in usual.items() if kind != "drop"}
    compounds = {}
    for pair, counts in pairs.items():
        kind, count = counts.most_common(1)[0]
        new = kind != modifiers.get(pair.split()[0], "attribute")
        if set(counts) != {"drop"} and count >= 2 and count > counts.total() / 2 and new:
            compounds[pair] = kind
    names = {pair for pair, c in pairs.items() if c["object"] >= 3 and c["object"] >= 0.7 * c.total()}
    return {"compounds": compounds, "modifiers": modifiers, "names": frozenset(names)}


def _kind(first: str, second: str, facts: set[tuple[str, ...]]) -> str:
    owner = noun_lemma(first)
    names = {fact[0] for fact in facts if len(fact) == 1}
    if first + second in names or any(f" {first} {second} " in f" {name} " for name in names):
        return "object"  # also "surf board" where the graph has "surfboard"
    wholes = [name for name in names if name == second or name.startswith(second + " ")]
    if not wholes:
        return ""
    if any((name, first) in facts for name in wholes):
        return "attribute"
    if any((owner, "have", name) in facts for name in wholes):
        return "have"
    return "" if owner in names else "drop"


def _of(docs: Iterable, gold: Iterable[set[tuple[str, ...]]], lexicon: Lexicon) -> dict[str, str]:
    """What the first noun of "N of M" is to the second."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    unseen = replace(lexicon, of=_Opaque())
    for doc, facts in zip(docs, gold, strict=True):
        graph = scene_graph(doc, unseen)
        for link in graph.relations:
            if link.lemma != "have" or graph.text(link.span).lower() != "of":
                continue
            whole, part = graph.objects[link.subject].lemma, graph.objects[link.object].lemma
            if (whole,) not in facts:
                continue
            kind = next((f[1] for f in facts if len(f) == 3 and (f[0], f[2]) == (part, whole)), "none")
            back = next((f[1] for f in facts if len(f) == 3 and (f[0], f[2]) == (whole, part)), "")
            if {(whole, part), (whole, f"{part} of"), (whole, part + "s")} & facts:
                kind = "transparent attribute"
            elif (part,) not in facts:
                kind = "transparent"
            elif back:
                kind = "have" if back == "have" else "<" + back
            counts[part][kind] += 1
    return {part: kind for part, kind in _majorities(counts, least=3, share=0.4) if kind != "have"}


class _Opaque(dict):
    """Knows every noun as one that has its second."""

    def get(self, key, default=None):
        return "have"


def _objects(graphs: list[SceneGraph], gold: list[set[tuple[str, ...]]]) -> dict[str, str]:
    """Names that the hand-made graphs write otherwise, or ("") leave out."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for graph, facts in zip(graphs, gold, strict=True):
        _compare({entity.lemma for entity in graph.objects}, {fact[0] for fact in facts if len(fact) == 1}, counts)
    renamed = _majorities(counts, least=3, share=0.5)
    return {a: b for a, b in renamed if b not in (a, "?") and (not b or counts[a][b] >= 5)}


def _attributes(graphs: list[SceneGraph], gold: list[set[tuple[str, ...]]]) -> dict[str, str]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for graph, facts in zip(graphs, gold, strict=True):
        for entity in graph.objects:
            if (entity.lemma,) in facts:
                theirs = {fact[1] for fact in facts if len(fact) == 2 and fact[0] == entity.lemma}
                mine = {attribute.lemma for attribute in entity.attributes}
                _compare(mine, theirs, counts, ignored=str(entity.count))
    renamed = _majorities(counts, least=3, share=0.6)
    return {a: b for a, b in renamed if b not in (a, "?") and (b or a not in verbs())}


def _compare(mine: set[str], theirs: set[str], counts: dict[str, Counter[str]], ignored: str = "") -> None:
    """Count what the hand-made graph has for each of my names: itself, the only one left over, "" or "?"."""
    missing = theirs - mine - {ignored}
    for name in mine:
        if name in theirs:
            counts[name][name] += 1
        elif len(missing) == 1 and len(mine - theirs) == 1:
            counts[name][next(iter(missing))] += 1
        else:
            counts[name]["" if not missing else "?"] += 1


def _relations(graphs: list[SceneGraph], gold: list[set[tuple[str, ...]]]) -> dict[str, str]:
    """Names that the hand-made graphs write otherwise ("<" before a name turns the relation round)."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    special: dict[str, Counter[str]] = defaultdict(Counter)  # of a relation with its object, "relation|object"
    for graph, facts in zip(graphs, gold, strict=True):
        for link in graph.relations:
            subject, entity = graph.objects[link.subject].lemma, graph.objects[link.object].lemma
            names = {f[1] for f in facts if len(f) == 3 and (f[0], f[2]) == (subject, entity)}
            names |= {"<" + f[1] for f in facts if len(f) == 3 and (f[2], f[0]) == (subject, entity)}
            for name in [link.lemma] if link.lemma in names else sorted(names)[:1]:
                counts[link.lemma][name] += 1
                special[f"{link.lemma}|{entity}"][name] += 1
    table = {a: b for a, b in _majorities(counts, least=3, share=0.5) if a != b}
    for key, name in _majorities(special, least=3, share=0.6):
        plain = key.partition("|")[0]
        if name != table.get(plain, plain):
            table[key] = name
    return table


def _majorities(counts: dict[str, Counter[str]], least: int, share: float) -> Iterator[tuple[str, str]]:
    for key, found in sorted(counts.items()):
        kind, count = min(found.items(), key=lambda item: (-item[1], item[0]))
        if count >= least and count >= share * found.total():
            yield key, kind


def common_verbs(conllu: str | Path, gold: Iterable[Triples]) -> str:
    """Base forms: the treebank's verbs, and first words of hand-made relations, that occur twice or more."""
    with gzip.open(conllu, "rt", encoding="utf-8") as file:
        counts = Counter(line.split("\t")[2].lower() for line in file if "\tVERB\t" in line)
    counts.update(fact[1].split()[0] for facts in gold for fact in facts if len(fact) == 3)
    kept = (word for word, count in counts.items() if count > 1 and word.isalpha() and word.isascii() and len(word) > 1)
    return " ".join(sorted(word for word in kept if not is_preposition(word)))


def main(factual: str, conllu: str) -> None:
    """Learn everything and write the table."""
    from ...text.parsing import load_pipeline

    rows = read_factual(factual)
    verbs = common_verbs(conllu, [facts for _, facts in rows])
    write_table(Lexicon(), verbs)
    captions = [caption for caption, _ in rows]
    docs = list(load_pipeline().pipe(captions, batch_size=256))
    write_table(faithful(learn(captions, [gold_tuples(facts) for _, facts in rows], docs)), verbs)


# Majorities that are the annotators' habit and not what the words mean: there a graph keeps its caption's own word.
HABITS: dict[str, str] = {
    "objects": "guy",
    "attributes": "air|bearded|beef|canada|chain|dressed|duck|fenced|framed|human|leaved|legged|matching|overcast|"
    "shade|sliced|snowy|tiled|way|wheeled",
    "relations": "at bottom of|at edge of|at end of|brush|chop|doing|hide|in middle of|lay|look|on end of|"
    "on other side of|park|past|pick|pose for|run after|stick|wait for|wash on",
}


def faithful(lexicon: Lexicon) -> Lexicon:
    """The table without `HABITS`: it costs 0.003 of the F-score and keeps what a caption says."""
    habits = {part: set(words.split("|")) for part, words in HABITS.items()}
    kept = {part: {a: b for a, b in getattr(lexicon, part).items() if a not in habits[part]} for part in habits}
    return replace(lexicon, **kept)


def write_table(lexicon: Lexicon, verbs: str) -> None:
    """Write caption_words.json."""
    parts = {
        name: dict(sorted(part.items())) if isinstance(part, dict) else "|".join(sorted(part))
        for name, part in vars(lexicon).items()
    }
    text = json.dumps({"source": SOURCE, "verbs": verbs, **parts}, indent=0, ensure_ascii=False)
    write_bytes(TABLE, (text + "\n").encode())


# spaCy's English tokeniser, told where the treebank ends its words: "e-mail", "T-shirt", "!!!", "555-1234", "etc.".

BEFORE_HYPHEN = ("e", "non", "pre", "anti", "mid", "re", "co", "post", "over", "multi", "pro", "ex", "semi", "sub",
                 "cross", "neo", "un", "counter", "t", "i", "v", "u", "tee")  # fmt: skip
RUNS = (r"[!?]{2,}", r"\*{2,}", r"={2,}", r"_{2,}", r"-{4,}", r"<{2,}", r">{2,}", r"~{2,}", r"#{2,}")
NUMBERS = r"\(?\d{3}\)?[-.]\d{3}[-.]\d{4}|\d{3}-\d{4}"
ABBREVIATIONS = ("Ft.", "ft.", "lb.", "lbs.", "oz.", "No.", "Sr.", "Jr.", "Lt.", "Col.", "Sec.", "Vol.", "Esp.", "esp.",
                 "ext.", "Ph.", "Fax.", "Attn.", "Blvd.", "Ave.", "mins.", "hrs.", "yrs.", "Mon.", "Tue.", "Tues.",
                 "Wed.", "Thur.", "Thurs.", "Fri.", "Sat.", "Sun.", "Rep.", "Reps.", "Sen.", "Conf.", "Que.", "al.",
                 "eg.", "approx.")  # fmt: skip
NO_CONTRACTIONS = ("and/or", "Wed", "wed", "Id", "id", "Shed", "shed")
SPLIT = {"wanna": ("wan", "na"), "Wanna": ("Wan", "na"), "outta": ("out", "ta"), "lotta": ("lot", "ta")}


def fit_tokenizer(pipeline: "Language") -> None:
    """Change the tokeniser of an English pipeline in place; it is saved with the pipeline as plain patterns."""
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    tokenizer, defaults = pipeline.tokenizer, pipeline.Defaults
    tokenizer.prefix_search = compile_prefix_regex([*RUNS, *defaults.prefixes]).search
    tokenizer.suffix_search = compile_suffix_regex([*RUNS, *defaults.suffixes, r"(?<=:\d\d)[AaPp][Mm]"]).search
    kept = "".join(rf"(?<!\b{case(part)})" for part in BEFORE_HYPHEN for case in (str, str.capitalize, str.upper))
    infixes = [kept + infix if _splits_at_hyphens(infix) else infix for infix in defaults.infixes]
    tokenizer.infix_finditer = compile_infix_regex([*RUNS[:3], *infixes]).finditer
    tokenizer.token_match = re.compile(f"^(?:{NUMBERS})$").match
    tokenizer.rules = {word: pieces for word, pieces in tokenizer.rules.items() if word not in NO_CONTRACTIONS}
    for word in ABBREVIATIONS:
        tokenizer.add_special_case(word, [{"ORTH": word}])
    for word, pieces in SPLIT.items():
        tokenizer.add_special_case(word, [{"ORTH": piece} for piece in pieces])


def _splits_at_hyphens(infix: str) -> bool:
    """Whether a pattern is spaCy's for a dash between letters."""
    return bool(re.search(infix, "well-known")) and not re.search(infix, "and/or")


if __name__ == "__main__":
    main(*sys.argv[1:3])
