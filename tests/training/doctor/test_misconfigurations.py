"""All checks on trainings with a deliberate fault and on healthy ones: every fault is found, no healthy one fails.

Ten faults that need the network are tested here; those that configuration and records show are the grids of
`test_recipe`, `test_separation`, `test_answers` and `test_language`.
"""

import json
import shutil
from dataclasses import asdict, is_dataclass, replace

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from lmod_train.core.errors import LmodError, WeightsMismatch
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.checkpoint_files import SHIPPED
from lmod_train.models.chat.delta import make_delta
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.doctor.check_result import failures
from lmod_train.training.doctor.examine import CHECKS, examine
from lmod_train.training.doctor.recipe import round_trip
from lmod_train.training.doctor.subject import Subject
from lmod_train.training.doctor.tokens import labels, preprocessing, replies, template
from lmod_train.training.doctor.weights import sensitivity, untrained
from tests.families import MODEL_TYPES
from tests.models.chat.quick import few
from tests.models.chat.written_once import write_tiny
from tests.tiny import record, write_curated

WORDS = ("NON-GLAUCOMA", "GLAUCOMA")
RECORDS = [
    record(f"glaucoma/p/{i}", f"Does eye number {i} have glaucoma?", [f"{i}.png"], WORDS[i % 2]) for i in range(6)
]
TRAINER = {"gradient_clip_val": 1.0, "accelerator": "cpu", "devices": 1}


@pytest.fixture
def curated(tmp_path):
    (tmp_path / "curated").mkdir()
    return write_curated(tmp_path / "curated", RECORDS, side=40)


@pytest.fixture
def checkpoint(tmp_path):
    """Return a copy of the shipped base model, for a test to damage."""
    return shutil.copytree(SHIPPED / "small_base", tmp_path / "base")


def subject(checkpoint, curated, **options):
    """Return the subject of a configuration, as the command line builds it."""
    data = RecordsDataModule(curated, [Glaucoma()])
    data.setup("fit")
    options = {"lora": Lora(2, 4, 0.0), "optimisation": Optimisation(), **options}
    plain = {name: asdict(value) if is_dataclass(value) else value for name, value in options.items()}
    config = {"model": {"init_args": {"checkpoint": str(checkpoint), **plain}}, "trainer": TRAINER, "data": {}}
    torch.manual_seed(0)
    return Subject(config, VisionLanguageModel(str(checkpoint), **options), data)


def failed(examined, *names):
    """Return the failures by check; of all checks, or of those that are named and the one that builds the network."""
    with pytest.MonkeyPatch.context() as patched:
        some = [one for one in CHECKS if one[0] in ("load_report", *names) or not names]
        patched.setattr("lmod_train.training.doctor.examine.CHECKS", some)
        return {f.check: f for f in failures(examine(examined))}


def tensors(folder, change):
    """Rewrite a checkpoint's tensors."""
    file = folder / "model.safetensors"
    save_file(change(load_file(file)), file, metadata={"format": "pt"})


def edited(file, **values):
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


HEALTHY = {
    "lora": {},
    "projector": {"lora": None},
    "full": {"lora": None, "tune_language_model": True},
    "tower": {"tune_tower": True},
    "bfloat16": {"dtype": "bfloat16"},
    "tokens": {"loss_over": "token"},
    "short replies": {"max_new_tokens": 8},
    "no warm-up": {"optimisation": Optimisation(warmup=0.0)},
    "the lab's rate": {"lora": None, "tune_language_model": True, "optimisation": Optimisation(2e-3, 2e-3)},
    "rank one": {"lora": Lora(1, 1, 0.0)},
    "several": {"lora": None, "loss_over": "token", "max_new_tokens": 8, "optimisation": Optimisation(warmup=0.0)},
}


QUICKLY = ("lora", "full", "tower", "bfloat16", "several")


@pytest.mark.parametrize(
    "options",
    [pytest.param(o, id=n, marks=[] if n in QUICKLY else pytest.mark.slow) for n, o in HEALTHY.items()],
)
def test_healthy_trainings_pass(checkpoint, curated, options):
    found = examine(subject(checkpoint, curated, **options))
    assert not failures(found), failures(found)
    assert {f.check for f in found} >= {
        "strategy", "delta", "records", "load_report", "vision", "template", "labels", "sensitivity", "census",
        "round_trip", "recipe", "answers", "separation", "language", "replies", "schedule", "references", "splits",
        "preprocessing", "untrained", "vocabulary",
    }  # fmt: skip
    assert not [f for f in found if f.level == "skip"]


