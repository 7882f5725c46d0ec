"""Own ideas in recipes: how they are handed over, saved and found again, and that no file brings code in."""

import json
import linecache
import sys
import types
from functools import partial
from pathlib import Path

import pytest
import torch

from itmlab import recipes
from itmlab.data import load
from itmlab.errors import ItmlabError
from itmlab.recipes import own
from itmlab.recipes.own import Own, source_digest
from itmlab.recipes.recipe import Recipe
from itmlab.recipes.settings import SamplerSettings
from itmlab.runs import Run
from itmlab.samplers import Hardest
from itmlab.training.comparison import directory_name
from tests.recipes import ideas
from tests.refusals import refused

HERE = "tests.recipes.ideas"
BASE = recipes.hardest_memory
OTHERS = [
    (recipes.info_nce, {"loss": ideas.soft_hinges}),
    (recipes.info_nce, {"loss": ideas.LearntTemperature(0.1)}),
    (recipes.vsepp, {"synthesis": ideas.Between(0.3)}),
    (recipes.vsepp, {"encoder": ideas.BagOfWords}),
    (recipes.tags, {"generator": ideas.other_colour}),
    (recipes.tags, {"tags__generator": f"{HERE}:other_colour"}),
]


def through_a_file(recipe: Recipe) -> Recipe:
    return Recipe.from_json(json.loads(json.dumps(recipe.to_json())))


def test_a_sampler_by_instance_class_function_and_import_path():
    given = [ideas.FifthHardest(4), ideas.FifthHardest, ideas.any_negative, f"{HERE}:FifthHardest"]
    found = [BASE.replace(sampler=each).sampler for each in given]
    assert [each.path for each in found] == [f"{HERE}:{name}" for name in ("FifthHardest",) * 2 + ("any_negative",)] + [
        f"{HERE}:FifthHardest"
    ]
    assert [each.options for each in found] == [{"rank": 4}, {}, {}, {}] and found[1] == found[3]
    assert BASE.replace(sampler=ideas.FifthHardest, sampler__rank=2).build("sampler").rank == 2


def test_a_sampler_of_ours_goes_by_its_name():
    assert BASE.replace(sampler=Hardest(3)).sampler == SamplerSettings("hardest", {"rank": 3})
    assert recipes.fne.replace(sampler="softest").sampler == SamplerSettings("softest")
    refused("sampler.kind is 'hardes'.* — did you mean hardest", BASE.replace, sampler="hardes")


@pytest.mark.parametrize(("recipe", "changes"), OTHERS)
def test_json_and_back_and_as_a_key(recipe, changes):
    changed = recipe.replace(**changes)
    assert through_a_file(changed) == changed and hash(through_a_file(changed)) == hash(changed)
    assert changed != recipe and len(changed.own_ideas()) == 1
    assert through_a_file(changed).replace(seed=3).own_ideas() == changed.own_ideas()


def test_recipes_without_one_say_nothing_of_it():
    for name in recipes.names():
        assert "encoder" not in recipes.get(name).to_json()


def test_what_an_idea_is_offered_gives_way_to_its_own_options():
    recipe = recipes.semi_hard.replace(sampler=ideas.Within, loss__margin=0.4)
    assert recipe.build("sampler").margin == 0.4
    assert recipe.replace(sampler__margin=0.1).build("sampler").margin == 0.1
    loss = recipes.info_nce.replace(loss=partial(ideas.soft_hinges, slope=5.0), loss__margin=0.3)
    assert loss.loss.kind.options == {"slope": 5.0} and loss.build("loss").keywords == {"slope": 5.0, "margin": 0.3}
    assert (
        recipes.info_nce.replace(loss=ideas.LearntTemperature, loss__temperature=0.2).build("loss").temperature == 0.2
    )


def test_the_callers_random_numbers_are_left_alone():
    before = torch.get_rng_state()
    recipes.info_nce.replace(loss=ideas.LearntTemperature)
    assert torch.equal(before, torch.get_rng_state())


class Forgetful(Hardest):
    def __init__(self, order: int):
        super().__init__(order)


class Broad(Hardest):
    def __init__(self, tensor=None):
        super().__init__()
        self.tensor = torch.ones(2) if tensor is None else tensor


