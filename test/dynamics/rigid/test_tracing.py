# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What stays constant in traced code, and what a traced robot is made of."""

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import Expression
from multibody_dynamics.dynamics.model.records import ANGULAR, INERTIA, JOINT_ROW, MASS
from multibody_dynamics.dynamics.rigid import TracedInputs, traced_robot
from multibody_dynamics.dynamics.rigid.tracing import constant_columns
from robots import SCARA, random_tree


def test_constants_are_the_geometry_and_zeros():
    model = dyn.parse_urdf(SCARA)
    constant = constant_columns(model)
    assert constant.shape == (3, JOINT_ROW)
    assert constant[:, : ANGULAR + 2].all()
    inertial = slice(MASS, INERTIA + 6)
    np.testing.assert_array_equal(constant[:2, inertial], model.joint_rows[:2, inertial] == 0.0)
    assert not constant[2, inertial].any()  # the last body, where a payload goes


def test_only_what_is_asked_for_is_an_input():
    model = random_tree(4, 3)
    robot = traced_robot(model, ("q", "qd"))
    assert robot.graph.groups == {"q": 4, "qd": 4}
    assert all(isinstance(x, Expression) for x in robot.state[:2].flat)
    assert not robot.state[2:].any()
    np.testing.assert_array_equal(robot.joints.astype(float), model.joint_rows)
    weight = TracedInputs(gravity=np.array([False, False, True]), wrenches=("body2", 2))
    robot = traced_robot(model, ("q",), weight, wrench_rows=2)
    assert robot.graph.groups == {"q": 4, "gravity": 3, "wrench 0": 12, "wrench 1": 12}
    assert [isinstance(x, Expression) for x in robot.gravity] == [False, False, True]
    loaded = [[isinstance(x, Expression) for x in row] for row in robot.applied]
    assert np.array(loaded).sum(axis=1).tolist() == [0, 12, 12, 0]


def test_programs_of_arrays_of_any_shape():
    robot = traced_robot(random_tree(2, 3), ("q",))
    assert (robot.n, robot.more("load", 3).shape) == (2, (3,))
    q = robot.state[0]
    program = robot.program({"table": np.array([[q[0], 2.0 * q[1]], [1.0, 0.0]], dtype=object)})
    found = program.evaluate(q=np.array([3.0, 4.0]), load=np.zeros(3))["table"]
    np.testing.assert_array_equal(found, [3.0, 8.0, 1.0, 0.0])
