"""`tenure show`: the whole life of one message.

    account.py   the account in sentences
    telling.py   the account drawn for people
    command.py   the command

What is known comes from `client/operations/message_detail.py`, the account in time order from
`client/operations/life.py`.
"""
