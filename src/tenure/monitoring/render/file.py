"""A rendered file, and a saved query: what every target makes."""

import msgspec


class RenderedFile(msgspec.Struct, frozen=True):
    """One file of a target."""

    #: Relative to the target's folder.
    name: str
    text: str


class SavedQuery(msgspec.Struct, frozen=True):
    """A query that people run by hand, with what it answers."""

    #: Also the file's name, without its ending.
    id: str
    title: str
    #: What it answers, and what it needs. Becomes the comment above it.
    about: str
    text: str
