"""promtool finds what is wrong, so that its silence about our own text means something."""

from tests.monitoring.prometheus.promtool import promtool

_GOOD = "# HELP sends_total Messages sent.\n# TYPE sends_total counter\nsends_total 3\n"


def test_promtool_accepts_a_good_exposition_and_names_what_is_wrong_with_a_bad_one() -> None:
    assert promtool(["check", "metrics"], given=_GOOD).returncode == 0
    bad = promtool(["check", "metrics"], given=_GOOD.replace("sends_total", "sends"))
    assert bad.returncode != 0
    assert 'counter metrics should have "_total" suffix' in bad.stderr
