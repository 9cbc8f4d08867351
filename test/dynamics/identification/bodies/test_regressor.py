# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The regressor: column by column from first principles; base parameters."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import delta
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model import inertia
from reference import dynamics, error, motion, particles
from rejections import assert_rejected
from robots import (
    panda,
    random_base,
    random_inertia,
    random_state,
    random_tree,
    to_pinocchio,
    two_link_planar,
    with_multidof,
)

idn = dyn.identification

ROBOTS = {"panda": panda(), "tree": random_tree(6, 1), "multidof": with_multidof()}
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(params=ROBOTS.values(), ids=ROBOTS.keys())
def model(request):
    return request.param


def unit_inertias(n):
    """(10 n, n, 6, 6): the spatial inertias for a unit value of one parameter of one body."""
    units = np.zeros((10, 6, 6))
    units[0, 3:, 3:] = np.eye(3)
    for k, c in enumerate(np.eye(3)):
        units[1 + k, :3, 3:], units[1 + k, 3:, :3] = dyn.so3.hat(c), -dyn.so3.hat(c)
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        units[4 + k, i, j] = units[4 + k, j, i] = 1
    every = np.zeros((n, 10, n, 6, 6))
    for i in range(n):
        every[i, :, i] = units
    return every.reshape(10 * n, n, 6, 6)


def rank(matrix):
    """The numerical rank, determined by an unambiguous gap."""
    size = np.linalg.norm(matrix, axis=0)
    scaled = matrix / np.where(size > 1e-9 * size.max(), size, size.max())
    effects = np.linalg.svd(scaled, compute_uv=False)
    rank = int(np.sum(effects > 1e-9 * effects[0]))
    assert effects[rank - 1] > 1e-5 * effects[0]
    assert np.all(effects[rank:] < 1e-12 * effects[0])
    return rank


# the regressor


@pytest.mark.parametrize("base", [None, random_base(1, 3)])
def test_torques_and_their_rates_are_linear_in_the_parameters(model, base):
    state = np.random.default_rng(0).normal(size=(5, 2, 3, model.n))
    regressor = idn.inverse_dynamics_regressor(model, *state, base=base)
    parameters = idn.inertial_parameters(model)
    assert parameters.shape == (10 * model.n,)
    expected = dyn.inverse_dynamics(model, *state, base=base)
    for Y, tau in zip(regressor, expected, strict=True):
        assert Y.shape == (2, 3, model.n, 10 * model.n)
        assert error(Y @ parameters, tau) < 1e-12


