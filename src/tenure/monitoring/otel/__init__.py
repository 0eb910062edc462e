"""OpenTelemetry: traces and metrics of an app, through the SDK that the program has set up.

    from tenure.monitoring.otel import instrument

    instrument(app)

Needs the extra `otel`, which brings the API alone: exporters, samplers and resources are the program's own. Without
`instrument` nothing of it is imported.
"""

from tenure.monitoring.otel.instrument import instrument

__all__ = ["instrument"]
