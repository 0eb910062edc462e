"""The picture of scaling is what its command draws: the premature scale-down beside the rule that counts what runs."""

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from tenure.cli.root import root
from tenure.simulation.durations import drawn
from tenure.simulation.fleet import scaling_of
from tenure.simulation.policy import policy_of
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario

from .markdown import ROOT

PAGE = ROOT / "docs" / "how-to" / "scale-workers.md"
PICTURE = ROOT / "docs" / "pictures" / "scaling.svg"


def _command() -> list[str]:
    found = re.search(r"(?ms)^tenure (simulate .*?--svg) scaling\.svg", PAGE.read_text("utf-8"))
    assert found is not None
    return shlex.split(found[1].replace("\\\n", " "))


def test_the_picture_is_what_the_command_on_the_page_draws(tmp_path: Path) -> None:
    done = CliRunner().invoke(root, [*_command(), str(tmp_path / "scaling.svg")])
    assert done.exit_code == 0, done.output
    same = (tmp_path / "scaling.svg").read_text("utf-8") == PICTURE.read_text("utf-8")
    assert same, f"draw it again: tenure {shlex.join([*_command(), 'docs/pictures/scaling.svg'])}"


def test_three_long_videos_by_both_rules_minute_by_minute() -> None:
    """Visible messages alone stop all workers when the cooldown is over, in the middle of the runs."""
    scenario = Scenario(works=drawn("fixed:1860", 3, 1), workers=3, slots=1, target_age_seconds=60.0, idle_first=True)
    visible = simulate(scenario, policy_of("heartbeat:600"), scaling_of("visible:10m"))
    backlog = simulate(scenario, policy_of("heartbeat:600"), scaling_of("backlog:10m"))
    assert [(one.workers, one.ready, one.leased) for one in backlog.seen if one.at <= 1800] == [
        (3, 3, 0), *[(3, 0, 3)] * 30,
    ]  # fmt: skip
    assert (backlog.interrupted, backlog.measures.finished) == (0, 3)
    first_drop = next(one for one in visible.seen if one.workers == 0)
    assert (first_drop.at, first_drop.ready, first_drop.leased) == (600.0, 0, 3), "nothing is visible, three run"
    assert visible.measures.finished == 0
    assert visible.interrupted > 3
