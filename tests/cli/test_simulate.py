"""`tenure simulate`: inputs, table, document and picture; the same seed gives the same bytes."""

import asyncio
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

import tenure as package
from tenure.cli.commands.simulate import telling
from tenure.sample import Ended, Sample
from tenure.simulation.durations import drawn
from tenure.simulation.policy import policy_of
from tenure.simulation.pricing import pricing_of
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario

from .conftest import Run, answer, there

SMALL = ("simulate", "-n", "60", "--workers", "3", "--slots", "4", "--crash-rate", "5%")


def test_four_policies_stand_side_by_side_within_eighty_columns(tenure: Run) -> None:
    result = tenure(*SMALL)
    assert result.exit_code == 0
    for word in ("fixed:600", "fixed:90", "heartbeat:30", "learned", "run to the end twice", "dollars a million", "█"):
        assert word in result.stdout
    body = result.stdout.split("\n", 1)[1]
    assert max(map(len, body.splitlines())) <= 80


def test_the_document_says_the_same_as_the_table(tenure: Run) -> None:
    document = answer(tenure(*SMALL, "--policy", "heartbeat", "--json"))
    (found,) = document["results"]
    assert found["policy"] == "heartbeat:30"
    assert found["complete"] is True
    assert found["measures"]["messages"] == document["scenario"]["messages"] == 60
    assert found["figures"]["duplicate_share"] == 0
    assert document["prices"]["requests"] == pytest.approx(0.4)


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    def once(hash_seed: str, *words: str) -> bytes:
        environment = {
            **os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1]), "PYTHONHASHSEED": hash_seed,
        }  # fmt: skip
        command = [sys.executable, "-m", "tenure", *SMALL, "--rate", "1", "--delete-failure-rate", "5%", *words]
        return subprocess.run(command, env=environment, capture_output=True, check=True, timeout=120).stdout

    assert once("1") == once("2")
    assert once("1") != once("1", "--seed", "2")


def test_a_csv_is_replayed_and_its_bad_lines_are_told(tenure: Run, folder: Path) -> None:
    (folder / "runs.csv").write_text("seconds,size\n12,100\nfast\n30,200\n")
    result = tenure("simulate", "--csv", "runs.csv", "--policy", "heartbeat", "--json")
    assert answer(result)["scenario"]["messages"] == 2
    assert "runs.csv:3: 'fast' is not a number of seconds; the line was left out" in result.stderr
    assert [row["size"] for row in answer(result)["results"][0]["by_size"]] == [100, 200]


def test_recorded_runs_are_replayed_without_those_that_were_ended(tenure: Run) -> None:
    samples = [
        Sample("default-tasks", "resize", 20.0, 1.0),
        Sample("default-tasks", "resize", 40.0, 2.0),
        Sample("default-tasks", "resize", 5.0, 3.0, Ended.KILLED),
    ]
    there(lambda app: app.state.journal.sample(samples))
    for target in ("jobs:app", "sqlite:///jobs.db"):
        document = answer(tenure("simulate", target, "--task", "resize", "--policy", "heartbeat", "--json"))
        assert document["scenario"]["messages"] == 2
        assert document["scenario"]["durations"] == "2 recorded runs of resize"
        assert document["results"][0]["measures"]["worked_seconds"] == pytest.approx(60)


def test_what_was_recorded_is_known_before_the_first_run(tenure: Run) -> None:
    samples = [Sample("default-tasks", "resize", 100.0 + n % 20, float(n)) for n in range(60)]
    there(lambda app: app.state.journal.sample(samples))
    words = ("--policy", "learned", "--crash-rate", "0", "--delete-failure-rate", "0", "--json")
    (known,) = answer(tenure("simulate", "jobs:app", "--task", "resize", *words))["results"]
    (new,) = answer(tenure("simulate", "-n", "60", "--durations", "uniform:100:119", *words))["results"]
    assert known["measures"]["wasted_seconds"] == 0
    assert new["measures"]["wasted_seconds"] > 0, "thirty seconds are not enough, and that had to be learned"


def test_the_picture_is_written(tenure: Run, folder: Path) -> None:
    result = tenure(*SMALL, "--policy", "heartbeat", "--svg", "plot.svg")
    assert result.exit_code == 0
    assert (folder / "plot.svg").read_text(encoding="utf-8").startswith("<svg ")
    assert "plot.svg" in result.stderr


def test_rules_for_scaling_are_compared_under_one_policy(tenure: Run) -> None:
    words = ("simulate", "-n", "30", "--durations", "fixed:60", "--rate", "2/m", "--slots", "1", "--workers", "4")
    result = tenure(*words, "--scale", "visible:300", "--scale", "backlog:300", "--idle-first")
    assert result.exit_code == 0
    for word in ("visible:300", "backlog:300", "worker hours", "runs cut by scale-down"):
        assert word in result.stdout


