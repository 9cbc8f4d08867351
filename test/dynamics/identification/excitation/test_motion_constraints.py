# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inequalities of Fourier motions: gradients for every kind of drive, and the safe side."""

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, linear_arm, variable_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.identification.excitation.motion_constraints import (
    MotionConstraints,
)
from robots import CONFIG, panda, random_tree

FORM = idn.FourierForm(period=4.0, harmonics=2, repetitions=1.0, ramp=0.5)
BOX = np.array([[-3.0, -3.0, -3.0], [3.0, 3.0, 3.0]])


def rigid_panda():
    friction = idn.JointFriction.smooth_coulomb(*np.full((3, 7), 0.4))
    return panda(), {"friction": friction}


def tree():
    return random_tree(5, 3), {"torque": 30.0}


def elastic(make):
    arm = make()
    return lambda: (arm.model, {"actuators": arm.actuators, "torque": 50.0})


def five_bar():
    files = CONFIG / "mechanisms" / "five_bar.urdf"
    springs = files.with_suffix(".yaml")
    model = dyn.mechanisms.load_robot(files, springs)
    return model, {"actuators": dyn.load_actuators(springs, model.joint_names), "torque": 50.0}


ROBOTS = {
    "panda": rigid_panda,
    "tree": tree,
    "springs": elastic(linear_arm),
    "variable": elastic(variable_arm),
    "antagonistic": elastic(antagonistic_arm),
    "loops": five_bar,
}


@pytest.mark.parametrize("name", ROBOTS)
def test_gradients_are_those_of_central_differences(name):
    """Branching and prismatic joints, friction, springs, variable stiffness, two motors, loops."""
    model, options = ROBOTS[name]()
    limits = idn.ExcitationLimits.of(
        model, acceleration=3.0, torque_rate=300.0, capsules=idn.link_skeleton(model), box=BOX,
        **options,
    )  # fmt: skip
    constraints = MotionConstraints(FORM, limits, 30.0)
    rng = np.random.default_rng(1)
    c = 0.1 * rng.normal(size=(FORM.size, model.n))
    c[0] += model.home
    _, slope = constraints.evaluate(c)
    for _ in range(2):
        direction = rng.normal(size=c.shape)
        step = 1e-5
        ends = [constraints.evaluate(c + s * step * direction)[0] for s in (1, -1)]
        expected = (ends[0] - ends[1]) / (2.0 * step)
        found = (slope * direction).sum(axis=(1, 2))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_positive_inequalities_keep_the_limits_at_their_times():
    model, options = rigid_panda()
    limits = idn.ExcitationLimits.of(
        model, acceleration=3.0, capsules=idn.link_skeleton(model), **options
    )
    rng = np.random.default_rng(3)
    middle = 0.5 * (limits.lower + limits.upper)
    checked = 0
    for size in (0.02, 0.1, 0.2, 0.4, 0.6, 1.0):
        for sharpness in (20.0, 200.0):
            constraints = MotionConstraints(FORM, limits, sharpness)
            c = size * rng.normal(size=(FORM.size, 7))
            c[0] = middle
            values, _ = constraints.evaluate(c)
            states = constraints.motion(c).swapaxes(0, 1)
            every = limits.uses(constraints.times[::2], states[::2])
            if values.min() > 0.0:
                checked += 1
                assert every[0].used <= 1.0
    assert checked >= 2


def test_sharper_inequalities_are_closer_to_the_greatest_value():
    model, options = rigid_panda()
    limits = idn.ExcitationLimits.of(model, acceleration=3.0, **options)
    c = 0.2 * np.random.default_rng(1).normal(size=(FORM.size, 7))
    values = []
    for sharpness in (10.0, 100.0, 1e4):
        values.append(MotionConstraints(FORM, limits, sharpness).evaluate(c)[0])
    assert (np.diff(values, axis=0) > 0.0).all()
    states = MotionConstraints(FORM, limits).motion(c)
    speed = 1.0 - np.abs(states[1]).max(axis=0) / limits.velocity
    np.testing.assert_allclose(values[-1][7:14], speed, atol=1e-2)
