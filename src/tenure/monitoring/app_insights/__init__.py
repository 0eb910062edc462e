"""Application Insights: events, metrics and traces of an app, by Azure's exporters for OpenTelemetry.

    from tenure.monitoring.app_insights import export

    export(app)     # the connection string of APPLICATIONINSIGHTS_CONNECTION_STRING

Needs the extra `app-insights`, the exporters alone. The distribution around them, `azure-monitor-opentelemetry`, also
instruments the program's web framework and HTTP clients; a program that has called its `configure_azure_monitor` takes
`tenure.monitoring.otel.instrument(app)` and the sink `tenure.monitoring.app_insights.events()` instead of `export`.
"""

from tenure.monitoring.app_insights.export import AppInsights, events, export

__all__ = ["AppInsights", "events", "export"]
