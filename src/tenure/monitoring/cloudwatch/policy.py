"""Scaling policies for an ECS service, as the JSON that `aws … --cli-input-json` takes.

Target tracking multiplies the number of workers by metric ÷ target. So the metric must be one *for each worker*:
with the plain number of messages, 3 messages on 3 workers and a target of 1 would ask for 9. And it multiplies, so it
cannot leave 0: an alarm with a step policy does, where the smallest number of workers is 0.

The target comes from the pace of the queue: messages that one worker can have so that all of them begin in time.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.errors import BadArgument
from tenure.monitoring.cloudwatch.dimension import dimension_value
from tenure.monitoring.cloudwatch.signal import BACKLOG_PER_WORKER, NAMESPACE, QUEUE, VISIBLE_AND_IN_FLIGHT

_DIMENSION = "ecs:service:DesiredCount"
#: Where no largest number is given.
_USUAL_MOST = 20
#: New workers need so long until they count.
_SCALE_OUT_SECONDS = 60
#: Put in by the caller: CloudWatch needs the ARN that the step policy got.
POLICY_ARN = "<PolicyARN of the step policy>"


class TrackedService(msgspec.Struct, frozen=True, kw_only=True):
    """A service of ECS and the queue that it serves."""

    cluster: str
    service: str
    queue: str
    namespace: str = NAMESPACE
    #: Messages, waiting or running, that one worker can have.
    messages_per_worker: float
    minimum: int = 0
    maximum: int | None = None
    #: No scale-in for this long after the last one.
    cooldown_seconds: float = 300.0


def service_of(text: str) -> tuple[str, str]:
    """Parse `CLUSTER/SERVICE`. Raises `BadArgument`."""
    cluster, _, service = text.partition("/")
    if not cluster or not service or "/" in service:
        msg = f"{text!r} is no service of ECS; write CLUSTER/SERVICE, as in media/transcoder. Nothing was written"
        raise BadArgument(msg)
    return cluster, service


def policies(tracked: TrackedService) -> dict[str, Mapping[str, Any]]:
    """The calls that set scaling up, by name, in their order; each is the input of the call that its name begins."""
    target = {
        "ServiceNamespace": "ecs",
        "ResourceId": f"service/{tracked.cluster}/{tracked.service}",
        "ScalableDimension": _DIMENSION,
    }
    most = tracked.maximum if tracked.maximum is not None else max(_USUAL_MOST, tracked.minimum)
    calls: dict[str, Mapping[str, Any]] = {
        "register-scalable-target": {**target, "MinCapacity": tracked.minimum, "MaxCapacity": most},
        "put-scaling-policy": {
            **target,
            "PolicyName": f"tenure-{tracked.queue}-backlog",
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": _tracking(tracked),
        },
    }
    if tracked.minimum == 0:
        calls["put-scaling-policy from zero"] = {
            **target,
            "PolicyName": f"tenure-{tracked.queue}-from-zero",
            "PolicyType": "StepScaling",
            "StepScalingPolicyConfiguration": {
                "AdjustmentType": "ExactCapacity",
                "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
                "Cooldown": _SCALE_OUT_SECONDS,
            },
        }
        calls["put-metric-alarm from zero"] = _alarm(tracked)
    return calls


def _tracking(tracked: TrackedService) -> Mapping[str, Any]:
    target = tracked.messages_per_worker
    return {
        "TargetValue": int(target) if target.is_integer() else target,
        "CustomizedMetricSpecification": {
            "Namespace": tracked.namespace,
            "MetricName": BACKLOG_PER_WORKER,
            "Dimensions": [{"Name": QUEUE, "Value": dimension_value(tracked.queue)}],
            "Statistic": "Average",
            "Unit": "Count",
        },
        "ScaleOutCooldown": _SCALE_OUT_SECONDS,
        "ScaleInCooldown": round(tracked.cooldown_seconds),
    }


def _alarm(tracked: TrackedService) -> Mapping[str, Any]:
    """Something waits and no worker is there: one begins, and target tracking does the rest."""
    dimensions = [{"Name": QUEUE, "Value": dimension_value(tracked.queue)}]

    def read(id: str, name: str) -> Mapping[str, Any]:
        metric = {"Namespace": tracked.namespace, "MetricName": name, "Dimensions": dimensions}
        return {
            "Id": id,
            "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"},
            "ReturnData": False,
        }

    return {
        "AlarmName": f"tenure-{tracked.queue}-from-zero",
        "AlarmDescription": "Messages wait and there is no worker.",
        "Metrics": [
            read("messages", VISIBLE_AND_IN_FLIGHT),
            read("workers", "Workers"),
            {
                "Id": "stranded",
                "Expression": "IF(workers == 0, messages, 0)",
                "Label": "messages without a worker",
                "ReturnData": True,
            },
        ],
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "Threshold": 1,
        "EvaluationPeriods": 1,
        "TreatMissingData": "notBreaching",
        "AlarmActions": [POLICY_ARN],
    }
