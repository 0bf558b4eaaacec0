"""Questions about several images of one eye: asked, read, scored by kind, and without a modality."""

import pytest

from lmod_train.cli import main
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Prediction, Reply, Sample, Unparsed
from lmod_train.extensions.xpcr import phantom as xpcr
from lmod_train.extensions.xpcr.phantom import cases
from lmod_train.extensions.xpcr.source import Xpcr, modalities_in
from lmod_train.extensions.xpcr.tasks import CrossModality
from lmod_train.scoring.chain_steps import STEPS, drawn_id
from tests.contracts import record_from

N = 24


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    xpcr.write(folder, N, 2, size=32, workers=0)
    return folder


@pytest.fixture(scope="module")
def samples(raw):
    return [s for s in Xpcr(raw / "X-PCR").samples() if isinstance(s, Sample)]


def asked(task, samples):
    return [(record_from(q, s, task), q, s) for s in samples for q in task.ask(s)]


def predictions(task, samples, reply_of):
    found = []
    for record, _, _ in asked(task, samples):
        reply = Reply(record.id, reply_of(record))
        found.append(Prediction(record, reply, task.parse(reply, record)))
    return found


def scores_of(task, found):
    return {(s.subset, s.metric): (s.value, s.n) for s in task.score(found)}


def test_every_image_is_named_and_shown_in_its_order(samples):
    everything = asked(CrossModality(), samples)
    assert len(everything) == 3 * (N // 4)
    for _, question, sample in everything:
        (turn,) = question.messages
        assert [part.type for part in turn.parts] == ["image", "image", "text"]
        text = turn.parts[2].text
        assert text.startswith("Image 1: CFP\nImage 2: OCT\n") and text.endswith("Confidence: <0-100>%")
        assert question.images == (0, 1) and [i.modality for i in sample.shared_images] == ["CFP", "OCT"]
        assert tuple(options_in(question.messages).values()) == question.choices


def test_the_answer_is_the_drawn_truth(samples):
    drawn = {(f"cases/{case.id}", q.category): q.options[0] for case in cases(N // 4, 2) for q in case.questions}
    for record, question, sample in asked(CrossModality(), samples):
        truth = CrossModality().parse(Reply(record.id, question.answer), record)
        assert truth == drawn[sample.key, question.tags["kind"]]


def test_no_answer_is_in_the_words_of_another_question_of_its_case(samples):
    for sample in samples:
        ready = [q for q in sample.asked if q.task == "cross_modality"]
        for question in ready:
            others = " ".join(q.messages[0].parts[-1].text for q in ready if q is not question)
            assert question.answer.casefold() not in others.casefold()
            told = modalities_in(question.answer)
            assert not told & modalities_in(others)


def test_rows_with_one_image_are_not_asked(samples):
    assert not [s for s in samples if s.image is not None and list(CrossModality().ask(s))]


def test_scores_by_kind_and_number_of_modalities(samples):
    task = CrossModality()
    perfect = scores_of(task, predictions(task, samples, lambda r: r.answer))
    assert perfect["all", "accuracy_strict"] == (1.0, 18) and perfect["all", "chance"] == (0.25, 18)
    assert {subset for subset, _ in perfect} >= {"kind=correspondence", "kind=integration", "modalities=2"}
    one_kind = lambda r: r.answer if r.tags["kind"] == "selection" else "I cannot tell."  # noqa: E731
    partly = scores_of(task, predictions(task, samples, one_kind))
    assert partly["kind=selection", "accuracy_strict"] == (1.0, 6)
    assert partly["kind=integration", "accuracy_strict"] == (0.0, 6)
    assert partly["all", "accuracy_answered"] == (1.0, 6)
    assert task.score([]) == []


def test_without_a_modality_the_others_keep_their_names(samples):
    task = CrossModality(asks_confidence=False, without=True)
    everything = asked(task, samples)
    assert len(everything) == 9 * (N // 4) and len({r.id for r, _, _ in everything}) == len(everything)
    rest = next(q for _, q, _ in everything if q.tags.get("without") == "CFP")
    assert rest.images == (1,) and [p.type for p in rest.messages[0].parts] == ["image", "text"]
    assert rest.messages[0].parts[1].text.startswith("Image 1: CFP (not shown)\nImage 2: OCT\n")


def test_the_contribution_of_a_modality(samples):
    """A responder that reads the scan alone is right wherever it is shown."""
    task = CrossModality(without=True)
    found = scores_of(task, predictions(task, samples, lambda r: r.answer if r.tags.get("without") != "OCT" else "Z"))
    assert found["without=OCT", "mcs"] == (1.0, 18) and found["without=CFP", "mcs"] == (0.0, 18)
    assert found["all", "accuracy_strict"] == (1.0, 18), "questions without a modality are apart"
    assert found["without=OCT", "accuracy_strict"] == (0.0, 18)


def test_a_stated_confidence_is_scored(samples):
    task = CrossModality()
    record, _, _ = asked(task, samples)[0]
    assert task.confidence(Reply("a", "Answer: C; Confidence: 70%"), record) == 0.7
    assert task.confidence(Reply("a", "Answer: C"), record) is None
    assert scores_of(task, predictions(task, samples, lambda r: r.answer))["all", "share_without_confidence"] == (
        1.0,
        18,
    )


def test_letters_texts_and_no_answer(samples):
    task = CrossModality()
    record, question, _ = asked(task, samples)[0]
    assert task.parse(Reply("a", f"{question.choices[1]}"), record) == question.choices[1]
    assert task.parse(Reply("a", "Answer: C; Confidence: 70%"), record) == question.choices[2]
    assert task.parse(Reply("a", "Answer: Z"), record) == Unparsed("out_of_range", "Z")
    assert task.parse(Reply("a", "", "error", "HTTP 500"), record) == Unparsed("failed", "HTTP 500")


def test_the_command_of_the_docs(raw, tmp_path, capsys):
    arguments = ["--config", "configs/curate/xpcr.yaml", f"--roots.xpcr={raw / 'X-PCR'}", "--workers", "1"]
    assert main(["curate", *arguments, "--out", str(tmp_path / "curated")]) == 0
    records = read_records(tmp_path / "curated" / "records")
    assert {r.task for r in records} == {"chain", "cross_modality"}
    chain = [r for r in records if r.task == "chain"]
    assert len(chain) == sum(len(row.questions) for row in xpcr.rows(N, 2))
    by_step = {}
    for record in chain:
        by_step.setdefault((record.chain, record.chain_step), []).append(record.id)
    assert {len(ids) for ids in by_step.values()} == {1, 2}
    for record in chain:
        place = list(STEPS).index(record.chain_step)
        assert list(record.needs) == [drawn_id(by_step[record.chain, step]) for step in STEPS[:place]]
        assert record.answer.startswith("Answer: ") and tuple(options_in(record.messages).values()) == record.choices
    both = [r for r in records if r.task == "cross_modality"]
    assert len(both) == 18 and all(len(r.image) == 2 and r.modality == "CFP+OCT" for r in both)
    assert "left out" not in capsys.readouterr().err
