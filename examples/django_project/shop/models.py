"""Orders, and the invoices that the worker writes for them."""

from django.db import models


class Order(models.Model):
    """What somebody ordered."""

    item = models.CharField(max_length=100)
    price = models.PositiveIntegerField()
    placed_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        """As people say it."""
        return f"order {self.pk}"


class Invoice(models.Model):
    """What is to be paid. One effect: a second one for an order would be a mistake, and the database allows it."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="invoices")
    text = models.CharField(max_length=200)

    def __str__(self) -> str:
        """As people say it."""
        return self.text
