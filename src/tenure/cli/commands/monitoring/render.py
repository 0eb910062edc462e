"""`tenure monitoring render`."""

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from tenure.cli.target import json_option
from tenure.cli.terminal.output import say_json, say_line, say_lines
from tenure.errors import BadArgument
from tenure.monitoring.render.file import RenderedFile
from tenure.rules.arguments import meant

_TARGETS = ("kql", "logs-insights", "prometheus", "grafana", "terraform-azure", "terraform-aws")
_TABLES = ("application-insights", "workspace")


class RenderedTarget(msgspec.Struct, frozen=True):
    """What is printed, for programs."""

    target: str
    files: list[RenderedFile]
    #: The folder that has them now; null: they were only printed.
    folder: str | None = None


@click.command(short_help="Write queries, alerts or a dashboard for another system.")
@click.argument("target", metavar="SYSTEM", type=click.Choice(_TARGETS))
@click.option(
    "--out", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write the files into this folder."
)
@click.option("--file", "name", metavar="NAME", help="Only this file.")
@click.option(
    "--tables",
    type=click.Choice(_TABLES),
    help="customEvents and the like, or AppEvents of the workspace. Default: kql both, terraform-azure the first.",
)
@json_option
def render(*, target: str, folder: Path | None, name: str | None, tables: str | None, as_json: bool) -> None:
    """Write queries, alerts or a dashboard for another system, from the catalogue of what Tenure emits.

    \b
    kql              queries for Application Insights
    logs-insights    queries for CloudWatch Logs Insights
    prometheus       rules for Prometheus, inhibit_rules for Alertmanager
    grafana          a dashboard
    terraform-azure  scheduled query rules (v2) of Azure Monitor
    terraform-aws    alarms of CloudWatch

    Alerts have the thresholds of TENURE_ALERTS and link to TENURE_PUBLIC_URL. Without --out they are printed.

    \b
    tenure monitoring render terraform-azure --out infra/tenure
    tenure monitoring render kql --file workspace/message-timeline.kql
    """  # noqa: D301 - click's mark for lines that stay as they are
    from tenure.config import settings_from
    from tenure.monitoring.in_force import detectors_in_force
    from tenure.monitoring.render import TARGETS, Tables, rendered

    settings = settings_from()
    what = TARGETS[target]
    if tables is not None and not what.has_tables:
        msg = f"--tables is for kql and terraform-azure; {target} reads no tables of Application Insights"
        raise BadArgument(msg)
    specs = [one.spec for one in detectors_in_force(settings.alerts)]
    files = rendered(target, specs, public_url=settings.public_url, tables=None if tables is None else Tables(tables))
    files = files if name is None else _named(files, name)
    if folder is not None:
        _write(folder, files)
    if as_json:
        say_json(RenderedTarget(target, files, None if folder is None else str(folder)))
    elif folder is not None:
        say_line(f"Wrote {len(files)} file{'' if len(files) == 1 else 's'} into {folder}.")
    else:
        _print(files, what.comment)


def _named(files: Sequence[RenderedFile], name: str) -> list[RenderedFile]:
    found = [one for one in files if one.name == name]
    if not found:
        msg = f"there is no file {name!r}, so nothing was written; {meant(name, [one.name for one in files])}"
        raise BadArgument(msg)
    return found


def _write(folder: Path, files: Sequence[RenderedFile]) -> None:
    try:
        for one in files:
            path = folder / one.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one.text, encoding="utf-8")
    except OSError as error:
        msg = f"{folder} cannot be written: {error.strerror or error}"
        raise BadArgument(msg) from error


def _print(files: Sequence[RenderedFile], comment: str | None) -> None:
    """One file as it is; several below one another where the language has comments, else the first one."""
    if len(files) == 1 or comment is None:
        say_lines(files[0].text.rstrip("\n"))
        for other in files[1:]:
            say_line(f"There is also {other.name}: --file {other.name}, or --out for all files.", err=True)
        return
    say_lines("\n\n".join(f"{comment} == {one.name}\n\n{one.text.rstrip()}" for one in files))
