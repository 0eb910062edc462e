"""Client folders: the bodies of a client are in its folder, and documents beside them are never touched."""

import pytest

from tenure import Tenure
from tenure.adapters.memory.blobs import MemoryBlobStore
from tenure.assembly import container_url
from tenure.blobs import name_of
from tenure.client.client_folders import ClientFolders, name_of_stored, stored_name
from tenure.message import Message
from tenure.testing.virtual import VirtualClock

TAIL = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        (f"acme-tasks/m1.{TAIL}", f"acme/acme-tasks/m1.{TAIL}"),
        (f"shop/acme-tasks/m1.{TAIL}", f"shop/acme/acme-tasks/m1.{TAIL}"),
        (f"acme/acme-tasks/m1.{TAIL}", f"acme/acme/acme-tasks/m1.{TAIL}"),
        (f"images/m1.{TAIL}", f"_queues/images/m1.{TAIL}"),
        (f"shop/images/m1.{TAIL}", f"_queues/shop/images/m1.{TAIL}"),
        (f"-tasks/m1.{TAIL}", f"_queues/-tasks/m1.{TAIL}"),
    ],
)
def test_a_name_has_one_place_and_is_read_back(name: str, stored: str) -> None:
    assert stored_name(name) == stored
    assert name_of_stored(stored) == name


@pytest.mark.parametrize(
    "other",
    ["acme/report.pdf", "acme/acme-tasks/report.pdf", f"other/acme-tasks/m1.{TAIL}", f"m1.{TAIL}", f"acme/m1.{TAIL}",
     f"images/m1.{TAIL}", "acme/acme-tasks/", "_queues/x.pdf"],
)  # fmt: skip
def test_what_tenure_did_not_store_is_none_of_its_bodies(other: str) -> None:
    assert name_of_stored(other) is None


async def test_documents_are_not_listed_however_many_there_are(virtual_clock: VirtualClock) -> None:
    inner = MemoryBlobStore("documents", virtual_clock)
    folders = ClientFolders(inner)
    await inner.leave([(f"acme/a{number:03}.pdf", b"document") for number in range(90)])
    names = [f"acme-tasks/m{number}.{TAIL}" for number in range(3)] + [f"images/m.{TAIL}"]
    await folders.leave([(name, b"body") for name in names])
    assert await folders.fetch([names[0], "acme-tasks/none"]) == [b"body", None]
    met: list[str] = []
    after = ""
    for _ in range(8):  # looks for 2 bodies each, through 40 blobs at most, as `blob_gc.py` goes on
        page = await folders.browse(after=after, limit=2)
        after = page[-1].name if len(page) == 2 else ""
        met += [one.name for one in page]
    assert set(met) == set(names)
    await folders.discard(names)
    assert len(await inner.browse()) == 90


async def test_the_bodies_of_an_app_are_in_its_clients_folder(virtual_clock: VirtualClock) -> None:
    message = Message(id="m1", queue="southhaven-tasks", task="ingest", body=b"{}")  # type: ignore[arg-type]
    assert stored_name(name_of(message, "digest")).startswith("southhaven/southhaven-tasks/m1.")


@pytest.mark.parametrize(
    ("url", "container", "expected"),
    [
        (
            "azure://devstoreaccount1?create=yes&partitions=2",
            "documents",
            "blob://devstoreaccount1/documents?create=yes",
        ),
        ("azure://account", "documents", "blob://account/documents"),
        ("azure://account", None, None),
        ("sqlite:///jobs.db", "documents", None),
    ],
)
def test_the_container_is_one_of_the_same_account(url: str, container: str | None, expected: str | None) -> None:
    assert container_url(url, container) == expected


def test_an_app_on_azure_uses_the_container_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")
    monkeypatch.setenv("AZURE_STORAGE_CONTAINER_NAME", "documents")
    monkeypatch.setenv("CLIENT_ID", "southhaven")
    app = Tenure()
    assert (app.url, app.client) == ("azure://devstoreaccount1?create=yes", "southhaven")
    assert app.origins["url"] == "AZURE_STORAGE_CONNECTION_STRING"
    assert app._claim_check is not None
    assert app._claim_check.blob_store.place == "blob://devstoreaccount1/documents"
