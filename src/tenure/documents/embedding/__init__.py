"""Embedding: texts as vectors of the same length, so that near ones mean the same.

`embedder.py` is the port. wordllama works offline; any endpoint that speaks OpenAI's API is asked over HTTP.
"""
