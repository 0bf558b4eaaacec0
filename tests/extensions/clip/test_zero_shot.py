"""Zero-shot classification against open_clip's and transformers' own, and what it refuses."""

import json
import pickle
import sys
from dataclasses import replace

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import CLIPProcessor, SiglipProcessor

from lmod_train.cli import main
from lmod_train.core.artifacts.model_facts import known_models
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument, WeightsMismatch, WeightsNotFound
from lmod_train.core.shipped import config_files
from lmod_train.core.types import Box, Message, Part, Region
from lmod_train.extensions.clip import towers as towers_module
from lmod_train.extensions.clip.prompts import Prompts
from lmod_train.extensions.clip.towers import OpenClip, Transformers
from lmod_train.extensions.clip.zero_shot import ZeroShot
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.staging import Staging
from tests.extensions.clip import small
from tests.tiny import record, trainer, write_curated

PHRASES = {"GLAUCOMA": ["glaucoma", "a large cup"], "NON-GLAUCOMA": ["a healthy disc", "no disease"]}
TEMPLATES = ["{image} of {class}", "there is {class} here", "{class}"]
OWN = Prompts(words={"glaucoma": PHRASES}, templates=TEMPLATES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """100 pictures of different shapes, each with a question about glaucoma."""
    records = [record(f"glaucoma/p/{i:03}", image=[f"{i:03}.png"], answer=Glaucoma.choices[i % 2]) for i in range(100)]
    place = write_curated(tmp_path_factory.mktemp("curated"), records)
    noise = np.random.default_rng(0)
    for i in range(100):
        coarse = noise.integers(0, 256, (5, 7, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((60 + i, 150 - i)).save(place / f"{i:03}.png")
    return place, records


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    place = tmp_path_factory.mktemp("open_clip") / "tiny"
    small.write_open_clip(place)
    return place


def loaded(towers, prompts=OWN):
    module = ZeroShot(towers, prompts)
    module.configure_model()
    return module


def pictures(folder, records):
    return [Image.open(folder / r.image[0]).convert("RGB") for r in records]


@torch.no_grad()
def replies(module, folder, records):
    return module.respond(module.collate(records, Curated.of(folder)))


def likelihoods(found):
    return torch.tensor([list(reply.likelihoods.values()) for reply in found])


@torch.no_grad()
def test_logits_are_those_of_open_clip_on_100_images(folder, tiny):
    place, records = folder
    network, _, transform = open_clip.create_model_and_transforms(f"local-dir:{tiny}")
    network.eval()
    sentences = {c: [t.format(c) for t in ("{} of", "this is {}", "{}.")] for c in ("glaucoma", "a healthy eye")}
    templates = [lambda c, t=t: sentences[c][t] for t in range(3)]
    classes = open_clip.build_zero_shot_classifier(
        network, open_clip.get_tokenizer("ViT-B-32"), list(sentences), templates
    )
    pixels = torch.stack([transform(p) for p in pictures(place, records)])
    expected = network.logit_scale.exp() * network.encode_image(pixels, normalize=True) @ classes

    module = loaded(OpenClip(str(tiny)))
    own = module.embedded(module.collate(records, Curated.of(place)).images)
    logits = module.logits(own, tuple(map(tuple, sentences.values())))
    assert logits.shape == (100, 2) and expected.std() > 0.1
    assert (logits - expected).abs().max() < 1e-5


@pytest.mark.parametrize(("kind", "processor"), [("clip", CLIPProcessor), ("siglip", SiglipProcessor)])
@torch.no_grad()
def test_likelihoods_are_those_of_transformers(folder, tmp_path, kind, processor):
    place, records = folder
    network = small.write_transformers(tmp_path, kind)
    prompts = Prompts(words={"glaucoma": {c: [w[0]] for c, w in PHRASES.items()}}, templates=["{class}"])
    module = loaded(Transformers(str(tmp_path)), prompts)
    texts = [words[0] for words in PHRASES.values()]
    given = processor.from_pretrained(tmp_path)(
        text=texts, images=pictures(place, records[:20]), return_tensors="pt", padding="max_length", max_length=96
    )
    expected = network(**given).logits_per_image.log_softmax(1)
    found = replies(module, place, records[:20])
    assert (likelihoods(found) - expected).abs().max() < 1e-5 and expected.std(0).min() > 1e-4
    assert [r.reply for r in found] == [records[0].choices[i] for i in expected.argmax(1)]


@torch.no_grad()
def test_a_model_as_biomedclip_is_read_from_its_folder(tmp_path):
    network = small.write_biomedclip(tmp_path / "bio")
    towers = OpenClip(str(tmp_path / "bio"))
    towers.build()
    text = "a fundus photograph of glaucoma"
    ids = open_clip.tokenizer.HFTokenizer(str(tmp_path / "bio"), context_length=96)([text])
    assert torch.equal(towers.texts([text]), network.encode_text(ids))
    pixels = torch.randn(2, 3, 160, 160)
    assert torch.equal(towers.images(pixels), network.encode_image(pixels))
    (tmp_path / "bio" / "tiny-bert" / "config.json").unlink()
    with pytest.raises(WeightsNotFound, match=r"text tower nobody/tiny-bert[\s\S]*hf download nobody/tiny-bert config"):
        OpenClip(str(tmp_path / "bio"))


@torch.no_grad()
def test_the_decoder_of_eyeclip_s_pre_training_is_left_out_by_name(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", small.CONFIG["model_cfg"])
    own = load_file(tiny / "open_clip_model.safetensors")
    beside = {"visual.decoder.mask_token": torch.ones(1, 1, 4), "input_resolution": torch.tensor(64)}
    file = tmp_path / "eyeclip.pt"
    torch.save({"model_state_dict": {f"module.{n}": t for n, t in {**own, **beside}.items()}, "epoch": 3}, file)
    towers = OpenClip(str(file), "tiny", ["visual.decoder."])
    towers.build()
    assert all(torch.equal(t, own[n]) for n, t in towers.network.state_dict().items())
    with pytest.raises(WeightsMismatch, match=r"unexpected: visual\.decoder\.mask_token"):
        OpenClip(str(file), "tiny").build()


@torch.no_grad()
def test_the_embedding_of_a_class_is_the_normalised_mean_of_its_prompts(tiny):
    module = loaded(OpenClip(str(tiny)))
    ask = replace(record(), modality="OCT")
    assert module._prompts.of(ask)[0][:3] == (
        "an optical coherence tomography scan of glaucoma", "there is glaucoma here", "glaucoma",
    )  # fmt: skip
    for prompts, direction in zip(module._prompts.of(ask), module._directions(module._prompts.of(ask)), strict=True):
        assert len(prompts) == 6
        each = torch.stack([module.towers.texts([prompt])[0] for prompt in prompts]).numpy().astype(np.float64)
        mean = (each / np.linalg.norm(each, axis=1, keepdims=True)).mean(0)
        assert np.abs(mean / np.linalg.norm(mean) - direction.numpy()).max() < 1e-6


def test_replies_do_not_depend_on_the_batch(folder, tiny):
    place, records = folder
    module = loaded(OpenClip(str(tiny)))
    together, alone = replies(module, place, records[:9]), [replies(module, place, [r])[0] for r in records[:9]]
    assert [r.id for r in together] == [r.id for r in alone] == [r.id for r in records[:9]]
    assert (likelihoods(together) - likelihoods(alone)).abs().max() < 1e-5
    twice = module.collate([records[0], records[1], replace(records[0], id="again")], Curated.of(place))
    assert len(twice.images) == 2 and twice.image_of == [0, 1, 0]
    assert replies(module, place, []) == []


@pytest.mark.parametrize("task", [Glaucoma(), Staging("icdr"), Conditions(["increased cup-to-disc ratio"])])
def test_the_parser_reads_every_reply_in_the_requested_format(folder, tiny, task):
    place, _ = folder
    module = loaded(OpenClip(str(tiny)), Prompts())
    example = replace(task.example(), modality="CFP", regions=())
    asked = [replace(example, id=f"{task.name}/p/{i}", image_plain=(f"{i:03}.png",)) for i in range(20)]
    for reply, of in zip(replies(module, place, asked), asked, strict=True):
        assert task.parse(reply, of) == max(reply.likelihoods, key=reply.likelihoods.get)
        assert sum(np.exp(list(reply.likelihoods.values()))) == pytest.approx(1, abs=1e-5)


def test_a_condition_stands_in_its_words():
    ask = Conditions(["increased cup-to-disc ratio"]).example()
    yes, no = Prompts(templates=["{class}"]).of(ask)
    assert (yes, no) == (("increased cup to disc ratio",), ("a healthy eye without increased cup to disc ratio",))
    drusen = Prompts(
        words={"conditions/increased_cup_to_disc_ratio": {"TRUE": ["a"], "FALSE": ["b"]}}, templates=["{class}"]
    )
    assert drusen.of(ask) == (("a",), ("b",))


def test_choices_without_words_are_refused_with_the_lines_to_add():
    ask = replace(record(), task="quality", choices=("good", "poor"))
    with pytest.raises(BadArgument, match=r"quality: good, poor[\s\S]*words: \{quality: \{'good': \['WORDS'\]"):
        Prompts().of(ask)
    with pytest.raises(BadArgument, match=r"quality: poor.*[\s\S]*'good': \['sharp'\]"):
        Prompts(words={"quality": {"good": ["sharp"], "poor": []}}).of(ask)
    with pytest.raises(BadArgument, match=r"each contain \{class\}"):
        Prompts(templates=["a picture"])


def test_two_languages_have_words_each(folder, tiny):
    place, records = folder
    chinese = replace(records[0], id="zh", language="zh", choices=("青光眼", "非青光眼"), answer="青光眼")
    with pytest.raises(BadArgument, match="青光眼, 非青光眼"):
        Prompts().of(chinese)
    words = {**PHRASES, "青光眼": PHRASES["GLAUCOMA"], "非青光眼": PHRASES["NON-GLAUCOMA"]}
    module = loaded(OpenClip(str(tiny)), Prompts(words={"glaucoma": words}))
    english, other = replies(module, place, [records[0], chinese])
    assert list(english.likelihoods.values()) == list(other.likelihoods.values())
    assert other.reply == chinese.choices[records[0].choices.index(english.reply)]


@pytest.mark.parametrize(
    "change",
    [
        {"regions": (Region(1, "disc", Box(0, 0, 9, 9)),)},
        {"choices": (), "answer": "A large cup."},
        {"image_plain": ("000.png", "001.png")},
        {"image_plain": ()},
    ],
)
def test_other_questions_are_refused_before_the_first_batch(tiny, tmp_path, change):
    other = replace(record("anatomy/p/1", image=["000.png"]), task="anatomy", **change)
    module = loaded(OpenClip(str(tiny)))

    class Data:
        def records(self, split):
            return [record(image=["000.png"]), other]

    module.trainer = trainer(tmp_path)
    module.trainer.datamodule = Data()
    with pytest.raises(BadArgument, match=r"anatomy[\s\S]*anatomy/p/1 is none[\s\S]*--data.tasks glaucoma"):
        module.setup("validate")


def test_a_letter_is_the_reply_where_the_prompt_lists_letters(folder, tiny):
    place, records = folder
    turn = Message("user", (Part("image"), Part("text", "Which?\nA. GLAUCOMA\nB. NON-GLAUCOMA")))
    lettered = replace(records[0], messages=(turn,), answer="B")
    (reply,) = replies(loaded(OpenClip(str(tiny))), place, [lettered])
    assert reply.reply == "AB"[list(reply.likelihoods).index(max(reply.likelihoods, key=reply.likelihoods.get))]


def test_a_checkpoint_of_another_architecture_is_refused(tiny, tmp_path):
    with pytest.raises(WeightsMismatch, match=r"missing: [\s\S]*\(512,\), which is \(64,\) in the file"):
        OpenClip(str(tiny / "open_clip_model.safetensors"), "ViT-B-32").build()
    with pytest.raises(BadArgument, match="a model of open_clip"):
        OpenClip(str(tiny / "open_clip_model.safetensors"), "ViT-Z")
    with pytest.raises(WeightsNotFound, match="not downloaded"):
        OpenClip("ViT-B-32")
    with pytest.raises(WeightsNotFound, match="not downloaded"):
        Transformers("google/medsiglip-448")
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": {"embed_dim": 3}}))
    save_file({"a": torch.ones(2)}, tmp_path / "open_clip_model.safetensors")
    with pytest.raises(WeightsMismatch, match="vision_cfg"):
        OpenClip(str(tmp_path))


@pytest.mark.parametrize(("part", "name"), [("vision_cfg", "timm_model_name"), ("text_cfg", "hf_model_name")])
def test_no_tower_is_looked_for_on_the_hub(tiny, tmp_path, part, name):
    model = {**small.CONFIG["model_cfg"], part: {**small.CONFIG["model_cfg"][part], name: "hf-hub:nobody/tower"}}
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": model}))
    save_file({"a": torch.ones(2)}, tmp_path / "open_clip_model.safetensors")
    with pytest.raises((WeightsMismatch, WeightsNotFound), match=r"on the hub|text tower hf-hub:nobody/tower"):
        OpenClip(str(tmp_path))


def test_a_text_that_the_tower_would_cut_off_is_refused(tiny):
    module = loaded(OpenClip(str(tiny)))
    with pytest.raises(BadArgument, match="at most 77 tokens for this text tower; this has 102"):
        module.towers.texts(["eye " * 100])
    assert module.towers.texts(["eye " * 75]).isfinite().all()


def test_without_the_package_its_installation_is_named(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(BadArgument, match=r"pip install 'lmod-train\[clip\]'"):
        OpenClip(str(tiny))


def test_identity_knows_files_and_prompts_and_workers_get_no_network(tiny):
    module = loaded(OpenClip(str(tiny)))
    identity = module.identity()
    assert [f.name for f in identity.weights] == ["open_clip_model.safetensors", "open_clip_config.json"]
    assert identity == ZeroShot(OpenClip(str(tiny)), OWN).identity()
    assert identity.settings != loaded(OpenClip(str(tiny)), Prompts()).identity().settings
    assert len(pickle.dumps(module.collate)) < 5_000
    assert not any(p.requires_grad for p in module.parameters()) and module.state_dict() == {}


def test_shipped_models_state_their_facts_and_how_to_get_them():
    place = config_files("model")["biomedclip"].parent
    facts = {model.name: model for model in known_models(place)}
    assert facts.keys() == {"biomedclip", "eyeclip", "flair", "medsiglip"}
    assert "hf download google/medsiglip-448" in towers_module._fetch("checkpoints/medsiglip-448")
    assert "github.com/Michi-3000/EyeCLIP" in towers_module._fetch("checkpoints/EyeCLIP.pt")


@pytest.mark.slow
def test_validate_from_the_command_line(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["phantom", "--out", "raw", "--n", "12", "--sources", "refuge"]) == 0
    assert main(["curate", "--raw", "raw", "--out", "curated", "--workers", "1"]) == 0
    given = ["--config", "clip", "--data.curated", "curated", "--model.towers.weights", str(tiny), "--run", "run"]
    assert main(["validate", *given, "--data.split", "all"]) == 0
    found = read_predictions(tmp_path / "run" / "predictions.parquet")
    assert len(found) > 8 and {p.status for p in found} == {"answered"}
    assert all(p.answer == max(p.reply.likelihoods, key=p.reply.likelihoods.get) for p in found)
    assert main(["report", "run", "--out", "report"]) == 0
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Discrimination and calibration" in page and "open_clip_model.safetensors" in page
    capsys.readouterr()
    assert main(["validate", *given[:-1], "other", "--data.tasks", "anatomy,glaucoma"]) == 2
    assert "`--data.tasks glaucoma`" in capsys.readouterr().err
