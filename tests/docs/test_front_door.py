"""The front door: every name on it says what it is, and `import tenure` is light.

A sender pays for what it imports: a web application, a script, each child process. So `import tenure` brings msgspec,
what the front door itself needs, and no more; a broker, the runtime and the rest come when they are asked for.
"""

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

import tenure

FACES = [tenure.Tenure, tenure.Task, tenure.Handle, tenure.SyncHandle, tenure.Context, tenure.SyncContext, tenure.Call]

#: Rooms and modules of Tenure that `import tenure` leaves alone.
LATER = {"adapters", "cli", "runtime", "schedule", "sinks", "testing"}
#: Parts of the standard library that are slow to import, and that the front door does not need.
SLOW = {"concurrent.futures.process", "http", "importlib.metadata", "multiprocessing", "sqlite3", "xml", "zoneinfo"}
#: msgspec takes the second where it is installed.
THIRD_PARTIES = {"msgspec", "typing_extensions"}


def _members(face: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties, those of its own base classes included."""
    for kind in face.__mro__:
        if kind.__module__.partition(".")[0] == "tenure":
            for name, member in vars(kind).items():
                if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                    yield f"{kind.__name__}.{name}", member


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """What `from tenure import Tenure` brings, in a process of its own. Names are imported when they are first used."""
    code = "import json, sys; there = set(sys.modules); from tenure import Tenure; "
    code += "print(json.dumps([*set(sys.modules) - there]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=90)
    return set(json.loads(done.stdout))


def test_every_name_on_the_front_door_says_what_it_is() -> None:
    kinds = {name: getattr(tenure, name) for name in tenure.__all__ if name != "__version__"}
    assert len(kinds) > 20
    # Its own words: those of a base class would say something else.
    assert [name for name, kind in kinds.items() if not vars(kind).get("__doc__")] == []


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_every_public_method_says_what_it_does(face: type) -> None:
    members = dict(_members(face))
    assert members
    assert [name for name, member in members.items() if not inspect.getdoc(member)] == []


def test_a_star_import_brings_every_name_there_is() -> None:
    assert [name for name in tenure.__all__ if not hasattr(tenure, name)] == []
    assert sorted(tenure.__all__) == tenure.__all__


def test_importing_tenure_brings_no_other_package_but_msgspec(imported: set[str]) -> None:
    packages = {name.partition(".")[0] for name in imported if not name.startswith("_")}
    assert packages - sys.stdlib_module_names - THIRD_PARTIES == {"tenure"}


def test_importing_tenure_brings_nothing_slow_of_the_standard_library(imported: set[str]) -> None:
    assert imported & SLOW == set()


def test_importing_tenure_brings_no_broker_and_no_worker(imported: set[str]) -> None:
    own = {name.split(".")[1] for name in imported if name.startswith("tenure.")}
    assert "app" in own
    assert own & LATER == set()
