# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A torque source: joints with springs exert commanded torques on their links.

    tau_m = u / a + (1 - 1 / a) load + friction + b d,
    u = load_d + a M_m theta_d'' + D_s (phi_d' - phi') + k_i integral of (load_d - load)

The flat map turns the torque reference tau_d, with rates where known, into loads and deflections of
every motor: theta_d = q + phi_d(tau_d), for a linear spring q + tau_d / K, and the inertial torque
M_m theta_d''. Around it are torque feedback with inertia shaping (`inertia_shaping`), which leaves
the share a of the rotor inertia, a damper on the deflection rate, an integral, and an observer of
the disturbance d (`torque_observer`), of which the share b is compensated. `torque_gains` designs
these numbers; all but a may be zero.

All errors are errors of motors against their own springs. The law therefore applies without change
to nonlinear springs and to antagonistic ones, where it controls the pretension as well; at rigid
joints, the motor delivers the torque directly. Motors that only set a stiffness are held by a PD
loop.
"""

from typing import Any

import numpy as np

from ...core import Array, CheckedRows, InputError, as_array
from ...elastic import Actuators, SpringSolver
from ...model import MultibodyModel
from ..gains.joint_gains import check_fit
from ..gains.joint_values import per_name
from ..signals.clamped_integral import ClampedIntegral
from ..torque.inertia_shaping import InertiaShaping
from ..torque.torque_gains import TorqueGains
from ..torque.torque_observer import TorqueObserver
from .controllers import PERIOD, Controller

TORQUE_ROWS = ("joint torque", "its rate", "its second derivative")


class TorqueController(Controller):
    """Torque control: make the spring torques Q follow tau_d (:meth:`command`), or the torques that
    a desired motion needs (:meth:`update`).

    >>> gains = inertia_shaping_gains(model, actuators, q)
    >>> source = TorqueController(model, actuators, gains)
    >>> tau_m = source.command(tau_d, q, qd, theta, thetad)  # every cycle

    Parameters
    ----------
    gains : gains of the motors; may be set between updates: the observer then starts again from
        zero.
    delay : s from a measurement to its torque; the observer allows for it in whole periods.
    link_stiffness, link_damping : (n,) or a scalar, N m/rad and N m s/rad. :meth:`update` adds the
        torques of these springs and dampers between desired and actual links to the reference: an
        impedance around the motion. Zero lets the links drift.
    friction : share that is compensated, at the velocity of the motor's reference.

    Attributes: those of a :class:`Controller`, and `integral_torque` (m,), N m, and `disturbance`
    (m,) of the observer. While a motor delivers less than requested (:meth:`applied`), its integral
    does not grow in that direction, and the observer uses what was sent.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        gains: TorqueGains,
        *,
        delay: float = 0.0,
        link_stiffness: Any = 0.0,
        link_damping: Any = 0.0,
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        check_fit(model, actuators, gains.motor_names, "gains")
        actuators.refuse_base_springs("torque control")
        super().__init__(model, actuators, friction=friction, period=period)
        n, m = actuators.n, len(actuators.motors)
        if not 0.0 <= delay < np.inf:
            raise InputError(f"delay is {delay} s: must be zero or greater")
        self.delay = float(delay)
        names = actuators.joint_names
        self.link_stiffness: Array = per_name("link_stiffness", link_stiffness, names)
        self.link_damping: Array = per_name("link_damping", link_damping, names)
        self._flat, self._later = self._flat_map(), self._flat_map()
        self._reported_map = self._flat
        self._springs = SpringSolver(actuators, *self._links, *self._motors)
        self._reference = np.zeros((3, n))
        self._reference_rows = CheckedRows(TORQUE_ROWS, actuators.joint_names, self._reference)
        self._acceleration: Array = np.zeros(n)
        self._is_commanded = False
        self._integral = ClampedIntegral(m)
        self._u: Array = np.zeros(m)
        self._friction_torque, self._known = np.zeros((2, m))
        self._error = np.zeros((2, m))
        self._joint = actuators.joint_of_motor
        self._is_elastic = ~actuators.is_rigid
        self._drives = actuators.torque_share == 0.0
        self.gains = gains

    @property
    def gains(self) -> TorqueGains:
        return self._gains

    @gains.setter
    def gains(self, gains: TorqueGains) -> None:
        check_fit(self.model, self.actuators, gains.motor_names, "gains")
        actuators = self.actuators
        known = np.where(self._is_elastic, gains.stiffness, 1.0)
        self._design_stiffness = as_array(
            "stiffness of the gains", known, (actuators.n,), actuators.joint_names
        )
        self._gains, self._cycle = gains, self.period
        self.shaping = InertiaShaping(actuators, gains.share)
        shaped = self.shaping.is_shaped
        self._integral_gain = np.where(shaped, gains.integral, 0.0)
        self._observer = TorqueObserver(
            actuators.motor_inertia, np.where(shaped, gains.observer, 0.0), period=self._cycle
        )
        self._acted = np.zeros((1 + round(self.delay / self._cycle), len(shaped)))
        self._damping = np.where(shaped, gains.damping, 0.0)
        self._observes = bool(self._observer.bandwidth.any())

    @property
    def integral_torque(self) -> Array:
        """(m,) N m of the integrals."""
        return self._integral.torque

    @property
    def disturbance(self) -> Array:
        """(m,) N m that the observer estimated at the last update; zero without one."""
        return self._observer.disturbance

    @property
    def memory(self) -> tuple[Array, ...]:
        own = self._acted, self._known, *self._observer.memory
        if self._integral_gain.any():
            own = (self.integral_torque, *own)
        if not self.actuators.is_damped.any():
            return own
        return (*own, self._flat.deflection, self._later.deflection)

    def reset(self) -> None:
        super().reset()
        self._integral.reset()
        self._known[:] = 0.0
        self._acted[:] = 0.0
        self._observer.reset()
        self._flat.settle()
        self._later.settle()

    def applied(self, torque: Array) -> None:
        """Undo the last step of each integral that drove its motor further beyond a limit; the
        observer uses this torque."""
        super().applied(torque)
        self._integral.undo(self.torque - torque)

    def command(
        self, joint_torque: Any, q: Any, qd: Any, theta: Any, thetad: Any, *,
        acceleration: Any = None, stiffness: Any = None,
    ) -> Array:  # fmt: skip
        """Compute `torque` (m,) from a reference of the joint torques and the measured state.

        joint_torque : tau_d (n,) in N m, or (3, n) with its first two time derivatives.
        acceleration : (n,) expected q'' of the links, if known: the motors then move along without
            first deflecting the springs.

        Other arguments and exceptions are those of :meth:`update`.
        """
        rows = joint_torque
        if np.ndim(rows) == 1:
            zero = np.zeros(self.actuators.n)
            rows = (rows, zero, zero)
        self._reference_rows.take(tuple(rows))
        names, n = self.actuators.joint_names, self.actuators.n
        self._acceleration[:] = (
            0.0 if acceleration is None else as_array("acceleration", acceleration, (n,), names)
        )
        self._link_rows.take((q, qd))
        self._motor_rows.take((theta, thetad))
        if stiffness is not None:
            self._take_stiffness(stiffness)
        self._is_commanded = True
        try:
            return self._compute(False)
        finally:
            self._is_commanded = False

    def _inverse_dynamics(self, motion: Array) -> None:
        """Set Q, Q', Q'' to the commanded reference; without one, to the torques that the motion
        needs, plus those of the springs and dampers between desired and actual links."""
        inverse = self._inverse
        if self._is_commanded:
            inverse.state[:2], inverse.state[2] = self._links, self._acceleration
            inverse.state[3:] = 0.0
            inverse.result[:] = self._reference
            return
        super()._inverse_dynamics(motion)
        error = self._desired[:2] - self._links
        inverse.result[0] += self.link_stiffness * error[0] + self.link_damping * error[1]
        inverse.result[1] += self.link_stiffness * error[1]

    def _law(self, has_ahead: bool) -> None:
        springs, shaping, flat, u = self._springs, self.shaping, self._flat, self._u
        joint, torque, step = self._joint, self.torque, self._time_passed()
        self._note_acted(step)
        if self.stiffness.size:
            springs.stiffness[:] = self.stiffness[:2]
        springs.update()
        forward = self._map(flat, self._desired)
        # load_d, M_theta theta_d'' and friction; the flat map yields their sum, but with M_m
        _, velocity, acceleration, _ = flat.result
        np.multiply(self.actuators.motor_inertia, acceleration, out=self._friction_torque)
        self._friction_torque += flat.load
        np.subtract(forward, self._friction_torque, out=self._friction_torque)
        np.multiply(shaping.apparent_inertia, acceleration, out=u)
        u += flat.load
        load = np.where(shaping.is_shaped, springs.load, flat.load)
        wanted_rate = velocity - self._inverse.state[1][joint]
        rate = self._motors[1] - self._links[1][joint]
        u += self._damping * self._stiffening()[joint] * (wanted_rate - rate)
        # only over the period, which is limited: the error during missing cycles is not known
        self._integral.add(self._integral_gain, flat.load - load, self.period)
        u += self.integral_torque
        torque[:] = shaping.shape(u, load)
        torque += self._friction_torque
        if self._drives.any():
            np.subtract(flat.result[:2], self._motors, out=self._error)
            torque += (self.gains.drive * self._error).sum(axis=0)
        if self._observes:
            observer = self._observer
            observer.set_period(step)
            d = observer.update(self._motors[0] - self._links[0][joint], load, self._acted[-1])
            torque += self.gains.observer_share * d
            # known friction and link acceleration do not count as disturbances
            np.multiply(
                self.actuators.motor_inertia, self._inverse.state[2][joint], out=self._known
            )
            self._known += self._friction_torque
        if has_ahead and not self._is_commanded:
            now = forward.copy()
            torque += self._map(self._later, self._ahead) - now

    def _note_acted(self, step: float) -> None:
        """Shift the delay line of the observer by the cycles that have passed.

        Its rows are cycles as designed: `period` is longer after missing ones.
        """
        acted = self._acted
        count = min(max(round(step / self._cycle), 1), len(acted))
        acted[count:] = acted[:-count]
        np.subtract(self.applied_torque, self._known, out=acted[0])
        acted[1:count] = acted[0]

    def _stiffening(self) -> Array:
        """(n,) square roots of the present over the designed stiffness."""
        K = np.where(self._is_elastic, self._springs.stiffness_felt, 1.0)
        return np.sqrt(np.maximum(K, 0.0) / self._design_stiffness)
