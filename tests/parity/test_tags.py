"""TAGS-DC's second stage (Fan et al., 2022): its checkpoint, its four heads, its losses; README.md."""

import pytest
import torch

from itmlab import losses
from tests.parity.test_uniter import CLOSE, public


@pytest.fixture(scope="module")
def stage_2(tmp_path_factory):
    return public("tags", tmp_path_factory.mktemp("tags"))


def output_of(stage_2, caption: int, kind: str, heads: tuple[str, ...]):
    """What the heads answer to one caption's sentences with its image."""
    model, code = stage_2
    ids = code[f"{caption}.{kind}_input_ids"]
    image = (code[f"{caption}.{name}"].expand(len(ids), -1, -1) for name in ("img_feat", "img_pos_feat"))
    with torch.no_grad():
        return model(ids, torch.ones_like(ids, dtype=torch.bool), model.embed_regions(*image), heads=heads)


def test_every_head_of_the_checkpoint_is_read(stage_2):
    _, code = stage_2
    for caption in (0, 1):
        output = output_of(stage_2, caption, "syn", ("itm", "wod", "woc"))
        torch.testing.assert_close(output.wod.softmax(-1), code[f"{caption}.disc_p"], **CLOSE)
        torch.testing.assert_close(output.woc, code[f"{caption}.correction_logits"], **CLOSE)
        scores = torch.cat([output_of(stage_2, caption, "gt", ("itm",)).itm, output.itm])
        torch.testing.assert_close(scores, code[f"{caption}.rank_scores"], **CLOSE)


def both(code, name: str, padding: int) -> torch.Tensor:
    """The sentences of both captions, padded to one length."""
    parts = [code[f"0.{name}"], code[f"1.{name}"]]
    width = max(part.shape[1] for part in parts)
    return torch.cat([torch.nn.functional.pad(part, (0, width - part.shape[1]), value=padding) for part in parts])


def test_the_released_losses_are_means_of_means(stage_2):
    """Two captions of different lengths and numbers of sentences; one masked word was filled with the same word."""
    _, code = stage_2
    groups = torch.tensor([0, 0, 0, 1, 1])
    synthetic = both(code, "syn_input_ids", 0)
    code = code | {f"{at}.gt": code[f"{at}.gt_input_ids"].expand_as(code[f"{at}.syn_input_ids"]) for at in (0, 1)}
    original, attended = both(code, "gt", 0), both(code, "syn_input_ids", -1) >= 0
    masked = both(code, "txt_labels", -1) >= 0
    assert (masked & (synthetic == original)).any()
    answers = [output_of(stage_2, caption, "syn", ("itm", "wod", "woc")) for caption in (0, 1)]
    wod, woc = (
        torch.cat([torch.nn.functional.pad(part, (0, 0, 0, synthetic.shape[1] - part.shape[1])) for part in parts])
        for parts in zip(*((answer.wod, answer.woc) for answer in answers), strict=True)
    )

    def released(name: str) -> torch.Tensor:
        return (code[f"0.{name}"] + code[f"1.{name}"]) / 2

    output = losses.word_discrimination(wod, synthetic, original, attended, kept_weight=0.11, groups=groups)
    torch.testing.assert_close(output, released("disc_loss"), **CLOSE)
    sentences = synthetic, original, attended
    output = losses.word_correction(woc, *sentences, positions="masked", masked=masked, groups=groups)
    torch.testing.assert_close(output, released("correction_loss"), **CLOSE)
    assert not torch.isclose(losses.word_correction(woc, *sentences, positions="replaced", groups=groups), output)
    labels = both(code, "mlm_txt_labels", -1)
    mlm = [output_of(stage_2, caption, "mlm", ("mlm",)).mlm for caption in (0, 1)]
    chosen = torch.cat([logits[code[f"{caption}.mlm_txt_labels"] >= 0] for caption, logits in enumerate(mlm)])
    labels = torch.where(labels >= 0, labels, losses.UNLABELLED)
    output = losses.token_likelihood(chosen, labels, groups=groups)
    torch.testing.assert_close(output, released("masked_lm_loss"), **CLOSE)
    synthetic_logits, allowed = torch.zeros(2, 3), torch.tensor([[True] * 3, [True, True, False]])
    synthetic_logits[allowed] = torch.cat([code[f"{caption}.rank_scores"][1:] for caption in (0, 1)])
    positives = torch.stack([code[f"{caption}.rank_scores"][0] for caption in (0, 1)])
    output = losses.synthetic_matching(positives, synthetic_logits, allowed)
    torch.testing.assert_close(output, released("rank_loss"), **CLOSE)
