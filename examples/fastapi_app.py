"""A FastAPI app with a worker inside: one process, one command, nothing else to run.

    pip install fastapi uvicorn
    python fastapi_app.py

    curl -X POST 'localhost:8000/thumbnails?image=a.png'       the answer has an id
    curl 'localhost:8000/thumbnails/THE-ID'

The worker shares the event loop with the web server, which is right for handlers that mostly wait. For more, run
`tenure worker fastapi_app:jobs` on the same machine too, or instead.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException

from tenure import Context, MessageNotFound, MessageState, Tenure

jobs = Tenure("sqlite:///fastapi_app.db")


@jobs.task(max_attempts=5)
async def thumbnail(ctx: Context, image: str) -> dict[str, str]:
    """Something that takes too long for a request."""
    for step in range(1, 11):
        await asyncio.sleep(0.02)
        ctx.progress(step / 10)
    return {"image": image, "thumbnail": f"small-{image}"}


@asynccontextmanager
async def lifespan(_web: FastAPI) -> AsyncIterator[None]:
    """The worker starts and stops with the web server: on SIGTERM it finishes what it runs, or gives it back."""
    async with jobs, jobs.worker():
        yield


web = FastAPI(lifespan=lifespan)


@web.post("/thumbnails", status_code=202)
async def create(image: str) -> dict[str, str]:
    """When this answers, the message cannot be lost any more."""
    handle = await thumbnail.submit(image)
    return {"id": handle.id}


@web.get("/thumbnails/{id}")
async def show(id: str) -> dict[str, Any]:
    """Where it is, and what came of it. Any process that shares the database can ask."""
    handle = thumbnail.handle(id)
    try:
        status = await handle.status()
    except MessageNotFound as error:
        raise HTTPException(404, str(error)) from error
    return {
        "state": status.state,
        "progress": status.progress.fraction if status.progress else None,
        "result": await handle.result() if status.state is MessageState.COMPLETED else None,
        "error": status.reason.text if status.reason else None,
    }


if __name__ == "__main__":
    uvicorn.run(web, port=int(os.environ.get("PORT", "8000")), log_level="warning")
