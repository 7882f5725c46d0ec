"""Dictionary forms of English nouns and verbs, and what captions' words usually mean: the rules' lexicon.

All parsers' graphs share these lemmas, by rules and exceptions (`irregular_forms.json`). The table of meanings was
learnt from FACTUAL's training graphs (Li et al., 2023) by `studies/parser/learn_words.py`, which the repository held
until commit 605b455.
"""

import json
import tomllib
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parents[1] / "caption_words.json"


def word_set(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


# What captions' words usually mean, in lower-case lemmas. `COMPOUNDS`: "tree trunk" → how the first noun goes with the
# second ("object": one name; "attribute"; "have": the first has the second; "drop"). `MODIFIERS`: the same by the first
# noun alone. `OF`: first noun of "N of M" → what it is. `RELATIONS`: name → its usual name; with an object behind a bar
# ("in|shirt"), for that object only. `KNOWN`: names of two words, nouns, and what is worn.
_TABLE = json.loads(TABLE.read_text("utf-8"))
COMPOUNDS, MODIFIERS, OF, RELATIONS = (_TABLE[part] for part in ("compounds", "modifiers", "of", "relations"))
OBJECTS, ATTRIBUTES = _TABLE["objects"], _TABLE["attributes"]
KNOWN = {part: frozenset(_TABLE[part].split("|")) for part in ("names", "nouns", "worn")}
VERBS = word_set(_TABLE["verbs"])  # base forms of common verbs

TABLES = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
WORDS = {name: word_set(words) for name, words in TABLES["sets"].items()}  # the sets of words that the rules use


_FORMS = json.loads((TABLE.parent / "irregular_forms.json").read_text("utf-8"))
_NOUNS, _VERBS, _SAME = _FORMS["nouns"], _FORMS["verbs"], word_set(_FORMS["invariable"])
_VOWELS = "aeiou"


@cache
def noun_lemma(word: str) -> str:
    """The singular of a lower-case noun; of several words the last is made singular.

    >>> noun_lemma("tree trunks"), noun_lemma("women"), noun_lemma("tennis")
    ('tree trunk', 'woman', 'tennis')
    """
    first, blank, last = word.rpartition(" ")
    if blank:
        return f"{first} {noun_lemma(last)}"
    if word in _NOUNS:
        return _NOUNS[word]
    if len(word) < 4 or not word.endswith("s") or word in _SAME or word.endswith(("ss", "us", "is", "ics")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return word[:-2]
    return word[:-1]


@cache
def verb_lemma(word: str) -> str:
    """The base form of a lower-case verb form; "lie" and "lay", which captions confuse, are both "lay".

    >>> verb_lemma("riding"), verb_lemma("sits"), verb_lemma("lying")
    ('ride', 'sit', 'lay')
    """
    if word in _VERBS:
        return _VERBS[word]
    if word.endswith("ing") and len(word) > 5:
        return _stem(word[:-3])
    if word.endswith(("ied", "ies")) and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("eed"):
        return word
    if word.endswith("ed") and len(word) > 4:
        return _stem(word[:-2])
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _stem(stem: str) -> str:
    """The base form from a form without its ending: a known verb, else by its look."""
    single = stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else stem
    for base in (stem + "e", stem, single):
        if base in VERBS:
            return base
    return single if single != stem and stem[-1] not in "lsfz" + _VOWELS else stem
