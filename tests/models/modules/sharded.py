"""Fits and evaluations in two processes under a strategy; apart from the tests, so that they import little."""

import faulthandler
import json
import os
import socket

import torch
from lightning import Callback, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.strategies import DDPStrategy

from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.chat import answer_loss
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.models.strategies.saved import AnyCheckpoint
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.best_checkpoint import BestCheckpoint
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.doctor.read_back import ReadBack
from tests import forks
from tests.tiny import record, trainer, write_curated

STRATEGIES = ("ddp", "fsdp2", "zero1", "zero2", "zero3", "zero3_offload")
LONGEST = 600
ANSWERS = ("NON-GLAUCOMA", "GLAUCOMA; Explanation: a large cup and a thin rim below.")


def strategy(name):
    if name == "one":
        return "auto"
    if name == "ddp":
        return DDPStrategy(process_group_backend="gloo")
    if name == "fsdp2":
        from lmod_train.models.strategies.sharding_fsdp import FullyShard

        return FullyShard(process_group_backend="gloo")
    from lmod_train.models.strategies.sharding_deepspeed import DeepSpeed

    offload = name.endswith("offload")
    made = DeepSpeed(int(name[4]), offload, offload, logging_level=30)
    if name.startswith("zero3"):  # by default so small parameters would stay on every rank
        made.config["zero_optimization"]["stage3_param_persistence_threshold"] = 100
    return made


class Watch(Callback):
    """Notes losses, norms of the steps' gradients, and replies; stops before a step if `stop_at` is set."""

    def __init__(self, stop_at=None):
        self.losses, self.norms, self.stop_at, self.replies = [], [], stop_at, {}

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        gradients = [p.grad for p in pl_module.parameters() if p.grad is not None]
        if type(trainer.strategy).__name__ != "DeepSpeed":
            norm = torch.nn.utils.get_total_norm(gradients)
            self.norms.append(float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm))

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.losses.append(float(outputs["loss"]))
        if type(trainer.strategy).__name__ == "DeepSpeed" and not trainer.fit_loop._should_accumulate():
            self.norms.append(float(trainer.strategy.deepspeed_engine.get_global_grad_norm()))
        if trainer.global_step == self.stop_at:
            trainer.save_checkpoint(f"{trainer.default_root_dir}/half.ckpt")
            trainer.should_stop = True

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self.replies |= {r.id: r.reply for r in outputs}

    on_test_batch_end = on_validation_batch_end


def module(tiny, kind, **options):
    seed_everything(1, verbose=False)
    lora = Lora(4, 8, 0.0) if kind == "lora" else None
    rates = Optimisation(1e-2, 1e-3, 0.1, warmup=0.2)
    return VisionLanguageModel(
        str(tiny),
        lora,
        rates,
        max_new_tokens=5,
        gradient_checkpointing=True,
        tune_language_model=lora is None,
        **options,
    )


def data(curated, ranks, size=4):
    return RecordsDataModule(
        curated, [Glaucoma()], batch_size=max(size // ranks, 1), eval_batch_size=2, max_questions=2
    )


def quick(place, name, watch, *more, **options):
    ranks = 1 if name == "one" else 2
    made = trainer(
        place,
        strategy=strategy(name),
        devices=ranks,
        max_epochs=2,
        callbacks=[watch, GenerationEval(), *more],
        **{"gradient_clip_val": 0.5, **options},
    )
    if name == "one":
        made.strategy.checkpoint_io = AnyCheckpoint()
    return made


def fit(place, curated, tiny, name, kind, trainer_options, stop_at=None, ckpt=None, size=4, at_once=2**25, **options):
    answer_loss.AT_ONCE = at_once
    watch = Watch(stop_at)
    kept = ModelCheckpoint(place / "kept", save_last=True, save_top_k=0, every_n_train_steps=2)
    back = ReadBack()
    trainer_options = {
        "limit_val_batches": 1.0 if stop_at is None else 0,
        "enable_checkpointing": True,
        **trainer_options,
    }
    made = quick(place, name, watch, kept, back, BestCheckpoint(), **trainer_options)
    made.fit(module(tiny, kind, **options), datamodule=data(curated, made.world_size, size), ckpt_path=ckpt)
    if stop_at is None:
        made.save_checkpoint(place / "last.ckpt")
    found = {"losses": watch.losses, "norms": watch.norms, "replies": watch.replies, "compared": back.compared}
    return found | {"in_chunks": list(answer_loss._ENDS_IN_HEAD.values())}


def validate(place, curated, tiny, name, kind, ckpt, trainer_options, **options):
    watch = Watch()
    made = quick(place, name, watch, **trainer_options)
    made.validate(
        module(tiny, kind, **options), datamodule=data(curated, made.world_size), ckpt_path=ckpt, verbose=False
    )
    return {"replies": watch.replies}


def work(rank, port, out, jobs):
    faulthandler.dump_traceback_later(LONGEST, exit=True)  # ranks that wait for one another end, and say where
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_RANK": str(rank)}
    for label, what, arguments in jobs:
        found = {"fit": fit, "validate": validate}[what](**arguments)
        (out / f"{label}-{rank}.json").write_text(json.dumps(found))


def run(out, jobs):
    """Run jobs (label, what, arguments) one by one in two processes; return label -> what each rank found."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out.mkdir(parents=True, exist_ok=True)
    forks.ranks(work, port, out, jobs)
    return {label: [json.loads((out / f"{label}-{r}.json").read_text()) for r in (0, 1)] for label, *_ in jobs}


def curated(folder):
    """Twelve training records in an order where each rank has images, eleven of validation with uneven prompts."""
    records = [
        record(f"glaucoma/p/{i:02}", "Glaucoma? " * (1 + i % 3), [f"{i % 5}.png"], ANSWERS[i % 2], split="train")
        for i in range(12)
    ]
    records += [
        record(f"glaucoma/v/{i:02}", "Does it? " * (1 + i), [f"{i % 4}.png"], ANSWERS[i % 2], split="val")
        for i in range(11)
    ]
    return write_curated(folder, records, side=40)
