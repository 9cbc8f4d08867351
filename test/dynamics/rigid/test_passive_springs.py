# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs at the elbows of a five-bar linkage, against a closed form with 40 digits, and laws."""

from dataclasses import replace
from functools import partial

import mpmath as mp
import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import control, rigid
from multibody_dynamics.dynamics.control.gains.joint_gains import at_rest, linear_arm
from multibody_dynamics.dynamics.plant import ElasticRobot
from reference import error
from robots import CONFIG, sprung_five_bar

URDF = CONFIG / "mechanisms" / "five_bar.urdf"
AWAY = np.array([0.1, -0.05])
RATES = np.array([[0.4, -0.7], [1.1, 0.5], [-3.0, 2.0], [10.0, 4.0]])


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    springs = sprung_five_bar(tmp_path_factory.mktemp("springs"))
    model = dyn.mechanisms.load_robot(URDF, springs)
    return model, dyn.load_actuators(springs, model.joint_names)


def bare(model):
    return replace(model, passive_springs={})


def elbows(left, right):
    """Angles of both elbows for those of the shoulders, which are 0.3 m apart, with arms of 0.3 m
    and rods of 0.4 m, elbows outwards: the tip is where circles about the elbows meet."""
    ends = 0.3 * mp.expj(left), 0.3 + 0.3 * mp.expj(right)
    between = ends[1] - ends[0]
    up = mp.sqrt(0.16 / abs(between) ** 2 - 0.25)
    tip = ends[0] + between * (0.5 + 1j * up)
    return [mp.arg((tip - end) / mp.expj(q)) for end, q in zip(ends, (left, right), strict=True)]


def slope(function, x):
    """The derivative of functions of x that are computed together, by central differences of 60
    digits."""
    h = mp.mpf("1e-20")
    return [(a - b) / (2 * h) for a, b in zip(function(x + h), function(x - h), strict=True)]


@pytest.mark.parametrize("share", ["springs", "dampers"])
def test_torques_and_rates_with_40_digits(robot, share):
    """Q = sum_j (de_j/dq) (K_j (e_j - rest_j) + D_j e_j'), and its derivatives along a motion."""
    model, _ = robot
    q = model.home + AWAY
    found = rigid.passive_torques(model, q, *RATES)[("springs", "dampers").index(share)]
    springs = [model.passive_springs[f"{side}_elbow"] for side in ("left", "right")]
    with mp.workdps(60):
        rows = [mp.matrix(row.tolist()) for row in (q, *RATES)]

        def motion(t):
            return sum((row * t**k / mp.factorial(k) for k, row in enumerate(rows)), mp.zeros(2, 1))

        def torque(i, t):
            at, total = motion(t), mp.mpf(0)
            for j, (stiffness, rest, damping) in enumerate(springs):
                ratio = slope(lambda x: elbows(*at[:i], x, *at[i + 1 :]), at[i])[j]
                if share == "springs":
                    load = mp.mpf(stiffness) * (elbows(*at)[j] - mp.mpf(rest))
                else:
                    load = mp.mpf(damping) * slope(lambda s: elbows(*motion(s)), t)[j]
                total += ratio * load
            return total

        for i, rates in enumerate(found.T):
            expected = mp.taylor(partial(torque, i), 0, 2)
            expected = [float(x * mp.factorial(k)) for k, x in enumerate(expected)]
            assert error(rates, np.array(expected)) < 1e-12


def test_they_are_what_the_springs_add_to_every_torque(robot):
    model, _ = robot
    q = model.home + np.outer([1.0, 0.0], AWAY)
    rows = [q, *(np.stack([row, -row]) for row in RATES)]
    added = rigid.passive_torques(model, *rows).sum(axis=0)
    both = [np.stack(rigid.inverse_dynamics(each, *rows)) for each in (model, bare(model))]
    assert error(both[0], both[1] + added, 3) < 1e-12
    of_tree = rigid.passive_torques(model.tree, *model.tree_motion(*rows))
    assert of_tree.shape == (2, 3, 2, 4)
    assert not of_tree.any()
    assert not rigid.passive_torques(bare(model), *rows).any()


def test_slopes_at_rest_are_derivatives_and_part_of_the_linear_arm(robot):
    model, actuators = robot
    q, step = model.home + AWAY, 1e-5
    for slope, direction in zip(rigid.passive_slopes(model, q), np.eye(2), strict=True):
        columns = []
        for e in np.eye(2):
            ends = [
                rigid.passive_torques(model, q + direction[0] * h * e, direction[1] * h * e)
                for h in (step, -step)
            ]
            columns.append((ends[0] - ends[1]).sum(axis=0)[0] / (2 * step))
        np.testing.assert_allclose(slope, np.array(columns).T, atol=1e-7)
    rest = at_rest(model, actuators, q)
    arm, other = (linear_arm(each, actuators, q, rest) for each in (model, bare(model)))
    links = np.ix_(arm.links, arm.links)
    for found, without, slope in zip(
        (arm.stiffness, arm.damping),
        (other.stiffness, other.damping),
        rigid.passive_slopes(model, q),
        strict=True,
    ):
        np.testing.assert_allclose(found[links] - without[links], slope, atol=1e-10)
    assert not rigid.passive_slopes(bare(model), q).any()


def test_the_energy_of_the_plant_decreases_by_what_the_dampers_dissipate(robot):
    model, actuators = robot
    plant = ElasticRobot(model, actuators, step=1e-4)
    hold = plant.motor_torque.copy()
    plant.reset(model.home, np.array([0.6, -0.4]))
    before, theta, lost = sum(plant.energy()), plant.theta.copy(), [plant.dissipation()]
    for _ in range(100):
        plant.step(hold, 1e-3)
        lost.append(plant.dissipation())
    gained = sum(plant.energy()) - hold @ (plant.theta - theta)
    dissipated = 1e-3 * (sum(lost) - 0.5 * (lost[0] + lost[-1]))
    assert dissipated > 1e-3
    assert before - gained == pytest.approx(dissipated, rel=1e-3)


def test_the_arm_holds_the_springs_at_rest_but_not_a_robot_that_compensates_gravity(robot):
    model, actuators = robot
    plant, arm = ElasticRobot(model, actuators), control.Arm(model, actuators)
    weight = rigid.gravity_forces(model, model.home)
    assert np.abs(weight - rigid.gravity_forces(bare(model), model.home)).max() > 1.0
    arm.design(plant.q)
    arm.activate()
    signals = {"link_position": plant.q.copy(), "motor_position": plant.theta.copy()}
    command = arm.update(control.Sample(10**9, signals))
    assert command.mode.name == "HOLDING"
    np.testing.assert_allclose(command.torque, weight, atol=1e-9)
    settings = control.FlatnessSettings(gravity_compensated_by_robot=True)
    with pytest.raises(dyn.InputError, match="gravity_compensated_by_robot is not available for"):
        control.Arm(model, actuators, settings)
