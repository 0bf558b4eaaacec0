"""Train and evaluate multimodal language models on eye images, from raw datasets to the tables of a paper.

These names are for Python and notebooks; each is imported when it is first used, and only the models and what trains
them import torch:

- `discover`: find raw datasets below a folder
- `curate`: make benchmark records of them
- `read_records`: read curated records
- `RecordsDataModule`: load them in Lightning
- `Scripted`, `HuggingFace`: backends, which answer and are not trained
- `Frozen`: a backend as a LightningModule
- `Classifier`, `FineTuning`, `LinearProbe`, `NearestNeighbour`, `VisionLanguageModel`: LightningModules to train
- `GenerationEval`: the callback that stores and scores replies while a Trainer runs
- `evaluate`: ask a backend or module the records of a datamodule and return the predictions
- `Record`, `Reply`, `Prediction`, `Score`: a question, a reply to it, the answer parsed from the reply, a figure
- `parse_replies`: predictions from replies, by a task's parser
- `scores_of`: scores from predictions
- `read_predictions`, `read_scores`: read those of a run
- `rescore`: parse and score the saved replies of a run again
- `write_report`: tables, figures and a page from one or more runs

For sources, tasks, models and metrics of your own (`docs/extend.md`), which import these names and no module's path:

- `Source`, `Sample`, `SampleStream`, `Dropped`, `Box`, `Outline`, `Region`, `ImageFile`, `Need`: a dataset, and what it
  yields
- `SourceNotFound`, `UnreadableSheet`, `read_sheet`, `misfit`: errors and tables of datasets
- `Task`, `Question`, `Message`, `Part`, `Answer`, `Unparsed`, `Conversation`: a task, what it asks, and what it reads
- `prompt`, `read`, `parse_choice`: the words of a question, and the reading of a reply
- `Item`, `items_of`, `subsets_of`, `classification_scores`: what is scored
- `Measure`, `compute_scores`, `items_in`, `ratio`, `NamedMetric`: a metric of your own, with its interval
- `Backend`, `StreamBackend`, `LmodModule`, `Family`, `Batch`, `Identity`: a model
"""

TYPE_CHECKING = False
"""Taken as true by a type checker. Nothing is imported for it: with ``-m`` a ``typing.py`` of the working folder, which
`lmod_train.__main__` takes off the path, would come before Python's own."""

if TYPE_CHECKING:
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.core.artifacts.scores import read_scores
    from lmod_train.core.errors import SourceNotFound
    from lmod_train.core.types import (
        Answer,
        Batch,
        Box,
        Dropped,
        Identity,
        ImageFile,
        Message,
        Need,
        Outline,
        Part,
        Prediction,
        Question,
        Record,
        Region,
        Reply,
        Sample,
        SampleStream,
        Score,
        Unparsed,
    )
    from lmod_train.data.curation.pipeline import curate
    from lmod_train.data.datamodules.records import RecordsDataModule
    from lmod_train.data.sources.base import Source
    from lmod_train.data.sources.discovery import discover
    from lmod_train.data.sources.sheets import UnreadableSheet, misfit, read_sheet
    from lmod_train.models.backends.base import Backend, StreamBackend
    from lmod_train.models.backends.huggingface import HuggingFace
    from lmod_train.models.backends.scripted import Scripted
    from lmod_train.models.chat.family.base import Family
    from lmod_train.models.modules.base import LmodModule
    from lmod_train.models.modules.classifier import Classifier
    from lmod_train.models.modules.conversation import VisionLanguageModel
    from lmod_train.models.modules.fine_tuning import FineTuning
    from lmod_train.models.modules.frozen import Frozen
    from lmod_train.models.modules.linear_probe import LinearProbe
    from lmod_train.models.modules.nearest_neighbour import NearestNeighbour
    from lmod_train.report.report import report as write_report
    from lmod_train.scoring.classification import classification_scores
    from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio
    from lmod_train.scoring.items import Item, items_of
    from lmod_train.scoring.metrics.named import NamedMetric
    from lmod_train.scoring.subsets import subsets_of
    from lmod_train.tasks.base import Task
    from lmod_train.tasks.conversation import Conversation
    from lmod_train.tasks.parsing.choice import parse_choice
    from lmod_train.tasks.parsing.reading import read
    from lmod_train.tasks.prompt import prompt
    from lmod_train.tasks.reading import parse_replies, scores_of
    from lmod_train.tasks.rescore import rescore
    from lmod_train.training.callbacks.generation import GenerationEval
    from lmod_train.training.evaluation import evaluate
