"""The faults: one file each, with what is done in its docstring. `FAULTS` has them in the order of the table."""

from collections.abc import Callable

from benchmarks.proof.faults import cut, double, freeze, kill, malformed, poison, refused, restart
from benchmarks.proof.stage import Stage

#: By the name that `--faults` takes and that stands above the column.
FAULTS: dict[str, Callable[[Stage], None]] = {
    "kill_storm": kill.play,
    "broker_restart": restart.play,
    "poison": poison.play,
    "frozen_worker": freeze.play,
    "cut_connection": cut.play,
    "malformed": malformed.play,
    "refused_ack": refused.play,
    "double_submit": double.play,
}
