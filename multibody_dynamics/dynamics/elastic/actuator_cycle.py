# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Actuators in the control cycle: motor feedforward and springs, compiled, for any mix of kinds.

Both run :mod:`flat_map` in place, one state at a time, and never interrupt the cycle: `flags`
report springs beyond their travel and infeasible second outputs.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, BoundCall, IndependentCopies, InputError
from .actuator_tables import (
    BEYOND_TRAVEL,
    BRISTLE_STATE,
    DAMPING,
    MOTOR,
    MOTOR_ROW,
    OWN,
    SECOND_OUTPUT_CLIPPED,
    SLIP_STATE,
)
from .actuators import Actuators
from .flat_map import (
    compiled_advance,
    compiled_feedforward,
    compiled_single_feedforward,
    compiled_springs,
)
from .hysteresis import compiled_add_slip, compiled_follow_slip
from .sampled_spring import piecewise
from .spring_tables import spring_tables
from .springs import Spring

HOLDING = 0.8  # share of the motors' torque limits for holding a stiffness; the rest is for motion

VARIANTS: Mapping[str, tuple[float, float]] = {
    "full": (1.0, 1.0),
    "quasi_static": (1.0, 0.0),
    "rigid": (0.0, 0.0),
}
"""Weights of Q and of its rates in the deflections of the feedforward. `full` is exact.
`quasi_static` includes the deflection but not its rates (theta = q + phi, theta' = q',
theta'' = q''), like the usual motor-side controller with gravity or inverse-dynamics feedforward.
`rigid` treats the robot as if it had no springs, or as if its springs carried no load: theta = q
and its rates, tau_m = Q + M_m q''. All three compensate friction at their own theta'."""


class MotorCommand(NamedTuple):
    """theta, theta', theta'' and tau_m on the link side of the gear, each (m,)."""

    position: Array
    velocity: Array
    acceleration: Array
    torque: Array


class ActuatorRows(NamedTuple):
    """All numbers of the actuators: JOINT rows, MOTOR rows, and the tables of the springs."""

    joints: Array
    motors: Array
    laws: Array
    pieces: Array


def actuator_rows(actuators: Actuators) -> ActuatorRows:
    """The actuators as tables, with user-defined spring laws sampled. Raises InputError for a law
    that cannot be sampled."""
    width = max((len(each.joint_row) for each in actuators.actuators), default=OWN)
    joints = np.zeros((actuators.n, width))
    springs: list[Spring] = []
    slips = actuators.n  # states of slip elements follow those of all joints
    for i, actuator, own, second in actuators.each():
        joints[i, : len(actuator.joint_row)] = actuator.joint_row
        joints[i, MOTOR:DAMPING] = own[0], len(springs), second
        springs += [piecewise(spring) for spring in actuator.springs]
        if actuator.slip_count:
            joints[i, SLIP_STATE] = slips
            slips += actuator.slip_count
    joints[:, BRISTLE_STATE] = actuators.bristle_state
    motors = np.array([motor.row for motor in actuators.motors]).reshape(-1, MOTOR_ROW)
    laws, pieces, _ = spring_tables(springs)
    return ActuatorRows(joints, motors, laws, pieces)


def resting_second_outputs(actuators: Actuators) -> Array:
    """(v,) second outputs (stiffness or pretension) in the middle of what springs and motors can
    hold without load."""
    ranges = [
        each.second_output_range(np.zeros(()), HOLDING)
        for each in actuators.actuators
        if each.second_output is not None
    ]
    return np.array([0.5 * float(low + high) for low, high in ranges])


