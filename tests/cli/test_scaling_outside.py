"""`tenure scaling` for systems that scale: watched, published, and as policies."""

import json
import signal
from pathlib import Path

import pytest
from tests.servers.recorder import Reply, Request, recording

from .conftest import URL, Run, answer
from .process import started


def test_policies_are_printed_for_one_queue_with_a_target_from_its_profile(tenure: Run, folder: Path) -> None:
    (folder / "media.py").write_text(
        "from tenure import Tenure\n\napp = Tenure('sqlite:///jobs.db')\n\n\n"
        "@app.task(queue='videos', profile='transcoding', size='bytes', concurrency=2)\n"
        "async def transcode(file: str, bytes: int) -> None: ...\n"
    )
    words = ("scaling", "media:app", "--policy", "media/transcoder", "--cooldown", "10m", "--max", "5")
    calls = answer(tenure(*words, "--queue", "videos", "--publish", "cloudwatch://eu-west-1/Shop"))
    assert calls["register-scalable-target"]["MaxCapacity"] == 5
    tracking = calls["put-scaling-policy"]["TargetTrackingScalingPolicyConfiguration"]
    assert (tracking["TargetValue"], tracking["ScaleInCooldown"]) == (2.0, 600)
    assert tracking["CustomizedMetricSpecification"]["Namespace"] == "Shop"
    refused = tenure(*words)
    assert (refused.exit_code, "one queue: add --queue NAME" in refused.stderr) == (2, True)


@pytest.mark.scenario
def test_figures_are_sent_again_and_again_and_an_outage_between_is_logged(folder: Path, tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}')
    seen = 0

    def answer_(_: Request) -> Reply:
        nonlocal seen
        seen += 1
        return Reply(503, b"{}") if seen == 2 else Reply(200, b"{}")

    with recording(answer_) as server:
        url = f"cloudwatch://eu-west-1?endpoint={server.url}"
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        with started("scaling", URL, "--publish", url, "--watch", "--every", "0.1", **keys) as publishing:
            publishing.says("sent 5 figures to CloudWatch namespace Tenure")
            publishing.says("no figures this time: ")
            requests = server.wait(lambda found: len(found) >= 4)
            publishing.send(signal.SIGINT)
            publishing.ends()
    told = {one["MetricName"]: one["Value"] for one in json.loads(requests[-1].body)["MetricData"]}
    assert (told["VisibleAndInFlight"], told["BacklogPerWorker"]) == (1.0, 1.0)


@pytest.mark.scenario
def test_watching_prints_a_document_a_line(folder: Path, tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}')
    with started("scaling", URL, "--watch", "--every", "0.1", "--json") as watching:
        assert watching.process.stdout is not None
        lines = [json.loads(watching.process.stdout.readline()) for _ in range(2)]
        watching.send(signal.SIGINT)
        watching.ends()
    assert [line["queues"][0]["ready"] for line in lines] == [1, 1]
    assert lines[0]["queues"][0]["oldest_age_seconds"] < lines[1]["queues"][0]["oldest_age_seconds"]


@pytest.mark.scenario
def test_a_look_that_fails_is_told_and_the_next_one_is_tried(folder: Path, tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}')
    with started("scaling", URL, "--watch", "--every", "0.1", "--json") as watching:
        assert watching.process.stdout is not None
        assert watching.process.stdout.readline()
        Path("jobs.db").rename("moved.db")
        watching.says("no figures this time: ")
        watching.send(signal.SIGINT)
        watching.ends()


@pytest.mark.scenario
def test_a_drain_that_waits_returns_when_the_worker_has_stopped(folder: Path, tenure: Run) -> None:
    """The hook of a pod that is about to be stopped."""
    with started("worker", "jobs:app", "--name", "pod-1") as worker:
        worker.says("runs 4 tasks")
        with started("workers", "drain", "jobs:app", "pod-1", "--wait") as hook:
            assert "leases nothing more" in hook.output()
        assert worker.ends() == 0
