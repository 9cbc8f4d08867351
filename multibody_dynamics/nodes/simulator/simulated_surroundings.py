"""What acts on the robot of the simulator beside its motors: payload, hit, external wrench, and
stiffnesses that no motor sets."""

from __future__ import annotations

import threading
from collections import deque

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators, VariableStiffness
from ...dynamics.model import MultibodyModel
from ...dynamics.plant import Plant
from ...dynamics.rigid import frame_pose
from ..base.external_wrench import ExternalWrench
from ..base.messages import SECOND, JointMatcher, MessageError, nanoseconds, set_stamp
from ..base.parameters import ParameterError
from .simulator_parameters import SimulatorParameters

Payload = tuple[str, float, tuple[float, ...]]
"""Link, mass, and where it is on the link."""


class Surroundings:
    """Writes what the world does to `plant` into it, as the parameters and messages say.

    Messages come on the executor's thread, the plant runs on its own.
    """

    def __init__(self, p: SimulatorParameters, plant: Plant) -> None:
        self._plant = plant
        self._bare = plant.model
        self._payload: Payload | None = None
        self._lock = threading.Lock()
        self._external = ExternalWrench(plant.model, p.wrench_link)
        self._now = 0  # ns, stamp given to the last message without one
        self.check(p)

    def check(self, p: SimulatorParameters) -> None:
        """Raise ParameterError for links that are not there or do not move."""
        for name in ("payload_link", "hit_link", "wrench_link"):
            link = getattr(p, name)
            if link and not self._moves(link):
                raise ParameterError(f"{name} '{link}' is no link of the robot that moves")

    @property
    def payload_mass(self) -> float:
        """kg, of the payload that hangs on the robot now."""
        return 0.0 if self._payload is None else self._payload[1]

    def _moves(self, link: str) -> bool:
        return link in self._bare.frames and self._bare.frames[link].body >= 0

    def forget_wrench(self) -> None:
        """Time went back: the external wrench is from the future."""
        with self._lock:
            self._external.restart()
            self._now = 0

    def restart(self) -> None:
        """As at the begin: no payload, no wrench."""
        self.forget_wrench()
        self._set_payload(None)
        self._plant.applied_wrenches[:] = 0.0

    def accept(self, message: WrenchStamped, stamp: int, timeout: float) -> None:
        """Take in an external_wrench; a stamp of zero is now. Raises MessageError."""
        given = nanoseconds(message.header.stamp)
        if given == 0:  # several may come while time stands
            self._now = max(stamp, self._now + 1)
            set_stamp(message.header.stamp, self._now)
        elif abs(given - stamp) > int(SECOND * timeout):
            reason = "stale" if given < stamp else "from the future"
            raise MessageError(reason, f"the stamp is {1e-9 * (given - stamp):.3f} s from now")
        with self._lock:
            self._external.accept(message)

    def apply(self, p: SimulatorParameters, elapsed: int, stamp: int) -> bool:
        """What acts now, `elapsed` ns after the first command; tells whether an external wrench has
        just become too old."""
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
    """Stiffnesses of joints whose stiffness no motor sets: JointState, position k, velocity k'.

    k moves on at k' for one cycle, then it stands. `joints`: the names of these joints.
    """

    def __init__(self, actuators: Actuators) -> None:
        free = [
            (actuators.joint_names[i], j, actuator.stiffness_range)
            for i, actuator, _, j in actuators.each()
            if isinstance(actuator, VariableStiffness) and actuator.drive is None
        ]
        self.joints = tuple(name for name, _, _ in free)
        self._columns = np.array([j for _, j, _ in free], dtype=np.intp)
        self._lower, self._upper = np.array([ends for _, _, ends in free]).reshape(-1, 2).T
        self._matcher = JointMatcher(self.joints) if free else None
        self._newest: deque[Array] = deque(maxlen=1)  # from thread to thread

    def restart(self) -> None:
        """Forget what came."""
        self._newest.clear()

    def accept(self, message: JointState) -> None:
        """Take in one message. What is out of range is brought to the nearer bound, and then
        raised, as everything else that is wrong, as MessageError."""
        assert self._matcher is not None
        match = self._matcher.require_all(message.name)
        rows = np.zeros((2, len(self.joints)))
        for row, field in zip(rows, ("position", "velocity"), strict=True):
            numbers = np.array(getattr(message, field))
            if len(numbers) == 0 and field == "velocity":
                continue
            if len(numbers) != len(message.name):
                raise MessageError("wrong length", f"{len(numbers)} numbers in {field}")
            if not np.isfinite(numbers).all():
                raise MessageError("not finite", f"{field} is {numbers}")
            row[match.target] = numbers[match.source]
        wanted = rows[0].copy()
        rows[0] = np.clip(wanted, self._lower, self._upper)
        rows[1, rows[0] != wanted] = 0.0
        self._newest.append(rows)
        for i in np.flatnonzero(rows[0] != wanted):
            raise MessageError(
                "at its bound",
                f"stiffness {wanted[i]:.6g} of '{self.joints[i]}' is limited to {rows[0, i]:.6g}",
            )

    def apply(self, plant: Plant) -> None:
        """Write a new command, if there is one, into the plant; it holds there."""
        if not self.joints:
            return
        if self._newest:
            plant.stiffness[:, self._columns] = self._newest.pop()
        else:
            plant.stiffness[1, self._columns] = 0.0
