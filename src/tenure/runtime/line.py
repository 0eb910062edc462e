"""The line: a child's end of the wire, on a thread of its own, and the context's link over it.

Jobs come out of it in a queue; what contexts ask goes in and waits for the answer. Whoever still asks
after his run has ended (a thread that a handler left behind) is refused, so that nothing can be said
in the name of the next message.

Used by `child.py`; the other end is `conversation.py`.
"""

import asyncio
import itertools
import os
import queue
import socket
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from tenure.call import Call, Options
from tenure.errors import BadArgument, LeaseLost
from tenure.record import Progress
from tenure.runtime.wire import (
    Answer,
    CheckpointQuestion,
    Hello,
    Job,
    LoadQuestion,
    ProgressNote,
    Question,
    Refusal,
    Standing,
    SubmitQuestion,
    TouchQuestion,
    encode,
    error_of,
    read,
    to_child,
)

#: Of a handler's progress, the newest is told this often.
PROGRESS_SECONDS = 0.1

_NOTHING = Standing(deadline=0.0, lease_lost=False, stopping=False)
