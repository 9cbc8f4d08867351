# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The state of links and motors of an arm with elastic joints, from the available sensors.

Link state (q, q') and motor state (theta, theta') come from one of SOURCES: by a
:class:`.DerivativeFilter`, or from motor encoders alone by a :class:`.MotorSideObserver`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Array, IndependentCopies, InputError, as_array
from ...elastic import Actuators
from ...model import MultibodyModel
from ..signals.derivative_filter import MAX_STEP, ORDERS, DerivativeFilter, positive, time_step
from .motor_side_observer import MAX_INNOVATION, JointState, MotorSideObserver

FILTER_BANDWIDTH, FILTER_ORDER = 100.0, 3  # Hz; of the filters in a control cycle, by default
SOURCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "link_and_motor_encoders": ("link_position", "motor_position"),
        "motor_encoders_and_torque_sensors": ("motor_position", "joint_torque"),
        "motor_encoders": ("motor_position", "motor_torque"),
        "as_described": ("link_position", "motor_position", "joint_torque"),
    }
)
"""The signals from which the link state is estimated, on the link side of the gear.

link_position q (n,) and motor_position theta (m,) in rad; joint_torque Q (n,) in N m, of a sensor
between motor and link; motor_torque tau_m (m,) in N m, the one that acted since the last update.
With torque sensors q follows from the spring law, theta - K^-1 Q for a linear spring, and depends
on the stiffness; with motor encoders alone it depends on the whole model. `as_described` follows
the `torque_sources` of the actuators joint by joint: it uses q for spring deflection and Q for a
torque sensor; the other entries may have any value, even NaN.
"""


@dataclass(frozen=True)
class StateEstimation:
    """How the state of links and motors is estimated: the settings of :class:`StateEstimator`.

    source : one of SOURCES. bandwidth : bandwidth of the filter or the observer, Hz. order : order
    of the filter, 2 to 4. max_step : s; a longer gap causes a restart. max_innovation : largest
    innovation that the observer accepts, rad. Raises InputError for values out of range.
    """

    source: str = "as_described"
    bandwidth: float = 40.0
    order: int = FILTER_ORDER
    max_step: float = MAX_STEP
    max_innovation: float = MAX_INNOVATION

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InputError(f"source '{self.source}': expected one of {', '.join(SOURCES)}")
        if self.order not in ORDERS:
            raise InputError(f"order of the filter is {self.order!r}: must be 2, 3 or 4")
        positive("bandwidth", self.bandwidth, "Hz")
        positive("max_step", self.max_step, "s")
        positive("max_innovation", self.max_innovation, "rad")


