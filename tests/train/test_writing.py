"""VSRN's second loss beside its matching: captions written from their own images."""

import pytest
import torch
from accelerate import Accelerator

from itmlab.models import build_model
from itmlab.scenes import load
from itmlab.train.loop import train
from itmlab.train.step_dual import DualEncoderTask
from tests.train.test_dual_encoder import small
from tests.train.test_tags import first_batch


class OneOfTwo:
    """An accelerator of two processes of which this is one; the other's features are known."""

    num_processes, device = 2, torch.device("cpu")

    def __init__(self, process_index, whole):
        self.process_index, self.whole = process_index, whole

    def gather(self, own):
        """The whole batch's, of those features whose own part this process has."""
        half = slice(self.process_index * len(own), (self.process_index + 1) * len(own))
        shape = (2 * len(own), own.shape[1])
        return next(all_of for all_of in self.whole if all_of.shape == shape and all_of[half].allclose(own))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return load(images=36, cache=tmp_path_factory.mktemp("scenes"), regions="pixels")


def task_and_batch(scenes, accelerator=None, **changes):
    recipe, data = small("vsrn", **changes), scenes.split("train")
    model = build_model(recipe.model, data.captions, seed=0)
    task = DualEncoderTask(recipe, data, model, accelerator or Accelerator(), torch.Generator().manual_seed(0))
    return task, first_batch(data, size=6, seed=1, captions_per_image=2, **task.preparation())


@pytest.mark.parametrize("epoch", [0, 1])
def test_the_loss_is_matching_and_writing_each_caption_from_its_own_image(scenes, epoch):
    task, batch = task_and_batch(scenes, writing=0.5)
    matching = task_and_batch(scenes, writing=0.0)[0](batch, epoch)
    assert matching.losses == {}
    nats = []
    for row, caption in zip(batch.image_rows, batch.captions, strict=True):
        image = task.model.encode_images({name: value[row : row + 1] for name, value in batch.images.items()})
        nats.append(task.model.caption_nats(image, task.model.prepare_captions([caption])))
    made, writing = task(batch, epoch), torch.cat(nats).mean()
    torch.testing.assert_close(made.loss, matching.loss + 0.5 * writing)
    torch.testing.assert_close(made.losses, {"matching": matching.loss.detach(), "writing": writing.detach()})


def test_two_processes_have_the_gradient_of_one(scenes):
    task, batch = task_and_batch(scenes)
    seen, said = task.model.encode_images(batch.images), task.model.encode_captions(batch.tokens)
    rows = batch.image_rows
    of_pairs = type(seen)(seen.pooled[rows], seen.local[rows], seen.mask[rows])
    nats = task.model.caption_nats(of_pairs, batch.tokens)
    whole = [value.detach() for value in (seen.pooled, said.pooled, nats.unsqueeze(1))]
    alone = task(batch, epoch=1)
    alone.loss.backward()
    added_up: dict[str, torch.Tensor] = {}
    for index in (0, 1):
        part, own = task_and_batch(scenes, OneOfTwo(index, whole))
        made = part(own, epoch=1)
        torch.testing.assert_close(made.loss, alone.loss)
        made.loss.backward()
        for name, weight in part.model.named_parameters():
            added_up[name] = added_up.get(name, 0) + weight.grad
    for name, weight in task.model.named_parameters():
        torch.testing.assert_close(added_up[name], weight.grad, rtol=1e-4, atol=1e-6)


def test_it_is_learnt_and_recorded(scenes, tmp_path):
    recipe = small("vsrn", data__epochs=8, data__captions_per_image="all", optimiser__learning_rate=0.005)
    records = []
    run = train(recipe, scenes, tmp_path, progress=False, on_record=records.append)
    assert all(record["losses"].keys() == {"matching", "writing"} for record in records if record["kind"] == "step")
    writing = [record["losses"]["writing"] for record in records if record["kind"] == "step"]
    assert writing[-1] < 0.85 * writing[0], writing
    assert run.finished