WRONG = [
    ({"sampler": 5}, "sampler is 5, wanted"),
    ({"sampler": lambda scores: scores}, "cannot be found again by its name — define a class or a function of its own"),
    ({"sampler": "no_such_shop:Hardest"}, "sampler no_such_shop:Hardest: not to be imported: No module named"),
    ({"sampler": f"{HERE}:Nothing"}, f"sampler {HERE}:Nothing: not to be imported: .*no attribute 'Nothing'"),
    ({"sampler": Forgetful(1)}, "nobody can tell with which order this Forgetful was made — keep it as self.order"),
    ({"sampler": Broad()}, "options that JSON has not"),
    ({"sampler": ideas.FifthHardest, "sampler__rnk": 1}, "there is no option 'rnk' — did you mean rank"),
    ({"sampler": ideas.Between}, "neither a function nor an itmlab.samplers.Sampler"),
    ({"sampler": ideas.FifthHardest, "loss__kind": "info_nce"}, f"sampler is '{HERE}:FifthHardest', wanted null"),
    ({"loss": ideas.soft_hinges}, f"sampler is 'hardest', wanted null, as loss.kind '{HERE}:soft_hinges' takes all"),
    ({"encoder": ideas.BagOfWords}, "its config_class is LateInteractionConfig, and the recipe's model a DualEncoderC"),
    ({"encoder": ideas.soft_hinges}, "no class of a model that encodes pictures and captions apart — derive it from"),
    ({"encoder": ideas.FifthHardest()}, "encoder is 'an instance of FifthHardest', wanted its class"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG)
def test_what_is_wrong_of_one_is_said_in_one_line(changes, words):
    refused(words, BASE.replace, **changes)


def test_a_cross_encoder_takes_a_generator_alone():
    refused("encoder is .*wanted null, as the model is a cross-encoder", recipes.tags.replace, encoder=ideas.BagOfWords)
    refused("generator", BASE.replace, generator=ideas.other_colour)


# The source: what a notebook's cell or a file says.


def cell(text: str, name: str, number: int = 1, **there) -> types.ModuleType:
    """A module whose code is a cell that no file holds, as a notebook's is."""
    module, file = sys.modules.setdefault(name, types.ModuleType(name)), f"/nowhere/ipykernel/{number}.py"
    vars(module).update(there)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), vars(module))
    return module


CELL = """
class Own(Sampler):
    "A sampler."

    def choose(self, scores, positives, positive_scores, *, generator):
        return best(scores, usable(scores, positives), offset(RANK))
"""
HELPER = "def offset(rank):\n    i = rank\n    return i\n"


@pytest.fixture
def notebook(monkeypatch):
    from itmlab.samplers.base import Sampler, best, usable

    module = types.ModuleType("a_notebook")
    monkeypatch.setitem(sys.modules, "a_notebook", module)
    vars(module).update({"Sampler": Sampler, "best": best, "usable": usable, "RANK": 2, "i": 7})
    yield partial(cell, name="a_notebook")


def test_a_class_of_a_notebooks_cell_has_a_source(notebook):
    notebook(HELPER, number=2)
    first = notebook(CELL).Own
    digest = source_digest(first)
    assert digest == source_digest(notebook(CELL, number=3).Own), "the cell run again"
    assert digest == source_digest(notebook("\n\nx = 1\n" + CELL, number=4).Own), "elsewhere, with other things around"
    assert digest == source_digest(notebook(CELL, number=5, i=8).Own), "`i` is the helper's own"
    assert BASE.replace(sampler=first).build("sampler").choose is not None


@pytest.mark.parametrize("change", ["class", "constant", "helper"])
def test_a_change_of_it_or_of_what_it_uses_makes_it_another(notebook, change):
    notebook(HELPER, number=2)
    before = BASE.replace(sampler=notebook(CELL).Own)
    if change == "class":
        after = notebook(CELL.replace("offset(RANK)", "1 + offset(RANK)"), number=3).Own
    elif change == "constant":
        after = notebook(CELL, number=3, RANK=3).Own
    else:
        notebook(HELPER.replace("return i", "return i + 1"), number=4)
        after = notebook(CELL, number=3).Own
    after = BASE.replace(sampler=after)
    assert before.sampler.path == after.sampler.path and before.sampler.source != after.sampler.source
    data = ideas.coloured_fields()
    assert directory_name("mine", before, data) != directory_name("mine", after, data)
    assert before.build("sampler") and after.build("sampler"), "both are at hand"


def test_without_a_source_there_is_no_digest():
    module = types.ModuleType("from_nowhere")
    sys.modules["from_nowhere"] = module
    exec("def loss(scores, positives, positive_scores):\n    return scores.mean()", vars(module))
    refused("the source of loss is not to be read", recipes.info_nce.replace, loss=module.loss)
    del sys.modules["from_nowhere"]


# Where it is found again, and where not.

