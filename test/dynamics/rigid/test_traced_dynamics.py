"""Recorded inverse dynamics equal the general recursions and Pinocchio, with fewer operations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.records import ANGULAR, INERTIA, JOINT_ROW, MASS
from multibody_dynamics.dynamics.rigid.traced_dynamics import (
    constant_columns,
    trace_inverse_dynamics,
)
from reference import error
from robots import PANDA, draw, panda, random_tree

SCARA = """<robot name="scara"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="3"/>
<inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.1 0 0.02"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="quill"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
<origin xyz="0.4 0 0" rpy="0 0.3 0"/><axis xyz="0 0.6 0.8"/></joint>
<joint name="lift" type="prismatic"><parent link="fore"/><child link="quill"/>
<origin xyz="0.3 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
</joint></robot>"""

MODELS = {
    "panda": panda,
    "scara": lambda: dyn.parse_urdf(SCARA),
    "off-axis tree": lambda: random_tree(8, 3).with_reflected_inertia(np.full(8, 0.2)),
    "prismatic": lambda: random_tree(4, 5, kinds=("prismatic",)),
    "helical": lambda: random_tree(4, 6, kinds=("helical",)),
    "weightless": lambda: random_tree(5, 7, gravity=(0.0, 0.0, 0.0)),
    "one joint": lambda: random_tree(1, 8),
}


def evaluated(model, program, state, order):
    inputs = {"state": state[:, : order + 3].reshape(len(state), -1)}
    if "joints" in program.inputs:
        inputs |= {"joints": model.joint_rows.ravel(), "gravity": model.gravity}
    found = program.evaluate(**inputs)["result"]
    return found.reshape(len(state), order + 1, model.n)


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_the_trace_equals_the_recursion(name, representation, order, symbolic):
    model = MODELS[name]()
    program = trace_inverse_dynamics(model, order, representation, symbolic=symbolic)
    state = np.random.default_rng(2).normal(size=(3, 5, model.n))
    found = evaluated(model, program, state, order)
    expected = dyn.inverse_dynamics(model, *state[:, : order + 3].swapaxes(0, 1))
    for k in range(order + 1):
        assert error(found[:, k], expected[k]) < 1e-13


def test_the_trace_equals_pinocchio():
    model, robot = panda(), pin.buildModelFromUrdf(str(PANDA))
    q, qd, qdd = draw(model, 3)
    program = trace_inverse_dynamics(model, 0)
    found = evaluated(model, program, np.array([[q, qd, qdd]]), 0)[0, 0]
    assert error(found, pin.rnea(robot, robot.createData(), q, qd, qdd)) < 1e-13


def test_half_of_the_operations_vanish():
    """The Panda has 486 + 411 operations per joint in the general recursion (docs/benchmark.md)."""
    model = panda()
    program = trace_inverse_dynamics(model, symbolic=False)
    assert program.size < 0.55 * (486 + 411) * model.n
    # parameters that can change cost next to nothing
    assert trace_inverse_dynamics(model).size < 1.02 * program.size
    # a robot without zeros in its geometry keeps more
    chain = random_tree(7, 3, kinds=("revolute",), branching=0.0)
    assert trace_inverse_dynamics(chain).size > 1.2 * program.size


def test_constants_are_the_geometry_and_zeros():
    model = dyn.parse_urdf(SCARA)
    constant = constant_columns(model)
    assert constant.shape == (3, JOINT_ROW)
    assert constant[:, : ANGULAR + 2].all()
    inertial = slice(MASS, INERTIA + 6)
    np.testing.assert_array_equal(constant[:2, inertial], model.joint_rows[:2, inertial] == 0.0)
    assert not constant[2, inertial].any()  # the last body, where a payload goes


def test_parameters_may_change():
    model = random_tree(6, 4)
    program = trace_inverse_dynamics(model)
    state = draw(model, 5)[None]
    heavy = model.with_payload("body3", 2.0, (0.1, 0.2, 0.3), np.eye(3)).with_gravity((3, -2, 1))
    found = evaluated(heavy, program, state, 2)[0]
    assert error(found, np.array(dyn.inverse_dynamics(heavy, *state[0]))) < 1e-13
    assert error(found, np.array(dyn.inverse_dynamics(model, *state[0]))) > 1e-3
