"""Summaries: sentences that the document has (`textrank.py`), or what a model says of it (`by_model.py`)."""