SHOP = """
import pathlib

pathlib.Path(__file__).with_name("was_imported").touch()

from itmlab.models import LateInteraction
from itmlab.samplers import Sampler
from itmlab.samplers.base import best, usable


class Third(Sampler):
    def choose(self, scores, positives, positive_scores, *, generator):
        return best(scores, usable(scores, positives), 2)


class Encoder(LateInteraction):
    def encode_captions(self, tokens):
        return super().encode_captions(tokens)


broken = 3
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Puts a package `idea_shop` on the path; called with entry points, it registers these samplers and encoders."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "idea_shop.py").write_text(SHOP)

    def install(group: str, **points: str) -> None:
        information = tmp_path / "idea_shop-1.0.dist-info"
        information.mkdir(exist_ok=True)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: idea-shop\nVersion: 1.0\n")
        lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
        (information / "entry_points.txt").write_text("\n".join(lines))

    yield install
    sys.modules.pop("idea_shop", None)
    for key in [key for key in own._handed_over if key[0].startswith("idea_shop")]:
        del own._handed_over[key]


def foreign_run(folder: Path, recipe: Recipe, **changes) -> Path:
    """A run's folder as a stranger may have made it."""
    folder.mkdir()
    (folder / "recipe.json").write_text(json.dumps({**recipe.to_json(), **changes}))
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def test_a_file_that_names_a_module_does_not_import_it(shop, tmp_path):
    """SECURITY.md: no code from data."""
    sampler = {"path": "idea_shop:Third", "source": "0" * 16, "options": {}}
    encoder = {"path": "idea_shop:Encoder", "source": "0" * 16, "options": {}}
    for recipe, part, said in ((BASE, "sampler", sampler), (recipes.vsepp, "encoder", encoder)):
        run = Run(foreign_run(tmp_path / part, recipe, **{part: said}))
        assert getattr(run.recipe, part).path == said["path"] and "idea_shop" in repr(run.recipe)
        assert run.recipe.replace(seed=1).sized("base").seed == 1
        words = (
            rf"{part} {said['path']}: not known here \(0+\) — import it from idea_shop, if you trust that, then itmlab"
        )
        refused(words, run.recipe.build, part)
        if part == "encoder":
            refused(words, lambda run=run: run.model)
    assert "idea_shop" not in sys.modules and not (tmp_path / "was_imported").exists()


@pytest.mark.parametrize(
    "path", ["os:system", "subprocess:Popen", "builtins:eval", "itmlab.storage:write_json", "shutil:rmtree"]
)
@pytest.mark.parametrize("part", ["sampler", "loss", "synthesis", "encoder", "generator"])
def test_nor_does_it_reach_what_others_have_imported(path, part):
    named = {"path": path, "source": "0" * 16, "options": {"path": "x", "args": "x"}}
    refused(f"{part} {path}: not known here", Own(**named).build, part)
    import_only = {"sampler": BASE, "synthesis": recipes.vsepp, "encoder": recipes.vsepp}
    if part in import_only:
        refused("not known here", Recipe.from_json({**import_only[part].to_json(), part: named}).build, part)


@pytest.mark.parametrize("path", ["", "os", "os:", ":system", "os:sys tem", "os:system()", "../x:y", 5, None])
def test_a_path_is_a_module_and_a_name(path):
    named = {"path": path, "source": "0" * 16, "options": {}}
    refused("path is", Recipe.from_json, {**BASE.to_json(), "sampler": named})


def test_it_is_known_once_it_was_handed_over(shop, tmp_path):
    recipe = BASE.replace(sampler="idea_shop:Third")
    assert (tmp_path / "was_imported").exists()
    own._handed_over.clear()
    again = through_a_file(recipe)
    refused("not known here", again.build, "sampler")
    own.use(sys.modules["idea_shop"].Third)
    assert again.build("sampler").choose is not None


def test_of_a_notebook_it_is_asked_to_be_defined_first():
    recipe = Own("__main__:FifthHardest", "0" * 16)
    words = r"sampler __main__:FifthHardest: not known here .* — define it, then itmlab.recipes.own.use\(FifthHardest\)"
    refused(words, recipe.build, "sampler")


def test_another_source_is_not_the_same_idea():
    own.use(ideas.FifthHardest)
    refused("it is not as it was: its source has changed", Own(f"{HERE}:FifthHardest", "0" * 16).build, "sampler")


def test_a_package_adds_one_by_name_and_files_find_it_there(shop, tmp_path):
    shop("itmlab.samplers", third="idea_shop:Third", broken="idea_shop:broken", gone="idea_shop:gone")
    recipe = BASE.replace(sampler="third")
    assert recipe.sampler.path == "idea_shop:Third"
    own._handed_over.clear()
    assert through_a_file(recipe).build("sampler").choose is not None
    refused("what registers it cannot be used .*has no attribute 'gone'", BASE.replace, sampler="gone")
    refused("sampler is 3, wanted a class, a function, or an instance", BASE.replace, sampler="broken")
    refused("sampler.kind is 'fourth'", BASE.replace, sampler="fourth")
    refused("synthesis is 'third'", BASE.replace, synthesis="third")


# A data set.


def test_a_data_set_by_function_and_import_path():
    for given in (ideas.coloured_fields, f"{HERE}:coloured_fields"):
        assert len(load(given, copies=2)) == 32 and len(load(given, split="test")) == 8
        refused("coloured_fields: there is no option 'copy' — did you mean 'copies'", load, given, copy=2)
    refused(r"cannot be used \(AttributeError: .*nothing", load, f"{HERE}:nothing")


def test_an_item_that_is_no_data_set():
    def eleven(*, x: int = 1):
        return 11 * x

    with pytest.raises(ItmlabError, match=r"eleven: it gives int, not an itmlab.data.captionset.CaptionSet"):
        load(eleven)
