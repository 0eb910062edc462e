"""A real Prometheus scrapes two workers, one of them with several processes, and a server: known figures come out."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.examples.program import free_port
from tests.monitoring.prometheus.promtool import promtool
from tests.servers import binary

from tenure import Tenure
from tenure.clock import SYSTEM_CLOCK

ROOT = Path(__file__).parents[3]
RULES = ROOT / "deploy" / "monitoring" / "prometheus" / "tenure.rules.yml"
APP = """
import asyncio
from tenure import Tenure

app = Tenure("sqlite:///jobs.db")


@app.task(queue="mail-tasks", max_attempts=1)
async def mail(kind: str) -> None:
    await asyncio.sleep(0.02)
    if kind == "broken":
        raise ValueError(kind)
"""
COMPLETED = 'sum(tenure_messages_total{outcome="completed"})'
SOON = 60.0


@contextlib.contextmanager
def running(folder: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A program in this folder, ended when the block is left."""
    with (folder / f"{words[-1].replace('/', '_').replace(':', '_')}.log").open("wb") as log:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, env=environment)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(SOON)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def tenure(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tenure", *words)


def until(condition: Callable[[], bool], what: str) -> None:
    end = SYSTEM_CLOCK.monotonic() + SOON
    while not condition():
        assert SYSTEM_CLOCK.monotonic() < end, what
        time.sleep(0.2)


class Place:
    """Prometheus, two workers and a server."""

    def __init__(self, folder: Path, ports: dict[str, int], several: "subprocess.Popen[bytes]") -> None:
        self.folder = folder
        self.ports = ports
        #: The worker with several processes.
        self.several = several
        self.client = httpx.Client(timeout=SOON, trust_env=False)

    def is_ready(self) -> bool:
        """Whether Prometheus answers queries. It listens earlier, and answers 503 until then."""
        return self.client.get(f"http://127.0.0.1:{self.ports['prometheus']}/-/ready").is_success

    def query(self, expression: str) -> dict[str, float]:
        """The samples of a query, by their labels."""
        url = f"http://127.0.0.1:{self.ports['prometheus']}/api/v1/query"
        answer = self.client.get(url, params={"query": expression}).json()
        assert answer["status"] == "success", answer
        found = {}
        for one in answer["data"]["result"]:
            labels = {name: value for name, value in one["metric"].items() if name not in ("instance", "__name__")}
            found[",".join(f"{name}={labels[name]}" for name in sorted(labels))] = float(one["value"][1])
        return found

    def value(self, expression: str) -> float | None:
        """The one sample of a query. None: there is none."""
        return next(iter(self.query(expression).values()), None)

    def submit(self, *kinds: str) -> None:
        async def send() -> None:
            async with Tenure(f"sqlite:///{self.folder}/jobs.db", client="test") as app:

                @app.task(queue="mail-tasks", max_attempts=1)
                async def mail(kind: str) -> None: ...

                await app.submit_many([mail.bind(kind) for kind in kinds])

        asyncio.run(send())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("scraped")
    (folder / "jobs.py").write_text(APP, encoding="utf-8")
    ports = {name: free_port() for name in ("one", "several", "server", "prometheus")}
    targets = {name: f'  - job_name: {name}\n    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]\n'
               for name, port in ports.items() if name != "prometheus"}  # fmt: skip
    config = f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{RULES}]\nscrape_configs:\n"
    (folder / "prometheus.yml").write_text(config + "".join(targets.values()), encoding="utf-8")
    address = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    prometheus = (
        str(binary("prometheus")), "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn",
        f"--web.listen-address={address['prometheus']}",
    )  # fmt: skip
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        start(running(folder, *tenure("worker", "jobs:app", "--metrics", address["one"])))
        words = ("worker", "jobs:app", "--processes", "2", "--grace", "5s", "--metrics", address["several"])
        several = start(running(folder, *tenure(*words)))
        start(running(folder, *tenure("serve", "jobs:app", "--port", str(ports["server"]))))
        start(running(folder, *prometheus))
        found = Place(folder, ports, several)
        stack.callback(found.client.close)

        def is_up() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return found.is_ready() and found.value("sum(up)") == 3 and found.value("sum(tenure_worker_info)") == 3
            return False

        until(is_up, "Prometheus does not see all of them")
        yield found


def test_what_was_done_is_what_prometheus_says(place: Place) -> None:
    before = place.value(COMPLETED) or 0.0
    place.submit(*["well"] * 50, *["broken"] * 10)
    until(lambda: place.value(COMPLETED) == before + 50, "50 messages are not counted")
    until(lambda: place.value('sum(tenure_queue_depth{state="dead"})') == 10, "10 dead letters are not seen")
    assert place.query('sum by (outcome) (tenure_messages_total{task="mail"})') == {
        "outcome=completed": before + 50,
        "outcome=dead": 10,
    }
    assert place.value("sum(tenure_deliveries_total)") == before + 60
    assert place.value("sum(tenure_process_duration_seconds_count)") == before + 60
    p95 = "histogram_quantile(0.95, sum by (le) (tenure_process_duration_seconds_bucket))"
    assert 0.01 <= (place.value(p95) or 0.0) <= 20.0
    assert place.query('tenure_settlements_total{result!~"deleted|dead"}') == {}
    assert place.value("tenure_workers") == 3
    assert place.value("min(tenure_store_up)") == 1
    assert (place.value('sum(tenure_http_requests_total{route="/metrics",status="200"})') or 0.0) > 0


def test_the_rules_are_read_and_none_of_them_fails(place: Place) -> None:
    url = f"http://127.0.0.1:{place.ports['prometheus']}/api/v1/rules"

    def rules() -> list[dict[str, str]]:
        groups = place.client.get(url).json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    until(lambda: bool(rules()) and all(rule["health"] == "ok" for rule in rules()), "a rule fails")
    firing = {rule["name"] for rule in rules() if rule.get("state") == "firing"}
    assert len(firing) <= 3, firing  # the watchdog, and what the other test did


def test_promtool_finds_nothing_wrong_with_what_each_of_them_says(place: Place) -> None:
    for name in ("one", "several", "server"):
        text = place.client.get(f"http://127.0.0.1:{place.ports[name]}/metrics").text
        checked = promtool(["check", "metrics"], given=text)
        assert (checked.returncode, checked.stderr) == (0, ""), name


def test_no_counter_goes_back_when_a_process_is_killed(place: Place) -> None:
    before = place.value(COMPLETED) or 0.0
    place.submit(*["well"] * 30)
    until(lambda: place.value(COMPLETED) == before + 30, "30 messages are not counted")
    counted = place.value('tenure_messages_total{job="several",outcome="completed"}')
    pid = place.several.pid
    child = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()[0]
    os.kill(int(child), signal.SIGKILL)
    until(lambda: place.value("tenure_process_deaths_total") == 1, "the death is not counted")
    until(lambda: place.value('tenure_worker_info{job="several"}') == 2, "no other process took its place")
    place.submit(*["well"] * 5)
    until(lambda: place.value(COMPLETED) == before + 35, "5 more messages are not counted")
    assert (place.value('tenure_messages_total{job="several",outcome="completed"}') or 0.0) >= (counted or 0.0)
    assert not place.query("resets(tenure_messages_total[5m]) > 0")
