"""Words and corrections against the world: known squares, and scenes judged one sentence at a time."""

import pytest

from itmlab.data.scenes import load
from itmlab.errors import ItmlabError
from itmlab.explain import corrections, synthetic_negatives, word_study, word_truth
from itmlab.explain.word_truth import SENTENCES, WORDS
from itmlab.text.graph import tokenise

from .colour_tower import ColourTower, judging_set
from .small_tower import small_tower
from .test_word_study import recoloured


def test_of_squares_every_new_colour_is_false_and_every_correction_true():
    data = judging_set()
    tower = ColourTower(data.captions)
    wrong = [recoloured(data, caption, "blue" if caption % 8 < 2 else "red") for caption in (0, 1, 2, 3, 5)]
    study = word_study(tower, data, wrong)
    found = word_truth(tower, data, study)
    assert tuple(found.mismatched) == WORDS and tuple(found.sentences) == SENTENCES
    assert (found.mismatched["replaced, false"].count, found.mismatched["replaced, false"].of) == (5, 5)
    assert found.mismatched["kept"].count == 0 and found.mismatched["replaced, true"].of == 0
    assert found.sentences == {
        "caption": {1: 5, 0: 0, -1: 0}, "made wrong": {1: 0, 0: 5, -1: 0}, "corrected": {1: 5, 0: 0, -1: 0}
    }  # fmt: skip
    assert found.restored.percent == 100 and found.true["all"].percent == found.true["attribute"].percent == 100
    assert word_truth(tower, data, study, threshold=0.01).mismatched["replaced, false"].count == 0
    assert word_truth(tower, data, study, above=1.01).sentences["corrected"] == found.sentences["made wrong"]


def test_of_scenes_the_verdicts_are_those_of_asking_one_by_one(tmp_path):
    data = load(images=6, cache=tmp_path)
    tower = small_tower(data.captions)
    captions = [int(own[0]) for own in data.captions_of_image]
    made = synthetic_negatives(data, captions, run=tower, keep=3, maskings=3, samples=3, truth=False).all()
    study = word_study(tower, data, made)
    found = word_truth(tower, data, study)
    code = {True: 1, False: 0, None: -1}
    sentences = {"made wrong": [one.sentence for one in study.negatives]}
    sentences["corrected"] = corrections(tower, data, study.images.tolist(), sentences["made wrong"])
    for stage, texts in sentences.items():
        verdicts = [code[data.world.entails(one.image, text)] for one, text in zip(study.negatives, texts, strict=True)]
        assert found.sentences[stage] == {verdict: verdicts.count(verdict) for verdict in (1, 0, -1)}
    decided = len(study.negatives) - found.sentences["corrected"][-1]
    assert (found.true["all"].count, found.true["all"].of) == (found.sentences["corrected"][1], decided)
    assert sum(share.of for share in found.mismatched.values()) == int(study.counted.sum())
    assert found.mismatched["kept"].of == int((study.counted & ~study.replaced).sum())


def test_a_word_is_judged_by_the_caption_with_that_word_alone(tmp_path):
    data = load(images=6, cache=tmp_path)
    tower = small_tower(data.captions)
    captions = [int(own[0]) for own in data.captions_of_image]
    made = synthetic_negatives(data, captions, run=tower, keep=None, maskings=4, samples=3, truth=False).all()
    single, double = ([one for one in made if len(one.spans) == changes] for changes in (1, 2))
    for some in (single, double):
        study = word_study(tower, data, some)
        expected = dict.fromkeys(WORDS[1:], 0)
        for row, negative in enumerate(study.negatives):
            for piece in study.replaced[row].nonzero().flatten().tolist():
                others = [one for one in range(len(negative.spans)) if one != int(study.place[row, piece])]
                sentence = negative.sentence
                for other in others:  # the other change said as the caption says it
                    words = list(tokenise(sentence))
                    span = negative.spans[other]
                    words[span.start : span.end] = [negative.source[other]]
                    sentence = " ".join(words)
                verdict = data.world.entails(negative.image, sentence)
                expected[{True: WORDS[1], None: WORDS[2], False: WORDS[3]}[verdict]] += 1
        found = word_truth(tower, data, study)
        assert {name: found.mismatched[name].of for name in expected} == expected and sum(expected.values()) > 10


def test_only_a_world_judges():
    data = judging_set()
    tower = ColourTower(data.captions)
    study = word_study(tower, data, [recoloured(data, 0, "blue")])
    data.world = None
    with pytest.raises(ItmlabError, match="only a world says which sentences are true"):
        word_truth(tower, data, study)
