"""The suite of every index: SQLite, PostgreSQL with pgvector, and Supabase's REST API over the same SQL."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tenure.documents import EndpointError, IndexMismatch, IndexUnavailable
from tenure.documents.chunk import Chunk, StoredDocument
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.errors import Trouble
from tenure.documents.stores.index import Index, Question
from tenure.documents.stores.postgres import PostgresIndex
from tenure.documents.stores.schema import schema
from tenure.documents.stores.sqlite import SqliteIndex
from tenure.documents.stores.supabase import SupabaseIndex

from .embedders import WordEmbedder, vector
from .postgres_server import new_database
from .postgrest import KEY, postgrest

pytestmark = pytest.mark.real_time

TEXTS = ["A lease ends at its deadline.", "The heartbeat renews leases.", "Clocks count the time asleep."]


def document(name: str = "a.md", version: str = "1", chunks: int = 3, of: str = "south") -> StoredDocument:
    return StoredDocument(
        document_set=of, name=name, version=version, title="Title", chunks=chunks, pages=None, size=10
    )


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(number, text, "Heading", number + 1) for number, text in enumerate(texts)]


async def put(index: Index, given: StoredDocument, *texts: str) -> None:
    await index.put(given, chunks(*texts), [vector(text) for text in texts])


def question(*words: str, text: str = "", of: str = "south", most: int = 10) -> Question:
    return Question(document_set=of, words=words, vector=vector(text) if text else None, most=most)


def install(database: str, sql: str) -> None:
    """What a person does in Supabase's SQL editor."""
    with psycopg.connect(database) as db:
        db.execute(sql)  # type: ignore[call-overload, unused-ignore]


Open = Callable[..., Awaitable[Index]]


