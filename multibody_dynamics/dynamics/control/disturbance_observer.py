"""External joint torques without a sensor: the momentum observer of De Luca and Haddadin.

With the generalised momentum p = M q' and M' = C + C^T (the Christoffel C), the links obey

    p' = Q - beta - friction(q') + tau_ext,    beta = g - C^T q',

which needs no q''. The residual r = L (p - int (Q - beta - friction + r) dt) then follows

    r' = L (tau_ext - r),

joint by joint and for any motion: a first-order low-pass with the time constant 1 / L. Q acts on
the links: spring or sensor torques of elastic joints, motor torques of rigid ones.

Between two samples, h apart, the mean external torque follows without differentiating q':

    mean tau_ext = (p_k - p_(k-1)) / h - mean (Q - beta - friction),

with the second mean by the trapezoidal rule. The low-pass treats it as constant, for which the
solution is exact: r_k = r_(k-1) + (1 - exp(-L h)) (mean tau_ext - r_(k-1)). The update is therefore
stable for any step, and the response to a constant disturbance is exactly 1 - exp(-L t) at the
samples, whatever their spacing. The motion itself contributes only the error of the trapezoidal
rule, which decreases with h^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Array, InputError, as_array
from ..elastic import Actuators
from ..model import MultibodyModel
from ..rigid import InverseDynamicsDerivativesSolver, InverseDynamicsSolver
from .derivative_filter import MAX_STEP, time_step


class DisturbanceObserver:
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
        n = model.n
        self.model, self.friction, self.max_step = model, friction, float(max_step)
        self.gain = np.array(as_array("gain", np.full(n, gain), (n,), model.joint_names))
        for j in np.flatnonzero(self.gain <= 0.0).tolist():
            raise InputError(
                f"joint '{model.joint_names[j]}': gain is {self.gain[j]} 1/s, must be positive"
            )
        if not self.max_step > 0.0:
            raise InputError(f"max_step is {max_step} s: must be positive")
        self.residual: Array = np.zeros(n)
        self.starts = 0
        # weight of the previous Q in the mean over a step: 0.5 if Q is sampled, 0 if it is held
        self._share = np.where(np.broadcast_to(is_held, (n,)), 0.0, 0.5)
        self._derivatives = InverseDynamicsDerivativesSolver(model)
        self._gravity = InverseDynamicsSolver(model, "body")
        self._time: float | None = None
        self._momentum = np.zeros(n)
        self._torque = np.zeros(n)
        self._bias = np.zeros(n)  # beta + friction

    @classmethod
    def of_motors(
        cls,
        model: MultibodyModel,
        actuators: Actuators,
        gain: Any,
        *,
        link_viscous: Any = 0.0,
        max_step: float = MAX_STEP,
    ) -> DisturbanceObserver:
        """An observer for the Q that the `torque_sources` of the actuators provide.

        At elastic joints this is the sampled torque of the springs (:meth:`.Actuators.springs`) or
        of a sensor. At rigid joints without a sensor it is the motor torque, which is held during a
        cycle; the observer then accounts for rotor and friction. `link_viscous` is friction at the
        links, (n,) or a scalar, in N m s/rad. Raises InputError for joints that are not those of
        the model.
        """
        actuators.refuse_other_joints(model)
        actuators.refuse_counting_twice(model.reflected_inertia)
        n, motor = model.n, actuators.first_motor
        by_motor = actuators.is_rigid & ~actuators.has_torque_sensor
        viscous = as_array("link_viscous", np.full(n, link_viscous), (n,), model.joint_names)

        def friction(qd: Array) -> Array:
            at_motors = actuators.friction(qd[actuators.joint_of_motor])[motor]
            return np.where(by_motor, at_motors, 0.0) + viscous * qd

        rotors = np.where(by_motor, actuators.motor_inertia[motor], 0.0)
        coupled = model.with_reflected_inertia(model.reflected_inertia + rotors)
        return cls(coupled, gain, friction=friction, is_held=by_motor, max_step=max_step)

    @property
    def time_constant(self) -> Array:
        """(n,) 1 / L, s."""
        return 1.0 / self.gain

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
        momentum, bias = self._momentum_and_bias(q, qd)
        if 0.0 < step <= self.max_step:
            driving = self._share * self._torque + (1.0 - self._share) * torque
            driving -= 0.5 * (self._bias + bias)
            external = (momentum - self._momentum) / step - driving
            self.residual -= np.expm1(-self.gain * step) * (external - self.residual)
        else:
            self.residual[:] = 0.0
            self.starts += 1
        self._time = float(t)
        self._momentum[:], self._bias[:], self._torque[:] = momentum, bias, torque
        return self.residual

    def _momentum_and_bias(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """p = M q' and beta + friction, with C = (dQ/dq') / 2 since C q' is quadratic in q'."""
        state = self._derivatives.state
        state[0], state[1], state[2] = q, qd, 0.0
        self._derivatives.update()
        _, slope, M = self._derivatives.result
        self._gravity.state[0] = q
        self._gravity.update()
        bias = self._gravity.result[0] - 0.5 * (qd @ slope)
        if self.friction is not None:
            bias += self.friction(qd)
        return M @ qd, bias
