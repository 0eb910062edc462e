"""The tasks of the service. A worker of one client: `CLIENT_ID=southhaven tenure worker service.jobs:app`.

For whom a task works the message says, not its payload: a client cannot name the documents of another.
"""

import asyncio

from tenure import Context, QueueService, Reject, Retry, Tenure

from .documents import NoSuchDocument, documents_of
from .index import Index, Passage
from .passages import passages, summary
from .settings import Settings

settings = Settings.from_environment()
documents = documents_of(settings)
index = Index(settings.folder / "index.db")

app = Tenure()  # where its messages are, the environment says
service = QueueService(app)  # so that it also runs what plain producers have put into the queue


@app.task(max_attempts=3)
async def ingest(ctx: Context, filename: str, document_set: str = "") -> dict[str, str | int]:
    """Make a document searchable."""
    client, texts = _client(ctx), passages(await _text(ctx, filename))
    for number, _ in enumerate(texts, start=1):
        ctx.progress(number / len(texts), f"passage {number} of {len(texts)}")
        await asyncio.sleep(settings.pace)
    await asyncio.to_thread(index.replace, client, filename, texts)
    return {"filename": filename, "document_set": document_set or client, "passages": len(texts)}


@app.task(max_attempts=3)
async def summarize(ctx: Context, filename: str) -> dict[str, str]:
    """Say in two sentences what a document says."""
    text = await _text(ctx, filename)
    for number in range(1, 5):
        ctx.progress(number / 5, "reading")
        await asyncio.sleep(settings.pace)
    return {"filename": filename, "summary": summary(text)}


@app.task(max_attempts=3)
async def agent(ctx: Context, question: str) -> dict[str, str | list[str]]:
    """Answer a question from the client's documents, in steps. What a step found is kept if the worker dies."""
    client = _client(ctx)
    found: list[Passage] | None = await ctx.last_checkpoint(list[Passage])
    if found is None:
        ctx.progress(0.2, "searching")
        await asyncio.sleep(settings.pace)
        if await asyncio.to_thread(index.is_empty, client):
            raise Retry(after=settings.pace * 5, reason="nothing is indexed yet: ingest a document first")
        found = await asyncio.to_thread(index.search, client, question)
        await ctx.checkpoint(found)
    for number, passage in enumerate(found, start=1):
        ctx.progress(0.2 + 0.8 * number / (len(found) + 1), f"reading {passage.filename}")
        await asyncio.sleep(settings.pace)
    answer = summary("\n\n".join(passage.text for passage in found), about=question)
    sources = sorted({passage.filename for passage in found})
    return {"answer": answer or "Your documents do not say.", "sources": sources}


def _client(ctx: Context) -> str:
    """For whom a task works: the message says it, also that of a plain producer, by its queue."""
    return ctx.message.client or app.client


async def _text(ctx: Context, filename: str) -> str:
    """The text of a document. What no second try can read is refused."""
    try:
        return (await asyncio.to_thread(documents.read, _client(ctx), filename)).decode()
    except NoSuchDocument as error:
        raise Reject(f"there is no document {filename}") from error
    except UnicodeDecodeError as error:
        raise Reject(f"{filename} is not text") from error
