"""What `tenure migrate celery` prints is Python that imports, and does what the Celery project did."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tenure import Tenure
from tenure.porting import Kind, Ported, port_celery
from tenure.porting.ported import NotPortable
from tenure.testing.kit import Kit
from tenure.timing.cron import Cron
from tenure.timing.interval import Every

Files = Mapping[str, str]
Port = Callable[[Files], Ported]
Import = Callable[[Ported], ModuleType]

APP = """
from celery import Celery
app = Celery("shop")
"""


@pytest.fixture
def port(tmp_path: Path) -> Port:
    def do(files: Files) -> Ported:
        for name, text in files.items():
            (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "src" / name).write_text(text, encoding="utf-8")
        return port_celery([str(tmp_path / "src")])

    return do


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Import]:
    def do(ported: Ported) -> ModuleType:
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path / "src"))
        (tmp_path / "ported_tasks.py").write_text(ported.module, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        sys.modules.pop("ported_tasks", None)
        return __import__("ported_tasks")

    yield do
    for name in ("ported_tasks", "shop", "shop.store", "store"):
        sys.modules.pop(name, None)


def _policy(module: ModuleType, name: str) -> Any:
    app = module.app
    assert isinstance(app, Tenure)
    return app.tasks[name].policy


def _texts(ported: Ported, kind: Kind) -> list[str]:
    return [note.text for note in ported.notes if note.kind is kind]


# -- options ------------------------------------------------------------------------------------------------


def test_a_task_without_retries_runs_once(port: Port, imported: Import) -> None:
    module = imported(port({"tasks.py": f"{APP}@app.task\ndef add(x, y):\n    return x + y\n"}))
    assert _policy(module, "add").retry.max_attempts == 1
    assert module.add(1, 2) == 3


def test_retries_keep_their_number_and_their_waits(port: Port, imported: Import) -> None:
    text = f"""{APP}
@app.task(autoretry_for=(Exception,), max_retries=7, retry_backoff=5, retry_backoff_max=90)
def doubling(): pass
@app.task(bind=True, default_retry_delay=20)
def fixed(self):
    raise self.retry()
@app.task(autoretry_for=(Exception,), retry_kwargs={{"max_retries": 2}}, retry_backoff=True)
def by_kwargs(): pass
"""
    module = imported(port({"tasks.py": text}))
    doubling, fixed, by_kwargs = (_policy(module, name).retry for name in ("doubling", "fixed", "by_kwargs"))
    assert (doubling.max_attempts, doubling.first_delay_seconds, doubling.max_delay_seconds) == (8, 5, 90)
    assert (fixed.max_attempts, fixed.first_delay_seconds, fixed.max_delay_seconds) == (4, 20, 20)
    assert (by_kwargs.max_attempts, by_kwargs.first_delay_seconds, by_kwargs.max_delay_seconds) == (3, 1, 600)


def test_queues_come_from_the_decorator_and_from_routes(port: Port, imported: Import) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/celery.py": APP + 'app.conf.task_routes = {"shop.mail.*": {"queue": "mail"}, "pdf": "pages"}\n',
        "shop/mail.py": "from shop.celery import app\n@app.task\ndef send(): pass\n",
        "shop/pdf.py": 'from celery import shared_task\n@shared_task(name="pdf")\ndef render(): pass\n'
        '@shared_task(queue="own")\ndef sign(): pass\n',
    }
    module = imported(port(files))
    queues = {name: task.queue for name, task in module.app.tasks.items()}
    assert queues == {"send": "mail", "pdf": "pages", "sign": "own"}


def test_limits_are_carried_over_with_what_differs(port: Port, imported: Import) -> None:
    text = f"{APP}@app.task(rate_limit='30/m', time_limit=120, soft_time_limit=100)\ndef slow(): pass\n"
    ported = port({"tasks.py": text})
    module = imported(ported)
    policy = _policy(module, "slow")
    assert policy.limit.per_second == 0.5
    assert policy.lease.max_hold_seconds == 120
    assert module.app.tasks["slow"].runs_in == "process"
    assert any("over all workers" in text for text in _texts(ported, Kind.CHECK))
    assert any("SoftTimeLimitExceeded" in text for text in _texts(ported, Kind.CHECK))


def test_an_early_ack_is_a_thing_to_check_and_a_late_one_is_none(port: Port) -> None:
    early = port({"tasks.py": f"{APP}@app.task\ndef one(): pass\n"})
    assert any("a crash loses it" in text for text in _texts(early, Kind.CHECK))
    late = port({"tasks.py": f"{APP}app.conf.task_acks_late = True\n@app.task\ndef one(): pass\n"})
    assert _texts(late, Kind.CHECK) == []


def test_the_audit_of_the_same_files_is_part_of_it(port: Port) -> None:
    ported = port({"tasks.py": f"{APP}app.conf.task_acks_late = True\n@app.task\ndef one(): pass\n"})
    assert {one.finding.id for one in ported.findings} == {"TQ803", "TQ804"}


# -- what runs ----------------------------------------------------------------------------------------------

RETRIES = f"""{APP}
tried = []
@app.task(bind=True, max_retries=2, default_retry_delay=30)
def flaky(self, order):
    \"\"\"Stays.\"\"\"
    tried.append((order, self.request.retries))  # and so does this
    try:
        if self.request.retries < 2:
            raise OSError("away")
    except OSError as exc:
        raise self.retry(exc=exc, countdown=2 ** self.request.retries)
    return self.request.retries

