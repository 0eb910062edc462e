"""`tenure migrate celery`: what it prints where, and that it writes nothing that was not asked for."""

from pathlib import Path

import msgspec
import pytest

from .conftest import Run

SHOP = """\
from celery import Celery, chord

app = Celery("shop", broker="redis://localhost:6379/0")


@app.task
def mail(order):
    print("mail", order)


@app.task
def all_of_it(orders):
    chord([mail.s(order) for order in orders])(mail.s(0))
"""


@pytest.fixture
def shop(folder: Path) -> Path:
    place = folder / "shop"
    place.mkdir()
    (place / "tasks.py").write_text(SHOP)
    (place / "views.py").write_text("from shop.tasks import mail\n\n\ndef view(order):\n    mail.delay(order)\n")
    return place


def _files(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in folder.rglob("*.py")}


def test_a_dry_run_prints_a_module_and_keeps_notes_apart(tenure: Run, shop: Path) -> None:
    before = _files(shop.parent)
    ended = tenure("migrate", "celery", "shop", "--dry-run")
    assert ended.exit_code == 0
    compile(ended.stdout, "ported.py", "exec")
    assert "#   mail.submit_sync(order)" in ended.stdout
    lines = ended.stderr.splitlines()
    assert lines[0].startswith("warning ")
    assert "TQ801" in lines[0]
    assert lines[1].startswith("by hand ")
    assert lines[-2:] == [
        "2 files: 2 tasks, 0 schedules, 1 call to change elsewhere, 1 part to write by hand.",
        "Nothing was written.",
    ]
    assert _files(shop.parent) == before


def test_without_a_word_about_where_it_writes_nothing(tenure: Run, shop: Path) -> None:
    ended = tenure("migrate", "celery", "shop")
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert "nothing was written: say --dry-run to print the module, or --output FILE" in ended.stderr


def test_a_file_is_written_once_and_never_overwritten(tenure: Run, shop: Path) -> None:
    ended = tenure("migrate", "celery", "shop", "--output", "ported.py")
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr.endswith("Written to ported.py.\n")
    written = (shop.parent / "ported.py").read_text()
    assert "def mail(order: Any):" in written
    again = tenure("migrate", "celery", "shop", "--output", "shop/tasks.py")
    assert again.exit_code == 2
    assert "error[cannot_migrate]: shop/tasks.py is there already, and stays as it is" in again.stderr
    assert (shop / "tasks.py").read_text() == SHOP


def test_what_is_no_celery_is_refused(tenure: Run, folder: Path) -> None:
    (folder / "plain.py").write_text("x = 1\n")
    ended = tenure("migrate", "celery", "plain.py", "--dry-run")
    assert ended.exit_code == 2
    assert "error[cannot_migrate]: no task of Celery in plain.py" in ended.stderr
    assert ended.stderr.rstrip().endswith("Nothing was written")


def test_json_has_the_module_and_the_notes(tenure: Run, shop: Path) -> None:
    assert shop.is_dir()
    found = msgspec.json.decode(tenure("migrate", "celery", "shop", "--dry-run", "--json").stdout)
    assert found["tasks"] == ["mail", "all_of_it"]
    assert {note["kind"] for note in found["notes"]} == {"check", "by hand"}
    assert [send["after"] for send in found["sends"]] == ["mail.submit_sync(order)"]
    assert [one["id"] for one in found["findings"]] == ["TQ801"]
