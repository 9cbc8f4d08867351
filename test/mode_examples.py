# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rules of an arm with two joints, each with one motor, and what a cycle finds at rest."""

from typing import Any

import numpy as np

from multibody_dynamics.dynamics.control.arm.modes import Rules, Situation

RULES = Rules(
    follows=1, stops_on_links=1, link_timeout=0.2,
    recovers=1, recovery_speed=0.1, recovery_limit=2, recovery_window=60.0,
    tracking_tolerance=0.2, latency_tolerance=0.005, stop_speed_limit=0.0, stop_timeout=5.0,
    transfer_time=0.5, stop_transfer_time=0.05,
    velocity=np.array([2.0, np.inf]), torque_limit=np.array([40.0, 20.0]),
    stop_distance=np.array([0.2, 0.4]), late_distance=np.array([0.8, 1.6]),
    external_load=np.array([60.0, np.inf]), link_resolution=np.full(2, 0.01),
    motor_resolution=np.full(2, 0.005), joint_of_motor=np.arange(2), link_share=np.ones(2),
)  # fmt: skip
STILL = np.zeros(2)
AT_REST = Situation(*map(np.atleast_1d, (0, 0, 0.004, 0, 1, 1, 0, 0, 0)), *[STILL] * 9)


def found(**changes: Any) -> Situation:
    """What a cycle finds at rest, but for these."""
    return AT_REST._replace(**{name: np.atleast_1d(each) for name, each in changes.items()})


def moving(*speed: float, **changes: Any) -> Situation:
    """Links and motors move at these velocities (2,)."""
    return found(**{"qd": speed, "thetad": speed, **changes})
