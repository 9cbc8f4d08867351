# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Control laws that make an arm with elastic joints follow q_d(t), for the control cycle.

    LinearFeedback         tau = tau_ff + G_theta (theta_d - theta) + G_theta' (theta_d' - theta')
      (1), (2)                   + G_q (q_d - q) + G_q' (q_d' - q') + integral,
                           with theta_d, theta_d', tau_ff of the flat map ([M21] (2), (3)) of q_d
    FeedbackLinearization  q'''' = v, see `feedback_linearization`
      (3)
    ComputedTorque         q'' = q_d'' + k_d e' + k_p e,  tau = Q(q, q', q'') + M_m q'' + friction
      (4)                  which treats the joints as rigid
    ScheduledFeedback      (2) with gains of the whole arm that follow its pose, see
                           `scheduled_feedback`
    TorqueController       spring torques follow a reference, see `torque_controller`
    JointImpedance         links that yield to contacts like springs and dampers, see `impedance`
    CartesianImpedance     the same for a tool
    ElasticStructureController
                           ESP and ESPi: dampers and springs on links, see `elastic_structure`
    HoldController         stops the arm and holds it, see `hold_controller`
    LateHoldController     the same with torques that arrive late, see `late_hold`
    LinkDampingController  a slow stop from link states alone, see `link_damping`

(1) is LinearFeedback with `motor_side_gains`, the classic law, which needs motor encoders only; (2)
is the same with gains on all four states, designed by `placed_gains` or `optimal_gains`
(`joint_gains`).

All laws accept any mix of actuators: n joints, m motors, and v joints whose stiffness or pretension
follows a separate reference. Motor friction is compensated completely or in part: at the desired
motor velocity in (1) and (2), so viscous friction still damps; at the measured one in (3) and (4),
which cancels its damping. Torques are not limited here: `bumpless_transfer` does that, and reports
to the law with :meth:`Controller.applied` what was actually sent.

All values are on the link side of the gear, in N m, rad, s; `elastic.kinds` explains in which
equations the rotor inertias appear.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import isfinite
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...core import (
    STATE_ROWS,
    Array,
    BoundCall,
    CheckedRows,
    DynamicsError,
    IndependentCopies,
    InputError,
    as_array,
    check_sequence,
    compiled_exactly,
    inlined_exactly,
    read_only,
)
from ...elastic import (
    Actuators,
    MotorFeedforward,
    SpringSolver,
    directed_friction,
    friction_row,
    friction_torque,
)
from ...model import MultibodyModel
from ...rigid import inverse_solver
from ..gains.coupled_gains import CoupledGains
from ..gains.joint_gains import StateFeedbackGains, check_fit, rest_outputs
from ..gains.joint_values import per_name
from ..observers.adaptive_feedforward import AdaptationSettings, AdaptiveFeedforward
from ..observers.disturbance_compensation import SHARE, DisturbanceCompensation
from ..records.actuation import actuation
from ..signals.clamped_integral import ClampedIntegral

FEEDBACKS = ("motor", "link")
PERIOD = 1e-3  # s


class Past(NamedTuple):
    """The newest sample of a robot with known delays.

    links : q, q' (n,); motors : theta, theta' (m,), as measured.
    torque : (m,) mean motor torque that acted since the previous sample.
    """

    links: Sequence[Array]
    motors: Sequence[Array]
    torque: Array


class Computed(NamedTuple):
    """What the caller has computed already; None where the law has to compute it.

    now, ahead : Q, Q', Q'' (3, n) along the desired motion, and along the motion ahead, without
        external torques. springs : at the measured state.
    """

    now: Array | None = None
    ahead: Array | None = None
    springs: SpringSolver | None = None


NOTHING = Computed()


class Controller(IndependentCopies, ABC):
    """A control law: from the desired motion and the measured state to the motor torques.

    :meth:`update` copies its arguments and overwrites `torque` in place. Only the caller
    writes `external_torque` and `stiffness`, except that `update` overwrites `stiffness` if it is
    given one.

    Attributes
    ----------
    torque : (m,) N m, in the order of `actuators.motor_names`; :meth:`update` overwrites it.
    applied_torque : (m,) N m that was sent: `torque`, unless :meth:`applied` reported another.
    external_torque : (n,) N m, external joint torques, assumed constant; zero unless the caller
        writes them. An example is the residual of a :class:`.DisturbanceObserver`, which then acts
        as an integrator that cannot wind up, provided that the observer receives the torque that
        was sent, not the requested one (at joints with springs it needs no motor torque).
    base_torque : (n,) N m that the motion of the base adds at the measured state, for laws that
        observe disturbances; zero unless the caller writes it, see :meth:`move_base`.
    stiffness : (3, v) second outputs to follow, with rates; initially mid-range.
    friction : share of the motor friction that is compensated, 0 to 1, a scalar or (m,).
    period : s from one update to the next; may be set before every update.
    elapsed : s since the last update; the caller sets it where cycles may be missing, because
        `period` is limited. A value applies to one update only; without one, `period` applies.
    feedback_share : of the gains that the next update may use, 0 to 1, see
        :func:`.torque_steps.feedback_share`, if `reduces_gains`.
    observes : whether the next update measures links and motors; if not, because they are carried
        along a reference, disturbances are observed by the next update that does, for the whole
        time since the last one.
    lead : s by which `ahead` leads `desired`; laws that predict the state use it.

    Not thread-safe. Raises InputError if robot and actuators do not match.
    """

    knows_link_friction: ClassVar[bool] = False
    """Whether its flat maps are those of a desired motion, along which the friction of links is
    defined; it is a disturbance for other laws."""
    reduces_gains: ClassVar[bool] = False
    """Whether it multiplies its gains by `feedback_share`; the torque of other laws gives way as a
    whole to that of the reference."""
    uses_motion: ClassVar[bool] = True
    """Whether it uses the desired motion, or has no reference of the motors of its own."""

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        *,
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        check_fit(model, actuators)
        n, m = actuators.n, len(actuators.motors)
        self.model, self.actuators = model, actuators
        self.torque: Array = np.zeros(m)
        self._last_torque: Array = np.zeros(m)
        self._reported_map: MotorFeedforward | None = None
        self.applied_torque: Array = np.zeros(m)
        self.external_torque: Array = np.zeros(n)
        self.base_torque: Array = np.zeros(n)
        self._base_moves = False
        self.compensation: DisturbanceCompensation | None = None
        self.friction = friction
        self.period = period
        self.elapsed = 0.0
        self.feedback_share = 1.0
        self.observes = True
        self._unobserved = 0.0  # s since disturbances were observed
        self.lead = 0.0
        self._inverse = inverse_solver(model)
        self._moved_by_base: list[Any] = [self._inverse]  # all that computes torques on the base
        self._desired, self._ahead = np.zeros((2, 5, n))
        self._links, self._motors = np.zeros((2, n)), np.zeros((2, m))
        self._past: Past | None = None
        self._computed = NOTHING
        self.stiffness: Array = rest_outputs(actuators)
        names, motors = actuators.joint_names, actuators.motor_names
        rows = [f"desired {row}" for row in STATE_ROWS]
        self._desired_rows = CheckedRows(rows, names, self._desired)
        self._ahead_rows = CheckedRows([f"{row} ahead" for row in rows], names, self._ahead)
        self._link_rows = CheckedRows(("q", "qd"), names, self._links)
        self._motor_rows = CheckedRows(("theta", "thetad"), motors, self._motors)

    @property
    def lead(self) -> float:
        return self._lead

    @lead.setter
    def lead(self, time: float) -> None:
        if not 0.0 <= time < np.inf:
            raise InputError(f"lead is {time} s: must be zero or greater")
        self._lead = float(time)

    @property
    def friction(self) -> Array:
        return self._friction

    @friction.setter
    def friction(self, share: Any) -> None:
        row = per_name("friction", share, self.actuators.motor_names, of="motor")
        if (row > 1.0).any():
            j = int(np.argmax(row))
            raise InputError(
                f"motor '{self.actuators.motor_names[j]}': friction is {row[j]:g}: the share to "
                f"compensate must be between 0 and 1"
            )
        self._friction = read_only(row)
        self._leaves_friction = bool((row < 1.0).any())

    def update(
        self, desired: Any, q: Any, qd: Any, theta: Any, thetad: Any, *, stiffness: Any = None,
        ahead: Any = None, past: Past | None = None, computed: Computed = NOTHING,
    ) -> Array:  # fmt: skip
        """Compute `torque` from the desired motion and the measured state.

        Parameters
        ----------
        desired : (5, n) q .. q''''.
        q, qd : (n,); theta, thetad : (m,). Pass zeros for a row that the law does not use.
        stiffness : (3, v) second outputs with rates; kept for the following updates.
        ahead : (5, n) desired motion at the mean time at which the torque acts: half a cycle
            later, plus the delay of the drive. The feedforward is evaluated at that time, which
            recovers most of the accuracy that is lost by holding the torque for a cycle; feedback
            uses the present reference.
        past : where the state was predicted over a delay (:class:`.StatePredictor`), the measured
            state and the torque that acted up to it; observers of disturbances compare the two.
        computed : inverse dynamics and springs that the caller has already. A caller that gives
            them answers for all other arrays, too: they are copied unchecked.

        Raises InputError for wrong shapes, NaN or infinity, and DynamicsError where the law has no
        finite solution; `torque` is then unchanged.
        """
        if computed is NOTHING:
            self._take(desired, (q, qd), (theta, thetad), ahead)
        else:
            self._desired[:], self._ahead[:] = desired, ahead
            self._links[0], self._links[1] = q, qd
            self._motors[0], self._motors[1] = theta, thetad
        if stiffness is not None:
            self._take_stiffness(stiffness)
        self._past, self._computed = past, computed
        return self._compute(ahead is not None)

    @property
    def spring_states(self) -> Array | None:
        """States of dampers, slip elements and bristles along the desired motion, as in
        `MotorFeedforward`; None if the law has no flat map."""
        return None if self._reported_map is None else self._reported_map.states

    def _time_passed(self) -> float:
        """s since the last update; `elapsed` is used up."""
        step, self.elapsed = self.elapsed or self.period, 0.0
        return step

    def _take(self, desired: Any, links: Any, motors: Any, ahead: Any) -> None:
        """Check and copy all inputs; overridden by laws that use only some."""
        check_sequence("desired", desired, "rows")
        self._desired_rows.take(tuple(desired))
        self._link_rows.take(links)
        self._motor_rows.take(motors)
        if ahead is not None:
            check_sequence("ahead", ahead, "rows")
            self._ahead_rows.take(tuple(ahead))

    def _compute(self, has_ahead: bool) -> Array:
        """Compute `torque` from the copied inputs and the arrays that the caller may write; leave
        it unchanged if any of these, or the result, is not finite."""
        second = float(self.stiffness.sum()) if self.stiffness.size else 0.0
        if not isfinite(sum(self.external_torque.tolist()) + second):
            names = self.actuators.joint_names
            as_array("external_torque", self.external_torque, (len(names),), names)
            self._take_stiffness(self.stiffness)
        self._last_torque[:] = self.torque
        self._law(has_ahead)
        if not isfinite(self.torque.dot(self.torque)):
            j = int(np.argmin(np.isfinite(self.torque)))
            wrong = self.torque[j]
            self.torque[:] = self._last_torque
            raise DynamicsError(
                f"motor '{self.actuators.motor_names[j]}': {type(self).__name__} yields {wrong} "
                f"N m; the desired motion or the gains are too large"
            )
        self.applied_torque[:] = self.torque
        return self.torque

    @property
    def motor_reference(self) -> Array | None:
        """(4, m) theta, theta', theta'' and torque of the motors along the desired motion, as the
        law has computed them in the last update; None if it does not need them."""
        return None

    @property
    def memory(self) -> tuple[Array, ...]:
        """The memory of the law besides `applied_torque`: the arrays that every update after the
        first reads and overwrites. Estimates of the adaptation and filters of the desired motion
        are not included."""
        return ()

    def problems(self) -> tuple[str, ...]:
        """Problems of the feedforward at the last update, by motor, such as a stiffness beyond its
        range; empty if there were none."""
        return () if self._reported_map is None else self._reported_map.problems()

    def _take_stiffness(self, stiffness: Any) -> None:
        rows = as_array(
            "stiffness", stiffness, self.stiffness.shape, self.actuators.variable_joints
        )
        if rows.shape != self.stiffness.shape:
            raise InputError(f"stiffness: expected shape {self.stiffness.shape}, got {rows.shape}")
        self.stiffness[:] = rows

    def applied(self, torque: Array) -> None:
        """Report, after `update`, the torque (m,) that was actually sent: less than `torque` where
        limits cut it, or while the law fades in. Integrators use it to avoid windup."""
        self.applied_torque[:] = torque

    def limit(self, torque: Array) -> None:
        """Receive the limits (m,), in N m, on the torques that will be sent; for laws whose
        reference gives way at a limit."""

    def reset(self) -> None:
        """Clear the effects of earlier updates: integrators and the filters of damped springs."""
        self.torque[:] = self.applied_torque[:] = self.elapsed = 0.0

    @property
    def lowerings(self) -> int:
        """How often the law has become slower than it was designed, because it noticed an
        oscillation. Laws without a compensation of disturbances notice none, and ignore a new
        value."""
        return 0 if self.compensation is None else self.compensation.lowerings

    @lowerings.setter
    def lowerings(self, value: int) -> None:
        if self.compensation is not None:
            self.compensation.lowerings = value

    def vary(self, k: int) -> None:
        """Set the numbers that may change while the law runs, such as a stiffness, to the k-th of a
        fixed sequence of values; 0: to the present target. Stability is judged with these values;
        the law must not be running."""

    def set_model(self, model: MultibodyModel) -> None:
        """Use another model of the robot from the next update on, for example with a payload; gains
        are unchanged.

        Raises InputError if it has other joints, and then changes nothing.
        """
        check_fit(model, self.actuators)
        self._inverse.set_model(model)
        self.model = model

    def move_base(self, pose: Array, rates: Array) -> None:
        """Use this motion of the base from the next update on, see
        :meth:`.ModelSolver.move_base`."""
        for each in self._moved_by_base:
            each.move_base(pose, rates)
        self._base_moves = True

    def _inverse_dynamics(self, motion: Array) -> None:
        """Q, Q', Q'' that the joints must provide, with the external torques subtracted."""
        inverse = self._inverse
        if motion is not inverse.state:
            inverse.state[:] = motion
        known = None
        if motion is self._desired:
            known = self._computed.now
        elif motion is self._ahead:
            known = self._computed.ahead
        if known is None:
            inverse.update()
        else:
            inverse.result[:] = known
        self._subtract_known(inverse.result)

    def _subtract_known(self, torque: Array) -> None:
        """Subtract the torques that act on the links anyway, and their rates, from (3, n)."""
        np.subtract(torque[0], self.external_torque, out=torque[0])

    def _feedforward(self, flat: MotorFeedforward) -> Array:
        """Motor torques (m,) of the flat map, with the compensated share of friction."""
        torque = flat.update().torque
        if self._leaves_friction:
            own = self.actuators.friction(flat.command.velocity, flat.load)
            torque -= (1.0 - self._friction) * own
        return torque

    def _flat_map(self, variant: str = "full") -> MotorFeedforward:
        """A flat map of the motion and torques that :meth:`_inverse_dynamics` computes."""
        inverse, actuators = self._inverse, self.actuators
        if not self.knows_link_friction:
            actuators = actuators.without_link_friction()
        return MotorFeedforward(actuators, inverse.state, inverse.result, variant=variant)

    def _map(self, flat: MotorFeedforward, motion: Array) -> Array:
        """Motor torques (m,) along a desired motion; advances the filters of damped springs."""
        self._inverse_dynamics(motion)
        if self.stiffness.size:
            flat.stiffness[:] = self.stiffness
        torque = self._feedforward(flat)
        flat.advance(self.period)
        return torque

    @abstractmethod
    def _law(self, has_ahead: bool) -> None:
        """Fill `torque` from the copied inputs."""


