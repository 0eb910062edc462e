"""Texts, names and URLs: what is read, what is written, and what is refused."""

import base64
from urllib.parse import urlsplit

import pytest
from tests.servers.azure import ACCOUNT, KEY

from tenure.adapters.azure.faults import no_credentials
from tenure.adapters.azure.naming import queue_name, row_id
from tenure.adapters.azure.options import Options, read_options
from tenure.adapters.azure.text import id_of, read, write
from tenure.errors import BadSetting, BadURL

STRING = (
    "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=a2V5;EndpointSuffix=core.example;"
    "TableEndpoint=https://tables.example/"
)


@pytest.mark.parametrize("encoding", ["plain", "base64"])
@pytest.mark.parametrize(
    "raw", [b'{"a": 1}', "größe €".encode(), b"\xff\x00", b"\x1e", b"a\r\nb", b"abcd", b"YWJj", b"x" * 65_536]
)
def test_what_is_written_is_read_again(raw: bytes, encoding: str) -> None:
    assert read(write(raw, encoding)) == raw


def test_plain_json_is_written_as_it_is_and_base64_is_read_too() -> None:
    assert write(b'{"task": "resize"}', "plain") == '{"task": "resize"}'
    assert read(base64.b64encode(b'{"task": "resize"}').decode()) == b'{"task": "resize"}'


def test_text_that_only_looks_like_base64_stays_text() -> None:
    assert read("hello") == b"hello"
    assert read("hello world!") == b"hello world!"


def test_a_damaged_envelope_still_tells_its_id_and_a_foreign_one_has_none() -> None:
    assert id_of(b'{"tenure":1,"id":"m-1","queue":') == "m-1"
    assert id_of(b'{"id":"m-1","task":"x"}') is None


@pytest.mark.parametrize("queue", ["a", "Mail", "a_b", "a--b", "-a-", "x" * 60, "größe"])
def test_a_name_that_the_service_does_not_take_is_refused_with_the_rule(queue: str) -> None:
    with pytest.raises(BadSetting, match="single dashes"):
        queue_name("", queue)


def test_ids_that_a_key_cannot_hold_are_kept_apart() -> None:
    ids = ["a/b", "a\\b", "a#b", "a?b", "a b", "ä" * 300, "plain-1"]
    keys = {row_id(id) for id in ids}
    assert len(keys) == len(ids)
    assert not any(set("/\\#? ") & set(key) for key in keys)


def _read(url: str, **environment: str) -> Options:
    return read_options(url, urlsplit(url), environment)


def test_a_connection_string_of_the_same_account_is_used() -> None:
    options = _read("azure://acme", AZURE_STORAGE_CONNECTION_STRING=STRING)
    assert (options.key, options.queue_endpoint) == ("a2V5", "https://acme.queue.core.example")
    assert options.table_endpoint == "https://tables.example"
    assert _read("azure://", AZURE_STORAGE_CONNECTION_STRING=STRING).account == "acme"


@pytest.mark.parametrize("url", ["azure://", "azure://devstoreaccount1"])
def test_development_storage_is_azurite(url: str) -> None:
    options = _read(url, AZURE_STORAGE_CONNECTION_STRING="UseDevelopmentStorage=true")
    assert (options.account, options.key, options.doubt) == (ACCOUNT, KEY, "")
    assert options.queue_endpoint == "http://127.0.0.1:10001/devstoreaccount1"
    assert options.table_endpoint == "http://127.0.0.1:10002/devstoreaccount1"
    assert options.blob_endpoint == "http://127.0.0.1:10000/devstoreaccount1"
    far = "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite"
    assert _read(url, AZURE_STORAGE_CONNECTION_STRING=far).queue_endpoint == "http://azurite:10001/devstoreaccount1"


def test_a_connection_string_of_another_account_is_not() -> None:
    options = _read("azure://other", AZURE_STORAGE_CONNECTION_STRING=STRING)
    assert (options.key, options.queue_endpoint) == (None, "https://other.queue.core.windows.net")
    assert "is of another account" in options.doubt


def test_a_signature_tells_its_account_by_its_endpoints() -> None:
    text = "QueueEndpoint=https://beta.queue.core.windows.net/;SharedAccessSignature=sv=1&sig=2"
    mine = read_options("azure://beta", urlsplit("azure://beta"), {"AZURE_STORAGE_CONNECTION_STRING": text})
    assert (mine.account, mine.sas) == ("beta", "sv=1&sig=2")
    other = read_options("azure://alpha", urlsplit("azure://alpha"), {"AZURE_STORAGE_CONNECTION_STRING": text})
    assert other.sas is None
    assert other.queue_endpoint == "https://alpha.queue.core.windows.net"
    assert "another account" in other.doubt


def test_a_key_in_a_url_keeps_its_plus_signs() -> None:
    url = "azure://account?key=ab+c/d=="
    assert read_options(url, urlsplit(url), {}).key == "ab+c/d=="


def test_a_connection_string_that_says_nothing_is_told_of() -> None:
    options = _read("azure://acme", AZURE_STORAGE_CONNECTION_STRING="AccountName=acme;AccountKeya2V5")
    assert options.key is None
    assert "neither AccountKey nor SharedAccessSignature" in options.doubt
    assert "a2V5" not in options.doubt
    told = str(no_credentials(options.place, ValueError("nobody is logged in"), options.doubt))
    assert f"no credentials ({options.doubt}); nothing was started (nobody is logged in)" in told


@pytest.mark.parametrize("said", ["shop", "shop-"])
def test_a_prefix_stands_apart_from_the_name_of_its_queue(said: str) -> None:
    options = _read(f"azure://acme?prefix={said}")
    assert (queue_name(options.prefix, "orders"), options.table) == ("shop-orders", "shoptenure")


@pytest.mark.parametrize(
    "url",
    [
        "azure://", "azure://Not_An_Account", "azure://acme?create=perhaps", "azure://acme?prefix=9", "azure://acme?x=1",
        "azure://acme?poll_seconds=0", "azure://acme/orders", "azure://acme?queue_endpoint=nowhere", "azure://acme?partitions=0",
    ],
)  # fmt: skip
def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(BadURL):
        _read(url)
