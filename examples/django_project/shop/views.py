"""Views: plain functions. An order is answered at once; its invoice is written by the worker."""

import json

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET, require_POST

from shop.jobs import submit_invoice
from shop.models import Order


@require_POST
def place(request: HttpRequest) -> JsonResponse:
    """Place an order. The message goes out when the order is committed, and not at all if it is rolled back.

    Submitted inside the transaction, a worker could look for an order that is not there yet, or never will be.
    """
    asked = json.loads(request.body)
    try:
        with transaction.atomic():
            order = Order.objects.create(item=asked["item"], price=asked["price"])
            transaction.on_commit(lambda: submit_invoice(order))
            _check(order)
    except ValueError as error:
        return JsonResponse({"error": str(error)}, status=422)
    return JsonResponse({"id": order.pk}, status=202)


def _check(order: Order) -> None:
    """Whatever may still go wrong in a transaction."""
    if not order.price:
        raise ValueError("nothing is free")


@require_GET
def show(_request: HttpRequest, id: int) -> JsonResponse:
    """Where an order is."""
    order = get_object_or_404(Order, pk=id)
    invoices = [invoice.text for invoice in order.invoices.all()]
    return JsonResponse({"id": order.pk, "item": order.item, "invoices": invoices})
