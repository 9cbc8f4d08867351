"""Forward dynamics: the inverse of the inverse, energy, and Pinocchio's ABA."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.forward_dynamics import solve_positive_definite
from reference import energy, error
from robots import random_tree, to_pinocchio

SEEDS = st.integers(0, 2**32 - 1)


def draw(model, count, *batch, seed=1):
    return np.random.default_rng(seed).normal(size=(count, *batch, model.n))


def some_wrenches(model, *batch, seed=2):
    first, second = np.random.default_rng(seed).normal(size=(2, *batch, 3, 6))
    return {model.body_names[0]: first, model.body_names[-1]: second}


def digits_lost(model, q):
    return np.linalg.cond(dyn.mass_matrix(model, q)).max()


@settings(max_examples=20)
@given(SEEDS)
def test_the_motion_of_a_torque_needs_that_torque(seed):
    """inverse(forward(tau)) = tau, and forward(inverse(q'')) = q'', to the condition of M."""
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.2))
    q, qd, tau = draw(model, 3, 5, seed=seed)
    wrenches = some_wrenches(model, 5)
    qdd = dyn.forward_dynamics(model, q, qd, tau, wrenches=wrenches)
    back = dyn.inverse_dynamics(model, q, qd, qdd, wrenches=wrenches).tau
    bias = np.abs(dyn.inverse_dynamics(model, q, qd, 0 * q, wrenches=wrenches).tau).max()
    assert np.abs(back - tau).max() < 1e-14 * digits_lost(model, q) * (1 + bias)
    again = dyn.forward_dynamics(model, q, qd, back, wrenches=wrenches)
    assert error(again, qdd) < 1e-14 * digits_lost(model, q) * (1 + bias)


@settings(max_examples=10)
@given(SEEDS)
def test_power_is_the_change_of_energy(seed):
    """d/dt (T + U) = tau . q' from first principles, moving with the computed acceleration."""
    model = random_tree(6, seed)
    q, qd, tau = draw(model, 3, seed=seed)
    qdd = dyn.forward_dynamics(model, q, qd, tau)
    kinetic, potential = energy(model, [q, qd, qdd])
    size = float(np.abs(tau) @ np.abs(qd) + abs(kinetic[1]) + abs(potential[1]))
    difference = float(kinetic[1] + potential[1]) - tau @ qd
    assert abs(difference) < 1e-14 * size * digits_lost(model, q)


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_agrees(seed):
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.1))
    twin = to_pinocchio(model)
    data = twin.model.createData()
    for q, qd, tau in zip(*draw(model, 3, 5, seed=seed), strict=True):
        expected = twin.from_pin(pin.aba(twin.model, data, *map(twin.to_pin, (q, qd, tau))))
        qdd = dyn.forward_dynamics(model, q, qd, tau)
        assert error(qdd, expected) < 1e-14 * digits_lost(model, q)


def test_a_pendulum_by_hand():
    """A point mass on a massless rod, with and without a push in the world's axes."""
    m, length, angle = 2.0, 0.7, 0.4
    body = dyn.spatial_inertia(m, (length, 0, 0), np.zeros((3, 3)))
    model = dyn.model_from_screws([-1], [[0, -1, 0, 0, 0, 0]], [np.eye(4)], [body])
    fall = -9.81 * np.cos(angle) / length  # q = angle above the horizontal
    assert dyn.forward_dynamics(model, [angle], [1.5], [0.0])[0] == pytest.approx(fall, rel=1e-14)
    lift = {"body1": [0, -3.0, 0, 0, 0, 0]}  # N m about the origin, along the axis
    pushed = dyn.forward_dynamics(model, [angle], [1.5], [0.5], wrenches=lift)[0]
    assert pushed == pytest.approx(fall + 3.5 / (m * length**2), rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_solve_positive_definite(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    M, b = A @ A.T + np.eye(n), rng.normal(size=n)
    x = b.copy()
    assert solve_positive_definite(M.copy(), x)
    assert error(x, np.linalg.solve(M, b)) < 1e-13 * np.linalg.cond(M)


@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan])
def test_what_is_not_positive_definite_is_told(pivot):
    M = np.array([[2.0, 1.0, 0], [1.0, 0.5 + pivot, 0], [0, 0, 1.0]])
    assert not solve_positive_definite(M, np.ones(3))


def test_a_singular_mass_matrix_is_refused_with_the_configuration():
    """A point mass that the second joint carries onto the axis of the first one."""
    point = dyn.spatial_inertia(1.0, (1.0, 0, 0), np.zeros((3, 3)))
    arm = dyn.model_from_screws(
        [-1, 0], [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]], [np.eye(4)] * 2, [0 * point, point]
    )
    zero = np.zeros(2)
    dyn.forward_dynamics(arm, zero, zero, zero)
    with pytest.raises(dyn.DynamicsError, match=r"singular.*-1"):
        dyn.forward_dynamics(arm, [0.0, -1.0], zero, zero)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)])
def test_batches_hold_single_results(shape):
    model = random_tree(6, 3)
    q, qd, tau = draw(model, 3, *shape)
    wrenches = some_wrenches(model, *shape)
    result = dyn.forward_dynamics(model, q, qd, tau, wrenches=wrenches)
    assert result.shape == (*shape, model.n)
    for index in np.ndindex(shape):
        one = {body: W[index] for body, W in wrenches.items()}
        single = dyn.forward_dynamics(model, q[index], qd[index], tau[index], wrenches=one)
        np.testing.assert_array_equal(result[index], single)


def test_arguments_broadcast():
    model = random_tree(6, 4)
    q, qd = draw(model, 2, 3, 1)
    tau = draw(model, 1, 4)[0]
    result = dyn.forward_dynamics(model, q, qd, tau)
    assert result.shape == (3, 4, model.n)
    single = dyn.forward_dynamics(model, q[2, 0], qd[2, 0], tau[1])
    np.testing.assert_array_equal(result[2, 1], single)


@pytest.mark.parametrize("name", ["q", "qd", "tau"])
@pytest.mark.parametrize("bad", [None, 0.0, [1.0], np.full(5, np.inf), np.zeros(5) * 1j, ["a"] * 5])
def test_bad_input_is_refused_and_named(name, bad):
    arguments = {"q": np.zeros(5), "qd": np.zeros(5), "tau": np.zeros(5)} | {name: bad}
    with pytest.raises(dyn.InputError, match=rf"\b{name}\b"):
        dyn.forward_dynamics(random_tree(5, 5), **arguments)


def test_shapes_that_do_not_fit_are_listed():
    model = random_tree(5, 5)
    with pytest.raises(dyn.InputError, match=r"states \(2,\), tau \(3,\), wrenches \(\)"):
        dyn.forward_dynamics(model, np.zeros((2, 5)), np.zeros(5), np.zeros((3, 5)))


def test_arguments_are_never_written_to():
    model = random_tree(6, 6)
    arrays = list(draw(model, 3, 4)[:, ::2])
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    dyn.forward_dynamics(model, *arrays)[...] = 7
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
