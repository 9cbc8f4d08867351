# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The limits of the motors, and how often they cut a command."""

from collections.abc import Iterable

import numpy as np

from ...dynamics.core import Array, as_array
from ...dynamics.elastic import SpringSolver, motor_range
from ...dynamics.motion import JointCommandLimits, LimitEvent
from ..base.diagnostics import OK, WARN, EventCounter, Status
from .controlled_robot import ControlledRobot
from .following_parameters import FollowingParameters

OF_MOTION = ("motor position", "motor speed")


class MotorLimits:
    """Limits torques, torque rates and speeds of a robot's motors, and counts what is cut.

    Attributes: `limits`, those of the present parameters; `joint_torque` (n,), what the motors of
    each joint can hold; `cuts`, how often each limit was reached.
    """

    def __init__(self, robot: ControlledRobot, p: FollowingParameters) -> None:
        actuators = robot.actuators
        self._actuators, self._order = actuators, robot.command_order
        self._torque = actuators.torque_limit_within(robot.model.limits.effort)
        is_robots = self._torque < actuators.torque_limit
        self._limited_by = {
            name: "the robot's effort limit" if is_robot else "the motor's torque limit"
            for name, is_robot in zip(actuators.motor_names, is_robots, strict=True)
        }
        limits = robot.model.limits
        self.joint_torque = actuators.joint_torque_limit_within(limits.effort)
        self._range = motor_range(actuators, limits.lower, limits.upper, self.joint_torque)
        self.cuts = EventCounter()
        self.set(p)

    def set(self, p: FollowingParameters) -> None:
        """Take torque_limit_scale and torque_rate_limits from these parameters."""
        actuators = self._actuators
        rates = np.full(len(actuators.motors), np.inf)
        if p.torque_rate_limits:
            rates[self._order] = p.torque_rate_limits
        self.limits = JointCommandLimits(
            actuators.motor_names,
            torque=p.torque_limit_scale * self._torque,
            torque_rate=rates,
            motor_speed=actuators.speed_limit,
        )
        low, high = self._range.T
        self._lowest = np.stack([low, -self.limits.motor_speed])
        self._highest = np.stack([high, self.limits.motor_speed])

    def torque(self, wanted: Array, last: Array, step: float) -> Array:
        """(m,) the wanted torque, limited `step` s after the last one."""
        # The first cycle has no step: with a tiny one, limited rates allow almost no change.
        torque, cuts = self.limits.apply(wanted, last, step or 1e-9)
        self.count(cuts)
        return torque

    def motion(self, wanted: Array) -> Array:
        """(2, m) the wanted motor positions, within the limits of the links and the springs, and
        speeds, limited; infinity is not checked. Raises InputError for NaN."""
        allowed = np.minimum(np.maximum(wanted, self._lowest), self._highest)
        if not (allowed == wanted).all():
            names = self._actuators.motor_names
            as_array("positions and speeds of the motors", wanted, allowed.shape, names)
            for k, j in np.argwhere(allowed != wanted).tolist():
                ends = float(wanted[k, j]), float(allowed[k, j])
                self.count([LimitEvent(names[j], OF_MOTION[k], *ends)])
        return allowed

    def count(self, cuts: Iterable[LimitEvent]) -> None:
        """Count what was cut, with the limit that was responsible for a torque."""
        for cut in cuts:
            by = self._limited_by.get(cut.joint) if cut.quantity == "torque" else None
            self.cuts.add(f"{cut.quantity} of {cut.joint}", f"{cut}, {by}" if by else str(cut))

    def count_travel(self, springs: SpringSolver) -> None:
        """Count springs that are beyond their travel."""
        for j in springs.beyond_travel.nonzero()[0].tolist():
            name, deflection = self._actuators.motor_names[j], springs.deflection[j]
            text = f"the spring of {name} is beyond its travel, at {deflection:.4g}"
            self.cuts.add(f"travel of {name}", text)

    def status(self) -> Status:
        """The number of cuts since the last report, and the totals."""
        recent, values = self.cuts.report()
        text = f"limited {recent} times in the last second" if recent else "nothing limited"
        return Status("limits", WARN if recent else OK, text, values)
