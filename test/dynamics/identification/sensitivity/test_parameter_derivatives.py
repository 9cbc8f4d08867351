# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives by parameters: first principles, the matrices, the regressor, the geometric ones."""

from dataclasses import replace
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.identification import ParameterDependence as Dependence
from multibody_dynamics.dynamics.model import inertia
from reference import dynamics, error, exact
from rejections import assert_rejected
from robots import draw, panda, random_tree, random_wrenches, with_multidof, with_rotors

idn = dyn.identification

STEP = mp.mpf(10) ** -13


def loaded_tree():
    model = with_rotors(random_tree(7, 3))
    hand = dyn.model.Frame(4, se3.exp([0.3, -0.2, 0.9, 0.1, 0.4, -0.3]))
    model = replace(model, frames={**model.frames, "hand": hand})
    return model.with_payload("hand", 0.7, (0.1, -0.2, 0.3), np.diag([1, 2, 2.5]), name="tool")


def coupled_tree():
    """A differential, a joint that follows one of its motors, and a mimic."""
    return with_rotors(
        random_tree(7, 3).with_couplings(
            {
                "joint2": {"left": 0.5, "right": 0.7},
                "joint3": {"left": 0.5, "right": -0.7},
                "joint5": ({"left": 0.3}, 0.2),
                "joint7": {"joint4": -1.5},
            }
        )
    )


ROBOTS = {
    "panda": panda, "tree": loaded_tree, "multidof": with_multidof, "coupled": coupled_tree,
}  # fmt: skip


@pytest.fixture(params=ROBOTS)
def model(request):
    return ROBOTS[request.param]()


def everything(model):
    """Every kind of parameter at once."""
    body, other = model.body_names[2], model.body_names[-1]
    rng = np.random.default_rng(8)
    errors = idn.joint_errors(model, independent=False)
    return Dependence.together(
        *(Dependence.on_joints(model, quantity) for quantity in ("q", "qd", "qdd", "tau")),
        Dependence.on_mass(model, body),
        Dependence.on_com(model, other),
        Dependence.on_inertia(model, body),
        Dependence.on_inertial_parameters(model, other),
        Dependence.on_rotors(model),
        Dependence.on_placement(model, [errors[k] for k in rng.permutation(len(errors))[:5]]),
        Dependence(names=("bent",), screw=rng.normal(size=(1, model.body_count, 6))),
        Dependence.on_wrench(model, other),
        Dependence.on_gravity(),
    )


def test_coordinates_give_the_matrices(model):
    q, qd, qdd = draw(model, 3)
    wrenches = random_wrenches(model, rates=False)
    tau = dyn.inverse_dynamics(model, q, qd, qdd, wrenches=wrenches).tau
    inverse = dyn.inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches)
    forward = dyn.forward_dynamics_derivatives(model, q, qd, tau, wrenches=wrenches)
    for quantity, expected in zip(("q", "qd", "qdd"), inverse, strict=True):
        by = Dependence.on_joints(model, quantity)
        found = idn.inverse_dynamics_sensitivity(model, by, q, qd, qdd, wrenches=wrenches)
        assert error(found, expected, 2) < 1e-13
    for quantity, expected in zip(("q", "qd", "tau"), forward, strict=True):
        by = Dependence.on_joints(model, quantity)
        found = idn.forward_dynamics_sensitivity(model, by, q, qd, tau, wrenches=wrenches)
        assert error(found, expected, 2) < 1e-12


def test_inertial_parameters_give_the_columns_of_the_regressor(model):
    rows = draw(model, 3, 2)
    Y = idn.inverse_dynamics_regressor(model, *rows, extra=("rotor",)).Y
    by = [Dependence.on_inertial_parameters(model, body) for body in model.body_names]
    by = Dependence.together(*by, Dependence.on_rotors(model))
    assert by.names == idn.parameter_names(model, ("rotor",))
    assert error(idn.inverse_dynamics_sensitivity(model, by, *rows), Y, 2) < 1e-13


def test_placements_give_the_geometric_sensitivity(model):
    rows, wrenches = draw(model, 3), random_wrenches(model, rates=False)
    errors = idn.joint_errors(model, independent=False)
    by = Dependence.on_placement(model, errors)
    found = idn.inverse_dynamics_sensitivity(model, by, *rows, wrenches=wrenches)
    expected = idn.torque_sensitivity(model, errors, *rows, wrenches=wrenches)
    assert by.names == tuple(e.name for e in errors)
    assert error(found, expected, 2) < 1e-13


