"""A datamodule for each task and each benchmark of the main path, by name.

Each takes the options of `RecordsDataModule`, and asks its tasks with the settings that they were curated with. Tasks
that are named by the user, such as `Own`, `Probe` and the change between visits, are given to a `RecordsDataModule`.
"""

from __future__ import annotations

from lmod_train.data.datamodules.records import RecordsDataModule


class AnatomyDataModule(RecordsDataModule):
    """The structure in each numbered box (LMOD, LMOD+)."""

    of = ("anatomy",)


class GlaucomaDataModule(RecordsDataModule):
    """Glaucoma or not, of a fundus photograph (LMOD)."""

    of = ("glaucoma",)


class ConditionsDataModule(RecordsDataModule):
    """Twelve binary diagnoses (LMOD+)."""

    of = ("conditions",)


class FourWayDataModule(RecordsDataModule):
    """Cataract, diabetic retinopathy, glaucoma or normal (LMOD+)."""

    of = ("four_way",)


class MacularHoleStageDataModule(RecordsDataModule):
    """Stage of a macular hole in OCT (LMOD)."""

    of = ("macular_hole_stage",)


class IcdrDataModule(RecordsDataModule):
    """International clinical grade of diabetic retinopathy (LMOD+)."""

    of = ("icdr",)


class SdrgDataModule(RecordsDataModule):
    """Scottish grade of diabetic retinopathy (LMOD+)."""

    of = ("sdrg",)


class MacularEdemaRiskDataModule(RecordsDataModule):
    """Risk of macular edema, by the place of hard exudates (IDRiD)."""

    of = ("macular_edema_risk",)


class SexDataModule(RecordsDataModule):
    """Sex of the patient (LMOD, LMOD+)."""

    of = ("sex",)


class AgeGroupDataModule(RecordsDataModule):
    """Age group of the patient (LMOD, LMOD+)."""

    of = ("age_group",)


class RecognitionDataModule(RecordsDataModule):
    """Kind of image, in free words."""

    of = ("recognition",)


class BinaryQuestionDataModule(RecordsDataModule):
    """Statements that are true or false, in two languages (OphthalWeChat)."""

    of = ("binary_question",)


class SingleChoiceQuestionDataModule(RecordsDataModule):
    """Questions with four options, in two languages (OphthalWeChat)."""

    of = ("single_choice_question",)


class OpenQuestionDataModule(RecordsDataModule):
    """Questions with free answers, in two languages (OphthalWeChat)."""

    of = ("open_question",)


class ReadyQuestionDataModule(RecordsDataModule):
    """Questions with options that come with their samples."""

    of = ("question",)


class ConversationDataModule(RecordsDataModule):
    """Imported conversations, with those of yes or no and of options."""

    of = ("conversation", "yes_no_conversation", "choice_conversation")


class LmodDataModule(RecordsDataModule):
    """LMOD as first published and as in the proceedings of NAACL."""

    of = ("anatomy", "glaucoma", "macular_hole_stage", "sex", "age_group")
    protocols = ("lmod_v1", "lmod_naacl")


class LmodPlusDataModule(RecordsDataModule):
    """LMOD+."""

    of = (
        "anatomy", "conditions", "four_way", "glaucoma", "macular_hole_stage", "icdr", "sdrg", "sex", "age_group",
    )  # fmt: skip
    protocols = ("lmod_plus",)
