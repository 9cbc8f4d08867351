# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Impedances of links behind springs: stiffness, storage function, changes of stiffness."""

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import rigid_rotors
from multibody_dynamics.dynamics.lie import so3
from multibody_dynamics.dynamics.rigid import frame_pose, gravity_forces, mass_matrix
from rejections import assert_rejected

LAWS = [control.JointImpedance, control.CartesianImpedance]
CLAIMED = [
    arms.linear_arm, arms.nonlinear_arm, arms.damped_arm, arms.antagonistic_arm,
    arms.pretensioned_arm, arms.mixed_panda,
]  # fmt: skip


def random_state(arm: arms.Arm, rng: np.random.Generator) -> np.ndarray:
    """q, q', theta, theta' anywhere near the arm's rest, with springs bent either way."""
    actuators, (n, m) = arm.actuators, (arm.model.n, len(arm.actuators.motors))
    (rest, _, theta, _), _, _ = arms.at_start(arm)
    q, qd = rest + rng.uniform(-0.3, 0.3, n), rng.normal(size=n)
    bent = rng.uniform(-0.3, 0.3, n)[actuators.joint_of_motor] + rng.uniform(-0.05, 0.05, m)
    theta, thetad = theta + bent, rng.normal(size=m)
    first = actuators.first_motor[actuators.is_rigid]
    theta[first], thetad[first] = q[actuators.is_rigid], qd[actuators.is_rigid]
    return np.concatenate((q, qd, theta, thetad))


def contact(arm: arms.Arm, q: np.ndarray, external: np.ndarray) -> np.ndarray:
    """Change of the state's derivative by external joint torques (n,)."""
    actuators, zero = arm.actuators, np.zeros_like(q)
    mass = mass_matrix(arm.model, q) + np.diag(rigid_rotors(actuators))
    qdd, joint = np.linalg.solve(mass, external), actuators.joint_of_motor
    thetadd = np.where(actuators.is_rigid[joint], qdd[joint], 0.0)
    return np.concatenate((zero, qdd, 0.0 * thetadd, thetadd))


def storage_rate(
    law: control.ImpedanceController, arm: arms.Arm, x: np.ndarray, dx: np.ndarray
) -> float:
    """Derivative of the storage function along dx, by central differences."""
    h = 2e-6
    ahead, behind = (law.storage(*arms.split(arm, x + step * dx)) for step in (h, -h))
    return (ahead - behind) / (2.0 * h)


@pytest.mark.parametrize(("make", "count"), [(arm, 10) for arm in CLAIMED])
def test_the_storage_rises_by_the_supplied_less_the_dissipated_energy(make, count):
    """In random states under random external joint torques, and as an equality: V' is the
    power of the contact less the stated dissipation, which is never negative."""
    arm = make()
    model, actuators, rest = arm
    rng, second = np.random.default_rng(count), control.at_rest(*arm).second
    made = [kind(model, actuators, rest) for kind in LAWS]
    desired, first = arms.still(arm), actuators.first_motor
    for k in range(count):
        law = made[k % 2]
        x = random_state(arm, rng)
        q, qd, theta, thetad = arms.split(arm, x)
        law.reset()
        torque = law.update(desired, q, qd, theta, thetad, stiffness=second)
        external = rng.normal(0.0, 30.0, model.n)
        dx = arms.slope(arm, x, torque, second[:2]) + contact(arm, q, external)
        friction = (law.shaping.share * actuators.friction(thetad)) @ thetad
        dampers = actuators.damping @ (thetad[first] - qd) ** 2
        dissipated, supplied = law.dissipated + friction + dampers, external @ qd
        assert dissipated >= 0.0
        rate = storage_rate(law, arm, x, dx)
        assert abs(rate - (supplied - dissipated)) < 2e-5 * (abs(supplied) + dissipated + 1.0)


