"""Metrics of tasks as torchmetrics has them: values, one state, copies, precision, plots, and what is refused."""

import copy
import pickle
import warnings

import pytest
import torch
from sklearn.metrics import f1_score
from torchmetrics import MetricCollection

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Reply, Unparsed
from lmod_train.scoring.metrics import named
from lmod_train.scoring.metrics.named import (
    Accuracy,
    HallucinationResistance,
    MacroF1,
    NamedMetric,
    QuadraticKappa,
    RefusedShare,
    RegionF1,
    RegionPrecision,
    RegionRecall,
    Sensitivity,
    Specificity,
    UnparsedShare,
)
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.own import Own
from lmod_train.tasks.parsed_replies import scores_of
from lmod_train.tasks.perturbed import Perturbed
from lmod_train.tasks.sex import Sex
from tests.scoring.make import record, values
from tests.scoring.metrics.answers import (
    NO,
    YES,
    Counted,
    anatomy,
    eyes,
    of_regions,
    of_words,
    predictions,
    relabelled,
    words,
)  # fmt: skip

EYES, WORDS, GRADES = eyes(), words(), words(47, 3, ("0", "1", "2", "3", "4"))
PREDICTED = predictions(*WORDS)
OF_REGIONS = {
    "f1_lmod_plus": RegionF1(),
    "f1_lmod_v1": RegionF1("lmod_v1"),
    "precision": RegionPrecision(),
    "recall": RegionRecall(),
    "hr": HallucinationResistance(),
    "share_unparsed": UnparsedShare(),
    "share_refused": RefusedShare(),
}
OF_WORDS = {
    "accuracy_strict": Accuracy(),
    "accuracy_answered": Accuracy("answered"),
    "accuracy_chance_filled": Accuracy("chance_filled", choices=(YES, NO)),
    "sensitivity": Sensitivity(positive=YES),
    "specificity": Specificity(positive=YES),
    "macro_f1": MacroF1(),
}


def near(value):
    return pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("name", OF_REGIONS)
def test_regions_by_the_published_definition(name):
    metric, expected = OF_REGIONS[name].clone(), of_regions(*EYES)
    metric.update([], [])
    assert metric.compute().isnan() and metric.compute().dtype == torch.float32
    for start in range(0, 23, 5):
        metric.update(*(side[start : start + 5] for side in EYES))
    assert float(metric.compute()) == near(expected[name])


@pytest.mark.parametrize("name", OF_WORDS)
def test_words_by_scikit_learn(name):
    metric = OF_WORDS[name].clone()
    metric.update(*WORDS)
    assert float(metric.compute()) == near(of_words(*WORDS)[name])


def test_grades_as_indices_by_scikit_learn():
    kappa, f1 = QuadraticKappa(choices=range(5)), MacroF1()
    classes = ("0", "1", "2", "3", "4")
    expected = of_words(*GRADES, positive="0", classes=classes)
    answered = [(int(a), int(t)) for a, t in zip(*GRADES, strict=True) if not isinstance(a, Unparsed)]
    for metric in (kappa, f1):
        metric.update(*map(torch.tensor, zip(*answered, strict=True)))
        metric.update([None for a in GRADES[0] if isinstance(a, Unparsed)], [
            t for a, t in zip(*GRADES, strict=True) if isinstance(a, Unparsed)
        ])  # fmt: skip
    assert float(kappa.compute()) == near(expected["kappa_quadratic"])
    assert float(f1.compute()) == near(expected["macro_f1"])


@pytest.mark.parametrize(("task", "pairs", "by_hand"), [(Glaucoma(), WORDS, of_words), (anatomy(), EYES, of_regions)])
def test_a_task_s_collection_has_the_names_and_values_of_its_scores(task, pairs, by_hand):
    metrics, found = task.metrics(), predictions(*pairs)
    metrics.update(found)
    computed = {name: float(value) for name, value in metrics.compute().items()}
    scored = values(scores_of([task], found))
    of_several = {f"{name}_macro" for name in by_hand(*pairs) if task.name == "anatomy"} & {*computed}
    assert len(of_several) == (5 if task.name == "anatomy" else 0), "these are of one modality"
    expected = {name: float("nan") if v is None else v for name, v in (scored | dict.fromkeys(of_several)).items()}
    assert computed == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert list(metrics.keys()) == sorted([*scored, *of_several])
    checked = {name: value for name, value in by_hand(*pairs).items() if name in computed}
    assert len(checked) >= 6 and {name: computed[name] for name in checked} == near(checked)
    kinds = {type(metrics[name]) for name in checked}
    assert NamedMetric not in kinds and len(kinds) >= 4


