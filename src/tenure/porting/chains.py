"""Chains: each step a task of its own, which runs the step's handler and hands its result to the next.

    chain(reserve.s(order), charge.s(), mail.s("thanks"))()

becomes two tasks, `reserve_then_charge_then_mail` and `charge_then_mail`, with the options of `reserve` and `charge`.
Each step has its own attempts, as in Celery. Arguments of later steps travel in the message.
"""

from collections.abc import Mapping

import msgspec

from tenure.porting.project import CeleryTask

_STEP = '''{decorator}
def {name}(ctx: SyncContext, args: list[Any], named: dict[str, Any], rest: list[Step]) -> None:
    """A step of a chain: runs `{task}` and hands over to `{next}`."""
    {result}{task}({context}*args, **named)
    {hand_off}
'''
_TO_LAST = "args, named = rest[0]\n    ctx.submit({next}.bind({result}*args, **named))"
_TO_STEP = "args, named = rest[0]\n    ctx.submit({next}.bind([{result}*args], named, rest[1:]))"


class Step(msgspec.Struct, frozen=True):
    """A signature: a task with some of its arguments, as source text."""

    task: CeleryTask
    args: list[str]
    #: `name=value`
    named: list[str]
    #: It takes nothing of the step before (`si`).
    is_immutable: bool


class Chains:
    """The tasks that the chains of a project need, each once."""

    def __init__(self) -> None:
        """Begin with none."""
        #: By its name: the step's task, the next name, whether that one takes the result, whether it is the last.
        self._made: dict[str, tuple[CeleryTask, str, bool, bool]] = {}

    def add(self, steps: list[Step]) -> tuple[str, str]:
        """Make the tasks of a chain; the name of the first one and what is bound to it."""
        for place in range(len(steps) - 1):
            is_last = place + 2 == len(steps)
            takes = not steps[place + 1].is_immutable
            self._made[_name(steps[place:])] = (steps[place].task, _name(steps[place + 1 :]), takes, is_last)
        first, *others = steps
        rest = ", ".join(f"([{', '.join(one.args)}], {_dict(one.named)})" for one in others)
        return _name(steps), f"[{', '.join(first.args)}], {_dict(first.named)}, [{rest}]"

    def written(self, decorators: Mapping[str, str], with_context: set[str]) -> list[str]:
        """The tasks as source text. `decorators`: of each step, by its task; `with_context`: tasks that take `ctx`."""
        texts = []
        for name, (task, following, takes, is_last) in self._made.items():
            hand_off = (_TO_LAST if is_last else _TO_STEP).format(next=following, result="result, " if takes else "")
            texts.append(
                _STEP.format(
                    decorator=decorators[task.name],
                    name=name,
                    task=task.name,
                    next=following,
                    context="ctx, " if task.name in with_context else "",
                    result="result = " if takes else "",
                    hand_off=hand_off,
                )
            )
        return texts


def _name(steps: list[Step]) -> str:
    # A step that takes no result is another task than one that does.
    words = [steps[0].task.name, *(f"{'and_' if one.is_immutable else ''}then_{one.task.name}" for one in steps[1:])]
    return "_".join(words)


def _dict(named: list[str]) -> str:
    pairs = [one.partition("=") for one in named]
    return "{" + ", ".join(f'"{name}": {value}' for name, _, value in pairs) + "}"