def test_without_module_and_data_only_the_configuration_is_checked():
    found = examine(Subject({}))
    assert {f.check for f in found if f.level != "skip"} == {"strategy", "recipe"}
    assert len(found) >= len(CHECKS) and not failures(found)


@pytest.mark.parametrize(
    ("model_type", "images"),
    [
        *((model_type, 2) for model_type in MODEL_TYPES),
        ("qwen2_5_vl", 1),
        *(pytest.param(one, 1, marks=pytest.mark.slow) for one in MODEL_TYPES if one != "qwen2_5_vl"),
    ],
)
def test_every_family_passes(tmp_path, curated, model_type, images):
    (tmp_path / "tiny").mkdir()
    if images == 2:
        both = [
            record(one.id, one.messages[0].parts[-1].text, [f"{i}.png", f"{5 - i}.png"], one.answer)
            for i, one in enumerate(RECORDS)
        ]
        curated = write_curated(tmp_path / "curated", both, side=40)
    found = failed(subject(write_tiny(tmp_path / "tiny", model_type), curated))
    found.pop("delta", None)  # random weights predict nothing, as a delta does
    assert not found


def test_1_a_template_whose_prompt_is_not_that_of_training(checkpoint, curated):
    template = checkpoint / "chat_template.jinja"
    written = template.read_text()
    asking = "{% if add_generation_prompt %}"
    template.write_text(written.replace(f"{asking} ASSISTANT: ", f"{asking} SAY: "))
    assert template.read_text() != written
    with pytest.raises(WeightsMismatch, match=r"(?s)chat_template.*generation prompt that is a prefix"):
        subject(checkpoint, curated)  # `load_report` on the command line


def test_1_a_template_that_leaves_words_of_the_question_out(checkpoint, curated):
    template = checkpoint / "chat_template.jinja"
    shortened = "{{ part['text'] if message['role'] == 'assistant' else part['text'][:9] }}"
    template.write_text(template.read_text().replace("{{ part['text'] }}", shortened))
    assert "lacks words of its record" in failed(subject(checkpoint, curated), "template")["template"].what


def test_1_a_template_without_role_markers_warns(checkpoint, curated):
    template = checkpoint / "chat_template.jinja"
    template.write_text(template.read_text().replace("USER: ", "").replace(" ASSISTANT: ", ""))
    found = examine(subject(checkpoint, curated))
    assert ["warn" for f in found if "no role markers" in f.what] == ["warn"]


def test_1_a_prompt_that_transformers_makes_other_tokens_of(checkpoint, curated):
    broken = subject(checkpoint, curated)
    plain = broken.module.dialect.plain_prompt
    broken.module.dialect.plain_prompt = lambda record, root: plain(record, root)[1:]  # as without its first token
    assert "transformers tokenises the prompt" in failed(broken, "template")["template"].what


def test_1_words_that_hold_the_image_token(checkpoint, curated):
    broken = subject(checkpoint, curated)
    held = [*RECORDS, replace(RECORDS[0], id="glaucoma/p/99", answer="an <image> of an eye")]
    broken.data.training = lambda: held
    assert "glaucoma/p/99" in failed(broken, "template")["template"].what


def test_2_a_projector_that_is_missing(checkpoint, curated):
    tensors(checkpoint, lambda t: {n: v for n, v in t.items() if "projector" not in n})
    found = failed(subject(checkpoint, curated), "load_report")
    assert "multi_modal_projector" in found["load_report"].what


def test_3_an_end_token_that_is_not_learnt(checkpoint, curated):
    broken = subject(checkpoint, curated)
    make = broken.module.collate

    def without_end(records, root):
        batch = make(records, root)
        batch.answer_ids = [ids[:-1] for ids in batch.answer_ids]
        return batch

    broken.module.collate = without_end
    assert "do not end with a token that stops" in failed(broken, "labels")["labels"].what


def test_4_labels_that_are_all_masked(checkpoint, curated):
    found = failed(subject(checkpoint, curated, max_tokens=40), "labels")
    assert "6 of 6 records are longer than 40 tokens" in found["labels"].what


