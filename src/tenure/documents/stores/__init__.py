"""The index: which documents there are, with their chunks, and the two lists of candidates for a question.

`index.py` is the port. A document is replaced in one step, so that a reader finds it whole, once, or not at all.
"""
