"""The SQL of the index, for PostgreSQL and Supabase, for vectors of one size."""

from importlib.resources import files

from tenure.documents.embedding.embedder import Embedder

#: Where there is no embedder: that of wordllama, so that it can be added.
_NO_EMBEDDER = 256
#: pgvector indexes no larger ones; they are compared one by one.
_MOST_INDEXED = 2_000
_NUMBER_BYTES = 4
_VECTOR_INDEX = (
    "create index if not exists tenure_chunks_embedding on tenure_chunks using hnsw (embedding vector_cosine_ops);"
)


async def schema(embedder: Embedder | None) -> str:
    """The SQL for the vectors of an embedder, which is asked for one."""
    dimensions = _NO_EMBEDDER
    if embedder is not None:
        (vector,) = await embedder.embed(["how many numbers?"])
        dimensions = len(vector) // _NUMBER_BYTES
    text = files("tenure.documents.stores").joinpath("schema.sql").read_text(encoding="utf-8")
    index = _VECTOR_INDEX if dimensions <= _MOST_INDEXED else "-- pgvector has no index for vectors of this size."
    return text.format(dimensions=dimensions, vector_index=index)
