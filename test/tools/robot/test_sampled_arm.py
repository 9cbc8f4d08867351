# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The arm of a generated controller is the arm of the node: with samples on time, both send the
same torques along the same motion. With faults, test_controller_package compares it with the C."""

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, elastic_panda
from generated_controllers import PERIOD, designed
from multibody_dynamics.dynamics.control import (
    BOTH,
    Arm,
    ArmSettings,
    FlatnessSettings,
    Mode,
    Sample,
    StateEstimation,
)
from multibody_dynamics.dynamics.motion import JointCommandLimits, segments
from multibody_dynamics.tools.robot.generated_design import motors_at_rest
from multibody_dynamics.tools.robot.sampled_arm import EPOCH, SampledArm

GOAL = 0.05  # rad, of the first joint


def as_in_the_node(design, second) -> Arm:
    """An arm with the estimator, the motion and the outputs of the node, and the same laws."""
    p = design.parameters
    bandwidth, order = p["filter_bandwidth"], p["filter_order"]
    estimation = StateEstimation(
        "link_and_motor_encoders", bandwidth=bandwidth, order=order, max_step=p["max_step"]
    )
    laws = {each.law: each for each in (design.law_settings, design.hold_settings)}
    settings = FlatnessSettings(
        law=design.law_settings.law, controllers=laws, estimation=estimation
    )
    outputs = tuple(float(x) for x in second[0])
    cycle = ArmSettings(transfer_time=p["transfer_time"], initial_stiffness=outputs)
    arm = Arm(design.model, design.actuators, settings, cycle)
    arm.design(np.asarray(design.options.position))
    limits = {"torque": p["torque_limit"], "torque_rate": p["torque_rate_limit"]}
    arm.limit(JointCommandLimits(design.actuators.motor_names, **limits))
    return arm


@pytest.mark.parametrize("made", [elastic_panda, antagonistic_arm])
def test_torques_are_those_of_the_arm_of_the_node(made):
    arm = made()
    design = designed(arm, disturbance_bandwidth=0.0)  # the arm itself is not simulated
    sampled = SampledArm(design)
    plain = as_in_the_node(design, sampled.second)
    rest, n = motors_at_rest(design, arm.rest), design.model.n
    phase = np.arange(1.0, n + len(rest) + 1.0)
    goal = np.zeros((5, n))
    goal[0] = arm.rest
    goal[0, 0] += GOAL
    largest = 0.0
    for k in range(1, 400):
        time = PERIOD * k
        stamp = EPOCH + round(1e9 * time)
        wave = 2e-4 * np.sin(9.0 * time + phase)
        follows = sampled.state.is_following and k > 150
        q = (sampled.desired[0] if follows else arm.rest) + wave[:n]
        theta = rest + (sampled.desired[0] - arm.rest)[design.actuators.joint_of_motor] * follows
        theta = theta + wave[n:]
        if k == 60:
            applied = np.full(len(rest), 0.3)
            assert sampled.activate(applied)
            plain.activate(applied)
        if k == 150:
            assert sampled.append(time - PERIOD + 0.2, goal) is segments.Answer.ACCEPTED
            plain.motion.go(goal[0], 0.2)
        sampled.update(time, time, time, q, theta)
        command = plain.update(Sample(stamp, {"link_position": q, "motor_position": theta}))
        assert command.mode is sampled.state
        if command.torque is None or k < 160:
            continue  # the second outputs of the node move to their first values
        largest = max(largest, float(np.abs(sampled.torque).max()))
        np.testing.assert_allclose(sampled.torque, command.torque, atol=1e-6 * largest)
    assert sampled.state is Mode.HOLDING
    assert sampled.desired[0, 0] == pytest.approx(arm.rest[0] + GOAL)


def test_what_comes_too_early_is_refused():
    sampled = SampledArm(designed(antagonistic_arm()))
    assert not sampled.activate()
    assert sampled.append(1.0, np.zeros((5, 2))) is segments.Answer.NOT_READY
    assert sampled.missing == BOTH
    assert sampled.state is Mode.INACTIVE
