"""Train and evaluate multimodal language models on eye images, from raw datasets to the tables of a paper.

These names are for Python and notebooks; each is imported when it is first used, and only the models and what trains
them import torch:

- `discover`: find raw datasets below a folder
- `curate`: make benchmark records of them
- `read_records`: read curated records
- `RecordsDataModule`: load them in Lightning
- `Curated`, `PlainImages`: the images of a curated folder, and batches of them for any LightningModule
- `Scripted`, `HuggingFace`: backends, which answer and are not trained
- `Frozen`: a backend as a LightningModule
- `Classifier`, `FineTuning`, `LinearProbe`, `NearestNeighbour`, `VisionLanguageModel`: LightningModules to train
- `Lora`, `Optimisation`: adapters and learning rates of a `VisionLanguageModel`
- `check_training`: the checks that `fit` makes before a training
- `GenerationEval`, `BestCheckpoint`, `Tripwires`: callbacks that store and score replies while a Trainer runs, keep the
  best weights, and stop a training whose replies collapse
- `Accuracy`, `RegionF1`, `HallucinationResistance`: metrics for `self.log` (all of a task: `task.metrics()`)
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

__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    """Return a name of the stub ``__init__.pyi``, imported when it is first used.

    Nothing is imported above: with ``-m`` a file of the working folder, which `lmod_train.__main__` takes off the path,
    would come before that of a library.
    """
    import lazy_loader

    globals()["__getattr__"], _, globals()["__all__"] = lazy_loader.attach_stub(__name__, __file__)
    return globals()["__all__"] if name == "__all__" else globals()["__getattr__"](name)


def __dir__() -> list[str]:
    names = globals().get("__all__") or __getattr__("__all__")
    return sorted({*globals(), *names})
