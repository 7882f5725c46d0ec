"""Dictionary forms of English nouns and verbs, by rules and exceptions: all parsers' graphs share their lemmas."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

# What captions' words usually mean, learnt from FACTUAL's training graphs (`learning.learn_words`): one table.


TABLE = Path(__file__).parents[1] / "caption_words.json"


@dataclass(frozen=True)
class Knowledge:
    """The table's parts, all in lower-case lemmas; each may be empty.

    `compounds`: "tree trunk" → how the first noun goes with the second ("object": one name; "attribute"; "have": the
    first has the second; "drop"). `modifiers`: the same by the first noun alone. `of`: first noun of "N of M" → what it
    is. `relations`: name → its usual name; with an object behind a bar ("in|shirt"), for that object only.
    """

    compounds: dict[str, str] = field(default_factory=dict)
    modifiers: dict[str, str] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    worn: frozenset[str] = frozenset()


@cache
def _table() -> dict:
    return json.loads(TABLE.read_text("utf-8"))


@cache
def verbs() -> frozenset[str]:
    """Base forms of common verbs."""
    return frozenset(_table().get("verbs", "").split())


@cache
def knowledge() -> Knowledge:
    """The table that ships with the package."""
    plain, parts = _table(), Knowledge.__dataclass_fields__
    lists = {name: frozenset(plain.get(name, "").split("|")) - {""} for name in ("names", "nouns", "actions", "worn")}
    return Knowledge(**{name: lists[name] if name in lists else plain.get(name, {}) for name in parts})


# Sets of words, written as a line of text.


def word_set(words: str) -> frozenset[str]:
    """The words of a text as a set: word_set("up down") is {"up", "down"}."""
    return frozenset(words.split())


_NOUNS = {
    "men": "man", "women": "woman", "children": "child", "feet": "foot", "teeth": "tooth", "geese": "goose",
    "mice": "mouse", "oxen": "ox", "knives": "knife", "leaves": "leaf", "shelves": "shelf", "wolves": "wolf",
    "loaves": "loaf", "halves": "half", "scarves": "scarf", "calves": "calf", "wives": "wife", "lives": "life",
    "hooves": "hoof", "elves": "elf", "thieves": "thief", "selves": "self", "dice": "die", "cacti": "cactus",
    "movies": "movie", "cookies": "cookie", "brownies": "brownie", "ties": "tie", "pies": "pie", "doggies": "doggie",
    "veggies": "veggie", "hoodies": "hoodie", "selfies": "selfie", "birdies": "birdie", "smoothies": "smoothie",
    "zombies": "zombie", "calories": "calorie", "shoes": "shoe", "toes": "toe", "canoes": "canoe", "hoes": "hoe",
    "buses": "bus", "busses": "bus", "gases": "gas", "lenses": "lens", "axes": "axe", "horses": "horse",
    "houses": "house", "nurses": "nurse", "vases": "vase", "cases": "case", "purses": "purse", "roses": "rose",
    "noses": "nose", "hoses": "hose", "bases": "base", "caches": "cache", "aches": "ache", "sizes": "size",
    "prizes": "prize", "mazes": "maze", "breezes": "breeze", "glazes": "glaze", "photos": "photo", "axis": "axis",
    "gentlemen": "gentleman", "policemen": "policeman", "firemen": "fireman", "snowmen": "snowman",
    "fishermen": "fisherman", "businessmen": "businessman", "ladies": "lady", "frisbees": "frisbee",
    "avocadoes": "avocado", "skis": "ski", "taxis": "taxi", "kiwis": "kiwi", "bikinis": "bikini",
    "zucchinis": "zucchini", "graffitti": "graffiti", "womans": "woman", "mans": "man", "mens": "man", "tvs": "tv",
    "cds": "cd", "menus": "menu", "neckties": "necktie", "canvases": "canvas", "womens": "woman", "sheeps": "sheep",
}  # fmt: skip
_SAME = word_set(
    "pants jeans shorts trousers tights leggings overalls scissors sunglasses clothes binoculars tongs goggles pliers "
    "headphones earphones series species news tennis gas bus lens canvas christmas mattress glass grass cactus iris "
    "octopus hummus asparagus citrus campus circus minibus walrus platypus hibiscus bias atlas texas las vegas chess "
    "dress compass brass moss cross boss mess kindness darkness business wilderness albatross hippopotamus surplus "
    "virus status cosmos chaos ethos windows' less unless this his its us is was has as plus yes thus across always "
    "perhaps sometimes outdoors indoors upstairs downstairs overseas pajamas pyjamas athletics gymnastics "
    "graphics electronics swiss james paris"
)
_VERBS = {
    "lying": "lay", "lies": "lay", "lie": "lay", "laid": "lay", "lain": "lay", "lays": "lay", "dying": "die",
    "tying": "tie", "tied": "tie", "ties": "tie", "held": "hold", "sat": "sit", "stood": "stand", "worn": "wear",
    "wore": "wear", "ridden": "ride", "rode": "ride", "ate": "eat", "eaten": "eat", "made": "make", "flown": "fly",
    "flew": "fly", "drawn": "draw", "drew": "draw", "thrown": "throw", "threw": "throw", "caught": "catch",
    "hung": "hang", "hidden": "hide", "hid": "hide", "written": "write", "wrote": "write", "built": "build",
    "cut": "cut", "hit": "hit", "put": "put", "set": "set", "shut": "shut", "led": "lead", "left": "leave",
    "lit": "light", "bent": "bend", "kept": "keep", "found": "find", "ran": "run", "seen": "see", "saw": "see",
    "shown": "show", "taken": "take", "took": "take", "torn": "tear", "stuck": "stick", "laden": "lade",
    "broken": "break", "broke": "break", "fallen": "fall", "fell": "fall", "grown": "grow", "grew": "grow",
    "driven": "drive", "drove": "drive", "given": "give", "gave": "give", "spread": "spread", "split": "split",
    "bitten": "bite", "bit": "bite", "blown": "blow", "blew": "blow", "bought": "buy", "brought": "bring",
    "fed": "feed", "felt": "feel", "fought": "fight", "got": "get", "gotten": "get", "leapt": "leap",
    "met": "meet", "read": "read", "shot": "shoot", "slept": "sleep", "sold": "sell", "spoken": "speak",
    "spoke": "speak", "swam": "swim", "swum": "swim", "swung": "swing", "told": "tell", "went": "go", "gone": "go",
    "wound": "wind", "woven": "weave", "sewn": "sew", "knelt": "kneel", "leant": "lean", "bound": "bind",
    "sunk": "sink", "sank": "sink", "swept": "sweep", "said": "say", "had": "have", "has": "have", "did": "do",
    "done": "do", "does": "do", "was": "be", "were": "be", "is": "be", "are": "be", "been": "be", "being": "be",
    "am": "be", "beaten": "beat", "chosen": "choose", "frozen": "freeze", "dug": "dig", "spun": "spin",
    "strung": "string", "understood": "understand", "won": "win", "lent": "lend", "sent": "send", "spent": "spend",
    "having": "have", "skiing": "ski", "skis": "ski", "seeing": "see", "agreed": "agree", "fleeing": "flee",
    "canoeing": "canoe", "dyed": "dye", "dyeing": "dye", "eyeing": "eye", "goes": "go", "toasted": "toast",
    "focused": "focus", "focusing": "focus", "biting": "bite", "writing": "write", "driving": "drive",
}  # fmt: skip
_VOWELS = "aeiou"


@cache
def noun_lemma(word: str) -> str:
    """The singular of a lower-case noun; of several words the last is made singular ("tree trunks": "tree trunk")."""
    first, blank, last = word.rpartition(" ")
    if blank:
        return f"{first} {noun_lemma(last)}"
    if word in _NOUNS:
        return _NOUNS[word]
    if len(word) < 4 or not word.endswith("s") or word in _SAME or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("men") or word.endswith("ics"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return word[:-2]
    return word[:-1] if word[-2] != "'" else word[:-2]


@cache
def verb_lemma(word: str) -> str:
    """The base form of a lower-case verb form; "lie" and "lay", which captions confuse, are both "lay"."""
    if word in _VERBS:
        return _VERBS[word]
    for prefix in ("over", "under", "out", "up"):
        if word.startswith(prefix) and word[len(prefix) :] in _VERBS:
            return prefix + _VERBS[word[len(prefix) :]]
    if word.endswith("ing") and len(word) > 5:
        return _stem(word[:-3])
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("eed"):
        return word
    if word.endswith("ed") and len(word) > 4:
        return _stem(word[:-2])
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _stem(stem: str) -> str:
    """The base form from a form without its ending: a known verb, else by its look."""
    single = stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else stem
    for base in (stem + "e", stem, single):
        if base in verbs():
            return base
    return single if single != stem and stem[-1] not in "lsfz" + _VOWELS else stem
