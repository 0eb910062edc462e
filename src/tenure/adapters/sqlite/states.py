"""The states of a message as numbers.

Numbers because a row that keeps its size is written in place. A message becomes `leased` in place: 0 and 1
take no room at all in a row, so these two are the two that matter. Written into the SQL of the neighbours;
the view `messages` shows the words.
"""

from tenure.message import MessageState

READY = 0
LEASED = 1
DELAYED = 2
COMPLETED = 3
DEAD = 4
CANCELLED = 5

CODES = {
    MessageState.READY: READY,
    MessageState.LEASED: LEASED,
    MessageState.DELAYED: DELAYED,
    MessageState.COMPLETED: COMPLETED,
    MessageState.DEAD: DEAD,
    MessageState.CANCELLED: CANCELLED,
}
STATES = {code: state for state, code in CODES.items()}

#: Bits of `message.extras`: what a settle must look after besides the row itself.
KEYED = 1
NOTED = 2
#: Its lease got a fresh window after an outage, and was not touched since. Cleared when the lease ends.
GRACED = 4
#: From this bit on: how often its lease was touched. Set to zero when the lease ends, unless the message ends too.
BEAT = 8
#: What stays when a lease ends: `KEYED` and `NOTED`.
LASTING = KEYED | NOTED
