"""A lease token: what it names, who can make it, and how long it is good."""

import base64

import msgspec
import pytest

from tenure import Tenure
from tenure.claim import Scope, Token
from tenure.client.signing import Signing
from tenure.config import Settings
from tenure.lease import Lease
from tenure.message import Counters, Message, Overrides
from tenure.server.consumers.lease_token import LeaseName, LeaseTokens, name_of
from tenure.testing.virtual import VirtualClock

LEASE = Lease("m1", "acme-tasks", b"...", "http:a1b2/c1", 7, "the receipt", 30.0, 100.0, Counters(3, 2))
MESSAGE = Message(
    id="m1", queue="acme-tasks", task="resize", body=msgspec.Raw(b"1"), overrides=Overrides(max_attempts=5)
)
CLAIM = Token(Scope("acme-tasks", "resize", "key:k", 1), "m1", "http:a1b2/c1", 9, 30.0, "m1@1.0")


async def _tokens(clock: VirtualClock, **settings: object) -> LeaseTokens:
    app = Tenure("memory://", clock=clock)
    await app.open()
    return LeaseTokens(Signing(app.state, clock, Settings(**settings)))  # type: ignore[arg-type]


async def test_a_token_names_the_lease_and_its_claim(virtual_clock: VirtualClock) -> None:
    tokens = await _tokens(virtual_clock)
    for claim in (None, CLAIM):
        name = name_of(LEASE, MESSAGE, claim, 50.0)
        text = await tokens.write(name)
        assert await tokens.read(text) == name
        assert name.token == claim
        assert (name.place, name.owner, name.attempts) == (("m1", 7), "http:a1b2/c1", 2)
        assert (name.stub.task, name.stub.overrides.max_attempts) == ("resize", 5)


async def test_there_is_no_receipt_in_it(virtual_clock: VirtualClock) -> None:
    text = await (await _tokens(virtual_clock)).write(name_of(LEASE, MESSAGE, CLAIM, 50.0))
    said = text.removeprefix("tnl_").partition(".")[0]
    assert b"receipt" not in base64.urlsafe_b64decode(said + "==")


async def test_what_is_changed_is_no_token(virtual_clock: VirtualClock) -> None:
    tokens = await _tokens(virtual_clock)
    text = await tokens.write(name_of(LEASE, MESSAGE, None, 50.0))
    assert await tokens.read(text) is not None
    for place in range(len(text)):
        other = "A" if text[place] != "A" else "B"
        assert await tokens.read(f"{text[:place]}{other}{text[place + 1 :]}") is None, place
    for wrong in ("", "tnl_", "tnl_x", text[:-1], f"{text}A", f"x{text}", text * 20, "tnl_ä.b", "tnl_..", text[4:]):
        assert await tokens.read(wrong) is None, wrong


async def test_another_secret_did_not_sign_it(virtual_clock: VirtualClock) -> None:
    first, second = [await _tokens(virtual_clock, secret_key=letter * 32) for letter in "ab"]
    assert await second.read(await first.write(name_of(LEASE, MESSAGE, None, 50.0))) is None


async def test_a_token_stays_good_when_the_secret_is_rotated(virtual_clock: VirtualClock) -> None:
    text = await (await _tokens(virtual_clock, secret_key="a" * 32)).write(name_of(LEASE, MESSAGE, None, 50.0))
    after = await _tokens(virtual_clock, secret_key="b" * 32, old_secret_keys=("a" * 32,))
    assert await after.read(text) is not None
    app = Tenure("memory://", clock=virtual_clock)
    await app.open()
    signing = Signing(app.state, virtual_clock, Settings())
    kept = await LeaseTokens(signing).write(name_of(LEASE, MESSAGE, None, 50.0))
    await signing.rotate()
    assert await LeaseTokens(signing).read(kept) is not None


@pytest.mark.parametrize("said", [b"[]", b"{}", b"[1,2,3]", b"not json", b'["m1","q","o","seven","t",1,2]'])
async def test_a_signature_alone_is_not_enough(virtual_clock: VirtualClock, said: bytes) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    await app.open()
    signing = Signing(app.state, virtual_clock, Settings())
    text = base64.urlsafe_b64encode(said).rstrip(b"=").decode()
    signed = f"tnl_{text}.{await signing.sign('lease', text)}"
    assert await LeaseTokens(signing).read(signed) is None
    # What was signed for another purpose is none either.
    name = base64.urlsafe_b64encode(msgspec.json.encode(LeaseName("m1", "q", "o", 7, "t", 1.0, 2.0))).decode()
    name = name.rstrip("=")
    assert await LeaseTokens(signing).read(f"tnl_{name}.{await signing.sign('session', name)}") is None
