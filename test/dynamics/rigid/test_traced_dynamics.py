# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded inverse dynamics equal the general recursions and Pinocchio, with fewer operations."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid import (
    TracedInputs,
    trace_forward_dynamics,
    trace_forward_dynamics_derivatives,
    trace_inverse_dynamics,
    trace_inverse_dynamics_derivatives,
    trace_mass_matrix,
)
from multibody_dynamics.dynamics.rigid.tracing import constant_columns
from reference import error, worst
from rejections import assert_rejected
from robots import SCARA, draw, panda, random_tree

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


@pytest.mark.parametrize(
    ("name", "representation", "order"),  # every robot in every representation, orders by turns
    [
        (name, representation, (i + k) % 3)
        for i, name in enumerate(MODELS)
        for k, representation in enumerate(dyn.REPRESENTATIONS)
    ],
)
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


def test_wrong_arguments_are_named():
    model = random_tree(2, 1)
    for order in (-1, 1.0, True):
        with pytest.raises(dyn.InputError, match=f"order: expected 0, 1, 2, ..., got {order}"):
            trace_inverse_dynamics(model, order)
    for extra in ({"representation": "spatial"}, {"inputs": TracedInputs(wrenches=("body1",))}):
        with pytest.raises(dyn.InputError, match=r"order: 3 .* the highest order is 2"):
            trace_inverse_dynamics(model, 3, **extra)
    assert_rejected((lambda: trace_inverse_dynamics(model, 0, "world"), "world"))
    for inputs in (TracedInputs(payload="hand"), TracedInputs(wrenches=("hand",))):
        with pytest.raises(dyn.InputError, match="hand"):
            trace_inverse_dynamics(model, 0, inputs=inputs)


@pytest.mark.parametrize("name", MODELS)
def test_third_derivatives_of_the_torques(name):
    model = MODELS[name]()
    state = np.random.default_rng(2).normal(size=(6, model.n))
    for inputs, more in ((TracedInputs(), {}), (variable(model), parameters(model))):
        program = trace_inverse_dynamics(model, 3, inputs=inputs)
        found = program.evaluate(**dict(zip((*ROWS, "qddddd"), state, strict=True)), **more)
        assert tuple(found) == ("tau", "tau_dot", "tau_ddot", "tau_dddot")
        expected = dyn.rigid.higher_order_inverse_dynamics(model, state)
        for k, row in enumerate(found.values()):
            assert error(row, expected[k]) < 1e-12


def test_a_third_derivative_costs_less_than_twice_the_second():
    for model in (panda(), random_tree(7, 3, kinds=("revolute",), branching=0.0)):
        sizes = [trace_inverse_dynamics(model, order).size for order in (2, 3)]
        assert sizes[1] < 1.7 * sizes[0]


@pytest.mark.parametrize("name", MODELS)
def test_the_mass_matrix(name):
    model = MODELS[name]()
    q = np.random.default_rng(2).normal(size=(3, model.n))
    found = trace_mass_matrix(model).evaluate(q=q)["M"].reshape(3, model.n, model.n)
    assert error(found, dyn.mass_matrix(model, q), 2) < 1e-13


def matrices(program, shape, **inputs):
    return [x.reshape(shape) for x in program.evaluate(**inputs).values()]


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_of_inverse_and_forward_dynamics(name):
    model = MODELS[name]()
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 3, model.n))
    shape = (3, model.n, model.n)
    # dQ/dq' of a single joint is zero: its terms, of the size of M q', cancel
    speed = np.abs(qd).max() if model.n == 1 else 0.0
    found = matrices(trace_inverse_dynamics_derivatives(model), shape, q=q, qd=qd, qdd=qdd)
    expected = dyn.inverse_dynamics_derivatives(model, q, qd, qdd)
    sizes = 0.0, np.abs(expected.dtau_dqdd).max() * speed, 0.0
    for got, wanted, size in zip(found, expected, sizes, strict=True):
        atol = 1e-12 * max(np.abs(wanted).max(), size)
        np.testing.assert_allclose(got, wanted, atol=atol, rtol=0)
    tau = dyn.inverse_dynamics(model, q, qd, qdd).tau
    found = matrices(trace_forward_dynamics_derivatives(model), shape, q=q, qd=qd, tau=tau)
    expected = dyn.forward_dynamics_derivatives(model, q, qd, tau)
    for got, wanted, size in zip(found, expected, (0.0, speed, 0.0), strict=True):
        atol = 1e-10 * max(np.abs(wanted).max(), size)
        np.testing.assert_allclose(got, wanted, atol=atol, rtol=0)


def test_derivatives_with_wrenches():
    model = random_tree(5, 13)
    q, qd, qdd = draw(model, 3)
    W = np.random.default_rng(4).normal(size=6)
    inputs, wrenches = TracedInputs(wrenches=("body3",)), {"body3": W}
    given, shape = {"q": q, "qd": qd, "wrench 0": W}, (5, 5)
    found = matrices(trace_inverse_dynamics_derivatives(model, inputs), shape, qdd=qdd, **given)
    expected = dyn.inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches)
    assert worst(found, expected, 2) < 1e-12
    found = matrices(trace_forward_dynamics_derivatives(model, inputs), shape, tau=qdd, **given)
    expected = dyn.forward_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches)
    assert worst(found, expected, 2) < 1e-10
