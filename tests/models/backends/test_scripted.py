import json
from pathlib import Path

import pytest

from lmod_train.core import raw
from lmod_train.core.errors import BadArgument
from lmod_train.models.backends.scripted import Scripted
from tests.tiny import record

RECORDS = [record("1", answer="GLAUCOMA"), record("2", answer="NON-GLAUCOMA")]


def said(backend, tmp_path):
    backend.prepare("cpu")
    return backend.respond(backend.collate(RECORDS, tmp_path))


def test_one_text_for_every_record(tmp_path):
    replies = said(Scripted(text="It is {answer}."), tmp_path)
    assert [(r.id, r.reply) for r in replies] == [("1", "It is GLAUCOMA."), ("2", "It is NON-GLAUCOMA.")]
    assert all("Does this eye have glaucoma?" in r.rendered and r.model == "scripted" for r in replies)


def test_replies_of_a_file_and_a_failure_where_there_is_none(tmp_path):
    file = tmp_path / "replies.jsonl"
    file.write_text(json.dumps({"id": "2", "reply": "青光眼"}) + "\n\n", encoding="utf-8")
    with pytest.raises(BadArgument, match=r"replies\.jsonl:2"):
        Scripted(replies=file)
    file.write_text(json.dumps({"id": "2", "reply": ""}) + "\n", encoding="utf-8")
    failed, empty = said(Scripted(replies=file), tmp_path)
    assert (failed.finish_reason, failed.error, failed.reply) == ("error", "no scripted reply for this id", "")
    assert (empty.finish_reason, empty.error, empty.reply) == ("stop", "", "")


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x1e"])
def test_a_reply_with_a_line_end_of_unicode_is_one_line_of_the_file(tmp_path, mark):
    text = json.dumps({"id": "1", "reply": f"a{mark}b"}, ensure_ascii=False)
    (tmp_path / "replies.jsonl").write_text(f"{text}\n", encoding="utf-8")
    assert said(Scripted(replies=tmp_path / "replies.jsonl"), tmp_path)[0].reply == f"a{mark}b"


@pytest.mark.parametrize("arguments", [{}, {"replies": "a.jsonl", "text": "b"}])
def test_a_file_or_a_text(arguments):
    with pytest.raises(BadArgument, match="not both"):
        Scripted(**arguments)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadArgument, match=r"no\.jsonl"):
        Scripted(replies=tmp_path / "no.jsonl")


def test_a_reply_that_no_file_can_hold_is_read_with_a_question_mark(tmp_path):
    file = tmp_path / "replies.jsonl"
    file.write_text('{"id": "1", "reply": "A \\ud83d"}\n', encoding="utf-8")
    assert said(Scripted(replies=file), tmp_path)[0].reply == "A ?"


@pytest.mark.parametrize(("given", "changed"), [({}, "`replies`"), ({"replies": Path("a"), "text": "b"}, "`text`")])
def test_the_cure_names_the_option_that_is_to_be_changed(given, changed):
    with pytest.raises(BadArgument) as error:
        Scripted(**given)
    assert changed in str(error.value).partition("Next: ")[2]


def test_a_line_that_is_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "MOST_LINE", 1000)
    lines = [json.dumps({"id": id, "reply": id}) for id in ("1", "2" * 2000)]
    (tmp_path / "replies.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(BadArgument, match=r"replies\.jsonl:2"):
        Scripted(replies=tmp_path / "replies.jsonl")
