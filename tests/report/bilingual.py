"""Runs of questions in two languages with planted outcomes, scored by the project's own functions."""

from dataclasses import replace

from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.types import Reply
from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.extensions.drafting.judges import Judged, scores_of_judges
from lmod_train.report.results import read_results
from lmod_train.scoring.status import PENDING
from lmod_train.tasks.bilingual import TRUE_FALSE, BinaryQuestion, OpenQuestion, SingleChoiceQuestion
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from tests.scoring.make import record

TASKS = [BinaryQuestion(), SingleChoiceQuestion(), OpenQuestion()]
OPTIONS = {
    "zh": ("黄斑裂孔", "黄斑前膜", "黄斑水肿", "视盘苍白"),
    "en": ("macular hole", "epiretinal membrane", "macular edema", "pale disc"),
}
AREAS = ("retina", "cornea", "glaucoma", "uveitis")
PARTS = ("CFP", "OCT", "FFA", "SLO")
REFUSAL = {"zh": "很抱歉，我无法回答。", "en": "I'm sorry, but I can't assist with that."}


def right_and_wrong(task, language, k):
    """The reference reply of a question, and a wrong one in the same language."""
    if task == "binary_question":
        yes, no = TRUE_FALSE[language]
        return (yes, no) if k % 2 else (no, yes)
    if task == "single_choice_question":
        return "ABCD"[k % 4], "ABCD"[(k + 1) % 4]
    return OPTIONS[language][k % 4], OPTIONS[language][(k + 1) % 4]


def question(task, language, k, phantom=False):
    choices = {"binary_question": TRUE_FALSE[language], "single_choice_question": OPTIONS[language]}.get(task.name, ())
    made = record(
        f"{k}", right_and_wrong(task.name, language, k)[0], task=task.name, source="wechat", choices=choices,
        group=f"g{k // 2}", modality=PARTS[k % 4],
    )  # fmt: skip
    kind = type(task)
    return replace(
        made, id=f"{task.name}/wechat/i{k}/{k}-{language}", language=language, variant=f"{k}-{language}",
        task_class=f"{kind.__module__}.{kind.__qualname__}", task_version=kind.version, phantom=phantom,
        tags={"language": language, "subspecialty": AREAS[k % 4 if k < 60 else 0]},
    )  # fmt: skip


def planted_run(folder, plan, *, model="planted", judges=(), phantom=False):
    """Write a run.

    Args:
        folder: Its folder.
        plan: (task, language) -> outcome of each question in order: True, False, or a reply.
        model: Name of the model.
        judges: Called with the open predictions; each returns a judge (`lmod_train.extensions.drafting.judges.Judged`).
        phantom: Whether the records are of phantoms.
    """
    tasks, asked, replies = [], [], {}
    for task in TASKS:
        held = {language: plan[task.name, language] for language in ("zh", "en") if (task.name, language) in plan}
        tasks += [task] if held else []
        for language, outcomes in held.items():
            for k, outcome in enumerate(outcomes):
                made = question(task, language, k, phantom)
                said = right_and_wrong(task.name, language, k)[not outcome] if isinstance(outcome, bool) else outcome
                asked.append(made)
                replies[made.id] = Reply(made.id, said, model=model)
    predictions = [p for task in tasks for p in parse_replies(task, asked, replies)]
    found = [judge(predictions) for judge in judges]
    folder.mkdir(parents=True, exist_ok=True)
    write_records(folder / "records.parquet", asked)
    write_predictions(folder / "predictions.parquet", predictions)
    scores = [*scores_of(tasks, predictions), *scores_of_judges(found, predictions, tasks)]
    write_scores(Run(folder).scores, folder.name, model, scores)
    return folder


def judge_of(name, right, pending=False):
    """A judge that finds the first answers of each language right; unsent answers have no verdict.

    Args:
        name: Its name.
        right: Language -> number of right answers.
        pending: Whether the first answer is not judged yet.
    """

    def made(predictions):
        answers = [p for p in predictions if p.record.task == "open_question" and isinstance(p.answer, str)]
        verdicts = {p.record.id: "TRUE" if int(p.record.key) < right[p.record.language] else "FALSE" for p in answers}
        if pending:
            verdicts[answers[0].record.id] = PENDING
        return Judged(name, Judgement(), "a-model", ("open_question",), verdicts, 0, False)

    return made


def judged_results(folder, plan, judges=(), **facts):
    """Results of one planted run with its judges."""
    planted_run(folder, plan, judges=judges, **facts)
    results = read_results([folder])
    ((label, outcomes),) = results.outcomes.items()
    found = tuple(judge(outcomes.predictions) for judge in judges)
    return replace(results, outcomes={label: replace(outcomes, judged=found)})
