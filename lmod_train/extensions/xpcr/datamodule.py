"""The datamodules of X-PCR's questions."""

from __future__ import annotations

from lmod_train.data.datamodules.records import RecordsDataModule


class ChainDataModule(RecordsDataModule):
    """Questions of six stages about one image, those of one chain in one batch (X-PCR)."""

    of = ("chain",)


class CrossModalityDataModule(RecordsDataModule):
    """Questions about two images of different kinds of one case (X-PCR)."""

    of = ("cross_modality",)


class XpcrDataModule(RecordsDataModule):
    """X-PCR: chains, and cases of two images."""

    of = ("chain", "cross_modality")
