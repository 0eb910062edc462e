"""`tenure events`: what happened at a place, from its journal.

choosing.py   which events are meant
sentences.py  one event in a line of plain English
reading.py    the last ones, and those that follow, without gaps or with a word about them
telling.py    lines for people, NDJSON for programs
command.py    the command
"""
