"""A sequence-to-sequence parser, on a small random T5 saved as published ones are."""

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from itmlab.errors import ItmlabError
from itmlab.text.factual import FactualParser
from itmlab.text.graph import tokenise

from .fast_tokenizers import tokenizer

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
    assert len(lines) == 1 and parser.faults >= 2
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
    with pytest.raises(ItmlabError, match="cannot load the pretrained model"):
        parser.parse(["a dog"])


def test_weights_that_need_code_or_are_not_whole_are_refused(folder, tmp_path):
    import shutil

    from safetensors.torch import load_file, save_file

    torn = shutil.copytree(folder, tmp_path / "torn")
    weights = load_file(torn / "model.safetensors")
    weights.pop("encoder.final_layer_norm.weight")
    save_file(weights, torn / "model.safetensors", {"format": "pt"})
    with pytest.raises(ItmlabError, match=r"lacks encoder\.final_layer_norm\.weight"):
        FactualParser(torn).parse(["a dog"])
    pickled = shutil.copytree(folder, tmp_path / "pickled")
    torch.save(weights, pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    with pytest.raises(ItmlabError, match="cannot load"):
        FactualParser(pickled).parse(["a dog"])


def test_one_caption_instead_of_a_list_is_refused(folder):
    with pytest.raises(ItmlabError, match=r"parse\(\[caption\]\)"):
        FactualParser(folder).parse("a dog")