@app.task(autoretry_for=(OSError,), max_retries=3)
def picky(text):
    tried.append(text)
    raise ValueError(text) if text == "bad" else OSError(text)
"""


async def test_self_retry_waits_and_counts_as_before(port: Port, imported: Import) -> None:
    ported = port({"tasks.py": RETRIES})
    assert "# and so does this" in ported.module
    module = imported(ported)
    async with Kit(module.app) as running:
        handle = await module.flaky.submit(5)
        await running.drain()
        assert await handle.result() == 2
    assert module.tried == [(5, 0), (5, 1), (5, 2)]


async def test_only_the_errors_of_autoretry_for_are_tried_again(port: Port, imported: Import) -> None:
    module = imported(port({"tasks.py": RETRIES}))
    async with Kit(module.app) as running:
        await module.picky.submit("bad")
        await module.picky.submit("away")
        await running.drain()
    assert sorted(module.tried) == ["away"] * 4 + ["bad"]


CANVAS = f"""{APP}
from celery import chain, group
log = []
@app.task
def reserve(order):
    log.append(f"reserve {{order}}")
    return {{"order": order}}
@app.task
def charge(reserved, currency="EUR"):
    log.append(f"charge {{reserved['order']}} {{currency}}")
    return reserved["order"]
@app.task
def mail(order, text):
    log.append(f"mail {{order}} {{text}}")
@app.task
def close():
    log.append("close")
@app.task
def order(number):
    chain(reserve.s(number), charge.s(currency="CHF"), mail.s("thanks"), close.si())()
    group(mail.s(i, "hello") for i in range(2))()
    mail.apply_async(args=(9, "later"), countdown=60)
    mail.delay(8, text="now")
"""


async def test_chains_groups_and_sends_within_a_task_are_handed_on(port: Port, imported: Import) -> None:
    ported = port({"tasks.py": CANVAS})
    assert _texts(ported, Kind.BY_HAND) == []
    module = imported(ported)
    async with Kit(module.app) as running:
        await module.order.submit(7)
        await running.drain()
        assert "mail 9 later" not in module.log
        await running.advance(minutes=2)
        await running.drain()
    log = module.log
    assert [line for line in log if " 7" in line or line == "close"] == [
        "reserve 7",
        "charge 7 CHF",
        "mail 7 thanks",
        "close",
    ]
    assert {line for line in log if line.startswith("mail")} == {
        "mail 7 thanks", "mail 0 hello", "mail 1 hello", "mail 9 later", "mail 8 now",
    }  # fmt: skip


async def test_calls_in_other_files_are_listed_with_what_to_write(port: Port, imported: Import) -> None:
    views = """
