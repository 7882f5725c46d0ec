"""Own ideas in training: each kind learns, is taken up again to the bit, compared, and refused when it is another."""

import json

import pytest
import torch

from itmlab import recipes
from itmlab.errors import ItmlabError
from itmlab.recipes import own
from itmlab.recipes.own import Own
from itmlab.recipes.recipe import Recipe
from itmlab.runs import Run
from itmlab.samplers import Hardest
from itmlab.synthesis import SynHNC
from itmlab.training import compare
from itmlab.training.loop import train
from itmlab.training.objective import Objective
from itmlab.training.sentences import OneByOne
from tests.recipes import ideas
from tests.refusals import refused
from tests.training.test_objective import IDS, ROWS, features
from tests.training.world import micro

IDEAS = {
    "sampler": ("hardest_memory", {"sampler": ideas.FifthHardest(1)}),
    "function": ("semi_hard", {"sampler": ideas.any_negative}),
    "loss": ("info_nce", {"loss": ideas.soft_hinges}),
    "learnt": ("info_nce", {"loss": ideas.LearntTemperature}),
    "synthesis": ("info_nce", {"synthesis": ideas.Between(0.4)}),
    "encoder": ("info_nce", {"encoder": ideas.MeanOfPieces}),
}


def idea(name: str) -> Recipe:
    base, changes = IDEAS[name]
    return micro(base, **changes, data__epochs=2)


@pytest.mark.parametrize("name", IDEAS)
def test_it_trains_and_is_taken_up_again_to_the_bit(name, data, tmp_path):
    whole = train(idea(name), data, tmp_path / "whole", progress=False)
    train(idea(name), data, tmp_path / "parts", progress=False, max_steps=3, checkpoint_every=1)
    parts = train(idea(name), data, tmp_path / "parts", progress=False)
    assert whole.history == parts.history and parts.finished
    one, other = (run.model.state_dict() for run in (whole, parts))
    assert all(torch.equal(one[key], other[key]) for key in one)
    again = Run(tmp_path / "whole")
    assert again.recipe == idea(name) and again.evaluate(data, "test", ks=(1,)) == whole.evaluate(data, "test", ks=(1,))


def test_what_a_loss_learns_is_learnt_and_kept_for_going_on(data, tmp_path):
    from safetensors.torch import load_file

    recipe = idea("learnt").replace(data__warm_up_epochs=0)
    train(recipe, data, tmp_path / "run", progress=False, max_steps=3)
    pointer = json.loads((tmp_path / "run/resume/state.json").read_text())
    kept = load_file(tmp_path / "run/resume" / pointer["tensors"] / "loss.safetensors")
    assert kept["log_scale"] != torch.tensor(1 / 0.05).log()


def test_a_run_of_another_source_is_refused(data, tmp_path):
    train(idea("loss"), data, tmp_path / "run", progress=False, max_steps=1)
    changed = json.loads((tmp_path / "run/recipe.json").read_text())
    changed["loss"]["kind"]["source"] = "0" * 16
    (tmp_path / "run/recipe.json").write_text(json.dumps(changed))
    refused("this run has another recipe: loss.kind.source is '0+' there", train, idea("loss"), data, tmp_path / "run")


def test_a_run_whose_class_is_gone_is_refused_in_one_line(data, tmp_path, monkeypatch):
    run = train(idea("encoder"), data, tmp_path / "run", progress=False, max_steps=1)
    monkeypatch.setattr(own, "_handed_over", {})
    words = r"encoder tests.recipes.ideas:MeanOfPieces: not known here \(\w+\) — import it from tests.recipes.ideas"
    refused(words, lambda: Run(run.directory).model)
    refused(words, train, Run(run.directory).recipe, data, tmp_path / "another")
    own.use(ideas.MeanOfPieces)
    assert type(Run(run.directory).model) is ideas.MeanOfPieces


def test_a_file_that_names_one_trains_only_what_is_known(data, tmp_path, monkeypatch):
    monkeypatch.setattr(own, "_handed_over", {})
    for name, (base, changes) in IDEAS.items():
        part = next(iter(changes))
        named = {"path": "os:system", "source": "0" * 16, "options": {"command": "x"}}
        plain = micro(base).to_json()
        plain |= {part: {**plain["loss"], "kind": named} if part == "loss" else named}
        recipe = Recipe.from_json(plain)
        refused(f"{part} os:system: not known here", train, recipe, data, tmp_path / name, progress=False)


