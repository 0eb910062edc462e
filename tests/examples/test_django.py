"""A Django project: orders by HTTP under Django's own server, invoices by a worker of Tenure."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .program import EXAMPLES, client_of, environment, free_port, log_of, running, waited_for

pytestmark = pytest.mark.scenario

_WORKER = ["-m", "tenure", "worker", "shop.jobs:app"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, with its tables."""
    folder = tmp_path / "django_project"
    shutil.copytree(EXAMPLES / "django_project", folder, ignore=shutil.ignore_patterns("*.db*", "*.sqlite3", "__py*"))
    _manage(folder, "migrate")
    return folder


def _manage(folder: Path, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def web(project: Path) -> Iterator[httpx.Client]:
    port = free_port()
    with (
        running(["manage.py", "runserver", "--noreload", str(port)], project) as server,
        client_of(server, port) as client,
    ):
        yield client


def _worker(project: Path, **more: str) -> Any:
    return running(_WORKER, project, DJANGO_SETTINGS_MODULE="shop.settings", **more)


def _place(web: httpx.Client, price: int = 12) -> httpx.Response:
    return web.post("/orders", json={"item": "book", "price": price})


def _invoices(web: httpx.Client, id: int) -> list[str]:
    found: list[str] = web.get(f"/orders/{id}").json()["invoices"]
    return found


def test_an_order_has_one_invoice_and_one_that_is_rolled_back_has_no_message(project: Path, web: httpx.Client) -> None:
    placed, refused = _place(web), _place(web, price=0)
    assert (placed.status_code, refused.status_code) == (202, 422)
    waiting = subprocess.run(
        [sys.executable, "-m", "tenure", "messages", "sqlite:///jobs.db", "--json"],
        cwd=project, env=environment(), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert waiting.count('"write_invoice"') == 1, "the order that was rolled back left nothing behind"
    with _worker(project) as worker:
        assert waited_for(lambda: _invoices(web, placed.json()["id"])) == ["book: 12 EUR"]
    assert worker.returncode == 0
    assert "Traceback" not in log_of(_WORKER, project).read_text()


def test_an_order_whose_process_died_before_its_submit_is_found(project: Path, web: httpx.Client) -> None:
    """As if the process was killed between the commit and `on_commit`: the order is there, and no message."""
    _manage(project, "shell", "-c", "from shop.models import Order; Order.objects.create(item='pen', price=3)")
    assert "No changes detected" in _manage(project, "makemigrations", "--check", "--dry-run")
    with _worker(project, SHOP_SUBMIT_AGAIN_SECONDS="1"):
        assert waited_for(lambda: _invoices(web, 1)) == ["pen: 3 EUR"]


def test_a_worker_that_is_killed_leaves_no_second_invoice(project: Path, web: httpx.Client) -> None:
    ids = [_place(web).json()["id"] for _ in range(20)]
    with _worker(project) as worker:
        waited_for(lambda: any(_invoices(web, id) for id in ids))
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    with _worker(project):
        waited_for(lambda: all(_invoices(web, id) for id in ids))
    assert [len(_invoices(web, id)) for id in ids] == [1] * 20
