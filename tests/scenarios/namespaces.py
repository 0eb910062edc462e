"""Another PID namespace, as a container on the same machine has: its processes see none of ours, and prove nothing.

The boot id, the host name and the files are the same inside and outside. Only the processes differ. A worker inside is
process 1 there.
"""

import functools
import subprocess

import pytest

#: Runs a command as process 1 of a namespace of its own, which ends with the process that was started.
THROUGH = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child")

#: Runs a command among our processes, but with clocks that began an hour earlier.
TIME_THROUGH = ("unshare", "--user", "--map-root-user", "--time", "--boottime", "3600", "--fork", "--kill-child")


@functools.cache
def why_forbidden() -> str:
    """What the machine says against it; empty if nothing."""
    try:
        subprocess.run([*THROUGH, "true"], check=True, capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        return "the command unshare is not installed"
    except subprocess.CalledProcessError as error:
        return str(error.stderr).strip() or str(error)
    return ""


def need_namespaces() -> None:
    """Skip the test where a user may not make namespaces."""
    reason = why_forbidden()
    if reason:
        pytest.skip(f"no PID namespace can be made here: {reason}")
