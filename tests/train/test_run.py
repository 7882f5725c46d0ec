"""What a run is asked: searches, exports, its record; an ensemble of runs."""

import pytest
import torch
from PIL import Image
from workshop.analysis.attention import word_maps

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.scenes import load
from itmlab.train import checkpoint
from itmlab.train.checkpoint import locked
from itmlab.train.loop import train
from itmlab.train.run import Run, ensemble, keeps, pretrained
from itmlab.train.scores import similarity
from tests.refusals import refused
from tests.train.world import micro


def test_the_mean_of_two_seeds(finished, data, tmp_path):
    other = train(micro(seed=1), data, tmp_path / "other", progress=False)
    both = ensemble([finished, other])
    expected = (similarity(finished.model, data) + similarity(other.model, data)) / 2
    torch.testing.assert_close(both.similarity(data), expected)
    assert 0 < both.evaluate(data, ks=(1, 5))["rsum"] <= 400


def test_one_run_is_itself_and_none_is_refused(finished, data):
    val = {"split": "val", "ks": (1, 5)}
    assert ensemble([finished]).evaluate(data, **val) == finished.evaluate(data, **val)
    assert ensemble([finished]).evaluate(data, split=None, folds=3) == finished.evaluate(data, split=None, folds=3)
    with pytest.raises(ItmlabError, match="at least one run"):
        ensemble([])
    refused("the data has no world", ensemble([finished]).evaluate, data, **val, truth=True)


def test_an_ensemble_is_evaluated_by_truth_and_relevance_as_a_run_is(finished, tmp_path):
    scenes = load(images=60, cache=tmp_path).select(range(20))
    asked = {"split": None, "ks": (1, 5), "truth": True, "relevance": "cider"}
    assert ensemble([finished]).evaluate(scenes, **asked) == finished.evaluate(scenes, **asked)


def test_a_sentence_finds_pictures_best_first(finished, data):
    hits = finished.search("a red field on the left", k=4, data=data)
    assert (hits.of, len(hits)) == ("images", 4)
    assert hits.scores == sorted(hits.scores, reverse=True)
    assert [data.image_ids.index(name) for name in hits.ids] == hits.image_indices
    assert hits.images[0].tobytes() == data.images[hits.image_indices[0]].tobytes()
    assert hits.captions[0] == data.captions[data.captions_of_image[hits.image_indices[0]][0]]


def test_a_picture_finds_captions_or_pictures(finished, data, tmp_path):
    hits = finished.search(data.images[7], k=3, data=data)
    assert hits.of == "captions" and all(name in data.caption_ids for name in hits.ids)
    places = [data.caption_ids.index(name) for name in hits.ids]
    assert hits.captions == [data.captions[place] for place in places]
    assert hits.image_indices == data.image_of_caption[places].tolist()
    data.images[7].save(tmp_path / "seven.png")
    assert finished.search(tmp_path / "seven.png", k=3, data=data).ids == hits.ids
    alike = finished.search(data.images[7], k=3, data=data, of="images")
    assert alike.of == "images" and alike.scores[0] == pytest.approx(1.0, abs=1e-5) and "picture-7" in alike.ids


def test_a_sentence_finds_sentences(finished, data):
    hits = finished.search(data.captions[9], k=1, data=data, of="captions")
    assert hits.scores[0] == pytest.approx(1.0, abs=1e-5)


def test_data_without_regions_are_refused_with_the_call_that_brings_them(data, tmp_path):
    run, wanted = pretrained("tags"), 'load\\("scenes", regions="detector"\\)'
    scenes = load(images=12, cache=tmp_path)
    for ask in (lambda those: run.evaluate(those, ks=(1,)), lambda those: run.search("a dog", data=those)):
        refused(f"^scenes: this model looks at regions and the data have none — {wanted} has them", ask, scenes)
        refused(f'none — load\\("regions", root\\) has them, or {wanted}', ask, data)
    refused(wanted, ensemble([run]).evaluate, scenes, ks=(1,))


def test_a_k_above_the_candidates_is_told_which_ks_there_are(finished, data):
    for images, ks in ((1, r"\(1,\)"), (3, r"\(1, 3\)"), (8, r"\(1, 5, 8\)")):
        wanted = f"choose k from 1 to {images}: ks={ks}, or rank more candidates"
        refused(wanted, finished.evaluate, data.select(range(images)), split=None)
        refused(wanted, ensemble([finished]).evaluate, data.select(range(images)), split=None)


def test_more_than_there_are_is_all_and_nonsense_is_said(finished, data):
    assert len(finished.search("red", k=10**6, data=data)) == len(data)
    for query, options, said in (
        (" ", {}, "sentence to search for is empty"),
        ("red", {"of": "words"}, "cannot search for 'words'"),
        ("red", {"k": 0}, "k must be"),
    ):
        with pytest.raises(ItmlabError, match=said):
            finished.search(query, data=data, **options)


def test_each_word_is_explained_over_the_patches(finished, data, tmp_path):
    data.images[0].save(tmp_path / "one.png")
    maps = word_maps(finished, tmp_path / "one.png", "a red field")
    assert [one.word for one in maps] == ["a", "red", "field"] and maps[0].weights.shape == (2, 2)


