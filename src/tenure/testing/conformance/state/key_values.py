"""Key-values: small documents by kind and name, changed only by a writer that knows their latest version."""

import asyncio

import pytest

from tenure.errors import BadArgument
from tenure.key_value import MOST_BYTES, MOST_NAME, KeyValue
from tenure.state import State
from tenure.testing.harness import Harness

KIND = "token"
#: Writers at once.
MANY = 10
#: Longer than the error of a clock that counts in seconds.
SECONDS = 10.0


class KeyValues:
    """The promises of the small documents of a state."""

    async def test_there_is_nothing_at_first(self, harness: Harness) -> None:
        key_values = harness.state.key_values
        assert await key_values.get(KIND, "a") is None
        assert await key_values.list(KIND) == []
        assert await key_values.remove(KIND, "a") is False
        assert await key_values.prune() == 0

    async def test_a_document_is_read_as_it_was_written(self, harness: Harness) -> None:
        expires_at = harness.state.wall() + 3600.0
        data = '{"ä": [1, 2.5, null]}'.encode()
        put = await _create(harness, "a", data, expires_at=expires_at)
        assert (put.kind, put.name, put.data) == (KIND, "a", data)
        assert put.version
        assert put.expires_at == expires_at
        assert await harness.state.key_values.get(KIND, "a") == put
        assert await harness.state.key_values.list(KIND) == [put]

    async def test_every_byte_survives(self, harness: Harness) -> None:
        for name, data in (("empty", b""), ("all", bytes(range(256))), ("most", b"x" * MOST_BYTES)):
            await _create(harness, name, data)
            assert await _data(harness, name) == data

    async def test_a_document_is_created_once(self, harness: Harness) -> None:
        first = await _create(harness, "a", b"1")
        assert await harness.state.key_values.put(KIND, "a", b"2", expect=None) is None
        assert await harness.state.key_values.get(KIND, "a") == first

    async def test_of_many_creators_at_once_one_succeeds(self, harness: Harness) -> None:
        acts = [harness.state.key_values.put(KIND, "a", str(n).encode(), expect=None) for n in range(MANY)]
        answers = await asyncio.gather(*acts)
        (created,) = [answer for answer in answers if answer is not None]
        assert await harness.state.key_values.get(KIND, "a") == created

    async def test_who_knows_the_version_changes_it(self, harness: Harness) -> None:
        first = await _create(harness, "a", b"1")
        second = await harness.state.key_values.put(KIND, "a", b"2", expect=first.version)
        assert second is not None
        assert second.version != first.version
        assert await harness.state.key_values.get(KIND, "a") == second

    async def test_the_same_text_again_is_another_version(self, harness: Harness) -> None:
        first = await _create(harness, "a", b"1")
        second = await harness.state.key_values.put(KIND, "a", b"1", expect=first.version)
        assert second is not None
        assert second.version != first.version
        assert await harness.state.key_values.put(KIND, "a", b"1", expect=first.version) is None

    async def test_a_stale_version_changes_nothing(self, harness: Harness) -> None:
        first = await _create(harness, "a", b"1")
        second = await harness.state.key_values.put(KIND, "a", b"2", expect=first.version)
        assert second is not None
        for stale in (first.version, "", "no version", None):
            assert await harness.state.key_values.put(KIND, "a", b"3", expect=stale) is None
        assert await harness.state.key_values.get(KIND, "a") == second

    async def test_a_version_of_nothing_creates_nothing(self, harness: Harness) -> None:
        assert await harness.state.key_values.put(KIND, "a", b"1", expect="1") is None
        assert await harness.state.key_values.put(KIND, "a", b"1", expect="") is None
        assert await harness.state.key_values.get(KIND, "a") is None

    async def test_of_many_writers_at_once_one_wins_each_version(self, harness: Harness) -> None:
        known = await _create(harness, "a", b"0")
        for round_ in range(3):
            acts = [
                harness.state.key_values.put(KIND, "a", f"{round_}-{n}".encode(), expect=known.version)
                for n in range(MANY)
            ]
            answers = await asyncio.gather(*acts)
            (won,) = [answer for answer in answers if answer is not None]
            assert won.data == f"{round_}-{answers.index(won)}".encode()
            assert await harness.state.key_values.get(KIND, "a") == won
            known = won

    async def test_kinds_and_names_are_apart(self, harness: Harness) -> None:
        places = [("token", "a"), ("token", "A"), ("token", "a b"), ("token", "b"), ("token.a", "b"), ("token-a", "b")]
        for kind, name in places:
            assert await harness.state.key_values.put(kind, name, f"{kind} {name}".encode(), expect=None) is not None
        for kind, name in places:
            found = await harness.state.key_values.get(kind, name)
            assert found is not None
            assert (found.kind, found.name, found.data) == (kind, name, f"{kind} {name}".encode())
        assert await harness.state.key_values.remove("token", "a") is True
        assert [one.name for one in await harness.state.key_values.list("token")] == ["A", "a b", "b"]
        assert [one.name for one in await harness.state.key_values.list("token.a")] == ["b"]

    async def test_a_kind_is_listed_by_name(self, harness: Harness) -> None:
        names = ["b", "a", "Z", "ä", "10", "9", "a/b", "#?%", "x" * MOST_NAME, "\U00020000" * MOST_NAME]
        for name in names:
            await _create(harness, name, name.encode())
        listed = await harness.state.key_values.list(KIND)
        assert [one.name for one in listed] == sorted(names)
        assert [one.data for one in listed] == [name.encode() for name in sorted(names)]

    async def test_a_long_list_is_whole(self, harness: Harness) -> None:
        names = [f"{number:03}" for number in range(240)]
        acts = [harness.state.key_values.put(KIND, name, b"{}", expect=None) for name in reversed(names)]
        assert None not in await asyncio.gather(*acts)
        assert [one.name for one in await harness.state.key_values.list(KIND)] == names

    async def test_what_is_removed_is_gone(self, harness: Harness) -> None:
        await _create(harness, "a", b"1")
        await _create(harness, "b", b"1")
        assert await harness.state.key_values.remove(KIND, "a") is True
        assert await harness.state.key_values.remove(KIND, "a") is False
        assert await harness.state.key_values.get(KIND, "a") is None
        assert [one.name for one in await harness.state.key_values.list(KIND)] == ["b"]

    async def test_only_the_latest_version_is_removed_if_one_is_named(self, harness: Harness) -> None:
        first = await _create(harness, "a", b"1")
        second = await harness.state.key_values.put(KIND, "a", b"2", expect=first.version)
        assert second is not None
        assert await harness.state.key_values.remove(KIND, "a", expect=first.version) is False
        assert await harness.state.key_values.remove(KIND, "a", expect="") is False
        assert await harness.state.key_values.get(KIND, "a") == second
        assert await harness.state.key_values.remove(KIND, "a", expect=second.version) is True
        assert await harness.state.key_values.get(KIND, "a") is None

    async def test_one_that_is_made_anew_is_not_the_old_one(self, harness: Harness) -> None:
        first = await _create(harness, "a", b"1")
        await harness.state.key_values.remove(KIND, "a")
        assert await harness.state.key_values.put(KIND, "a", b"2", expect=first.version) is None
        again = await _create(harness, "a", b"1")
        assert again.version != first.version
        assert await harness.state.key_values.put(KIND, "a", b"2", expect=first.version) is None
        assert await harness.state.key_values.remove(KIND, "a", expect=first.version) is False

    async def test_of_many_who_remove_it_one_did(self, harness: Harness) -> None:
        known = await _create(harness, "a", b"1")
        removals = [harness.state.key_values.remove(KIND, "a", expect=known.version) for _ in range(MANY)]
        assert sorted(await asyncio.gather(*removals)) == [False] * (MANY - 1) + [True]

    async def test_it_is_there_until_its_time_is_over(self, harness: Harness) -> None:
        known = await _create(harness, "a", b"1", expires_at=harness.state.wall() + SECONDS)
        await _create(harness, "b", b"1")
        await _pass(harness, SECONDS - 2.0)
        assert await harness.state.key_values.prune() == 0
        assert await harness.state.key_values.get(KIND, "a") == known
        assert len(await harness.state.key_values.list(KIND)) == 2

    async def test_what_has_expired_is_gone_for_every_verb(self, harness: Harness) -> None:
        known = await _create(harness, "a", b"1", expires_at=harness.state.wall() + SECONDS)
        await _create(harness, "b", b"1")
        await _pass(harness, SECONDS + 2.0)
        assert await harness.state.key_values.get(KIND, "a") is None
        assert [one.name for one in await harness.state.key_values.list(KIND)] == ["b"]
        assert await harness.state.key_values.put(KIND, "a", b"2", expect=known.version) is None
        assert await harness.state.key_values.remove(KIND, "a", expect=known.version) is False
        assert await harness.state.key_values.remove(KIND, "a") is False

    async def test_what_has_expired_may_be_created_again(self, harness: Harness) -> None:
        await _create(harness, "a", b"1", expires_at=harness.state.wall() + SECONDS)
        await _pass(harness, SECONDS + 2.0)
        again = await _create(harness, "a", b"2")
        await _pass(harness, 10 * SECONDS)
        await harness.state.key_values.prune()
        assert await harness.state.key_values.get(KIND, "a") == again

    async def test_a_write_says_anew_when_it_expires(self, harness: Harness) -> None:
        first = await _create(harness, "a", b"1", expires_at=harness.state.wall() + SECONDS)
        later = harness.state.wall() + 10 * SECONDS
        second = await harness.state.key_values.put(KIND, "a", b"2", expect=first.version, expires_at=later)
        assert second is not None
        assert second.expires_at == later
        await _pass(harness, SECONDS + 2.0)
        await harness.state.key_values.prune()
        assert await harness.state.key_values.get(KIND, "a") == second
        third = await harness.state.key_values.put(KIND, "a", b"3", expect=second.version)
        assert third is not None
        assert third.expires_at is None
        await _pass(harness, 86_400.0)
        await harness.state.key_values.prune()
        assert await harness.state.key_values.get(KIND, "a") == third

    async def test_it_expires_by_the_clock_of_the_store(self, harness: Harness) -> None:
        await _create(harness, "a", b"1", expires_at=harness.state.wall() + SECONDS)
        await harness.move_wall(-3600.0)
        await harness.state.board.read()
        is_there = not harness.has_own_clock
        await _pass(harness, SECONDS + 2.0)
        assert (await harness.state.key_values.get(KIND, "a") is not None) is is_there

    async def test_pruning_removes_only_what_has_expired(self, harness: Harness) -> None:
        for name in ("a", "b"):
            await _create(harness, name, b"1", expires_at=harness.state.wall() + SECONDS)
        await _create(harness, "c", b"1", expires_at=harness.state.wall() + 10 * SECONDS)
        await _create(harness, "d", b"1")
        await _pass(harness, SECONDS + 2.0)
        # A store that forgets by itself answers 0.
        assert await harness.state.key_values.prune() in {2, 0}
        assert await harness.state.key_values.prune() == 0
        assert [one.name for one in await harness.state.key_values.list(KIND)] == ["c", "d"]

    async def test_what_cannot_be_kept_is_refused_before_anything_is_stored(self, harness: Harness) -> None:
        known = await _create(harness, "a", b"1")
        wrong_kinds = ["", "a b", "a/b", "-a", "ä", "a\n", "x" * 51, "a:b", "a#b"]
        wrong_names = ["", "\n", "a\0", "\x7f", "\ud800", "x" * (MOST_NAME + 1)]
        for kind in wrong_kinds:
            await _is_refused(harness, kind, "a", b"{}")
        for name in wrong_names:
            await _is_refused(harness, KIND, name, b"{}")
        await _is_refused(harness, KIND, "b", b"x" * (MOST_BYTES + 1))
        for moment in (float("nan"), float("inf")):
            await _is_refused(harness, KIND, "b", b"{}", expires_at=moment)
        with pytest.raises(BadArgument):
            await harness.state.key_values.put(KIND, "a", b"x" * (MOST_BYTES + 1), expect=known.version)
        assert await harness.state.key_values.list(KIND) == [known]

    async def test_what_cannot_be_kept_is_not_there(self, harness: Harness) -> None:
        key_values = harness.state.key_values
        for kind, name in (("a b", "a"), ("", "a"), (KIND, ""), (KIND, "\ud800"), (KIND, "a\0"), (KIND, "x" * 5000)):
            assert await key_values.get(kind, name) is None
            assert await key_values.remove(kind, name) is False
        for kind in ("", "a b", "\ud800", "*"):
            assert await key_values.list(kind) == []

    async def test_documents_outlive_the_connection(self, harness: Harness) -> None:
        known = [
            await _create(harness, "a", b"1", expires_at=harness.state.wall() + 3600.0),
            await _create(harness, "b", b"2"),
        ]
        await harness.reopen()
        assert await harness.state.key_values.list(KIND) == known
        assert await harness.state.key_values.put(KIND, "b", b"3", expect=known[1].version) is not None

    async def test_a_twin_sees_and_changes_the_same(self, harness: Harness) -> None:
        known = await _create(harness, "a", b"1")
        twin = harness.state.twin()
        if twin is harness.state:
            return
        await twin.open()
        try:
            changed = await _change_by(twin, known)
        finally:
            await twin.close()
        assert await harness.state.key_values.put(KIND, "a", b"3", expect=known.version) is None
        assert await harness.state.key_values.get(KIND, "a") == changed


async def _change_by(twin: State, known: KeyValue) -> KeyValue | None:
    assert await twin.key_values.get(KIND, "a") == known
    return await twin.key_values.put(KIND, "a", b"2", expect=known.version)


async def _create(harness: Harness, name: str, data: bytes, *, expires_at: float | None = None) -> KeyValue:
    created = await harness.state.key_values.put(KIND, name, data, expect=None, expires_at=expires_at)
    assert created is not None
    return created


async def _data(harness: Harness, name: str) -> bytes | None:
    found = await harness.state.key_values.get(KIND, name)
    return None if found is None else found.data


async def _is_refused(harness: Harness, kind: str, name: str, data: bytes, expires_at: float | None = None) -> None:
    with pytest.raises(BadArgument, match="nothing was stored"):
        await harness.state.key_values.put(kind, name, data, expect=None, expires_at=expires_at)


async def _pass(harness: Harness, seconds: float) -> None:
    """Time passes, and the state hears of it."""
    await harness.advance(seconds, sweeping=False)
    await harness.state.board.read()
