"""`tenure findings rules`."""

import click
import msgspec

from tenure.cli.target import json_option
from tenure.cli.terminal.output import say_json, say_lines


class RulesFile(msgspec.Struct, frozen=True):
    """What is printed, for programs."""

    #: The file, as YAML.
    rules: str


@click.command(short_help="Print the alerts as rules for Prometheus.")
@click.option("--alertmanager", is_flag=True, help="Print the inhibit_rules of Alertmanager instead.")
@json_option
def rules(*, alertmanager: bool, as_json: bool) -> None:
    """Print the alerts as rules for Prometheus, with the thresholds of TENURE_ALERTS and links to TENURE_PUBLIC_URL.

    \b
    tenure findings rules > /etc/prometheus/tenure.rules.yml
    """  # noqa: D301 - click's mark for lines that stay as they are
    from tenure.config import settings_from
    from tenure.monitoring import prometheus_rules
    from tenure.monitoring.in_force import detectors_in_force

    settings = settings_from()
    specs = [one.spec for one in detectors_in_force(settings.alerts)]
    text = (
        prometheus_rules.inhibit_rules(specs)
        if alertmanager
        else prometheus_rules.rules(specs, public_url=settings.public_url)
    )
    if as_json:
        say_json(RulesFile(text))
    else:
        say_lines(text.rstrip("\n"))
