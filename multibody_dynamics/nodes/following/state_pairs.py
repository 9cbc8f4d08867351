"""Link and motor states that come on two topics, put together again."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.messages import SECOND, JointStates, MessageError

ALONE = 50  # states without their fellow, one after the other, that are no fault yet


class StatePairs:
    """Pairs of the newest link and the newest motor state, each used once.

    A robot samples both at once and stamps them alike, so with tolerance 0 (s) the stamps must be
    equal. Where they come apart, `tolerance` allows for the distance, which must stay below half a
    period. `stamp`: ns, of the pair; the newer one of the two.

    On a busy computer the states of one side may be read in a row before those of the other, and a
    message may get lost: a state that is older than the newest of the other side is left out, and
    counted in `alone`.

    links, motors: as they are; each pair is read off them. `needs_links` False: every motor state
    is a pair by itself.
    """

    def __init__(self, links: JointStates, motors: JointStates, *, needs_links: bool) -> None:
        self.links, self.motors, self.needs_links = links, motors, needs_links
        self.alone = 0
        self.restart()

    def restart(self) -> None:
        """Forget everything but the count: time jumped."""
        self.links.restart()
        self.motors.restart()
        self.stamp = 0
        self._fresh: set[JointStates] = set()
        self._in_a_row = 0

    def add(self, states: JointStates, tolerance: float) -> bool:
        """`states`, one of the two, has a new state; True where a pair is complete.

        Where both are new and their stamps do not go together, the newer one waits for its fellow.
        Raises MessageError then if it is so ALONE times and more in a row.
        """
        self._fresh.add(states)
        links, motors = self.links, self.motors
        if not self.needs_links:
            self.stamp = motors.stamp
            return states is motors
        if len(self._fresh) < 2:
            return False
        apart = links.stamp - motors.stamp
        if abs(apart) <= int(SECOND * tolerance):
            self._fresh.clear()
            self._in_a_row = 0
            self.stamp = max(links.stamp, motors.stamp)
            return True
        self._fresh.discard(motors if apart > 0 else links)
        self.alone += 1
        self._in_a_row += 1
        if self._in_a_row < ALONE:
            return False
        older = "motor" if apart > 0 else "link"
        raise MessageError(
            "out of step",
            f"link and motor states are {1e-9 * abs(apart):.6f} s apart, the {older} state being"
            f" older; allowed: {tolerance:g} (pair_tolerance)",
        )


def missing_of(states: Sequence[JointStates]) -> str:
    """The joints and motors that have not come yet, for people."""
    return ", ".join(name for each in states for name in each.missing)
