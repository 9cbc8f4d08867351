# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the tests expect of every control law: one row for each law of LAWS."""

from dataclasses import dataclass

from multibody_dynamics.dynamics.control import (
    CartesianImpedance,
    ComputedTorque,
    Controller,
    ElasticStructureController,
    FeedbackLinearization,
    HoldController,
    JointImpedance,
    LinearFeedback,
    TorqueController,
)


@dataclass(frozen=True)
class Expected:
    """A row.

    controller : the class that the default settings design. error : rad, the largest error on a
    motion of half a second of a two-link arm with springs, with an exact model; None if the law
    follows no motion. sags : whether gravity pulls the arm away from its reference at rest.
    """

    controller: type[Controller]
    error: float | None
    sags: bool = False


LAW_TABLE = {
    "motor_pd": Expected(LinearFeedback, 1e-4),
    "state_feedback": Expected(LinearFeedback, 1e-4),
    "feedback_linearization": Expected(FeedbackLinearization, 1e-4),
    "torque_control": Expected(TorqueController, 2e-4),
    "computed_torque": Expected(ComputedTorque, 0.1, sags=True),
    "hold": Expected(HoldController, None),
    "joint_impedance": Expected(JointImpedance, 1e-4),
    "cartesian_impedance": Expected(CartesianImpedance, 1e-4),
    "esp": Expected(ElasticStructureController, 1e-4),
    "esp_impedance": Expected(ElasticStructureController, 1e-4),
}
