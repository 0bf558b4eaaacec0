"""Maps: where they lie over the picture, that a network's map falls on what decides, and the files of a real run."""

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region, Reply
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.vision.picture_batch import CropBatch
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.saliency import Saliency, caption, name_of, spread
from tests.tiny import record, trainer, write_curated

REGIONS = (Region("optic disc", Box(0, 0, 8, 8), 1), Region("optic cup", Box(4, 4, 20, 8), 2))


def test_a_whole_picture_s_map_loses_its_padding():
    square = np.zeros((1, 40, 40))
    square[0, 10:30, 20:] = 1  # the picture lies in rows 10 to 30
    over = spread(record(), square, (40, 20))
    assert over.shape == (20, 40) and over[:, 21:].min() == 1 and over[:, :19].max() == 0
    tall = spread(record(), square.transpose(0, 2, 1), (20, 40))
    assert np.array_equal(tall, over.T)


def test_maps_of_regions_are_stretched_over_their_boxes_and_the_larger_counts():
    own = record(regions=REGIONS, scale=0.5)
    over = spread(own, np.stack([np.full((6, 6), 0.5), np.full((6, 6), 0.25)]), (12, 6))
    expected = np.zeros((6, 12))
    expected[2:4, 2:10] = 0.25
    expected[:4, :4] = 0.5
    assert np.allclose(over, expected)


def test_a_box_beyond_the_edge_is_cut_and_a_thin_one_is_a_pixel():
    own = record(regions=(Region("lens", Box(10, 0, 99, 99), 1), Region("pupil", Box(0, 3, 1, 3), 2)), scale=0.4)
    over = spread(own, np.ones((2, 4, 4)), (6, 6))
    assert over[:, 4:].min() == 1 and over[1, 0] == 1 and over.sum() == 13


def patches(n, side=32, seed=0):
    """Grey noise; half of the pictures have a bright patch somewhere."""
    rng = np.random.default_rng(seed)
    crops = rng.integers(40, 80, size=(n, 3, side, side)).astype(np.uint8)
    places = rng.integers(4, side - 12, size=(n, 2))
    for i in range(0, n, 2):
        y, x = places[i]
        crops[i, :, y : y + 8, x : x + 8] = 230
    return torch.from_numpy(crops), torch.arange(n) % 2, places


@pytest.fixture(scope="module")
def trained():
    torch.manual_seed(0)
    module = Classifier(Glaucoma.choices, lr=3e-3, side=32)
    module.configure_model()
    crops, targets, _ = patches(96)
    optimiser = module.configure_optimizers()
    for _ in range(40):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(module(crops), targets).backward()
        optimiser.step()
    return module.eval()


def crops_batch(crops, choices=None):
    """A batch of whole pictures; each record offers the choices of its place, all of them without."""
    offered = choices or [Glaucoma.choices] * len(crops)
    asked = [record(str(i), answer=own[0], choices=own) for i, own in enumerate(offered)]
    return CropBatch(asked, crops, torch.zeros(len(asked), dtype=torch.long), range(len(asked)))


def test_the_map_falls_on_what_decides(trained):
    crops, targets, places = patches(20, seed=9)
    with torch.no_grad():
        right = trained(crops).argmax(dim=1) == targets
    assert right.float().mean() >= 0.9
    maps = trained.saliency(crops_batch(crops)).numpy()
    assert maps.shape == (20, 32, 32) and maps.min() >= 0 and maps.max() <= 1
    for i in (i for i in range(0, 20, 2) if right[i]):
        y, x = places[i]
        peak = np.unravel_index(maps[i].argmax(), (32, 32))
        assert y - 2 <= peak[0] <= y + 9 and x - 2 <= peak[1] <= x + 9
        assert maps[i, y : y + 8, x : x + 8].sum() > 0.4 * maps[i].sum(), "the patch is 6 % of the picture"


def test_it_is_grad_cam_as_the_paper_has_it(trained):
    crops, _, _ = patches(2, seed=3)
    features = trained.model.features(crops[:1] / 255 * 2 - 1).detach().requires_grad_()
    logits = trained.model.head(features)[0]
    logits[logits.argmax()].backward()
    cam = torch.zeros(8, 8)
    for channel in range(64):
        cam += features.grad[0, channel].mean() * features[0, channel].detach()
    cam = torch.nn.functional.interpolate(cam.relu()[None, None], size=(32, 32), mode="bilinear")[0, 0]
    got = trained.saliency(crops_batch(crops))[0]
    assert torch.allclose(got, cam / cam.max(), atol=1e-5) and cam.max() > 0


