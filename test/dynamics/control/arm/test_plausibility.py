# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is measured of an arm at rest: healthy arms are believed, whatever loads them within the
limits of their motors, and mistakes in wiring, names, signs and units are noticed and named."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from elastic_arms import (
    EVERY_ARM,
    START,
    Arm,
    antagonistic_arm,
    at_rest,
    elastic_panda,
    linear_arm,
    positions,
    pretensioned_arm,
    series,
    shipped,
    variable_arm,
)
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.arm.arm_settings import ArmSettings
from multibody_dynamics.dynamics.control.arm.modes import IMPLAUSIBLE, Mode
from multibody_dynamics.dynamics.control.arm.plausibility import RestingArm, external_loads
from multibody_dynamics.dynamics.control.arm.valid_sides import Sample
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import motor_motion
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.dynamics.rigid.crba import gravity_forces
from multibody_dynamics.dynamics.rigid.jacobians import jacobian
from robots import CONFIG, random_tree

NOISE = 2e-4  # rad, of both encoders
ZEROS = 1e-3  # rad, between them


def oblique() -> Arm:
    """Off-axis joints on branches: revolute, prismatic and helical."""
    model = random_tree(4, 11)
    stiff = [series(K) for K in (4000.0, 5000.0, 6000.0, 3000.0)]
    return Arm(model, Actuators(model.joint_names, tuple(stiff)), np.array([0.2, -0.1, 0.3, 0.1]))


def two_shipped() -> Arm:
    return shipped("planar_two_link")


ARMS = (*EVERY_ARM, oblique, two_shipped)
SINGLE_MOTORS = [
    made for made in ARMS if len(made().actuators.motors) == made().model.n and made is not oblique
]


@cache
def judge_of(made) -> RestingArm:
    return RestingArm(made().model, made().actuators)