class StateEstimator(IndependentCopies):
    """q, q', theta, theta' of elastic joints from the measured signals of a robot.

    >>> settings = StateEstimation("motor_encoders_and_torque_sensors", bandwidth=60.0)
    >>> estimator = StateEstimator(model, actuators, settings)
    >>> q, qd, theta, thetad = estimator.update(t, motor_position=theta, joint_torque=Q)

    At rigid joints q is theta where there are no link encoders. Deflections of damped springs are
    filtered from Q, taken as linear between two samples.

    Attributes: `state`, a JointState of views into the filter or the observer, which `update`
    overwrites in place; `link`, q and its derivatives to order - 1 with the filter, (order, n), q
    and q' with the observer, (2, n); `signals`, the names that each update needs; `starts`;
    `refused`, how many samples the observer rejected. Not thread-safe. Raises InputError for joints
    that the source cannot estimate.
    """

    def __init__(
        self, model: MultibodyModel, actuators: Actuators, settings: StateEstimation
    ) -> None:
        actuators.refuse_other_joints(model)
        self.settings, self.actuators = settings, actuators
        n, m = model.n, len(actuators.motors)
        by_torque = np.zeros(n, dtype=bool)
        if settings.source == "motor_encoders_and_torque_sensors":
            by_torque[:] = True
        elif settings.source == "as_described":
            by_torque = actuators.has_torque_sensor | actuators.is_rigid
        self._by_torque, self._uses_torque = by_torque, bool(by_torque.any())
        self._positions = np.zeros(n + m)
        needs = {
            "link_position": ~by_torque,
            "motor_position": np.ones(m, dtype=bool),
            "joint_torque": by_torque & ~actuators.is_rigid,
            "motor_torque": np.ones(m, dtype=bool),
        }
        self._needs = {name: needs[name] for name in SOURCES[settings.source]}
        if settings.source == "as_described":
            self._needs = {name: needed for name, needed in self._needs.items() if needed.any()}
        self.signals: tuple[str, ...] = tuple(self._needs)
        self._needs_all = {name: bool(needed.all()) for name, needed in self._needs.items()}
        stiffness = _linear_stiffness(actuators, by_torque)
        self._compliance = None if stiffness is None else 1.0 / stiffness
        self._deflection, self._torque, self._slip = np.zeros((3, n))
        self._time: float | None = None
        gap = settings.max_step
        self._observer: MotorSideObserver | None = None
        if settings.source == "motor_encoders":
            observer = MotorSideObserver(
                model,
                actuators,
                settings.bandwidth,
                max_step=gap,
                max_innovation=settings.max_innovation,
            )
            self._observer, self.state = observer, observer.state
            self.link: Array = observer.link
        else:
            # one filter for links and motors, so their estimates have the same phase
            names = (*model.joint_names, *(f"{name} (motor)" for name in actuators.motor_names))
            self._filter = DerivativeFilter(names, settings.order, settings.bandwidth, max_step=gap)
            rows = self._filter.state
            self.state = JointState(rows[0, :n], rows[1, :n], rows[0, n:], rows[1, n:])
            self.link = rows[:, :n]

    def design(self, q: Any) -> None:
        """See :meth:`.MotorSideObserver.design`; does nothing without an observer."""
        if self._observer is not None:
            self._observer.design(q)

    def move_base(self, pose: Array, rates: Array) -> None:
        """See :meth:`.MotorSideObserver.move_base`; does nothing without an observer."""
        if self._observer is not None:
            self._observer.move_base(pose, rates)

    @property
    def uses_terms(self) -> bool:
        """Whether friction of links or slip elements make a difference, see :meth:`set_terms`."""
        actuators = self.actuators
        if self._observer is not None:
            return bool(actuators.has_link_friction.any()) or actuators.slip_count > 0
        return self._uses_torque and actuators.slip_count > 0

    def set_terms(self, link_friction: Array, spring_states: Array) -> None:
        """Take the friction of the links (n,) in N m, and the states of slip elements as of a
        :class:`.MotorFeedforward`, which follow the desired motion; zero at first."""
        if self._observer is not None:
            self._observer.link_friction[:] = link_friction
            self._observer.spring_states[:] = spring_states
        elif self._uses_torque and self.actuators.slip_count:
            self._slip[:] = self.actuators.slip_torque(spring_states)

    @property
    def _estimator(self) -> DerivativeFilter | MotorSideObserver:
        return self._filter if self._observer is None else self._observer

    @property
    def starts(self) -> int:
        return self._estimator.starts

    @property
    def refused(self) -> int:
        return 0 if self._observer is None else self._observer.refused

    @property
    def is_settled(self) -> bool:
        """Whether at least a settling time has passed since the last start."""
        return self._estimator.is_settled

    @property
    def knows_speed(self) -> bool:
        """Whether the velocities of the sides that are measured are valid."""
        return self.is_settled

    def reset(self) -> None:
        """Clear the state: the next update restarts the estimation."""
        self._estimator.reset()
        self._time = None

    def update(self, t: float, *, stiffness: Any = None, **signals: Any) -> JointState:
        """Update `state` to t in s from the `signals` that the source needs; others are ignored.

        stiffness : (2, v) rows k and k' of the variable joints, needed where no motor determines k
        and the source is not the link encoders. Jumps and gaps in t are handled as in the filter
        and the observer. Raises InputError for a missing signal, and for wrong shapes, NaN or
        infinity; `state` is then unchanged.
        """
        given = {name: self._signal(signals, name) for name in self.signals}
        theta = given["motor_position"]
        if self._observer is not None:
            return self._observer.update(t, theta, given["motor_torque"], stiffness=stiffness)
        step = time_step(t, self._time)
        if -self.settings.max_step <= step <= 0.0:
            return self.state
        q = given.get("link_position", 0.0)
        if self._uses_torque:
            Q = given.get("joint_torque", np.zeros(self.actuators.n))
            of_springs = Q - self._slip
            behind = self._behind_springs(step, theta, of_springs, stiffness)
            q = np.where(self._by_torque, behind, q)
        n = self.actuators.n
        self._positions[:n], self._positions[n:] = q, theta
        self._filter.advance(t, self._positions)
        self._time = t
        return self.state

    def coast(self, t: float, links: Array, motors: Array) -> JointState:
        """Carry `state` to t in s without signals, along the velocities and accelerations of a
        reference, (2, n) and (2, m), see :meth:`.DerivativeFilter.coast`; an observer waits."""
        if self._observer is None:
            self._filter.coast(t, *np.concatenate([links, motors], axis=1))
            self._time = t
        return self.state

    def _behind_springs(self, step: float, theta: Array, Q: Array, stiffness: Any) -> Array:
        """Link positions (n,) from motor positions and joint torques, `step` s after the last
        update."""
        if self._compliance is not None:
            return np.asarray(theta[self.actuators.first_motor] - self._compliance * Q)
        deflection = self._deflection
        if self.actuators.is_damped.any():
            rows = np.zeros((3, self.actuators.n))
            if 0.0 < step <= self.settings.max_step:
                rows[:2] = self._torque, (Q - self._torque) / step
                deflection = self.actuators.deflection_after(
                    deflection, rows, step, beyond="continue"
                )
            else:
                rows[0] = Q
                deflection = self.actuators.settled_deflection(rows, beyond="continue")
        q = self.actuators.link_position(
            theta,
            Q,
            stiffness=stiffness,
            deflection=deflection,
            where=self._by_torque,
            beyond="continue",
        )
        self._deflection, self._torque = deflection, Q
        return q

    def _signal(self, signals: Mapping[str, Any], name: str) -> Array:
        if signals.get(name) is None:
            given = [each for each in signals if signals[each] is not None]
            raise InputError(
                f"{name} is missing: the source {self.settings.source} needs "
                f"{' and '.join(self.signals)}; given: {', '.join(given) or 'nothing'}"
            )
        needed = self._needs[name]
        is_of_motors = name.startswith("motor")
        names = self.actuators.motor_names if is_of_motors else self.actuators.joint_names
        value = signals[name]
        if not self._needs_all[name] and np.shape(value) == needed.shape:
            value = np.where(needed, value, 0.0)
        return as_array(name, value, (len(names),), names)


def _linear_stiffness(actuators: Actuators, where: NDArray[np.bool_]) -> Array | None:
    """(n,) K, inf for rigid joints; None if any joint in the mask `where` is neither rigid nor has
    an undamped linear spring behind an exact gear."""
    stiffness = np.full(actuators.n, np.inf)
    for i, actuator in enumerate(actuators.actuators):
        if actuator.is_rigid or not where[i]:
            continue
        spring = actuator.series_spring
        is_plain = actuator.damping == 0.0 and not getattr(actuator, "kinematic_error", ())
        K = spring.constant_stiffness if spring is not None and is_plain else None
        if K is None:
            return None
        stiffness[i] = K
    return stiffness
