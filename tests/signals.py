"""Every test finds Ctrl-C as it is in a terminal, whatever was before it.

A shell that starts something in the background has it ignore SIGINT, and so does a worker that has ended, in the very
process of the test that ran it: a test that presses Ctrl-C would then press in vain. A pytest plugin, loaded by
`conftest.py`.
"""

import signal
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Before each test, and so for whatever it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return (yield)
