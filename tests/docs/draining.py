"""Runs `tenure worker TARGET …` until nothing waits or runs any more, then presses Ctrl-C. Ends as the worker did."""

import json
import signal
import subprocess
import sys
import time

from tenure.clock import SYSTEM_CLOCK

PATIENCE_SECONDS = 60.0


def _is_drained(target: str) -> bool:
    looked = subprocess.run(["tenure", "queues", target, "--json"], check=True, capture_output=True, text=True)
    queues = json.loads(looked.stdout)["queues"]
    return not any(queue[state] for queue in queues for state in ("ready", "delayed", "leased"))


def main() -> int:
    """Everything on the command line is the worker's."""
    target = sys.argv[3]
    until = SYSTEM_CLOCK.monotonic() + PATIENCE_SECONDS
    with subprocess.Popen(sys.argv[1:]) as worker:
        while not _is_drained(target) and worker.poll() is None:
            if SYSTEM_CLOCK.monotonic() > until:
                worker.kill()
                return 1
            time.sleep(0.05)
        worker.send_signal(signal.SIGINT)
        return worker.wait(PATIENCE_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
