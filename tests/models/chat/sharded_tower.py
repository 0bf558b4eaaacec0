"""A tower divided between two processes, of which one knows its image and the other does not."""

import datetime
import os

import torch
from torch import distributed
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForImageTextToText

from lmod_train.models.chat.tower_features import TowerFeatures
from tests import forks


def work(rank, port, checkpoint, folder):
    """Encode two images, of which process 0 has had the second already; note what came out."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    soon = datetime.timedelta(seconds=30)
    distributed.init_process_group("gloo", rank=rank, world_size=2, timeout=soon)
    network = AutoModelForImageTextToText.from_pretrained(checkpoint, local_files_only=True).requires_grad_(False)
    features = TowerFeatures(network, folder / str(rank))
    tower = network.model.vision_tower
    for layer in tower.encoder.layers:  # not the tower itself: its class becomes one whose states are not captured
        fully_shard(layer, reshard_after_forward=True)
    side = network.config.vision_config.image_size
    images = torch.rand(2, 3, side, side, generator=torch.Generator().manual_seed(rank))
    seen = [0, 0] if rank == 0 else [0, 1]
    made = [network.get_image_features(images[[i]], return_dict=True).pooler_output[0] for i in [*seen, 0]]
    torch.save([images[seen], torch.stack(made[:2]), features.found, features.computed], folder / f"{rank}.pt")
    distributed.destroy_process_group()


def run(checkpoint, folder, port):
    """Run both processes; return for each its images, their features, and how many it found and computed."""
    forks.ranks(work, port, checkpoint, folder)
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in (0, 1)]