def test_one_state_is_scored_once_and_groups_stay():
    task = Counted()
    metrics = task.metrics()
    assert len(metrics) == 15 and metrics.compute_groups == {0: sorted(metrics.keys(), key=task.metric_names().index)}
    task.calls.clear()
    metrics.update(PREDICTED[:9])
    metrics.update(PREDICTED[5:])
    states = {id(metric.outcomes) for metric in metrics.values(copy_state=False)}
    assert len(states) == 1, "the metrics hold one list"
    first = metrics.compute()
    scored = metrics.scored()
    assert task.calls == [31] and len(scored[0]) == 31
    assert metrics.compute() is not first and task.calls == [31], "nothing is computed again"
    for made in (pickle.loads(pickle.dumps(metrics)), metrics.clone(), copy.deepcopy(metrics), metrics.to("cpu")):
        assert made.compute_groups == metrics.compute_groups
        counted = next(iter(made.values(copy_state=False))).shared.task.calls
        before = len(counted)
        assert made.compute() == first
        made.update(PREDICTED[:3])
        assert {m.shared for m in made.values(copy_state=False)} == {next(iter(made.values())).shared}
        assert made.compute() == first and len(counted) <= before + 2
        made.reset()
        made.update(PREDICTED[:4])
        assert float(made.compute()["accuracy_strict"]) == near(of_words(*(s[:4] for s in WORDS))["accuracy_strict"])
    assert metrics is made


def test_forward_returns_the_value_of_a_batch_and_keeps_all():
    task = Counted()
    metrics, alone = task.metrics(), RegionF1()
    metrics.update(PREDICTED[:6])
    task.calls.clear()
    batch = metrics(PREDICTED[6:14])
    assert task.calls == [8] and float(batch["accuracy_strict"]) == near(
        of_words(*(s[6:14] for s in WORDS))["accuracy_strict"]
    )
    metrics(PREDICTED[14:])
    metrics.update([])
    assert float(metrics.compute()["macro_f1"]) == near(of_words(*WORDS)["macro_f1"])
    assert float(alone(*(s[:8] for s in EYES))) == near(of_regions(*(s[:8] for s in EYES))["f1_lmod_plus"])
    alone(*(s[8:] for s in EYES))
    assert float(alone.compute()) == near(of_regions(*EYES)["f1_lmod_plus"])


def test_the_last_update_of_an_id_counts_and_answers_without_ids_are_all_different():
    f1, free = RegionF1(), RegionF1()
    ids = [f"eye/{i}" for i in range(23)]
    f1.update(EYES[0][::-1], EYES[1][::-1], ids[::-1])
    f1.update([None] * 3, EYES[1][:3], ids[:3])
    f1.update(EYES[0][:5], EYES[1][:5], ids=ids[:5])
    assert float(f1.compute()) == near(of_regions(*EYES)["f1_lmod_plus"])
    for _ in range(2):
        free.update([{1: "lens"}], [{1: "lens"}])
    free.update([None], [{1: "lens"}])
    assert float(free.compute()) == near(2 / 3)


