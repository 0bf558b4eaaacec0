import torch

from lmod_train.models.cnn import FeasibilityCNN


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