@inlined_exactly
def feed_back(joint_of_motor, desired, q, qd, reference, theta, thetad, torque, share, gains):
    """Torques of a `share` of the gains (4, m) on the errors of q, q' of the links that the motors
    drive, and of theta, theta' from the first two rows of their `reference`."""
    for j in range(torque.shape[0]):
        i = joint_of_motor[j]
        torque[j] = share * (
            gains[0, j] * (desired[0, i] - q[i])
            + gains[1, j] * (desired[1, i] - qd[i])
            + gains[2, j] * (reference[0, j] - theta[j])
            + gains[3, j] * (reference[1, j] - thetad[j])
        )


@inlined_exactly
def subtract_known(torque, external, disturbance, disturbance_rate):
    """Subtract the torques that act on the links anyway, and their rates, from Q, Q', Q''."""
    for i in range(external.shape[0]):
        torque[0, i] = torque[0, i] - external[i] - disturbance[i]
        torque[1, i] -= disturbance_rate[i]


@inlined_exactly
def link_friction(a, velocity, torque, states, friction):
    """Write the friction torques (n,) of the links at their desired velocities under the torques
    Q, with their bristles among the states of the feedforward."""
    for i in range(velocity.shape[0]):
        friction[i] = 0.0
        if a.has_link_friction[i]:
            law = friction_row(a.link_friction, i, 0)
            if a.bristle_state[i] != 0:
                y = states[a.bristle_state[i]]
                friction[i] = directed_friction(law, velocity[i], torque[i], y)
            else:
                friction[i] = friction_torque(law, velocity[i], torque[i])