@pytest.mark.parametrize("base", [None, random_base(3)])
def test_passive_torques_and_their_rates_are_linear_in_the_parameters(model, base):
    state, reference = np.random.default_rng(1).normal(size=(2, 4, 2, model.n))
    parameters = idn.inertial_parameters(model)
    u = dyn.rigid.passive_inverse_dynamics(model, state, reference, base=base)
    rotors = [model.reflected_inertia * reference[1 + k] for k in range(3)]
    regressor = idn.passive_regressor(model, state, reference, base=base)
    for Y, tau, rotor in zip(regressor, u, rotors, strict=True):
        assert Y.shape == (2, model.n, 10 * model.n)
        assert error(Y @ parameters + rotor, tau) < 1e-12
    short = idn.passive_regressor(model, state[:3], reference[:3], base=base)
    assert short.Y_ddot is None
    np.testing.assert_allclose(short.Y_dot, regressor.Y_dot, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_the_passive_regressor_are_slopes_of_the_torques(seed):
    """Every seventh column, by differences over its parameter."""
    model = random_tree(5, seed).with_gravity((1.0, -2.0, -9.0))
    (q, qd), reference = np.random.default_rng(seed).normal(size=(2, 2, 5))
    Y = idn.passive_regressor(model, (q, qd), reference).Y
    start = idn.inertial_parameters(model)
    u = dyn.rigid.passive_inverse_dynamics(model, (q, qd), reference).tau
    for k in range(0, 50, 7):
        other = idn.with_inertial_parameters(model, start + 1e-3 * np.eye(50)[k])
        slope = (dyn.rigid.passive_inverse_dynamics(other, (q, qd), reference).tau - u) / 1e-3
        np.testing.assert_allclose(Y[:, k], slope, rtol=0, atol=1e-9)


def test_the_passive_regressor_broadcasts(model):
    state, reference = np.random.default_rng(1).normal(size=(2, 2, 3, model.n))
    wide = idn.passive_regressor(model, state[:, 0], reference[:, :, :]).Y
    one = idn.passive_regressor(model, state[:, 0], reference[:, 2]).Y
    np.testing.assert_allclose(wide[2], one, rtol=0, atol=1e-13)


def test_every_column_and_its_rates_from_first_principles():
    model = random_tree(4, 7)
    state = random_state(model)
    regressor = np.stack(idn.inverse_dynamics_regressor(model, *state))
    moving = motion(model, state)
    for k, inertias in enumerate(unit_inertias(model.n)):
        expected = dynamics(model, state, inertias=inertias, moving=moving).torques
        if expected.any():
            assert error(regressor[..., k], expected) < 1e-13
        else:
            assert not regressor[..., k].any()


def test_the_motors_of_a_robot_with_loops_feel_the_bodies_of_its_tree():
    mechanism = delta()
    model = dyn.mechanisms.closed_chain(mechanism.system, mechanism.q)
    states = np.random.default_rng(1).uniform(-1, 1, (5, 4, 3))
    states[0] = model.home + 0.2 * states[0]
    parameters = idn.inertial_parameters(model)
    regressor = idn.inverse_dynamics_regressor(model, *states)
    factors = np.random.default_rng(2).uniform(0.5, 2.0, model.body_count)
    for robot in (model, model.with_scaled_links(factors)):
        for Y, torque in zip(regressor, dyn.inverse_dynamics(robot, *states), strict=True):
            assert error(Y @ idn.inertial_parameters(robot), torque) < 1e-11
    Y = regressor.Y
    base = idn.base_parameters(model)
    assert base.rank < len(parameters)
    assert error(base.reduce(Y) @ base.values(parameters), Y @ parameters) < 1e-9


def test_rates_without_a_motion_are_not_computed():
    model = panda()
    state = random_state(model)
    both = idn.inverse_dynamics_regressor(model, *state)
    one = idn.inverse_dynamics_regressor(model, *state[:4])
    none = idn.inverse_dynamics_regressor(model, *state[:3])
    assert none.Y_dot is none.Y_ddot is one.Y_ddot is None
    np.testing.assert_array_equal(one.Y_dot, both.Y_dot)
    np.testing.assert_array_equal(none.Y, both.Y)


def test_parameters_of_the_joints_have_columns_of_their_own():
    rotors = np.linspace(0.1, 0.7, 7)
    model = panda().with_reflected_inertia(rotors)
    state = random_state(model)
    regressor = idn.inverse_dynamics_regressor(model, *state, extra=("coulomb", "rotor", "viscous"))
    coulomb, viscous = rotors[::-1], rotors**2
    parameters = np.concatenate([idn.inertial_parameters(model), coulomb, rotors, viscous])
    friction = (viscous * state[1] + coulomb * np.sign(state[1]), *(viscous * state[2:4]))
    for Y, tau, loss in zip(regressor, dyn.inverse_dynamics(model, *state), friction, strict=True):
        assert error(Y @ parameters, tau + loss) < 1e-13
    names = idn.parameter_names(model, ("coulomb", "rotor", "viscous"))
    assert names[:2] == ("panda_link1.m", "panda_link1.mx")
    assert names[70] == "panda_joint1.coulomb"
    assert names[-1] == "panda_joint7.viscous"
    assert len(names) == regressor.Y.shape[-1]


def test_bad_arguments_are_named():
    model, q = panda(), np.zeros(7)
    names, given = idn.parameter_names, idn.with_inertial_parameters
    negative = idn.inertial_parameters(model)
    negative[20] = -1

    def regressor(*rows, **options):
        return lambda: idn.inverse_dynamics_regressor(model, q, q, *rows, **options)

    assert_rejected(
        (regressor(None), "the regressor needs qdd"),
        (regressor(q, None, q), "qdddd without qddd"),
        (regressor(q, extra=("viscous", "backlash")), "rotor, viscous, coulomb, each once"),
        (regressor(q, extra="viscous"), "extra: string 'viscous'"),
        (lambda: names(model, ("viscous", "viscous")), "each once"),
        (lambda: given(model, np.zeros(69)), "parameters: shape"),
        (lambda: given(model, np.zeros((2, 70))), "parameters: shape (70,), batch"),
        (lambda: idn.trace_regressor(model, 3), "order: 0, 1 or 2, 3"),
    )
    impossible = (lambda: given(model, negative), "'panda_link3' mass -1 kg")
    assert_rejected(impossible, error=dyn.ModelError)


# parameters of a body


@settings(max_examples=20)
@given(SEEDS)
def test_a_robot_has_the_parameters_that_it_is_given(seed):
    model = random_tree(4, seed)
    other = random_tree(4, seed + 1)
    parameters = idn.inertial_parameters(other)
    changed = idn.with_inertial_parameters(model, parameters)
    np.testing.assert_allclose(changed.inertias, other.inertias, atol=1e-15)
    np.testing.assert_allclose(idn.inertial_parameters(changed), parameters, atol=1e-15)


def test_payloads_are_unchanged():
    model = panda().with_payload("panda_link8", 0.5, (0.1, 0.2, 0.3), np.eye(3) * 0.01)
    parameters = idn.inertial_parameters(model)
    parameters[60] += 1  # kg
    changed = idn.with_inertial_parameters(model, parameters)
    np.testing.assert_allclose(idn.inertial_parameters(changed), parameters, atol=1e-15)
    lighter = changed.without_payload()
    assert lighter.inertias[6, 5, 5] == pytest.approx(panda().inertias[6, 5, 5] + 1)


@settings(max_examples=20)
@given(SEEDS)
def test_pseudo_inertia_is_the_second_moment_of_the_particles(seed):
    M = random_inertia(np.random.default_rng(seed))
    parameters = parameters_of(M)
    expected = particles(M).astype(float)
    np.testing.assert_allclose(idn.pseudo_inertia(parameters), expected, atol=1e-15)
    assert idn.is_physically_consistent(parameters)


@settings(max_examples=25)
@given(SEEDS)
def test_consistency_follows_from_the_principal_moments(seed):
    rng = np.random.default_rng(seed)
    R = dyn.so3.exp(rng.normal(size=3))
    moments = rng.uniform(-0.1, 1, (20, 3))
    masses = rng.uniform(-0.3, 2, 20)
    bodies = [
        inertia.spatial_inertia(m, rng.normal(size=3), R * d @ R.T)
        for m, d in zip(masses, moments, strict=True)
    ]
    expected = (masses > 0) & (2 * moments.max(axis=1) < moments.sum(axis=1))
    found = idn.is_physically_consistent(np.stack([parameters_of(M) for M in bodies]))
    np.testing.assert_array_equal(found, expected & (moments > 0).all(axis=1))


def parameters_of(M):
    upper = M[:3, :3][np.triu_indices(3)]
    return np.concatenate([[M[5, 5]], dyn.so3.vee(M[:3, 3:]), upper])


# base parameters


def test_two_links_have_the_base_parameters_of_the_textbooks():
    base = idn.base_parameters(two_link_planar(l1=0.5))
    assert base.describe().splitlines() == [
        "upper_arm.mx +0.5 forearm.m", "upper_arm.mz", "upper_arm.Iyy +0.25 forearm.m",
        "forearm.mx", "forearm.mz", "forearm.Iyy",
    ]  # fmt: skip
    assert base.names == tuple(line.split()[0] for line in base.describe().splitlines())
    weightless = idn.base_parameters(two_link_planar().with_gravity((0, 0, 0)))
    assert weightless.names == ("upper_arm.Iyy", "forearm.mx", "forearm.mz", "forearm.Iyy")
    level = idn.base_parameters(two_link_planar().with_gravity((0, -9.81, 0)))
    assert level.names == weightless.names


@pytest.mark.parametrize(
    ("gravity", "count"), [((0, 0, -9.81), 43), ((0, 0, 0), 39), ((1, 2, -9), 45)]
)
def test_the_panda_has_the_published_number_of_base_parameters(gravity, count):
    """7 n - 4 for an arm of revolute joints, two fewer if gravity is along the first axis: 43 for
    the Panda (C. Gaz et al., RA-L 2019)."""
    assert idn.base_parameters(panda().with_gravity(gravity)).rank == count


@pytest.mark.parametrize("seed", range(3))
def test_there_are_as_many_as_independent_columns_of_pinocchio(seed):
    model = random_tree(6, seed)
    twin = to_pinocchio(model)
    data = twin.model.createData()
    states = np.random.default_rng(seed).normal(size=(60, 3, model.n)) * 2
    theirs = np.concatenate(
        [
            pin.computeJointTorqueRegressor(twin.model, data, *state).copy()
            for state in twin.to_pin(states)
        ]
    )
    assert idn.base_parameters(model).rank == rank(theirs)


def test_base_parameters_give_the_torques_and_their_rates(model):
    base = idn.base_parameters(model)
    beta = base.values(idn.inertial_parameters(model))
    state = np.random.default_rng(8).normal(size=(5, 30, model.n))
    for Y, tau in zip(
        idn.inverse_dynamics_regressor(model, *state),
        dyn.inverse_dynamics(model, *state),
        strict=True,
    ):
        reduced = base.reduce(Y)
        assert reduced.shape == (30, model.n, base.rank)
        assert error(reduced @ beta, tau) < 1e-11
        assert error(reduced @ base.combination, Y, 2) < 1e-11
    Y = base.reduce(idn.inverse_dynamics_regressor(model, *state[:3]).Y)
    assert rank(Y.reshape(-1, base.rank)) == base.rank


def test_every_combination_has_one_leading_parameter(model):
    base = idn.base_parameters(model)
    np.testing.assert_array_equal(base.combination[:, base.indices], np.eye(base.rank))
    assert np.all(np.diff(base.indices) > 0)
    again = idn.base_parameters(model)
    np.testing.assert_array_equal(base.combination, again.combination)
    with pytest.raises(ValueError, match="read-only"):
        base.combination[0, 0] = 2


def test_distinguishable_parameters_of_joints_are_base_parameters():
    """The rotors of joints 1 and 2 are not: inertias of links have the same effect."""
    plain = idn.base_parameters(panda())
    friction = idn.base_parameters(panda(), extra=("viscous", "coulomb"))
    assert friction.rank == plain.rank + 14
    rotors = idn.base_parameters(panda(), extra=("rotor",))
    assert rotors.rank == plain.rank + 5
    first = rotors.describe().splitlines()[0]
    assert first.startswith("panda_link1.Izz")
    assert first.endswith("+1 panda_joint1.rotor")


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("kinds", [("revolute", "prismatic"), ("helical",)])
def test_the_recorded_regressor_equals_the_general_one(kinds, order):
    for model in (panda(), random_tree(4, 5, kinds=kinds)):
        state = np.random.default_rng(2).normal(size=(5, 3, model.n))[: order + 3]
        program = idn.trace_regressor(model, order)
        assert tuple(program.results) == ("Y", "Y_dot", "Y_ddot")[: order + 1]
        found = program.evaluate(**dict(zip(program.inputs, state, strict=True)))
        expected = idn.inverse_dynamics_regressor(model, *state)
        torques = dyn.inverse_dynamics(model, *state)
        parameters = idn.inertial_parameters(model)
        for Y, wanted, tau in zip(found.values(), expected, torques, strict=False):
            Y = Y.reshape(3, model.n, 10 * model.n)
            assert error(Y, wanted, 2) < 1e-13
            assert error(Y @ parameters, tau) < 1e-12
