# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear models: a pendulum by hand, the nonlinear robot nearby, and control design."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from multibody_dynamics.dynamics.rigid.linearization import DISPLACEMENT
from reference import error
from rejections import assert_rejected
from robots import draw, panda, random_base, random_tree, two_link_planar, with_rotors

HANGING = np.array([np.pi / 2, 0.0])


def pendulum(m=2.0, length=0.7):
    """A point mass on a rod that turns about y; it points along x at q = 0 and down at pi/2."""
    body = dyn.spatial_inertia(m, (length, 0, 0), np.zeros((3, 3)))
    return dyn.model_from_screws([-1], [dyn.revolute((0, 1, 0))], [np.eye(4)], [body])


def test_a_pendulum_by_hand():
    m, length, d, rotor = 2.0, 0.7, 0.3, 0.4
    model = pendulum(m, length).with_reflected_inertia([rotor])
    inertia, weight = m * length**2 + rotor, m * 9.81 * length
    for angle, sign in ((np.pi / 2, 1), (-np.pi / 2, -1)):
        linear = rigid.linearize(model, [angle], damping=[d])
        assert linear.mass == pytest.approx(inertia, rel=1e-14)
        assert linear.damping == pytest.approx(d, rel=1e-14)
        assert linear.stiffness == pytest.approx(sign * weight, rel=1e-14)
        expected = np.roots([inertia, d, sign * weight])
        assert np.sort_complex(np.linalg.eigvals(linear.A)) == pytest.approx(
            np.sort_complex(expected), rel=1e-12
        )


def operating_point(model, seed=3):
    q, qd, tau = draw(model, 3, seed=seed)
    return q, qd, 5 * tau


def test_the_matrices_are_the_derivatives_of_the_state_equations():
    model = with_rotors(random_tree(5, 2))
    q, qd, tau = operating_point(model)
    damping = np.linspace(0.1, 0.9, model.n)
    linear = rigid.linearize(model, q, qd, tau=tau, damping=damping)

    def rate(x, u):
        return [*x[5:], *rigid.generic_forward_dynamics(model, x[:5], x[5:], u - damping * x[5:])]

    x = np.concatenate([q, qd])
    A = [rate(x + 1e-30j * unit, tau) for unit in np.eye(10)]
    B = [rate(x, tau + 1e-30j * unit) for unit in np.eye(5)]
    for found, columns in ((linear.A, A), (linear.B, B)):
        expected = np.array([[complex(y).imag / 1e-30 for y in column] for column in columns]).T
        assert error(found, expected, 2) < 1e-12
    assert error(linear.qdd, dyn.forward_dynamics(model, q, qd, tau - damping * qd)) < 1e-14
    again = rigid.linearize(model, q, qd, qdd=linear.qdd, damping=damping)
    assert error(again.tau, tau) < 1e-12
    assert error(again.A, linear.A, 2) < 1e-12


def test_on_a_moving_base_the_matrices_are_the_slopes():
    model, base = with_rotors(random_tree(4, 5)), random_base(6)
    q, qd, tau = operating_point(model)
    linear = rigid.linearize(model, q, qd, tau=tau, base=base, outputs=["qdd", "body4"])
    x, step = np.concatenate([q, qd]), 1e-5

    def rate(x):
        return [*x[4:], *dyn.forward_dynamics(model, x[:4], x[4:], tau, base=base)]

    for k, unit in enumerate(step * np.eye(8)):
        slope = np.subtract(rate(x + unit), rate(x - unit)) / (2 * step)
        np.testing.assert_allclose(linear.A[:, k], slope, atol=1e-6 * np.abs(linear.A).max())
    assert error(linear.qdd, dyn.forward_dynamics(model, q, qd, tau, base=base)) < 1e-14
    J = dyn.jacobian(model, q, "body4", base=base, representation="hybrid")
    np.testing.assert_array_equal(linear.C[4:, :4], J)


def test_without_inputs_there_is_nothing_to_control():
    linear = rigid.linearize(two_link_planar(), HANGING, inputs=[])
    assert linear.B.shape == (4, 0)
    assert linear.D.shape == (4, 0)