@inlined_exactly
def known_torques(a, external, velocity, torque, states, known):
    """Write what acts on the links besides springs, motors and their own inertia to `known`: the
    external torques, and the friction of links at their desired velocity under the torques Q."""
    link_friction(a, velocity, torque, states, known)
    for i in range(external.shape[0]):
        known[i] = external[i] - known[i]


_KNOWN = compiled_exactly(known_torques)
compiled_link_friction = compiled_exactly(link_friction)
_FEED_BACK = compiled_exactly(feed_back)
_SUBTRACT = compiled_exactly(subtract_known)


class LinearFeedback(Controller):
    """Laws (1) and (2): feedforward of the flat map, and linear feedback of motor and link errors.

    Parameters
    ----------
    gains : gains of the motors, see :class:`.StateFeedbackGains`; may be set between updates.
    variant : how springs enter the feedforward (`dyn.elastic.VARIANTS`): "full", or
        "quasi_static", the classic choice with motor-side PD.
    integral : (m,) or a scalar, N m/(rad s): gain on the integral of the error. While a motor
        delivers less than requested (:meth:`applied`), its integral does not grow in that
        direction.
    integrates : the error of the "link", or of the "motor" where there are no link encoders.
    disturbance_bandwidth, lowered_link_bandwidth, disturbance_share : settings of a
        :class:`.DisturbanceCompensation`, the second None for the same as the first, which takes
        the place of an integral; a bandwidth of 0 turns it off. Call :meth:`applied` whenever the
        torque that is sent differs from `torque`.
    adaptation : how masses and inertias in the feedforward adapt, see
        :class:`.AdaptiveFeedforward`; None for no adaptation.

    Without compensation and adaptation, only those rows of the state are used whose gains,
    including that of the integral, are not zero.
    Attributes: `compensation` and `adaptive`, each None if not in use.
    """

    knows_link_friction = reduces_gains = True

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        gains: StateFeedbackGains,
        *,
        variant: str = "full",
        integral: Any = 0.0,
        integrates: str = "link",
        disturbance_bandwidth: float = 0.0,
        lowered_link_bandwidth: float | None = None,
        disturbance_share: float = SHARE,
        adaptation: AdaptationSettings | None = None,
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        check_fit(model, actuators, gains.motor_names, "gains")
        super().__init__(model, actuators, friction=friction, period=period)
        self.gains = gains
        self.integral = per_name("integral", integral, actuators.motor_names, of="motor")
        self.integrates, self.variant = _chosen("integrates", integrates), variant
        self._has_integral = bool(self.integral.any())
        self._integral = ClampedIntegral(len(actuators.motors))
        self._now, self._later = self._flat_map(variant), self._flat_map(variant)
        self._reported_map = self._now
        self.disturbance_bandwidth = disturbance_bandwidth
        if lowered_link_bandwidth is None:
            lowered_link_bandwidth = disturbance_bandwidth
        self.lowered_link_bandwidth = lowered_link_bandwidth
        self.disturbance_share = disturbance_share
        self.compensation = (
            DisturbanceCompensation(
                model,
                actuators,
                disturbance_bandwidth,
                lowered_bandwidth=lowered_link_bandwidth,
                share=disturbance_share,
                band=self.link_disturbance_band,
            )
            if disturbance_bandwidth
            else None
        )
        self.adaptive = (
            AdaptiveFeedforward(model, adaptation, lag_bandwidth=disturbance_bandwidth)
            if adaptation is not None
            else None
        )
        if self.adaptive is not None:
            self._moved_by_base.append(self.adaptive)
        self.adaptation = adaptation
        self._undisturbed, self._known = np.zeros((2, actuators.n))
        # of the last cycle, until the next flat map
        self._last_Q, self._last_rate = self._inverse.result[:2]
        self._present = Past(tuple(self._links), tuple(self._motors), self.applied_torque)
        self._actuation = actuation(actuators)
        self._joint_of_motor = self._actuation.joint_of_motor
        self._links_have_friction = bool(actuators.has_link_friction.any())
        own = self.compensation
        if own is not None:
            self._subtract = BoundCall(
                _SUBTRACT, self._inverse.result, self.external_torque, own.link, own.link_rate
            )
            self._subtract()  # compiles
        self._feed_back_errors = BoundCall(
            _FEED_BACK, self._joint_of_motor, self._desired, *self._links, self._now.result,
            *self._motors, self.torque,
        )  # fmt: skip
        LinearFeedback._feed_back(self)  # compiles
        external, velocity, Q, known = np.zeros((4, actuators.n))
        _KNOWN(self._actuation, external, velocity, Q, self._now.states, known)
        self.torque[:] = 0.0

    def reset(self) -> None:
        super().reset()
        self._integral.reset()
        self._now.settle()
        self._later.settle()
        self._unobserved = 0.0
        if self.compensation is not None:
            self.compensation.reset()
        if self.adaptive is not None:
            self.adaptive.reset()

    def set_model(self, model: MultibodyModel) -> None:
        super().set_model(model)
        if self.compensation is not None:
            self.compensation.set_model(model)
        if self.adaptive is not None:
            self.adaptive.set_model(model)

    def applied(self, torque: Array) -> None:
        """Undo the last step of each integral that drove its motor further beyond a limit."""
        super().applied(torque)
        if self._has_integral:
            self._integral.undo(self.torque - torque)

    def _compensate(self, compensation: DisturbanceCompensation, step: float) -> None:
        past = self._past or self._present
        springs = self._computed.springs if self._past is None else None
        if springs is None:
            compensation.springs.stiffness[:] = self.stiffness[:2]
            compensation.springs.states[:] = self._now.states
        known = self.external_torque
        if self._links_have_friction:
            known = self._known
            along = self._desired[1], self._last_Q, self._now.states
            _KNOWN(self._actuation, self.external_torque, *along, known)
        if self._base_moves:
            known = known - self.base_torque
        wanted = self._desired[1], self._last_rate
        compensation.update(step, past.links, past.motors, past.torque, known, *wanted, springs)

    @property
    def memory(self) -> tuple[Array, ...]:
        own = () if self.compensation is None else self.compensation.memory
        return (self.integral_torque, *own) if self._has_integral else own

    @property
    def link_disturbance_bandwidth(self) -> float:
        """rad/s, poles of the disturbance observers of the links; 0 without compensation."""
        return 0.0 if self.compensation is None else self.compensation.link_bandwidth

    @property
    def link_disturbance_band(self) -> Array:
        """(n,) N m or N, within which disturbances of links are held at rest: the torques that
        close the gaps of backlashes; 0 with gains on links, which are too soft to do without."""
        contact = self.actuators.contact_torque
        return np.zeros_like(contact) if self.uses_links else contact

    def _inverse_dynamics(self, motion: Array) -> None:
        super()._inverse_dynamics(motion)
        if self.adaptive is not None:
            self.adaptive.apply(self._inverse.state, self._inverse.result)

    def _subtract_known(self, torque: Array) -> None:
        own = self.compensation
        if own is None:
            super()._subtract_known(torque)
        else:
            self._subtract()

    def _law(self, has_ahead: bool) -> None:
        step = self._time_passed()
        self._unobserved += step
        if self.compensation is not None and self.observes:
            self._compensate(self.compensation, self._unobserved)
            self._unobserved = 0.0
        if self.adaptive is not None and not self.lowerings:
            unexplained = self._undisturbed if self.compensation is None else self.compensation.link
            self.adaptive.update(step, self._links, self._desired, unexplained)
        torque = self._map(self._now, self._desired)
        self._feed_back()
        if has_ahead:
            torque = self._map(self._later, self._ahead)
        np.add(self.torque, torque, out=self.torque)
        if self._has_integral:
            self._integral.add(self.integral, self._integrated(), self.period)
            np.add(self.torque, self.integral_torque, out=self.torque)
        if self.compensation is not None:
            np.subtract(self.torque, self.compensation.motor, out=self.torque)

    @property
    def motor_reference(self) -> Array | None:
        return self._now.result

    def _integrated(self) -> Array:
        """(m,) the error that the integrals take."""
        if self.integrates == "motor":
            return np.asarray(self._now.result[0] - self._motors[0])
        return (self._desired[0] - self._links[0])[self.actuators.joint_of_motor]

    def _feed_back(self) -> None:
        """Fill `torque` from the errors of links and motors."""
        self._feed_back_errors(self.feedback_share, self.gains.values)

    @property
    def integral_torque(self) -> Array:
        """(m,) N m of the integrals."""
        return self._integral.torque

    @property
    def uses_links(self) -> bool:
        """Whether the gains act on errors of the links, too."""
        return bool(self.gains.values[:2].any())

    def gains_at(self, q: Array) -> CoupledGains:
        """The gains that the law has at rest at q (n,), on all links and motors."""
        return CoupledGains.of_joints(self.gains, self.actuators)


