"""Small fast tokenisers of every kind in use, trained here: their pieces, blanks, cases and frames all differ."""

from functools import cache

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from itmlab.text.tokens import as_plain_text, train_wordpiece

CORPUS = [
    "A man in a red shirt is riding a brown horse near the lake .",
    "Two dogs run on the grass, and a woman isn't watching them.",
    "A well-worn café table next to a girl's skateboard",
    "Three people stand in front of a très grand building ; one holds an umbrella",
] * 5
KINDS = ("ours", "gpt2", "roberta")


@cache
def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    if kind == "ours":
        return train_wordpiece(CORPUS, 150)
    built = _byte_level(kind)
    names = {"mask_token": "<mask>", "pad_token": "<pad>"}
    built.add_special_tokens(list(names.values()))
    return as_plain_text(PreTrainedTokenizerFast(tokenizer_object=built, **names))


def _byte_level(kind: str) -> Tokenizer:
    built = Tokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind != "gpt2")
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"])
    built.train_from_iterator(CORPUS, trainer)
    if kind == "gpt2":  # no frame at all
        built.post_processor = processors.ByteLevel(trim_offsets=False)
    else:
        built.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return built
