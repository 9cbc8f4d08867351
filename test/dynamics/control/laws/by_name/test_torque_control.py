# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The impedance of "torque_control": links that gravity would tip over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from elastic_arms import law_of, linear_arm, shipped
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import inertias_felt, middle_of_range, spread_poses
from multibody_dynamics.dynamics.control.laws.by_name.torque_control import (
    LINK_BANDWIDTH,
    STABILITY_MARGIN,
    gravity_stability_rate,
)
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.rigid import gravity_forces

MASS, LENGTH, g = 2.0, 0.4, 9.81


def pendulum(screw: np.ndarray):
    """A point mass at LENGTH along z from the joint at q = 0."""
    return dyn.model_from_screws(
        [-1], [screw], [np.eye(4)], [dyn.spatial_inertia(MASS, (0.0, 0.0, LENGTH), np.eye(3))],
        joint_names=("joint",), gravity=(0.0, 0.0, -g),
    )  # fmt: skip


def test_an_upright_pendulum_tips_and_a_hanging_or_sliding_mass_does_not():
    model, d = pendulum(dyn.revolute((0, 1, 0), (0, 0, 0))), [0.7]
    upright = np.sqrt(MASS * g * LENGTH / d[0])
    assert_allclose(gravity_stability_rate(model, d, [0.0]), upright)
    assert_allclose(
        gravity_stability_rate(model, d, [[1.0], [np.pi]]), upright * np.sqrt(np.cos(1.0))
    )
    assert gravity_stability_rate(model, d, [np.pi]) == 0.0
    assert gravity_stability_rate(pendulum(dyn.prismatic((0, 0, 1))), d, [0.3]) == 0.0


@given(seed=st.integers(0, 2**31), share=st.floats(0.8, 1.2))
def test_the_energy_of_the_impedance_has_a_minimum_above_the_rate_only(seed, share):
    """By differences of the gravity forces, for the Panda."""
    rng, model = np.random.default_rng(seed), shipped("panda").model
    q, d = spread_poses(model, 7)[rng.integers(7)], rng.uniform(0.02, 2.0, model.n)
    rate, h = gravity_stability_rate(model, d, q), 1e-5
    G = [gravity_forces(model, q + h * e) - gravity_forces(model, q - h * e) for e in np.eye(7)]
    slope = np.linalg.eigvalsh(np.diag(d) * (share * rate) ** 2 + np.array(G) / (2.0 * h)).min()
    if abs(share - 1.0) > 1e-3 and rate > 0.5:
        assert (slope > 0.0) == (share > 1.0)


def test_inertias_must_be_positive():
    model = linear_arm().model
    with pytest.raises(InputError, match=r"that of joint 'elbow' is -1, must be positive"):
        gravity_stability_rate(model, [1.0, -1.0], np.zeros(2))


def test_the_default_of_torque_control_is_stiff_enough_for_every_pose():
    arm = shipped("panda")
    q = middle_of_range(arm.model)  # where the node designs its gains
    felt = inertias_felt(arm.model, arm.actuators, q)
    rate = gravity_stability_rate(arm.model, felt, spread_poses(arm.model))
    law = law_of(arm, "torque_control", position=q)
    assert STABILITY_MARGIN * rate > LINK_BANDWIDTH
    assert_allclose(law.link_stiffness, felt * (STABILITY_MARGIN * rate) ** 2)
    stiffness = np.diag(law.link_stiffness)
    for pose in spread_poses(arm.model, 20):
        slope = dyn.inverse_dynamics_derivatives(arm.model, pose, 0 * pose, 0 * pose).dtau_dq
        assert np.linalg.eigvalsh(stiffness + 0.5 * (slope + slope.T)).min() > 0.0


def test_loops_and_impedance_are_designed_as_chosen_or_refused():
    arm, measured = linear_arm(), {"delay": 1e-3, "velocity_filter": (3, 100.0)}
    chosen = {"torque_bandwidth": 70.0} | measured
    law = law_of(arm, "torque_control", torque_design="inertia_shaping", **chosen)
    wanted = dyn.control.inertia_shaping_gains(
        *arm, 70.0, timing=dyn.control.LoopTiming(**measured)
    )
    np.testing.assert_array_equal(law.gains.share, wanted.share)
    np.testing.assert_array_equal(law.gains.damping, wanted.damping)
    assert law.delay == 1e-3
    for changes, message in (
        ({"torque_bandwidth": 900.0}, "the torque loop 'torque_observer' with a bandwidth of 900"),
        ({"bandwidth": 500.0}, "around the torque loops, the arm has a pole"),
    ):
        with pytest.raises(InputError, match=message):
            law_of(arm, "torque_control", **(chosen | changes))


def test_a_small_arm_and_a_chosen_bandwidth_keep_theirs():
    arm = linear_arm()
    for chosen, wanted in ((None, LINK_BANDWIDTH), (8.0, 8.0)):
        law = law_of(arm, "torque_control", bandwidth=chosen)
        felt = inertias_felt(arm.model, arm.actuators, arm.rest)
        assert_allclose(law.link_stiffness, felt * wanted**2)
