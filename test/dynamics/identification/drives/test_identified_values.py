# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of links and springs are those of the robot that is returned."""

from dataclasses import replace
from functools import cache

import numpy as np

from drive_runs import elastic_run, planar, real_planar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.identified_values import _about_com
from multibody_dynamics.dynamics.model.inertia import spatial_inertia

idn, elastic = dyn.identification, dyn.elastic
UPPER = np.triu_indices(3)


def test_inertia_about_the_centre_of_mass_by_the_parallel_axis_theorem():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    inertia, com = A @ A.T, rng.normal(size=3)
    M = spatial_inertia(2.5, com, inertia)
    found = _about_com(np.array([2.5, *(2.5 * com), *M[:3, :3][UPPER]]))
    assert np.allclose(found, [2.5, *com, *inertia[UPPER]])


@cache
def with_table():
    """Table springs of the shape of the true ones, but too soft."""
    model, actuators = planar()
    springs = [each.spring for each in actuators.actuators]
    tables = [elastic.TableSpring((-0.3, -0.1, 0.1, 0.3), tuple(k * spring.K for k in
              (-0.3, -0.1, 0.1, 0.3))) for spring in springs]  # fmt: skip
    known = [
        replace(each, spring=table) for each, table in zip(actuators.actuators, tables, strict=True)
    ]
    return idn.identify_robot(
        model,
        [elastic_run()],
        elastic.Actuators(model.joint_names, tuple(known)),
        settings=idn.IdentificationSettings(delays=False),
    )


def test_a_table_is_scaled_as_a_whole():
    found = with_table()
    for joint, actuator, true in zip(
        found.robot.model.joint_names,
        found.robot.actuators.actuators,
        real_planar()[1].actuators,
        strict=True,
    ):
        scale = found.robot.springs[joint]["scale"]
        assert abs(scale.value - 1.2) < 0.005
        assert scale.determined
        phi = np.linspace(-0.2, 0.2, 9)
        assert np.allclose(actuator.spring.torque(phi), true.spring.torque(phi), rtol=0.005)


def test_the_values_of_links_are_those_of_the_model():
    robot = with_table().robot
    ten = idn.inertial_parameters(robot.model).reshape(-1, 10)
    for body, parameters in zip(robot.model.body_names, ten, strict=True):
        values = robot.links[body]
        found = [values["mass"], *values["com"].values(), *values["inertia"].values()]
        assert np.allclose([x.value for x in found], _about_com(parameters))
        assert all(np.isnan(x.error) != x.determined for x in found)
