"""A shop: orders come in by HTTP, and a worker writes their invoices."""
