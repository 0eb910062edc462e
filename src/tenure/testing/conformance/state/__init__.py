"""The contract of the seven state ports, journal and board in several files, and of the store's wall time."""

from tenure.testing.conformance.state.acts import Acts
from tenure.testing.conformance.state.board import Board
from tenure.testing.conformance.state.following import Following
from tenure.testing.conformance.state.journal import Journal
from tenure.testing.conformance.state.key_values import KeyValues
from tenure.testing.conformance.state.ledger import Ledger
from tenure.testing.conformance.state.posts import Posts
from tenure.testing.conformance.state.records import Records
from tenure.testing.conformance.state.roster import Roster
from tenure.testing.conformance.state.samples import Samples
from tenure.testing.conformance.state.tallies import Tallies
from tenure.testing.conformance.state.turns import Turns
from tenure.testing.conformance.state.wall import WallTime

__all__ = [
    "Acts",
    "Board",
    "Following",
    "Journal",
    "KeyValues",
    "Ledger",
    "Posts",
    "Records",
    "Roster",
    "Samples",
    "Tallies",
    "Turns",
    "WallTime",
]
