# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Assumed springs and motors: their frequencies, and joints that turn beside joints that slide."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.stability.loop_judgement import judge_loop
from multibody_dynamics.tools.base.generated_drives import SPRING_FREQUENCY, generated_drives


def lifted_arm(lift: float) -> dyn.MultibodyModel:
    """An arm on a lift of this mass in kg, with a last joint that turns a small shaft."""
    small = dyn.spatial_inertia(0.3, (0, 0, 0.05), np.diag([8e-5, 8e-5, 4e-6]))
    link = dyn.spatial_inertia(2.0, (0.2, 0, 0), 0.02 * np.eye(3))
    z, y, x = np.eye(3)[::-1]
    model = dyn.model_from_screws(
        [-1, 0, 1, 2],
        [dyn.prismatic(z), dyn.revolute(y), dyn.revolute(y, (0.4, 0, 0)), dyn.revolute(x)],
        [
            np.eye(4),
            np.eye(4),
            dyn.se3.exp((0, 0, 0, 0.4, 0, 0)),
            dyn.se3.exp((0, 0, 0, 0.8, 0, 0)),
        ],
        [dyn.spatial_inertia(lift, (0, 0, 0), np.eye(3)), link, link, small],
        joint_names=["lift", "shoulder", "elbow", "wrist"],
    )
    return replace(model, limits=model.limits._replace(lower=-np.ones(4), upper=np.ones(4)))


def springs(model):
    text = generated_drives(model)
    return dyn.load_actuators(yaml.safe_load(text), model.joint_names, model.joint_types)


def test_links_oscillate_at_the_stated_frequency():
    model = lifted_arm(20.0)
    stiffness = np.array([each.spring.stiffness(0.0) for each in springs(model).actuators])
    inertia = np.diag(dyn.mass_matrix(model, np.zeros(4)))
    found = np.sqrt(stiffness / inertia) / (2.0 * np.pi)
    np.testing.assert_allclose(found[:2], SPRING_FREQUENCY, rtol=0.2)  # means over configurations


def test_a_heavy_lift_does_not_stiffen_joints_that_turn():
    light, heavy = (yaml.safe_load(generated_drives(lifted_arm(m)))["joints"] for m in (5, 500))
    assert light["lift"] != heavy["lift"]
    for joint in ("shoulder", "elbow", "wrist"):
        assert light[joint] == heavy[joint]


@pytest.mark.parametrize("lift", [20.0, 500.0])
def test_the_default_law_is_stable_with_assumed_springs(lift):
    model = lifted_arm(lift)
    settings = control.ControllerSettings(position=np.zeros(4))
    controller = control.make_controller(model, springs(model), settings)
    judged = judge_loop(controller, np.zeros(4), poses=15)
    assert not judged.is_unstable.any(), str(judged)