def test_forward_and_hybrid_dynamics_agree_with_the_inverse(model):
    """d tau(q, q', q'', p) = dQ + M dq'', whichever joints are prescribed."""
    q, qd, qdd = draw(model, 3)
    wrenches, by = random_wrenches(model, rates=False), everything(model)
    tau = dyn.inverse_dynamics(model, q, qd, qdd, wrenches=wrenches).tau
    M = dyn.mass_matrix(model, q)
    motion = replace(by, qdd=None)
    inverse = idn.inverse_dynamics_sensitivity(model, motion, q, qd, qdd, wrenches=wrenches)
    lost = 1e-14 * np.linalg.cond(M)
    forward = idn.forward_dynamics_sensitivity(model, by, q, qd, tau, wrenches=wrenches)
    size = np.abs(inverse).max()
    assert np.abs(inverse + M @ forward - by.tau.T).max() < lost * size
    for prescribed in ((0, 2, 3), range(model.n), (model.n - 1,)):
        held = list(prescribed)
        hybrid = idn.hybrid_dynamics_sensitivity(
            model, by, q, qd, prescribed=prescribed, qdd=qdd, tau=tau, wrenches=wrenches
        )
        free = np.setdiff1d(range(model.n), held)
        np.testing.assert_array_equal(hybrid.dqdd[held], by.qdd.T[held])
        np.testing.assert_array_equal(hybrid.dtau[free], by.tau.T[free])
        assert np.abs(inverse + M @ hybrid.dqdd - hybrid.dtau).max() < lost * size


# First principles: central differences of the robot rebuilt with 40 digits


def about_com(mass, com, about):
    """A spatial inertia in any arithmetic."""
    x, y, z = com
    c = np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])
    M = np.full((6, 6), mp.mpf(0))
    M[:3, :3] = about - mass * (c @ c)
    M[:3, 3:], M[3:, :3], M[3:, 3:] = mass * c, -mass * c, mass * exact(np.eye(3))
    return M


def rebuilt(model, state, **changed):
    """The torques of the robot with other screws, inertias, rotors or gravity."""
    names = ("n", "parents", "screws", "poses", "inertias", "gravity", "reflected_inertia")
    values = {name: getattr(model, name) for name in names} | changed
    robot = SimpleNamespace(**values)
    return dynamics(robot, state, inertias=robot.inertias).torques[0]


def difference(torques):
    return ((torques(STEP) - torques(-STEP)) / (2 * STEP)).astype(float)


@pytest.fixture(scope="module")
def small():
    return with_rotors(random_tree(4, 11))


@pytest.mark.parametrize("kind", ["mass", "com", "inertia"])
def test_inertial_data_from_first_principles(small, kind):
    rows, body = draw(small, 3), small.body_names[2]
    mass, com, about = map(exact, inertia.decompose(small.inertias[2]))
    by = getattr(Dependence, f"on_{kind}")(small, body)
    found = idn.inverse_dynamics_sensitivity(small, by, *rows)
    for k, column in enumerate(found.T):

        def torques(step, k=k):
            m, c, theta = mass[()], com.copy(), about.copy()
            if kind == "mass":
                m = m + step
            elif kind == "com":
                c[k] += step
            else:
                i, j = np.array(np.triu_indices(3))[:, k]
                theta[i, j] += step
                theta[j, i] = theta[i, j]
            inertias = exact(small.inertias)
            inertias[2] = about_com(m, c, theta)
            return rebuilt(small, rows, inertias=inertias)

        assert error(column, difference(torques)) < 1e-12


def test_joint_screws_gravity_and_rotors_from_first_principles(small):
    rows, rng = draw(small, 3), np.random.default_rng(5)
    dX = rng.normal(size=(small.n, 6))
    dY = exact((se3.Ad(small.poses) @ dX[..., None])[..., 0])
    by = Dependence(names=("bent",), screw=dX[None])
    found = idn.inverse_dynamics_sensitivity(small, by, *rows)
    expected = difference(lambda step: rebuilt(small, rows, screws=exact(small.screws) + step * dY))
    assert error(found[:, 0], expected) < 1e-12
    found = idn.inverse_dynamics_sensitivity(small, Dependence.on_gravity(), *rows)
    for column, unit in zip(found.T, exact(np.eye(3)), strict=True):
        expected = difference(
            lambda step, unit=unit: rebuilt(small, rows, gravity=exact(small.gravity) + step * unit)
        )
        assert error(column, expected) < 1e-12


