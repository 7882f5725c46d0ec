"""Public UNITER and OSCAR checkpoints: every weight of their layouts is read, and nothing else is accepted."""

import re

import pytest
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForPreTraining

from itmlab.models import CrossEncoder, CrossEncoderConfig, load_public
from itmlab.models.weights.uniter import FreshHeads
from itmlab.text.tokens import train_wordpiece
from tests.models.cross_encoders import CLOSE
from tests.refusals import refused

CAPTIONS = ["a dog runs on the grass", "two red cars next to a tree", "a cat", "a man rides a horse in a field"]
HIDDEN, REGION = 24, 16
pytestmark = pytest.mark.filterwarnings("ignore::itmlab.models.weights.uniter.FreshHeads")


@pytest.fixture(scope="module")
def tokenizer():
    return train_wordpiece(CAPTIONS, 120)


@pytest.fixture(scope="module")
def bert(tokenizer) -> BertForPreTraining:
    """BERT from another library, the reference for everything that both formats took over from it."""
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=3,
                        intermediate_size=40, max_position_embeddings=80)  # fmt: skip
    model = BertForPreTraining(config).eval()
    for weights in model.parameters():
        weights.data += 0.2 * torch.randn_like(weights)
    return model


def linear(name: str, outputs: int, inputs: int) -> dict:
    return {f"{name}.weight": torch.randn(outputs, inputs), f"{name}.bias": torch.randn(outputs)}


def norm(name: str) -> dict:
    return {f"{name}.weight": torch.randn(HIDDEN), f"{name}.bias": torch.randn(HIDDEN)}


def body(bert: BertForPreTraining, prefix: str) -> dict:
    """The weights of BERT and of its word head in the layout of 2019, where the decoder's bias had one name."""
    torch.manual_seed(4)
    weights = {re.sub(r"^bert\.", prefix, name): value.clone() for name, value in bert.state_dict().items()}
    weights.pop("cls.predictions.decoder.bias", None)
    weights["cls.predictions.decoder.weight"] = weights[f"{prefix}embeddings.word_embeddings.weight"].clone()
    return weights


def uniter(bert: BertForPreTraining) -> dict:
    """A UNITER pretraining checkpoint: text, image, encoder, pooler, word head, matching head."""
    weights = {name: value for name, value in body(bert, "uniter.").items() if "seq_relationship" not in name}
    inside = "uniter.img_embeddings."
    weights |= linear(f"{inside}img_linear", HIDDEN, REGION) | linear(f"{inside}pos_linear", HIDDEN, 7)
    for name in ("img_layer_norm", "pos_layer_norm", "LayerNorm"):
        weights |= norm(inside + name)
    weights[f"{inside}mask_embedding.weight"] = torch.randn(2, REGION)
    return weights | linear("itm_output", 2, HIDDEN)


def oscar(bert: BertForPreTraining) -> dict:
    """An OSCAR pretraining checkpoint: BERT's, with one map of feature and box."""
    return body(bert, "bert.") | linear("bert.img_embedding", HIDDEN, REGION + 6)


def load(weights, tokenizer, tmp_path, **changes):
    form = "uniter" if any("pos_linear" in name for name in weights) else "oscar"
    sizes = dict(region_dimension=REGION, hidden=HIDDEN, layers=2, heads=3, intermediate=40, positions=80,
                 maximum_tokens=40, vocabulary_size=len(tokenizer))  # fmt: skip
    save_file({name: value.clone() for name, value in weights.items()}, tmp_path / "public.safetensors")
    config = CrossEncoderConfig(form=form, **(sizes | changes))
    return load_public(tmp_path / "public.safetensors", tokenizer, config)


def scores(model: CrossEncoder, regions: bool = True, heads=("itm", "mlm", "wod", "woc")):
    torch.manual_seed(7)
    tokens = model.prepare_captions(CAPTIONS)
    with torch.no_grad():
        embedded = model.embed_regions(torch.randn(4, 3, REGION), torch.rand(4, 3, 7))
        embedded = embedded._replace(mask=torch.full((4, 3), regions))
        return tokens, model(tokens["input_ids"], tokens["attention_mask"], embedded, heads=heads)


def assert_same_scores(model: CrossEncoder, other: CrossEncoder) -> None:
    for head in ("itm", "mlm", "wod", "woc"):
        assert torch.equal(getattr(scores(model)[1], head), getattr(scores(other)[1], head))