from datetime import datetime, UTC
from celery import chain
import tasks
from tasks import mail, reserve, charge
def view(n):
    mail.delay(n, "a")
    tasks.mail.apply_async((n,), {"text": "b"}, countdown=5, task_id="fixed", queue="mails")
    (reserve.s(n) | charge.s()).delay()
    chain([reserve.si(n), charge.si({"order": 3})]).apply_async(countdown=1)
"""
    ported = port({"tasks.py": CANVAS, "views.py": views})
    assert [(Path(one.path).name, one.line, one.after) for one in ported.sends] == [
        ("views.py", 7, "mail.submit_sync(n, 'a')"),
        ("views.py", 8, "mail.bind(n, text='b').submit_sync(delay=5, id='fixed', queue='mails')"),
        ("views.py", 9, "reserve_then_charge.submit_sync([n], {}, [([], {})])"),
        ("views.py", 10, "reserve_and_then_charge.bind([n], {}, [([{'order': 3}], {})]).submit_sync(delay=1)"),
    ]
    module = imported(ported)
    async with Kit(module.app) as running:
        for call in (module.reserve_then_charge.bind([1], {}, [([], {})]), module.mail.bind(2, text="b")):
            await call.submit()
        await running.drain()
    assert sorted(module.log) == ["charge 1 EUR", "mail 2 b", "reserve 1"]


# -- schedules ----------------------------------------------------------------------------------------------


def test_beat_becomes_schedules(port: Port, imported: Import) -> None:
    text = f"""{APP}
from datetime import timedelta
from celery.schedules import crontab
app.conf.timezone = "Europe/Berlin"
app.conf.beat_schedule = {{
    "weekdays": {{"task": "tasks.clean", "schedule": crontab(hour=3, minute=30, day_of_week="mon-friday"),
        "args": (30,)}},
    "quarter": {{"task": "tasks.clean", "schedule": crontab(minute="*/15"), "kwargs": {{"days": 1}}}},
    "often": {{"task": "tasks.clean", "schedule": timedelta(minutes=2, seconds=30), "args": [7],
        "options": {{"queue": "b"}}}},
    "plain": {{"task": "tasks.clean", "schedule": 90.0, "args": (1,)}},
    "both": {{"task": "tasks.clean", "schedule": crontab(day_of_month="1", day_of_week="mon"), "args": (1,)}},
    "bare": {{"task": "tasks.clean", "schedule": 90.0}},
    "fast": {{"task": "tasks.clean", "schedule": 0.5, "args": (1,)}},
    "gone": {{"task": "tasks.gone", "schedule": 5}},
}}
@app.task
def clean(days): pass
@app.on_after_configure.connect
def periodic(sender, **kwargs):
    sender.add_periodic_task(crontab(hour=[1, 13], minute=0), clean.s(2), name="twice")
    sender.add_periodic_task(10.0, clean.s(days=3))
