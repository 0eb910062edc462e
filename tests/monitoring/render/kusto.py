"""KQL as Kusto's own language service reads it: mistakes in a query, and its syntax tree.

The service is an npm package (tests/servers/npm), run by node once for all tests of a process. It knows the columns of
the tables, so a column or a function that is not there is a mistake.
"""

import atexit
import functools
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.servers.aws import _NPM, _node

_SCRIPT = Path(__file__).with_name("kusto_check.cjs")
_PACKAGE = _NPM / "node_modules" / "@kusto" / "language-service-next"


def _insights(*own: tuple[str, str]) -> dict[str, str]:
    """A table of an Application Insights resource."""
    columns = {
        "timestamp": "datetime", "itemType": "string", "customDimensions": "dynamic", "customMeasurements": "dynamic",
        "operation_Name": "string", "operation_Id": "string", "operation_ParentId": "string", "session_Id": "string",
        "user_Id": "string", "application_Version": "string", "client_Type": "string", "client_IP": "string",
        "cloud_RoleName": "string", "cloud_RoleInstance": "string", "appId": "string", "appName": "string",
        "iKey": "string", "sdkVersion": "string", "itemId": "string", "itemCount": "int", "_ResourceId": "string",
    }  # fmt: skip
    return columns | dict(own)


def _workspace(*own: tuple[str, str]) -> dict[str, str]:
    """A table of its workspace."""
    columns = {
        "TimeGenerated": "datetime", "TenantId": "string", "Type": "string", "Properties": "dynamic",
        "OperationName": "string", "OperationId": "string", "ParentId": "string", "SessionId": "string",
        "UserId": "string", "AppVersion": "string", "ClientType": "string", "ClientIP": "string",
        "AppRoleName": "string", "AppRoleInstance": "string", "ResourceGUID": "string", "IKey": "string",
        "SDKVersion": "string", "ItemCount": "int", "SourceSystem": "string", "_ResourceId": "string",
    }  # fmt: skip
    return columns | dict(own)


_VALUES = ("value", "valueSum", "valueMin", "valueMax", "valueStdDev")

#: As Azure documents them.
TABLES: Mapping[str, Mapping[str, str]] = {
    "customEvents": _insights(("name", "string")),
    "customMetrics": _insights(("name", "string"), ("valueCount", "int"), *((one, "real") for one in _VALUES)),
    "traces": _insights(("message", "string"), ("severityLevel", "int")),
    "AppEvents": _workspace(("Name", "string"), ("Measurements", "dynamic")),
    "AppMetrics": _workspace(("Name", "string"), *((one, "real") for one in ("Sum", "Min", "Max"))),
    "AppTraces": _workspace(("Message", "string"), ("SeverityLevel", "int"), ("Measurements", "dynamic")),
}


class Parsed(msgspec.Struct, frozen=True):
    """What the service says of one query."""

    diagnostics: list[str]
    tree: Any


class _Service:
    """The service, in a process of its own that ends with this one."""

    def __init__(self) -> None:
        if not _PACKAGE.is_dir():
            pytest.skip("the npm package @kusto/language-service-next is not installed; `make test` does it")
        words = [str(_node()), str(_SCRIPT), str(_NPM)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.end)

    def ask(self, query: str) -> Parsed:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"tables": TABLES, "query": query}) + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Parsed)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@functools.cache
def _service() -> _Service:
    return _Service()


@functools.cache
def parsed(query: str) -> Parsed:
    """Ask the service of a query."""
    return _service().ask(query)


def mistakes(query: str) -> list[str]:
    """What is wrong with a query."""
    return parsed(query).diagnostics