else:  # a type checker reads the imports above; after a `__getattr__` it would accept every name
    _PATHS = {
        "Answer": "lmod_train.core.types.Answer",
        "Backend": "lmod_train.models.backends.base.Backend",
        "Batch": "lmod_train.core.types.Batch",
        "Box": "lmod_train.core.types.Box",
        "Classifier": "lmod_train.models.modules.classifier.Classifier",
        "Conversation": "lmod_train.tasks.conversation.Conversation",
        "Dropped": "lmod_train.core.types.Dropped",
        "Family": "lmod_train.models.chat.family.base.Family",
        "FineTuning": "lmod_train.models.modules.fine_tuning.FineTuning",
        "Frozen": "lmod_train.models.modules.frozen.Frozen",
        "GenerationEval": "lmod_train.training.callbacks.generation.GenerationEval",
        "HuggingFace": "lmod_train.models.backends.huggingface.HuggingFace",
        "Identity": "lmod_train.core.types.Identity",
        "ImageFile": "lmod_train.core.types.ImageFile",
        "Item": "lmod_train.scoring.items.Item",
        "LinearProbe": "lmod_train.models.modules.linear_probe.LinearProbe",
        "LmodModule": "lmod_train.models.modules.base.LmodModule",
        "Measure": "lmod_train.scoring.intervals.Measure",
        "Message": "lmod_train.core.types.Message",
        "NamedMetric": "lmod_train.scoring.metrics.named.NamedMetric",
        "NearestNeighbour": "lmod_train.models.modules.nearest_neighbour.NearestNeighbour",
        "Need": "lmod_train.core.types.Need",
        "Outline": "lmod_train.core.types.Outline",
        "Part": "lmod_train.core.types.Part",
        "Prediction": "lmod_train.core.types.Prediction",
        "Question": "lmod_train.core.types.Question",
        "Record": "lmod_train.core.types.Record",
        "RecordsDataModule": "lmod_train.data.datamodules.records.RecordsDataModule",
        "Region": "lmod_train.core.types.Region",
        "Reply": "lmod_train.core.types.Reply",
        "Sample": "lmod_train.core.types.Sample",
        "SampleStream": "lmod_train.core.types.SampleStream",
        "Score": "lmod_train.core.types.Score",
        "Scripted": "lmod_train.models.backends.scripted.Scripted",
        "Source": "lmod_train.data.sources.base.Source",
        "SourceNotFound": "lmod_train.core.errors.SourceNotFound",
        "StreamBackend": "lmod_train.models.backends.base.StreamBackend",
        "Task": "lmod_train.tasks.base.Task",
        "Unparsed": "lmod_train.core.types.Unparsed",
        "UnreadableSheet": "lmod_train.data.sources.sheets.UnreadableSheet",
        "VisionLanguageModel": "lmod_train.models.modules.conversation.VisionLanguageModel",
        "classification_scores": "lmod_train.scoring.classification.classification_scores",
        "compute_scores": "lmod_train.scoring.intervals.compute_scores",
        "curate": "lmod_train.data.curation.pipeline.curate",
        "discover": "lmod_train.data.sources.discovery.discover",
        "evaluate": "lmod_train.training.evaluation.evaluate",
        "items_in": "lmod_train.scoring.intervals.items_in",
        "items_of": "lmod_train.scoring.items.items_of",
        "misfit": "lmod_train.data.sources.sheets.misfit",
        "parse_choice": "lmod_train.tasks.parsing.choice.parse_choice",
        "parse_replies": "lmod_train.tasks.reading.parse_replies",
        "prompt": "lmod_train.tasks.prompt.prompt",
        "ratio": "lmod_train.scoring.intervals.ratio",
        "read": "lmod_train.tasks.parsing.reading.read",
        "read_predictions": "lmod_train.core.artifacts.predictions.read_predictions",
        "read_records": "lmod_train.core.artifacts.records.read_records",
        "read_scores": "lmod_train.core.artifacts.scores.read_scores",
        "read_sheet": "lmod_train.data.sources.sheets.read_sheet",
        "rescore": "lmod_train.tasks.rescore.rescore",
        "scores_of": "lmod_train.tasks.reading.scores_of",
        "subsets_of": "lmod_train.scoring.subsets.subsets_of",
        "write_report": "lmod_train.report.report.report",
    }

    def __getattr__(name: str) -> object:
        if name not in _PATHS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, _, attribute = _PATHS[name].rpartition(".")
        return getattr(import_module(module), attribute)

    def __dir__() -> list[str]:
        return sorted({*globals(), *_PATHS})


__version__ = "0.2.0"
__all__ = [
    "Answer",
    "Backend",
    "Batch",
    "Box",
    "Classifier",
    "Conversation",
    "Dropped",
    "Family",
    "FineTuning",
    "Frozen",
    "GenerationEval",
    "HuggingFace",
    "Identity",
    "ImageFile",
    "Item",
    "LinearProbe",
    "LmodModule",
    "Measure",
    "Message",
    "NamedMetric",
    "NearestNeighbour",
    "Need",
    "Outline",
    "Part",
    "Prediction",
    "Question",
    "Record",
    "RecordsDataModule",
    "Region",
    "Reply",
    "Sample",
    "SampleStream",
    "Score",
    "Scripted",
    "Source",
    "SourceNotFound",
    "StreamBackend",
    "Task",
    "Unparsed",
    "UnreadableSheet",
    "VisionLanguageModel",
    "classification_scores",
    "compute_scores",
    "curate",
    "discover",
    "evaluate",
    "items_in",
    "items_of",
    "misfit",
    "parse_choice",
    "parse_replies",
    "prompt",
    "ratio",
    "read",
    "read_predictions",
    "read_records",
    "read_scores",
    "read_sheet",
    "rescore",
    "scores_of",
    "subsets_of",
    "write_report",
]
