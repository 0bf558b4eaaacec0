"""Where an endpoint lies."""

import json

import pytest

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.models.backends.endpoint.address import check_encrypted, check_sources, checked, is_own
from tests.tiny import record


def test_a_slash_at_the_end_is_no_other_server():
    assert checked(" http://localhost:8000/v1/ ") == "http://localhost:8000/v1"


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x/v1", "http://", "file:///etc/passwd"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(BadArgument, match="base_url"):
        checked(url)


@pytest.mark.parametrize("url", ["https://me:sk-secret@host/v1", "https://host/v1?api_key=sk-secret"])
def test_a_secret_in_a_url_is_refused_and_not_repeated(url):
    with pytest.raises(BadArgument, match="key_variable") as caught:
        checked(url)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/v1", "http://[::1]:8000/v1", "http://192.168.1.4/v1", "http://gpu.local"]
)
def test_own_servers(url):
    assert is_own(url)
    check_encrypted(url, allowed=True)


@pytest.mark.parametrize("url", ["http://127.0.0.1/v1", "http://[::1]:8000/v1", "http://localhost:8000/v1"])
def test_a_key_goes_to_this_machine_as_it_is(url):
    check_encrypted(url)


@pytest.mark.parametrize("url", ["http://192.168.1.4/v1", "http://gpu.local", "http://gpu-07:8000/v1"])
def test_a_key_goes_to_another_machine_of_the_network_at_the_users_word(url):
    with pytest.raises(BadArgument, match=r"https.*\n.*--model\.backend\.plain_key true"):
        check_encrypted(url)
    check_encrypted(url, allowed=True)
    check_encrypted(url.replace("http:", "https:"))


@pytest.mark.parametrize("url", ["http://api.openai.com/v1", "http://8.8.8.8/v1", "http://localhost.evil.com/v1"])
def test_a_key_goes_to_strangers_encrypted_only(url):
    assert not is_own(url)
    check_encrypted(url.replace("http:", "https:"))
    for allowed in (False, True):
        with pytest.raises(BadArgument, match="https"):
            check_encrypted(url, allowed)


def test_images_that_may_not_be_passed_on_are_not_sent_away(tmp_path):
    sources = {"idrid": {"redistributable": True}, "brset": {"redistributable": False}}
    (tmp_path / "manifest.json").write_text(json.dumps({"schema_version": 3, "sources": sources}))
    free, closed, unknown = (record(source=name) for name in ("idrid", "brset", "other"))
    check_sources([free, record(source="brset", image=[])], tmp_path, [])
    for one in (closed, unknown):
        with pytest.raises(LmodError, match=rf"send_sources.*{one.source}"):
            check_sources([free, one], tmp_path, [])
        check_sources([free, one], tmp_path, [one.source])
    foreign = record(source="idrid", image=["images/brset/1.jpg"])
    with pytest.raises(LmodError, match=r"images of brset"):
        check_sources([free, foreign], tmp_path, [])


def test_records_without_images_need_no_curated_folder(tmp_path):
    check_sources([record(source="brset", image=[])], tmp_path, [])