def test_5_a_processor_that_counts_other_image_tokens(checkpoint, curated):
    edited(checkpoint / "processor_config.json", patch_size=10)
    assert "image tokens" in failed(subject(checkpoint, curated), "load_report")["load_report"].what


def test_6_adapters_that_reach_the_tower(checkpoint, curated):
    found = failed(subject(checkpoint, curated, lora=Lora(2, 4, 0.0, targets=r".*\.(q_proj|k_proj|v_proj)")))
    assert "outside the language model" in found["census"].what and "vision_tower" in found["census"].what


def test_7_a_flat_configuration_of_the_first_llava(checkpoint, curated):
    edited(checkpoint / "config.json", mm_vision_tower="openai/clip-vit-large-patch14")
    config = json.loads((checkpoint / "config.json").read_text())
    config.pop("text_config")
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(LmodError, match="original LLaVA code"):
        subject(checkpoint, curated)


def test_8_a_tower_that_is_loaded_by_half(checkpoint, curated):
    tensors(checkpoint, lambda t: {n: v for n, v in t.items() if "vision_tower.encoder.layers.3" not in n})
    assert "vision_tower" in failed(subject(checkpoint, curated), "load_report")["load_report"].what


def test_9_delta_weights_under_an_innocent_name(checkpoint, curated, tmp_path):
    tuned = shutil.copytree(checkpoint, tmp_path / "tuned")
    torch.manual_seed(0)
    tensors(tuned, lambda t: {n: (v.float() * (1 + 0.01 * torch.randn(v.shape))).half() for n, v in t.items()})
    make_delta(tuned, checkpoint, tmp_path / "llava-med-7b")
    found = [f for f in failures(examine(subject(tmp_path / "llava-med-7b", curated))) if f.check == "delta"]
    assert all("weights apply-delta" in f.cure for f in found)
    assert "mean gain" in found[0].what and "entropy" in found[1].what, "from the files, and from what it predicts"


def test_10_images_that_cannot_be_read(checkpoint, curated):
    (curated / "3.png").write_bytes((curated / "3.png").read_bytes()[:40])
    (curated / "4.png").unlink()
    found = failed(subject(checkpoint, curated), "records")["records"]
    assert "2 images that cannot be read" in found.what and "3.png" in found.what and "4.png" in found.what


def test_a_model_that_ignores_its_images_fails(checkpoint, curated):
    def blind(weights):
        return {n: v * 0 if "multi_modal_projector.linear_2" in n else v for n, v in weights.items()}

    tensors(checkpoint, blind)
    assert "another image changes" in failed(subject(checkpoint, curated), "sensitivity")["sensitivity"].what


def test_training_weights_are_as_they_were_after_the_examination(checkpoint, curated):
    examined = subject(checkpoint, curated)
    examined.module.configure_model()
    before = [p.detach().clone() for p in examined.module.parameters()]
    examine(examined)
    assert all(torch.equal(a, b) for a, b in zip(examined.module.parameters(), before, strict=True))


def test_the_state_of_random_numbers_is_restored(checkpoint, curated):
    examined = subject(checkpoint, curated)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    examine(examined)
    assert torch.initial_seed() == 7 and torch.equal(torch.get_rng_state(), before)


def test_logits_that_are_not_finite_fail(checkpoint, curated):
    spoilt = "language_model.model.norm.weight"
    made = subject(checkpoint, curated)
    made.module.configure_model()
    for parameter in made.module.model.parameters():
        parameter.data.mul_(float("nan"))
    (found,) = (r for r in sensitivity(made) if r.level == "fail")
    assert "not finite" in found.what
    tensors(checkpoint, lambda t: t | {spoilt: t[spoilt] * float("nan")})
    assert "NaN" in failed(subject(checkpoint, curated), "load_report")["load_report"].what


@pytest.mark.parametrize("model_type", few(("gemma3", "internvl", "llava_onevision", "qwen2_vl")))
def test_records_that_are_too_long_are_found_among_all_whatever_the_family(tmp_path, curated, model_type):
    (tmp_path / "tiny").mkdir()
    made = subject(write_tiny(tmp_path / "tiny", model_type), curated)
    short, long = RECORDS[0], record("glaucoma/p/long", "Does this eye have glaucoma? " * 9, ["1.png"], WORDS[0])
    made.module.configure_model()
    made.data.training = lambda: [short] * 5 + [long]
    batch = made.module.collate([short, long], curated)
    lengths = [len(p) + len(a) for p, a in zip(batch.prompt_ids, batch.answer_ids, strict=True)]
    for limit, lost in ((lengths[1], 0), (lengths[1] - 1, 1), (lengths[0], 1)):
        made.module.max_tokens = limit
        reported = [f.what for f in labels(made) if f.level != "ok" and "longer than" in f.what]
        assert reported == [f"1 of 6 records are longer than {limit} tokens, e.g. {long.id}"] * lost


