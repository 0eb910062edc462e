"""`tenure events`: what happened at a place, from its journal.

Which events are meant is in `client/operations/event_choice.py`.

sentences.py  one event in a line of plain English
reading.py    the last ones, and those that follow, without gaps or with a word about them
telling.py    lines for people, NDJSON for programs
command.py    the command
"""
