"""The targets by name, and what each renders."""

from collections.abc import Mapping, Sequence

import msgspec

from tenure.monitoring import grafana, prometheus_rules
from tenure.monitoring.catalogue.spec import AlertSpec
from tenure.monitoring.render.file import RenderedFile
from tenure.monitoring.render.kql import kql_files
from tenure.monitoring.render.kql_tables import Tables
from tenure.monitoring.render.logs_insights import logs_insights_files
from tenure.monitoring.render.terraform_aws import aws_files
from tenure.monitoring.render.terraform_azure import azure_files


class Target(msgspec.Struct, frozen=True):
    """A system that reads files of ours."""

    name: str
    about: str
    #: What a comment begins with, where several files can follow one another in one text.
    comment: str | None = None
    #: Whether its queries are written for one form of tables.
    has_tables: bool = False


TARGETS: Mapping[str, Target] = {
    one.name: one
    for one in (
        Target("kql", "Queries for Application Insights.", "//", has_tables=True),
        Target("logs-insights", "Queries for CloudWatch Logs Insights.", "#"),
        Target("prometheus", "Rules for Prometheus, and inhibit_rules for Alertmanager."),
        Target("grafana", "A dashboard for Grafana."),
        Target("terraform-azure", "Scheduled query rules (v2) of Azure Monitor.", "#", has_tables=True),
        Target("terraform-aws", "Alarms of CloudWatch.", "#"),
    )
}


def rendered(
    target: str, specs: Sequence[AlertSpec], *, public_url: str | None = None, tables: Tables | None = None
) -> list[RenderedFile]:
    """The files of a target, for these alerts. Raises `KeyError`.

    `tables`: the form of Application Insights' tables; default: for `kql` both, for `terraform-azure` the resource's.
    """
    match TARGETS[target].name:
        case "kql":
            return kql_files(tables)
        case "logs-insights":
            return logs_insights_files()
        case "prometheus":
            return [
                RenderedFile("tenure.rules.yml", prometheus_rules.rules(specs, public_url=public_url)),
                RenderedFile("tenure.inhibit.yml", prometheus_rules.inhibit_rules(specs)),
            ]
        case "grafana":
            return [RenderedFile("tenure.json", grafana.dashboard())]
        case "terraform-azure":
            return azure_files(specs, tables or Tables.APPLICATION_INSIGHTS, public_url=public_url)
        case _:
            return aws_files(specs, public_url=public_url)
