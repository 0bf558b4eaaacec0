"""Records, replies and answers of every kind, to be written and read back."""

from __future__ import annotations

from dataclasses import replace

from lmod_train.core.types import (
    Answer,
    Box,
    Message,
    Part,
    Patient,
    Record,
    Region,
    Reply,
    Unparsed,
)

FULL = Record(
    id="anatomy/refuge/train%2F1/zh", task="anatomy", task_class="lmod_train.tasks.anatomy.Anatomy", task_version=3,
    source="refuge", key="train/1", modality="CFP", image=("images/refuge/1-m.jpg",),
    image_plain=("images/refuge/1.jpg",), image_sha256=("ab" * 32,), split="train", group="p7", language="zh",
    messages=(
        Message("system", (Part("text", "你是一名眼科医生。"),)),
        Message("user", (Part("image"), Part("text", "图中方框是什么？\n\u2028选择：视盘、视杯"))),
    ),
    choices=("视盘", "视杯"), answer="区域：1；类型：视盘",
    regions=(Region("optic disc", Box(3, 4, 90, 80), 1), Region("optic cup", Box(20, 22, 60, 59), 2)),
    scale=0.4866666666666667, chain="c", chain_step="s", needs=("a/b/1", "a/b/2"), variant="v",
    tags={"level": "2", "impact": "高"}, phantom=True, patient=Patient(61.5, "F", "right", "Zeiss", "good"),
    licence="CC BY 4.0",
)  # fmt: skip
BARE = replace(
    FULL, id="four_way/eye/2", task="four_way", image=(), image_plain=(), image_sha256=(), split="test", messages=(),
    choices=(), regions=(), patient=Patient(), licence="", chain="", chain_step="", language="en", needs=(), variant="",
    tags={}, phantom=False,
)  # fmt: skip
REPLY = Reply(
    id=FULL.id, reply='视盘 "quoted"\r\n\u2028\t{"a": 1}', finish_reason="length", error="", rendered="<s>USER: 图\n",
    step=120, tokens_in=700, tokens_out=12, seconds=0.125, model="small_base", settings='{"max_new_tokens": 64}',
    likelihoods={"视盘": -0.25, "视杯": -1.5}, asked="ef" * 32,
)  # fmt: skip
ANSWERS: list[Answer | Unparsed] = [
    "NON-GLAUCOMA",
    "青光眼",
    "",
    0.0,
    -2.5,
    {1: "optic disc", 12: "视杯"},
    {},
    *(Unparsed(reason, "为什么") for reason in ("empty", "no_match", "ambiguous", "refused", "truncated", "failed")),
]
