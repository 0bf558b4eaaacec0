"""Which records are asked, in which loader; and that a Trainer killed in mid-epoch goes on as if it had not been."""

from collections import Counter

import pytest
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint

from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.types import Batch
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.conversation import Conversation
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import PROMPT as GLAUCOMA
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.ways import Ways
from tests.tiny import record, trainer, write_curated

SPLITS = ["train"] * 14 + ["val"] * 5 + ["test"] * 3


def glaucoma(i, split):
    yes = i % 2
    answer = ("NON-GLAUCOMA", "GLAUCOMA")[yes]
    return record(f"glaucoma/phantom/{i:02}", image=[f"{i:02}.png"], answer=answer, split=split)


def four_way(i, split):
    words = FourWay.choices
    fields = {"task": "four_way", "choices": words, "modality": "OCT" if i % 3 else "CFP"}
    return record(
        f"four_way/phantom/{i:02}", image=[f"{i:02}.png"], answer=f"DISEASE: {words[i % 4]}", split=split, **fields
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    records = [make(i, s) for make in (glaucoma, four_way) for i, s in enumerate(SPLITS)]
    return write_curated(tmp_path_factory.mktemp("curated"), records[::-1])


def ids(records):
    return [r.id for r in records]


def numbers(task, wanted):
    return [f"{task}/phantom/{i:02}" for i, s in enumerate(SPLITS) if s in wanted]


def test_choices_are_those_of_one_task(folder):
    assert RecordsDataModule(folder, [Glaucoma()]).choices == ("GLAUCOMA", "NON-GLAUCOMA")
    assert RecordsDataModule(folder, [Glaucoma(), FourWay()]).choices == ()
    with pytest.raises(BadArgument, match="each task once"):
        RecordsDataModule(folder, [Glaucoma(), Glaucoma()])


def test_a_command_asks_the_split_it_is_named_after(folder):
    data = RecordsDataModule(folder, [Glaucoma()])
    data.setup("validate")
    assert ids(data.records("train")) == numbers("glaucoma", ["train"])
    wanted = {"validate": "val", "fit": "val", "test": "test", "predict": "test"}
    assert {s: ids(data.asked(s)) for s in wanted} == {s: numbers("glaucoma", [w]) for s, w in wanted.items()}


def test_a_split_that_is_named_goes_first_but_not_in_fit(folder):
    data = RecordsDataModule(folder, [Glaucoma(), FourWay()], split="all")
    data.setup("validate")
    assert sorted(ids(data.asked("validate"))) == sorted(numbers("glaucoma", SPLITS) + numbers("four_way", SPLITS))
    assert {r.split for r in data.asked("fit")} == {"val"}


@pytest.mark.parametrize(("split", "named"), [("train", "train"), ("command", "val")])
def test_a_limit_is_of_each_task_and_not_of_training(folder, split, named):
    data = RecordsDataModule(folder, [Glaucoma(), FourWay()], split=split, limit=2)
    data.setup("validate")
    asked = ids(data.asked("validate"))
    assert asked == numbers("glaucoma", [named])[:2] + numbers("four_way", [named])[:2]
    assert len(data.records("train")) == 28


def test_a_subset_is_what_evaluation_asks_and_training_is_not_touched(folder, tmp_path):
    chosen = numbers("glaucoma", ["val"])[1:3] + numbers("four_way", ["val", "test"])[:2]
    (tmp_path / "some.txt").write_text("\n".join(chosen) + "\n")
    data = RecordsDataModule(folder, [Glaucoma()], subset=tmp_path / "some.txt")
    data.setup("validate")
    assert ids(data.asked("validate")) == chosen[:2] and data.asked("test") == []
    assert len(data.records("train")) == 14
    (tmp_path / "some.txt").write_text("glaucoma/elsewhere/1\n")
    with pytest.raises(BadArgument, match=r"1 are not, e\.g\. glaucoma/elsewhere/1"):
        RecordsDataModule(folder, [Glaucoma()], subset=tmp_path / "some.txt").setup("validate")
    with pytest.raises(BadArgument, match="subset CURATED --n 1000"):
        RecordsDataModule(folder, [Glaucoma()], subset=tmp_path / "none.txt")


def test_a_modality_leaves_the_others_out(folder):
    data = RecordsDataModule(folder, [FourWay()], modality="CFP", split="all")
    data.setup("validate")
    assert {int(r.id[-2:]) % 3 for r in data.asked("validate")} == {0}


def test_an_unknown_task_is_named_with_those_that_are_there(folder):
    with pytest.raises(BadArgument, match=r"data.tasks='anatomy'.*four_way, glaucoma"):
        RecordsDataModule(folder, [Anatomy()]).setup("fit")


@pytest.mark.parametrize(("own", "named"), [("", "glaucoma_probe"), ("my_", "TASK.yaml")])
def test_a_task_that_is_not_curated_comes_with_the_command_that_curates_it(own, named, folder):
    task = Probe(Glaucoma())
    task.name = f"{own}{task.name}"
    with pytest.raises(BadArgument, match=rf"`python -m lmod_train curate .*--tasks\+ {named} --raw RAW --out NEW`"):
        RecordsDataModule(folder, [task]).setup("validate")


def test_a_folder_that_is_not_curated_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match="curate"):
        RecordsDataModule(tmp_path, [Glaucoma()]).setup("fit")


