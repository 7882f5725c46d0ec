"""A detector for the drawn world, the analogue of bottom-up attention (Anderson et al., CVPR 2018; METHODS 5).

The papers' regions come from a Faster R-CNN that learnt the kinds and attributes of Visual Genome's boxes. This one is
given the boxes (`SceneRegions`: displaced, some around nothing) and learns what is in them from the world's own labels,
on pictures of a seed that no split uses: a crop of each box goes through six convolutions to 192 numbers, the region's
feature, and from these to the kind, colour, pattern, pose, age and clothes. The whole picture is a region too.

Read `Detector`, then `learn_to_detect`; `detected` gives the regions of a set of pictures, computed once.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt8
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn import functional

from ..data.regions import RegionFeatures, with_area
from ..errors import ItmlabError
from ..storage import build_once, refuse_foreign, weights_directory, write_bytes
from .scene import KINDS
from .world import NOTHING, SceneRegions, World, answers, questions

if TYPE_CHECKING:
    from ..data.captionset import CaptionSet

SHIPPED = weights_directory() / "pretrained_detector" / "scenes.safetensors"
WEIGHTS, REGIONS = "detector.safetensors", "regions.safetensors"
SIDE = 32  # pixels of a crop
MARGIN = 0.1  # of a box's sides, seen around it
FEATURE = 192
MEAN, STD = 0.5, 0.25  # of a crop's values in 0..1, roughly

Crops = UInt8[np.ndarray, "region 32 32 3"]


class Detector(nn.Module):
    """Crops of 32 × 32 pixels to a feature of 192 numbers each, and answers to every question of `asked`.

    Features have mean 0 and standard deviation 1 over the boxes that were learnt from.

    >>> features, answers = Detector({"kind": ("dog", "cat", "nothing")}).eval()(torch.zeros(2, 3, 32, 32))
    >>> features.shape, answers["kind"].shape
    (torch.Size([2, 192]), torch.Size([2, 3]))
    """

    def __init__(self, asked: dict[str, tuple[str, ...]]):
        super().__init__()
        self.asked = asked
        self.body = nn.Sequential(
            _convolution(3, 32, 5, stride=2),
            _convolution(32, 64), nn.MaxPool2d(2),
            _convolution(64, 96), _convolution(96, 128), nn.MaxPool2d(2),
            _convolution(128, 192), nn.Flatten(),
        )  # fmt: skip
        self.feature = nn.Sequential(
            nn.Linear(192 * (SIDE // 8) ** 2, FEATURE, bias=False), nn.BatchNorm1d(FEATURE, affine=False)
        )
        self.heads = nn.Linear(FEATURE, sum(map(len, asked.values())))

    def forward(
        self, pixels: Float[Tensor, "region 3 32 32"]
    ) -> tuple[Float[Tensor, "region 192"], dict[str, Float[Tensor, "region answer"]]]:
        """Return the features and the scores of each answer for crops of pixels."""
        feature = self.feature(self.body(pixels))
        scores = self.heads(functional.relu(feature)).split([len(names) for names in self.asked.values()], dim=1)
        return feature, dict(zip(self.asked, scores, strict=True))

    def save(self, path: Path) -> None:
        """Write weights in half precision, with the answers' names, into one file."""
        state = {
            name: value.half() if value.is_floating_point() else value for name, value in self.state_dict().items()
        }
        write_bytes(
            path,
            save(
                {name: value.contiguous() for name, value in state.items()}, metadata={"asked": json.dumps(self.asked)}
            ),
        )

    @classmethod
    def load(cls, path: Path = SHIPPED) -> "Detector":
        """Read the detector that `save` wrote, by default the shipped one, in evaluation mode.

        Raises:
            ItmlabError: the file is no detector.
        """
        try:
            with safe_open(str(path), "pt") as file:
                asked = json.loads(file.metadata()["asked"])  # one key: safetensors would order several at random
            model = cls({name: tuple(asked[name]) for name in questions()})
            model.load_state_dict({name: value.float() for name, value in load_file(path).items()})
        except Exception as error:  # safetensors, torch and a missing name each have an error of their own
            remedy = "itmlab.scenes.detector.learn_to_detect makes one"
            raise ItmlabError(f"no detector of scenes ({error!r:.160})", where=str(path), remedy=remedy) from None
        return model.eval()


