"""Tests that every blob store must pass.

Bring a fixture `blob_store`, open and empty, and run them under pytest, in one line of a test module:

    globals().update(pytest_classes([BlobStores]))
"""

import asyncio

from tenure.blobs import BlobStore

#: Names as messages make them: several queues, a namespace, ids with characters of all kinds.
NAMES = ("mail/0190aa.11", "mail/0190ab.22", "shop/mail/a%20b%2Fc.33", "zeta/%E2%82%AC~%2E.44")
#: Larger than any broker takes, and no text.
LARGE = bytes(range(256)) * 12_000


class BlobStores:
    """Tests of a store that keeps bodies by name."""

    async def test_what_was_left_comes_back_whole(self, blob_store: BlobStore) -> None:
        bodies = [LARGE, b"", b"null", b'{"n": 1}\n']
        await blob_store.leave(list(zip(NAMES, bodies, strict=True)))
        assert await blob_store.fetch(NAMES) == bodies

    async def test_each_is_answered_in_order(self, blob_store: BlobStore) -> None:
        names = [f"mail/{number:04}.0" for number in range(25)]
        await blob_store.leave([(name, name.encode()) for name in names])
        assert await blob_store.fetch(names[::-1]) == [name.encode() for name in names[::-1]]

    async def test_fetching_takes_nothing_away(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(NAMES[0], b"1")])
        assert await blob_store.fetch([NAMES[0]]) == await blob_store.fetch([NAMES[0]]) == [b"1"]

    async def test_what_is_not_there_is_none(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(NAMES[0], b"1")])
        assert await blob_store.fetch([NAMES[1], NAMES[0], NAMES[2]]) == [None, b"1", None]

    async def test_leaving_twice_is_leaving_once(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(NAMES[0], b"1")])
        await blob_store.leave([(NAMES[0], b"1")])
        assert await blob_store.fetch([NAMES[0]]) == [b"1"]
        assert len(await blob_store.browse()) == 1
        await blob_store.discard([NAMES[0]])
        assert await blob_store.fetch([NAMES[0]]) == [None]

    async def test_what_is_discarded_is_gone_and_the_others_stay(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(name, b"1") for name in NAMES])
        await blob_store.discard([NAMES[1], NAMES[3]])
        assert await blob_store.fetch(NAMES) == [b"1", None, b"1", None]

    async def test_discarding_what_is_not_there_is_no_mistake(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(NAMES[0], b"1")])
        await blob_store.discard([NAMES[1], NAMES[0], NAMES[2]])
        await blob_store.discard([NAMES[0]])
        assert await blob_store.browse() == []

    async def test_it_can_be_left_again_after_it_was_discarded(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(NAMES[0], b"1")])
        await blob_store.discard([NAMES[0]])
        await blob_store.leave([(NAMES[0], b"2")])
        assert await blob_store.fetch([NAMES[0]]) == [b"2"]

    async def test_what_lies_there_is_told_in_the_order_of_names(self, blob_store: BlobStore) -> None:
        assert await blob_store.browse() == []
        await blob_store.leave([(name, b"123") for name in reversed(NAMES)])
        seen = await blob_store.browse()
        assert [left.name for left in seen] == sorted(NAMES)
        assert {left.size for left in seen} == {3}
        # Clocks of servers differ; what was left a moment ago is not hours old.
        assert all(0 <= left.age_seconds < 600 for left in seen)

    async def test_looking_goes_on_page_by_page(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(name, b"1") for name in NAMES])
        names: list[str] = []
        while page := await blob_store.browse(after=names[-1] if names else "", limit=3):
            assert len(page) <= 3
            names += [left.name for left in page]
        assert names == sorted(NAMES)

    async def test_many_at_once_do_not_disturb_each_other(self, blob_store: BlobStore) -> None:
        async def one(number: int) -> None:
            name, body = f"mail/{number}.0", str(number).encode() * 1000
            await blob_store.leave([(name, body)])
            assert await blob_store.fetch([name]) == [body]

        await asyncio.gather(*map(one, range(20)))
        assert len(await blob_store.browse()) == 20

    async def test_a_twin_sees_the_same(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(NAMES[0], b"1")])
        twin = blob_store.twin()
        if twin is not blob_store:
            await twin.open()
        try:
            assert await twin.fetch([NAMES[0]]) == [b"1"]
        finally:
            if twin is not blob_store:
                await twin.close()

    async def test_what_was_left_outlives_the_connection(self, blob_store: BlobStore) -> None:
        await blob_store.leave([(NAMES[0], b"1")])
        await blob_store.close()
        await blob_store.open()
        assert await blob_store.fetch([NAMES[0]]) == [b"1"]
