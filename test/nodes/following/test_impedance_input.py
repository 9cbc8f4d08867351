# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Stiffness and damping of a running impedance, from messages."""

from functools import partial

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control.arm.arm import Arm
from multibody_dynamics.nodes.base.messages import MessageError
from multibody_dynamics.nodes.following.impedance_input import change_impedance


def message(values: dict[str, float], seconds: float = 0.0) -> JointTrajectory:
    time = Duration(sec=int(seconds), nanosec=round(1e9 * (seconds - int(seconds))))
    point = JointTrajectoryPoint(positions=list(map(float, values.values())), time_from_start=time)
    return JointTrajectory(joint_names=list(values), points=[point])


@pytest.fixture(scope="module")
def law() -> Arm:
    model, actuators, rest = linear_arm()
    made = Arm(model, actuators)
    made.design(rest)
    return made


def test_names_select_what_changes_and_the_rest_stays(law):
    law.name = "joint_impedance"
    before = law.impedance.target.copy()
    change_impedance(
        partial(law.laws.change_impedance, "joint_impedance"),
        message({"elbow": 20.0, "damping_ratio": 0.9}),
    )
    np.testing.assert_array_equal(law.impedance.target, [before[0], 20.0])
    assert law.impedance.damping_ratio == 0.9
    law.name = "cartesian_impedance"
    posture = law.impedance.target[6:].copy()
    change_impedance(
        partial(law.laws.change_impedance, "cartesian_impedance"),
        message({"tool_x": 50.0, "shoulder": 2.0}),
    )
    assert law.impedance.target[3] == 50.0
    np.testing.assert_array_equal(law.impedance.target[6:], [2.0, posture[1]])


def test_the_time_of_the_point_is_the_duration_of_the_change(law):
    law.name = "joint_impedance"
    impedance = law.impedance
    impedance.change({"shoulder": 40.0, "elbow": 40.0, "damping_ratio": 0.5})
    impedance.reset()
    values = {"shoulder": 30.0, "damping_ratio": 0.9}
    change_impedance(partial(law.laws.change_impedance, "joint_impedance"), message(values, 2.0))
    desired, zero = np.zeros((5, 2)), np.zeros(2)
    for _ in range(1000):
        impedance.update(desired, zero, zero, zero, zero)
    np.testing.assert_allclose(impedance.ramp.value, [35.0, 40.0], rtol=1e-6)
    assert abs(impedance._present_ratio - 0.7) < 1e-9
    for _ in range(1100):
        impedance.update(desired, zero, zero, zero, zero)
    np.testing.assert_allclose(impedance.ramp.value, [30.0, 40.0])
    assert impedance._present_ratio == 0.9


@pytest.mark.parametrize(
    ("name", "wrong", "reason", "text"),
    [
        ("joint_impedance", message({"elbow": 500.0}), "impedance refused", "joint 'elbow'; at"),
        ("joint_impedance", message({"knee": 5.0}), "impedance refused", "unknown name 'knee'"),
        ("joint_impedance", message({"tool_x": 5.0}), "impedance refused", "any of shoulder"),
        ("joint_impedance", message({"elbow": -1.0}), "impedance refused", "elbow is -1.0"),
        ("joint_impedance", message({"elbow": np.nan}), "impedance refused", "elbow is nan"),
        ("joint_impedance", message({"damping_ratio": -1.0}), "impedance refused", "damping_ratio"),
        ("motor_pd", message({"elbow": 5.0}), "impedance refused", "law 'motor_pd': its stiffness"),
        ("esp", message({"elbow": 5.0}), "impedance refused", "unknown name 'elbow'"),
        ("hold", message({"elbow": 5.0}), "impedance refused", "does not change while"),
        ("joint_impedance", JointTrajectory(), "unnamed", "no names"),
        ("joint_impedance", JointTrajectory(joint_names=["elbow"]), "wrong length", "0 points"),
        ("joint_impedance", message({"elbow": 5.0}, -1.0), "negative time", "is -1.0 s"),
    ],
)
def test_defects_are_refused_by_name_and_change_nothing(law, name, wrong, reason, text):
    law.name = "joint_impedance"
    before, ratio = law.impedance.target.copy(), law.impedance.damping_ratio
    with pytest.raises(MessageError, match=text) as refused:
        change_impedance(partial(law.laws.change_impedance, name), wrong)
    assert refused.value.reason == reason
    np.testing.assert_array_equal(law.impedance.target, before)
    assert law.impedance.damping_ratio == ratio


def test_numbers_and_names_must_match(law):
    wrong = message({"elbow": 5.0})
    wrong.joint_names = ["elbow", "shoulder"]
    with pytest.raises(MessageError, match="2 names but 1 values"):
        change_impedance(partial(law.laws.change_impedance, "joint_impedance"), wrong)
    wrong.joint_names = ["elbow", "elbow"]
    with pytest.raises(MessageError, match="duplicate name elbow"):
        change_impedance(partial(law.laws.change_impedance, "joint_impedance"), wrong)
