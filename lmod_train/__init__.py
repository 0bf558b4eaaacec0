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
"""

TYPE_CHECKING = False
"""Taken as true by a type checker. Nothing is imported for it: with ``-m`` a ``typing.py`` of the working folder, which
`lmod_train.__main__` takes off the path, would come before Python's own."""

if TYPE_CHECKING:
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.core.artifacts.scores import read_scores
    from lmod_train.core.types import Prediction, Record, Reply, Score
    from lmod_train.data.curation.pipeline import curate
    from lmod_train.data.datamodules.records import RecordsDataModule
    from lmod_train.data.sources.discovery import discover
    from lmod_train.models.backends.huggingface import HuggingFace
    from lmod_train.models.backends.scripted import Scripted
    from lmod_train.models.modules.classifier import Classifier
    from lmod_train.models.modules.conversation import VisionLanguageModel
    from lmod_train.models.modules.fine_tuning import FineTuning
    from lmod_train.models.modules.frozen import Frozen
    from lmod_train.models.modules.linear_probe import LinearProbe
    from lmod_train.models.modules.nearest_neighbour import NearestNeighbour
    from lmod_train.report.report import report as write_report
    from lmod_train.report.rescore import rescore
    from lmod_train.tasks.reading import parse_replies, scores_of
    from lmod_train.training.callbacks.generation import GenerationEval
    from lmod_train.training.evaluation import evaluate
else:  # a type checker reads the imports above; after a `__getattr__` it would accept every name
    _PATHS = {
        "Classifier": "lmod_train.models.modules.classifier.Classifier",
        "FineTuning": "lmod_train.models.modules.fine_tuning.FineTuning",
        "Frozen": "lmod_train.models.modules.frozen.Frozen",
        "GenerationEval": "lmod_train.training.callbacks.generation.GenerationEval",
        "HuggingFace": "lmod_train.models.backends.huggingface.HuggingFace",
        "LinearProbe": "lmod_train.models.modules.linear_probe.LinearProbe",
        "NearestNeighbour": "lmod_train.models.modules.nearest_neighbour.NearestNeighbour",
        "Prediction": "lmod_train.core.types.Prediction",
        "Record": "lmod_train.core.types.Record",
        "RecordsDataModule": "lmod_train.data.datamodules.records.RecordsDataModule",
        "Reply": "lmod_train.core.types.Reply",
        "Score": "lmod_train.core.types.Score",
        "Scripted": "lmod_train.models.backends.scripted.Scripted",
        "VisionLanguageModel": "lmod_train.models.modules.conversation.VisionLanguageModel",
        "curate": "lmod_train.data.curation.pipeline.curate",
        "discover": "lmod_train.data.sources.discovery.discover",
        "evaluate": "lmod_train.training.evaluation.evaluate",
        "parse_replies": "lmod_train.tasks.reading.parse_replies",
        "read_predictions": "lmod_train.core.artifacts.predictions.read_predictions",
        "read_records": "lmod_train.core.artifacts.records.read_records",
        "read_scores": "lmod_train.core.artifacts.scores.read_scores",
        "rescore": "lmod_train.report.rescore.rescore",
        "scores_of": "lmod_train.tasks.reading.scores_of",
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


__version__ = "0.1.0"
__all__ = [
    "Classifier",
    "FineTuning",
    "Frozen",
    "GenerationEval",
    "HuggingFace",
    "LinearProbe",
    "NearestNeighbour",
    "Prediction",
    "Record",
    "RecordsDataModule",
    "Reply",
    "Score",
    "Scripted",
    "VisionLanguageModel",
    "curate",
    "discover",
    "evaluate",
    "parse_replies",
    "read_predictions",
    "read_records",
    "read_scores",
    "rescore",
    "scores_of",
    "write_report",
]
