# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Feedback linearisation: placed poles, measured in the decay of errors along a motion.

The plant is the textbook model, integrated with a torque that is continuous in time.
"""

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import FeedbackLinearization, JointPoles, at_rest
from multibody_dynamics.dynamics.elastic import Actuators, Antagonistic, Motor, VariableStiffness
from multibody_dynamics.dynamics.motion import hold
from rejections import assert_rejected

POLES = {
    2: (-11.0, -18.0),
    3: (-9.0, -12.0 + 14.0j, -12.0 - 14.0j),
    4: (-9.0, -16.0, -12.0 + 14.0j, -12.0 - 14.0j),
}
SECOND_POLES = (-13.0, -20.0)
TWO_LINKS = [
    arms.linear_arm, arms.nonlinear_arm, arms.antagonistic_arm, arms.pretensioned_arm,
    arms.variable_arm, arms.damped_arm, *arms.OTHER_ARMS,
]  # fmt: skip


def orders(arm) -> np.ndarray:
    actuators = arm.actuators
    return np.where(actuators.is_rigid, 2, np.where(actuators.is_damped, 3, 4))


def all_poles(arm) -> JointPoles:
    names = arm.actuators.joint_names
    by_name = {name: POLES[order] for name, order in zip(names, orders(arm), strict=True)}
    return JointPoles.from_poles(arm.actuators, by_name, SECOND_POLES)


def second_reference(arm, t: float) -> np.ndarray:
    """(3, v): a tenth up and down around the middle."""
    middle = at_rest(*arm).second[0]
    k = np.arange(3)[:, None]
    rows = 0.1 * middle * 4.0**k * np.sin(4.0 * t + 0.3 + k * np.pi / 2)
    rows[0] += middle
    return rows


def fitted_poles(error: np.ndarray, step: float, order: int) -> np.ndarray:
    """Prony: poles of the linear recurrence that samples `error` (k,) obey."""
    columns = np.lib.stride_tricks.sliding_window_view(error, order + 1)
    recurrence = np.linalg.lstsq(columns[:, :order], columns[:, order], rcond=None)[0]
    return np.sort_complex(np.log(np.roots([1.0, *-recurrence[::-1]]).astype(complex)) / step)


def displaced(arm, desired, stiffness) -> np.ndarray:
    """Away from the reference in every state; motors of rigid joints move with their links."""
    rng = np.random.default_rng(3)
    x, _ = arms.flat_motion(arm, desired, stiffness)
    q, qd, theta, thetad = arms.split(arm, x)
    q += rng.uniform(0.01, 0.03, q.shape)
    qd += rng.uniform(-0.2, 0.2, q.shape)
    joint = arm.actuators.joint_of_motor
    theta += (q - desired[0])[joint] + rng.uniform(-0.01, 0.01, theta.shape)
    thetad += (qd - desired[1])[joint] + rng.uniform(-0.05, 0.05, theta.shape)
    rigid = arm.actuators.is_rigid[joint]
    theta[rigid], thetad[rigid] = q[joint[rigid]], qd[joint[rigid]]
    return np.concatenate((q, qd, theta, thetad))


def second_outputs(arm, x: np.ndarray) -> dict[int, float]:
    """The second outputs that motors set, by index, from their laws written out here."""
    q, _, theta, _ = arms.split(arm, x)
    found = {}
    for i, actuator, motors, j in arm.actuators.each():
        if isinstance(actuator, Antagonistic):
            phi = theta[motors[0]] - q[i], q[i] - theta[motors[1]]
            springs = (actuator.agonist_spring, actuator.antagonist_spring)
            k = 0 if actuator.regulates == "pretension" else 1
            rows = [spring.derivatives(each)[k] for spring, each in zip(springs, phi, strict=True)]
            found[j] = sum(rows) * (0.5 if k == 0 else 1.0)
        elif isinstance(actuator, VariableStiffness) and actuator.drive is not None:
            found[j] = actuator.drive.offset + actuator.drive.gain * theta[motors[1]]
    return found


@pytest.mark.parametrize("arm", [*TWO_LINKS, arms.mixed_panda])
def test_the_errors_decay_with_the_placed_poles(arm):
    """Along a moving reference, of the links and of the second outputs that motors set."""
    arm = arm()
    law = FeedbackLinearization(arm.model, arm.actuators, all_poles(arm))
    reference = arms.exciting(arm, 0.4)
    times = np.linspace(0.0, 0.5, 26)
    start = displaced(arm, reference(0.0), second_reference(arm, 0.0))

    def torque(t, *state):
        return law.update(reference(t), *state, stiffness=second_reference(arm, t))

    run = arms.simulate(arm, torque, start, times, lambda t: second_reference(arm, t)[:2])
    error = reference.sample(times)[:, 0] - run[:, : arm.model.n]
    for i, order in enumerate(orders(arm)):
        found = fitted_poles(error[:, i], times[1], order)
        np.testing.assert_allclose(found, np.sort_complex(POLES[order]), rtol=2e-3)
    for j in second_outputs(arm, start):
        off = [
            second_reference(arm, t)[0, j] - second_outputs(arm, x)[j]
            for t, x in zip(times, run, strict=True)
        ]
        found = fitted_poles(np.array(off), times[1], 2)
        np.testing.assert_allclose(found, np.sort_complex(SECOND_POLES), rtol=2e-3)


def test_a_drive_returns_a_stiffness_to_its_range():
    arm = arms.variable_arm()
    law = FeedbackLinearization(arm.model, arm.actuators, all_poles(arm))
    rest = at_rest(*arm)
    theta = rest.theta.copy()
    theta[1] = (1100.0 - 100.0) / 80.0  # the range ends at 900 N m/rad
    desired = arms.still(arm)
    zero = np.zeros(2)
    k0 = np.prod(SECOND_POLES)
    torque = law.update(desired, arm.rest, zero, theta, np.zeros(3), stiffness=rest.second)
    drive = arm.actuators.actuators[0].drive
    phi = theta[0] - arm.rest[0]
    load = drive.gain * (0.5 * phi**2 + 0.75 * phi**4)
    wanted = drive.motor.inertia * k0 * (rest.second[0, 0] - 1100.0) / drive.gain + load
    assert torque[1] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("stiffness", [0.0, -30.0])
def test_zero_or_negative_stiffness_gives_finite_torques_and_is_reported(stiffness):
    arm = arms.variable_arm()
    model, actuators, rest = arm
    drive = actuators.actuators[0].drive
    law = FeedbackLinearization(model, actuators, JointPoles.from_bandwidth(actuators, 20.0))
    theta = at_rest(*arm).theta.copy()
    theta[1] = (stiffness - drive.offset) / drive.gain
    zero = np.zeros(3)
    torque = law.update(arms.still(arm), rest, zero[:2], theta, zero)
    assert np.isfinite(torque).all()
    assert torque[1] * drive.gain > 0.0  # back into the range
    assert (
        "shoulder_stiffness: requested stiffness is infeasible; clipped to its range"
        in law.problems()
    )


@pytest.mark.parametrize("w", [8.0, 25.0, 60.0])
def test_an_unknown_torque_leaves_the_stated_static_error(w):
    """A prismatic joint without gravity: the static error of the docstring is exact."""
    M, K, d = 2.0, 400.0, 3.0
    model = dyn.model_from_screws(
        [-1], [dyn.prismatic((1, 0, 0))], [np.eye(4)],
        [dyn.spatial_inertia(M, (0.0, 0.1, 0.0), np.eye(3))],
        joint_names=("slide",), body_names=("cart",),
    )  # fmt: skip
    actuators = Actuators(model.joint_names, (arms.series(K, Motor(0.5)),))
    law = FeedbackLinearization(model, actuators, JointPoles.from_bandwidth(actuators, w))
    error = -(6.0 / w**2 - K / M / w**4) * d / M
    assert (error > 0.0) == (w**2 < K / M / 6.0)
    desired = hold(model.joint_names, [0.2])(0.0)
    q, rest = desired[0] - error, np.zeros(1)
    held = law.update(desired, q, rest, q - d / K, rest)  # the spring carries -d
    np.testing.assert_allclose(held, -d, rtol=1e-9)


def test_a_spring_with_too_little_damping_is_rejected_by_name():
    arm, fine = (
        arms.two_links(arms.series(400.0, damping=0.5), arms.series(200.0)),
        arms.linear_arm(),
    )
    poles, good, other = (
        JointPoles.from_bandwidth(each.actuators, 20.0)
        for each in (arm, fine, arms.elastic_panda())
    )
    assert_rejected(
        (lambda: FeedbackLinearization(*arm[:2], poles), "'shoulder' relaxes 800 1/s damping 0"),
        (lambda: FeedbackLinearization(*fine[:2], good, lead=-1.0), "lead -1"),
        (lambda: FeedbackLinearization(*fine[:2], other), "poles panda_joint1"),
    )
