"""BERTScores come back from their file."""

import pytest

from lmod_train.core.artifacts.bert_scores import BertScore, read_bert_scores, text_hash, write_bert_scores
from lmod_train.core.errors import ArtifactError
from tests.tabled import tabled

SCORES = {
    "q/b-zh": BertScore(text_hash("a", "b"), "tiny layer 2 sha256 0", 0.5),
    "q/a": BertScore("x", "y", 0.25, -0.5),
}


def test_scores_come_back(tmp_path):
    write_bert_scores(tmp_path / "bert_scores.json", SCORES)
    assert read_bert_scores(tmp_path / "bert_scores.json") == SCORES
    assert read_bert_scores(tmp_path / "none.json") == {}


@tabled(
    "content",
    ["", "[]", "{", '{"a": 1}', '{"a": {"text": "x", "encoder": "y"}}', '{"a": {"text": 1, "encoder": "y", "f1": 0.5}}',
     '{"a": {"text": "x", "encoder": "y", "f1": "0.5"}}', '{"a": {"text": "x", "encoder": "y", "f1": NaN}}'],
)  # fmt: skip
def test_a_damaged_file_is_an_error_with_its_cure(content, tmp_path):
    (tmp_path / "bert_scores.json").write_text(content)
    with pytest.raises(ArtifactError, match=r"(?s)bert_scores\.json.*Next: delete it"):
        read_bert_scores(tmp_path / "bert_scores.json")


def test_the_hash_is_of_both_texts():
    assert len({text_hash("a", "b"), text_hash("b", "a"), text_hash("ab", ""), text_hash("", "ab")}) == 4
