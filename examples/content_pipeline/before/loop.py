"""The loop that each service had: receive with 600 s, work, delete, hope.

    python -m content_pipeline.before.loop content-processor

What it does to an article is what the services on Tenure do, by the same functions. What it lacks is around the work:
when a worker dies, what it had received stays hidden for ten minutes; nothing tells a message that is
done from one that is not, so the work is done again; and every page asks for a build of the whole site.
"""

import json
import logging
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ..rehearsal.pace import SERVICES, note
from .handlers import HANDLERS, queue_of
from .storage_queue import QueueMessage

VISIBILITY_TIMEOUT = 600  # 10 minutes - allows for site builds taking 3-5 minutes
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """What a handler says of a message."""

    success: bool


def process_message(task: str, message: QueueMessage, run_log: Path) -> Result:
    """Run the handler; the notes and pauses are those of the rehearsal."""
    time.sleep(note(run_log, "start", task, message.id))
    HANDLERS[task](json.loads(message.content))
    time.sleep(note(run_log, "done", task, message.id))
    return Result(success=True)


def run(task: str, run_log: Path) -> None:
    """Go on for ever."""
    queue = queue_of(SERVICES[task])
    while True:
        messages = queue.receive_messages(max_messages=10, visibility_timeout=VISIBILITY_TIMEOUT)
        for message in messages:
            try:
                result = process_message(task, message, run_log)
                if result.success:
                    queue.delete_message(message.id, message.pop_receipt)
                    note(run_log, "end", task, message.id)
            except Exception as error:  # noqa: BLE001 - as it was
                # No explicit requeue - message reappears after timeout
                logger.error("Failed to process: %s", error)  # noqa: TRY400 - as it was
        if not messages:
            time.sleep(0.05)


if __name__ == "__main__":
    run({service: task for task, service in SERVICES.items()}[sys.argv[1]], Path(os.environ["PIPELINE_RUN_LOG"]))