def test_records_that_only_large_images_make_too_long_warn_and_do_not_fail(tmp_path, curated):
    (tmp_path / "tiny").mkdir()
    made = subject(write_tiny(tmp_path / "tiny", "qwen2_5_vl"), curated)
    made.module.configure_model()
    Image.new("RGB", (200, 200)).save(curated / "0.png")
    batch = made.module.collate(RECORDS, curated)
    lengths = [len(p) + len(a) for p, a in zip(batch.prompt_ids, batch.answer_ids, strict=True)]
    assert lengths[0] > max(lengths[1:])
    made.module.max_tokens = max(lengths[1:])
    (found,) = (f for f in labels(made) if "longer than" in f.what)
    assert found.level == "warn" and found.what.startswith("0, or 6 with large images, of 6 records")


@pytest.mark.parametrize(("limit", "level"), [(1, "fail"), (2, "fail"), (3, "ok"), (4, "ok")])
def test_replies_that_end_before_the_answers_do(checkpoint, curated, limit, level):
    """NON-GLAUCOMA has three tokens, GLAUCOMA one."""
    (found,) = replies(subject(checkpoint, curated, max_new_tokens=limit))
    assert found.level == level
    if level == "fail":
        assert found.what == f"3 of 6 answers have more tokens than max_new_tokens={limit}, up to 3"
        assert found.cure == "set model.init_args.max_new_tokens to 4 or more", "with the token that ends it"


def test_pictures_that_are_all_alike_are_not_the_towers_fault(checkpoint, curated):
    for i in range(6):
        Image.new("RGB", (40, 40), "grey").save(curated / f"{i}.png")
    found = failed(subject(checkpoint, curated))
    assert {"records", "sensitivity"} <= found.keys()
    assert "have the same pixels" in found["sensitivity"].what and "tower" not in found["sensitivity"].cure


def test_copies_of_one_picture_are_passed_over_for_another(checkpoint, curated):
    for i in range(5):
        (curated / f"{i}.png").write_bytes((curated / "0.png").read_bytes())
    assert "sensitivity" not in failed(subject(checkpoint, curated), "records", "sensitivity")


def test_a_tensor_that_is_not_saved_is_found(checkpoint, curated, monkeypatch):
    broken, whole = subject(checkpoint, curated), VisionLanguageModel.state_dict
    forgets = lambda module: {n: t for n, t in whole(module).items() if "linear_2.bias" not in n}  # noqa: E731
    monkeypatch.setattr(VisionLanguageModel, "state_dict", forgets)
    found = failed(broken, "round_trip")["round_trip"]
    assert "1 of" in found.what and "linear_2.bias" in found.what


def test_weights_too_large_for_memory_are_checked_in_the_first_checkpoint(checkpoint, curated, monkeypatch):
    made = subject(checkpoint, curated)
    made.module.configure_model()
    monkeypatch.setattr("lmod_train.training.doctor.recipe.AT_MOST", 0.0)
    (found,) = round_trip(made)
    assert found.level == "ok" and "first checkpoint is read back" in found.what