@pytest.fixture(params=["sqlite", "postgres", "supabase"])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens an index of each kind, with its tables."""
    with ExitStack() as stack:
        databases: list[str] = []

        async def open_one(embedder: Embedder | None = None) -> Index:
            embedder = embedder or WordEmbedder()
            index: Index
            if request.param == "sqlite":
                index = SqliteIndex(f"{tmp_path}/documents.db")
            else:
                is_new = not databases
                databases[:] = databases or [new_database()]
                if request.param == "postgres":
                    index = PostgresIndex(databases[0])
                else:
                    if is_new:
                        install(databases[0], await schema(embedder))
                    index = SupabaseIndex(stack.enter_context(postgrest(databases[0])).url, KEY)
            await index.open(embedder)
            return index

        yield open_one


async def test_what_was_put_is_found_by_words_and_by_meaning(open_index: Open) -> None:
    index = await open_index()
    await put(index, document(), *TEXTS)
    by_words = await index.find(question("heartbeat", "nothing"))
    assert [(one.number, one.text, one.text_rank, one.vector_rank) for one in by_words] == [(1, TEXTS[1], 1, None)]
    assert (by_words[0].title, by_words[0].heading, by_words[0].page) == ("Title", "Heading", 2)
    by_meaning = await index.find(question(text="time asleep.", most=1))
    assert [(one.number, one.text_rank, one.vector_rank) for one in by_meaning] == [(2, None, 1)]
    both = await index.find(question("deadline", text="A lease ends at its deadline."))
    assert {one.number: (one.text_rank, one.vector_rank) for one in both}[0] == (1, 1)
    assert sorted(one.vector_rank or 0 for one in both) == [1, 2, 3]


async def test_a_word_is_found_in_its_other_forms_and_whatever_it_is(open_index: Open) -> None:
    index = await open_index()
    await put(index, document(), *TEXTS)
    assert [one.number for one in await index.find(question("renew"))] == [1]
    for words in (("or",), ("not", "and"), ("near",), ("a",), ("'",), ("x" * 500,)):
        await index.find(question(*words))


async def test_a_document_is_replaced_whole(open_index: Open) -> None:
    index = await open_index()
    await put(index, document(), *TEXTS)
    await put(index, document(version="2", chunks=1), "Another text.")
    assert await index.version("south", "a.md") == "2"
    assert [one.text for one in await index.chunks("south", "a.md")] == ["Another text."]
    assert await index.find(question("heartbeat")) == []
    assert len(await index.find(question(text="a lease"))) == 1


async def test_putting_a_document_twice_keeps_one_copy(open_index: Open) -> None:
    index = await open_index()
    for _ in range(2):
        await put(index, document(), *TEXTS)
    assert [one.number for one in await index.chunks("south", "a.md")] == [0, 1, 2]
    assert len(await index.find(question("lease"))) == 2


async def test_writers_of_one_document_leave_one_version_of_it(open_index: Open) -> None:
    index, other = await open_index(), await open_index()
    await asyncio.gather(
        *(put(one, document(version=f"{number}"), *TEXTS) for number in range(4) for one in (index, other))
    )
    assert len(await index.chunks("south", "a.md")) == 3
    assert len(await index.find(question("heartbeat"))) == 1


async def test_sets_are_apart(open_index: Open) -> None:
    index = await open_index()
    await put(index, document(), *TEXTS)
    await put(index, document(of="north", chunks=1), "A lease in the north.")
    assert {one.document_set for one in await index.find(question("lease", text="lease", of="north"))} == {"north"}
    assert [one.name for one in await index.documents("south")] == ["a.md"]
    assert [one.document_set for one in await index.documents()] == ["north", "south"]
    assert await index.find(question("lease", of="east")) == []


async def test_a_removed_document_is_gone_with_its_summary(open_index: Open) -> None:
    index = await open_index()
    await put(index, document(), *TEXTS)
    await index.save_summary("south", "a.md", "1", "Leases end.")
    await index.save_summary("south", "a.md", "1", "Leases end, or are renewed.")
    assert await index.summary("south", "a.md") == "Leases end, or are renewed."
    assert await index.remove("south", "a.md")
    assert not await index.remove("south", "a.md")
    assert await index.chunks("south", "a.md") == []
    assert await index.summary("south", "a.md") is None
    assert await index.find(question("lease", text="lease")) == []


async def test_names_are_taken_as_they_are(open_index: Open) -> None:
    index = await open_index()
    name = "a b/ü&c=1,(x)'\"%.md"
    await put(index, document(name), *TEXTS)
    assert await index.version("south", name) == "1"
    assert {one.name for one in await index.find(question("heartbeat"))} == {name}
    assert [one.name for one in await index.documents()] == [name]


async def test_a_document_of_more_chunks_than_one_call_takes_is_whole(open_index: Open) -> None:
    index = await open_index()
    texts = [f"Lease number {number}." for number in range(1_050)]
    await put(index, document(chunks=len(texts)), *texts)
    assert [one.text for one in await index.chunks("south", "a.md")] == texts
    assert len(await index.find(question("lease", most=20))) == 20


async def test_an_index_without_vectors_is_searched_by_words(open_index: Open) -> None:
    index = await open_index()
    await index.put(document(), chunks(*TEXTS), None)
    assert [one.number for one in await index.find(question("heartbeat", text="heartbeat"))] == [1]


async def test_another_embedder_is_refused(open_index: Open) -> None:
    class Other(WordEmbedder):
        name = "other"

    await open_index()
    with pytest.raises(IndexMismatch, match="made by words-64"):
        await open_index(Other())


class TestSupabase:
    """What only an API without transactions can get wrong."""

    @pytest.mark.parametrize("call", [0, 1, 2])
    async def test_a_put_that_is_cut_off_anywhere_shows_the_old_version_or_the_new_one(self, call: int) -> None:
        database = new_database()
        install(database, await schema(WordEmbedder()))
        texts = [f"New lease {number}." for number in range(250)]
        with postgrest(database) as api:
            index = SupabaseIndex(api.url, KEY)
            await index.open(WordEmbedder())
            await put(index, document(), *TEXTS)
            api.cut_off_at = len(api.requests) + call
            with pytest.raises(EndpointError):
                await put(index, document(version="2", chunks=250), *texts)
            api.cut_off_at = None
            assert await index.version("south", "a.md") == "1"
            assert len(await index.find(question("lease"))) == 2
            await put(index, document(version="2", chunks=250), *texts)
            with psycopg.connect(database) as db:
                assert db.execute("SELECT version, count(*) FROM tenure_chunks GROUP BY 1").fetchall() == [("2", 250)]

    async def test_a_wrong_key_is_said_to_be_one(self) -> None:
        with postgrest(new_database()) as api, pytest.raises(EndpointError, match="refused the call") as error:
            await SupabaseIndex(api.url, "no").open(WordEmbedder())
        assert error.value.trouble is Trouble.WRONG

    async def test_missing_tables_are_said_to_be_missing(self) -> None:
        with postgrest(new_database()) as api, pytest.raises(IndexUnavailable, match="tenure documents schema"):
            await SupabaseIndex(api.url, KEY).open(WordEmbedder())

    async def test_only_the_service_role_may_read(self) -> None:
        database = new_database()
        install(database, await schema(WordEmbedder()))
        with psycopg.connect(database) as db:
            secured = db.execute("SELECT relname FROM pg_class WHERE relrowsecurity ORDER BY 1").fetchall()
        assert {name for (name,) in secured} >= {"tenure_chunks", "tenure_documents", "tenure_summaries"}


class TestPostgres:
    """What only a server can get wrong."""

    async def test_a_server_that_is_away_is_said_to_be_away(self) -> None:
        with pytest.raises(IndexUnavailable, match="cannot be used"):
            await PostgresIndex("postgresql://postgres@127.0.0.1:9/no").open(None)

    async def test_a_large_set_is_searched_by_the_index_of_vectors(self) -> None:
        database = new_database()
        index = PostgresIndex(database)
        await index.open(WordEmbedder())
        texts = [f"Lease number {number} of many." for number in range(500)]
        await put(index, document(chunks=500), *texts)
        exact = await index.find(question(text=texts[7], most=5))
        with psycopg.connect(database) as db:
            # As if there were more of them.
            db.execute("ALTER TABLE tenure_documents DISABLE TRIGGER ALL")
            db.execute("UPDATE tenure_documents SET chunks = 60000")
        near = await index.find(question(text=texts[7], most=5))
        assert {one.number for one in near} & {one.number for one in exact}
        assert len(near) == 5