def test_what_is_exported_is_used_but_not_resumed(finished, data, tmp_path):
    shipped = finished.export(tmp_path / "shipped")
    names = {path.relative_to(shipped.directory).as_posix() for path in shipped.directory.rglob("*") if path.is_file()}
    assert names == {
        "recipe.json",
        "data.json",
        "history.jsonl",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "model.safetensors",
    }
    assert shipped.recipe == finished.recipe and shipped.history == finished.history and shipped.finished
    full, half = ((one.directory / "model.safetensors").stat().st_size for one in (finished, shipped))
    assert half < 0.6 * full
    assert shipped.evaluate(data, split="train")["rsum"] == pytest.approx(
        finished.evaluate(data, split="train")["rsum"], abs=20
    )
    before = (shipped.directory / "model.safetensors").read_bytes()
    train(micro(), data, shipped.directory, progress=False)
    assert (shipped.directory / "model.safetensors").read_bytes() == before


def test_an_export_overwrites_nothing(finished, tmp_path):
    finished.model.save(tmp_path / "model")
    shipped = finished.export(tmp_path / "elsewhere" / "shipped")
    for directory in (finished.directory, shipped.directory, tmp_path / "model"):
        before = {path: path.read_bytes() for path in directory.iterdir()}
        refused("already", finished.export, directory)
        assert before == {path: path.read_bytes() for path in directory.iterdir()}
    with locked(tmp_path / "new"):
        refused("another process", finished.export, tmp_path / "new")


def test_pretrained_runs_are_found_by_name(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "HOME", tmp_path / "itmlab" / "pretrained")
    with pytest.raises(ItmlabError, match="this installation has none"):
        pretrained("fne")
    finished.export(tmp_path / "itmlab" / "pretrained" / "fne")
    finished.export(tmp_path / "itmlab" / "pretrained" / "triplet")
    assert pretrained("fne").recipe.name == "fne"
    refused("no pretrained run 'fnee' — there are fne, triplet", pretrained, "fnee")
    for path in ("../x", "runs/notthere", "mine.v2"):
        refused(f"^there is no folder {path} — name the folder of a run, or .*: fne, triplet", pretrained, path)


def test_a_directory_without_a_run_or_without_weights_is_said(data, tmp_path):
    with pytest.raises(ItmlabError, match=r"no recipe\.json"):
        Run(tmp_path)
    micro().save(tmp_path / "recipe.json")
    begun = Run(tmp_path)
    assert begun.history == [] and not begun.finished
    with pytest.raises(ItmlabError, match="no weights yet"):
        _ = begun.model


def test_a_last_line_cut_by_a_kill_is_no_record(finished):
    path = finished.directory / "history.jsonl"
    records = finished.history
    path.write_bytes(path.read_bytes() + b'{"kind": "st')
    assert finished.history == records
    path.write_bytes(b"nonsense\n")
    with pytest.raises(ItmlabError, match="not JSON lines"):
        _ = finished.history


HOSTILE = '<script>alert("x")</script>\x1b[31m'


@pytest.mark.filterwarnings("ignore::itmlab.models.base.CutCaptions")
def test_hostile_captions_are_shown_as_text(finished, data):
    hostile = CaptionSet(
        name="hostile",
        images=[Image.new("RGB", (300, 20))],
        image_ids=["<b>id</b>"],
        captions=[HOSTILE],
        caption_ids=["0"],
        image_of_caption=[0],
        splits={},
    )
    hits = finished.search(HOSTILE, data=hostile)
    page, text = hits._repr_html_(), repr(hits)
    assert "<script" not in page and "&lt;script&gt;" in page and "<b>id" not in page
    assert "\x1b" not in text and text.count("\n") == 1
    assert page.count("data:image/jpeg;base64,") == 1 and 'width="128"' in page
    assert finished.search(data.images[0], data=hostile)._repr_html_().count("data:image/jpeg") == 1  # itself


def test_the_epoch_that_is_kept_is_the_one_whose_recall_the_weights_have(finished, data):
    assert finished.evaluate(data, split="val", ks=(1, 5))["rsum"] == pytest.approx(finished.kept_epoch["rsum"])
    kept = None
    for epoch, rsum in enumerate((50.0, 40.0, 45.0, 45.0), start=1):  # the first is the warm-up
        kept = (epoch, rsum) if keeps(rsum, kept and kept[1], epoch, warm_up_epochs=1) else kept
    assert kept == (3, 45.0)
    assert keeps(None, None, 4, 0), "the last where nothing is validated"


def test_a_run_opened_by_a_relative_path_is_found_after_chdir(finished, data, tmp_path, monkeypatch):
    monkeypatch.chdir(finished.directory.parent)
    run = Run(finished.directory.name)
    monkeypatch.chdir(tmp_path)
    assert repr(run) == f"Run(fne, tiny, {finished.directory.name})" and run.history == finished.history
    assert run.evaluate(data, ks=(1,)) == finished.evaluate(data, ks=(1,))
