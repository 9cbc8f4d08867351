# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The environment of the simulated arm: payload, hit, external wrench, and commanded stiffnesses
of joints without a motor that sets them."""

import threading
from collections import deque

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.plant import Plant
from ...dynamics.rigid import frame_pose
from ..base.external_wrench import ExternalWrench
from ..base.messages import SECOND, JointMatcher, MessageError, nanoseconds, set_stamp, unusable
from ..base.parameters import ParameterError
from .simulator_parameters import SimulatorParameters

Payload = tuple[str, float, tuple[float, ...]]
"""Link, mass (kg), and position in the frame of the link (m)."""


class SimulatedEnvironment:
    """Applies payload, hit and external wrench to `plant`, as given by parameters and messages.

    Messages arrive in the executor's thread; the plant runs in a separate thread.
    """

    def __init__(self, p: SimulatorParameters, plant: Plant) -> None:
        self._plant = plant
        self._bare = plant.model
        self._payload: Payload | None = None
        self._lock = threading.Lock()
        self._external = ExternalWrench(plant.model, p.wrench_link)
        self._now = 0  # ns; the stamp assigned to the last message without one
        self.check(p)

    def check(self, p: SimulatorParameters) -> None:
        """Raise ParameterError for links that do not exist or do not move."""
        for name in ("payload_link", "hit_link", "wrench_link"):
            link = getattr(p, name)
            if link and not self._moves(link):
                raise ParameterError(f"{name}: '{link}' is not a moving link of the robot")

    @property
    def payload_mass(self) -> float:
        """Mass of the payload that the robot carries now, kg."""
        return 0.0 if self._payload is None else self._payload[1]

    def _moves(self, link: str) -> bool:
        return link in self._bare.frames and self._bare.frames[link].body >= 0

    def forget_wrench(self) -> None:
        """Drop the external wrench, whose stamp is in the future because time jumped back."""
        with self._lock:
            self._external.restart()
            self._now = 0

    def restart(self) -> None:
        """Return to the initial state: no payload, no wrench."""
        self.forget_wrench()
        self._set_payload(None)
        self._plant.applied_wrenches[:] = 0.0

    def accept(self, message: WrenchStamped, stamp: int, timeout: float) -> None:
        """Accept an external_wrench; a zero stamp means now. Raises MessageError."""
        given = nanoseconds(message.header.stamp)
        if given == 0:  # several may arrive while time is paused
            self._now = max(stamp, self._now + 1)
            set_stamp(message.header.stamp, self._now)
        elif abs(given - stamp) > int(SECOND * timeout):
            reason = "stale" if given < stamp else "from the future"
            away = f"{1e-9 * abs(given - stamp):.3f} s"
            text = f"{away} old" if given < stamp else f"{away} ahead of the simulation"
            raise MessageError(reason, f"the stamp is {text}")
        with self._lock:
            self._external.accept(message)

    def apply(self, p: SimulatorParameters, elapsed: int, stamp: int) -> bool:
        """Apply everything that acts `elapsed` ns after the first command; True if an external
        wrench has just expired."""
        plant = self._plant
        loaded = (
            p.payload_mass > 0.0 and elapsed >= _ns(p.payload_time) and self._moves(p.payload_link)
        )
        self._set_payload((p.payload_link, p.payload_mass, p.payload_com) if loaded else None)

        wrenches = plant.applied_wrenches
        wrenches[:] = 0.0
        if 0 <= elapsed - _ns(p.hit_time) < _ns(p.hit_duration) and self._moves(p.hit_link):
            place = frame_pose(self._bare, plant.q, p.hit_link)[:3, 3]
            moment = np.add(p.hit_moment, np.cross(place, p.hit_force))
            wrenches[self._bare.body_index(p.hit_link)] += np.concatenate([moment, p.hit_force])
        with self._lock:
            expired = self._external.expire(stamp, p.wrench_timeout)
            if expired:
                self._external.restart()
            if self._external.body is not None:
                state = np.stack([plant.q, plant.qd, plant.qdd])
                wrenches[self._external.body] += self._external.advance(0.0, 0.0, state)[0]
        return expired

    def _set_payload(self, payload: Payload | None) -> None:
        if payload == self._payload:
            return
        model: MultibodyModel = self._bare
        if payload is not None:
            model = model.with_payload(*payload)
        self._plant.set_model(model)
        self._payload = payload


def _ns(seconds: float) -> int:
    return round(SECOND * seconds)


class StiffnessCommands:
    """Commands for joints whose stiffness is not set by a motor: JointStates with k as position and
    k' as velocity.

    k changes at the rate k' for one cycle and is then held. `joints`: the names of these joints.
    """

    def __init__(self, actuators: Actuators) -> None:
        free = [
            (actuators.joint_names[i], j, actuator.input_range)
            for i, actuator, _, j in actuators.each()
            if actuator.input_range is not None
        ]
        self.joints = tuple(name for name, _, _ in free)
        self._columns = np.array([j for _, j, _ in free], dtype=np.intp)
        self._lower, self._upper = np.array([ends for _, _, ends in free]).reshape(-1, 2).T
        self._matcher = JointMatcher(self.joints) if free else None
        self._newest: deque[Array] = deque(maxlen=1)  # from the executor's thread to the plant's

    def restart(self) -> None:
        """Forget all commands."""
        self._newest.clear()

    def accept(self, message: JointState) -> None:
        """Accept one message; raise MessageError for a defect.

        A stiffness out of range is clipped and applied before the error is raised.
        """
        assert self._matcher is not None
        match = self._matcher.require_all(message.name)
        rows = np.zeros((2, len(self.joints)))
        for row, field in zip(rows, ("position", "velocity"), strict=True):
            numbers = np.array(getattr(message, field))
            if len(numbers) == 0 and field == "velocity":
                continue
            if len(numbers) != len(message.name):
                raise MessageError(
                    "wrong length",
                    f"{len(message.name)} names but {len(numbers)} values in {field}",
                )
            for k in unusable(numbers):
                raise MessageError("not finite", f"{field} of '{message.name[k]}' is {numbers[k]}")
            row[match.target] = numbers[match.source]
        wanted = rows[0].copy()
        rows[0] = np.clip(wanted, self._lower, self._upper)
        rows[1, rows[0] != wanted] = 0.0
        self._newest.append(rows)
        for i in np.flatnonzero(rows[0] != wanted):
            raise MessageError(
                "at its bound",
                f"stiffness {wanted[i]:.6g} of '{self.joints[i]}' clipped to {rows[0, i]:.6g}",
            )

    def apply(self, plant: Plant) -> None:
        """Write a new command, if any, to the plant, which then holds it."""
        if not self.joints:
            return
        if self._newest:
            plant.stiffness[:, self._columns] = self._newest.pop()
        else:
            plant.stiffness[1, self._columns] = 0.0