def test_they_are_compared(data, tmp_path):
    labelled = {"hardest": micro("semi_hard", sampler="hardest"), "mine": idea("function")}
    few = {label: recipe.replace(data__epochs=1, data__warm_up_epochs=0) for label, recipe in labelled.items()}
    data = data.select(range(len(data)))
    data.splits["test"] = torch.arange(16, 32)  # large enough for R@10
    found = compare(few, data, seeds=2, run_root=tmp_path, progress=False)
    assert len(found.table()) == 2 and found.table()[1]["recipe"] == "mine"
    assert {len(group) for group in found.runs.values()} == {2}


# What of a step is theirs.


def objective(**changes) -> Objective:
    return Objective(micro(changes.pop("name"), **changes), None, torch.Generator().manual_seed(0))


def test_the_sampler_chooses_as_ours_of_the_same_rank():
    images, captions = features(0)
    found = [
        objective(name="semi_hard", sampler=sampler)(images, captions, IDS, ROWS, None, epoch=1)
        for sampler in (Hardest(2), ideas.FifthHardest(2))
    ]
    assert torch.equal(found[0].chosen, found[1].chosen) and torch.equal(found[0].loss, found[1].loss)


def test_the_loss_is_asked_in_both_directions_after_the_warm_up():
    images, captions = features(0)
    scores, positives = images @ captions.T, IDS[:, None] == IDS
    expected = sum(
        ideas.soft_hinges(each, positives, scores.diagonal(), margin=0.3, slope=5.0) for each in (scores, scores.T)
    )
    mine = objective(name="info_nce", loss=ideas.soft_hinges, loss__margin=0.3, loss__kind__slope=5.0)
    assert mine(images, captions, IDS, ROWS, None, epoch=1).loss.item() == pytest.approx(expected.item())
    plain = objective(name="info_nce")(images, captions, IDS, ROWS, None, epoch=0)
    assert torch.equal(mine(images, captions, IDS, ROWS, None, epoch=0).loss, plain.loss)


def test_our_own_synthesis_handed_over_makes_what_its_name_makes(data, tmp_path):
    histories = []
    for name, synthesis in (("ours", {"clusters": 2, "sigma": 0.5}), ("mine", SynHNC)):
        changes = {} if name == "ours" else {"synthesis__clusters": 2, "synthesis__sigma": 0.5}
        recipe = micro("info_nce", synthesis=synthesis, **changes, data__epochs=2)
        histories.append(train(recipe, data, tmp_path / name, progress=False).history)
    assert histories[0] == histories[1] and isinstance(recipe.synthesis, Own)


def test_sentences_are_asked_for_one_caption_at_a_time(data):
    asked = []

    class Spied(Own):
        def build(self, part, **offered):
            def generate(captions, graphs, others, *, generator):
                asked.append((part, len(captions), offered["data"] is data, generator.initial_seed()))
                return ideas.other_colour(captions, graphs, others, generator=generator)

            return generate

    generate = OneByOne(Spied("a:b", "0"), data, None, [None] * len(data.captions))
    before = len(asked)
    numbers = [torch.Generator().manual_seed(seed) for seed in (5, 6)]
    captions = data.captions[:2]
    rows = generate(captions, [None] * 2, [captions] * 2, generator=numbers)
    assert asked[before:] == [("generator", 1, True, 5), ("generator", 1, True, 6)]
    assert [[one.sentence for one in row] for row in rows] == [[each.replace("red", "green")] for each in captions]


@pytest.mark.parametrize("kind", ["wrong kind", "not Negative"])
def test_a_broken_generator_is_told_before_the_first_step(kind, data):
    class Broken(Own):
        def build(self, part, **offered):
            return lambda c, g, o, *, generator: None if kind == "wrong kind" else [[one] for one in c]

    with pytest.raises(ItmlabError, match=r"generator a:b: .*it gives .* — a generator, called with \(captions"):
        OneByOne(Broken("a:b", "0"), data, None, [None] * len(data.captions))


def test_a_cross_encoder_learns_from_own_sentences(tmp_path):
    from itmlab.data import load

    scenes = load("scenes", images=48, regions="pixels")
    recipe = recipes.tags.replace(
        generator=swapped_sides, start=None, data__steps=2, data__batch_size=4, data__validation=0,
        model__hidden=16, model__layers=1, model__heads=2, model__intermediate=16, tags__hardest=2,
        tags__candidates=2, tags__top_k=2,
    )  # fmt: skip
    run = train(recipe, scenes, tmp_path / "run", progress=False)
    assert run.recipe == recipe and run.finished


SIDES = {"left": "right", "right": "left", "big": "small", "small": "big", "a": "no"}


def swapped_sides(captions, graphs, image_captions, *, generator):
    from itmlab.synthesis import Negative

    return [
        [
            Negative(" ".join([*words[:at], SIDES[word], *words[at + 1 :]]), replacement=(SIDES[word],))
            for words in [caption.split()]
            for at, word in enumerate(words)
            if word in SIDES
        ]
        for caption in captions
    ]
