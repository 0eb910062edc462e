"""Signing: one secret for all processes of a store, a key for each purpose, and a secret that can be replaced."""

import pytest

from tenure import Tenure
from tenure.client.signing import KEEP_SECONDS, KIND, Signing
from tenure.config import Settings
from tenure.testing.virtual import VirtualClock

OLD, NEW = "o" * 32, "n" * 32


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=virtual_clock, settings=Settings())


def signing(app: Tenure, *, writes: bool = True, **settings: object) -> Signing:
    return Signing(app.state, app.clock, Settings(**settings), writes=writes)  # type: ignore[arg-type]


async def test_another_process_of_the_store_accepts_what_was_signed(app: Tenure) -> None:
    signature = await signing(app).sign("watch", "m1")
    assert await signing(app).is_signed("watch", "m1", signature)
    assert len(await app.state.key_values.list(KIND)) == 1


@pytest.mark.parametrize(
    ("purpose", "text", "change"),
    [("lease", "m1", 0), ("watch", "m2", 0), ("watch", "m1", -1), ("watch", "m1", 20), ("watch", "m1", 3)],
    ids=["other purpose", "other text", "last character", "a character", "id of the secret"],
)
async def test_what_was_changed_is_not_signed(app: Tenure, purpose: str, text: str, change: int) -> None:
    one = signing(app)
    signature = await one.sign("watch", "m1")
    if change:
        put = "A" if signature[change] != "A" else "B"
        signature = signature[:change] + put + signature[change:][1:]
    assert not await one.is_signed(purpose, text, signature)


@pytest.mark.parametrize("signature", ["", "x", "é" * 51, "0" * 51])
async def test_nonsense_is_not_signed(app: Tenure, signature: str) -> None:
    assert not await signing(app).is_signed("watch", "m1", signature)


async def test_a_secret_of_the_environment_is_not_stored(app: Tenure) -> None:
    signature = await signing(app, secret_key=NEW).sign("watch", "m1")
    assert await signing(app, secret_key=NEW).is_signed("watch", "m1", signature)
    assert not await signing(app, secret_key=OLD).is_signed("watch", "m1", signature)
    assert await app.state.key_values.list(KIND) == []


async def test_an_old_secret_of_the_environment_is_accepted_and_does_not_sign(app: Tenure) -> None:
    rotated = signing(app, secret_key=NEW, old_secret_keys=(OLD,))
    assert await rotated.is_signed("watch", "m1", await signing(app, secret_key=OLD).sign("watch", "m1"))
    signature = await rotated.sign("watch", "m1")
    assert not await signing(app, secret_key=OLD).is_signed("watch", "m1", signature)


async def test_a_replaced_secret_of_the_store_is_accepted_for_thirty_days(
    app: Tenure, virtual_clock: VirtualClock
) -> None:
    one, other = signing(app), signing(app)
    before = await one.sign("watch", "m1")
    await other.rotate()
    after = await other.sign("watch", "m1")
    assert after != before
    virtual_clock.now += 5  # `one` has not read the new one yet
    assert await one.is_signed("watch", "m1", after)
    assert await one.is_signed("watch", "m1", before)
    assert await one.sign("watch", "m1") == after
    virtual_clock.now += KEEP_SECONDS
    assert not await one.is_signed("watch", "m1", before)
    assert await one.is_signed("watch", "m1", after)


async def test_who_may_not_write_makes_no_secret_of_the_store(app: Tenure) -> None:
    viewer = signing(app, writes=False)
    signature = await viewer.sign("session", "x")
    assert await viewer.is_signed("session", "x", signature)
    assert await app.state.key_values.list(KIND) == []
