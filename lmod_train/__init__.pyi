# ruff: noqa: I001
"""Types of the package for type checkers; `lazy_loader` reads here where each name comes from."""

from .core.artifacts.predictions import read_predictions as read_predictions
from .core.artifacts.records import read_records as read_records
from .core.artifacts.scores import read_scores as read_scores
from .core.errors import SourceNotFound as SourceNotFound
from .core.types import (
    Answer as Answer,
    Batch as Batch,
    Box as Box,
    Dropped as Dropped,
    Identity as Identity,
    ImageFile as ImageFile,
    Message as Message,
    Need as Need,
    Outline as Outline,
    Part as Part,
    Prediction as Prediction,
    Question as Question,
    Record as Record,
    Region as Region,
    Reply as Reply,
    Sample as Sample,
    SampleStream as SampleStream,
    Score as Score,
    Unparsed as Unparsed,
)
from .core.curated import Curated as Curated
from .data.curation.pipeline import curate as curate
from .data.datamodules.plain_images import PlainImages as PlainImages
from .data.datamodules.records import RecordsDataModule as RecordsDataModule
from .data.sources.base import Source as Source
from .data.sources.discovery import discover as discover
from .data.sources.sheets import UnreadableSheet as UnreadableSheet, misfit as misfit, read_sheet as read_sheet
from .models.backends.base import Backend as Backend, StreamBackend as StreamBackend
from .models.backends.huggingface import HuggingFace as HuggingFace
from .models.backends.scripted import Scripted as Scripted
from .models.chat.adapters import Lora as Lora
from .models.chat.family.base import Family as Family
from .models.modules.base import LmodModule as LmodModule
from .models.modules.classifier import Classifier as Classifier
from .models.modules.conversation import VisionLanguageModel as VisionLanguageModel
from .models.modules.fine_tuning import FineTuning as FineTuning
from .models.modules.frozen import Frozen as Frozen
from .models.modules.linear_probe import LinearProbe as LinearProbe
from .models.modules.nearest_neighbour import NearestNeighbour as NearestNeighbour
from .models.modules.optimisation import Optimisation as Optimisation
from .report.report import write_report as write_report
from .scoring.classification import classification_scores as classification_scores
from .scoring.intervals import (
    Measure as Measure,
    compute_scores as compute_scores,
    items_in as items_in,
    ratio as ratio,
)
from .scoring.items import Item as Item, items_of as items_of
from .scoring.metrics.named import (
    Accuracy as Accuracy,
    HallucinationResistance as HallucinationResistance,
    NamedMetric as NamedMetric,
    RegionF1 as RegionF1,
)
from .scoring.subset_names import subsets_of as subsets_of
from .tasks.base import Task as Task
from .tasks.conversation import Conversation as Conversation
from .tasks.parsing.choice import parse_choice as parse_choice
from .tasks.parsing.reading import read as read
from .tasks.prompt import prompt as prompt
from .tasks.parsed_replies import parse_replies as parse_replies, scores_of as scores_of
from .tasks.rescore import rescore as rescore
from .training.callbacks.best_checkpoint import BestCheckpoint as BestCheckpoint
from .training.callbacks.generation import GenerationEval as GenerationEval
from .training.callbacks.tripwires import Tripwires as Tripwires
from .training.doctor.examine import check_training as check_training
from .training.evaluation import evaluate as evaluate

__version__: str
