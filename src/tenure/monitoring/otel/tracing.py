"""Tracing: one span for a send, one for a lease call, one for a handler's run, one for a webhook's call.

    send mail-tasks ─── process mail-tasks ─── (spans of the handler, what it hands on)
                              │ linked from          └── POST webhook
                        receive mail-tasks

The context travels in the message's headers, written and read by the propagator that the program has set up. A message
whose sender did not record its trace costs a few microseconds: its context is handed on and no span is made.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from opentelemetry import context, propagate, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.http_attributes import HTTP_RESPONSE_STATUS_CODE
from opentelemetry.trace import (
    INVALID_SPAN_CONTEXT,
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)

from tenure.message import Message, Outgoing
from tenure.middleware import Middleware, Run
from tenure.monitoring.metrics.sample import Sample
from tenure.monitoring.otel import attributes
from tenure.monitoring.otel.instruments import Instruments
from tenure.monitoring.telemetry import TRACEPARENT, is_sampled, sampled_context
from tenure.tasks.context import Context
from tenure.verdict import Snooze

_SCOPE = "tenure"
#: Where the parts of a traceparent lie: version-trace_id-span_id-flags.
_TRACE_ID, _SPAN_ID = slice(3, 35), slice(36, 52)
_LENGTH = 55
_NOT_SAMPLED = TraceFlags(0)


class OpenTelemetry:
    """Implements `monitoring.telemetry.Telemetry`."""

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None,
        meter_provider: MeterProvider | None,
        *,
        only_recorded: bool = False,
    ) -> None:
        """Use these providers; None: the global ones. `only_recorded`: other traces leave no mark on messages."""
        self._only_recorded = only_recorded
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        self._instruments = Instruments(meter_provider)

    @contextlib.contextmanager
    def sending(self, batch: Sequence[Outgoing]) -> Iterator[list[Outgoing]]:
        """One span for all of them: each carries its context, unless the caller gave it one."""
        if not batch:
            yield []
            return
        queue = batch[0].message.queue
        values: dict[str, Any] = attributes.of_operation(attributes.SEND, queue)
        values |= attributes.of_message(batch[0].message) if len(batch) == 1 else {attributes.BATCH_COUNT: len(batch)}
        with self._tracer.start_as_current_span(f"send {queue}", kind=SpanKind.PRODUCER, attributes=values) as span:
            carrier: dict[str, str] = {}
            if span.is_recording() or not self._only_recorded:
                propagate.inject(carrier)
            yield [_carrying(out, carrier) for out in batch]

    def handing_on(self, out: Outgoing, parent: Message) -> Outgoing:
        """In the trace of the run; in a child process that makes no spans, in that of the parent message."""
        carrier: dict[str, str] = {}
        if trace.get_current_span().is_recording() or not self._only_recorded:
            propagate.inject(carrier)
        if not carrier and TRACEPARENT in parent.headers:
            carrier = {TRACEPARENT: parent.headers[TRACEPARENT]}
        return _carrying(out, carrier)

    def received(self, messages: Sequence[Message], seconds: float) -> None:
        """A span with a link to each message whose trace is recorded; none, if no trace is."""
        contexts = [found for found in map(sampled_context, messages) if found is not None]
        spans = [found for found in map(_span_context, contexts) if found is not None]
        if not spans:
            return
        ended = time.time_ns()  # noqa: TID251 - spans have the SDK's own clock
        queue = messages[0].queue
        values: dict[str, Any] = attributes.of_operation(attributes.RECEIVE, queue)
        span = self._tracer.start_span(
            f"receive {queue}",
            context=context.Context(),
            kind=SpanKind.CLIENT,
            attributes=values | {attributes.BATCH_COUNT: len(messages)},
            links=[Link(one) for one in spans],
            start_time=ended - round(seconds * 1e9),
        )
        span.end(ended)

    def middleware_for(self, message: Message, middleware: Sequence[Middleware]) -> Sequence[Middleware]:
        """Nearly all messages of a busy app: their context is handed on, and nothing else is done."""
        carried = message.headers.get(TRACEPARENT) if message.headers else None
        # The run has a task of its own, and with it the context ends.
        if carried is None:
            if not self._only_recorded:
                return middleware
            context.attach(_NOTHING_RECORDED)
        elif is_sampled(carried):
            return middleware
        else:
            context.attach(context.Context({_SPAN_KEY: _NotRecorded(carried)}))
        return () if len(middleware) == 1 else [one for one in middleware if one != self.around_handler]

    async def around_handler(self, ctx: Context[Any], run: Run) -> Any:
        """Middleware: the span of a run, in the trace of its message."""
        message = ctx.message
        carried = message.headers.get(TRACEPARENT)
        if self._only_recorded if carried is None else not is_sampled(carried):  # in a child process
            above = _UNKNOWN if carried is None else _NotRecorded(carried)
            token = context.attach(trace.set_span_in_context(above))
            try:
                return await run()
            finally:
                context.detach(token)
        parent = propagate.extract(message.headers)
        values: dict[str, Any] = attributes.of_operation(attributes.PROCESS, message.queue)
        values |= {**attributes.of_message(message), attributes.ATTEMPT: ctx.attempt}
        with self._tracer.start_as_current_span(
            f"process {message.queue}", context=parent, kind=SpanKind.CONSUMER, attributes=values,
            record_exception=False, set_status_on_exception=False,
        ) as span:  # fmt: skip
            try:
                return await run()
            except Snooze:
                raise  # nothing failed
            except BaseException as error:
                span.record_exception(error)
                span.set_attribute(ERROR_TYPE, type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR, str(error)))
                raise

    @contextlib.contextmanager
    def posting(self, message: Message, endpoint: str) -> Iterator["HttpPosting"]:
        """The span of a webhook's call, in the trace of the work that it tells of."""
        parent = propagate.extract(message.headers)
        values: dict[str, Any] = {**attributes.of_message(message), attributes.ENDPOINT: endpoint}
        with self._tracer.start_as_current_span(
            f"POST webhook {endpoint}", context=parent, kind=SpanKind.CLIENT, attributes=values
        ) as span:
            carrier: dict[str, str] = {}
            propagate.inject(carrier)
            yield HttpPosting(span, carrier)

    def watch(self, read: Callable[[], list[Sample]]) -> Callable[[], None]:
        """Export a worker's metrics."""
        return self._instruments.watch(read)