def _convolution(inputs: int, outputs: int, size: int = 3, *, stride: int = 1) -> nn.Module:
    convolution = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


def crops(picture: Image.Image, boxes: Float[np.ndarray, "region 4"]) -> Crops:
    """Cut out what is in each box and a little around it.

    Args:
        picture: the picture.
        boxes: left, top, right and bottom in pixels.

    Returns:
        32 x 32 pixels for each box, each pixel an average of its area.
    """
    wide, high = (boxes[:, 2:] - boxes[:, :2]).T * MARGIN
    grown = boxes + np.stack([-wide, -high, wide, high], axis=1)
    grown = np.clip(grown, 0, np.array([picture.width, picture.height] * 2))
    cut = [picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=tuple(box)) for box in grown.tolist()]
    return np.stack([np.asarray(crop.convert("RGB")) for crop in cut])


def prepared(cut: UInt8[Tensor, "region 32 32 3"]) -> Float[Tensor, "region 3 32 32"]:
    """Crops as the detector reads them."""
    return ((cut.permute(0, 3, 1, 2).float() / 255 - MEAN) / STD).contiguous(memory_format=torch.channels_last)


# Learning: one pass is over the crops of all boxes of drawn pictures, mirrored every other step.


class Learning(NamedTuple):
    """How the detector that ships learns."""

    seed: int = 0
    epochs: int = 5
    batch: int = 256
    rate: float = 3e-3
    decay: float = 0.02
    warm_up: float = 0.1


LEARNING = Learning()
TOGETHER = 32  # pictures through the detector
OVERLAP = 0.4  # from this intersection over union on, a box at random is not around nothing


def learn_to_detect(out: str | Path, drawn: "CaptionSet", settings: Learning = LEARNING) -> Detector:
    """Train the detector on drawn pictures and write it to `out` / detector.safetensors.

    20,000 pictures take about 2 GB of memory.

    Args:
        out: a folder.
        drawn: the pictures.
        settings: of the training.
    """
    from tqdm import tqdm

    out, asked = Path(out), questions()
    refuse_foreign(out / WEIGHTS, '"asked"')
    torch.manual_seed(settings.seed)
    model = Detector(asked).to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=settings.decay)
    cut, truth = labelled(drawn, asked)
    batches = len(cut) // settings.batch
    step, steps = 0, batches * settings.epochs
    progress = tqdm(total=steps, desc="detector", mininterval=5)
    for epoch in range(settings.epochs):
        order = torch.randperm(len(cut), generator=torch.Generator().manual_seed(settings.seed + epoch))
        for rows in order.split(settings.batch)[:batches]:
            pixels = prepared(cut[rows])
            with torch.autocast("cpu", torch.bfloat16):
                _, scores = model(pixels.flip(3) if step % 2 else pixels)
            loss = _loss(scores, truth[rows])
            for group in optimiser.param_groups:
                group["lr"] = settings.rate * _rate(step / steps, settings.warm_up)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            step += 1
            progress.update()
            progress.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    progress.close()
    model.save(out / WEIGHTS)
    return Detector.load(out / WEIGHTS)


