"""Sendable: what no store can keep, or no worker could read, is refused at `send`; the rest of its batch is stored."""

from typing import Any

import msgspec

from tenure.broker import Sent
from tenure.message import MessageState, Outgoing
from tenure.rules.sendable import MOST_LEVELS
from tenure.testing.harness import Harness

_NUL, _ESCAPE, _SURROGATE = "a\0b", "a\x1b[2Jb", "a\ud800b"


class Sendable:
    """Tests of messages that `send` refuses, on every broker alike."""

    async def test_ids_keys_and_names_with_control_characters_are_refused(self, harness: Harness) -> None:
        for name in ("id", "queue", "task", "key", "unique"):
            for text in (_NUL, _ESCAPE, "a\nb", "a\x9bb"):
                await _is_refused(harness, "bad_argument", own={name: text})

    async def test_a_queue_whose_name_is_a_pattern_is_refused(self, harness: Harness) -> None:
        for queue in ("*", "mail-*", "a*b"):
            await _is_refused(harness, "bad_argument", own={"queue": queue})

    async def test_lone_surrogates_are_refused_wherever_they_are(self, harness: Harness) -> None:
        for name in ("id", "queue", "task", "key", "unique", "client", "correlation_id", "parent_id"):
            await _is_refused(harness, "bad_argument", own={name: _SURROGATE})
        await _is_refused(harness, "bad_argument", own={"headers": {_SURROGATE: "x"}})
        await _is_refused(harness, "bad_argument", own={"headers": {"x": _SURROGATE}})

    async def test_a_payload_that_is_no_text_is_refused(self, harness: Harness) -> None:
        await _is_refused(harness, "body_undecodable", raw=b'{"a":"\xff"}')
        await _is_refused(harness, "body_undecodable", raw=rb'{"a":"\ud800"}')

    async def test_delays_that_name_no_time_are_refused(self, harness: Harness) -> None:
        for delay in (1e18, float("inf"), float("-inf"), float("nan"), -1.0):
            await _is_refused(harness, "bad_argument", delay=delay)

    async def test_moments_that_are_none_are_refused(self, harness: Harness) -> None:
        for moment in (float("inf"), float("-inf"), float("nan")):
            await _is_refused(harness, "bad_argument", own={"sent_at": moment})
            await _is_refused(harness, "bad_argument", own={"expires_at": moment})

    async def test_a_payload_nested_too_deep_is_refused(self, harness: Harness) -> None:
        for levels in (MOST_LEVELS + 1, 980, 100_000):
            raw = b"[" * levels + b"]" * levels
            if len(raw) < harness.traits.body_limit / 2:
                await _is_refused(harness, "body_too_deep", raw=raw)

    async def test_a_payload_as_deep_as_it_goes_is_lent_as_it_was_sent(self, harness: Harness) -> None:
        message = harness.message()
        raw = msgspec.Raw(b"[" * MOST_LEVELS + b"]" * MOST_LEVELS)
        message = msgspec.structs.replace(message, body=raw)
        assert await harness.send(message) == [Sent(message.id)]
        lease = await harness.lease_one(harness.stranger())
        assert lease.id == message.id
        assert bytes(raw) in lease.envelope


async def _is_refused(
    harness: Harness, code: str, *, delay: float = 0.0, raw: bytes | None = None, own: dict[str, Any] | None = None
) -> None:
    """Assert that a message is refused with this code and not stored, and that others of its batch are stored."""
    bad = harness.message(**(own or {}))
    if raw is not None:
        bad = msgspec.structs.replace(bad, body=msgspec.Raw(raw))
    first, last = harness.message(), harness.message()
    answers = await harness.broker.send([Outgoing(first), Outgoing(bad, delay), Outgoing(last)])
    assert [answers[0], answers[2]] == [Sent(first.id), Sent(last.id)]
    refused = answers[1]
    assert refused.refusal is not None, f"{own or delay or raw!r} was taken"
    assert (refused.id, refused.duplicate, refused.refusal.code) == (bad.id, False, code)
    refused.refusal.text.encode()
    leases = await harness.lease_all(harness.stranger())
    assert sorted(lease.id for lease in leases) == sorted([first.id, last.id])
    for lease in leases:
        await harness.complete(lease)
    if "id" not in (own or {}):
        assert await harness.state.records.get(bad.id) is None
    if MessageState.DELAYED in harness.traits.browsable:
        assert await harness.browse(first.queue, MessageState.DELAYED) == []
