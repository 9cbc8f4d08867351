# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The row of `kinds.EXAMPLES` for the kind in `parallel_kind.py`, where that is registered."""

from kinds import MOTOR, Example, cubic_entry, motor_entry, value
from multibody_dynamics.dynamics.elastic import KINDS, CubicSpring, LinearSpring

PARALLEL_ELASTIC = KINDS["parallel elastic"]
EXAMPLES = {
    "parallel": Example(
        PARALLEL_ELASTIC(MOTOR, CubicSpring(400.0, 4e4), LinearSpring(20.0), rest=0.3),
        {
            "motor": motor_entry(MOTOR),
            "spring": cubic_entry(400.0, 4e4),
            "parallel_spring": {"law": "linear", "stiffness": value(20.0, "N m/rad")},
            "rest": value(0.3, "rad"),
        },
    )
}