def test_the_class_explained_is_the_one_that_the_record_offers_and_the_reply_says(trained):
    crops, _, _ = patches(2, seed=3)
    with torch.no_grad():
        likeliest = trained(crops).argmax(dim=1).tolist()
    offered = [(Glaucoma.choices[1 - c],) for c in likeliest]  # only what the network holds less likely
    batch = crops_batch(crops, offered)
    assert [reply.reply for reply in trained.respond(batch)] == [own[0] for own in offered]
    features = trained.model.features(crops / 255 * 2 - 1).detach().requires_grad_()
    logits = trained.model.head(features)
    (logits[0, 1 - likeliest[0]] + logits[1, 1 - likeliest[1]]).backward()
    cam = (features.grad.mean(dim=(2, 3), keepdim=True) * features.detach()).sum(dim=1, keepdim=True).relu()
    cam = torch.nn.functional.interpolate(cam, size=(32, 32), mode="bilinear")[:, 0]
    expected = cam / cam.amax(dim=(1, 2), keepdim=True).clamp_min(1e-12)
    got = trained.saliency(batch)
    assert torch.allclose(got, expected, atol=1e-5) and expected.max() > 0
    assert not torch.allclose(got, trained.saliency(crops_batch(crops)), atol=0.1)


def test_it_works_where_gradients_are_off_and_leaves_no_gradient(trained):
    crops, _, _ = patches(2)
    expected = trained.saliency(crops_batch(crops))
    trained.zero_grad()
    with torch.inference_mode():
        assert torch.equal(trained.saliency(crops_batch(crops.clone())), expected)
    assert all(p.grad is None for p in trained.parameters())
    assert trained.saliency(crops_batch(crops[:0])).shape == (0, 32, 32)


def evaluate(folder, callback, module=None):
    records = [record(f"glaucoma/phantom/{i}", image=[f"{i}.png"], split="val") for i in range(5)]
    write_curated(folder, records)
    module = module or Classifier(Glaucoma.choices, side=8, cache="none")
    module.trained = True  # what its maps show does not matter here, so no checkpoint is made
    data = RecordsDataModule(folder, [Glaucoma()], batch_size=2, eval_batch_size=2)
    loop = trainer(folder / "run", callbacks=[callback])
    loop.validate(module, data, verbose=False)
    return folder / "run" / "saliency"


def test_a_run_writes_the_first_records_as_pictures(tmp_path):
    out = evaluate(tmp_path, Saliency(first=3))
    assert sorted(p.name for p in out.iterdir()) == [f"glaucoma_phantom_{i}.png" for i in range(3)]
    with Image.open(out / "glaucoma_phantom_0.png") as picture:
        assert picture.width > 800 and np.unique(np.asarray(picture)).size > 100


def test_fewer_records_than_asked_for_are_all(tmp_path):
    assert len(list(evaluate(tmp_path, Saliency(first=99)).iterdir())) == 5


def test_maps_of_another_number_are_refused(tmp_path):
    class Wrong(Classifier):
        def saliency(self, batch):
            return super().saliency(batch)[:1]

    with pytest.raises(RuntimeError, match=r"must return \(2, height, width\), not \(1, 8, 8\)"):
        evaluate(tmp_path, Saliency(), Wrong(Glaucoma.choices, side=8, cache="none"))


def test_a_module_without_maps_and_no_records_are_refused():
    with pytest.raises(BadArgument, match=r"leave the callback out"):
        Saliency().setup(None, torch.nn.Identity(), "validate")
    with pytest.raises(BadArgument, match="1 or more"):
        Saliency(first=0)


def test_the_caption_tells_truth_answer_and_probability():
    own = record("g/p/1", answer="GLAUCOMA")
    said = Reply("g/p/1", "NON-GLAUCOMA", likelihoods={"GLAUCOMA": np.log(0.2), "NON-GLAUCOMA": np.log(0.8)})
    assert caption(own, said) == "g/p/1\ntruth: GLAUCOMA\nanswer: NON-GLAUCOMA (probability 0.80)"
    assert caption(own, Reply("g/p/1", "a\nb")).endswith("answer: a; b")


def test_long_names_are_cut_and_stay_apart():
    names = {name_of(record("x" * 300 + str(i))) for i in range(3)}
    assert len(names) == 3 and all(len(name) < 160 for name in names)
