# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The topic `impedance_reference`: stiffness and damping of a running impedance.

A message is a trajectory_msgs/JointTrajectory with one point: `joint_names` are the names of the
values, and `positions` the values, N m/rad or N/m. `time_from_start` is the duration of the change.

    joint_impedance, esp_impedance   the joints of the robot
    cartesian_impedance   tool_rx, tool_ry, tool_rz, tool_x, tool_y, tool_z; joints: the posture
    these and esp         damping_ratio
"""

from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory

from ...dynamics.core import InputError
from ..base.cycle_supervisor import CycleSupervisor
from ..base.messages import MessageError, nanoseconds
from ..base.node_inputs import Inputs
from ..base.qos import RELIABLE
from .followed_motion import FollowedMotion
from .live_laws import LiveLaws

TOPIC = "impedance_reference"


class ImpedanceInput:
    """Listens to `impedance_reference` from activation on.

    supervisor: checks stamps. followed: whether the robot may move, and what happened. laws: judge
    what is requested before it takes effect.
    """

    def __init__(
        self, inputs: Inputs, supervisor: CycleSupervisor, followed: FollowedMotion, laws: LiveLaws
    ) -> None:
        self._inputs, self._supervisor = inputs, supervisor
        self._followed, self._laws = followed, laws
        inputs.listen(JointTrajectory, TOPIC, self._on_request, RELIABLE)

    def _on_request(self, message: JointTrajectory) -> None:
        if stamp := nanoseconds(message.header.stamp):  # 0: now
            self._supervisor.check_stamp(stamp)
        self._followed.check_may_move()
        tune = self._laws.tune
        change_impedance(lambda values, s: tune(values, s, self._end), message)

    def _end(self, refusal: str) -> None:
        """Count an impedance whose stability has been judged; `refusal` is "" if it is accepted."""
        if refusal:
            self._inputs.reject(TOPIC, MessageError("impedance refused", refusal))
        else:
            self._followed.events.add("impedances accepted")


def change_impedance(
    change: Callable[[dict[str, float], float], None], message: JointTrajectory
) -> None:
    """Call `change` with the values of a message, by name, and its duration in s.

    Raises MessageError for a defect of the message, and where `change` raises InputError: if the
    law has no stiffness that may be changed while it runs, or cannot realise the one requested. The
    text names the joint.
    """
    names = list(message.joint_names)
    if not names:
        raise MessageError("unnamed", "no names in joint_names, so the values cannot be assigned")
    repeated = sorted({each for each in names if names.count(each) > 1})
    if repeated:
        raise MessageError("repeated joint", f"duplicate name {', '.join(repeated)}")
    if len(message.points) != 1:
        raise MessageError(
            "wrong length", f"{len(message.points)} points; expected one, with the new stiffness"
        )
    (point,) = message.points
    if len(point.positions) != len(names):
        raise MessageError(
            "wrong length", f"{len(names)} names but {len(point.positions)} values in positions"
        )
    time = point.time_from_start
    duration = time.sec + 1e-9 * time.nanosec
    if duration < 0.0:
        raise MessageError("negative time", f"time_from_start is {duration} s")
    values = dict(zip(names, point.positions, strict=True))
    try:
        change(values, duration)
    except InputError as error:
        raise MessageError("impedance refused", str(error)) from None
