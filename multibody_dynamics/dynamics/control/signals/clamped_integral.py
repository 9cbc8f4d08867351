# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Integral torques of motors that do not wind up while a limit cuts the torque."""

import numpy as np

from ...core import Array, IndependentCopies


class ClampedIntegral(IndependentCopies):
    """Integrals (m,) whose last steps are undone where they led further beyond a limit.

    Attributes: `torque` (m,) in N m.
    """

    def __init__(self, motors: int) -> None:
        self.torque: Array = np.zeros(motors)
        self._step = np.zeros(motors)

    def reset(self) -> None:
        """Begin with zero torque."""
        self.torque[:] = self._step[:] = 0.0

    def add(self, gain: Array, error: Array, period: float) -> None:
        """Integrate gain * error, (m,) each, over `period` s."""
        np.multiply(period * gain, error, out=self._step)
        self.torque += self._step

    def undo(self, missing: Array) -> None:
        """Undo the last step of the motors whose torque lacks `missing` (m,), in N m, in the
        direction of that step."""
        if not self._step.any():
            return
        # By signs: the product of both can underflow to zero.
        self._step *= np.sign(missing) == np.sign(self._step)
        self.torque -= self._step
        self._step[:] = 0.0