def labelled(
    data: "CaptionSet", asked: dict[str, tuple[str, ...]]
) -> tuple[UInt8[Tensor, "region 32 32 3"], Int64[Tensor, "region what"]]:
    """Return the crops of all regions of drawn pictures, and the right answers.

    Args:
        data: drawn pictures.
        asked: questions and their answers.

    Returns:
        The crops, and the number of each answer, -1 where nothing is asked.
    """
    regions = SceneRegions(data.images, data.image_ids, data.world)
    cut, truth = [], []
    for index in range(len(data)):
        picture, scene, numbers = data.images[index], data.world.scenes[index], regions.objects(index).numpy()
        boxes = regions.boxes(index)
        around = box_iou(*(torch.from_numpy(boxes[mask]) for mask in (numbers < 0, numbers >= 0)))
        clear = numbers >= 0  # a box at random that shows most of a thing is not around nothing
        clear[numbers < 0] = (around <= OVERLAP).all(dim=1).numpy()
        cut.append(torch.from_numpy(crops(picture, np.vstack([boxes[clear], whole(picture)]))))
        truth.append(
            torch.tensor([answers(scene, number, asked) for number in (*numbers[clear].tolist(), scene.place)])
        )
    return torch.cat(cut), torch.cat(truth)


def whole(picture: Image.Image) -> Float[np.ndarray, "1 4"]:
    """Return the box of a whole picture."""
    return np.array([[0, 0, picture.width, picture.height]], dtype=np.float32)


def box_iou(first: Float[Tensor, "a 4"], second: Float[Tensor, "b 4"]) -> Float[Tensor, "a b"]:
    """Return the intersection over union of boxes (left, top, right, bottom).

    >>> box_iou(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 0, 3, 2], [5, 5, 6, 6]])).tolist()
    [[0.3333333432674408, 0.0]]
    """
    corner, end = torch.maximum(first[:, None, :2], second[:, :2]), torch.minimum(first[:, None, 2:], second[:, 2:])
    shared = (end - corner).clamp(min=0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (first, second)]
    return shared / (areas[0][:, None] + areas[1] - shared)


def _loss(scores: dict[str, Tensor], truth: Int64[Tensor, "region what"]) -> Float[Tensor, ""]:
    """Cross-entropies of all questions, each a mean over the batch: the kind counts 1, a look ½, a garment ¼."""
    total = truth.new_zeros((), dtype=torch.float32)
    for (question, logits), wanted in zip(scores.items(), truth.T, strict=True):
        weight = 1.0 if question == "kind" else 0.25 if question in KINDS else 0.5
        nats = functional.cross_entropy(logits.float(), wanted, ignore_index=-1, reduction="sum")
        total = total + weight * nats / len(truth)
    return total


def _rate(done: float, warm_up: float) -> float:
    return done / warm_up if done < warm_up else (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up))) / 2


@torch.no_grad()
def marks(
    model: Detector, cut: UInt8[Tensor, "region 32 32 3"], truth: Int64[Tensor, "region what"]
) -> dict[str, float]:
    """Return the percentage of right answers for kinds by sort (settings for whole pictures), looks and clothes.

    "kinds" are those of all things and clothes; "worn" the right colour, or none, of each garment of each person.
    """
    scores = [model(prepared(part))[1] for part in cut.split(512)]
    answers = torch.stack([torch.cat([part[name].argmax(1) for part in scores]) for name in model.asked], dim=1)
    right = dict(zip(model.asked, (answers == truth).T, strict=True))
    names, kind = model.asked["kind"], truth[:, 0]
    sorts = np.array([NOTHING if name == NOTHING else KINDS[name].category for name in names])[kind.numpy()]
    shares = {sort: right["kind"][sorts == sort] for sort in dict.fromkeys(sorts)}
    shares["kinds"] = right["kind"][~np.isin(sorts, (NOTHING, "place"))]
    asked = {question: right[question][truth[:, column] >= 0] for column, question in enumerate(model.asked)}
    shares |= {question: answers for question, answers in asked.items() if question != "kind" and question not in KINDS}
    shares["worn on people"] = torch.cat([answers for question, answers in asked.items() if question in KINDS])
    return {name: round(100 * share.float().mean().item(), 1) for name, share in shares.items()}