@pytest.mark.parametrize("layout", [uniter, oscar])
def test_without_regions_the_transformer_is_the_bert_that_it_was_made_of(layout, bert, tokenizer, tmp_path):
    model = load(layout(bert), tokenizer, tmp_path)
    tokens, output = scores(model, regions=False)
    with torch.no_grad():
        expected = bert(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"])
    real = tokens["attention_mask"].bool()
    torch.testing.assert_close(output.mlm[real], expected.prediction_logits[real], **CLOSE)
    if layout is oscar:  # class 0 of BERT's second head means that the two belong together
        classes = expected.seq_relationship_logits
        torch.testing.assert_close(output.itm.sigmoid(), classes.softmax(-1)[:, 0], **CLOSE)


@pytest.mark.parametrize("layout", [uniter, oscar])
@pytest.mark.parametrize(
    "change",
    [
        lambda weights: {f"module.{name}": value for name, value in weights.items()},
        lambda weights: {name: value for name, value in weights.items() if "decoder" not in name},
        lambda weights: weights | {"cls.predictions.decoder.bias": weights["cls.predictions.bias"]},
        lambda weights: {re.sub(r"^(uniter|bert)\.", "", name): value for name, value in weights.items()},
    ],
    ids=["module", "no-decoder", "decoder-bias", "bare"],
)
def test_every_way_of_writing_the_same_weights_gives_the_same_scores(layout, change, bert, tokenizer, tmp_path):
    weights = layout(bert)
    model = load(weights, tokenizer, tmp_path)
    assert_same_scores(load(change(weights), tokenizer, tmp_path), model)
    model.save(tmp_path / "ours")
    assert_same_scores(CrossEncoder.load(tmp_path / "ours"), model)


def test_a_matching_head_becomes_a_ranking_logit_of_the_same_probability(bert, tokenizer, tmp_path):
    weights = uniter(bert)
    with pytest.warns(FreshHeads, match=r"itm \(log-odds of itm_output\)"):
        model = load(weights, tokenizer, tmp_path)
    pooled = torch.randn(5, HIDDEN)
    classes = pooled @ weights["itm_output.weight"].T + weights["itm_output.bias"]
    torch.testing.assert_close(model.heads.itm(pooled).sigmoid()[:, 0], classes.softmax(-1)[:, 1], **CLOSE)


def test_missing_heads_start_fresh_always_the_same_and_are_reported(bert, tokenizer, tmp_path):
    weights = {name: value for name, value in uniter(bert).items() if not name.startswith(("cls.", "itm_output"))}
    with pytest.warns(FreshHeads, match="fresh: itm, mlm, woc, wod"):
        model = load(weights, tokenizer, tmp_path)
    assert torch.equal(model.heads.wod.weight, load(weights, tokenizer, tmp_path).heads.wod.weight)


def test_what_does_not_belong_is_refused_with_its_name(bert, tokenizer, tmp_path):
    weights = uniter(bert)
    cases = {
        "unexpected: vqa_output": weights | linear("vqa_output", 9, HIDDEN),
        "unexpected: .*encoder.1.adapter": weights | {"uniter.encoder.layer.1.adapter": torch.zeros(2)},
        "missing: encoder.1.output.bias": without(weights, "uniter.encoder.layer.1.output.dense.bias"),
        "missing: heads.mlm.bias": without(weights, "cls.predictions.bias"),
        "second name of text.words": weights | {"cls.predictions.decoder.weight": torch.zeros(len(tokenizer), HIDDEN)},
        "second name of pooler": weights | {"module.uniter.pooler.dense.weight": torch.zeros(HIDDEN, HIDDEN)},
        "size mismatch for pooler.weight": weights | {"uniter.pooler.dense.weight": torch.zeros(2, HIDDEN)},
        "missing: heads.wod.bias": weights | {"disc_output.weight": torch.zeros(2, HIDDEN)},
    }
    for words, content in cases.items():
        refused(words, load, content, tokenizer, tmp_path)
    refused("the tokeniser has", load, weights, tokenizer, tmp_path, vocabulary_size=30)
    refused("size mismatch for text.words.weight", load, weights, train_wordpiece(CAPTIONS, 60), tmp_path)


def without(weights: dict, name: str) -> dict:
    return {key: value for key, value in weights.items() if key != name}


def test_a_file_of_another_format_is_refused(tokenizer, tmp_path):
    torch.save({}, tmp_path / "public.pt")
    refused("not a .safetensors file", load_public, tmp_path / "public.pt", tokenizer, CrossEncoderConfig())
    refused("no such file", load_public, tmp_path / "absent.safetensors", tokenizer, CrossEncoderConfig())
