"""Signatures: ours are what the package `standardwebhooks` accepts, and the other way round."""

from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook as Standard
from standardwebhooks import WebhookVerificationError

from tenure.clock import SYSTEM_CLOCK
from tenure.errors import SecretUnreadable
from tenure.testing import VirtualClock
from tenure.webhooks import SignatureExpired, SignatureInvalid, WebhookError, verify
from tenure.webhooks.secret import new_secret
from tenure.webhooks.signature import headers_for, key_of

BODY = b'{"task_id":"a","status":"completed","result":{"n":12345678901234567890}}'


def signed(*secrets: str, at: float, body: bytes = BODY, id: str = "whd_1") -> dict[str, str]:
    return headers_for(id, int(at), body, [key_of(secret) for secret in secrets])


def test_the_package_of_the_standard_accepts_what_we_sign() -> None:
    secret = new_secret()
    got = Standard(secret).verify(BODY, signed(secret, at=SYSTEM_CLOCK.wall()))
    assert got["task_id"] == "a"


def test_the_package_of_the_standard_accepts_both_secrets_during_a_rotation() -> None:
    new, old = new_secret(), new_secret()
    headers = signed(new, old, at=SYSTEM_CLOCK.wall())
    assert headers["webhook-signature"].count("v1,") == 2
    for secret in (new, old):
        assert Standard(secret).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Standard(new_secret()).verify(BODY, headers)


def test_we_accept_what_the_package_of_the_standard_signs() -> None:
    secret, now = new_secret(), SYSTEM_CLOCK.wall()
    signature = Standard(secret).sign("msg_1", datetime.fromtimestamp(int(now), UTC), BODY.decode())
    headers = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(int(now)), "Webhook-Signature": signature}
    hook = verify(BODY, headers, secret)
    assert (hook.id, hook.sent_at) == ("msg_1", int(now))
    assert hook.body["result"]["n"] == 12345678901234567890


def test_a_request_is_verified_by_either_secret() -> None:
    clock, new, old = VirtualClock(), new_secret(), new_secret()
    headers = signed(old, at=clock.wall())
    assert verify(BODY.decode(), headers, [new, old], clock=clock).id == "whd_1"
    with pytest.raises(SignatureInvalid):
        verify(BODY, headers, new, clock=clock)


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_request_without_a_header_is_refused(missing: str) -> None:
    clock, secret = VirtualClock(), new_secret()
    headers = signed(secret, at=clock.wall())
    del headers[missing]
    with pytest.raises(SignatureInvalid, match=missing):
        verify(BODY, headers, secret, clock=clock)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("webhook-id", "whd_2"),
        ("webhook-timestamp", "1767226601"),
        ("webhook-timestamp", "soon"),
        ("webhook-timestamp", "²"),
        ("webhook-signature", "v1,"),
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", "v1a,AAAA é"),
    ],
)
def test_a_changed_header_is_refused(header: str, value: str) -> None:
    clock, secret = VirtualClock(), new_secret()
    with pytest.raises(SignatureInvalid):
        verify(BODY, signed(secret, at=clock.wall()) | {header: value}, secret, clock=clock)


def test_a_changed_body_is_refused() -> None:
    clock, secret = VirtualClock(), new_secret()
    with pytest.raises(SignatureInvalid, match="changed"):
        verify(BODY + b" ", signed(secret, at=clock.wall()), secret, clock=clock)


@pytest.mark.parametrize("seconds", [301, -301])
def test_a_request_that_is_old_or_from_the_future_is_refused(seconds: float) -> None:
    clock, secret = VirtualClock(), new_secret()
    headers = signed(secret, at=clock.wall() - seconds)
    with pytest.raises(SignatureExpired) as caught:
        verify(BODY, headers, secret, clock=clock)
    assert isinstance(caught.value, WebhookError)
    assert verify(BODY, headers, secret, tolerance=400, clock=clock).id == "whd_1"


def test_a_signed_body_that_is_no_json_is_refused() -> None:
    clock, secret = VirtualClock(), new_secret()
    with pytest.raises(SignatureInvalid, match="no JSON"):
        verify(b"hello", signed(secret, at=clock.wall(), body=b"hello"), secret, clock=clock)


@pytest.mark.parametrize("text", ["", "secret", "whsec_", "whsec_c2hvcnQ=", "whsec_?", "whsec_" + "A" * 200])
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(SecretUnreadable):
        key_of(text)