@pytest.mark.parametrize("make", [arms.linear_arm, arms.elastic_panda])
@pytest.mark.parametrize("kind", LAWS)
def test_links_at_rest_feel_exactly_the_requested_stiffness(make, kind):
    """Motors at rest under the torque of the law carry gravity and the spring; the external torque
    that is missing is the gradient of the potential, by an independent route."""
    model, actuators, rest = arm = make()
    law = kind(model, actuators, rest, inertia_share=0.3)
    n, zero = model.n, np.zeros(model.n)
    q = rest + np.random.default_rng(2).uniform(-0.1, 0.1, n)
    if kind is control.JointImpedance:
        pulled = -law.ramp.value * (q - rest)
    else:

        def potential(q):
            goal, now = (frame_pose(model, each, n - 1) for each in (rest, q))
            turn, way = so3.log(now[:3, :3] @ goal[:3, :3].T), (now - goal)[:3, 3]
            return 0.5 * law.ramp.value @ np.concatenate((turn, way, q - rest)) ** 2

        h = 1e-4 * np.eye(n)
        pulled = np.array([potential(q - step) - potential(q + step) for step in h]) / 2e-4
    Q = gravity_forces(model, q) + pulled
    K = control.at_rest(*arm).stiffness
    law.reset()
    torque = law.update(arms.still(arm), q, zero, q + Q / K, zero)
    np.testing.assert_allclose(torque, Q, atol=1e-5 * np.abs(Q).max())


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (arms.linear_arm, control.JointImpedance),
        (arms.nonlinear_arm, control.CartesianImpedance),
        (arms.antagonistic_arm, control.JointImpedance),
        (arms.variable_arm, control.CartesianImpedance),
    ],
)
def test_an_arm_on_the_desired_motion_stays_there(make, kind):
    """With an exact model the torque is the one of the flat map, at any stiffness."""
    arm = arms.without_coulomb(make())
    model, actuators, rest = arm
    law, second = kind(model, actuators, rest), control.at_rest(*arm).second
    desired = arms.exciting(arm, 0.5)(0.4)
    x, motors = arms.flat_motion(arm, desired, second)
    torque = law.update(desired, *arms.split(arm, x), stiffness=second)
    np.testing.assert_allclose(torque, motors.torque, rtol=1e-6, atol=1e-6)


def test_stiffness_beyond_the_springs_is_refused_and_changes_nothing():
    arm = arms.linear_arm()
    law = control.JointImpedance(*arm, [100.0, 50.0])
    hard = [0.0, 0.0, 0.0, 1e4, 1e4, 0.0]
    assert_rejected(
        (lambda: law.set_stiffness([100.0, 190.0]), "joint 'elbow'"),
        (lambda: control.CartesianImpedance(*arm, hard), "at most 0.8 is possible"),
        (lambda: control.JointImpedance(*arm, damping_ratio=-1.0), "damping_ratio -1"),
        (lambda: control.CartesianImpedance(*arm, tool="hand"), "no body or frame 'hand'"),
    )
    np.testing.assert_array_equal(law.target, [100.0, 50.0])


def test_no_storage_is_claimed_for_variable_stiffness():
    arm = arms.variable_arm()
    law = control.JointImpedance(*arm)
    x, second, _ = arms.at_start(arm)
    law.update(arms.still(arm), *x, stiffness=second)
    with pytest.raises(InputError, match="'shoulder': no storage function"):
        law.storage(*x)


def test_a_displaced_arm_stiffens_only_as_its_tank_allows_and_says_so():
    arm = arms.linear_arm()
    model, actuators, rest = arm
    law = control.JointImpedance(model, actuators, rest, 10.0, stiffness_energy=0.1)
    (q, qd, theta, thetad), _, _ = arms.at_start(arm)
    law.set_stiffness(100.0)
    for _ in range(1000):
        law.update(arms.still(arm), q + 0.2, qd, theta + 0.2, thetad)
    assert (law.ramp.value < 20.0).all()
    assert any("is used up" in problem for problem in law.problems())


def test_judged_stiffnesses_cover_a_range_and_a_softer_one_is_judged_as_it_is():
    """Evenly 30 to 100 % of the largest, and a tenth of that in single joints."""
    arm = arms.linear_arm()
    law = arms.law_of(arm, "joint_impedance")
    carrying, ratio = np.array([400.0, 200.0]), 0.7

    def covers(*shares: float) -> bool:
        row = 0.8 * np.array(shares) * carrying
        return law.covers(control.ImpedanceTarget(tuple(row), ratio))

    assert covers(0.999, 0.999)
    assert covers(0.31, 0.31)
    assert covers(0.31, 0.031)
    assert not covers(0.29, 0.29)
    assert not covers(0.9, 0.029)
    soft = np.array([5.0, 0.0])
    law = arms.law_of(arm, "joint_impedance", link_stiffness=soft)
    for k, is_given in enumerate((True, False, False, True, True, False, False, True)):
        law.vary(k)
        assert np.array_equal(law.target, soft) is is_given
        assert is_given or (law.target / carrying).max() == pytest.approx(0.8)