def test_a_full_disk_for_temporary_files_is_no_failure(checkpoint, curated, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    made = subject(checkpoint, curated)
    made.module.configure_model()
    monkeypatch.setattr("tempfile.mkdtemp", full)
    monkeypatch.setattr("tempfile.mkstemp", full)
    assert [f.level for f in round_trip(made)] == ["ok"]


def test_weights_are_read_once(checkpoint, curated, monkeypatch):
    read = []
    monkeypatch.setattr("lmod_train.models.modules.conversation.load", lambda *a, **b: read.append(a) or load(*a, **b))
    examine(subject(checkpoint, curated))
    assert len(read) == 1


@pytest.mark.parametrize(
    ("processor", "level", "start"),
    [
        ({"do_rescale": False}, "fail", "pixels from"),
        ({"rescale_factor": 1 / 255**2}, "fail", "pixels from"),
        ({"do_normalize": False}, "warn", "pixels from"),
        ({"image_mean": [107.0, 76.0, 61.0], "image_std": [71.0, 56.0, 51.0]}, "fail", "image_mean [107.0, 76.0"),
        ({"image_std": [0.028, 0.022, 0.02]}, "fail", "image_mean [0.42"),
        ({"image_mean": [0.5] * 3, "image_std": [0.5] * 3}, "ok", "pixels from"),
    ],
    ids=["not rescaled", "rescaled twice", "not normalised", "units of 255", "std a tenth", "SigLIP's"],
)
def test_pixels_are_compared_with_mean_and_std(checkpoint, curated, processor, level, start):
    file = checkpoint / "processor_config.json"
    edited(file, image_processor=json.loads(file.read_text())["image_processor"] | processor)
    (found,) = preprocessing(subject(checkpoint, curated))
    assert found.level == level and found.what.startswith(start)


def test_wide_pictures_that_are_cropped_warn(checkpoint, curated):
    for i in range(6):
        Image.linear_gradient("L").resize((90, 40)).convert("RGB").save(curated / f"{i}.png")
    file = checkpoint / "processor_config.json"
    crops = {"do_center_crop": True, "size": {"shortest_edge": 192}}
    edited(file, image_processor=json.loads(file.read_text())["image_processor"] | crops)
    for fit, levels in (("crop", ["warn"]), ("pad", ["ok"])):
        found = list(preprocessing(subject(checkpoint, curated, images=Pictures(fit))))
        assert [f.level for f in found] == levels, found


def drawn_anew(part):
    """Return a change that replaces the matrices of a part by random values, as a class without weights begins."""

    def change(weights):
        torch.manual_seed(0)
        return {n: torch.randn(v.shape).to(v) * 0.02 if part in n and v.ndim > 1 else v for n, v in weights.items()}

    return change


def out_of_order(weights):
    rows = torch.randperm(2040, generator=torch.Generator().manual_seed(0)) + 8
    name = "language_model.model.embed_tokens.weight"
    return weights | {name: torch.cat([weights[name][:8], weights[name][rows]])}


@pytest.mark.parametrize(
    ("change", "check", "level", "what"),
    [
        (drawn_anew("vision_tower"), "untrained", "fail", "6 of 6 tower blocks"),
        (drawn_anew("vision_tower.encoder.layers.3"), "untrained", "fail", "1 of 6 tower blocks"),
        (drawn_anew("language_model.model.layers"), "untrained", "fail", "4 of 4 language_model blocks"),
        (drawn_anew("multi_modal_projector"), "untrained", "warn", "projector blocks"),
        (out_of_order, "vocabulary", "warn", "words in their order"),
    ],
    ids=["tower", "one layer", "language model", "projector", "vocabulary"],
)
def test_random_values_and_permuted_rows_are_found(checkpoint, curated, change, check, level, what):
    tensors(checkpoint, change)
    made = subject(checkpoint, curated)
    made.module.configure_model()
    found = [f for f in {name: function for name, function, _ in CHECKS}[check](made) if f.level != "ok"]
    assert found[0].level == level and what in found[0].what


def test_a_new_projector_at_its_usual_rate_passes(checkpoint, curated):
    tensors(checkpoint, drawn_anew("multi_modal_projector"))
    made = subject(checkpoint, curated, optimisation=Optimisation(5e-4, 1e-3))
    made.module.configure_model()
    (found,) = untrained(made)
    assert found.level == "ok" and "learns at 0.001" in found.what


def test_another_template_than_the_checkpoints_own_warns(checkpoint, curated):
    for own, warned in (("vicuna_v1", True), (str(checkpoint / "chat_template.jinja"), False)):
        made = subject(checkpoint, curated, prompt=Prompting(own))
        made.module.configure_model()
        found = list(template(made))
        assert any("replaces the checkpoint's own" in f.what for f in found if f.level == "warn") == warned


def test_an_end_token_that_is_an_ordinary_word_warns(checkpoint, curated):
    edited(checkpoint / "generation_config.json", eos_token_id=[2, 7])
    made = subject(checkpoint, curated)
    made.module.configure_model()
    assert [f.what[:20] for f in labels(made) if f.level == "warn" and "ordinary" in f.what] == ["replies also end at "]
