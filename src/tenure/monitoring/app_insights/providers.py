"""The SDK's providers with Azure's exporters behind them."""

from typing import Any

import msgspec
from azure.monitor.opentelemetry.exporter import (
    AzureMonitorLogExporter,
    AzureMonitorMetricExporter,
    AzureMonitorTraceExporter,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased


class Providers(msgspec.Struct, frozen=True):
    """One of each kind."""

    logs: LoggerProvider
    metrics: MeterProvider
    traces: TracerProvider


def make(connection_string: str, *, interval_seconds: float, traced: float, role: str) -> Providers:
    """Make providers that send to the resource of the connection string. Raises `ValueError` where it is none."""
    resource = Resource.create({"service.name": role})
    given: dict[str, Any] = {"connection_string": connection_string}
    logs = LoggerProvider(resource=resource)
    logs.add_log_record_processor(BatchLogRecordProcessor(AzureMonitorLogExporter(**given)))
    reader = PeriodicExportingMetricReader(
        AzureMonitorMetricExporter(**given), export_interval_millis=interval_seconds * 1000
    )
    traces = TracerProvider(resource=resource, sampler=ParentBased(TraceIdRatioBased(traced)))
    traces.add_span_processor(BatchSpanProcessor(AzureMonitorTraceExporter(**given, tracer_provider=traces)))
    return Providers(logs, MeterProvider([reader], resource=resource), traces)