def test_in_a_narrow_terminal_columns_stand_below_and_no_figure_is_cut() -> None:
    scenario = Scenario(works=drawn("sizes", 20, 1), workers=5, slots=1)
    names = ("fixed:1200", "heartbeat:600", "heartbeat:30", "learned", "lease:600", "heartbeat:30 backlog:1500")
    one = simulate(scenario, policy_of("heartbeat:600"))
    results = [msgspec.structs.replace(one, policy=name) for name in names]
    for width in (60, 80, 120):
        written = StringIO()
        out = Console(width=width, file=written, highlight=False)
        for table in (*telling.tables(results, pricing_of("sqs"), width), telling.sizes(results, width)):
            out.print(table)
        said = written.getvalue()
        assert "…" not in said.replace("… of them", "")
        assert all(name in said for name in names[:-1])
        assert max(map(len, said.splitlines())) <= width


@pytest.mark.parametrize(
    "words",
    [
        ("--durations", "gauss:1"),
        ("--policy", "magic"),
        ("--prices", "gold"),
        ("--scale", "never"),
        ("--crash-rate", "often"),
        ("--crash-rate", "1/d"),
        ("--delete-failure-rate", "2"),
        ("--csv", "nothing.csv"),
        ("--csv", "jobs.py"),
        ("--csv", "jobs.py", "--durations", "fixed:1"),
        ("--task", "resize"),
        ("jobs:app",),
        ("jobs:app", "--task", "nobody"),
        ("--workers", "0"),
        ("--messages", "0"),
        ("--svg", "no/such/folder/plot.svg", "-n", "5"),
        ("--profile", "nobody", "-n", "5"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tenure: Run, words: tuple[str, ...]) -> None:
    there(lambda app: asyncio.sleep(0))
    result = tenure("simulate", *words)
    assert result.exit_code == 2, (result.stdout, result.stderr)
    assert "error[" in result.stderr
    assert result.stdout == "" or "--svg" in words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--durations", "lognorm:45:0.6"), "did you mean lognormal?"),
        (("--durations", "fixed:abc"), "'abc' is not a duration: 30, 30s, 5m or 2h"),
        (("--durations", "lognormal:45:wide"), "'wide' is not a number"),
        (("--policy", "fixed:ninety"), "written as 30, 30s, 5m or 2h"),
        (("--svg", "nowhere/plot.svg"), "there is no folder nowhere; nothing was simulated"),
    ],
)
def test_what_is_wrong_and_what_to_write_instead_is_said(tenure: Run, words: tuple[str, ...], said: str) -> None:
    result = tenure(*SMALL, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_spans_have_units_and_a_policy_stands_in_the_table_once(tenure: Run) -> None:
    policies = ("--policy", "fixed:90s", "--policy", "fixed:90", "--policy", "fixed:1.5m")
    document = answer(tenure(*SMALL, "--durations", "fixed:1m", *policies, "--json"))
    assert [one["policy"] for one in document["results"]] == ["fixed:90"]


def test_ctrl_c_ends_it_with_what_is_known() -> None:
    press = """
import signal, sys
from tenure.simulation import running
tell = running.Simulation._tell
async def telling(self, book):
    await running.asyncio.sleep(200)
    signal.raise_signal(signal.SIGINT)
    await tell(self, book)
running.Simulation._tell = telling
sys.argv = ["tenure", "simulate", "-n", "500", "--policy", "heartbeat", "--policy", "learned"]
from tenure.cli import main
sys.exit(main())
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, "-c", press], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 130, result.stderr
    told = re.search(
        r"heartbeat:30 was interrupted: what follows is of the (\d+) messages that had begun", result.stdout
    )
    assert told is not None, result.stdout
    assert 100 <= int(told[1]) < 500
    assert re.search(r"^requests a message +–$", result.stdout, re.MULTILINE)
    assert "learned" not in result.stdout
    assert "Traceback" not in result.stderr


def test_a_cooldown_is_written_as_every_other_span_and_a_rule_that_gets_nowhere_says_so(tenure: Run) -> None:
    words = ("simulate", "--durations", "fixed:48m", "-n", "3", "--rate", "20/h", "--slots", "1", "--workers", "5",
             "--crash-rate", "0", "--idle-first", "--delete-failure-rate", "0", "--policy",
             "heartbeat:600")  # fmt: skip
    result = tenure(*words, "--scale", "visible:25m", "--scale", "backlog:25m")
    assert result.exit_code == 0
    assert (
        "visible:1500 made no progress and was stopped: after 9.4 h 2 of 3 were not done, because scale-down stopped "
        "the "
        "last 40 runs before they were over.\n" in result.stdout
    )
    assert "backlog:1500 got nowhere" not in result.stdout


def test_a_timeout_that_is_extended_is_a_column(tenure: Run) -> None:
    result = tenure("simulate", "-n", "50", "--policy", "fixed:90", "--policy", "extended:10m:5m:4m")
    assert result.stdout.splitlines()[2].split() == ["fixed:90", "extended:600:300:240"]
