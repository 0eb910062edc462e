"""Which tests each loop runs: the one place to read it, and to change it.

    make quick       no server is started: memory, SQLite, runtime, timing, the command line
    make test        every unit test; every conformance suite once on each store; the scenarios that show a promise
    make test-all    everything
    .ci/run          `make check`, `make test`, then the parts of PARTS whose turn it is (`tests/rota.py`)

`make test` is everything but PARTS. A test that no rule names runs in `make test`, and in `make quick` too unless it
is named in NOT_QUICK; so a new file needs no rule. A pytest plugin, loaded by `conftest.py`: `pytest --loop=test`.
Without `--loop` nothing is left out.
"""

import functools
import os
import re
from collections.abc import Generator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.servers.binary import Kind, NotInstalled, Tool, binary

_HERE = Path(__file__).parent


class Rule(NamedTuple):
    """A test fits if its file fits one of `files`, and one of `words` is among what it may be called by.

    No `files`: all of them. No `words`: every test of these files.
    """

    #: Patterns of paths below `tests/`; `*` includes `/`.
    files: tuple[str, ...] = ()
    #: Words of the parameters, as in `[redis62-3]`; the test's own name; `fixture:` and the name of one it uses.
    words: tuple[str, ...] = ()
    #: Tests of these words are not meant.
    but: tuple[str, ...] = ()

    @property
    def is_of_whole_files(self) -> bool:
        """Whether no test of its files is exempt."""
        return not self.words and not self.but

    @functools.cache  # noqa: B019 - a few rules, some hundred files
    def fits_file(self, path: str) -> bool:
        """Whether it may name tests of this file."""
        return not self.files or any(fnmatch(path, pattern) for pattern in self.files)

    def fits(self, path: str, names: set[str]) -> bool:
        """Whether it names this test."""
        if not self.fits_file(path):
            return False
        return (not self.words or not names.isdisjoint(self.words)) and names.isdisjoint(self.but)


class Part(NamedTuple):
    """Tests that only `make test-all` runs, and some runs of `.ci/run`."""

    name: str
    #: What it is, and which test of `make test` keeps the promise.
    why: str
    #: About so many minutes on two cores.
    minutes: int
    rules: tuple[Rule, ...]
    #: The program that it needs, if that does not come with the packages on every machine.
    needs: Kind | Tool | None = None


