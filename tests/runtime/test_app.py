"""The app: what users make, register tasks with, and submit through."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tenure import BadArgument, KeyConflict, MessageNotFound, PayloadInvalid, Tenure, UnknownTask
from tenure.config import Settings
from tenure.errors import BadSchedule, BadURL, BodyTooLarge, ConfigurationError, MissingExtra
from tenure.message import MessageState


def make_app() -> Tenure:
    app = Tenure("memory://")

    @app.task
    async def resize(image: str, width: int = 800) -> None: ...

    @app.task(queue="mail")
    async def deliver(to: str) -> None: ...

    return app


@pytest.fixture
def app() -> Tenure:
    """Opened and closed around each async test, as every fixture that can be."""
    return make_app()


# --- places ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("nosuch://x", BadURL),
        ("jobs.db", BadURL),
        ("", ConfigurationError),
        ("sqlite://jobs.db", BadURL),
        ("sqlite:///", BadURL),
        ("sqlite:jobs.db", BadURL),
        ("sqlite:/jobs.db", BadURL),
        ("sqlite:///~/jobs.db", BadURL),
        ("sqlite:///jobs.db?colour=blue", BadURL),
        ("sqlite:///jobs.db?busy_seconds=-1", BadURL),
        ("sqlite:///jobs.db?body_limit=many", BadURL),
        ("memory://[", BadURL),
    ],
)
def test_a_url_that_names_no_broker_is_refused_with_what_to_write(
    url: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENURE_URL", raising=False)
    with pytest.raises(error) as caught:
        Tenure(url)
    assert "sqlite:///" in str(caught.value) or "synchronous" in str(caught.value)


def test_a_broker_that_needs_an_extra_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'tenure\[redis\]'"):
        Tenure("redis://localhost")


def test_the_url_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", "memory://from-the-environment")
    assert Tenure().url == "memory://from-the-environment"


async def test_nothing_is_opened_before_it_is_needed_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    opened: list[str] = []

    async def open_slowly() -> None:
        await asyncio.sleep(1)
        opened.append("broker")

    monkeypatch.setattr(app.broker, "open", open_slowly)
    await asyncio.gather(*(app.submit("deliver", {"to": "ada"}) for _ in range(5)))
    assert opened == ["broker"]
    await app.close()
    await app.open()
    assert opened == ["broker"] * 2


async def test_an_open_that_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    tries: list[None] = []

    async def fail_once() -> None:
        tries.append(None)
        if len(tries) == 1:
            raise OSError

    monkeypatch.setattr(app.broker, "open", fail_once)
    with pytest.raises(OSError):  # noqa: PT011 - ours
        await app.open()
    await app.open()
    assert len(tries) == 2


# --- submitting -----------------------------------------------------------------------------------------


async def test_a_call_by_name_is_checked_like_a_bound_one(app: Tenure) -> None:
    handle = await app.submit("resize", {"image": "a.png"})
    assert (await handle.status()).state is MessageState.READY
    with pytest.raises(PayloadInvalid, match="width"):
        await app.submit("resize", {"image": "a.png", "width": "wide"})


async def test_an_unknown_task_guesses_what_was_meant(app: Tenure) -> None:
    with pytest.raises(UnknownTask, match=r"'resise' .*; did you mean 'resize'\? Nothing was sent\."):
        await app.submit("resise", {})
    with pytest.raises(UnknownTask, match=r"; there are: deliver, resize\. Nothing was sent\."):
        await app.submit("xyzzy")


async def test_without_any_task_it_says_so() -> None:
    with pytest.raises(UnknownTask, match="there are: none"):
        await Tenure("memory://").submit("work")
    with pytest.raises(ConfigurationError, match="no tasks"):
        Tenure("memory://").worker()


@pytest.mark.parametrize("thing", [None, 5, object()])
async def test_what_is_no_call_is_refused(app: Tenure, thing: Any) -> None:
    with pytest.raises(BadArgument, match="nothing was sent"):
        await app.submit(thing)


async def test_an_option_with_a_typing_error_is_refused_everywhere(app: Tenure) -> None:
    call = app.tasks["deliver"].bind("ada")
    options: dict[str, Any] = {"priorty": 9}
    with pytest.raises(BadArgument, match="priorty"):
        await app.submit(call, **options)
    with pytest.raises(BadArgument, match="priorty"):
        await app.submit_many([call], **options)
    assert (await app.broker.depth(["mail"]))[0].ready == 0


async def test_the_same_id_again_is_a_duplicate(app: Tenure) -> None:
    call = app.tasks["deliver"].bind("ada")
    first, second = await app.submit(call, id="order-7"), await app.submit(call, id="order-7")
    assert (first.id, first.duplicate) == ("order-7", False)
    assert (second.id, second.duplicate) == ("order-7", True)
    assert "duplicate" in repr(second)


async def test_refusals_are_raised_in_words(app: Tenure) -> None:
    task = app.tasks["deliver"]
    with pytest.raises(BodyTooLarge, match="put large data elsewhere"):
        await app.submit(task.bind("x" * 2_000_000))
    await app.submit(task.bind("ada"), key="k")
    with pytest.raises(KeyConflict):
        await app.submit(task.bind("bob"), key="k")


async def test_many_are_sent_in_as_few_calls_as_the_broker_allows(app: Tenure, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    send = app.broker.send

    async def counted(batch: Any) -> Any:
        sizes.append(len(batch))
        return await send(batch)

    monkeypatch.setattr(app.broker, "send", counted)
    handles = await app.submit_many(app.tasks["deliver"].bind(str(number)) for number in range(2500))
    assert sizes == [1000, 1000, 500]
    assert len({handle.id for handle in handles}) == 2500


async def test_a_handle_of_a_message_that_nobody_knows_says_so(app: Tenure) -> None:
    await app.open()
    with pytest.raises(MessageNotFound, match="never sent to this place"):
        await app.handle("nobody").status()


# --- names ----------------------------------------------------------------------------------------------


async def test_queues_belong_to_the_client_unless_a_task_names_its_own() -> None:
    app = Tenure("memory://", client="acme")

    @app.task
    async def work() -> None: ...

    handle = await work.submit()
    assert (await handle.status()).queue == "acme-tasks"


def test_settings_can_be_handed_in() -> None:
    settings = Settings(lease_seconds=7.0, max_attempts=9, sweep_batch=5, sweep_interval_seconds=2.0, client="acme")
    app = Tenure("memory://", settings=settings)

    @app.task
    async def work() -> None: ...

    assert (work.policy.lease.seconds, work.policy.retry.max_attempts, work.queue) == (7.0, 9, "acme-tasks")
    request = app.sweep_request()
    assert (request.limit, request.interval_seconds, request.max_attempts, request.lease_seconds) == (5, 2.0, 9, 7.0)


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_worker_needs_at_least_one_slot(app: Tenure, concurrency: int) -> None:
    with pytest.raises(ConfigurationError, match="concurrency"):
        app.worker(concurrency=concurrency)


# --- schedules ------------------------------------------------------------------------------------------


def test_schedules_of_two_clients_at_one_place_are_two() -> None:
    names = []
    for client, namespace in (("default", None), ("shop", None), ("shop", "blue")):
        app = Tenure("memory://", client=client, namespace=namespace)

        @app.task
        async def cleanup() -> None: ...

        names.append(app.schedule(cleanup.bind(), every=60).name)
    assert names == ["cleanup", "shop/cleanup", "blue/shop/cleanup"]


def test_only_a_bound_call_can_be_scheduled(app: Tenure) -> None:
    for odd in (app.tasks["resize"], "resize"):
        with pytest.raises(BadSchedule, match=r"schedule takes task.bind\(…\), not"):
            app.schedule(odd, every=60)  # type: ignore[arg-type]


def test_two_schedules_need_two_names(app: Tenure) -> None:
    app.schedule(app.tasks["deliver"].bind("a"), every=60)
    with pytest.raises(BadSchedule, match="registered already"):
        app.schedule(app.tasks["deliver"].bind("b"), every=60)


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("sqlte:///jobs.db", "sqlite:///jobs.db"),
        ("reddis://:secret@host:6379/0", "redis://:…@host:6379/0"),
        ("jobs.db", "sqlite:///jobs.db"),
        ("/srv/jobs.sqlite", "sqlite:////srv/jobs.sqlite"),
    ],
)
def test_what_a_url_was_probably_meant_to_be_is_said(url: str, meant: str) -> None:
    with pytest.raises(BadURL) as refused:
        Tenure(url)
    assert f"; did you mean {meant}?" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_path_is_no_url() -> None:
    with pytest.raises(BadURL, match="sqlite:///jobs"):
        Tenure(Path("jobs.db"))  # type: ignore[arg-type]
