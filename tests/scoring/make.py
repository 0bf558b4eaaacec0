"""Records, predictions and items with defaults for what a test does not set."""

from lmod_train.core.types import Message, Part, Patient, Prediction, Record, Reply, Unparsed, status_of
from lmod_train.scoring.items import Item


def record(
    name,
    answer="yes",
    *,
    task="demo",
    source="phantoms",
    group=None,
    modality="CFP",
    choices=("yes", "no"),
    patient=None,
    image="",
    licence="CC0",
    regions=(),
):
    return Record(
        id=f"{task}/{source}/{name}",
        task=task,
        task_class="",
        task_version=1,
        source=source,
        key=name,
        modality=modality,
        image=(image,) if image else (),
        image_plain=(image,) if image else (),
        image_sha256=(),
        split="test",
        group=name if group is None else group,
        language="en",
        messages=(Message("user", (Part("image"), Part("text", "Is it?"))),),
        choices=tuple(choices),
        answer=answer,
        regions=tuple(regions),
        patient=patient or Patient(),
        licence=licence,
    )


def prediction(name, parsed, answer="yes", reply=None, model="scripted", **facts):
    made = record(name, answer, **facts)
    text = reply if reply is not None else ("" if isinstance(parsed, Unparsed) else str(parsed))
    return Prediction(made, Reply(id=made.id, reply=text, model=model), parsed)


def item(name, answer, truth, choices=("yes", "no"), **facts):
    facts.setdefault("group", str(name))
    return Item(id=str(name), status=status_of(answer), answer=answer, truth=truth, choices=tuple(choices), **facts)


def values(scores, subset="all"):
    return {s.metric: s.value for s in scores if s.subset == subset}


def by_metric(scores, subset="all"):
    return {s.metric: s for s in scores if s.subset == subset}
