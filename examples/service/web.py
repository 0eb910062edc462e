"""The front end: sign in, submit, watch, and `/internal/notify`, where workers tell how a task ended."""

import asyncio
import contextlib
import hmac
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import uvicorn
from fastapi import Cookie, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, StringConstraints

from tenure import BadMessage, BrokerError, QueueService
from tenure.webhooks import WebhookError, verify

from .documents import NoSuchDocument, checked, documents_of
from .live import Live
from .settings import Settings
from .task_list import Row, TaskList

PAGE = Path(__file__).parent / "page"
ENDPOINT = "frontend"
MOST_BYTES = 200_000
RESEND_SECONDS = 5.0

logger = logging.getLogger("service.web")

settings = Settings.from_environment()
documents = documents_of(settings)
service = QueueService()  # the environment says where; a front end needs no handlers
tasks = TaskList(settings.folder / "frontend.db")
live = Live(service, tasks)


@contextlib.asynccontextmanager
async def lifespan(_web: FastAPI) -> AsyncIterator[None]:
    """Open the store, and say where endings are to be posted."""
    async with service:
        await register_endpoint()
        sending = asyncio.create_task(send_the_rest())
        yield
        sending.cancel()


async def register_endpoint() -> None:
    """Have endings posted to `/internal/notify`. Workers find the secret in their environment; no store keeps it."""
    operate, url = service.app.operate, f"{settings.address}/internal/notify"
    if ENDPOINT in [one.name for one in (await operate.endpoints()).endpoints]:
        await operate.change_endpoint(ENDPOINT, url=url)
    else:
        await operate.add_endpoint(ENDPOINT, url, secret="env:WEBHOOK_SECRET")  # noqa: S106 - where it is


async def send(client: str, row: Row) -> None:
    """Submit a task that is written down. A second time, under the same id, stores nothing new."""
    await service.submit_task(
        row["task_type"], row["payload"], task_id=row["task_id"], client=client,
        webhook_url=f"{settings.address}/internal/notify",
    )  # fmt: skip
    await asyncio.to_thread(tasks.mark_sent, row["task_id"])


async def send_the_rest() -> None:
    """Submit what was written down and could not be submitted: the store was away, or this process died."""
    while True:
        with contextlib.suppress(BrokerError):
            for client, row in await asyncio.to_thread(tasks.unsent):
                await send(client, row)
        await asyncio.sleep(RESEND_SECONDS)


web = FastAPI(title="Task service", lifespan=lifespan)
web.mount("/page", StaticFiles(directory=PAGE), name="page")


@web.middleware("http")
async def guard(request: Request, call_next: Any) -> Response:
    """Nothing but the page's own files is run or shown."""
    response: Response = await call_next(request)
    response.headers["Content-Security-Policy"] = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


# --- who it is ------------------------------------------------------------------------------------------------


def client_of_key(key: str) -> str | None:
    """The client that has this key."""
    found = [client for client, own in settings.keys.items() if hmac.compare_digest(own.encode(), key.encode())]
    return found[0] if found else None


def signed_in(client: str, session: Annotated[str, Cookie()] = "") -> str:
    """The client of a path, if the cookie has that client's key. Of others it is not even said that they exist."""
    if client_of_key(session) != client:
        raise HTTPException(401, "sign in first")
    return client


Client = Annotated[str, Depends(signed_in)]


class Key(BaseModel):
    """What a client signs in with."""

    key: str


@web.post("/session")
def sign_in(given: Key, response: Response) -> dict[str, str]:
    """Set a cookie that only this client's paths get, so two clients can be open side by side."""
    client = client_of_key(given.key)
    if client is None:
        raise HTTPException(401, "no client has this key")
    is_tls = settings.address.startswith("https")
    response.set_cookie("session", given.key, path=f"/c/{client}", httponly=True, samesite="strict", secure=is_tls)
    return {"client": client}


