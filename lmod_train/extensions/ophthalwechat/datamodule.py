"""The datamodule of OphthalWeChat's questions."""

from __future__ import annotations

from lmod_train.data.datamodules.records import RecordsDataModule


class OphthalWeChatDataModule(RecordsDataModule):
    """Statements, single-choice and open questions in Chinese and English (OphthalWeChat)."""

    of = ("binary_question", "single_choice_question", "open_question")
