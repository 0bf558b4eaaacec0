"""Open answers by rules: words by hand, BLEU-1 against sacrebleu on whole texts and against hand-worked pairs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from lmod_train.core.types import Unparsed
from lmod_train.scoring.text import bleu_columns, contains, open_scores, signature, token_f1, words_of
from tests.scoring.make import by_metric, item, values
from tests.tabled import tabled

WORDS = {
    "en": [*["the", "optic", "disc", "is", "pale", "and", "macula", "swollen", "no", "hole", "seen"], ",", "."],
    "zh": list("视盘苍白黄斑水肿无裂孔见，。"),
}


def asked(k, answer, truth, language="en", **facts):
    return item(f"{k}-{language}", answer, truth, (), language=language, **facts)


def drawn(language, n=40, seed=0):
    """Items with random answers of 0 to 8 words, some of them missing."""
    rng, words = np.random.default_rng(seed), WORDS[language]
    between = " " if language == "en" else ""

    def text(least):
        return between.join(rng.choice(words, rng.integers(least, 9)))

    return [asked(k, Unparsed("empty") if k % 9 == 8 else text(0), text(1), language) for k in range(n)]


@tabled("language", ["en", "zh"])
@tabled("seed", range(3))
def test_bleu_1_is_that_of_sacrebleu_over_the_whole_corpus(language, seed):
    items = drawn(language, seed=seed)
    answers = ["" if isinstance(i.answer, Unparsed) else i.answer for i in items]
    truths = [i.truth for i in items]
    scorer = BLEU(
        max_ngram_order=1, smooth_method="none", effective_order=True, tokenize={"zh": "zh", "en": "13a"}[language]
    )
    whole = scorer.corpus_score(answers, [truths])
    found = by_metric(open_scores("open_question", items))
    assert found["bleu1_corpus"].value == pytest.approx(whole.score / 100, abs=1e-12)
    words = whole.format(score_only=False)  # "BLEU = 38.09 52.6 (BP = 0.724 ratio = 0.756 hyp_len = 135 ref_len = ...)"
    precision, brevity = float(words.split()[3]), float(words.partition("BP = ")[2].split()[0])
    assert found["bleu1_corpus"].value == pytest.approx(brevity * precision / 100, abs=1e-3)
    assert found["bleu1_corpus"].value == pytest.approx(whole.bp * whole.precisions[0] / 100, abs=1e-12)
    single = [scorer.sentence_score(a, [t]).score / 100 for a, t in zip(answers, truths, strict=True)]
    assert found["bleu1_sentence_mean"].value == pytest.approx(np.mean(single))
    low, high = found["bleu1_corpus"].low, found["bleu1_corpus"].high
    assert 0 <= low < found["bleu1_corpus"].value < high <= 1


@tabled(
    ("answer", "truth", "bleu"),
    [
        ("视盘苍白", "视盘苍白", 1.0),
        ("视盘苍白，黄斑水肿", "黄斑水肿，视盘苍白", 1.0),  # the order of words is not seen
        ("有黄斑裂孔", "无黄斑裂孔", 4 / 5),  # a negation is one character of five
        ("黄斑", "黄斑水肿", math.exp(1 - 4 / 2)),  # all of 2 right, 4 expected
        ("黄黄黄黄", "黄斑水肿", 1 / 4),  # each character counts as often as the reference has it
        ("视网膜脱离", "黄斑水肿", 0.0),
        ("OCT显示水肿", "OCT 水肿", 3 / 5),  # OCT is one word: OCT 显 示 水 肿
        ("", "黄斑", 0.0),
    ],
)
def test_chinese_pairs_by_hand(answer, truth, bleu):
    found = values(open_scores("q", [asked(1, answer, truth, "zh")]))
    assert found["bleu1_corpus"] == found["bleu1_sentence_mean"] == pytest.approx(bleu)


def test_the_corpus_is_not_the_mean_of_its_sentences():
    items = [asked(1, "黄斑", "黄斑水肿", "zh"), asked(2, "视盘苍白水肿", "视盘", "zh")]
    found = values(open_scores("q", items))
    assert found["bleu1_corpus"] == pytest.approx(4 / 8)  # 8 words, 6 expected: no penalty
    assert found["bleu1_sentence_mean"] == pytest.approx((math.exp(-1) + 2 / 6) / 2)


def test_two_languages_have_no_common_corpus():
    items = [*drawn("en"), *drawn("zh")]
    scores = open_scores("q", items)
    assert "bleu1_corpus" not in values(scores) and "bleu1_sentence_mean" in values(scores)
    for language in ("en", "zh"):
        own = by_metric(scores, f"language={language}")
        alone = by_metric(open_scores("q", drawn(language)))
        for metric in ("bleu1_corpus", "bleu1_sentence_mean", "token_f1"):
            assert own[metric] == replace(alone[metric], subset=f"language={language}")
        assert own["bleu1_corpus"].settings == f"{language}: {signature(language)}"
    settings = by_metric(scores)["bleu1_sentence_mean"].settings
    assert settings == f"en: {signature('en')}; zh: {signature('zh')}" and settings.count("|ngram:1") == 2


def test_columns_of_bleu():
    columns = bleu_columns([asked(1, "a pale disc .", "the pale disc"), asked(2, Unparsed("empty"), "pale")])
    assert {name: column.tolist() for name, column in columns.items()} == {
        "items": [1, 1], "right": [2, 0], "words": [4, 0], "reference": [3, 1], "bleu": [0.5, 0],
    }  # fmt: skip
    assert [len(column) for column in bleu_columns([]).values()] == [0] * 5


def test_rules_by_hand():
    pairs = [
        ("Macular hole.", "a macular hole"), ("It is a macular hole", "macular hole"), ("hole", "macular hole"),
        ("no macular hole", "macular hole"), (Unparsed("refused"), "macular hole"),
    ]  # fmt: skip
    found = by_metric(open_scores("q", [asked(k, a, t) for k, (a, t) in enumerate(pairs)]))
    assert [found[m].value for m in ("exact_match", "containment")] == [0.2, 0.6]
    assert found["token_f1"].value == pytest.approx((1 + 2 / 3 + 2 / 3 + 4 / 5) / 5)
    assert (found["containment_answered"].value, found["containment_answered"].n) == (0.75, 4)
    assert (found["share_answered"].value, found["share_refused"].value) == (0.8, 0.2)
    assert open_scores("q", []) == []


def test_an_exact_match_is_contained_and_has_full_f1():
    for text in ("Pale disc", "视盘苍白。", "?", "12 mm"):
        assert contains(text, text) and token_f1(text, text) == 1.0
    assert not contains("pale", "pale disc") and not contains("pale", "?") and words_of("?") == []
