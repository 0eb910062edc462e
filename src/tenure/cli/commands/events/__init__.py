"""`tenure events`: what happened in a store, from its journal.

Which events are meant is in `client/operations/event_choice.py`.

sentences.py  one event in a line of plain English reading.py    the last ones, and those that follow, without gaps, or
with a line about each gap telling.py    lines for people, NDJSON for programs command.py    the command
"""