#: What `make test` leaves out. A test belongs to the first part that names it.
PARTS: tuple[Part, ...] = (
    Part(
        "redis62",
        "Redis 6.2. The same scripts on the same suites run on Valkey 9.",
        4,
        (Rule(words=("redis62", "TestOldRedis")),),
        needs="redis62",
    ),
    Part(
        "redis70",
        "Redis 7.0, as Debian has it. Likewise.",
        5,
        (Rule(words=("redis70",)),),
        needs="redis70",
    ),
    Part(
        "prometheus",
        "Debian's Prometheus scrapes real workers and a server, and promtool reads what we write. That each line of an"
        " exposition is well formed, and each name in a rule or a panel is in the catalogue, stays.",
        2,
        (Rule(("monitoring/prometheus/*",)),),
        needs="prometheus",
    ),
    Part(
        "video",
        "The video example with ffmpeg at work. Its story in scaled time, with the same workers and kills, stays.",
        2,
        (Rule(("examples/test_video_transcode.py",), ("test_the_story_by_ffmpeg",)),),
        needs="ffmpeg",
    ),
    Part(
        "cluster",
        "The conformance suites over a cluster. The same scripts run on one server; what only a cluster can get wrong"
        " is in adapters/redis/test_redis_cluster.py, which stays.",
        4,
        (
            Rule(("conformance/test_*redis_cluster.py",)),
            Rule(("adapters/redis/*", "cli/*"), ("cluster",)),
        ),
    ),
    Part(
        "sentinel",
        "Real failovers. That a worker carries on over a restart of its server, and a client over a failover in a"
        " cluster, stays.",
        2,
        (
            Rule(("adapters/redis/test_redis_failover.py",), ("fixture:watched",)),
            Rule(("test_servers.py",), ("test_sentinels_make_the_replica_the_master",)),
        ),
    ),
    Part(
        "fauxqs",
        "The second stand-in for SQS, and what priorities do not change with three physical queues to a queue. The same"
        " suites run on ministack; what depends on how a stale receipt is answered is asked of both in adapters/aws.",
        3,
        (
            Rule(("conformance/test_sqs.py",)),
            Rule(("standalone/*",), ("fauxqs",)),
            Rule(("conformance/test_sqs_priority.py",), but=("TestPriority",)),
        ),
    ),
    Part(
        "azure-core",
        "The suites over Azure's second core, `core=rowstore`, which has to be asked for. Its table and its queue pass"
        " the suites of their ports, and adapters/azure/test_azure_shared_core.py has its requests and promises, which"
        " stay; the core itself keeps the contract over memory and SQS.",
        4,
        (Rule(("conformance/test_azure_rowstore.py", "conformance/test_azure_rowstore_state.py")),),
    ),
    Part(
        "workers",
        "The real worker over the stand-ins for the clouds. It sees ports only: it keeps its promises over memory in"
        " three shapes, SQLite and Valkey, and SQS and Azure keep the contract of the ports.",
        6,
        (
            Rule(
                (
                    "conformance/test_sqs_worker.py",
                    "conformance/test_dynamo_worker.py",
                    "conformance/test_azure_worker.py",
                    "conformance/test_azure_rowstore_worker.py",
                )
            ),
        ),
    ),
    Part(
        "faults",
        "Calls to the stand-ins for the clouds that are cut off before and after they are carried out, one after the"
        " other. The suite `Crashing`, which stops every act of a broker in the middle, stays on both.",
        3,
        (
            Rule(
                (
                    "adapters/aws/test_aws_crashes.py",
                    "adapters/aws/test_aws_faults.py",
                    "adapters/aws/test_aws_unknown.py",
                    "adapters/azure/test_azure_crashing.py",
                    "adapters/azure/test_azure_shared_core_crashes.py",
                    "adapters/azure/test_azure_faults.py",
                    "adapters/azure/test_azure_unknown.py",
                )
            ),
        ),
    ),
    Part(
        "lenient",
        "SQS where a stale receipt deletes. The same suites run on ministack.",
        4,
        (Rule(("conformance/test_sqs_lenient.py",)),),
    ),
    Part(
        "state",
        "The state of SQS and Azure in Redis or in a file, and the broker's suites with the state in DynamoDB. Above"
        " the table port the code is the same: the broker's suites run on SQS with a table in memory, the state's on"
        " DynamoDB, and each table is held to the port by adapters/test_table_port.py.",
        6,
        (
            Rule(("conformance/test_*_state.py",)),
            Rule(
                ("conformance/test_dynamo.py",),
                (
                    "TestCancelling",
                    "TestCrashing",
                    "TestDeadLetters",
                    "TestFencing",
                    "TestRetiring",
                    "TestReturning",
                    "TestSettling",
                    "TestUniqueness",
                ),
            ),
            Rule(("adapters/azure/*",), ("RedisStateHarness", "LocalStateHarness")),
            Rule(("adapters/azure/test_azure_browsing.py",), ("redis",)),
        ),
    ),
    Part(
        "live",
        "The suites for real accounts, run on the stand-ins: that they work, and leave nothing there, however they end."
        " About those suites, which no loop runs without an account, and no promise of Tenure.",
        3,
        (Rule(("live/*",)),),
    ),
    Part(
        "peers",
        "The pages for people who come from Celery, Dramatiq, RQ and arq, with these at work in an environment of their"
        " own; and that they do what the audit says of them. What Tenure prints for a Celery project runs in porting/.",
        3,
        (
            Rule(
                ("docs/test_pages.py",),
                ("come-from-celery", "come-from-dramatiq", "come-from-rq", "come-from-arq"),
            ),
            Rule(("peers/*",)),
        ),
        needs="peers",
    ),
    Part(
        "pages",
        "The pages that are about the stand-ins for the clouds, and examples for their own clients. What they show is"
        " held by adapters/aws, adapters/azure and standalone; that a page shows what is true is only known by running"
        " it.",
        3,
        (
            Rule(
                ("docs/test_pages.py",),
                ("run-on-sqs", "run-on-azure", "migrate-from-your-own-loop", "come-from-an-azure-loop"),
            ),
            Rule(("examples/test_standalone.py",)),
        ),
    ),
    Part(
        "pipeline",
        "examples/content_pipeline on Redis and the stand-ins for the clouds, and beside the loop that it replaces. The"
        " same run on SQLite stays; what the stores promise is held by the scenarios and the conformance suites.",
        7,
        (Rule(("examples/test_content_pipeline_stores.py",)),),
    ),
    Part(
        "documents",
        "The index of documents in PostgreSQL with pgvector and over Supabase's API, and search with real embeddings:"
        " not every Python has wheels for them. The same suite runs on SQLite, and every task with an embedder of the"
        " tests.",
        2,
        (
            Rule(("documents/test_index.py",), ("postgres", "supabase", "TestPostgres", "TestSupabase")),
            Rule(("documents/test_recall.py",)),
        ),
        needs="pgserver",
    ),
    Part(
        "docsite",
        "Every page of the website of the documents at phone width. One page of each kind stays.",
        1,
        (Rule(("docsite/test_reading.py",), ("test_no_page_scrolls_sideways_on_a_phone",)),),
    ),
    Part(
        "deploy",
        "The commands of Kubernetes and ECS with their checks, on Valkey. Those of Compose, which start the same"
        " programs, stay, and so do the checks of every file by its schema.",
        1,
        (Rule(("deploy/test_commands.py",), ("kubernetes", "ecs")),),
    ),
    Part(
        "loops",
        "Scenarios of signals, deaths and frozen processes on asyncio's own loop. All scenarios run on uvloop, which is"
        " used where it is installed; nothing but the loop differs, and what is on it is the same code.",
        2,
        (Rule(("scenarios/test_other_loop.py",)),),
    ),
    Part(
        "proof",
        "Ten other queues, installed and run as `make proof-speed` and `make proof-faults` do. About those tables, and"
        " no promise of Tenure: test_proof.py makes small ones with Tenure and a bare loop.",
        6,
        (Rule(("test_proof_peers.py",)),),
    ),
    Part(
        "clouds",
        "Scenarios with real workers over the stand-ins for the clouds. The same promises are shown on SQLite and"
        " Valkey; every call of a cloud adapter that may be cut off is cut off in the part `faults`.",
        6,
        (
            Rule(("scenarios/test_azure*", "scenarios/test_cloud*", "scenarios/test_sqs*")),
            Rule(("scenarios/*",), ("azurite", "fauxqs", "ministack", "sqs", "azure")),
            Rule(("examples/*",), ("test_two_clients_work_on_azurite",)),
        ),
    ),
)

