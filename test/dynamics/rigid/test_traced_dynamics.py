"""Recorded inverse dynamics equal the general recursions and Pinocchio, with fewer operations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.records import ANGULAR, INERTIA, JOINT_ROW, MASS
from multibody_dynamics.dynamics.rigid.traced_dynamics import (
    TracedInputs,
    constant_columns,
    trace_forward_dynamics,
    trace_gravity_forces,
    trace_inverse_dynamics,
    trace_momentum,
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


ROWS = ("q", "qd", "qdd", "qddd", "qdddd")


def evaluated(program, state, **inputs):
    """The results (order + 1, ..., n) of a program for states (5, ..., n)."""
    rows = {name: row for name, row in zip(ROWS, state, strict=True) if name in program.inputs}
    return np.array(list(program.evaluate(**rows, **inputs).values()))


def variable(model):
    """The inputs of a solver."""
    return TracedInputs(joints=~constant_columns(model), gravity=model.gravity != 0.0)


def parameters(model):
    return {"joints": model.joint_rows.ravel(), "gravity": model.gravity}


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_the_trace_equals_the_recursion(name, representation, order):
    model = MODELS[name]()
    state = np.random.default_rng(2).normal(size=(5, 3, model.n))
    expected = dyn.inverse_dynamics(model, *state[: order + 3])
    constant = trace_inverse_dynamics(model, order, representation)
    of_solver = trace_inverse_dynamics(model, order, representation, variable(model))
    for found in (evaluated(constant, state), evaluated(of_solver, state, **parameters(model))):
        assert found.shape == (order + 1, 3, model.n)
        for k in range(order + 1):
            assert error(found[k], expected[k]) < 1e-13


def test_the_trace_equals_pinocchio():
    model, robot = panda(), pin.buildModelFromUrdf(str(PANDA))
    state = draw(model, 5)
    found = evaluated(trace_inverse_dynamics(model, 0), state)[0]
    assert error(found, pin.rnea(robot, robot.createData(), *state[:3])) < 1e-13


def test_half_of_the_operations_vanish():
    """The Panda has 486 + 411 operations per joint in the general recursion (docs/benchmark.md)."""
    model = panda()
    program = trace_inverse_dynamics(model)
    assert program.size < 0.55 * (486 + 411) * model.n
    # parameters that can change cost next to nothing
    assert trace_inverse_dynamics(model, inputs=variable(model)).size < 1.02 * program.size
    # a robot without zeros in its geometry keeps more
    chain = random_tree(7, 3, kinds=("revolute",), branching=0.0)
    assert trace_inverse_dynamics(chain).size > 1.2 * program.size


def test_parameters_may_change():
    model = random_tree(6, 4)
    program = trace_inverse_dynamics(model, inputs=variable(model))
    state = draw(model, 5)
    heavy = model.with_payload("body3", 2.0, (0.1, 0.2, 0.3), np.eye(3)).with_gravity((3, -2, 1))
    found = evaluated(program, state, **parameters(heavy))
    assert error(found, np.array(dyn.inverse_dynamics(heavy, *state))) < 1e-13
    assert error(found, np.array(dyn.inverse_dynamics(model, *state))) > 1e-3


LOAD = (
    1.7,
    (0.1, -0.2, 0.05),
    np.array([[0.3, 0.01, 0.02], [0.01, 0.4, -0.03], [0.02, -0.03, 0.5]]),
)


@pytest.mark.parametrize("representation", ["body", "spatial"])
def test_a_payload_is_an_input(representation):
    model = random_tree(5, 12)
    gripper = model.with_payload("body2", 0.3, (0.02, 0.1, 0.2), name="gripper")
    state = draw(model, 5)
    mass, com, about_com = LOAD
    numbers = np.array([mass, *com, *about_com[np.triu_indices(3)]])
    for robot, link in ((model, "body2"), (gripper, "gripper")):
        inputs = TracedInputs(payload=link)
        program = trace_inverse_dynamics(robot, 2, representation, inputs)
        loaded = robot.with_payload(link, *LOAD, name="load")
        found = evaluated(program, state, payload=numbers)
        assert error(found, np.array(dyn.inverse_dynamics(loaded, *state))) < 1e-12
        found = evaluated(program, state, payload=np.zeros(10))
        assert error(found, np.array(dyn.inverse_dynamics(robot, *state))) < 1e-13
        forward = trace_forward_dynamics(robot, inputs)
        tau = dyn.inverse_dynamics(loaded, *state[:3]).tau
        found = forward.evaluate(q=state[0], qd=state[1], tau=tau, payload=numbers)["qdd"]
        assert error(found, state[2]) < 1e-11


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("representation", ["body", "spatial"])
def test_wrenches_and_gravity_are_inputs(representation, order):
    model = random_tree(5, 13)
    inputs = TracedInputs(gravity=np.ones(3, dtype=bool), wrenches=("body1", "body4"))
    program = trace_inverse_dynamics(model, order, representation, inputs)
    state, rng = draw(model, 5), np.random.default_rng(4)
    W = rng.normal(size=(2, 3, 6))
    loads = {f"wrench {k}": W[k, : order + 1].ravel() for k in range(2)}
    found = evaluated(program, state, gravity=np.array([1.0, 2.0, 3.0]), **loads)
    moved = model.with_gravity((1.0, 2.0, 3.0))
    wrenches = {"body1": W[0], "body4": W[1]}
    expected = dyn.inverse_dynamics(moved, *state[: order + 3], wrenches=wrenches)
    assert error(found, np.array(expected[: order + 1])) < 1e-12


@pytest.mark.parametrize("name", MODELS)
def test_forward_dynamics_invert_inverse_dynamics(name):
    model = MODELS[name]()
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 4, model.n))
    tau = dyn.inverse_dynamics(model, q, qd, qdd).tau
    found = trace_forward_dynamics(model).evaluate(q=q, qd=qd, tau=tau)["qdd"]
    assert error(found, dyn.forward_dynamics(model, q, qd, tau)) < 1e-12


def test_forward_dynamics_with_wrenches():
    model = random_tree(5, 13)
    q, qd, tau = draw(model, 3)
    W = np.random.default_rng(4).normal(size=6)
    program = trace_forward_dynamics(model, TracedInputs(wrenches=("body3",)))
    found = program.evaluate(q=q, qd=qd, tau=tau, **{"wrench 0": W})["qdd"]
    expected = dyn.forward_dynamics(model, q, qd, tau, wrenches={"body3": W})
    assert error(found, expected) < 1e-12


@pytest.mark.parametrize("robot", ["panda", "off-axis", "prismatic", "helical"])
def test_gravity_and_momentum(robot):
    model = {
        "panda": panda,
        "off-axis": lambda: random_tree(6, 3).with_reflected_inertia(np.linspace(0.0, 0.5, 6)),
        "prismatic": lambda: random_tree(4, 5, kinds=("prismatic", "revolute")),
        "helical": lambda: random_tree(4, 6, kinds=("helical",)),
    }[robot]()
    for q, qd in np.random.default_rng(5).uniform(-2.0, 2.0, (20, 2, model.n)):
        weight = dyn.gravity_forces(model, q)
        assert error(trace_gravity_forces(model).evaluate(q=q)["tau"], weight) < 1e-12
        found = trace_momentum(model).evaluate(q=q, qd=qd)
        assert error(found["momentum"], dyn.mass_matrix(model, q) @ qd) < 1e-12
        bias = weight - dyn.coriolis_matrix(model, q, qd).T @ qd
        assert error(found["bias"], bias) < 1e-12


def test_gravity_and_momentum_take_a_fraction_of_the_operations():
    model = panda()
    full = trace_inverse_dynamics(model).size
    assert trace_gravity_forces(model).size < 0.1 * full
    assert trace_momentum(model).size < 0.5 * full


def test_wrong_arguments_are_named():
    model = random_tree(2, 1)
    with pytest.raises(dyn.InputError, match="order: expected 0, 1 or 2, got 3"):
        trace_inverse_dynamics(model, 3)
    with pytest.raises(dyn.InputError, match="world"):
        trace_inverse_dynamics(model, 0, "world")
    for inputs in (TracedInputs(payload="hand"), TracedInputs(wrenches=("hand",))):
        with pytest.raises(dyn.InputError, match="hand"):
            trace_inverse_dynamics(model, 0, inputs=inputs)


def test_constants_are_the_geometry_and_zeros():
    model = dyn.parse_urdf(SCARA)
    constant = constant_columns(model)
    assert constant.shape == (3, JOINT_ROW)
    assert constant[:, : ANGULAR + 2].all()
    inertial = slice(MASS, INERTIA + 6)
    np.testing.assert_array_equal(constant[:2, inertial], model.joint_rows[:2, inertial] == 0.0)
    assert not constant[2, inertial].any()  # the last body, where a payload goes
