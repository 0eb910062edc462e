"""Every route, called as its OpenAPI description allows and as it does not, by schemathesis.

No answer is a mistake of ours (500), and each has the status, the type and the fields that are described. The calls are
the same in every run.
"""

from typing import Any

import hypothesis.strategies as st
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tenure.server.openapi.document import document
from tenure.server.routes import ROUTES

from ..asking import bearer  # noqa: TID252 - the helpers of the folder above
from .conftest import Target

pytestmark = pytest.mark.scenario

CHECKS: list[Any] = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
]  # fmt: skip
#: A stream does not end; it is followed in tests of its own.
OPERATIONS = [(route.method, route.path) for route in ROUTES if route.media_type != "text/event-stream"]
EXAMPLES = 8
SCHEMA = schemathesis.openapi.from_dict(document(ROUTES))
#: Names of what is there: made-up ones would find nothing.
REAL = {"queue": "acme-tasks", "task": "resize", "id": "known-message", "name": "nightly"}


@pytest.fixture(scope="module")
def credentials(target: Target) -> dict[str, str]:
    """A token with every scope, so that one that is made by a call locks nobody out. It is not among the real names."""
    scopes = ["admin", "consume", "operate", "payload", "read", "send"]
    made = target.client.post("/api/v1/tokens", json={"name": "fuzzing", "scopes": scopes})
    headers = {**bearer(made.json()["token"]), "Content-Type": "application/json"}
    body = {"id": REAL["id"], "payload": {"image": "a.png"}}
    assert target.client.post("/api/v1/tasks/resize/submit", json=body, headers=headers).status_code == 201
    return headers


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=[f"{method} {path}" for method, path in OPERATIONS])
def test_whatever_is_asked_is_answered_as_described(
    target: Target, credentials: dict[str, str], method: str, path: str
) -> None:
    operation = SCHEMA[path][method]
    cases = st.one_of(*map(operation.as_strategy, (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)))

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, is_real=st.booleans())
    def check(case: Case[Any], is_real: bool) -> None:
        if is_real and "/tokens/" not in path:
            case.path_parameters = {name: REAL[name] for name in case.path_parameters or {}}
        if "wait" in (case.query or {}):
            case.query["wait"] = 0.1
        case.call_and_validate(str(target.client.base_url).rstrip("/") + "/api/v1", headers=credentials, checks=CHECKS)

    check()
