"""A live suite as people run it, a process of its own, with a stand-in in the account's place; and what is left there.

Used by the tests of the live suites themselves.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from unittest import mock

from tests.live.asking import AZURE, SQS
from tests.live.names import MARK
from tests.live.sweeping import Goes, sweep_azure, sweep_sqs
from tests.servers.aws import shared_aws
from tests.servers.azure import shared_azure

ROOT = Path(__file__).parents[2]
#: For the stand-ins; never in this process's own environment for longer than a call.
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
#: A shell lets what it runs in the background ignore Ctrl-C, and so would we, and pytest.
_PYTEST = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main())
"""


def account(variable: str) -> str:
    """The URL of the stand-in."""
    if variable == AZURE:
        return shared_azure().url("any")
    return f"sqs://eu-west-1?endpoint={shared_aws('ministack').url}"


def start(*words: str, **variables: str) -> subprocess.Popen[str]:
    """Start pytest, in a group of its own that can be sent a signal, as a terminal does."""
    kept = {name: value for name, value in os.environ.items() if name not in (SQS, AZURE, "TENURE_LIVE_RUN")}
    return subprocess.Popen(
        [sys.executable, "-c", _PYTEST, "-q", "-rs", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        env=kept | _CREDENTIALS | {"COLUMNS": "300"} | variables,
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def run(*words: str, **variables: str) -> tuple[int, str]:
    """Run pytest to its end: how it ended, and what it said."""
    with start(*words, **variables) as process:
        said, _ = process.communicate()
    return process.returncode, said


def things(variable: str) -> set[str]:
    """The names of all that lies in the account under our mark."""
    found: set[str] = set()

    def look(name: str) -> bool:
        found.add(name)
        return False

    sweep(variable, look)
    return {name for name in found if name.startswith(MARK)}


def sweep(variable: str, goes: Goes) -> None:
    """Remove what is to go from the stand-in."""
    act(sweep_azure(account(variable), goes) if variable == AZURE else sweep_sqs(account(variable), goes))


def act(coroutine: Coroutine[Any, Any, object]) -> None:
    """Do something at the stand-in."""
    with mock.patch.dict(os.environ, _CREDENTIALS):
        asyncio.run(coroutine)
