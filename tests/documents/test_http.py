"""Search over HTTP."""

from typing import Any

import httpx
import pytest

from tenure.documents import Library
from tenure.documents.http import asgi

from .conftest import MakeLibrary, RunTask

pytestmark = pytest.mark.real_time


async def get(
    library: Library, path: str, *, token: str = "", given: str = "", hosts: tuple[str, ...] = (), host: str = "test"
) -> tuple[int, Any]:
    headers = {b"Authorization": given.encode()} if given else {}
    transport = httpx.ASGITransport(asgi(library, token=token, hosts=hosts))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        answer = await client.get(path, headers=headers)
    return answer.status_code, answer.json()


async def test_search_and_summaries_are_answered(library: Library, tasks: RunTask) -> None:
    async with tasks(library) as run:
        await run("ingest", filename="leases.md")
        await run("summarize", filename="leases.md", sentences=1)
        status, found = await get(library, "/search?question=heartbeat&set=south&limit=1")
        assert (status, [hit["name"] for hit in found["hits"]]) == (200, ["leases.md"])
        assert (await get(library, "/search?question=heartbeat&set=north"))[1] == {"hits": []}
        status, listed = await get(library, "/documents?set=south")
        assert [one["name"] for one in listed["documents"]] == ["leases.md"]
        status, summary = await get(library, "/summary?set=south&name=leases.md")
        assert (status, "lease" in summary["summary"]) == (200, True)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/search", 400, "bad_argument"),
        ("/search?question=x&limit=1000", 400, "bad_argument"),
        ("/search?question=x&limit=-1", 400, "bad_argument"),
        ("/search?question=x&mode=magic", 400, "bad_argument"),
        ("/search?question=x&set=../x", 400, "bad_argument"),
        ("/summary?name=gone.md", 404, "document_missing"),
    ],
)
async def test_what_cannot_be_answered_is_a_problem_document(
    library: Library, path: str, status: int, code: str
) -> None:
    answered, problem = await get(library, path)
    assert (answered, problem["status"], problem["code"]) == (status, status, code)


async def test_an_endpoint_that_is_away_is_a_503(make_library: MakeLibrary) -> None:
    environment = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    status, problem = await get(make_library(embedder=None, environment=environment), "/search?question=x")
    assert (status, problem["code"]) == (503, "endpoint_error")


async def test_a_token_is_asked_for(library: Library) -> None:
    for given in ("", "Bearer", "Bearer no", "Basic secret", "Bearer sécret"):
        assert (await get(library, "/documents", token="secret", given=given))[0] == 401
    assert (await get(library, "/documents", token="secret", given="Bearer secret"))[0] == 200


async def test_a_page_whose_name_resolves_to_this_machine_reads_nothing(library: Library) -> None:
    hosts = ("127.0.0.1", "localhost", "::1")
    for host in ("localhost:8484", "127.0.0.1", "[::1]:8484"):
        assert (await get(library, "/documents", hosts=hosts, host=host))[0] == 200
    for host in ("evil.example.com", "localhost.evil.example.com:8484"):
        status, problem = await get(library, "/documents", hosts=hosts, host=host)
        assert (status, problem["code"]) == (421, "host_refused")