class _NotRecorded(NonRecordingSpan):
    """The span of a sender whose trace is not recorded. Its header is read on request."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_span_context(self) -> SpanContext:
        return _span_context(self._text) or INVALID_SPAN_CONTEXT


#: Of a message that carries no context: its trace has an unknown id, and spans within it are not recorded.
_UNKNOWN = NonRecordingSpan(SpanContext(1, 1, is_remote=True, trace_flags=_NOT_SAMPLED))
_NOTHING_RECORDED = trace.set_span_in_context(_UNKNOWN, context.Context())
#: Under which a context has its span.
(_SPAN_KEY,) = trace.set_span_in_context(trace.INVALID_SPAN, context.Context())


class HttpPosting:
    """The call of a webhook under way."""

    def __init__(self, span: trace.Span, headers: Mapping[str, str]) -> None:
        """`headers` are for the receiver."""
        self._span = span
        self.headers = headers

    def answered(self, status: int | None, error: str) -> None:
        """Note what came of it."""
        if status is not None:
            self._span.set_attribute(HTTP_RESPONSE_STATUS_CODE, status)
        if status is None or status >= 400:  # noqa: PLR2004 - an error of HTTP
            self._span.set_attribute(ERROR_TYPE, "no_answer" if status is None else str(status))
            self._span.set_status(Status(StatusCode.ERROR, error))


def _carrying(out: Outgoing, carrier: Mapping[str, str]) -> Outgoing:
    message = out.message
    if not carrier or TRACEPARENT in message.headers:
        return out
    headers = {**message.headers, **carrier}
    return msgspec.structs.replace(out, message=msgspec.structs.replace(message, headers=headers))


def _span_context(text: str) -> SpanContext | None:
    """A context as its header says it. None: it is none."""
    if len(text) < _LENGTH:
        return None
    try:
        found = SpanContext(
            int(text[_TRACE_ID], 16), int(text[_SPAN_ID], 16), is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED) if is_sampled(text) else _NOT_SAMPLED,
        )  # fmt: skip
    except ValueError:
        return None
    return found if found.is_valid else None
