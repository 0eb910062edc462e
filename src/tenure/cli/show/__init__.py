"""`tenure show`: the whole life of one message.

fetching.py  what the broker, the records, the journal and the board know about it
life.py      one account in time order, from a history and events that partly tell the same
account.py   the account in sentences
telling.py   drawn for people
document.py  written for programs
command.py   the command
"""
