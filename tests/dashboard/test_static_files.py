"""The server's part: the page for every path, its files, under a prefix too; nothing that a browser must not keep."""

import re
from typing import Any

import httpx
import pytest

from tenure import Tenure
from tenure.server import asgi
from tenure.server.static_files import PAGES, StaticFiles

pytestmark = pytest.mark.real_time


class Served:
    """A server in this process."""

    def __init__(self, **options: Any) -> None:
        self.server = asgi(Tenure("memory://"), **options)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.server), base_url="http://localhost")

    async def __aenter__(self) -> httpx.AsyncClient:
        self.lifespan = self.server.lifespan()
        await self.lifespan.__aenter__()
        return self.client

    async def __aexit__(self, *error: object) -> None:
        await self.client.aclose()
        await self.lifespan.__aexit__(None, None, None)


@pytest.mark.parametrize(
    "path", [*(f"/{page}" for page in sorted(PAGES)), "/queues/mail", "/queues/ns%2Fmail", "/messages/01a1e9"]
)
async def test_every_path_of_a_page_answers_the_page(path: str) -> None:
    async with Served() as client:
        found = await client.get(path)
    assert (found.status_code, found.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert 'id="root"' in found.text
    assert "script-src 'self'" in found.headers["content-security-policy"]
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", found.text)


async def test_its_files_are_named_from_the_root_of_the_server() -> None:
    for base in ("", "/tenure"):
        async with Served(base_path=base) as client:
            page = (await client.get("/leases")).text
            files = re.findall(r'(?:src|href)="([^"]+)"', page)
            assert all(file.startswith(f"{base}/") for file in files), files
            assert f"&quot;base&quot;:&quot;{base}&quot;" in page
            for file in files:
                assert (await client.get(file.removeprefix(base))).status_code == 200, file


async def test_a_file_that_is_known_is_not_sent_again_and_others_come_compressed() -> None:
    async with Served() as client:
        first = await client.get("/assets/index.js")
        assert first.headers["content-type"].startswith("text/javascript")
        assert first.headers["content-encoding"] == "gzip"
        assert first.headers["cache-control"] == "no-cache"
        again = await client.get("/assets/index.js", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = await client.get("/assets/index.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.text == first.text


@pytest.mark.parametrize(
    "path",
    [
        "/assets/nothing.js",
        "/nothing.txt",
        "/assets/..%2f..%2fserver.py",
        "/assets/../static_files.py",
        "/index.html/x",
        "/%2e%2e/x",
        "/assets",
        "/nowhere",
        "/queues/a/b",
    ],
)
async def test_what_is_no_file_and_no_page_is_not_found(path: str) -> None:
    async with Served() as client:
        found = await client.get(path)
    assert found.status_code == 404
    assert "import" not in found.text


async def test_the_page_says_nothing_of_the_store_before_a_login() -> None:
    async with Served() as client:
        assert "memory" not in (await client.get("/")).text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_page_is_only_looked_at(method: str) -> None:
    async with Served() as client:
        found = await client.request(method, "/leases", json={})
    assert found.status_code in (404, 405)


async def test_a_head_has_no_body() -> None:
    async with Served() as client:
        found = await client.head("/leases")
    assert (found.status_code, found.content) == (200, b"")


def test_the_paths_of_the_page_are_those_of_its_router() -> None:
    from pathlib import Path

    router = (Path(__file__).parents[2] / "dashboard" / "src" / "router.tsx").read_text(encoding="utf-8")
    paths = re.findall(r'path: "/([^"]*)"', router)
    assert {path.split("/")[0] for path in paths} == PAGES
    files = StaticFiles()
    assert all(files.has("GET", path.replace("$", "x").split("/")) for path in paths)
