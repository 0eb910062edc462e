"""Sets up the exporters for one app, and the sink of its events."""

import os
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tenure.errors import ConfigurationError, MissingExtra
from tenure.middleware import Middlewares
from tenure.monitoring.telemetry import Telemetry
from tenure.sink import Sink

if TYPE_CHECKING:
    from tenure.monitoring.app_insights.custom_events import CustomEvents

#: Where Azure's own tools look for it.
CONNECTION_STRING = "APPLICATIONINSIGHTS_CONNECTION_STRING"

EventNames = Literal["app_insights", "tenure"]


class Exporting(Protocol):
    """An app."""

    telemetry: Telemetry | None
    middleware: Middlewares
    sinks: list[Sink]


class AppInsights:
    """What was set up. Programs that end by themselves call `flush`; at the end of the process it happens anyway."""

    def __init__(self, *providers: Any) -> None:
        """Of these providers of the SDK."""
        self._providers = providers

    def flush(self) -> None:
        """Send what has gathered."""
        for provider in self._providers:
            provider.force_flush()

    def shutdown(self) -> None:
        """Send what has gathered, and end."""
        for provider in self._providers:
            provider.shutdown()


def export(
    app: Exporting,
    connection_string: str | None = None,
    *,
    names: EventNames = "app_insights",
    interval_seconds: float = 60.0,
    traced: float = 0.05,
    role: str = "tenure",
) -> AppInsights:
    """Send this app's events, metrics and traces to Application Insights.

    - `connection_string`: Of the resource. Default: that of the environment.
    - `names`: Of events: as existing queries have them (`message_deletion`), or as Tenure has them (`completed`).
    - `interval_seconds`: How often metrics are sent.
    - `traced`: The part of traces that begin here and are recorded. Events and metrics are never sampled.
    - `role`: The cloud role by which the portal groups processes.

    Call it where the app is made, so that child processes do so too.
    """
    given = connection_string or os.environ.get(CONNECTION_STRING, "")
    if not given:
        msg = (
            f"no connection string for Application Insights: set {CONNECTION_STRING}, or give it to export(). Nothing "
            "was set up"
        )
        raise ConfigurationError(msg)
    try:
        from tenure.monitoring.app_insights import providers  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra(_missing()) from error
    from tenure.monitoring.otel import instrument  # noqa: PLC0415 - likewise

    try:
        made = providers.make(given, interval_seconds=interval_seconds, traced=traced, role=role)
    except ValueError as error:
        why = " ".join(str(error).split()).rstrip(".")
        msg = f"the SDK refuses it: {why}. Check {CONNECTION_STRING} and the arguments of export(). Nothing was set up"
        raise ConfigurationError(msg) from error
    sink = events(names, logger_provider=made.logs)
    instrument(app, tracer_provider=made.traces, meter_provider=made.metrics, only_recorded=True)
    app.sinks.append(sink)
    return AppInsights(made.logs, made.metrics, made.traces)


def events(names: EventNames = "app_insights", *, logger_provider: Any = None) -> "CustomEvents":
    """Make the sink that writes custom events through a logger provider of OpenTelemetry; default: the global one."""
    try:
        from tenure.monitoring.app_insights.custom_events import CustomEvents  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra(_missing()) from error
    return CustomEvents(names, logger_provider)


def _missing() -> str:
    return "Application Insights needs an extra: pip install 'tenure[app-insights]'. Nothing was set up"