class MotorFeedforward(IndependentCopies):
    """:func:`.motor_motion` for the control cycle: in place, compiled, nothing allocated.

    Fill `state`, `torque` and `stiffness`, call `update()`, read `command`.

    Parameters
    ----------
    state, torque : (5, n) and (3, n) arrays to read from at every update, such as an
        InverseDynamicsSolver's `state` and `result`; new arrays of zeros if not given.
    variant : how springs enter; see VARIANTS.

    Attributes
    ----------
    stiffness : (3, v) second outputs (stiffness or pretension) of `actuators.variable_joints` and
        their first two rates; written by the caller, initially constant in the middle of the range.
    deflection : (n,) state of the joints with dampers or hysteresis; NaN, the initial value, is
        replaced by the settled deflection at the next update.
    states : `deflection`, behind it the torques of all slip elements after the last `update`, and
        behind these the bristles of links after the last `advance`.
    result : (4, m), whose rows are `command`.
    carried : (3, n) Q, Q', Q'' that springs and rigid joints carry: `torque` and the friction of
        the links, along `state`; the array `torque` itself if there is no such friction.
    spring_deflection : (m,) deflection of the spring in front of each motor.
    load : (m,) torque of that spring or rigid joint: tau_m minus inertial torque and friction.
    flags : (m,) integers, sums of BEYOND_TRAVEL and SECOND_OUTPUT_CLIPPED; see `problems`.

    Inputs must be finite; they are not checked. An instance serves one thread.
    """

    def __init__(
        self,
        actuators: Actuators,
        state: Array | None = None,
        torque: Array | None = None,
        *,
        variant: str = "full",
    ) -> None:
        if variant not in VARIANTS:
            raise InputError(f"variant '{variant}': expected one of {', '.join(VARIANTS)}")
        n, m = actuators.n, len(actuators.motors)
        self.actuators = actuators
        self.variant = variant
        self.state = np.zeros((5, n)) if state is None else state
        self.torque = np.zeros((3, n)) if torque is None else torque
        has_friction = actuators.has_link_friction.any()
        self.carried = np.zeros((3, n)) if has_friction else self.torque
        self.stiffness = np.zeros((3, len(actuators.variable_joints)))
        self.stiffness[0] = resting_second_outputs(actuators)
        self.states = np.zeros(actuators.state_count)
        self.deflection = self.states[:n]
        self.result = np.zeros((4, m))
        self.command = MotorCommand(*self.result)
        self.spring_deflection = np.zeros(m)
        self.load = np.zeros(m)
        self.flags = np.zeros(m, dtype=np.int64)
        joints, motors, laws, pieces = actuator_rows(actuators)
        self._update = BoundCall(
            compiled_feedforward if actuators.variable_joints else compiled_single_feedforward,
            joints, motors, laws, pieces, None, np.array(VARIANTS[variant]), self.state,
            self.torque, self.carried, self.stiffness, self.states, self.spring_deflection,
            self.load, self.result, self.flags,
        )  # fmt: skip
        self._advance = BoundCall(
            compiled_advance, joints, laws, pieces, None, self.state, self.carried, self.states
        )
        self._depends_on_time = bool(actuators.is_damped.any() or actuators.bristle_state.any())
        self.advance(0.0)  # compiles
        self.settle()

    def update(self) -> MotorCommand:
        """Compute `result` from `state`, `torque`, `stiffness`, `deflection`; return `command`."""
        self._update()
        return self.command

    def advance(self, dt: float) -> None:
        """Advance damped deflections by dt in s under the torques that they carry, and the bristles
        of links along `state`; slip elements follow the torque in every `update`."""
        if self._depends_on_time:
            self._advance(dt)

    def settle(self) -> None:
        """Settle damped deflections and relax slip elements and bristles at the next update, as at
        the start of a new motion."""
        self.states[:] = 0.0
        self.deflection[self.actuators.has_memory] = np.nan

    def problems(self) -> tuple[str, ...]:
        """Problems of the last update, by motor; empty if there were none."""
        texts = {
            BEYOND_TRAVEL: "spring beyond its travel",
            SECOND_OUTPUT_CLIPPED: "requested stiffness is infeasible; clipped to its range",
        }
        return tuple(
            f"{self.actuators.motor_names[j]}: {text}"
            for j in np.flatnonzero(self.flags)
            for flag, text in texts.items()
            if self.flags[j] & flag
        )


class SpringSolver(IndependentCopies):
    """:meth:`.Actuators.springs` for the control cycle: in place, compiled, nothing allocated.

    Fill q, qd (n,), theta, thetad (m,), and `stiffness` (2, v) where no motor sets it; call
    `update()`; read `torque`, `torque_rate`, `stiffness_felt` (n,), `load`, `deflection` (m,) and
    `beyond_travel` (m,). As in that method, values that deflections do not determine are NaN.
    Beyond the travel, the laws continue along their tangents. Arrays that are not given are created
    as zeros. What slip elements carry depends on the past: `states`, as of a MotorFeedforward, are
    those along the reference, and written by the caller; at first they carry nothing. Without a
    reference, `follow_slip()` moves them with the deflections of the last update.
    """

    def __init__(
        self, actuators: Actuators, q: Array | None = None, qd: Array | None = None,
        theta: Array | None = None, thetad: Array | None = None,
    ) -> None:  # fmt: skip
        n, m = actuators.n, len(actuators.motors)
        self.actuators = actuators
        self.q, self.qd = (np.zeros(n) if row is None else row for row in (q, qd))
        self.theta, self.thetad = (np.zeros(m) if row is None else row for row in (theta, thetad))
        self.stiffness = np.zeros((2, len(actuators.variable_joints)))
        self.stiffness[0] = resting_second_outputs(actuators)
        rigid = actuators.is_rigid
        self.torque = np.where(rigid, np.nan, 0.0)
        self.torque_rate = np.where(rigid | actuators.is_damped, np.nan, 0.0)
        self.stiffness_felt = np.where(rigid, np.inf, 0.0)
        self.load = np.where(rigid[actuators.joint_of_motor], np.nan, 0.0)
        self.deflection = np.zeros(m)
        joints, _, laws, pieces = actuator_rows(actuators)
        self.states = np.zeros(actuators.state_count)
        self.update: Callable[[], None] = BoundCall(
            compiled_springs, joints, laws, pieces, None, self.q, self.qd, self.theta, self.thetad,
            self.stiffness, self.torque, self.torque_rate, self.stiffness_felt, self.load,
            self.deflection,
        )  # fmt: skip
        if actuators.slip_count:
            results = self.states, self.torque, self.load
            self._parts = self.update, BoundCall(compiled_add_slip, joints, *results)
            self.states[: actuators.n] = np.nan
            moved = self.deflection, self.states
            self._follow_slip = BoundCall(compiled_follow_slip, joints, *moved)
            self.update = self._update_with_slip
        self._lower, self._upper = actuators.spring_travel.T
        self.update()
        for actuator in actuators.actuators:  # compiles the inverse laws, which link_position
            for spring in actuator.springs[:1]:  # evaluates in cycles that use this solver
                spring.deflection(0.0, beyond="continue")

    def _update_with_slip(self) -> None:
        for part in self._parts:
            part()

    def follow_slip(self) -> None:
        """Move the slip elements to the present deflections."""
        if self.actuators.slip_count:
            self._follow_slip()

    @property
    def beyond_travel(self) -> NDArray[np.bool_]:
        """(m,) mask of the motors whose springs are beyond their travel."""
        return (self.deflection < self._lower) | (self.deflection > self._upper)
