"""Rendering: the catalogue as files that other systems read. Pure.

`tenure monitoring render` and `make reference` call it.

    kql              queries for Application Insights             kql.py, kql_queries.py, kql_tables.py
    logs-insights    queries for CloudWatch Logs Insights         logs_insights.py
    prometheus       rules, and inhibit_rules of Alertmanager     ../prometheus_rules.py
    grafana          a dashboard                                  ../grafana.py
    terraform-azure  scheduled query rules of Azure Monitor       terraform_azure.py, kql_alerts.py
    terraform-aws    alarms of CloudWatch                         terraform_aws.py, cloudwatch_alarms.py

Each is a template written by hand. Names, thresholds and texts come from the catalogue, and tests check that nothing is
asked for that is not emitted. With no threshold changed the files are those in deploy/monitoring.
"""

from tenure.monitoring.render.file import RenderedFile
from tenure.monitoring.render.kql_tables import Tables
from tenure.monitoring.render.targets import TARGETS, Target, rendered

__all__ = ["TARGETS", "RenderedFile", "Tables", "Target", "rendered"]