#: What `make quick` leaves out besides PARTS: whatever starts a server, and real processes.
NOT_QUICK: tuple[Rule, ...] = (
    Rule((
        "adapters/aws/*", "adapters/azure/*", "adapters/redis/*", "adapters/test_rolling_migration.py",
        "adapters/test_wrong_clocks.py", "cli/test_broker_wait.py", "cli/test_doctor.py", "cli/test_redis_place.py",
        "cli/test_sqs_place.py",
        "client/operations/doctor/test_cloud_mistakes.py", "client/operations/doctor/test_redis_mistakes.py",
        "conformance/test_*azure*", "conformance/test_*dynamo*",
        "conformance/test_*redis*", "conformance/test_*sqs*", "docs/*", "docsite/*", "documents/*", "examples/*",
        "live/*", "monitoring/prometheus/*", "scenarios/*", "standalone/*", "test_benchmarks.py", "test_proof.py",
        "test_servers.py", "typing/*",
    )),
    Rule(("conformance/test_state_machine.py",), ("TestRedis",)),
    Rule(("cli/test_health.py",), ("test_a_store_that_is_away_is_unhealthy",)),
    Rule(words=("valkey9", "azurite", "ministack", "fauxqs", "s3", "blob")),
)  # fmt: skip
#: Likewise, by their marks.
_NOT_QUICK_MARKS = ("cloud", "outage", "scenario")

