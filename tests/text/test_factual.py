"""A sequence-to-sequence parser, on a small random T5 saved as published ones are."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import T5Config, T5ForConditionalGeneration

from itmlab.text.factual import FactualParser, factual_graph, read_tuples, spot
from itmlab.text.graph import tokenise
from tests.refusals import refused
from tests.text.fast_tokenizers import tokenizer

CAPTIONS = ["two brown dogs on the grass", "", "a man in a red shirt is riding a horse", "🐕"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, own = tmp_path_factory.mktemp("t5"), tokenizer("t5")
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    special = {"decoder_start_token_id": own.pad_token_id, "pad_token_id": own.pad_token_id, "eos_token_id": 1}
    torch.manual_seed(0)
    T5ForConditionalGeneration(T5Config(vocab_size=len(own), **sizes, **special)).save_pretrained(path)
    own.save_pretrained(path)
    return path


def test_a_random_model_writes_nonsense_which_is_counted_and_told_in_one_line(folder):
    parser = FactualParser(folder, maximum_new_tokens=12, device="cpu")
    with pytest.warns(UserWarning, match="could not be read; the first, for caption 0") as lines:
        graphs = parser.parse(CAPTIONS)
    told = [line for line in lines if "could not be read" in str(line.message)]  # others may warn when first imported
    assert len(told) == 1 and parser.faults >= 2
    assert [graph.tokens for graph in graphs] == [tokenise(caption) for caption in CAPTIONS]


def test_the_model_is_asked_in_batches_and_answers_come_in_order(folder, monkeypatch):
    asked = []

    def write(self, captions):
        asked.append(len(captions))
        return [f"( {caption.split()[-1]} )" for caption in captions]

    monkeypatch.setattr(FactualParser, "write", write)
    captions = [f"{'very ' * (7 - number)}big thing{number}" for number in range(7)]
    graphs = FactualParser(folder).parse(captions, batch_size=3)
    assert [graph.objects[0].lemma for graph in graphs] == [f"thing{number}" for number in range(7)]
    assert asked == [3, 3, 1]


def test_batches_write_what_single_captions_would(folder):
    parser = FactualParser(folder, maximum_new_tokens=8, device="cpu")
    captions = ["a dog", "two brown dogs on the grass near a man"]
    assert parser.write(captions) == [parser.write([caption])[0] for caption in captions]


def test_a_caption_too_long_for_the_model_is_counted(folder):
    parser = FactualParser(folder, maximum_new_tokens=2, device="cpu")
    parser.write(["dog " * 10_000])
    assert parser.cut == 1


def test_nothing_is_loaded_before_it_is_needed_and_a_missing_model_is_one_line(tmp_path):
    parser = FactualParser(tmp_path / "nowhere")
    assert parser.parse(["", "!"])[0].objects == ()
    refused("cannot load the pretrained model", parser.parse, ["a dog"])


def test_weights_that_need_code_or_are_not_whole_are_refused(folder, tmp_path):
    import shutil

    from safetensors.torch import load_file, save_file

    torn = shutil.copytree(folder, tmp_path / "torn")
    weights = load_file(torn / "model.safetensors")
    weights.pop("encoder.final_layer_norm.weight")
    save_file(weights, torn / "model.safetensors", {"format": "pt"})
    refused(r"lacks encoder\.final_layer_norm\.weight", FactualParser(torn).parse, ["a dog"])
    pickled = shutil.copytree(folder, tmp_path / "pickled")
    torch.save(weights, pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    refused("cannot load", FactualParser(pickled).parse, ["a dog"])


def test_one_caption_instead_of_a_list_is_refused(folder):
    refused(r"parse\(\[caption\]\)", FactualParser(folder).parse, "a dog")


def graph(caption: str, text: str):
    read, faults = factual_graph(text, tokenise(caption))
    assert faults == []
    return read


def said(caption: str, text: str) -> dict[str, str | None]:
    """Every lemma of the graph with the words that its span covers."""
    read = graph(caption, text)
    places = [(entity.lemma, entity.span) for entity in read.objects]
    places += [(one.lemma, one.span) for entity in read.objects for one in entity.attributes]
    places += [(link.lemma, link.span) for link in read.relations]
    return {lemma: None if span is None else read.text(span) for lemma, span in places}


def test_objects_attributes_counts_and_relations_are_read():
    caption = "two brown dogs sitting on the grass"
    read = graph(caption, "( dogs , is , 2 ) , ( dogs , is , brown ) , ( dogs , sit on , grass )")
    assert read.tuples() >= {("dog",), ("grass",), ("dog", "brown"), ("dog", "sit on", "grass")}
    dog, grass = read.objects
    assert (dog.count, dog.plural) == (2, True) and (grass.count, grass.plural) == (1, False)
    assert graph("dogs", "( dogs )").objects[0].count is None


def test_a_thing_named_twice_is_one_object():
    read = graph("a red ball and a dog", "( ball , is , red ) , ( ball , near , dog ) , ( ball , near , dog )")
    assert [entity.lemma for entity in read.objects] == ["ball", "dog"] and len(read.relations) == 1


@pytest.mark.parametrize(
    ("caption", "text", "wanted"),
    [
        ("trees growing on a lawn", "( trees , grow on , lawn )", {"tree": "trees", "grow on": "growing on"}),
        ("a man sits down on a chair", "( man , sit on , chair )", {"sit on": "sits down on"}),
        ("bags at the corner of a road", "( bags , in corner of , road )", {"in corner of": "corner of"}),
        ("a clock face", "( clock , have , face )", {"have": None, "clock": "clock", "face": "face"}),
        ("the soccer player hugs a player", "( soccer player , hug , player )", {"soccer player": "soccer player"}),
        ("the soccer player hugs a player", "( player , hug , soccer player )", {"player": "player", "hug": "hugs"}),
        ("blond girl in feild", "( girl , in , field ) , ( girl , is , blonde )", {"field": "feild"}),
        ("a guy", "( person )", {"person": None}),
        ("women and a woman", "( woman , with , women )", {"with": None}),
    ],
)  # fmt: skip
def test_each_part_is_found_where_it_is_said(caption, text, wanted):
    found = said(caption, text)
    assert {name: found[name] for name in wanted} == wanted


def test_the_same_word_said_of_two_things_is_found_beside_each():
    read = graph("a red ball and a red hat", "( hat , is , red ) , ( ball , is , red )")
    places = {entity.lemma: entity.attributes[0].span.start for entity in read.objects}
    assert places == {"ball": 1, "hat": 5}


def test_no_word_is_the_name_of_two_things():
    read = graph("a dog sees dogs", "( dog , see , dogs )")
    assert [entity.span.start for entity in read.objects] == [1, 3]


@pytest.mark.parametrize(
    ("text", "tuples", "faults"),
    [
        ("( dog , on , grass", [], 1),
        ("( dog , on ) , ( cat )", [("cat",)], 1),
        ("( dog ( cat )", [("cat",)], 1),
        ("well , ( dog , , grass ) ; ( cat , is , red )", [("cat", "is", "red")], 3),
        ("no graph at all", [], 1),
        ("( a , b , c , d )", [], 1),
        ("", [], 0),
        ("(dog,  is,brown),(cat)", [("dog", "is", "brown"), ("cat",)], 0),
    ],
)
def test_what_can_be_read_is_read_and_the_rest_is_counted(text, tuples, faults):
    reading = read_tuples(text)
    assert reading.tuples == tuples and len(reading.faults) == faults


@given(st.text(alphabet="(),. isdog9²\n", max_size=60), st.text(alphabet="dogs is9.", max_size=20))
def test_no_output_at_all_stops_the_reading(text, caption):
    read, faults = factual_graph(text, tokenise(caption))
    assert read.objects or faults or not text.strip(" ,\n")
    for entity in read.objects:
        assert entity.span is None or 0 <= entity.span.start < entity.span.end <= len(read.tokens)


def test_a_word_letter_for_letter_is_better_than_a_form_of_it():
    places = dict((span.start, score) for score, span in spot(["dog"], ["dogs", "dog", "frog", "do"]))
    assert places == {0: 0.95, 1: 1.0}
