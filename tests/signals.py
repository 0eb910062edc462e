"""Every test finds Ctrl-C as it is in a terminal, whatever was before it.

A shell that starts something in the background has it ignore SIGINT, and so does a worker that has ended, in the very
process of the test that ran it: a test that presses Ctrl-C would then press in vain. A pytest plugin, loaded by
`conftest.py`.
"""

import signal
from collections.abc import Generator

import pytest

_HANDLERS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Before each test, and so for what it starts; a run of tests that is asked to stop by SIGTERM keeps its own."""
    for number, handler in _HANDLERS.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    return (yield)
