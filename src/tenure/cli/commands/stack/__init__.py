"""`tenure stack`: where the handler of a message is now.

`command` asks (`app.operate.stack`), `telling` says it to people.
"""
