"""The task definitions of deploy/ecs, against the API of ECS as the AWS SDK describes it."""

from typing import Any

import botocore.session  # type: ignore[import-untyped]
import pytest
from botocore.validate import ParamValidator  # type: ignore[import-untyped]

from .deployed import ecs_definition

NAMES = ("worker", "server")
#: The most that Fargate gives a container to stop.
_MOST_STOP_SECONDS = 120


def _problems(definition: Any) -> str:
    api = botocore.session.Session().get_service_model("ecs")
    shape = api.operation_model("RegisterTaskDefinition").input_shape
    report: str = ParamValidator().validate(definition, shape).generate_report()
    return report


@pytest.mark.parametrize("name", NAMES)
def test_a_task_definition_has_nothing_that_ecs_does_not_know(name: str) -> None:
    assert _problems(ecs_definition(name)) == ""


def test_a_field_that_ecs_does_not_know_is_found() -> None:
    definition = ecs_definition("worker")
    definition["containerDefinitions"][0]["stopTimeoutSeconds"] = 120
    assert "stopTimeoutSeconds" in _problems(definition)


@pytest.mark.parametrize("name", NAMES)
def test_a_task_stops_in_time_is_checked_and_is_not_root(name: str) -> None:
    (container,) = ecs_definition(name)["containerDefinitions"]
    grace = next((int(one["value"]) for one in container["environment"] if one["name"] == "TENURE_GRACE"), 30)
    assert grace + 5 <= container["stopTimeout"] <= _MOST_STOP_SECONDS
    # What ECS allows; beyond it the definition is refused.
    check = container["healthCheck"]
    assert 5 <= check["interval"] <= 300
    assert 2 <= check["timeout"] <= 60
    assert 1 <= check["retries"] <= 10
    assert 0 <= check["startPeriod"] <= 300
    assert container["user"].partition(":")[0] not in ("", "0", "root")
