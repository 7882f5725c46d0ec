"""A recipe survives JSON, varies by field name, and says in one line what is wrong with it."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itmlab import recipes
from itmlab.errors import ItmlabError
from itmlab.recipes.recipe import Recipe
from itmlab.recipes.settings import MemorySettings
from tests.refusals import refused


@pytest.mark.parametrize("size", ["tiny", "base", "large"])
@pytest.mark.parametrize("name", recipes.names())
def test_json_and_back(name, size, tmp_path):
    recipe = recipes.get(name, size=size)
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    recipe.save(tmp_path / "recipe.json")
    assert Recipe.load(tmp_path / "recipe.json") == recipe


@given(
    prior=st.floats(1e-9, 0.5),
    epochs=st.integers(1, 1000),
    milestones=st.lists(st.integers(1, 99), max_size=4),
    seed=st.integers(0, 2**31 - 1),
)
def test_variations_keep_everything_else(prior, epochs, milestones, seed):
    fne = recipes.fne
    varied = fne.replace(sampler__prior=prior, data__epochs=epochs, optimiser__milestones=milestones, seed=seed)
    assert Recipe.from_json(json.loads(json.dumps(varied.to_json()))) == varied
    assert varied.sampler.options["prior"] == prior and varied.sampler.build().options["prior"] == prior
    assert (varied.data.epochs, varied.optimiser.milestones, varied.seed) == (epochs, tuple(milestones), seed)
    back = varied.replace(sampler=fne.sampler, data__epochs=fne.data.epochs, optimiser=fne.optimiser, seed=fne.seed)
    assert back == fne


def test_variations_may_be_spelled_with_dots_or_given_whole():
    assert recipes.fne.replace(**{"sampler.prior": 0.1, "data.epochs": 2}) == recipes.fne.replace(
        sampler__prior=0.1, data__epochs=2
    )
    assert recipes.hardest.replace(memory={"length": 64}).memory == MemorySettings(length=64)
    assert recipes.fne.replace(memory=None).memory is None
    assert recipes.fne.replace(sampler__kind="softest").sampler.kind == "softest"
    assert recipes.fne.replace(optimiser__learning_rate=1).optimiser.learning_rate == 1.0


def test_the_sampler_takes_the_margin_of_the_loss_unless_it_has_its_own():
    released = recipes.fne.replace(sampler__preset="released", loss__margin=0.4)
    own = released.replace(sampler__margin=0.5)
    found = [each.sampler.build(margin=each.loss.margin).options["margin"] for each in (recipes.fne, released, own)]
    assert found == [0.3, 0.4, 0.5]
    assert recipes.semi_hard.sampler.build(margin=0.5).margin == 0.5


def test_a_recipe_is_frozen_and_can_be_a_key():
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipes.fne.seed = 1
    assert len({recipes.fne, recipes.get("fne"), recipes.fne.replace(seed=1)}) == 2


WRONG = [
    ({"data.epoch": 3}, "unknown field data.epoch — did you mean epochs?"),
    ({"sampler.priors": 1e-3}, "unknown field sampler.priors — did you mean prior?"),
    ({"sampler.prior": "low"}, "sampler.prior is 'low', wanted a number"),
    ({"sampler.prior": 2.0}, "sampler: FNE's prior must lie between 0 and 1, not 2.0"),
    ({"sampler.kind": "hardes"}, "sampler.kind is 'hardes', which is not one of its values — did you mean hardest?"),
    ({"data.epochs": 0}, "data.epochs is 0, wanted 1 or more"),
    ({"data.epochs": 2.5}, "data.epochs is 2.5, wanted a whole number"),
    ({"data.epochs": True}, "data.epochs is True, wanted a whole number"),
    ({"optimiser.learning_rate": -1.0}, "optimiser.learning_rate is -1.0, wanted more than 0"),
    ({"optimiser.learning_rate": float("inf")}, "optimiser.learning_rate is inf, wanted a finite number"),
    ({"optimiser.milestones": [5, "x"]}, "optimiser.milestones[1] is 'x', wanted a whole number"),
    ({"memory.momentum": 1.0}, "memory.momentum is 1.0, wanted 0 to below 1"),
    ({"memory": 5}, "memory is 5, wanted an object with fields"),
    ({"loss.margin": float("nan")}, "loss.margin is nan, wanted a finite number"),
    ({"loss.kind": "info_nce"}, "'info_nce' takes all negatives; one that asks a sampler is 'sampled_triplet'"),
    ({"sampler": None}, "sampler is None, wanted one, as loss.kind is 'sampled_triplet'"),
    ({"name": ""}, "name is '', wanted a name"),
    ({"seed": -1}, "seed is -1"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG)
def test_what_is_wrong_is_said_in_one_line(changes, said):
    with pytest.raises(ItmlabError) as error:
        recipes.fne.replace(**changes)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(("changes", "said"), [case for case in WRONG if case[0] != {"sampler.priors": 1e-3}])
def test_it_is_said_alike_of_a_file(changes, said, tmp_path):
    content = recipes.fne.to_json()
    for path, value in changes.items():
        *parents, name = path.split(".")
        inside = content
        for parent in parents:
            inside = inside[parent]
        (inside["options"] if path == "sampler.prior" else inside)[name] = value
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ItmlabError) as error:
        Recipe.load(path)
    assert said in str(error.value) and str(path) in str(error.value)


def numbers_of(settings, path=""):
    """The path, settings and field of every number that is not whole."""
    for item in dataclasses.fields(settings):
        value = getattr(settings, item.name)
        if dataclasses.is_dataclass(value):
            yield from numbers_of(value, f"{path}{item.name}.")
        elif isinstance(value, float):
            yield f"{path}{item.name}", settings, item.name


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", ["sam", "tags_dc", "scan+syn", "fne"])
def test_a_number_that_json_has_not_is_refused(name, value):
    recipe = recipes.get(name)
    for path, settings, field in numbers_of(recipe):
        with pytest.raises(ItmlabError, match=f"{field} is .*(nan|inf), wanted a finite number"):
            recipe.replace(**{path: value})
        with pytest.raises(ItmlabError):
            dataclasses.replace(settings, **{field: value})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "wanted an object"),
        ("{", "not JSON"),
        ("{}", "field name is missing"),
        ('{"model": {"x": 1}}', "missing"),
    ],
)
def test_a_file_that_is_no_recipe(text, said, tmp_path):
    (tmp_path / "recipe.json").write_text(text)
    with pytest.raises(ItmlabError, match=said):
        Recipe.load(tmp_path / "recipe.json")


def test_another_kind_of_sampler_starts_without_the_options_of_the_old_one():
    assert recipes.fne.sampler.options
    assert recipes.fne.replace(sampler__kind="softest").sampler.options == {}
    assert recipes.fne.replace(sampler__kind="semi_hard", sampler__margin=0.1).sampler.options == {"margin": 0.1}


WRONG_TOWERS = [
    ({"model.hiden": 3}, "unknown field model.hiden — did you mean hidden?"),
    ({"model.hidden": "x"}, "model.hidden is 'x', wanted a whole number"),
    ({"tags.weights": {"retrieved": -1.0}}, "the loss weight retrieved must be 0 or above"),
    ({"tags.weights.wod": 1.0}, "unknown field tags.weights.wod"),
    ({"tags.generator": "dynamo"}, "did you mean dynamic?"),
    ({"tags.generator": "file"}, "extra_negatives is None, wanted a path, as tags.generator is 'file'"),
    ({"extra_negatives": {"path": "x"}}, "extra_negatives is 'x', wanted null unless tags.generator is 'file'"),
    ({"tags.temperature": 0.0}, "tags.temperature is 0.0"),
    ({"tags.top_k": 0}, "tags.top_k is 0, wanted 1 or more"),
    ({"tags.matching_begins": 1.0}, "tags.matching_begins is 1.0, wanted 0 to below 1"),
    ({"tags": None}, "tags is None, wanted an object with fields, as the model is a cross-encoder"),
    ({"loss": {}}, "wanted null, as the model is a cross-encoder"),
    ({"memory": {}}, "memory is MemorySettings(length=8192, momentum=0.995), wanted null"),
    ({"start": ""}, "start is '', wanted a run's name, a directory, or null"),
    ({"data.steps": 0}, "data.steps is 0, wanted 1 or more, or null"),
    ({"data.flip": 1.5}, "data.flip is 1.5, wanted 0 to 1"),
    ({"data.crop": [0.5, 1.5]}, "data.crop is (0.5, 1.5), wanted two shares of the area, such as [0.5, 1.0], or null"),
    ({"data.crop": [0, 1]}, "data.crop is (0.0, 1.0), wanted two shares"),
    ({"data.crop": 0.5}, "data.crop is 0.5, wanted a list"),
    ({"data.randaugment": [2, 11]}, "data.randaugment is (2, 11), wanted how many operations and a magnitude of 0 to"),
    ({"data.randaugment": [2]}, "data.randaugment is [2], wanted a list of 2"),
    ({"optimiser.warm_up": 1.0}, "optimiser.warm_up_share is 0.1, wanted 0, as optimiser.warm_up is given"),
    ({"optimiser.betas": [0.9, 1.0]}, "optimiser.betas is (0.9, 1.0)"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG_TOWERS)
def test_what_is_wrong_of_a_cross_encoder_recipe_is_said_in_one_line(changes, said):
    with pytest.raises(ItmlabError) as error:
        recipes.tags.replace(**changes)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_model_is_read_as_the_configuration_whose_fields_it_has():
    for recipe in (recipes.tags, recipes.fne):
        values = recipe.to_json()["model"]
        read = Recipe.from_json(recipe.to_json() | {"model": dict(list(values.items())[:7])}).model
        assert type(read) is type(recipe.model)
    with pytest.raises(ItmlabError, match="tags is TagsSettings"):
        recipes.tags.replace(model=recipes.fne.model)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("scan+syn", {"synthesis.clusters": 0}, "synthesis.clusters is 0, wanted 1 or more"),
        ("scan+syn", {"synthesis.sigma": 0.0}, "synthesis.sigma is 0.0, wanted more than 0"),
        ("scan+syn", {"synthesis.sigma": 1e-30}, "synthesis.sigma is 1e-30, wanted 1e-06 to 1e+06"),
        ("scan+syn", {"synthesis.weight": "identity"}, "did you mean weights?"),
        ("scan+info", {"loss.noise": -1}, "loss.noise is -1, wanted 0 or more"),
        ("scan", {"memory": {}}, "wanted null, as the model compares parts"),
        ("scan", {"model.kind": "scan"}, "'scan'"),
        ("scan", {"tags": {}}, "as the model is no cross-encoder"),
        ("oscar", {"tags": {}}, "as the model is no cross-encoder"),
        ("tags", {"synthesis": {}}, "wanted null, as the model is a cross-encoder"),
    ],
)
def test_what_is_wrong_of_a_contrast_recipe_is_said_in_one_line(name, changes, said):
    with pytest.raises(ItmlabError) as error:
        recipes.get(name).replace(**changes)
    assert said in str(error.value) and "\n" not in str(error.value)


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


BEYOND = {
    "digits": 10**5000,
    "no float": -(10**400),
    "brackets": nested(5000),
    "brackets within": {"kind": nested(5000)},
    "digits within": {"": 10**5000},
}


@pytest.mark.parametrize("value", BEYOND)
@pytest.mark.parametrize("field", ["seed", "name", "model", "loss", "optimiser", "start"])
def test_values_beyond_measure_are_one_line(value, field):
    with pytest.raises(ItmlabError) as caught:
        Recipe.from_json({**recipes.get("fne").to_json(), field: BEYOND[value]})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


def test_a_grid_is_a_recipe_for_each_combination_by_a_label_that_names_it():
    made = recipes.fne.grid(sampler__prior=[1e-4, 1e-2], memory__length=[256, 2048])
    assert list(made) == [
        *("prior=0.0001, length=256", "prior=0.0001, length=2048"),
        *("prior=0.01, length=256", "prior=0.01, length=2048"),
    ]
    assert made["prior=0.01, length=256"] == recipes.fne.replace(sampler__prior=0.01, memory__length=256)
    both = recipes.info_nce.grid(loss__kind=["info_nce", "info_cmr"], optimiser__kind=["adam", "adamw"])
    assert "loss.kind=info_cmr, optimiser.kind=adam" in both, "a last name that two share is said in full"


def test_impossible_combinations_are_named_in_one_line():
    refused("sampler__prior is 0.1, wanted a list", recipes.fne.grid, sampler__prior=0.1)
    refused("sampler__kind is 'hardest', wanted a list", recipes.fne.grid, sampler__kind="hardest")
    given = {"sampler__prior": [2.0, 0.1], "memory__length": [0, 5]}
    refused(
        r"3 of 4 .*prior=2.0, length=0 \(.*prior=2.0, length=5 \(.*prior=0.1, length=0 \(", recipes.fne.grid, **given
    )
