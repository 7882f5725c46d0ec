"""Tags of the words of short captions, from what their scene graphs say of them."""

from collections import Counter

from ..lemmas import noun_lemma, verb_lemma

DETERMINERS = {"a": "a", "an": "a", "the": "the", "some": "some", "this": "this", "these": "this", "another": "another",
               "each": "each", "no": "no"}  # fmt: skip
POSSESSIVES = {"his", "her", "its", "their"}
NUMBERS = {"one", "two", "three", "four", "five", "six", "seven", "2", "3", "4"}
QUANTITIES = {"many", "several", "few", "other"}
COLLECTIVES = {"group", "bunch", "pair", "couple", "herd", "row", "stack", "pile", "piece", "slice", "bowl", "flock",
               "set", "patch", "lot", "part", "crowd", "line", "box", "cup", "glass", "plate", "bottle"}  # fmt: skip
ADJECTIVE_ENDINGS = ("y", "ed", "en", "less", "ful", "ous", "al", "ive", "ic", "ish", "able")
PLURALS = {"people", "men", "women", "children", "feet", "teeth", "sheep", "police"}
MATERIALS = {"metal", "brick", "glass", "stone", "plastic", "cement", "concrete", "leather", "dirt", "tile", "wii"}

Tag = tuple[str, str, str, str]  # part of speech, Penn tag, lemma, features


def modifier_tag(token: str, said: set[str], adjectives: Counter[str], names: set[str]) -> tuple[Tag, str] | None:
    """The tag and relation of a word before its noun."""
    if token in DETERMINERS:
        return ("DET", "DT", DETERMINERS[token], "_"), "det"
    if token in POSSESSIVES:
        return ("PRON", "PRP$", token, "Poss=Yes|PronType=Prs"), "nmod:poss"
    if token in NUMBERS:
        return ("NUM", "CD", token, "NumType=Card"), "nummod"
    if token in QUANTITIES:
        return ("ADJ", "JJ", token, "Degree=Pos"), "amod"
    if token not in said:
        return None
    if token in MATERIALS or (token in names and adjectives[token] < 2) or not _adjective(token, adjectives):
        return ("NOUN", "NN", token, "Number=Sing"), "compound"
    if token.endswith("ing") and adjectives[token] < 2:
        return ("VERB", "VBG", verb_lemma(token), "Tense=Pres|VerbForm=Part"), "amod"
    if token.endswith("ed") and adjectives[token] < 2 and token not in ("red", "colored", "wooded"):
        return ("VERB", "VBN", verb_lemma(token), "Tense=Past|VerbForm=Part"), "amod"
    return ("ADJ", "JJ", token, "Degree=Pos"), "amod"


def _adjective(token: str, adjectives: Counter[str]) -> bool:
    return bool(adjectives[token]) or token.endswith((*ADJECTIVE_ENDINGS, "ing")) or "-" in token


def noun_tag(token: str) -> Tag:
    """The tag of a noun, plural where it differs from its lemma."""
    lemma = noun_lemma(token)
    many = lemma != token or token in PLURALS
    return "NOUN", "NNS" if many else "NN", lemma, f"Number={'Plur' if many else 'Sing'}"


def verb_tag(token: str, finite: bool) -> Tag | None:
    """The tag of a verb form as it can stand after a noun."""
    lemma = verb_lemma(token)
    lemma = "lie" if token in ("lying", "lies") else lemma
    if token.endswith("ing") and len(token) > 4:
        return "VERB", "VBG", lemma, "Tense=Pres|VerbForm=Part"
    if finite and token == lemma:
        return "VERB", "VBP", lemma, "Tense=Pres|VerbForm=Fin"
    if finite and token.endswith("s"):
        return "VERB", "VBZ", lemma, "Tense=Pres|VerbForm=Fin"
    if token != lemma and not token.endswith("s"):
        return "VERB", "VBN", lemma, "Tense=Past|VerbForm=Part|Voice=Pass"
    return None


def same_verb(relation: str, lemma: str) -> bool:
    """Whether a relation is said with the verb; the graphs write "lay" for "lie"."""
    return verb_lemma(relation.split()[0]) in (lemma, "lay" if lemma == "lie" else lemma)
