"""Instruments an app: its submits, handlers, hand-offs and webhooks are traced, and its workers' metrics exported."""

from typing import TYPE_CHECKING, Protocol

from tenure.errors import MissingExtra
from tenure.middleware import Middlewares
from tenure.monitoring.telemetry import Telemetry

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


class Instrumented(Protocol):
    """An app."""

    telemetry: Telemetry | None
    middleware: Middlewares


def instrument(
    app: Instrumented,
    *,
    tracer_provider: "TracerProvider | None" = None,
    meter_provider: "MeterProvider | None" = None,
    only_recorded: bool = False,
) -> None:
    """Trace this app and export its metrics. A second call changes nothing.

    - `tracer_provider`: Where spans go; default: the global one.
    - `meter_provider`: Where metrics go; default: the global one.
    - `only_recorded`: A message carries a context only if its sender records the trace, and a worker begins no trace of
      its own for the others. With a small sampling rate nearly all messages are then as if nothing followed them.

    Call it where the app is made, so that child processes do so too, and before other middleware that is to be inside
    of the handler's span.
    """
    try:
        from tenure.monitoring.otel.tracing import OpenTelemetry  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = "OpenTelemetry is not installed: pip install 'tenure[otel]'. Nothing was instrumented"
        raise MissingExtra(msg) from error
    if app.telemetry is not None:
        return
    made = OpenTelemetry(tracer_provider, meter_provider, only_recorded=only_recorded)
    app.telemetry = made
    app.middleware.insert(0, made.around_handler)
