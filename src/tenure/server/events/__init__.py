"""Live events: the journal as Server-Sent Events, read once for all viewers.

tail.py            reads the journal on, only while a viewer is connected; recent_events.py: the newest ones in memory
feed.py            what all streams with the same filter and rights send, encoded once
event_writer.py    events to blocks: filtered, redacted, completed messages at most 50 a second
event_rights.py    which events exist for a viewer
wire.py            the bytes
stream.py          one viewer: what was missed, then the feed, heartbeats between
viewers.py         all of them
response.py        the HTTP answer that carries a stream, and what ends it
routes.py          GET /events and GET /events/stream
message_stream.py  one message until it has ended, by `client/watching.py`; message_response.py: its HTTP answer
"""
