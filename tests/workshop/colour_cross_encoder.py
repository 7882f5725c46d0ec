"""A cross-encoder that knows one thing, the colour of the square in the picture, and what follows for words."""

from types import SimpleNamespace

import torch
from torch.nn import functional

from itmlab.data.captionset import CaptionSet
from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.models.transformer import EmbeddedRegions
from itmlab.text.graph import Attribute, SceneGraph, SceneObject, Span, tokenise
from itmlab.text.tokens import train_wordpiece
from tests.workshop.small_world import COLOURS, SmallWorld, small_set

NAMES = list(COLOURS)
SURE = {True: 0.95, False: 0.125}  # the mismatch of a wrong colour, and of any other word


class ColourCrossEncoder(CrossEncoder):
    """Finds a colour that is not the picture's a mismatch of 0.95, writes the picture's; all else fits and stays.

    The matching logit is 2 minus 5 for each wrong colour.
    """

    def __init__(self, captions: list[str]):
        tokenizer = train_wordpiece(captions, 200)
        sizes = {"hidden": 24, "heads": 3, "layers": 1, "vocabulary_size": len(tokenizer), "maximum_tokens": 30}
        super().__init__(CrossEncoderConfig(visual="patches", **sizes), tokenizer)
        self.names = torch.tensor([tokenizer.convert_tokens_to_ids(name) for name in NAMES])
        assert tokenizer.unk_token_id not in self.names.tolist()

    def prepare_images(self, images):
        return {"pixels": torch.tensor([list(one.convert("RGB").resize((48, 48)).tobytes()) for one in images])}

    def embed_regions(self, *, pixels):
        shown = pixels.view(len(pixels), -1, 3).float()
        wanted = torch.tensor([COLOURS[name] for name in NAMES]).float()
        found = [[int((one == colour).all(dim=1).sum()) for colour in wanted] for one in shown]
        return EmbeddedRegions(torch.tensor(found).argmax(dim=1)[:, None, None], torch.ones(len(pixels), 1).bool())

    def forward(self, tokens, token_mask, regions, *, heads=("itm",)):
        own = self.names[regions.values[:, 0, 0]][:, None]
        wrong = torch.isin(tokens, self.names) & (tokens != own)
        mismatch = torch.where(wrong, SURE[True], SURE[False])
        written = functional.one_hot(torch.where(wrong, own, tokens), len(self.tokenizer)).float()
        written[..., self.tokenizer.all_special_ids] = 9.0  # never to be written
        wod = torch.stack([mismatch, 1 - mismatch], dim=-1).log()
        return SimpleNamespace(itm=2.0 - 5 * wrong.sum(dim=1), wod=wod, woc=written)

    def score(self, tokens, token_mask, regions):
        return self(tokens, token_mask, regions).itm


class JudgingWorld(SmallWorld):
    """The small world for any sentence: it is true if all its colours are the picture's, open if it names none."""

    @property
    def graphs(self) -> list[SceneGraph]:
        return [_graph(caption) for caption in self.captions]

    def truth(self, images=None, captions=None):
        return torch.tensor([[self.truth_label(int(image), each) for each in captions] for image in images])

    def entails(self, image, sentence):
        return {1: True, 0: False, -1: None}[self.truth_label(image, sentence)]

    def truth_label(self, image: int, sentence: str) -> int:
        named = {word for word in tokenise(sentence.lower()) if word in NAMES}
        return -1 if not named else int(named == {NAMES[self.images[image] % 4]})


def judging_set(count: int = 8) -> CaptionSet:
    """The squares, with a world for any sentence."""
    data = small_set(count)
    data.world = JudgingWorld(list(range(count)), data.captions, data.image_of_caption.tolist())
    return data


def _graph(caption: str) -> SceneGraph:
    """The square, its colour and nothing else."""
    tokens = tokenise(caption)
    at = {token: number for number, token in enumerate(tokens)}
    attributes = [Attribute(name, Span(at[name], at[name] + 1)) for name in NAMES if name in at]
    square = at["square"]
    return SceneGraph((SceneObject("square", tuple(attributes), span=Span(square, square + 1)),), (), tokens)
