"""The demo: real worker processes, real crashes, one embedded database, and a count at the end.

command.py    `tenure demo`: options, what is printed last, the exit code
stage.py      puts the parts together: traffic, workers, kills; then drains and checks the result
tasks.py      the tasks of the demo, and its app; served.py is that app for the worker processes
effects.py    the outside world: a database in which an effect done twice would show
traffic.py    sends messages
crew.py       the worker processes, and their ends
board.py      what happened, read from the journal
glance.py     what is there now, asked of the broker
screen.py     both, drawn
reckoning.py  every message that was sent, looked up: was a promise broken?
"""