def motors(arm: Arm, q: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """(m,) motors whose springs carry Q with the links at rest at q."""
    n = arm.model.n
    state, torque = np.zeros((5, n)), np.zeros((3, n))
    state[0], torque[0] = q, Q
    second = np.zeros((3, len(arm.actuators.variable_joints)))
    second[0] = at_rest(*arm).second[0]
    bent = arm.actuators.settled_deflection(torque, beyond="continue")
    found = motor_motion(arm.actuators, state, torque, second, deflection=bent, beyond="continue")
    return found.position


def pulled(arm: Arm, q: np.ndarray, direction: np.ndarray, share: float) -> np.ndarray:
    """(n,) joint torques of a force on the last body that loads some joint with `share` of what is
    believed."""
    J = jacobian(arm.model, q, arm.model.n - 1, representation="hybrid")
    torque = J[3:].T @ direction
    allowed = external_loads(arm.model, arm.actuators)
    return torque * share / np.max(np.abs(torque) / allowed)


@pytest.mark.parametrize("made", ARMS)
def test_healthy_arms_are_believed_with_noise_payload_supports_and_brakes(made):
    arm, judge = made(), judge_of(made)
    rng = np.random.default_rng(5)
    down = arm.model.gravity / max(np.linalg.norm(arm.model.gravity), 1e-9)
    for q in positions(arm, 60):
        weight = gravity_forces(arm.model, q)
        loads = {
            "its weight": weight,
            "a payload": weight - pulled(arm, q, down, rng.uniform(0.0, 0.4)),
            "brakes or a table, on which its springs are relaxed": 0.0 * weight,
            "half a support": 0.5 * weight,
        }
        for what, load in loads.items():
            theta = motors(arm, q, load)
            noise = rng.uniform(-NOISE, NOISE, len(q) + len(theta))
            zeros = rng.uniform(-ZEROS, ZEROS, len(q))
            found = judge.judge(q + noise[: len(q)] + zeros, theta + noise[len(q) :])
            assert found is None, (what, str(found))


@pytest.mark.parametrize("made", ARMS)
def test_contacts_that_the_motors_can_hold_are_believed(made):
    """One load could be mistaken: a lift of every link with about twice its weight."""
    arm, judge = made(), judge_of(made)
    rng = np.random.default_rng(6)
    refused = 0
    for q in positions(arm, 200):
        contact = pulled(arm, q, rng.normal(size=3), rng.uniform(0.0, 0.9))
        load = gravity_forces(arm.model, q) - contact
        refused += judge.judge(q, motors(arm, q, load)) is not None
    assert refused == 0


def mistaken(arm: Arm, q: np.ndarray, theta: np.ndarray, k: int):
    """Mistakes, the states with them, and what the explanation should name."""
    i, j = k % arm.model.n, (k + 1) % arm.model.n
    q_swapped, theta_swapped = q.copy(), theta.copy()
    q_swapped[[i, j]] = q[[j, i]]
    theta_swapped[[i, j]] = theta[[j, i]]
    turned, geared = theta.copy(), theta.copy()
    turned[i] *= -1.0
    geared[i] *= 57.0
    name = arm.model.joint_names[i]
    yield "sides", theta, q, "joint_states and motor_states are exchanged"
    yield "links", q_swapped, theta, "are exchanged in"
    yield "motors", q, theta_swapped, "are exchanged in"  # joints 1 and 7 of a Panda: either topic
    yield "sign", q, turned, f"'{name}' in motor_states: with the opposite sign"
    yield "gear", q, geared, f"'{name}' in motor_states"
    yield "degrees of motors", q, np.rad2deg(theta), "motor_states: in degrees"
    yield "degrees of links", np.rad2deg(q), theta, "joint_states are in degrees"


@pytest.mark.parametrize("made", SINGLE_MOTORS)
def test_mistakes_are_noticed_and_named(made):
    arm, judge = made(), judge_of(made)
    share: dict[str, list[bool]] = {}
    named: dict[str, list[bool]] = {}
    for k, q in enumerate(positions(arm, 100)):
        theta = motors(arm, q, gravity_forces(arm.model, q))
        for what, links, rotors, cause in mistaken(arm, q, theta, k):
            found = judge.judge(links, rotors)
            share.setdefault(what, []).append(found is not None)
            if found is not None:
                named.setdefault(what, []).append(cause in found.cause)
    assert np.mean(share.pop("sides")) > (0.8 if arm.actuators.is_rigid.any() else 0.95)
    for what, noticed in share.items():
        assert np.mean(noticed) > 0.9, what  # not where all positions are small
    for what, is_right in named.items():
        assert np.mean(is_right) > 0.9, what


def elbow() -> Arm:
    return shipped("antagonistic_elbow")


@pytest.mark.parametrize("made", [antagonistic_arm, pretensioned_arm, variable_arm, elbow])
def test_mistakes_of_motors_that_set_a_stiffness_show_whatever_loads_the_arm(made):
    arm, judge = made(), judge_of(made)
    (i,) = np.flatnonzero(np.bincount(arm.actuators.joint_of_motor) > 1)
    j = int(arm.actuators.first_motor[i]) + 1
    one, other = arm.actuators.motor_names[j - 1 : j + 1]
    rng = np.random.default_rng(8)
    for q in positions(arm, 40):
        contact = pulled(arm, q, rng.normal(size=3), rng.uniform(0.0, 0.5))
        theta = motors(arm, q, gravity_forces(arm.model, q) - contact)
        exchanged, turned, geared = theta.copy(), theta.copy(), theta.copy()
        exchanged[[j - 1, j]] = theta[[j, j - 1]]
        turned[j] *= -1.0
        geared[j] *= 57.0
        found = judge.judge(q, exchanged)
        assert found is not None
        if arm.actuators.torque_share[j] > 0.0:
            assert found.cause == f"'{one}' and '{other}' are exchanged in motor_states"
        else:
            found = judge.judge(q, turned)
            assert found is not None
        assert found.joint == arm.model.joint_names[i]
        assert f"the stiffness of '{found.joint}' cannot be set like that" in str(found)
        assert "rad or m out of range" in str(found)
        assert judge.judge(q, geared) is not None or abs(theta[j]) < 0.1


@pytest.mark.parametrize("made", [antagonistic_arm, pretensioned_arm, elbow])
@pytest.mark.parametrize(("slack", "is_believed"), [(0.0, True), (0.15, True), (0.17, False)])
def test_tendons_may_be_slack_by_a_share_of_their_travel(made, slack, is_believed):
    """Without power, motors give way, also to a hand; brakes or a table carry the arm."""
    arm, judge = made(), judge_of(made)
    (i,) = np.flatnonzero(np.bincount(arm.actuators.joint_of_motor) > 1)
    travel = np.ptp(np.sum(arm.actuators.actuators[i].limits_of_springs, axis=0))
    apart = np.zeros(3)
    apart[arm.actuators.joint_of_motor == i] = -0.5 * slack * travel, 0.5 * slack * travel
    for q in positions(arm, 40):
        found = judge.judge(q, q[arm.actuators.joint_of_motor] + apart)
        assert (found is None) == is_believed


def test_exchanged_sides_are_noticed_with_a_payload_of_a_third_of_the_arm():
    arm, judge = elastic_panda(), judge_of(elastic_panda)
    theta = motors(arm, arm.rest, 1.3 * gravity_forces(arm.model, arm.rest))
    found = judge.judge(theta, arm.rest)
    assert found is not None
    assert found.cause == "joint_states and motor_states are exchanged"


def test_an_exchange_of_two_joints_on_both_topics_is_noticed_by_their_load():
    arm, judge = two_shipped(), judge_of(two_shipped)
    q = np.array([0.3, -0.9])
    theta = motors(arm, q, gravity_forces(arm.model, q))
    found = judge.judge(q[::-1].copy(), theta[::-1].copy())
    assert found is not None
    assert found.cause == "'shoulder' and 'elbow' are exchanged"


@pytest.mark.parametrize("factor", [20.0])
def test_springs_of_another_robot(factor):
    arm = two_shipped()
    q = np.array([0.1, 0.2])
    stiff = Actuators(
        arm.model.joint_names, tuple(each.stiffened(factor) for each in arm.actuators.actuators)
    )
    judge = RestingArm(arm.model, stiff)  # the file describes stiffer springs than there are
    found = judge.judge(q, motors(arm, q, gravity_forces(arm.model, q)))
    assert found is not None
    assert "springs of another robot; 0.05 times this stiffness" in found.cause
    assert "shoulder" in str(found)
    assert f"{found.misfit:.4g}" in str(found)


@pytest.mark.parametrize("made", SINGLE_MOTORS)
def test_springs_that_are_stiffer_than_configured_look_as_on_a_table(made):
    """docs/safety.md does not promise to notice them."""
    arm, judge = made(), judge_of(made)
    rows = tuple(each.stiffened(10.0) for each in arm.actuators.actuators)
    stiff = arm._replace(actuators=Actuators(arm.model.joint_names, rows))
    for q in positions(arm, 40):
        assert judge.judge(q, motors(stiff, q, gravity_forces(arm.model, q))) is None


def test_links_and_motors_of_the_wrong_sign_are_the_mirror_image_of_an_arm_that_hangs_at_zero():
    """docs/safety.md does not promise to notice them."""
    file = CONFIG / "robots" / "planar_two_link.urdf"
    arm = two_shipped()._replace(model=load_urdf(file, gravity=(9.81, 0.0, 0.0)))
    judge = RestingArm(arm.model, arm.actuators)
    for q in positions(arm, 40):
        weight = gravity_forces(arm.model, q)
        assert np.allclose(gravity_forces(arm.model, -q), -weight, atol=1e-9)
        assert judge.judge(-q, -motors(arm, q, weight)) is None


def test_two_motors_of_a_joint_are_named():
    arm = shipped("antagonistic_elbow")
    judge = RestingArm(arm.model, arm.actuators)
    q = np.array([0.2, 0.9])
    theta = motors(arm, q, gravity_forces(arm.model, q))
    theta[2] *= -1.0
    found = judge.judge(q, theta)
    assert found is not None
    assert found.joint == "elbow"
    assert found.cause.startswith("'elbow_antagonist' in motor_states")


def started(arm: Arm, **settings) -> control.Arm:
    made = control.Arm(arm.model, arm.actuators, cycle=ArmSettings(**settings))
    made.design(arm.rest)
    made.activate()
    return made


def sample(made: control.Arm, k: int, q: np.ndarray, theta: np.ndarray) -> Sample:
    rows = {"link_position": q, "motor_position": theta}
    return Sample(START + k * 1_000_000, rows)


def test_an_arm_is_not_activated_with_exchanged_states_until_they_are_right():
    arm = two_shipped()
    theta = motors(arm, arm.rest, gravity_forces(arm.model, arm.rest))
    made = started(arm)
    command = made.update(sample(made, 0, theta, arm.rest))
    assert command.torque is None
    assert command.mode is Mode.INACTIVE
    (event,) = command.events
    assert event.fault.code == IMPLAUSIBLE
    assert "'shoulder'" in event.text
    assert "exchanged" in event.text
    assert "load_tolerance" in event.text
    made.clear_fault()
    assert made.update(sample(made, 1, theta, arm.rest)).torque is None  # judged again
    for k in range(2, 200):  # it stays so until the fault is cleared
        assert made.update(sample(made, k, arm.rest, theta)).torque is None
    made.clear_fault()
    command = made.update(sample(made, 200, arm.rest, theta))
    assert command.mode is Mode.HOLDING
    np.testing.assert_allclose(command.torque, gravity_forces(arm.model, arm.rest), rtol=1e-6)


def test_an_arm_is_not_activated_with_an_encoder_that_is_too_coarse_for_the_gains():
    """Its noise shows its steps, at rest and before the activation."""
    arm = two_shipped()
    theta = motors(arm, arm.rest, gravity_forces(arm.model, arm.rest))
    made = started(arm)
    made.deactivate()
    coarse = np.round(theta / 0.1) * 0.1
    for k in range(20):
        made.measure(sample(made, k, arm.rest, coarse + 0.1 * (k % 2) * np.array([0.0, 1.0])))
    made.activate()
    command = made.update(sample(made, 20, arm.rest, coarse))
    assert (command.torque, command.mode) == (None, Mode.INACTIVE)
    (event,) = command.events
    assert event.fault.code == IMPLAUSIBLE
    assert "'elbow' has steps of 0.1, each of which changes a torque by" in event.text


def test_a_tolerance_of_zero_believes_everything():
    arm = linear_arm()
    made = started(arm, load_tolerance=0.0)
    assert made.update(sample(made, 0, arm.rest, -arm.rest)).torque is not None
    made = started(arm)
    made.change(replace(made.cycle, load_tolerance=50.0))
    assert made.update(sample(made, 0, arm.rest, arm.rest + 0.5)).torque is not None


def test_springs_of_an_arm_that_moves_may_carry_more():
    arm, judge = two_shipped(), judge_of(two_shipped)
    brakes = gravity_forces(arm.model, arm.rest) + 1.5 * judge.allowed
    found = judge.judge(arm.rest, motors(arm, arm.rest, brakes))
    allowed = found.allowed
    assert judge.judge(arm.rest, motors(arm, arm.rest, brakes), moves=True) is None
    brakes += 2.5 * judge.allowed
    found = judge.judge(arm.rest, motors(arm, arm.rest, brakes), moves=True)
    assert found.allowed == pytest.approx(3.0 * allowed)
    assert found.misfit > found.allowed
    found = judge.judge(arm.rest + 0.2, np.rad2deg(arm.rest + 0.2), moves=True)
    assert found is not None


def test_antagonists_of_an_arm_that_moves_may_be_farther_out_of_range():
    judge, q, apart = judge_of(elbow), np.array([0.3, 0.5]), np.array([0.0, -0.5, 0.5])
    least, greatest = judge.springs.settings[1]
    for times, moves in ((1.0, False), (3.0, True)):
        allowed = times * (0.005 + 0.05 * (greatest - least))
        near, far = (q[[0, 1, 1]] + (k * allowed - least) * apart for k in (0.99, 1.01))
        assert judge.judge(q, near, moves=moves) is None
        found = judge.judge(q, far, moves=moves)
        assert found.is_out_of_range
        assert found.allowed == pytest.approx(allowed)
