import torch
from torch import nn

from lmod_train.models.vision.cnn import FeasibilityCNN


def count(classes, size):
    """Parameters by hand: two 3 x 3 convolutions, 128 hidden units, the classes."""
    return (3 * 9 * 32 + 32) + (32 * 9 * 64 + 64) + (64 * (size // 4) ** 2 * 128 + 128) + (128 * classes + classes)


def test_shape_and_size():
    for classes, size in ((4, 128), (2, 32)):
        network = FeasibilityCNN(classes, size)
        assert network(torch.rand(3, 3, size, size)).shape == (3, classes)
        assert sum(p.numel() for p in network.parameters()) == count(classes, size)
    assert count(4, 128) == 8_408_644


def test_it_sees_the_picture_and_not_its_neighbours():
    torch.manual_seed(0)
    network, images = FeasibilityCNN(2, 16), torch.rand(2, 3, 16, 16)
    together, alone = network(images), torch.cat([network(i[None]) for i in images])
    assert torch.allclose(together, alone, atol=1e-6)
    assert not torch.allclose(together[0], together[1], atol=1e-4)


def figure(classes, size):
    """The layers as LMOD figure 7 draws them, ReLU before pool, in torch's usual layout."""
    pool, relu = nn.MaxPool2d(2), nn.ReLU()
    convolutions = (nn.Conv2d(3, 32, 3, padding=1), relu, pool, nn.Conv2d(32, 64, 3, padding=1), relu, pool)
    hidden = nn.Linear(64 * (size // 4) ** 2, 128)
    return nn.Sequential(*convolutions, nn.Flatten(), hidden, relu, nn.Linear(128, classes))


def test_outputs_and_gradients_are_those_of_the_figure():
    torch.manual_seed(0)
    network, drawn = FeasibilityCNN(5, 32), figure(5, 32)
    drawn.load_state_dict(dict(zip(drawn.state_dict(), network.state_dict().values(), strict=True)))
    images, targets = torch.rand(6, 3, 32, 32) * 2 - 1, torch.arange(6) % 5
    outputs = [m(images) for m in (network, drawn)]
    assert torch.allclose(*outputs, atol=1e-6)
    for output in outputs:
        nn.functional.cross_entropy(output, targets).backward()
    for ours, theirs in zip(network.parameters(), drawn.parameters(), strict=True):
        assert torch.allclose(ours.grad, theirs.grad, atol=1e-6) and ours.grad.abs().sum() > 0
