# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rejects positions that a joint cannot have reached since its last state.

Such positions arrive if two publishers send different states on one topic, or if a sensor fails.
Without the check, the controller would take the difference for motion and respond with a torque.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel

SMALL_STEP = 0.02  # rad or m; a joint may always move this far between two states
TURN = 2.0 * np.pi


class PositionCheck:
    """Compares successive positions of n joints.

    names: of the joints. speed: (n,) their velocity limits, rad/s or m/s; infinite: never rejected.
    turns: (n,) whether a joint has no position limits, so a driver may restart its count of turns.

    Attribute `factor`: multiple of its velocity limit at which a joint may appear to move; 0: no
    check.
    """

    def __init__(
        self, names: Sequence[str], speed: Array, turns: NDArray[np.bool_], factor: float = 0.0
    ) -> None:
        self.names = tuple(names)
        self.factor = factor
        self._speed = np.array(speed)
        self._turns = np.array(turns)

    def fault(self, joints: NDArray[np.intp], old: Array, new: Array, elapsed: Array) -> str | None:
        """A description of the first joint that went from `old` to `new` (k,) too fast, or None.

        joints: (k,) their indices. elapsed: (k,) s. Joints that have no state yet have old = NaN.
        """
        if not self.factor:
            return None
        step = np.abs(new - old)
        allowed = SMALL_STEP + self.factor * self._speed[joints] * elapsed
        if not (step > allowed).any():
            return None
        step -= np.where(self._turns[joints], TURN * np.round(step / TURN), 0.0)
        for k in np.flatnonzero(np.abs(step) > allowed):
            return (
                f"position of '{self.names[joints[k]]}' changed from {old[k]:.4g} to {new[k]:.4g}"
                f" in {elapsed[k]:.4g} s, more than {self.factor:g} times its velocity limit allows"
                " (state_speed_factor); is there a second publisher?"
            )
        return None


def position_checks(model: MultibodyModel, actuators: Actuators) -> dict[str, PositionCheck]:
    """The checks of "links" and "motors", not yet in force (factor 0)."""
    turns = np.array([kind == "continuous" for kind in model.joint_types])
    of_motors = turns[actuators.joint_of_motor]
    return {
        "links": PositionCheck(model.joint_names, model.limits.velocity, turns),
        "motors": PositionCheck(actuators.motor_names, actuators.speed_limit, of_motors),
    }
