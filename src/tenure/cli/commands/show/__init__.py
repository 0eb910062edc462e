"""`tenure show`: the whole life of one message, or how far a group is.

    account.py   the account in sentences
    telling.py   the account drawn for people
    group.py     a group
    command.py   the command

What is known comes from `client/operations/message_detail.py`, the account in time order from
`client/operations/life.py`.
"""