def test_replies_with_their_records_are_read_by_the_task():
    texts = ["GLAUCOMA", "It is a photograph.", "NON-GLAUCOMA", "", "GLAUCOMA"]
    asked = [p.record for p in predictions(texts, [YES, YES, YES, NO, NO])]
    replies = [Reply(r.id, text) for r, text in zip(asked, texts, strict=True)]
    replies[3] = Reply(asked[3].id, "", "error", "the server is down")
    by_text, by_id = Glaucoma().metrics(), Accuracy(task=Glaucoma())
    by_text.update([*texts, "MALE"], [*asked, record("other", "MALE", task="sex", choices=("MALE", "FEMALE"))])
    by_id.update(preds=replies, target=asked)
    assert float(by_text.compute()["accuracy_strict"]) == near(1 / 5), "a record of another task is passed over"
    assert float(by_id.compute()) == near(1 / 4), "a failed request is no reply"
    share = Glaucoma().metrics(["share_failed", "accuracy_strict"])
    share.update(replies[3:4], asked[3:4])
    assert float(share.compute()["share_failed"]) == 1 and share.compute()["accuracy_strict"].isnan()
    share.update(replies, asked)
    assert float(share.compute()["share_failed"]) == near(1 / 5)
    assert [p.status for p in by_text.scored()[0]] == ["answered", "unparsed", "answered", "unparsed", "answered"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_precision_does_no_damage(dtype):
    module = torch.nn.Module()
    module.f1, module.metrics = RegionF1(), Glaucoma().metrics()
    module.f1.update(*(s[:9] for s in EYES))
    module.metrics.update(PREDICTED[:9])
    {torch.float16: module.half, torch.bfloat16: module.bfloat16, torch.float64: module.double}[dtype]()
    module.to(dtype)
    module.f1.set_dtype(dtype)
    module.metrics.set_dtype(dtype)
    module.f1.update(*(s[9:] for s in EYES))
    module.metrics.update(PREDICTED[9:])
    f1, computed = module.f1.compute(), module.metrics.compute()
    assert float(f1) == near(of_regions(*EYES)["f1_lmod_plus"])
    assert float(computed["macro_f1"]) == near(of_words(*WORDS)["macro_f1"])
    assert f1.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


def test_a_user_s_collection_keeps_two_tasks_apart_and_shares_where_the_state_is_one():
    """The first batch may hold no record of either task, and their states are not equal all the same."""
    apart = MetricCollection({"a": Accuracy(task=Glaucoma()), "b": Accuracy(task=Sex()), "c": MacroF1(Glaucoma())})
    apart.update([])
    assert sorted(map(sorted, apart.compute_groups.values())) == [["a", "c"], ["b"]]
    apart.update([*PREDICTED, *relabelled(predictions(["MALE"], ["MALE"], ("MALE", "FEMALE")), "sex")])
    found = apart.compute()
    assert float(found["a"]) == near(of_words(*WORDS)["accuracy_strict"]) and float(found["b"]) == 1
    regions = MetricCollection([RegionF1(), HallucinationResistance(), RegionRecall()])
    regions.update(*(s[:9] for s in EYES))
    regions.update(*(s[9:] for s in EYES))
    assert len(regions.compute_groups) == 1
    assert {n: float(v) for n, v in regions.compute().items()} == near({
        "RegionF1": of_regions(*EYES)["f1_lmod_plus"],
        "HallucinationResistance": of_regions(*EYES)["hr"],
        "RegionRecall": of_regions(*EYES)["recall"],
    })  # fmt: skip


def test_constants_hashes_and_states_are_by_convention():
    for metric in [*OF_REGIONS.values(), *OF_WORDS.values(), QuadraticKappa(choices=range(3))]:
        kind = type(metric)
        assert kind.is_differentiable is False and kind.full_state_update is False
        assert kind.higher_is_better is (kind not in (UnparsedShare, RefusedShare))
        assert (kind.plot_lower_bound, kind.plot_upper_bound) == (-1.0 if kind is QuadraticKappa else 0.0, 1.0)
        with pytest.raises(RuntimeError, match="higher_is_better"):
            metric.higher_is_better = True
    errors, unknown = (
        Own("n", "Count?", "number").metrics(["mean_absolute_error", "mine", "auroc"]),
        NamedMetric("mine"),
    )
    assert errors["mean_absolute_error"].higher_is_better is False and unknown.higher_is_better is None
    one, other = RegionF1(), RegionF1()
    assert len({hash(one), hash(other), hash(copy.deepcopy(one))}) == 3
    one.update(*EYES)
    assert one.state_dict() == {} and torch.nn.ModuleDict({"f1": one}).state_dict() == {}
    one.persistent(True)
    other.load_state_dict(one.state_dict())
    assert other.compute() == one.compute()
    one.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert one.compute().isnan() and not one.update_called
    one.merge_state(other)
    one.update([], [])
    assert one.compute() == other.compute()
    assert float((1 - other).compute()) == near(1 - float(other.compute()))


def test_plots_of_one_metric_of_steps_and_of_a_collection():
    import matplotlib

    matplotlib.use("Agg")
    f1, metrics = RegionF1(), Glaucoma().metrics(["accuracy_strict", "kappa"])
    f1.update(*EYES)
    axes = f1.plot()[1]
    assert axes.get_ylabel() == "f1_lmod_plus" and axes.get_ylim() == near((-0.1, 1.1))
    assert float(axes.lines[0].get_ydata()[0]) == near(float(f1.compute()))
    assert [text.get_text() for text in axes.texts] == ["Optimal \n value"]
    steps = [metrics(PREDICTED[start : start + 8]) for start in (0, 8, 16)]
    drawn = metrics.plot(steps)
    assert [a.get_ylabel() for _, a in drawn] == ["accuracy_strict", "kappa"]
    assert list(drawn[0][1].lines[0].get_ydata()) == near([float(step["accuracy_strict"]) for step in steps])
    together = metrics.plot(together=True)[1]
    assert {text.get_text() for text in together.get_legend().get_texts()} == {"accuracy_strict", "kappa"}
    matplotlib.pyplot.close("all")


def test_a_subset_that_does_not_occur_has_no_value():
    metric = Accuracy(task=Glaucoma(), subset="modality=CFP")
    metric.update(PREDICTED)
    assert metric.compute().isnan(), "all are of one modality, so that it is no subset"


def test_the_names_of_each_kind_of_task():
    assert {"accuracy_macro", "sensitivity"} <= {*Conditions().metric_names()}
    assert "mean_absolute_error" in Own("n", "Count?", "grade", choices=["1", "2"]).metric_names()
    assert {"f1_lmod_plus", "hr"} <= {*anatomy().metric_names()}
    with pytest.raises(BadArgument, match=r"records of .*\n.*task.metrics\(task.metric_names\(records\)\)"):
        Perturbed(Glaucoma()).metrics()


def answered(answers, truths, metric=None, **more):
    return (metric or Accuracy()).update(answers, truths, **more)


RECORDS, INDICES = [p.record for p in PREDICTED[:2]], torch.tensor([1, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sensitivity(), "positive=None"),
        (lambda: QuadraticKappa(), r"choices=\(\)"),
        (lambda: Accuracy("chance_filled"), r"choices=\(\)"),
        (lambda: Accuracy("strikt"), "version='strikt': expected one of strict, answered"),
        (lambda: RegionF1("lmod"), "definition='lmod': expected one of lmod_plus, lmod_v1"),
        (lambda: MacroF1(task="glaucoma"), "task='glaucoma': expected a task"),
        (lambda: MacroF1(Glaucoma), "task=<class .*: expected a task"),
        (lambda: named.TaskMetrics("glaucoma"), "task='glaucoma'"),
        (lambda: RegionF1().update([{1: "lens"}]), "target=None"),
        (lambda: answered(torch.zeros(3, 2), torch.zeros(3)), r"preds='shape \(3, 2\)'"),
        (lambda: answered(torch.zeros(3), torch.zeros(3, 1)), r"target='shape \(3, 1\)'"),
        (lambda: answered(torch.tensor(1), torch.tensor(1)), r"preds='shape \(\)'"),
        (lambda: answered(YES, YES), "preds='GLAUCOMA': expected a sequence"),
        (lambda: answered({1: "lens"}, [{1: "lens"}]), "preds={1: 'lens'}: expected a sequence"),
        (lambda: answered([YES], [YES, NO]), "target='2 values': expected 1, one for each of preds"),
        (lambda: answered([YES, NO], [YES, NO], ids=["a"]), "ids='1 values': expected 2"),
        (lambda: answered([YES, NO], [YES, NO], ids=[1, 2]), "ids=1: expected a text"),
        (lambda: answered([YES, NO], [YES, NO], ids=INDICES), "ids=1: expected a text"),
        (lambda: answered([YES], [None]), "target=None: expected words, class indices"),
        (lambda: answered([YES], [Unparsed("empty")]), "target=Unparsed"),
        (lambda: answered([[1]], [1]), r"preds=\[1\]"),
        (lambda: Accuracy(task=Glaucoma()).update(["GLAUCOMA"]), "preds='str': expected predictions"),
        (lambda: Glaucoma().metrics().update(["GLAUCOMA"], [PREDICTED[0].record], ["a"]), "ids='given'"),
        (lambda: Glaucoma().metrics().update(INDICES, INDICES), "target='int': expected the records"),
        (lambda: Glaucoma().metrics().update(INDICES, RECORDS), "preds='int': expected replies"),
        (lambda: Glaucoma().metrics().update([YES, None], RECORDS), "preds='NoneType': expected replies"),
        (lambda: Glaucoma().metrics().update([YES, NO], [YES, NO]), "target='str': expected the records"),
        (lambda: Glaucoma().metrics().update([YES], RECORDS), "target='2 values': expected 1"),
        (lambda: Glaucoma().metrics().update(INDICES), "preds='int': expected predictions"),
        (lambda: Glaucoma().metrics().update(None), "preds=None: expected a sequence"),
        (lambda: Glaucoma().metrics().update(None, RECORDS), "preds=None: expected a sequence"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_next_step(call, message):
    with pytest.raises(BadArgument, match=f"{message}(.|\n)*\nNext: .+"):
        call()


@pytest.mark.parametrize("value", [0.9, float("nan"), float("inf"), -1, -100.5])
def test_numbers_that_are_no_class_indices_are_refused_and_whole_ones_are_not(value):
    for answers, truths in (([value, 1], [1, 1]), ([1, 1], [value, 1])):
        for given in ((answers, truths), (torch.tensor(answers), torch.tensor(truths))):
            with pytest.raises(BadArgument, match=r"class indices from 0.*\nNext: .*argmax\(dim=-1\)"):
                answered(*given)
    metric = MacroF1()
    metric.update(torch.tensor([1.0, 0.0, 2.0]), torch.tensor([1, 0, 1]))
    metric.update([torch.tensor(1), True], [1, 1.0])
    assert float(metric.compute()) == near(f1_score([1, 0, 1, 1, 1], [1, 0, 2, 1, 1], average="macro"))
    levels = Accuracy(choices=(-1, 0, 0.5))
    levels.update([0.5, -1], [0.5, 0])
    assert float(levels.compute()) == near(1 / 2), "numbers among the choices are classes"


def test_the_ignored_truth_of_torch_is_not_scored():
    rng = torch.Generator().manual_seed(3)
    logits, truths = torch.randn(40, 5, generator=rng), torch.randint(5, (40,), generator=rng)
    truths[::3] = -100
    kept = truths != -100
    metric, kappa = MacroF1(), QuadraticKappa(choices=range(5))
    for one in (metric, kappa):
        one.update(logits.argmax(dim=-1), truths)
    assert float(metric.compute()) == near(f1_score(truths[kept], logits.argmax(-1)[kept], average="macro"))
    assert len(kappa.scored()[0]) == int(kept.sum())
    assert "-100" in NamedMetric.update.__doc__


def test_an_unknown_metric_is_refused_with_the_known_names():
    for metric in (NamedMetric("f1_lmod_plus", Glaucoma()), Glaucoma().metrics(["f1_lmod_plus"])):
        metric.update(PREDICTED)
        with pytest.raises(BadArgument, match="metric='f1_lmod_plus': expected one of accuracy_answered"):
            metric.compute()


def test_the_module_has_no_metric_that_nothing_else_names():
    public = {n for n, kind in vars(named).items() if isinstance(kind, type) and kind.__module__ == named.__name__}
    assert {n for n in public if not n.startswith("_")} == {
        "Accuracy", "HallucinationResistance", "MacroF1", "NamedMetric", "QuadraticKappa", "RefusedShare", "RegionF1",
        "RegionPrecision", "RegionRecall", "Scorer", "Sensitivity", "Specificity", "TaskMetrics", "UnparsedShare",
    }  # fmt: skip
