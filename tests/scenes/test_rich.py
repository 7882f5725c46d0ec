"""The rich edition: as few unannotated truths as asked, true captions that can be read; the classic one stays."""

import hashlib

import numpy as np
import pytest

from itmlab.scenes import load
from itmlab.scenes.build import rows
from itmlab.scenes.captions import write_captions
from itmlab.scenes.categories import implied_words, noun_swaps, relation_swaps
from itmlab.scenes.compose import compose
from itmlab.scenes.entail import FALSE, OPEN, TRUE, entails, parsed
from itmlab.scenes.lexicon import relations, spoken
from itmlab.scenes.relations import Facts
from itmlab.scenes.scene import EDITIONS, KINDS, Entity, Scene
from itmlab.scenes.world import TruthLabels
from tests.refusals import refused
from tests.scenes.make import facts, says

RICH = EDITIONS["rich"]
NEW_KINDS = {
    name for name in RICH.kinds - EDITIONS["classic"].kinds if KINDS[name].category not in ("stuff", "place", "worn")
}


@pytest.fixture(scope="module")
def rich():
    return [Facts(compose(0, index, "rich")) for index in range(200)]


def written(scenes, knob):
    return [
        (at, caption)
        for at, each in enumerate(scenes)
        for caption in write_captions(each, seed=0, index=at, unannotated=knob, edition="rich")
    ]


CLASSIC = {  # of scenes, captions and graphs as they were before there was another edition
    (0, 0.0): "a644ba6f9cde1dca",
    (0, 0.25): "4d7987cd6402ba70",
    (0, 0.75): "389d655e2d52c081",
    (7, 0.0): "c7da80681e66a5de",
    (7, 0.25): "b3bfcde922d5af5a",
    (7, 0.75): "5be24c4359a42fb9",
}


@pytest.mark.parametrize("seed, knob", CLASSIC)
def test_the_classic_edition_stays_what_it_was(seed, knob):
    every = rows(images=60, size=32, seed=seed, unannotated=knob, edition="classic")
    text = "\n".join("|".join((row["scene"], *row["captions"], *row["graphs"])) for row in every)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == CLASSIC[seed, knob]


def test_the_classic_edition_knows_no_word_of_the_other():
    assert "penguin" not in noun_swaps("classic")["dog"] and "penguin" in noun_swaps("rich")["dog"]
    assert "pushing" not in relation_swaps("classic")["riding"] and "pushing" in relation_swaps("rich")["riding"]
    assert "penguin" not in implied_words("classic") and "bird" in implied_words("rich")["penguin"]


def test_swaps_of_the_rich_edition_are_never_implied():
    for swaps in (noun_swaps("rich"), relation_swaps("rich")):
        for word, others in swaps.items():
            assert not implied_words("rich").get(word, frozenset()) & set(others), word


def test_every_kind_setting_and_deed_is_shown(rich):
    many = [*rich, *(Facts(compose(1, index, "rich")) for index in range(900))]
    assert {entity.kind for each in many for entity in each.entities} >= RICH.kinds - {"zebra", "snowman"}
    assert len(NEW_KINDS) >= 24 and {each.scene.setting for each in many} == set(RICH.settings)
    verbs = {fact for verb in spoken("rich")[2].values() if verb.edition == "rich" for fact in verb.means} - {"touch"}
    assert {fact.relation for each in many for fact in each.scene.facts} >= verbs
    assert all(Scene.from_json(each.scene.to_json()) == each.scene for each in rich[:50])


def test_the_knob_goes_from_below_cocos_density_to_far_above(rich):
    """Measured on 200 scenes; on the 500 × 2,500 of the test split the default gives .17 %."""
    labels, shares, lengths = TruthLabels(rich), [], []
    for knob in (0.0, RICH.knob, 1.0):
        captions = written(rich, knob)
        true = sum(int((labels.column(caption.graph) == TRUE).sum()) - 1 for _, caption in captions)
        shares.append(true / (len(captions) * len(rich)))
        lengths.append(np.mean([len(caption.graph.tokens) for _, caption in captions]))
    assert shares[0] < 0.001 < shares[1] < 0.0035 and shares[2] > 0.022
    assert 12 <= lengths[1] <= 15 and lengths[0] > lengths[1] > lengths[2]


