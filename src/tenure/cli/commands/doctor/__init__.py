"""`tenure doctor`: checks the whole set-up.

command.py   options, and the exit code
page.py      the page for people
"""
