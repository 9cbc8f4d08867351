# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An arm with elastic joints as measured: the states of links and motors, the torques of springs
and gravity, external torques, collisions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import Array, DynamicsError, IndependentCopies
from ...elastic import Actuators, SpringSolver
from ...model import MultibodyModel
from ...rigid import InverseSolver, inverse_solver
from ..laws.flatness_settings import FlatnessSettings
from ..observers.collision_detection import CollisionDetector, DrivingTorque
from ..observers.disturbance_observer import DisturbanceObserver
from ..observers.motor_side_observer import MAX_INNOVATION
from ..observers.state_estimation import StateEstimator
from ..signals.derivative_filter import DerivativeFilter

QUIET = 0.2  # s without a rejected sample until the observer's state is considered valid again


class MeasuredArm(IndependentCopies):
    """An arm as measured; :meth:`update` processes the signals of one cycle.

    The caller writes `announced` and `link_friction`. estimator : of the state; a new one by
    `settings` if not given.

    Attributes
    ----------
    estimator : its `state` has q, q', theta, theta'.
    motors : measured theta and theta', (m,) each: rows of `estimator.state`, but with
        motor_encoders filtered from the motor positions alone, not taken from the observer.
    state : (n,), (n,), (m,), (m,) q, q', theta, theta' on which the laws act: of the links by the
        estimator, and `motors`.
    springs : torques, loads and deflections at the estimated state.
    observer : of external torques; None without one.
    detector : of collisions; None without thresholds.
    base_torque : (n,) that the motion of the base adds to the torques of the joints, N m.
    announced : (n,) external joint torques that are known at the next sample, N m, and that
        `detector` does not treat as a contact.
    link_friction : (n,) N m, of the links along the desired motion. It follows the reference, since
        its sign would follow the noise of measured velocities near rest.
    lost : why the observer of motor_encoders has no valid state after the last sample; empty
        otherwise.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        settings: FlatnessSettings,
        estimator: Any = None,
    ) -> None:
        self.actuators = actuators
        estimation = settings.estimation
        self.estimator: StateEstimator = estimator or StateEstimator(model, actuators, estimation)
        self._motor_filter: DerivativeFilter | None = None
        self.motors: tuple[Array, Array] = self.estimator.state[2:]
        if estimation.source == "motor_encoders":
            self._motor_filter = DerivativeFilter(
                actuators.motor_names,
                estimation.order,
                settings.motor_bandwidth,
                max_step=estimation.max_step,
            )
            self.motors = self._motor_filter.state[0], self._motor_filter.state[1]
        self.state = (*self.estimator.state[:2], *self.motors)
        self.springs = SpringSolver(actuators, *self.estimator.state)
        self._weight = inverse_solver(model)
        self._no_velocity = np.zeros(model.n)
        self.base_torque: Array = np.zeros(model.n)
        self._on_base: tuple[InverseSolver, InverseSolver] | None = None
        self._model = model
        self.set_gravity_position(self.estimator.state.q)
        self._rigid = np.flatnonzero(actuators.is_rigid)
        self.observer = (
            DisturbanceObserver.of_motors(
                model, actuators, settings.observer_gain, has_sensors=False
            )
            if settings.observer_gain
            else None
        )
        self.detector: CollisionDetector | None = None
        if settings.collisions is not None:
            gap = estimation.max_step
            self.detector = CollisionDetector(model, actuators, settings.collisions, max_step=gap)
        self._driving = DrivingTorque(actuators, self.estimator.signals)
        self.announced: Array = np.zeros(model.n)
        self.link_friction: Array = np.zeros(model.n)
        self._links_have_friction = bool(actuators.has_link_friction.any())
        # An estimator that is given filters both positions, and needs no springs to do so.
        self._uses_terms = estimator is None and self.estimator.uses_terms
        self._at_rest = actuators.link_friction_offset
        self.restart()

    def restart(self) -> None:
        """Reset the filters and the observers."""
        self.estimator.reset()
        if self._motor_filter is not None:
            self._motor_filter.reset()
        self.lost, self._lost_at, self._time = "", -np.inf, 0.0
        self._is_new, self._skipped = True, False
        if self.observer is not None:
            self.observer.reset()
        if self.detector is not None:
            self.detector.reset()

    def update(self, t: float, signals: Mapping[str, Array], acted: Array, second: Array) -> None:
        """Update everything from signals measured at t in s; acted : (m,) mean motor torques since
        the last sample, N m; second : (3, v) second outputs.

        Raises InputError for invalid signals, and then leaves the state unchanged. With
        motor_encoders only invalid motor positions raise; any other failure sets `lost`.
        """
        if self._uses_terms:
            self.estimator.set_terms(self.link_friction, self.springs.states)
        if self._motor_filter is None:
            self.estimator.update(t, stiffness=second[:2], **signals)
        else:
            self._filter_motors(self._motor_filter, t, signals["motor_position"])
            self._observe(t, signals, second[:2])
        self._load_springs(second)
        self._load_base()
        if self.observer is None and self.detector is None:
            return
        state = self.estimator.state
        driving = self._driving.of(self.springs.torque, signals, acted)
        if self._links_have_friction:
            driving = driving - self.link_friction
        if self._on_base is not None:
            driving = driving - self.base_torque
        if self.observer is not None:
            self.observer.update(t, state.q, state.qd, driving)
        if self.detector is not None:
            self.detector.update(t, state.q, state.qd, driving, self.announced)

    def move_base(self, pose: Array, rates: Array) -> None:
        """Use this motion of the base from the next update on: in `gravity`, the torques at rest on
        it, in the links that are observed, and in torques that observers do not mistake for
        contacts."""
        if self._on_base is None:
            moving, still = (inverse_solver(self._model) for _ in range(2))
            self._on_base = moving, still
        for each in (self._on_base[0], self._weight, self.estimator):
            each.move_base(pose, rates)
        self._gravity_is_current = False

    def _load_base(self) -> None:
        """Set `base_torque` at the estimated state, if the base moves."""
        if self._on_base is not None:
            for solver in self._on_base:
                solver.state[:2] = self.estimator.state[:2]
                solver.update()
            moving, still = self._on_base
            np.subtract(moving.result[0], still.result[0], out=self.base_torque)

    def coast(self, t: float, references: Sequence[Array], second: Array) -> None:
        """Take the arm to follow its reference as closely as before up to t in s, see
        :meth:`.StateEstimator.coast`; observers of external torques wait for samples."""
        self.estimator.coast(t, *references)
        self._load_springs(second)

    def _load_springs(self, second: Array) -> None:
        self.springs.stiffness[:] = second[:2]
        self.springs.update()
        self.set_gravity_position(self.estimator.state.q)

    def set_gravity_position(self, q: Array) -> None:
        """Set `gravity` to that at q (n,), which is read where it is asked for."""
        self._gravity_position = q
        self._gravity_is_current = False

    @property
    def gravity(self) -> Array:
        """(n,) gravity torques in N m, at the measured position or that of
        :meth:`set_gravity_position`."""
        if not self._gravity_is_current:
            self._weight.state[0] = self._gravity_position
            self._weight.update()
            self._gravity_is_current = True
        return self._weight.result[0]

    @property
    def observes_links(self) -> bool:
        """Whether the links are not measured: their state is that of the observer of
        motor_encoders, which may lose track."""
        return self._motor_filter is not None

    def _filter_motors(self, motor_filter: DerivativeFilter, t: float, theta: Array) -> None:
        """Update `motors`; a sample far from the expected position is used only if the previous one
        was far from it, too."""
        step = t - self._time
        if not self._is_new and 0.0 < step <= motor_filter.max_step:
            position, velocity = self.motors
            expected = position + step * velocity
            is_far = bool(np.abs(theta - expected).max() > MAX_INNOVATION)
            self._skipped = is_far and not self._skipped
            if self._skipped:
                theta = expected
        motor_filter.update(t, theta)
        self._time = t

    def _observe(self, t: float, signals: Mapping[str, Array], stiffness: Array) -> None:
        """Update the observer's state and `lost`."""
        estimator = self.estimator
        starts, refused = estimator.starts, estimator.refused
        self.lost = ""
        try:
            estimator.update(t, stiffness=stiffness, **signals)
        except DynamicsError as error:
            self.lost = str(error)
        else:
            if estimator.refused != refused:
                self.lost = "a motor is far from where the observer of motor_encoders predicts it"
            elif estimator.starts != starts and not self._is_new:
                self.lost = "the observer of motor_encoders restarted"
            self._is_new = False
        if self.lost:
            self._lost_at = t

    @property
    def is_settled(self) -> bool:
        """Whether the estimated state is valid for feedback."""
        return self.estimator.is_settled and self._time - self._lost_at >= QUIET

    @property
    def knows_speed(self) -> bool:
        """Whether `velocities` are valid."""
        own = self._motor_filter
        return self.estimator.knows_speed if own is None else own.is_settled

    @property
    def velocities(self) -> tuple[Array, Array]:
        """Velocities of links (n,), zero where the observer may have lost track, and motors
        (m,)."""
        qd = self._no_velocity if self.observes_links else self.estimator.state.qd
        return qd, self.motors[1]

    @property
    def place(self) -> Array:
        """(n,) positions of the links, or of their motors where the observer may have lost
        track."""
        if self.observes_links:
            return np.asarray(self.motors[0] @ self.actuators.link_of_motors)
        return self.estimator.state.q

    @property
    def measured_spring_torque(self) -> Array:
        """(n,) torques of the springs, N m; zero where they are not measured but estimated."""
        return self._no_velocity if self.observes_links else self.springs.torque

    @property
    def speed(self) -> Array:
        """(n,) of each joint, rad/s or m/s: that of its link or of its motors, whichever is
        greater; with motor_encoders that of the motors, since the observer may have lost track."""
        of_motors = np.abs(self.motors[1] @ self.actuators.link_of_motors)
        if self.observes_links:
            return of_motors
        return np.maximum(of_motors, np.abs(self.estimator.state.qd))

    @property
    def joint_torque(self) -> Array:
        """(n,) current torques of the springs; gravity torques at rigid joints."""
        torque = self.springs.torque.copy()
        if self._rigid.size:
            torque[self._rigid] = self.gravity[self._rigid]
        return torque

    def holding_torque(self) -> Array:
        """(m,) motor torques that balance the current spring loads and gravity at rigid joints."""
        load = self.springs.load
        return np.where(np.isnan(load), self.gravity[self.actuators.joint_of_motor], load)

    def without_links(self, signals: Mapping[str, Array], second: Array) -> dict[str, Array]:
        """The signals, with the link signals replaced by those of links at rest on their motors, by
        the model, with second outputs (3, v)."""
        theta, Q = signals["motor_position"], self.gravity + self._at_rest
        k = second[:2]
        own = Q - self.actuators.slip_torque(self.springs.states)
        constant = np.stack([own, 0.0 * Q, 0.0 * Q])  # at rest, damped springs have settled
        settled = self.actuators.settled_deflection(constant, beyond="continue")
        q = self.actuators.link_position(
            theta, own, stiffness=k, deflection=settled, beyond="continue"
        )
        return {**signals, "link_position": q, "joint_torque": Q}
