"""Occlusion maps of networks with known answers: computed by hand, window by window, and invalid arguments."""

import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.models.vision.occlusion import occlusion


def weighing(weights):
    """A network of two classes: the picture's first channel weighed place by place speaks for the second."""

    def network(images):
        score = (images[:, 0] * weights).sum(dim=(1, 2))
        return torch.stack([torch.zeros_like(score), score], dim=1)

    return network


def test_each_place_has_the_mean_over_the_windows_that_cover_it():
    torch.manual_seed(0)
    image, weights = torch.randn(1, 3, 24, 36), torch.randn(24, 36)
    network = weighing(weights)
    sign = 1 if network(image)[0, 1] > 0 else -1  # the log-odds of two classes are the difference of their logits

    def drops(height, width):
        total, count = torch.zeros(24, 36), torch.zeros(24, 36)
        for y in range(0, 25 - height, height // 2):
            for x in range(0, 37 - width, width // 2):
                window = (slice(y, y + height), slice(x, x + width))
                difference = image[0, 0][window] - image[0, 0].mean()
                total[window] += sign * (difference * weights[window]).sum()
                count[window] += 1
        assert count.min() == 1 and count.max() == 4
        return total / count

    for parts, expected in (([3], drops(8, 12).relu()), ([3, 6], (drops(8, 12) + drops(4, 6)).relu())):
        assert torch.allclose(occlusion(network, image, parts)[0], expected / expected.max(), atol=1e-5)


def test_the_likeliest_of_several_classes_is_explained_against_all_others():
    def network(images):  # a picture's three channels, each summed over another third of the columns
        return torch.stack([images[:, c, :, 4 * c : 4 * c + 4].sum(dim=(1, 2)) for c in range(3)], dim=1)

    images = torch.zeros(2, 3, 12, 12)
    images[0, 1, 4:8, 4:8] = images[0, 2, 0:3, 9:12] = 1  # 16 of the second class, 9 of the third
    images[1, 2, 8:12, 8:12] = 1
    maps = occlusion(network, images, [6])
    assert maps[0, 4:8, 4:8].min() > 0.3 and maps[0, :3, 9:].max() == 0, "what speaks for another class is 0"
    assert maps[1, 8:12, 8:12].min() > 0.3 and maps.amax(dim=(1, 2)).tolist() == [1, 1]


def test_a_confident_network_has_a_map():
    image = torch.zeros(1, 1, 28, 28)
    image[0, 0, 8:16, 8:16] = 1
    network = weighing(torch.full((28, 28), 10.0))
    assert network(image).softmax(dim=1)[0, 1] == 1 == network(image / 2).softmax(dim=1)[0, 1]
    assert divmod(int(occlusion(network, image)[0].argmax()), 28) in {
        (y, x) for y in range(8, 16) for x in range(8, 16)
    }


def test_where_half_of_a_thing_is_enough_the_larger_windows_find_it():
    image = torch.zeros(1, 1, 28, 28)
    image[0, 0, 7:14, 14:21] = 1  # a window of a 7th covers a third of it at most

    def network(images):
        score = (images[:, 0].sum(dim=(1, 2)).clamp_max(15) - 10) * 3
        return torch.stack([torch.zeros_like(score), score], dim=1)

    assert not occlusion(network, image, [7]).any()
    y, x = divmod(int(occlusion(network, image)[0].argmax()), 28)
    assert 7 <= y < 14 and 14 <= x < 21


def test_an_answer_that_rests_nowhere_has_an_empty_map_and_no_pictures_have_none():
    assert not occlusion(lambda images: torch.zeros(len(images), 2), torch.rand(2, 3, 16, 16)).any()
    assert occlusion(weighing(torch.ones(16, 16)), torch.zeros(0, 3, 16, 16)).shape == (0, 16, 16)


def test_how_many_go_together_changes_nothing_and_is_kept():
    torch.manual_seed(0)
    image, network, sizes = torch.rand(1, 3, 28, 28), weighing(torch.randn(28, 28)), []

    def counting(images):
        sizes.append(len(images))
        return network(images)

    expected = occlusion(network, image)
    before = image.clone()
    assert torch.allclose(occlusion(counting, image, together=50), expected, atol=1e-6)
    assert sizes == [1, 50, 50, 50, 19, 1, 49] and torch.equal(image, before)


@pytest.mark.parametrize(
    ("arguments", "side"),
    [({"parts": [7, 0]}, 28), ({"together": 0}, 28), ({"parts": [4, 7]}, 13), ({"parts": []}, 28)],
)
def test_windows_of_invalid_size_are_refused(arguments, side):
    with pytest.raises(BadArgument, match=f"{next(iter(arguments))}=.*\nNext: "):
        occlusion(weighing(torch.ones(side, side)), torch.zeros(1, 3, side, side), **arguments)
