# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What an arm under control answers to a sample."""

from typing import NamedTuple

from ...core import Array
from ...motion import LimitEvent
from .collision_reaction import Contact
from .modes import Mode
from .supervisor import Event


class Command(NamedTuple):
    """The answer to a sample, in values that nobody changes.

    stamp : ns, of the sample. torque : (m,) to be sent, N m; None if there is nothing to send.
    reference : (4, m) theta, theta', theta'' and torque of the motors along the desired motion.
    desired : (5, n) q .. q'''' against which errors are judged; error : (2, n) of q and q'.
    q, qd : (n,) on which the law acts; estimated : q and q' (n,) as measured; joint_torque : (n,)
    of the springs; external : (n,) external torques, None without detection of contacts. second :
    (3, v) second outputs.
    ahead_by : s, from `stamp` to the time of `desired`. mode, events, cuts : what has changed, and
    what was limited. contact : one that has just been noticed. slowed : what has become slower
    because an oscillation was just noticed, or "".
    """

    stamp: int
    torque: Array | None
    reference: Array
    desired: Array
    error: Array
    q: Array
    qd: Array
    estimated: tuple[Array, Array]
    joint_torque: Array
    external: Array | None
    second: Array
    ahead_by: float
    mode: Mode
    events: tuple[Event, ...]
    cuts: tuple[LimitEvent, ...]
    contact: Contact | None
    slowed: str = ""
