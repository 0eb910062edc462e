"""The app and its tasks. Views import it; `tenure worker shop.jobs:app` runs it.

    DJANGO_SETTINGS_MODULE=shop.settings tenure worker shop.jobs:app

The worker imports this module without Django's own command, so it sets Django up itself.
"""

import functools
import os
from collections.abc import Callable
from datetime import timedelta
from typing import ParamSpec, TypeVar

import django
from django.apps import apps
from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.utils import timezone

from tenure import SyncContext, Tenure

if not apps.ready:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    django.setup()

from shop.models import Invoice, Order

P = ParamSpec("P")
R = TypeVar("R")

app = Tenure(settings.TENURE_URL)


def with_database(handler: Callable[P, R]) -> Callable[P, R]:
    """Close connections that the database has given up, before and after a handler, as Django does for a request.

    A worker's threads live for days. Without it a handler would meet a connection that the server closed long ago.
    """

    @functools.wraps(handler)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        close_old_connections()
        try:
            return handler(*args, **kwargs)
        finally:
            close_old_connections()

    return run


@app.task(queue="invoice-tasks", max_attempts=5, retry_delay=1)
@with_database
def write_invoice(ctx: SyncContext, order_id: int) -> str:
    """Write the invoice of an order, once: the row of `once` commits with it, or neither does."""
    order = Order.objects.get(pk=order_id)
    text = f"{order.item}: {order.price} EUR"
    with transaction.atomic(), connection.cursor() as cursor:
        if ctx.once(cursor, "invoice"):
            Invoice.objects.create(order=order, text=text)
    return text


def submit_invoice(order: Order) -> None:
    """Ask for the invoice of an order. Asked twice, it is one message: the key says which order it is for."""
    app.submit_sync(write_invoice.bind(order.pk), key=f"invoice-{order.pk}")


@app.task(queue="invoice-tasks")
@with_database
def submit_again() -> int:
    """Find orders of the last hour whose process died between its commit and its submit, and submit them."""
    before = timezone.now() - timedelta(seconds=settings.SUBMIT_AGAIN_SECONDS)
    since = before - timedelta(hours=1)  # what is older has failed: it is among the dead letters
    forgotten = list(Order.objects.filter(invoices=None, placed_at__range=(since, before))[:100])
    for order in forgotten:
        submit_invoice(order)
    return len(forgotten)


app.schedule(submit_again.bind(), every=settings.SUBMIT_AGAIN_SECONDS, name="submit-again")