def fast(folder, **options):
    return RecordsDataModule(folder, [Glaucoma()], batch_size=3, eval_batch_size=2, **options)


def small():
    return Classifier(choices=("GLAUCOMA", "NON-GLAUCOMA"), side=8)


def test_a_split_without_records_is_refused(tmp_path):
    only = write_curated(tmp_path, [glaucoma(0, "test")])
    with pytest.raises(BadArgument, match=r"data.split='command'.*validate.*'test': 1"):
        trainer(tmp_path).validate(small(), datamodule=fast(only), verbose=False)
    with pytest.raises(BadArgument, match="records in the split train"):
        trainer(tmp_path, max_epochs=1).fit(small(), datamodule=fast(only))


class Watch(Callback):
    """Notes what each step was asked and its loss; raises before the step that it is told."""

    def __init__(self, kill_at=None):
        self.seen, self.kill_at, self.started = [], kill_at, 0

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if self.kill_at is not None and trainer.global_step == self.kill_at:
            raise KilledError

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.seen.append((trainer.current_epoch, ids(batch.records), float(outputs["loss"])))


class KilledError(Exception): ...


@pytest.mark.parametrize(
    ("kill_at", "chosen"),
    [
        (3, {}),  # in mid-epoch
        (5, {}),  # between two epochs
        (7, {}),  # in the second epoch
        (7, {"balance": "class_modality", "length_groups": True}),
    ],
)
def test_a_killed_training_goes_on_as_if_it_had_not_been(folder, tmp_path, kill_at, chosen):
    def run(name, watch, **options):
        torch.manual_seed(0)
        saved = ModelCheckpoint(tmp_path / name, save_last=True, every_n_train_steps=1, save_top_k=1)
        quick = trainer(
            tmp_path, max_epochs=2, callbacks=[watch, saved], enable_checkpointing=True, limit_val_batches=0
        )
        quick.fit(small(), datamodule=fast(folder, **chosen), **options)

    steady, killed, resumed = Watch(), Watch(kill_at), Watch()
    run("steady", steady)
    assert len(steady.seen) == 10, "14 records in batches of 3, twice"
    with pytest.raises(KilledError):
        run("killed", killed)
    run("killed", resumed, ckpt_path=tmp_path / "killed" / "last.ckpt", weights_only=True)
    assert killed.seen + resumed.seen == steady.seen


class Says(LmodModule):
    """One weight that learns nothing from any record."""

    def __init__(self):
        super().__init__()
        self.collate, self.weight = Records(), torch.nn.Parameter(torch.zeros(1))

    def respond(self, batch):
        return []

    def training_step(self, batch, batch_idx):
        return self.weight.sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters())


class Records:
    """A dialect that only names the files."""

    def __call__(self, records, root):
        assert all((root / name).is_file() for r in records for name in r.image)
        return Batch(records)


def test_an_epoch_holds_the_share_of_conversations_and_classes_that_is_asked_for(tmp_path):
    rare = [glaucoma(2 * i, "train") for i in range(15)] + [glaucoma(1, "train"), glaucoma(3, "val")]
    general = [
        record(f"conversation/general/{i}", image=["x.png"] * (i % 2), task="conversation", choices=(), answer="Hm.")
        for i in range(3)
    ]
    curated = write_curated(tmp_path / "curated", rare)
    data = RecordsDataModule(
        curated, [Glaucoma()], 4, balance="class", replay=0.2, replay_from=write_curated(tmp_path / "general", general)
    )
    watch = Watch()
    trainer(tmp_path, max_epochs=2, callbacks=[watch], limit_val_batches=0).fit(Says(), datamodule=data)
    answers = {r.id: r.answer for r in rare + general}
    for epoch in range(2):
        asked = [i for e, batch, _ in watch.seen if e == epoch for i in batch]
        assert Counter(answers[i] for i in asked) == {"GLAUCOMA": 8, "NON-GLAUCOMA": 8, "Hm.": 4}
    assert len(watch.seen) == 10 and ids(data.asked("fit")) == ["glaucoma/phantom/03"]


