# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Stiffness and damping of a running impedance, from a message.

A trajectory_msgs/JointTrajectory with one point: `joint_names` are the names of the values, and
`positions` the values, N m/rad or N/m. `time_from_start` is the duration of the change.

    joint_impedance, esp_impedance   the joints of the robot
    cartesian_impedance   tool_rx, tool_ry, tool_rz, tool_x, tool_y, tool_z; joints: the posture
    these and esp         damping_ratio
"""

from __future__ import annotations

from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory

from ...dynamics.core import InputError
from ..base.messages import MessageError


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
