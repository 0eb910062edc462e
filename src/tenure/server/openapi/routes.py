"""The reference over HTTP: the OpenAPI document, and a page of it for people."""

import asyncio
import functools
from collections.abc import Sequence

import msgspec

from tenure.server.guard.request_path import prefix_of
from tenure.server.openapi.document import document
from tenure.server.openapi.page import CONTENT_SECURITY_POLICY, reference_page
from tenure.server.route import Ask, Reply, Route

HTML = "text/html"


def reference_routes(others: Sequence[Route]) -> tuple[Route, ...]:
    """The routes that describe all routes, themselves included."""

    @functools.lru_cache(maxsize=4)
    def json_for(prefix: str) -> bytes:
        return msgspec.json.encode(document((*others, *own), prefix))

    @functools.lru_cache(maxsize=4)
    def page_for(prefix: str) -> bytes:
        return reference_page(document((*others, *own), prefix)).encode()

    async def get_document(ask: Ask[None, None]) -> Reply:
        return Reply(value=await asyncio.to_thread(json_for, prefix_of(ask.request.scope)))

    async def get_page(ask: Ask[None, None]) -> Reply:
        page = await asyncio.to_thread(page_for, prefix_of(ask.request.scope))
        return Reply(value=page, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})

    own = (
        Route(
            method="GET", path="/openapi.json", scope=None, handler=get_document, is_tagged=True,
            summary="Get this API as an OpenAPI document", description="OpenAPI 3.1. It only grows.",
        ),
        Route(
            method="GET", path="/docs", scope=None, handler=get_page, media_type=HTML, is_tagged=True,
            summary="Read this API as a page", description="One HTML file, without scripts.",
        ),
    )  # fmt: skip
    return own
