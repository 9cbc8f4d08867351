# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""ESP and ESPi: the closed loop that they promise, on arms of every kind."""

import numpy as np
import pytest

from contacts import branched_arm, claimed
from elastic_arms import (
    HeldPlant,
    antagonistic_arm,
    at_start,
    damped_arm,
    elastic_panda,
    exciting,
    flat_motion,
    law_of,
    linear_arm,
    mixed_panda,
    nonlinear_arm,
    pretensioned_arm,
    slope,
    split,
    still,
    variable_arm,
    without_coulomb,
)
from multibody_dynamics.dynamics.control import ControllerSettings, at_rest, retune
from multibody_dynamics.dynamics.elastic import motor_motion
from multibody_dynamics.dynamics.rigid import coriolis_matrix, gravity_forces, mass_matrix
from studies.stored_energy import ArmStates, stored_energy

LAWS = ("esp", "esp_impedance")
CLAIMED = (linear_arm, nonlinear_arm, antagonistic_arm, pretensioned_arm, mixed_panda, branched_arm)


@pytest.mark.parametrize("make", [variable_arm, damped_arm])
@pytest.mark.parametrize("name", LAWS)
def test_on_the_desired_motion_the_torque_is_that_of_the_flat_map(make, name):
    """Where the equations of the next test are not claimed; elsewhere they say so."""
    arm = without_coulomb(make())
    law = law_of(arm, name, contact_bandwidth=0.0)
    second = at_rest(*arm).second
    desired = exciting(arm, 0.3)(0.4)
    x, motors = flat_motion(arm, desired, second)
    torque = law.update(desired, *split(arm, x), stiffness=second)
    np.testing.assert_allclose(law.eta, 0.0, atol=1e-10)
    np.testing.assert_allclose(torque, motors.torque, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("make", "change"), [*((make, 0.0) for make in CLAIMED), (linear_arm, 2.0), (branched_arm, 2.0)]
)
@pytest.mark.parametrize("name", LAWS)
def test_links_and_virtual_motors_obey_their_equations_while_moving(make, change, name):
    """(1) and (2) of the module, far from the desired motion: e'' from the accelerations of the
    plant, and eta'' from differences of eta' along them; also while gains change, by `change` of
    their value per second."""
    arm = without_coulomb(make())
    model, actuators, _ = arm
    law, second, rng = claimed(arm, name), at_rest(*arm).second, np.random.default_rng(7)
    motion, t, h = exciting(arm, 0.3), 0.5, 1e-5
    (q, qd, theta, thetad), _, _ = at_start(arm)
    first = actuators.first_motor
    q, qd = q + rng.uniform(-0.05, 0.05, q.shape), rng.uniform(-0.3, 0.3, qd.shape)
    theta = theta + rng.uniform(-0.03, 0.03, theta.shape)
    theta[first[actuators.is_rigid]] = q[actuators.is_rigid]
    thetad = rng.uniform(-0.3, 0.3, theta.shape)
    thetad[first[actuators.is_rigid]] = qd[actuators.is_rigid]
    x = np.concatenate((q, qd, theta, thetad))
    bent, row = np.zeros(model.n), law.ramp.value.copy()

    def updated(time, state):
        law.reset()
        law.virtual.x[:] = bent
        if change:
            law.ramp.value[:] = row * (1.0 + change * (time - t - law.period))
            law.ramp.aim(2.0 * row)
            law.ramp._slope[:] = change * row
        torque = law.update(motion(time), *split(arm, state), stiffness=second)
        return torque.copy(), law.eta_rate.copy(), law.virtual.rate.copy()

    torque, eta_rate, rate = updated(t, x)
    eta, F, desired, gains = law.eta.copy(), law.virtual.force[0].copy(), motion(t), law.gains
    dx, moves = slope(arm, x, torque, second[:2]), rate * actuators.is_damped
    found = []
    for step in (h, -h):
        bent = np.where(actuators.is_damped, step * moves, 0.0)
        found.append(updated(t + step, x + step * dx)[1])
    eta_acc = (found[0] - found[1]) / (2.0 * h)
    rigid = actuators.is_rigid
    drives = np.where(actuators.torque_share > 0.0, actuators.motor_inertia, 0.0)
    B = np.bincount(actuators.joint_of_motor, drives, model.n)
    left = B * eta_acc + gains.motor_damping * eta_rate + gains.motor_stiffness * eta
    np.testing.assert_allclose(left[~rigid], -F[~rigid], rtol=1e-5, atol=1e-4)

    # links: M e'' + C e' + D e' + K_i e = F
    e, ed = q - desired[0], qd - desired[1]
    qdd = dx[model.n : 2 * model.n]
    coupled = model.with_reflected_inertia(np.where(rigid, B, 0.0))
    M, C = mass_matrix(coupled, q), coriolis_matrix(model, q, qd)
    left = M @ (qdd - desired[2]) + C @ ed + gains.link_damping * ed + gains.link_stiffness * e
    np.testing.assert_allclose(left, F, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("make", [linear_arm, nonlinear_arm, elastic_panda, branched_arm])
def test_espi_gives_links_exactly_their_stiffness(make):
    """Pushed by a constant torque, the links rest where K_i e balances it, however soft the springs
    are, and the virtual motors rest beside them."""
    arm = make()
    model, actuators, rest = arm
    law, n = claimed(arm, "esp_impedance"), model.n
    e = np.random.default_rng(1).uniform(-0.05, 0.05, n)
    push = law.gains.link_stiffness * e
    q, zero = rest + e, np.zeros(n)
    Q = gravity_forces(model, q) - push
    held, load = np.stack((q, zero, zero)), np.stack((Q, zero, zero))
    bent = actuators.settled_deflection(load)
    second = at_rest(*arm).second
    motors = motor_motion(actuators, held, load, second, deflection=bent, beyond="continue")
    law.contact[0] = push
    desired = still(arm)
    torque = law.update(desired, q, zero, motors.position, 0.0 * motors.position, stiffness=second)
    np.testing.assert_allclose(law.eta, e, atol=1e-9)
    np.testing.assert_allclose(torque, motors.torque, atol=1e-7)


def test_the_observer_of_contacts_finds_them_and_does_not_compensate():
    """A constant push on an arm held still: the estimate reaches it, and eta yields."""
    arm = linear_arm()
    model, _, rest = arm
    law = law_of(arm, "esp_impedance")
    desired = still(arm)
    push, zero = np.array([6.0, -3.0]), np.zeros(2)
    theta = rest + (gravity_forces(model, rest) - push) / [400.0, 200.0]
    for _ in range(400):
        law.update(desired, rest, zero, theta, zero)
    np.testing.assert_allclose(law.contact[0], push, rtol=1e-6)
    np.testing.assert_allclose(law.virtual.force[0], -push, rtol=1e-9)
    law.reset()
    assert not law.contact.any()


@pytest.mark.parametrize("name", ["esp", "esp_impedance"])
def test_a_new_bandwidth_is_also_that_of_the_second_outputs(name):
    arm = variable_arm()
    law, wanted = law_of(arm, name), law_of(arm, name, bandwidth=80.0)
    retune(law, ControllerSettings(law=name, position=arm.rest, bandwidth=80.0))
    np.testing.assert_array_equal(law.second_poles.second, wanted.second_poles.second)
    assert law.second_poles.second.any()


def test_stiffness_and_damping_approach_their_targets_by_name():
    model, _, rest = arm = linear_arm()
    law = law_of(arm, "esp_impedance")
    (stiffness, ratio), begin = law.aimed, law.gains
    law.change({"elbow": 0.5 * stiffness[1], "damping_ratio": 0.6}, 1.0)
    assert (law.aimed.stiffness, ratio) == ((stiffness[0], 0.5 * stiffness[1]), 0.3)
    desired, zero = still(arm), np.zeros(2)
    theta = rest + gravity_forces(model, rest) / [400.0, 200.0]
    for _ in range(500):
        law.update(desired, rest, zero, theta, zero)
    np.testing.assert_allclose(law.present_stiffness, [stiffness[0], 0.75 * stiffness[1]])
    np.testing.assert_allclose(law.gains.motor_damping, 1.5 * begin.motor_damping)
    for _ in range(501):
        law.update(desired, rest, zero, theta, zero)
    aimed = {"damping_ratio": 0.6, "link_stiffness": law.aimed.stiffness}
    other = law_of(arm, "esp_impedance", **aimed).gains
    for name in ("link_stiffness", "link_damping", "motor_stiffness", "motor_damping"):
        np.testing.assert_allclose(getattr(law.gains, name), getattr(other, name), rtol=1e-12)


def test_stiffness_rises_only_with_energy_from_the_tank():
    """A displaced arm, left alone in the plant: stored energy and tank together fall, apart from
    the steps of the velocity of eta where a change begins, stops and ends."""
    arm = without_coulomb(linear_arm())
    settings = {"contact_bandwidth": 0.0, "stiffness_time": 0.4, "stiffness_energy": 0.02}
    law = law_of(arm, "esp_impedance", **settings)
    plant = HeldPlant(arm)
    desired = still(arm)
    (q, qd, theta, thetad), _, _ = at_start(arm)
    plant.reset(np.concatenate((q + 0.1, qd, theta + 0.1, thetad)))
    law.change({"shoulder": 250.0, "elbow": 150.0})
    stored, held = [], 0
    for _ in range(1000):
        law.update(desired, *plant.state)
        state = ArmStates(*(row[None] for row in plant.state))
        stored.append(float(stored_energy(law, state, arm.rest)[0]) + law.energy)
        held += law.ramp.is_held
        plant.step(law.torque, 1e-3)
    assert held > 0
    assert "stiffness_energy is used up" not in "".join(law.problems())
    np.testing.assert_allclose(law.present_stiffness, [250.0, 150.0])
    rises = np.maximum(np.diff(stored), 0.0)
    assert rises.sum() < 0.02 * stored[0]
    assert stored[-1] < 0.3 * stored[0]