"""
    ported = port({"tasks.py": text})
    module = imported(ported)
    when = {name: one.moments for name, one in module.app.schedules.items() if not name.startswith("clean")}
    berlin = "Europe/Berlin"
    assert when == {
        "weekdays": Cron("30 3 * * MON-FRI", berlin),
        "quarter": Cron("*/15 * * * *", berlin),
        "often": Every(150.0),
        "plain": Every(90.0),
        "twice": Cron("0 1,13 * * *", berlin),
    }
    assert sum(name.startswith("clean") for name in module.app.schedules) == 1
    refused = {note.about: note.text for note in ported.notes if note.kind is Kind.BY_HAND}
    assert refused.keys() == {"both", "bare", "fast", "gone"}
    assert "it gives no days" in refused["bare"]


def test_settings_of_django_are_read(port: Port, imported: Import) -> None:
    files = {
        "shop/settings.py": "from celery.schedules import crontab\nCELERY_TASK_ACKS_LATE = True\n"
        'CELERY_BEAT_SCHEDULE = {"a": {"task": "shop.tasks.clean", "schedule": crontab(hour=1)}}\n',
        "shop/celery.py": APP + 'app.config_from_object("django.conf:settings", namespace="CELERY")\n',
        "shop/tasks.py": "from celery import shared_task\n@shared_task\ndef clean(): pass\n",
    }
    ported = port(files)
    assert _texts(ported, Kind.CHECK) == []
    assert list(imported(ported).app.schedules) == ["a"]


# -- what has no equal --------------------------------------------------------------------------------------


def test_what_has_no_equal_imports_is_noted_and_raises_where_it_stood(port: Port, imported: Import) -> None:
    text = f"""{APP}
from celery import chord, Task
from celery.exceptions import SoftTimeLimitExceeded
class Base(Task): abstract = True
class Old(Task):
    def run(self): pass
@app.task(base=Base, bind=True)
def part(self, n):
    try:
        if self.request.delivery_info["redelivered"]:
            return None
        chord([part.s(1)])(part.s(2))
    except SoftTimeLimitExceeded:
        return None
@app.task
def any_of(*args, **kwargs): pass
"""
    text = text.replace("@app.task\ndef any_of(*args, **kwargs): pass\n", "")
    ported = port({"tasks.py": text})
    said = " ".join(_texts(ported, Kind.BY_HAND))
    assert all(word in said for word in ("base=Base", "delivery_info", "chord", "a class"))
    module = imported(ported)
    with pytest.raises(NotImplementedError, match="see the note"):
        module.part(1)


def test_helpers_and_relative_imports_come_along(port: Port, imported: Import) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/store.py": "saved = []\n",
        "shop/tasks.py": "from celery import shared_task\nfrom celery.utils.log import get_task_logger\n"
        "from .store import saved\nlog = get_task_logger(__name__)\n"
        "RATE = 1.19\ndef gross(net):\n    return net * RATE\n"
        'unused = open("/nowhere")\n@shared_task\ndef price(net):\n    log.info("x")\n    saved.append(gross(net))\n',
    }
    module = imported(port(files))
    module.price(100)
    assert sys.modules["shop.store"].saved == [119.0]


def test_the_files_stay_as_they_are(port: Port, tmp_path: Path) -> None:
    port({"tasks.py": CANVAS})
    assert (tmp_path / "src" / "tasks.py").read_text(encoding="utf-8") == CANVAS
    assert [path.name for path in (tmp_path / "src").iterdir()] == ["tasks.py"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a.py": "x = 1\n"}, "no task of Celery"),
        ({"a.py": "def ("}, "does not parse"),
        (
            {"a.py": f"{APP}@app.task\ndef x(): pass\n", "b.py": "from a import app\n@app.task\ndef x(): pass\n"},
            "two tasks",
        ),
        (
            {
                "a.py": f"{APP}N = 1\n@app.task\ndef x(): return N\n",
                "b.py": "from a import app\nN = 2\n@app.task\ndef y(): return N\n",
            },
            "N is defined in",
        ),
    ],
)
def test_what_cannot_be_one_module_is_refused(port: Port, files: Files, why: str) -> None:
    with pytest.raises(NotPortable, match=why):
        port(files)


def test_tasks_of_tenure_are_none_of_celery(port: Port) -> None:
    with pytest.raises(NotPortable):
        port({"a.py": 'from tenure import Tenure\napp = Tenure("sqlite:///x.db")\n@app.task\ndef x(): pass\n'})
