"""What the loops run: every test somewhere, each part in the rota, and nothing that depends on the machine."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kit.project import NO_OTHER_PLUGINS
from tests.rota import VERSIONS, Entry, entries, in_turn, plan
from tests.selection import ALONE, NOT_QUICK, PARTS, Rule, part_of
from tests.servers.aws import start_aws

_ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("path", "names", "part"),
    [
        ("conformance/test_redis.py", ["TestFencing", "test_x", "valkey9"], None),
        ("conformance/test_redis.py", ["TestFencing", "test_x", "redis62"], "redis62"),
        ("scenarios/test_anything_new.py", ["test_x", "redis70", "600"], "redis70"),
        ("examples/test_video_transcode.py", ["test_the_story_by_ffmpeg"], "video"),
        ("examples/test_video_transcode.py", ["test_the_story_in_scaled_time"], None),
        ("scenarios/test_anything_new.py", ["test_x", "valkey9"], None),
        ("scenarios/test_anything_new.py", ["test_x", "azurite"], "clouds"),
        ("conformance/test_redis_cluster.py", ["TestFencing", "test_x"], "cluster"),
        ("conformance/test_worker_redis_cluster.py", ["TestHolding", "test_x"], "cluster"),
        ("adapters/redis/test_redis_cluster.py", ["test_x", "fixture:cluster"], None),
        ("adapters/redis/test_redis_garbage.py", ["test_x", "cluster", "a", "word"], "cluster"),
        ("adapters/redis/test_redis_failover.py", ["test_x", "fixture:watched", "valkey9"], "sentinel"),
        ("conformance/test_azure_worker.py", ["TestHolding", "test_x"], "workers"),
        ("conformance/test_azure_worker.py", ["TestKilledAnywhere", "test_of_a_message"], "workers"),
        ("conformance/test_dynamo_worker.py", ["TestKilledAnywhere", "test_of_a_message_with_a_key"], "workers"),
        ("adapters/azure/test_azure_faults.py", ["test_x"], "faults"),
        ("conformance/test_dynamo.py", ["TestFencing", "test_x"], "state"),
        ("conformance/test_dynamo.py", ["TestLedger", "test_x"], None),
        ("conformance/test_anything_new.py", ["TestFencing", "test_x"], None),
    ],
    ids=itertools.count(),
)
def test_a_test_belongs_to_one_part_or_to_make_test(path: str, names: list[str], part: str | None) -> None:
    found = part_of(path, set(names))
    assert (None if found is None else found.name) == part


def test_every_pattern_names_a_file_that_exists() -> None:
    """A file that was renamed would come back into `make test` without a word."""
    paths = [path.relative_to(_ROOT / "tests").as_posix() for path in (_ROOT / "tests").rglob("test_*.py")]
    rules = [*(rule for part in PARTS for rule in part.rules), *NOT_QUICK, *ALONE]
    patterns = [Rule((pattern,)) for rule in rules for pattern in rule.files]
    unused = [rule.files[0] for rule in patterns if not any(rule.fits_file(path) for path in paths)]
    assert unused == []


def test_every_part_says_what_it_is_and_how_long_it_takes() -> None:
    assert all(part.why.endswith(".") and part.minutes > 0 for part in PARTS)
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_the_rota_has_every_part_and_every_python_of_the_makefile() -> None:
    targets = {entry.target for entry in entries()}
    assert targets == {f"part-{part.name}" for part in PARTS} | {f"test-{version}" for version in VERSIONS}
    (line,) = re.findall(r"^VERSIONS := (.*)$", (_ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(line.split()) == VERSIONS


def test_each_part_begins_a_run_sooner_or_later_and_none_is_begun_that_does_not_fit() -> None:
    every = [Entry("a", 4), Entry("b", 7), Entry("c", 2, lacks="it is not here"), Entry("d", 3)]
    begun = [plan(in_turn(every, turn), minutes=7).run for turn in range(3)]
    assert [[entry.target for entry in run] for run in begun] == [["a", "d"], ["b"], ["d", "a"]]


def test_what_is_left_out_is_named_with_the_reason() -> None:
    every = [Entry("a", 4), Entry("b", 7), Entry("c", 2, lacks="it is not here")]
    left_out = plan(in_turn(every, 0), minutes=5).left_out
    assert [(entry.target, why) for entry, why in left_out] == [
        ("b", "7 min do not fit: its turn comes in a later run"),
        ("c", "it is not here"),
    ]


_TWO = """
import pytest

@pytest.mark.parametrize("kind", ["valkey9", "redis62"])
def test_it(kind): ...
"""


@pytest.mark.parametrize(("loop", "left_out"), [("test", "1 deselected"), ("cluster", "2 deselected"), ("all", "")])
def test_a_loop_leaves_out_its_parts_and_a_part_without_tests_is_no_failure(
    loop: str, left_out: str, tmp_path: Path
) -> None:
    (tmp_path / "test_two.py").write_text(_TWO)
    plugins = ["-p", "xdist", "-p", "tests.selection", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, "--rootdir", tmp_path, "--loop", loop, tmp_path],
        cwd=_ROOT,
        env={**os.environ, **NO_OTHER_PLUGINS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert left_out in run.stdout
    assert ("deselected" in run.stdout) == bool(left_out), "a server that is not here is skipped, not left out"


def test_make_quick_starts_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_TEST_SERVERS", "no")
    with pytest.raises(RuntimeError, match=r"NOT_QUICK of tests/selection\.py"):
        start_aws("ministack")
