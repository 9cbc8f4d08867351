# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""External joint torques without a sensor: the momentum observer of De Luca and Haddadin.

The residual r = L (p - int (Q - beta - friction + r) dt), with the momentum p of the links
(:mod:`momentum_balance`), follows

    r' = L (tau_ext - r),

joint by joint and for any motion: a first-order low-pass with the time constant 1 / L. It treats
the mean external torque of a step h as constant, for which the solution is exact:

    r_k = r_(k-1) + (1 - exp(-L h)) (mean tau_ext - r_(k-1)).

The update is therefore stable for any step, and the response to a constant disturbance is exactly
1 - exp(-L t) at the samples, whatever their spacing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import Array, IndependentCopies, InputError, as_array
from ...elastic import Actuators
from ...model import MultibodyModel
from ..signals.derivative_filter import MAX_STEP, time_step
from .momentum_balance import MomentumBalance, driven_links


class DisturbanceObserver(IndependentCopies):
    """Residual r (n,) that follows the external joint torques, a first-order low-pass of them.

    >>> observer = DisturbanceObserver(model, gain=30.0)
    >>> r = observer.update(t, q, qd, Q)  # every cycle

    Parameters
    ----------
    model : the links; a rotor counts (as reflected inertia) where Q is its motor's torque.
    gain : L in 1/s, (n,) or one for all joints; the time constant is 1 / L. Noise in q' and Q
        passes up to the frequency L; errors of the model and of the friction appear as external
        torques.
    friction : maps q' (n,) to the friction torques (n,) in N m, on the side of q' and Q.
    is_held : (n,) or one for all: whether Q was held since the last update, like a commanded motor
        torque, and not sampled at t, like a measured torque.
    max_step : s; a longer gap between two updates restarts the observer.

    Attributes: `residual` (n,) r in N m, which `update` overwrites in place; `starts`: how often
    the observer has started; it increases after a gap or a jump in time. Not thread-safe.
    Raises InputError for gains or steps out of range.
    """

    def __init__(
        self,
        model: MultibodyModel,
        gain: Any,
        *,
        friction: Callable[[Array], Array] | None = None,
        is_held: Any = False,
        max_step: float = MAX_STEP,
    ) -> None:
        self._balance = MomentumBalance(model, friction=friction, is_held=is_held)
        self.model, self.friction, self.max_step = model, friction, float(max_step)
        n, names = model.n, model.joint_names
        self.gain = np.array(as_array("gain", np.full(n, gain), (n,), names))
        for j in np.flatnonzero(self.gain <= 0.0).tolist():
            raise InputError(f"joint '{names[j]}': gain is {self.gain[j]} 1/s, must be positive")
        if not self.max_step > 0.0:
            raise InputError(f"max_step is {max_step} s: must be positive")
        self.residual: Array = np.zeros(n)
        self.starts = 0
        self._time: float | None = None

    @classmethod
    def of_motors(
        cls,
        model: MultibodyModel,
        actuators: Actuators,
        gain: Any,
        *,
        link_viscous: Any = 0.0,
        has_sensors: bool = True,
        max_step: float = MAX_STEP,
    ) -> DisturbanceObserver:
        """An observer for the Q that the `torque_sources` of the actuators provide; without
        `has_sensors`, Q of all rigid joints is the torque of their motors. See
        :func:`.driven_links`."""
        links, friction, is_held = driven_links(
            model, actuators, link_viscous, has_sensors=has_sensors
        )
        return cls(links, gain, friction=friction, is_held=is_held, max_step=max_step)

    def reset(self) -> None:
        """Clear the state: the next update starts with r = 0."""
        self._time = None
        self.residual[:] = 0.0

    def update(self, t: float, q: Any, qd: Any, torque: Any) -> Array:
        """Update `residual` to the time t in s, from q, q' and Q (n,) at that time (or held until
        then), and return it.

        The first update starts with r = 0, as does any update after a gap or a jump backwards of
        more than `max_step`. A t that equals the last one, or is up to `max_step` earlier, changes
        nothing. Raises InputError for wrong shapes, NaN or infinity, and then changes nothing.
        """
        n, names = self.model.n, self.model.joint_names
        q = as_array("q", q, (n,), names)
        qd = as_array("qd", qd, (n,), names)
        torque = as_array("torque", torque, (n,), names)
        step = time_step(t, self._time)
        if -self.max_step <= step <= 0.0:
            return self.residual
        if not 0.0 < step <= self.max_step:
            self._balance.reset()
        external = self._balance.update(step, q, qd, torque)
        if external is None:
            self.residual[:] = 0.0
            self.starts += 1
        else:
            self.residual -= np.expm1(-self.gain * step) * (external - self.residual)
        self._time = float(t)
        return self.residual