def test_outputs_are_those_requested():
    model = panda()
    q, qd, tau = operating_point(model)
    hand = model.body_names[-1]
    linear = rigid.linearize(model, q, qd, tau=tau, outputs=["qd", hand, "qdd"])
    joints = model.joint_names
    assert linear.states == (*(f"{j}.q" for j in joints), *(f"{j}.qd" for j in joints))
    assert linear.inputs == tuple(f"{j}.tau" for j in joints)
    assert linear.outputs == (
        *(f"{j}.qd" for j in joints),
        *(f"{hand}.{axis}" for axis in DISPLACEMENT),
        *(f"{j}.qdd" for j in joints),
    )
    n, J = model.n, dyn.jacobian(model, q, hand, representation="hybrid")
    np.testing.assert_array_equal(linear.C[:n], np.eye(n, 2 * n, n))
    np.testing.assert_array_equal(linear.C[n : n + 6], np.hstack([J, 0 * J]))
    np.testing.assert_array_equal(linear.C[n + 6 :], linear.A[n:])
    np.testing.assert_array_equal(linear.D, np.vstack([np.zeros((n + 6, n)), linear.B[n:]]))


def test_a_wrench_keeps_its_direction_while_the_robot_turns():
    """By hand, on a slide that joint 1 turns about y: Q_2 = m q_2'' ... - F sin q_1."""
    body = dyn.spatial_inertia(2.0, (0.7, 0, 0), np.eye(3))
    slide = dyn.model_from_screws(
        [-1, 0],
        [dyn.revolute((0, 1, 0)), dyn.prismatic((1, 0, 0))],
        [np.eye(4)] * 2,
        [0 * body, body],
    )
    angle, force = 0.3, 5.0
    down = {"body2": [0, 0, 0, 0, 0, -force]}
    pushed = rigid.linearize(slide, [angle, 0.0], wrenches=down)
    change = pushed.stiffness - rigid.linearize(slide, [angle, 0.0]).stiffness
    assert change == pytest.approx(np.array([[0, 0], [-force * np.cos(angle), 0]]), rel=1e-13)


def test_conversion_to_scipy():
    from scipy.signal import StateSpace, lsim

    linear = rigid.linearize(pendulum(), [np.pi / 2], damping=[0.5], outputs=["q"])
    system = linear.to_scipy()
    assert isinstance(system, StateSpace)
    times = np.linspace(0, 20, 2000)
    _, y, _ = lsim(system, np.ones_like(times), times)
    assert y[-1] == pytest.approx(1 / linear.stiffness[0, 0], rel=0.05)
    for found, name in zip(linear.matrices, "ABCD", strict=True):
        np.testing.assert_array_equal(found, getattr(system, name))


def test_batches_equal_single_results():
    model = random_tree(4, 5)
    q, qd, tau = draw(model, 3, 2, 3)
    linear = rigid.linearize(
        model, q, qd[:, :1], tau=tau[0, 0], outputs=["q", model.body_names[-1]]
    )
    assert linear.A.shape == (2, 3, 8, 8)
    one = rigid.linearize(
        model, q[1, 2], qd[1, 0], tau=tau[0, 0], outputs=["q", model.body_names[-1]]
    )
    for name in ("A", "B", "C", "D", "mass", "damping", "stiffness", "q", "qd", "qdd", "tau"):
        np.testing.assert_allclose(getattr(linear, name)[1, 2], getattr(one, name), atol=1e-12)
    assert_rejected((lambda: linear.to_scipy(), "batch"))


def test_a_linear_model_is_immutable():
    q = HANGING.copy()
    linear = rigid.linearize(two_link_planar(), q)
    with pytest.raises(ValueError, match="read-only"):
        linear.A[0, 0] = 1
    q[:] = 7
    np.testing.assert_array_equal(linear.q, HANGING)
    with pytest.raises(AttributeError):
        linear.A = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tau": np.zeros(2), "qdd": np.zeros(2)}, "tau and qdd: give at most one"),
        ({"tau": [1.0]}, "tau"),
        ({"qd": [1.0, np.nan]}, "qd"),
        ({"damping": 0.5}, "damping"),
        ({"inputs": ["wrist"]}, "wrist"),
        ({"inputs": ["elbow", "elbow"]}, "twice"),
        ({"outputs": ["speed"]}, "speed"),
        ({"outputs": "qd"}, "outputs: expected a sequence of names, got the string 'qd'"),
        ({"inputs": "elbow"}, "inputs: expected a sequence of joints, got the string 'elbow'"),
        ({"damping": np.zeros((2, 2)), "tau": np.zeros((3, 2))}, r"damping \(2,\), tau \(3,\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(dyn.InputError, match=message):
        rigid.linearize(two_link_planar(), HANGING, **arguments)