class ComputedTorque(Controller):
    """Law (4), for comparison: the computed torque of a rigid arm, which ignores the springs.

    proportional, derivative: k_p in 1/s^2, k_d in 1/s, (n,) or scalar, together `gains` (2, n).
    feedback: "motor" uses theta as q, as an arm without link encoders does (at an antagonistic
    joint the mean of both motors); "link" uses the measured q, and the springs between motor and
    encoder then allow only small k_p and k_d. The stiffness of variable joints is set for their
    loads at rest.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        proportional: Any,
        derivative: Any,
        *,
        feedback: str = "motor",
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        super().__init__(model, actuators, friction=friction, period=period)
        self.feedback = _chosen("feedback", feedback)
        names = actuators.joint_names
        rows = zip(("proportional", "derivative"), (proportional, derivative), strict=True)
        self.gains: Array = read_only([per_name(name, row, names) for name, row in rows])
        self._flat = self._flat_map("rigid")
        self._reported_map = self._flat
        self._error = np.zeros((2, actuators.n))

    def _law(self, has_ahead: bool) -> None:
        motion, error = self._inverse.state, self._error
        if self.feedback == "link":
            motion[:2] = self._links
        else:
            np.matmul(self._motors, self.actuators.link_of_motors, out=motion[:2])
        np.subtract(self._desired[:2], motion[:2], out=error)
        np.multiply(self.gains, error, out=error)
        np.sum(error, axis=0, out=motion[2])
        acceleration = self._ahead[2] if has_ahead else self._desired[2]
        np.add(motion[2], acceleration, out=motion[2])
        self._inverse_dynamics(motion)
        if self.stiffness.size:
            self._flat.stiffness[:] = self.stiffness
        self.torque[:] = self._feedforward(self._flat)


def _chosen(name: str, value: str) -> str:
    if value not in FEEDBACKS:
        raise InputError(f"{name} '{value}': expected one of {', '.join(FEEDBACKS)}")
    return value