def test_captions_are_true_and_read_as_they_were_meant(rich):
    for knob in (0.0, 0.5, 1.0):
        captions = written(rich[:60], knob)
        assert all(entails(rich[at], caption.graph) == TRUE for at, caption in captions)
        read = parsed([caption.text for _, caption in captions], cache=False)
        labels = [one.truth_label(entails(rich[at], one.graph)) for (at, _), one in zip(captions, read, strict=True)]
        decided = len(labels) - labels.count(OPEN)
        assert decided >= 0.9 * len(labels) and labels.count(TRUE) >= 0.98 * decided
        others = [(rich[(at + 7) % 60], caption, one) for (at, caption), one in zip(captions, read, strict=True)]
        known = [
            (entails(each, caption.graph), one.truth_label(entails(each, one.graph))) for each, caption, one in others
        ]
        sure = [pair for pair in known if OPEN not in pair]
        assert sum(one == other for one, other in sure) >= 0.99 * len(sure)


DEEDS = {  # fact: who, whom
    "push": ("girl", "cart"),
    "pull": ("boy", "suitcase"),
    "eat": ("monkey", "banana"),
    "feed": ("man", "penguin"),
    "pet": ("woman", "pig"),
    "hug": ("boy", "bear"),
    "lean against": ("man", "lamp"),
    "photograph": ("girl", "lion"),
    "look through": ("boy", "telescope"),
    "throw": ("girl", "ball"),
    "sweep with": ("woman", "broom"),
    "use": ("man", "laptop"),
    "climb": ("boy", "ladder"),
    "drive": ("woman", "tractor"),
    "slide down": ("girl", "slide"),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_deed_is_true_where_it_was_composed_and_false_of_others(deed):
    who, what = DEEDS[deed]
    things = Entity(who, 0.2, 0.9, 0.5), Entity(what, 0.45, 0.9, 0.3), Entity("owl", 0.9, 0.9, 0.2, pose="sit")
    shown = facts(*things, known=((0, deed, 1),))
    assert entails(shown, says(who, what, link=deed)) == TRUE
    assert entails(shown, says(what, who, link=deed)) == FALSE or deed == "hug"
    assert entails(shown, says("owl", what, link=deed)) == FALSE or what == "ladder"
    apart = facts(*things[:1], Entity(what, 0.85, 0.9, 0.3))
    assert entails(apart, says(who, what, link=deed)) == FALSE
    _, participle, past = relations()[deed].forms
    spoken_of = [f"A {who} is {participle} a {what}.", f"A {what} is being {past} by a {who}."]
    read = parsed(spoken_of[: 1 if " " in deed else 2], cache=False)
    assert all(one.truth_label(entails(shown, one.graph)) == TRUE for one in read)


def test_hair_and_clothes_are_read_of_their_wearer():
    girl = Entity("girl", hair="red", age="child", pose="stand"), Entity("shirt", colour="green", wearer=0)
    shown = facts(*girl, Entity("boots", colour="black", wearer=0), known=((0, "wear", 1), (0, "wear", 2)))
    said = ("A girl with red hair.", "A girl with blond hair.", "A girl in a green shirt and black boots is standing.")
    labels = [one.truth_label(entails(shown, one.graph)) for one in parsed(said, cache=False)]
    assert labels == [TRUE, FALSE, TRUE]


def test_the_rich_edition_is_loaded_by_name_with_its_own_knob_and_cache(tmp_path):
    data = load(images=40, edition="rich", cache=tmp_path)
    (folder,) = (path.name for path in tmp_path.iterdir())
    assert folder.startswith("rich-") and folder.endswith(f"unannotated{RICH.knob:g}")
    assert data.captions[:100] == load(images=20, edition="rich", unannotated=RICH.knob, cache=tmp_path).captions
    assert data.world.swaps()[0] == noun_swaps("rich") and data.select([3]).world.edition == "rich"
    for image in range(40):
        for entity, mask, box in zip(
            data.world.objects(image), data.world.masks(image), data.world.boxes(image), strict=True
        ):
            if entity.kind in NEW_KINDS:
                assert mask.sum() >= 12, (image, entity.kind)
                assert mask[box[1] : box[3], box[0] : box[2]].sum() == mask.sum()
    refused("edition='poor'", load, images=3, edition="poor", cache=tmp_path)
