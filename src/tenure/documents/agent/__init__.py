"""The agent: a model that answers a question by tools, within limits of steps, tokens and time.

`run.py` is the loop, `tool.py` what a tool is, `tools.py` those that come with it, `journey.py` what is checkpointed.
"""