@web.delete("/c/{client}/session", status_code=204)
def sign_out(client: Client, response: Response) -> None:
    """Take the cookie back."""
    response.delete_cookie("session", path=f"/c/{client}")


# --- the pages ------------------------------------------------------------------------------------------------


@web.get("/", include_in_schema=False)
def front_page() -> FileResponse:
    """Sign in."""
    return FileResponse(PAGE / "sign-in.html")


@web.get("/c/{client}", include_in_schema=False)
def client_page(client: str, session: Annotated[str, Cookie()] = "") -> FileResponse:
    """The tasks of a client, or the way in."""
    return FileResponse(PAGE / ("tasks.html" if client_of_key(session) == client else "sign-in.html"))


# --- tasks ----------------------------------------------------------------------------------------------------


class OnDocument(BaseModel):
    """A task about one document."""

    task_type: Literal["ingest", "summarize"]
    filename: str


class Question(BaseModel):
    """A task for the agent."""

    task_type: Literal["agent"]
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=500)]


@web.post("/c/{client}/tasks", status_code=202)
async def submit(client: Client, asked: OnDocument | Question) -> Row:
    """When this answers, the task cannot be lost any more: while the store is away, it waits in our own database."""
    payload = asked.model_dump(exclude={"task_type"})
    row = await asyncio.to_thread(tasks.add, client, asked.task_type, payload)
    try:
        await send(client, row)
    except BrokerError:
        logger.warning("the store is away; %s will be submitted later", row["task_id"])
    except BadMessage as error:
        await asyncio.to_thread(tasks.remove, row["task_id"])
        raise HTTPException(422, str(error)) from error
    live.tell(client, row)
    return row


@web.get("/c/{client}/tasks")
def list_tasks(client: Client) -> list[Row]:
    """The newest tasks of this client."""
    return tasks.of(client)


@web.post("/c/{client}/tasks/{task_id}/cancel")
async def cancel(client: Client, task_id: str) -> dict[str, bool]:
    """Take a task back, also while it runs."""
    if not await asyncio.to_thread(tasks.has, client, task_id):
        raise HTTPException(404, "no such task")
    return {"cancelled": await service.cancel(task_id)}


@web.get("/c/{client}/events", response_class=EventSourceResponse)
async def events(client: Client) -> AsyncIterator[ServerSentEvent]:
    """The tasks of this client, and then each change, until the page is closed."""
    async with contextlib.aclosing(live.watch(client)) as changes:
        async for rows in changes:
            yield ServerSentEvent(data=rows)


@web.post("/internal/notify", status_code=204)
async def notify(request: Request) -> None:
    """Workers call this when a task has ended. It is believed only if it is signed; a repeat changes nothing."""
    try:
        hook = verify(await request.body(), request.headers, settings.webhook_secrets)
    except WebhookError as error:
        raise HTTPException(401, error.code) from error
    ended = await asyncio.to_thread(tasks.save_ending, hook)
    if ended is not None:
        live.tell(*ended)


# --- documents ------------------------------------------------------------------------------------------------


@web.get("/c/{client}/documents")
def list_documents(client: Client) -> list[str]:
    """What this client has uploaded."""
    return documents.names(client)


@web.put("/c/{client}/documents/{name}", status_code=204)
async def upload(client: Client, name: str, request: Request) -> None:
    """Keep a document of this client."""
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            raise HTTPException(413, f"a document has at most {MOST_BYTES // 1000} kB")
    try:
        await asyncio.to_thread(documents.write, client, checked(name), data)
    except NoSuchDocument as error:
        raise HTTPException(422, str(error)) from error


class Server(uvicorn.Server):
    """uvicorn, which ends the streams of open pages when it is asked to stop."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM or Ctrl-C."""
        super().handle_exit(sig, frame)
        live.close()


if __name__ == "__main__":
    Server(
        uvicorn.Config(
            web, host="127.0.0.1", port=urlsplit(settings.address).port or 80, log_level="warning",
            timeout_graceful_shutdown=5,
        )
    ).run()  # fmt: skip
