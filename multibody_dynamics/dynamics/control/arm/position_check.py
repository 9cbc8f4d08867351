# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rejects positions that a joint cannot have reached since its last state.

Such positions arrive if two publishers send different states on one topic, or if a sensor fails.
Without the check, the controller would take the difference for motion and respond with a torque.
What is allowed does not grow while states are rejected: a sensor that has lost its zero stays
wrong.
"""

from collections.abc import Sequence
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from ...core import Array, BoundCall, IndependentCopies, compiled_exactly
from ...elastic import Actuators
from ...model import MultibodyModel
from ...motion import joint_turns
from ..records.actuation import motor_turns
from ..signals.reach import lasting, lasting_speed, reach

OUTSIDE = np.pi  # rad or m beyond its position limits, at which no joint is found at first


class PositionCheck(IndependentCopies):
    """Compares successive positions of n joints.

    names: of the joints. speed: (n,) their velocity limits, rad/s or m/s; infinite or 0: never
    rejected.
    turn: (n,) rad after which the states of a joint may repeat, see :func:`.joint_turns`; the
    caller moves positions to the nearest turn before they are compared.
    lower, upper: (n,) position limits, by which the first state of a joint is judged; none by
    default.

    Attribute `factor`: multiple of its velocity limit at which a joint may appear to move; 0: no
    check.
    """

    def __init__(
        self,
        names: Sequence[str],
        speed: Array,
        turn: Array,
        factor: float = 0.0,
        *,
        lower: float | Array = -np.inf,
        upper: float | Array = np.inf,
    ) -> None:
        self.names = tuple(names)
        self.factor = factor
        self._speed = lasting_speed(np.array(speed, dtype=np.float64), 1.0)
        self.turn = np.array(turn, dtype=np.float64)
        self.has_turns = bool(self.turn.any())
        n = len(names)
        self._lower, self._upper = np.full(n, lower, float), np.full(n, upper, float)
        self._longest: Array = np.full(len(names), np.inf)  # s that count, since a rejection
        self._is_believed = np.zeros(n, dtype=np.int64)
        self._all, self._elapsed, self._no_step = np.arange(n), np.zeros(n), np.zeros(n)
        own = self._speed, self._lower, self._upper, self._longest, self._is_believed
        self._first_fault = BoundCall(_first_fault, *own)
        none, no_numbers = np.empty(0, dtype=np.intp), np.empty(0)
        self._first_fault(none, no_numbers, no_numbers, no_numbers, no_numbers, 0.0)  # compiles

    def accept_next(self) -> None:
        """Accept the next position of every joint, whatever it is."""
        self._is_believed[:] = 1

    def fault(
        self,
        joints: NDArray[np.intp],
        old: Array,
        new: Array,
        elapsed: Array,
        step: Array | None = None,
    ) -> str | None:
        """A description of the first joint that went from `old` to `new` (k,) too fast, or None.

        joints: (k,) their indices. elapsed: (k,) s. Joints that have no state yet have old = NaN.
        step: (k,) rad or m, of their encoders, as far as known; none by default.
        """
        if not self.factor:
            return None
        step = self._no_step if step is None else step
        k = self._first_fault(joints, old, new, elapsed, step, lasting(self.factor))
        if k < 0:
            return None
        joint, seconds = joints[k], self._longest[joints[k]]
        if np.isnan(old[k]):
            beyond = max(self._lower[joint] - new[k], new[k] - self._upper[joint])
            return (
                f"position of '{self.names[joint]}' is {new[k]:.4g}, {beyond:.4g} beyond"
                " its limits; is its zero lost, or its count of turns? Clearing the fault (in the"
                " nodes, ~/enable) accepts it"
            )
        return (
            f"position of '{self.names[joint]}' changed from {old[k]:.4g} to {new[k]:.4g}"
            f" in {seconds:.4g} s, more than {self.factor:g} times its velocity limit allows"
            " (state_speed_factor); is there a second publisher?"
        )

    def fault_of_all(self, old: Array, new: Array, elapsed: float, step: Array) -> str | None:
        """The same for all joints, `elapsed` s after `old`."""
        self._elapsed.fill(elapsed)
        return self.fault(self._all, old, new, self._elapsed, step)


@compiled_exactly
def _first_fault(speed, lower, upper, longest, is_accepted, joints, old, new, elapsed, step, share):
    """The first of `joints` that went too far, at `share` of its speed limit, -1 if none did. Sets
    `longest`, the time that counts from then on, and ends the belief in positions that are
    accepted."""
    first = -1
    for k in range(joints.shape[0]):
        i = joints[k]
        seconds = min(elapsed[k], longest[i])
        if isnan(old[k]):
            is_wrong = max(lower[i] - new[k], new[k] - upper[i]) > OUTSIDE
        else:
            is_wrong = abs(new[k] - old[k]) > reach(share * speed[i], step[k], seconds)
        if is_wrong and not is_accepted[i]:
            first = k
            break
    for k in range(joints.shape[0]):
        i = joints[k]
        longest[i] = inf if first < 0 else min(elapsed[k], longest[i])
        is_accepted[i] *= first >= 0
    return first


def position_checks(
    model: MultibodyModel, actuators: Actuators, factor: float = 0.0
) -> dict[str, PositionCheck]:
    """The checks of "links" and "motors"; not yet in force with a `factor` of 0."""
    turn = joint_turns(model)
    return {
        "links": PositionCheck(
            model.joint_names,
            model.limits.velocity,
            turn,
            factor,
            lower=model.limits.lower,
            upper=model.limits.upper,
        ),
        "motors": PositionCheck(
            actuators.motor_names, actuators.speed_limit, motor_turns(actuators, turn), factor
        ),
    }
