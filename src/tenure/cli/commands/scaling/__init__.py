"""`tenure scaling`, and what only it needs.

command.py      the command
drawing.py      its table
publishing.py   figures sent to a system that scales
"""
