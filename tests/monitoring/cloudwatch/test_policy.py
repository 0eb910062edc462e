"""The policies that we print: of the shape that AWS takes, and what a tracking autoscaler makes of them."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.loaders import Loader  # type: ignore[import-untyped]
from botocore.model import ServiceModel  # type: ignore[import-untyped]
from botocore.validate import ParamValidator  # type: ignore[import-untyped]

from tenure.errors import BadArgument
from tenure.monitoring.cloudwatch.dimension import dimension_value
from tenure.monitoring.cloudwatch.policy import TrackedService, policies, service_of
from tenure.monitoring.cloudwatch.signal import QueueSignal, figures
from tenure.timing.scaling import Backlog as QueueBacklog
from tenure.timing.scaling import Pace, ScalingRules, desired_workers, messages_per_worker

_OPERATIONS = {
    "register-scalable-target": ("application-autoscaling", "RegisterScalableTarget"),
    "put-scaling-policy": ("application-autoscaling", "PutScalingPolicy"),
    "put-metric-alarm": ("cloudwatch", "PutMetricAlarm"),
}
VIDEO = Pace(1140.0, 1140.0, 0, source="profile transcoding")
ONE_AT_A_TIME = ScalingRules(slots=1)


def _tracked(**more: Any) -> TrackedService:
    given: dict[str, Any] = {"cluster": "media", "service": "transcoder", "queue": "videos", "messages_per_worker": 1.0}
    return TrackedService(**{**given, **more})


@pytest.mark.parametrize("minimum", [0, 2])
def test_every_call_has_the_shape_that_the_service_takes(minimum: int) -> None:
    calls = policies(_tracked(minimum=minimum))
    assert len(calls) == (4 if minimum == 0 else 2)
    loader = Loader()
    for name, words in calls.items():
        service, operation = _OPERATIONS[name.split()[0]]
        model = ServiceModel(loader.load_service_model(service, "service-2"), service)
        report = ParamValidator().validate(words, model.operation_model(operation).input_shape)
        assert not report.has_errors(), report.generate_report()


def test_the_policy_tracks_what_is_published() -> None:
    calls = policies(_tracked(namespace="Shop", cooldown_seconds=600.0))
    tracking = calls["put-scaling-policy"]["TargetTrackingScalingPolicyConfiguration"]
    metric = tracking["CustomizedMetricSpecification"]
    published = figures(
        QueueSignal(queue="videos", ready=0, leased=3, workers_now=3, desired=3, oldest_age_seconds=None)
    )
    by_name = {one.name: one for one in published}
    assert by_name[metric["MetricName"]].labels == {one["Name"]: one["Value"] for one in metric["Dimensions"]}
    assert by_name[metric["MetricName"]].unit == metric["Unit"]
    assert (metric["Namespace"], tracking["ScaleInCooldown"]) == ("Shop", 600)
    read = [one["MetricStat"]["Metric"]["MetricName"] for one in calls["put-metric-alarm from zero"]["Metrics"][:2]]
    assert set(read) <= set(by_name)


def test_a_queue_whose_name_the_service_refuses_is_tracked_under_another() -> None:
    tracking = policies(_tracked(queue="über-tasks"))["put-scaling-policy"]
    specification = tracking["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]
    assert specification["Dimensions"] == [{"Name": "Queue", "Value": "%C3%BCber-tasks"}]


@pytest.mark.parametrize(
    ("text", "taken"), [("a-tasks", "a-tasks"), ("shop/a b#1", "shop/a b#1"), ("é", "%C3%A9"), ("%C3%A9", "%25C3%25A9"),
                        ("a\nb", "a%0Ab"), ("  ", "-"), ("", "-")],
)  # fmt: skip
def test_a_dimension_holds_what_the_service_takes_and_two_values_stay_two(text: str, taken: str) -> None:
    assert dimension_value(text) == taken


def test_what_is_not_known_is_not_published() -> None:
    """A 0 would stop every worker; without data an autoscaler keeps what there is."""
    found = figures(QueueSignal(queue="a", ready=3, leased=None, workers_now=2, desired=None, oldest_age_seconds=None))
    assert [one.name for one in found] == ["Workers"]


class Tracker:
    """Target tracking: capacity × metric ÷ target, up at once, down after the cooldown; never from 0."""

    def __init__(
        self, calls: Mapping[str, Mapping[str, Any]], *, per_worker: bool = True, visible_only: bool = False
    ) -> None:
        tracking = calls["put-scaling-policy"]["TargetTrackingScalingPolicyConfiguration"]
        self._target, self._cooldown = tracking["TargetValue"], tracking["ScaleInCooldown"] / 60
        self._most = calls["register-scalable-target"]["MaxCapacity"]
        self._has_alarm = "put-metric-alarm from zero" in calls
        self._per_worker, self._visible_only = per_worker, visible_only
        self.capacity, self._changed = 0, -math.inf

    def look(self, minute: int, ready: int, leased: int) -> int:
        signal = QueueSignal(
            queue="videos", ready=ready, leased=0 if self._visible_only else leased, workers_now=self.capacity,
            desired=None, oldest_age_seconds=None,
        )  # fmt: skip
        values = {one.name: one.value for one in figures(signal)}
        if self.capacity == 0:
            wanted = 1 if self._has_alarm and values["VisibleAndInFlight"] >= 1 else 0
        else:
            metric = values["BacklogPerWorker" if self._per_worker else "VisibleAndInFlight"]
            wanted = min(self._most, math.ceil(self.capacity * metric / self._target))
        if wanted > self.capacity or (wanted < self.capacity and minute - self._changed >= self._cooldown):
            self.capacity, self._changed = wanted, minute
        return self.capacity


def _videos(tracker: Tracker, minutes: int = 60) -> tuple[list[int], int]:
    """Three videos of 19 minutes each: the workers by minute, and how many runs were cut. Idle workers go first."""
    running: list[int] = []
    seen: list[int] = []
    ready, cut = 3, 0
    for minute in range(minutes):
        running = [left - 1 for left in running if left > 1]
        capacity = tracker.look(minute, ready, len(running))
        while len(running) > capacity:
            running.remove(max(running))
            ready, cut = ready + 1, cut + 1
        begin = min(ready, capacity - len(running))
        ready, running = ready - begin, running + [19] * begin
        seen.append(capacity)
    return seen, cut


def test_three_videos_keep_three_workers_until_they_are_done() -> None:
    """By the policy that we print: no run is cut, and afterwards nothing is left running."""
    per_worker = messages_per_worker(VIDEO, ONE_AT_A_TIME)
    assert per_worker == 1.0
    calls = policies(_tracked(messages_per_worker=per_worker, cooldown_seconds=600.0))
    seen, cut = _videos(Tracker(calls))
    assert cut == 0
    assert max(seen) == 3
    assert seen[1:19] == [3] * 18, "nothing is ready, and all three run"
    assert seen[-1] == 0


def test_without_what_is_in_flight_the_same_policy_stops_workers_that_are_busy() -> None:
    calls = policies(_tracked(cooldown_seconds=600.0))
    _, cut = _videos(Tracker(calls, visible_only=True))
    assert cut >= 3, "the premature scale-down"


def test_the_plain_number_of_messages_cannot_be_tracked() -> None:
    """3 messages on 3 workers and a target of 1: capacity × 3 ÷ 1, again and again."""
    seen, _ = _videos(Tracker(policies(_tracked()), per_worker=False))
    assert max(seen) == 20


@pytest.mark.parametrize("messages", [1, 7, 40, 400])
@pytest.mark.parametrize("pace", [VIDEO, Pace(6.0, 6.0, 100), Pace(6.0, 26.0, 100)])
def test_tracking_comes_to_the_number_that_tenure_advises(messages: int, pace: Pace) -> None:
    rules = ScalingRules(slots=4)
    target = messages_per_worker(pace, rules)
    advised = desired_workers(QueueBacklog(ready=messages, leased=0), pace, rules).workers
    assert advised == math.ceil(messages / target - 1e-9)


@pytest.mark.parametrize("text", ["media", "/a", "a/", "a/b/c"])
def test_what_names_no_service_is_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        service_of(text)