#: Scenarios that need the machine to themselves, by what they promise under load: one at a time (`-m alone`). The other
#: tests in scenarios/ mostly wait (1 to 2 s of CPU in 4 to 6 s): four at a time. All others run side by side.
ALONE: tuple[Rule, ...] = (
    Rule(("scenarios/test_killing.py",)),
    Rule(
        ("scenarios/*",),
        (
            "test_a_short_lease_under_load_is_never_lost",
            "test_freezing_a_worker_under_load_costs_nobody_else_a_lease",
            "test_a_worker_with_a_blocked_loop_says_which_line_blocks_it_and_whom_it_holds_up",
            "test_a_worker_frozen_past_its_lease_cannot_settle_what_another_runs",
        ),
    ),
)

LOOPS = ("quick", "test", "all")


def part_of(path: str, names: set[str]) -> Part | None:
    """The part that a test belongs to. None: `make test` runs it."""
    return next((part for part in PARTS if any(rule.fits(path, names) for rule in part.rules)), None)


def part_named(name: str) -> Part | None:
    """The one of this name."""
    return next((part for part in PARTS if part.name == name), None)


# --- the plugin -----------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask which loop it is."""
    names = [*LOOPS, *(part.name for part in PARTS)]
    parser.addoption("--loop", choices=names, default=None, help="run only the tests of this loop or part")


def pytest_configure(config: pytest.Config) -> None:
    """Tell `tests/servers` that none may start, so that a test in the wrong place fails."""
    if config.getoption("--loop") == "quick":
        os.environ["TENURE_TEST_SERVERS"] = "no"


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: some tests wait for real servers and processes."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file of which no test is wanted."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(_HERE):
        return None
    path = collection_path.relative_to(_HERE).as_posix()
    whole = [part for part in PARTS if any(rule.is_of_whole_files and rule.fits_file(path) for rule in part.rules)]
    loop = config.getoption("--loop")
    if loop in {None, "all"}:
        return None
    if loop in {"quick", "test"}:
        is_slow = loop == "quick" and any(rule.is_of_whole_files and rule.fits_file(path) for rule in NOT_QUICK)
        return True if whole or is_slow else None
    part = part_named(loop)
    return None if part is not None and any(rule.fits_file(path) for rule in part.rules) else True


def must_run_alone(item: pytest.Item) -> bool:
    """Whether it needs the machine to itself. Marked by `scenarios/conftest.py`, before `-m` looks at the marks."""
    return any(rule.fits(_path(item), _names(item)) for rule in ALONE)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to another loop."""
    loop = config.getoption("--loop")
    if loop in {None, "all"}:
        return
    wanted = [item for item in items if _is_wanted(item, loop)]
    kept = set(map(id, wanted))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = wanted


def _is_wanted(item: pytest.Item, loop: str) -> bool:
    path, names = _path(item), _names(item)
    part = part_of(path, names)
    if loop not in LOOPS:
        return part is not None and part.name == loop
    if part is not None:
        return False
    if loop == "quick":
        is_marked = any(item.get_closest_marker(mark) for mark in _NOT_QUICK_MARKS)
        return not is_marked and not any(rule.fits(path, names) for rule in NOT_QUICK)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Skip what needs a server that is not here, and say how to get it."""
    part = part_of(_path(item), _names(item))
    try:
        yield
        if part is not None and part.needs is not None:
            binary(part.needs)
    except NotInstalled as missing:
        pytest.skip(str(missing))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A part need not have tests of both stages."""
    loop = session.config.getoption("--loop")
    if loop is not None and loop not in LOOPS and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def _path(item: pytest.Item) -> str:
    return _below_tests(item.path)


@functools.cache
def _below_tests(path: Path) -> str:
    return path.relative_to(_HERE).as_posix() if path.is_relative_to(_HERE) else path.as_posix()


def _names(item: pytest.Item) -> set[str]:
    """What a rule may call a test by."""
    called, _, parameters = item.nodeid.partition("[")
    names = set(called.split("::")[1:])
    names.update(re.findall(r"\w+", parameters), re.findall(r"[\w-]+", parameters))
    names.update(f"fixture:{name}" for name in getattr(item, "fixturenames", ()))
    return names