def test_a_wrench_acts_through_the_transposed_jacobian(small):
    rows, body = draw(small, 3), small.body_names[-1]
    found = idn.inverse_dynamics_sensitivity(small, Dependence.on_wrench(small, body), *rows)
    assert error(found, -dyn.jacobian(small, rows[0], body).T, 2) < 1e-13


def test_a_payload_is_a_body_of_its_own():
    model = loaded_tree()
    rows = draw(model, 3)
    mass, com, about = 0.7, np.array([0.1, -0.2, 0.3]), np.diag([1, 2, 2.5])

    def torque(m, c):
        bare = model.without_payload("tool")
        return dyn.inverse_dynamics(bare.with_payload("hand", m, c, about), *rows).tau

    by = Dependence.on_mass(model, "tool")
    found = idn.inverse_dynamics_sensitivity(model, by, *rows)[:, 0]
    assert error(found, torque(mass + 1, com) - torque(mass, com)) < 1e-12  # linear in the mass
    by = Dependence.on_com(model, "tool")
    found = idn.inverse_dynamics_sensitivity(model, by, *rows)
    for column, unit in zip(found.T, np.eye(3), strict=True):  # quadratic in the COM: exact
        expected = (torque(mass, com + unit) - torque(mass, com - unit)) / 2
        assert error(column, expected) < 1e-12


@pytest.mark.parametrize("shape", [(), (1,), (2, 4), (0,)])
def test_batches_hold_single_results(small, shape):
    rows, by = draw(small, 3, *shape), everything(small)
    wrenches = random_wrenches(small, *shape, rates=False)
    for function in (idn.inverse_dynamics_sensitivity, idn.forward_dynamics_sensitivity):
        result = function(small, by, *rows, wrenches=wrenches)
        assert result.shape == (*shape, small.n, len(by.names))
        for index in np.ndindex(shape):
            one = {body: W[index] for body, W in wrenches.items()}
            single = function(small, by, *rows[(slice(None), *index)], wrenches=one)
            assert error(result[index], single, 2) < 1e-12


def test_later_changes_of_the_arguments_have_no_effect(small):
    rows = np.ones((1, small.n))
    by = Dependence(names=("a",), q=rows)
    rows[:] = 7
    np.testing.assert_array_equal(by.q, 1)
    with pytest.raises(ValueError, match="read-only"):
        by.q[:] = 2


def test_without_parameters_the_matrix_has_no_columns(small):
    rows = draw(small, 3)
    by = Dependence.on_joints(small, "q", [])
    assert idn.inverse_dynamics_sensitivity(small, by, *rows).shape == (small.n, 0)


def test_bad_arguments_are_named(small):
    (q, qd, qdd), gravity = draw(small, 3), Dependence.on_gravity()
    short = Dependence(names=("a", "b"), screw=np.zeros((1, small.n, 6)))
    inverse, forward = idn.inverse_dynamics_sensitivity, idn.forward_dynamics_sensitivity
    nan = [1.0, np.nan, 0, 0]
    assert_rejected(
        (lambda: inverse(small, short, q, qd, qdd), "derivatives of screw"),
        (lambda: inverse(small, gravity, q, nan, qdd), "qd"),
        (lambda: forward(small, gravity, q, qd, np.zeros(3)), "tau: shape"),
        (lambda: Dependence.on_joints(small, "q", ["elbow"]), "no joint 'elbow'"),
        (lambda: Dependence.on_joints(small, "velocity"), "quantity"),
        (lambda: Dependence.on_mass(small, "hand"), "no body or frame 'hand'"),
    )


def test_a_singular_mass_matrix_is_reported():
    point = dyn.spatial_inertia(1.0, (1.0, 0, 0), np.zeros((3, 3)))
    arm = dyn.model_from_screws(
        [-1, 0], [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]], [np.eye(4)] * 2, [0 * point, point]
    )
    zero, by = np.zeros(2), Dependence.on_gravity()
    with pytest.raises(dyn.DynamicsError, match=r"singular.*-1"):
        idn.forward_dynamics_sensitivity(arm, by, [[0, 0.5], [0.0, -1.0]], zero, zero)
    assert idn.hybrid_dynamics_sensitivity(
        arm, by, [0.0, -1.0], zero, prescribed=["joint1"], qdd=[1, np.nan], tau=[np.nan, 0]
    ).dtau.shape == (2, 3)
