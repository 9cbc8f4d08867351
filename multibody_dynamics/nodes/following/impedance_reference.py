"""Stiffness and damping of a running impedance, from a message.

A trajectory_msgs/JointTrajectory with one point: `joint_names` are the names of the values, and
`positions` the values, N m/rad or N/m. `time_from_start` is the duration of the change.

    joint_impedance       the joints of the robot
    cartesian_impedance   tool_rx, tool_ry, tool_rz, tool_x, tool_y, tool_z; joints: the posture
    both                  damping_ratio, up to the one with which stability was judged
"""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from ...dynamics.control import FlatnessLaw
from ...dynamics.core import InputError
from ..base.messages import MessageError


def change_impedance(
    law: FlatnessLaw, name: str, message: JointTrajectory, most_damping: float = np.inf
) -> None:
    """Hand the values of a message on to the law `name`; most_damping: the largest damping ratio.

    Raises MessageError, and changes nothing, for a defect of the message, a law without live
    stiffness, and a stiffness that the springs cannot carry; the text names the joint.
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
    if values.get("damping_ratio", 0.0) > most_damping:
        raise MessageError(
            "impedance refused",
            f"damping_ratio is {values['damping_ratio']:g}: stability was judged up to"
            f" {most_damping:g}; set the parameter impedance_damping",
        )
    try:
        law.change_impedance(name, values, duration)
    except InputError as error:
        raise MessageError("impedance refused", str(error)) from None