# Detecting: the regions of a set of pictures, computed once and kept.


class DetectedRegions(SceneRegions):
    """The regions of each image as the detector sees them: those of `SceneRegions`, then the whole picture.

    Features are Float["region 192"], the confidence is 1 − P(nothing), and the tags are the kinds that it takes the
    objects for: OSCAR's object tags, right or wrong.
    """

    kind = "detector"

    def __init__(self, images: Sequence[Image.Image], image_ids: Sequence[str], world: World, file: Path):
        super().__init__(images, image_ids, world)
        self._found, self._origin = load_file(file), file.parent.name  # which names the weights
        with safe_open(str(file), "pt") as opened:
            self._names = opened.metadata()["kind"].split("\n")

    def objects(self, index: int) -> Int64[Tensor, "region"]:
        """Return the number of the object that each region of a picture is around, -1 for none."""
        return torch.cat([super().objects(index), torch.tensor([self._world.scenes[self._rows[index]].place])])

    def boxes(self, index: int) -> Float[np.ndarray, "region 4"]:
        """Return the boxes of a picture's regions (left, top, right, bottom in pixels)."""
        return np.vstack([super().boxes(index), whole(self._images[self._rows[index]])])

    def __getitem__(self, index: int) -> RegionFeatures:
        row = self._rows[index]
        mine = slice(*self._found["first"][row : row + 2].tolist())
        boxes = torch.from_numpy(with_area(self._found["boxes"][mine].numpy()))
        tags = tuple(self._names[at] for at in self._found["kind"][mine].tolist())
        return RegionFeatures(self._found["features"][mine].float(), boxes, self._found["confidence"][mine], tags)


def detected(
    images: Sequence[Image.Image], image_ids: Sequence[str], world: World, home: Path, weights: Path = SHIPPED
) -> DetectedRegions:
    """Return the detector's regions of drawn pictures; they are computed once and kept in a folder under `home`."""
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()[:12] if weights.is_file() else "none"

    def build(work: Path) -> None:
        from tqdm import tqdm

        model, regions = Detector.load(weights), SceneRegions(images, image_ids, world)
        parts = torch.arange(len(images)).split(TOGETHER)
        results = [_seen(model, images, regions, part.tolist()) for part in tqdm(parts, "regions", mininterval=5)]
        columns = {name: torch.cat([result[name] for result in results]) for name in results[0]}
        columns["first"] = functional.pad(columns.pop("count").cumsum(0), (1, 0))
        write_bytes(work / REGIONS, save(columns, metadata={"kind": "\n".join(model.asked["kind"])}))

    return DetectedRegions(images, image_ids, world, build_once(home / f"regions-{digest}", build) / REGIONS)


@torch.no_grad()
def _seen(
    model: Detector, images: Sequence[Image.Image], regions: SceneRegions, numbers: Sequence[int]
) -> dict[str, Tensor]:
    """What `DetectedRegions` keeps of some pictures."""
    pictures = [images[number] for number in numbers]
    boxes = [np.vstack([regions.boxes(at), whole(picture)]) for at, picture in zip(numbers, pictures, strict=True)]
    cut = np.concatenate([crops(*pair) for pair in zip(pictures, boxes, strict=True)])
    features, scores = model(prepared(torch.from_numpy(cut)))
    chance, nothing = scores["kind"].softmax(dim=1), model.asked["kind"].index(NOTHING)
    sides = [np.array([picture.width, picture.height] * 2, dtype=np.float32) for picture in pictures]
    return {
        "features": features.half(),
        "boxes": torch.from_numpy(np.concatenate([box / side for box, side in zip(boxes, sides, strict=True)])),
        "kind": chance.index_fill(1, torch.tensor([nothing]), 0.0).argmax(1).short(),
        "confidence": 1 - chance[:, nothing],
        "count": torch.tensor(list(map(len, boxes))),
    }
