"""The one table of words that the world knows: nouns, attributes and relations, what each is true of, and its forms.

A parser, a swap of one word for another of its category, the captions and `entails` all read this table.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from .scene import COLOURS, KINDS


@dataclass(frozen=True)
class Noun:
    """A noun: kinds it is surely true of (`means`) and kinds of which one cannot say (`perhaps`)."""

    lemma: str
    category: str  # words of one category can be swapped for one another
    means: frozenset[str]
    perhaps: frozenset[str] = frozenset()
    plural: str = ""
    needs: tuple[str, str] | None = None  # a property and the value it must have ("puppy": size, small)
    general: int = 0  # 0 the kind's own name, 1 another name, 2 a wider word, 3 a very wide one, 9 not used in captions


@dataclass(frozen=True)
class Attribute:
    """An adjective or an intransitive verb: property → values of which it is true, and values that leave it open."""

    lemma: str
    category: str
    means: dict[str, frozenset[str]]
    perhaps: dict[str, frozenset[str]] = field(default_factory=dict)
    forms: tuple[str, ...] = ("", "")  # third person and participle of a verb


@dataclass(frozen=True)
class Verb:
    """A relation word; `means` names the facts of the world (see `facts`) of which any one makes it true."""

    lemma: str
    category: str  # action or place
    means: tuple[str, ...]
    forms: tuple[str, str, str] = ("", "", "")  # third person, present participle, past participle


def _set(words: str | Iterable[str]) -> frozenset[str]:
    return frozenset(words.split() if isinstance(words, str) else words)


def _of(*categories: str) -> frozenset[str]:
    return frozenset(name for name, kind in KINDS.items() if kind.category in categories)


_ODD_PLURALS = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "sheep": "sheep", "bus": "buses",
    "bench": "benches", "box": "boxes", "dress": "dresses", "puppy": "puppies", "bunny": "bunnies", "kitty": "kitties",
    "pony": "ponies", "lady": "ladies", "couch": "couches", "scarf": "scarves", "gentleman": "gentlemen",
    "trousers": "trousers", "pants": "pants", "jeans": "jeans", "furniture": "furniture", "clothing": "clothing",
    "lorry": "lorries", "beach": "beaches", "livestock": "livestock", "cattle": "cattle", "fox": "foxes",
    "bush": "bushes", "glasses": "glasses", "boots": "boots", "aircraft": "aircraft", "food": "food", "fruit": "fruit",
    "luggage": "luggage", "eyeglasses": "eyeglasses", "sleigh": "sleighs",
}  # fmt: skip
PAIRS = frozenset(("trousers", "pants", "jeans", "glasses", "eyeglasses", "boots"))  # one thing in the plural


def _noun(lemma: str, category: str, means, perhaps="", needs=None, general=1) -> Noun:
    return Noun(lemma, category, _set(means), _set(perhaps), _ODD_PLURALS.get(lemma, lemma + "s"), needs, general)


_SMALL = ("size", "small")
NOUNS: tuple[Noun, ...] = (
    *(_noun(name, kind.category, (name,), general=0) for name, kind in KINDS.items() if kind.category != "place"),
    _noun("person", "person", "man woman boy girl", general=3),
    *(_noun(word, "person", "man woman boy girl", general=9) for word in ("human", "individual")),
    _noun("adult", "person", "man woman", general=9),
    *(_noun(word, "person", "boy girl", general=2) for word in ("child", "kid")),
    _noun("youngster", "person", "boy girl", general=9),
    _noun("toddler", "person", "", "boy girl", general=9),
    _noun("baby", "person", "", "", general=9),
    _noun("guy", "person", "man", "boy"),
    _noun("gentleman", "person", "man", general=9),
    _noun("lady", "person", "woman", "girl"),
    _noun("male", "person", "man boy", general=9),
    _noun("female", "person", "woman girl", general=9),
    _noun("rider", "person", "", "man woman boy girl", general=9),
    _noun("animal", "animal", _of("animal"), general=3),
    _noun("creature", "animal", _of("animal"), general=9),
    _noun("pet", "animal", "dog cat rabbit", "bird duck horse", general=2),
    _noun("puppy", "animal", "dog", needs=_SMALL),
    _noun("pup", "animal", "dog", needs=_SMALL, general=9),
    *(_noun(word, "animal", "dog", general=9) for word in ("hound", "doggy")),
    _noun("kitten", "animal", "cat", needs=_SMALL),
    _noun("kitty", "animal", "cat", general=9),
    _noun("pony", "animal", "horse", needs=_SMALL),
    _noun("lamb", "animal", "sheep", needs=_SMALL),
    _noun("bull", "animal", "", "cow", general=9),
    _noun("calf", "animal", "", "cow elephant giraffe", general=9),
    _noun("bunny", "animal", "rabbit"),
    _noun("bird", "animal", "bird duck", general=2),
    _noun("livestock", "animal", "cow sheep horse", "duck", general=9),
    _noun("vehicle", "vehicle", "car bus truck motorcycle", "bicycle boat", general=3),
    _noun("automobile", "vehicle", "car", general=9),
    _noun("lorry", "vehicle", "truck", general=9),
    _noun("bike", "vehicle", "bicycle", "motorcycle"),
    _noun("motorbike", "vehicle", "motorcycle"),
    _noun("sailboat", "vehicle", "boat"),
    _noun("ship", "vehicle", "", "boat", general=9),
    _noun("longboard", "vehicle", "", "skateboard", general=9),
    _noun("toy", "thing", "ball kite balloon", general=2),
    _noun("parasol", "thing", "umbrella", general=9),
    _noun("plant", "thing", "flower tree", general=2),
    _noun("rose", "thing", "", "flower", general=9),
    _noun("instrument", "thing", "guitar", general=2),
    _noun("mug", "thing", "cup"),
    _noun("handbag", "thing", "bag"),
    _noun("seat", "thing", "bench chair sofa", general=2),
    _noun("couch", "thing", "sofa"),
    _noun("furniture", "thing", "bench chair sofa table", general=9),
    _noun("desk", "thing", "", "table", general=9),
    _noun("building", "thing", "house", general=2),
    _noun("home", "thing", "house", general=9),
    _noun("package", "thing", "", "box bag", general=9),
    _noun("top", "worn", "shirt", "coat", general=1),
    _noun("jacket", "worn", "coat"),
    _noun("pants", "worn", "trousers"),
    _noun("jeans", "worn", "", "trousers", general=9),
    _noun("cap", "worn", "", "hat", general=9),
    _noun("clothes", "worn", "shirt dress coat trousers", "hat scarf", general=9),
    _noun("rucksack", "worn", "backpack", general=9),
    _noun("thing", "thing", _of("thing", "vehicle", "worn"), _of("animal"), general=9),
    _noun("object", "thing", _of("thing", "vehicle", "worn"), "", general=9),
    # what one stands on and what is around
    _noun("lawn", "stuff", "", "grass", general=9),
    _noun("ground", "stuff", "grass sand snow road floor rock", general=9),
    *(_noun(word, "stuff", "", "water", general=9) for word in ("ocean", "sea")),
    _noun("pavement", "stuff", "road", general=9),
    # places; `sea` and `ocean` are the beach's, see PLACES
    *(_noun(word, "place", word, general=0) for word in ("park", "beach")),
    _noun("seaside", "place", "beach", general=9),
    _noun("shore", "place", "beach lake", general=9),
    _noun("street", "place", "street", general=0),
    *(_noun(word, "place", "street", general=9) for word in ("city", "town")),
    _noun("field", "place", "field", "park", general=0),
    _noun("meadow", "place", "field", "park", general=9),
    _noun("forest", "place", "forest", general=0),
    _noun("wood", "place", "forest", general=9),
    *(_noun(word, "place", word, general=0) for word in ("desert", "lake", "room")),
    _noun("house interior", "place", "room", general=9),
    _noun("mountain", "place", "mountain", general=0),
    _noun("winter", "place", "winter", general=9),
    _noun("outdoors", "place", _of("place") - {"room", "kitchen"}, general=9),
    # more animals, vehicles and things
    _noun("piglet", "animal", "pig", needs=_SMALL),
    _noun("hog", "animal", "pig", general=9),
    _noun("cub", "animal", "", "bear lion", general=9),
    _noun("tortoise", "animal", "turtle"),
    _noun("bird", "animal", "owl penguin", general=2),
    *(_noun(word, "vehicle", "airplane") for word in ("plane", "aeroplane")),
    _noun("aircraft", "vehicle", "airplane helicopter", general=2),
    _noun("vehicle", "vehicle", "train tractor", "airplane helicopter scooter cart sled", general=3),
    _noun("locomotive", "vehicle", "train"),
    _noun("wagon", "vehicle", "cart"),
    *(_noun(word, "vehicle", "sled") for word in ("sledge", "sleigh")),
    _noun("shrub", "thing", "bush"),
    _noun("plant", "thing", "bush", general=2),
    _noun("case", "thing", "suitcase", general=9),
    _noun("luggage", "thing", "suitcase", general=9),
    _noun("computer", "thing", "laptop", general=2),
    _noun("food", "thing", "cake pizza apple banana", general=3),
    _noun("fruit", "thing", "apple banana", general=2),
    _noun("pail", "thing", "bucket"),
    _noun("instrument", "thing", "piano drum", general=2),
    _noun("furniture", "thing", "piano", "lamp", general=9),
    _noun("light", "thing", "lamp", general=9),
    _noun("eyeglasses", "worn", "glasses", general=9),
    _noun("clothes", "worn", "skirt apron", "tie boots helmet", general=9),
    *(_noun(word, "stuff", "dock", general=9) for word in ("pier", "quay")),
    *(_noun(word, "stuff", "track", general=9) for word in ("rail", "railway")),
    _noun("ground", "stuff", "dock platform", general=9),
    *(_noun(name, "place", name, general=0) for name in ("kitchen", "garden", "playground", "harbor", "station")),
    _noun("harbour", "place", "harbor", general=9),
    _noun("port", "place", "harbor", general=9),
    _noun("yard", "place", "garden", general=9),
)


def _colour(lemma: str, means: str, perhaps: str = "") -> Attribute:
    return Attribute(lemma, "colour", {"colour": _set(means)}, {"colour": _set(perhaps)})


def _pose(lemma: str, forms: str, perhaps: str = "") -> Attribute:
    return Attribute(lemma, "pose", {"pose": _set(lemma)}, {"pose": _set(perhaps)}, tuple(forms.split()))


ATTRIBUTES: tuple[Attribute, ...] = (
    *(_colour(name, name) for name in COLOURS),
    _colour("grey", "gray"),
    _colour("violet", "purple"),
    _colour("golden", "", "yellow orange"),
    _colour("tan", "", "brown yellow"),
    _colour("dark", "black", "brown blue purple gray green red"),
    _colour("bright", "", "red orange yellow green blue pink purple white"),
    _colour("colorful", "", "red orange yellow green blue pink purple"),
    *(Attribute(word, "size", {"size": _set("big")}) for word in ("big", "large")),
    Attribute("huge", "size", {}, {"size": _set("big")}),
    Attribute("small", "size", {"size": _set("small")}, {"age": _set("child")}),
    Attribute("little", "size", {"size": _set("small"), "age": _set("child")}),
    Attribute("tiny", "size", {}, {"size": _set("small")}),
    Attribute("striped", "pattern", {"pattern": _set("striped")}),
    *(Attribute(word, "pattern", {"pattern": _set("spotted")}) for word in ("spotted", "dotted")),
    Attribute("patterned", "pattern", {"pattern": _set("striped spotted")}),
    Attribute("young", "age", {"age": _set("child")}, {"age": _set("adult")}),
    *(Attribute(word, "age", {"age": _set("old")}) for word in ("old", "elderly")),
    *(Attribute(word, "hair", {"hair": _set("blond")}) for word in ("blond", "blonde")),
    _pose("stand", "stands standing", "kick lean climb"),
    _pose("walk", "walks walking"),
    _pose("run", "runs running"),
    _pose("sit", "sits sitting", "mount cycle aboard"),
    _pose("lie", "lies lying"),
    _pose("jump", "jumps jumping"),
    _pose("fly", "flies flying"),
    _pose("swim", "swims swimming"),
    Attribute("jog", "pose", {}, {"pose": _set("run")}),
    Attribute(
        "move", "pose", {"pose": _set("walk run")}, {"pose": _set("mount cycle aboard fly swim jump kick climb")}
    ),
    Attribute("rest", "pose", {"pose": _set("lie")}, {"pose": _set("sit stand")}),
    Attribute("sleep", "pose", {}, {"pose": _set("lie")}),
    Attribute("float", "pose", {"pose": _set("swim")}),
    Attribute("male", "sex", {"kind": _set("man boy")}),
    Attribute("female", "sex", {"kind": _set("woman girl")}),
    *(Attribute(word, "pattern", {"pattern": _set("checked")}) for word in ("checked", "checkered")),
    *(
        Attribute(f"{hair}-haired", "hair", {"hair": _set(hair)}, {}, (f"{hair} hair",))
        for hair in ("blond", "brown", "black", "red", "gray")
    ),
)

RELATIONS: tuple[Verb, ...] = (
    *(
        Verb(lemma, "action", (fact,), tuple(forms))
        for lemma, fact, *forms in (
            ("ride", "ride", "rides", "riding", "ridden"),
            ("hold", "hold", "holds", "holding", "held"),
            ("carry", "carry", "carries", "carrying", "carried"),
            ("wear", "wear", "wears", "wearing", "worn"),
            ("chase", "chase", "chases", "chasing", "chased"),
            ("follow", "follow", "follows", "following", "followed"),
            ("run after", "chase", "runs after", "running after", ""),
            ("kick", "kick", "kicks", "kicking", "kicked"),
            ("play with", "play with", "plays with", "playing with", ""),
            ("fly", "fly", "flies", "flying", "flown"),
            ("read", "read", "reads", "reading", "read"),
            ("play", "play", "plays", "playing", "played"),
            ("walk", "walk", "walks", "walking", "walked"),
            ("lead", "walk", "leads", "leading", "led"),
            ("have", "have", "has", "having", ""),
            ("jump over", "leap", "jumps over", "jumping over", ""),
            ("leap over", "leap", "leaps over", "leaping over", ""),
        )
    ),
    *(
        Verb(lemma, "action", (fact or lemma,), tuple(form.replace("_", " ") for form in forms.split()))
        for lemma, fact, forms in (
            ("push", "", "pushes pushing pushed"),
            ("pull", "", "pulls pulling pulled"),
            ("drag", "pull", "drags dragging dragged"),
            ("eat", "", "eats eating eaten"),
            ("feed", "", "feeds feeding fed"),
            ("pet", "", "pets petting petted"),
            ("stroke", "pet", "strokes stroking stroked"),
            ("touch", "", "touches touching touched"),
            ("hug", "", "hugs hugging hugged"),
            ("lean against", "", "leans_against leaning_against leaned_against"),
            ("lean on", "lean against", "leans_on leaning_on leaned_on"),
            ("photograph", "", "photographs photographing photographed"),
            ("look through", "", "looks_through looking_through looked_through"),
            ("throw", "", "throws throwing thrown"),
            ("sweep with", "", "sweeps_with sweeping_with swept_with"),
            ("use", "", "uses using used"),
            ("climb", "", "climbs climbing climbed"),
            ("drive", "", "drives driving driven"),
            ("slide down", "", "slides_down sliding_down slid_down"),
        )
    ),
    *(
        Verb(lemma, "place", (fact or lemma,))
        for fact, lemmas in (
            ("", "on, in, under, over, above, behind, near, with, at, next to, in front of, left of, right of"),
            ("on", "on top of, atop, upon, onto"),
            ("in", "inside, into, inside of"),
            ("under", "below, beneath, underneath"),
            ("next to", "beside, alongside"),
            ("near", "by, close to, around"),
            ("across", "across, through, along"),
            ("left of", "to the left of, on the left of"),
            ("right of", "to the right of, on the right of"),
        )
        for lemma in lemmas.split(", ")
    ),
)


@cache
def nouns() -> dict[str, tuple[Noun, ...]]:
    """Every noun lemma with its entries ("bird" has two: the kind, and the wider word that takes in ducks).

    >>> [(noun.lemma, sorted(noun.means), noun.needs) for noun in nouns()["puppy"]]
    [('puppy', ['dog'], ('size', 'small'))]
    """
    table: dict[str, list[Noun]] = {}
    for noun in NOUNS:
        table.setdefault(noun.lemma, []).append(noun)
    return {lemma: tuple(entries) for lemma, entries in table.items()}


@cache
def attributes() -> dict[str, Attribute]:
    """Every attribute lemma with its entry."""
    return {attribute.lemma: attribute for attribute in ATTRIBUTES}


@cache
def relations() -> dict[str, Verb]:
    """Every relation lemma with its entry."""
    return {relation.lemma: relation for relation in RELATIONS}