def test_conversations_of_the_folder_itself_come_as_their_share_says(tmp_path):
    own = [glaucoma(i, "train") for i in range(18)]
    general = [record(f"conversation/a/{i}", image=[], task="conversation", choices=(), answer="A") for i in range(9)]
    folder = write_curated(tmp_path, own + general)
    for tasks in ([Glaucoma()], [Glaucoma(), Conversation()]):
        data = RecordsDataModule(folder, tasks, replay=0.1)
        data.setup("fit")
        records, draw = data._draw()
        assert Counter(records[p].task for group in draw(0) for p in group) == {"glaucoma": 18, "conversation": 2}
    with pytest.raises(BadArgument, match=r"data\.replay=1\.5"):
        RecordsDataModule(folder, [Glaucoma()], replay=1.5)


def test_a_variant_leaves_the_others_out(tmp_path):
    fields = {"task": "conditions", "split": "val", "answer": "DRUSEN TRUE", "image": ["a.png"]}
    pieces = ["1/drusen", "1/scar", "2/zh/drusen", "drusen"]  # the last is the key of a record without a variant
    places = [("1", "drusen"), ("1", "scar"), ("2", "drusen"), ("drusen", "")]
    made = [
        record(f"conditions/phantom/{p}", key=key, variant=variant, **fields)
        for p, (key, variant) in zip(pieces, places, strict=True)
    ]
    folder = write_curated(tmp_path, made)

    def asked(variant):
        data = RecordsDataModule(folder, [Conditions()], variant=variant)
        data.setup("validate")
        return ids(data.asked("validate"))

    assert asked("drusen") == ["conditions/phantom/1/drusen", "conditions/phantom/2/zh/drusen"]
    assert len(asked("")) == 4
    with pytest.raises(BadArgument, match=r"data.variant='nevus'.*there are: drusen, scar"):
        asked("nevus")


def worded(i, split):
    """A question in the published words; four images a patient, and patients stay in one split."""
    words = GLAUCOMA.replace("<IMAGE TYPE>", "an ophthalmology fundus image")
    answer = ("NON-GLAUCOMA", "GLAUCOMA")[i % 2]
    return record(f"glaucoma/phantom/{i:02}", words, [f"{i:02}.png"], answer, split=split, group=f"p{i // 4}")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    splits = ["train"] * 16 + ["val"] * 4 + ["test"] * 8
    return write_curated(tmp_path_factory.mktemp("published"), [worded(i, s) for i, s in enumerate(splits)])


def test_questions_are_asked_in_every_way_but_in_training(published):
    data = RecordsDataModule(published, [Glaucoma()], asking=Ways(wordings=2, orders=2), limit=3)
    data.setup("validate")
    ends = ["", "/order-1", "/wording-1", "/wording-1_order-1"]
    assert ids(data.asked("test")) == [f"glaucoma/phantom/{i}{end}" for i in (20, 21, 22) for end in ends]
    assert data.asked("test") is data.asked("test"), "it is computed once"
    assert ids(data.asked("fit")) == [f"glaucoma/phantom/{i}" for i in (16, 17, 18)]
    assert len(data.records("train")) == 16


def test_a_subset_names_questions_which_are_then_asked_in_every_way(published, tmp_path):
    (tmp_path / "some.txt").write_text("glaucoma/phantom/21\n")
    data = RecordsDataModule(published, [Glaucoma()], asking=Ways(repeats=2), subset=tmp_path / "some.txt")
    data.setup("test")
    assert ids(data.asked("test")) == ["glaucoma/phantom/21", "glaucoma/phantom/21/repeat-2"]


def test_examples_are_of_the_training_split_and_of_other_patients(published):
    data = RecordsDataModule(published, [Glaucoma()], asking=Ways(shots=4))
    data.setup("test")
    train = {r.image[0]: r for r in data.records("train")}
    for asked in data.asked("test"):
        *examples, own = asked.image
        assert own not in train and len(set(examples)) == 4 and set(examples) <= set(train)
        assert Counter(train[e].answer for e in examples) == {"GLAUCOMA": 2, "NON-GLAUCOMA": 2}


@pytest.mark.parametrize("split", ["train", "all"])
def test_examples_are_never_of_the_evaluated_split(published, split):
    data = RecordsDataModule(published, [Glaucoma()], asking=Ways(shots=1), split=split)
    with pytest.raises(BadArgument, match=rf"data\.split='{split}'.*without training images"):
        data.setup("test")


def test_a_classifier_is_not_asked_in_several_ways(published, tmp_path):
    data = fast(published, asking=Ways(wordings=2))
    with pytest.raises(BadArgument, match=r"data\.asking='wording'.*Classifier is a classifier"):
        trainer(tmp_path).validate(small(), datamodule=data, verbose=False)
    trainer(tmp_path, max_steps=1, limit_val_batches=1).fit(small(), datamodule=data)
