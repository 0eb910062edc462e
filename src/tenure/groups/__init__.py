"""Groups: many messages, and one call when all of them have ended.

    header       what was decided at submission; and which groups are open
    ended_log    the members that have ended: a set, in bounded documents changed by compare-and-set
    group_kind   the announcer's target kind: enters endings, page by page
    ending       what follows the end: cancel the rest, send `then`, close
    keeper       expiry, abandoned submissions, ends that were interrupted
    submission   the messages of a group, made and checked before anything is sent
    handle       what people ask a group by
    reading      a group with its results, for handlers and people
    assembly     the parts for a worker or a server

The values that users see are in `tenure/group.py`; `client/group_sending.py` sends.
"""
