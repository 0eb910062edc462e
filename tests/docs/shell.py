"""One shell for a page: what a block sets or starts is there for the next.

A command that fails fails its block. A command that does not end by itself fails it too: nobody presses Ctrl-C.
"""

import subprocess
from pathlib import Path

_END = "__the_block_ends__"
_FAILED = "__a_command_failed__"


class Shell:
    """Runs the blocks of a page."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        """Start it in `folder`."""
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._say(f"set -o pipefail; trap 'echo \"{_FAILED} $? $BASH_COMMAND\"' ERR")

    def run(self, code: str) -> tuple[str, list[tuple[int, str]]]:
        """What the block said, and each command that failed with its exit code."""
        self._say(code)
        self._say(f"echo {_END}")
        said: list[str] = []
        failed: list[tuple[int, str]] = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line == f"{_END}\n":
                return "".join(said), failed
            if line.startswith(_FAILED):
                _, exit_code, command = line.split(" ", 2)
                failed.append((int(exit_code), command.strip()))
            else:
                said.append(line)
        msg = f"the shell ended: {''.join(said)}"
        raise AssertionError(msg)

    def _say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """End it, and whatever it left running."""
        self._say("kill -9 $(jobs -p) 2>&-; wait 2>&-; exit")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        finally:
            self._process.kill()
            self._process.stdout.close()
