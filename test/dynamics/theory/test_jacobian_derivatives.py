# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of Jacobians against power series to 40 digits, and the explicit forms of [M18d]."""

from itertools import product
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, theory
from reference import along, error, exact_rates
from rejections import assert_rejected
from robots import deepest, panda, random_state, random_tree, with_multidof

ROBOTS = {
    "panda": panda(),
    "chain": random_tree(5, seed=21, branching=0.0),
    "tree": random_tree(7, seed=22),
    "multidof": with_multidof(),
}
each_robot = pytest.mark.parametrize("model", ROBOTS.values(), ids=ROBOTS.keys())
each_representation = pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)


# Against power series


@each_representation
@each_robot
def test_second_time_derivative(model, representation):
    state = random_state(model, seed=31)[:3]
    body = deepest(model)
    Jdd = theory.jacobian_ddot(model, *state, body, representation=representation)
    assert error(Jdd, exact_rates(model, state, body, representation)[2], axes=2) < 1e-13


@each_representation
@each_robot
def test_gradient_and_hessian_along_any_line(model, representation):
    """dJ u and d2J u u in a generic direction u, on which every entry has an effect."""
    q, u = random_state(model, seed=32)[:2]
    body = deepest(model)
    gradient = theory.jacobian_gradient(model, q, body, representation=representation)
    hessian = theory.jacobian_hessian(model, q, body, representation=representation)
    first = along(model, q, u, 1, body, representation)
    second = along(model, q, u, 2, body, representation)
    assert error(gradient @ u, first, axes=2) < 1e-13
    assert error(hessian @ u @ u, second, axes=2) < 1e-13
    np.testing.assert_array_equal(hessian, np.swapaxes(hessian, -1, -2))


@settings(max_examples=7)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(dyn.REPRESENTATIONS),
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
)
def test_partial_derivatives_of_any_order(seed, representation, joints):
    """By polarisation: d^m f = sum of s_1 ... s_m D^m f along s_1 e_1 + ... + s_m e_m, signs s."""
    model = random_tree(4, seed, branching=0.2)
    q, body, order = random_state(model, seed)[0], deepest(model), len(joints)
    expected = 0
    for signs in product((1, -1), repeat=order):
        line = np.zeros(model.n)
        np.add.at(line, joints, signs)
        value = along(model, q, line, order, body, representation)
        expected = expected + np.prod(signs) * value
    expected = expected / (2**order * factorial(order))
    partial = theory.jacobian_partial(model, q, body, joints, representation=representation)
    scale = 1 + np.abs(expected).max()
    assert np.abs(partial - expected).max() < 1e-13 * scale


@each_representation
def test_sixth_order_of_a_single_joint(representation):
    model = ROBOTS["chain"]
    q = random_state(model, seed=33)[0]
    for k in (0, 2, 4):
        partial = theory.jacobian_partial(model, q, 4, [k] * 6, representation=representation)
        expected = along(model, q, np.eye(model.n)[k], 6, 4, representation)
        assert np.abs(partial - expected).max() < 1e-13


# Against each other


@each_representation
@each_robot
def test_one_and_two_joints_are_gradient_and_hessian(model, representation):
    q, body = random_state(model, seed=34)[0], deepest(model)
    gradient = theory.jacobian_gradient(model, q, body, representation=representation)
    hessian = theory.jacobian_hessian(model, q, body, representation=representation)
    for k, r in [(0, 0), (1, 3), (3, 1), (2, model.n - 1), (model.n - 1, 0)]:
        names = model.joint_names[k], model.joint_names[r]
        one = theory.jacobian_partial(model, q, body, names[:1], representation=representation)
        two = theory.jacobian_partial(model, q, body, names, representation=representation)
        assert error(one, gradient[..., k], axes=2) < 1e-14
        assert error(two, hessian[..., k, r], axes=2) < 1e-14
    none = theory.jacobian_partial(model, q, body, [], representation=representation)
    np.testing.assert_array_equal(none, dyn.jacobian(model, q, body, representation=representation))


@each_representation
def test_a_frame_has_its_own_derivatives(representation):
    plain = ROBOTS["tree"]
    body = deepest(plain)
    offset = se3.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4]))
    model = dyn.model_from_screws(
        plain.parents, plain.screws, plain.poses, plain.inertias,
        frames={"camera": dyn.model.Frame(body, offset)},
    )  # fmt: skip
    state = random_state(model, seed=38)[:3]
    Jdd = theory.jacobian_ddot(model, *state, "camera", representation=representation)
    assert error(Jdd, exact_rates(model, state, "camera", representation)[2], axes=2) < 1e-13


def test_joints_off_the_path_have_no_effect():
    model = ROBOTS["tree"]
    q, body = random_state(model, seed=39)[0], deepest(model)
    off = [j for j in range(model.n) if j not in model.path(body)]
    assert off
    for representation in dyn.REPRESENTATIONS:
        gradient = theory.jacobian_gradient(model, q, body, representation=representation)
        hessian = theory.jacobian_hessian(model, q, body, representation=representation)
        assert not gradient[:, off].any()
        assert not gradient[:, :, off].any()
        assert not hessian[:, off].any()
        assert not hessian[:, :, off].any()
        assert not hessian[..., off].any()
        zero = theory.jacobian_partial(model, q, body, off[:1], representation=representation)
        assert not zero.any()
    assert not theory.jacobian_hessian(model, q, model.base_name).any()


# The explicit forms of acceleration and jerk, [M18d] section 2


class Chain:
    """The path to one body of a tree in the symbols of the paper, with joints numbered along it."""

    def __init__(self, model):
        q, qd, qdd, qddd, _ = random_state(model, seed=41)
        body = deepest(model)
        self.path = path = model.path(body)
        self.N = range(len(path))
        self.q1, self.q2, self.q3 = qd[path], qdd[path], qddd[path]
        self.J, self.Jd, self.Jdd, self.motion = {}, {}, {}, {}
        for name in dyn.REPRESENTATIONS:
            at = {"representation": name}
            self.J[name] = dyn.jacobian(model, q, body, **at)[:, path].T
            self.Jd[name] = dyn.jacobian_dot(model, q, qd, body, **at)[:, path].T
            self.Jdd[name] = theory.jacobian_ddot(model, q, qd, qdd, body, **at)[:, path].T
            self.motion[name] = dyn.forward_kinematics(model, q, qd, qdd, qddd, **at)
        self.pose = self.motion["body"].pose[path]
        own = [dyn.jacobian(model, q, k, representation="hybrid")[:, k] for k in path]
        self.X = np.array(own)  # 0X_jj: the screw of joint j at body j in inertial axes

    def rates(self, representation):
        """Twists, accelerations and jerks of the bodies on the path."""
        return [x[self.path] for x in self.motion[representation][1:4]]


@pytest.fixture(scope="module", params=ROBOTS)
def c(request):
    return Chain(ROBOTS[request.param])


def bracket(X, Y):
    return se3.ad(X) @ Y


def w(X):
    return np.r_[X[:3], np.zeros(3)]


def v(X):
    return np.r_[np.zeros(3), X[3:]]


def shift(r):
    """Ad_r of a pure translation."""
    return se3.Ad(se3.from_rotation_translation(np.eye(3), r))


def test_body_fixed_acceleration_6(c):
    J, q1, q2 = c.J["body"], c.q1, c.q2
    found = sum(J[j] * q2[j] for j in c.N)
    found = found + sum(bracket(J[j], J[k]) * q1[j] * q1[k] for j in c.N for k in c.N if j <= k)
    assert error(found, c.rates("body")[1][-1]) < 1e-13


def test_body_fixed_derivative_7_in_the_intermediate_frame(c):
    """dJ_ij/dq_k = -Ad_{C_ik} ad_{kX_k} J_kj, j < k."""
    J = c.J["body"]
    for j, k in product(c.N, c.N):
        if j < k:
            Ad = se3.Ad(se3.inverse(c.pose[-1]) @ c.pose[k])
            X, J_kj = (np.linalg.solve(Ad, J[x]) for x in (k, j))
            expected = -Ad @ bracket(X, J_kj)
            np.testing.assert_allclose(bracket(J[j], J[k]), expected, atol=1e-13)


def test_body_fixed_jerk_13_corrected(c):
    """Each cubic term counts twice for k < r, once for k = r."""
    J, q1, q2, q3 = c.J["body"], c.q1, c.q2, c.q3
    found = sum(J[j] * q3[j] for j in c.N)
    for j, k in product(c.N, c.N):
        if j < k:
            once = bracket(J[j], J[k])
            found = found + once * (2 * q2[j] * q1[k] + q1[j] * q2[k])
            for r in c.N[k:]:
                times = 2 if k < r else 1
                found = found + times * bracket(once, J[r]) * q1[j] * q1[k] * q1[r]
    assert error(found, c.rates("body")[2][-1]) < 1e-13


def test_spatial_acceleration_17(c):
    J, q1, q2 = c.J["spatial"], c.q1, c.q2
    V, Vd, _ = c.rates("spatial")
    linear = sum(J[j] * q2[j] for j in c.N)
    pairs = sum(bracket(J[k], J[j]) * q1[j] * q1[k] for j in c.N for k in c.N if k < j)
    twists = sum(bracket(V[j], J[j]) * q1[j] for j in c.N)
    assert error(linear + pairs, Vd[-1]) < 1e-13
    assert error(linear + twists, Vd[-1]) < 1e-13


def test_spatial_jerk_21_and_22(c):
    """Both sums run to j <= i."""
    J, q1, q2, q3 = c.J["spatial"], c.q1, c.q2, c.q3
    V, _, Vdd = c.rates("spatial")
    first, second = np.zeros(6), np.zeros(6)
    for j in c.N:
        Jd = bracket(V[j], J[j])
        before = V[j - 1] if j else np.zeros(6)
        pushed = sum(J[k] * q2[k] for k in c.N[: j + 1])
        both = J[j] * q3[j] + 2 * Jd * q2[j]
        first += both + bracket(pushed, J[j]) * q1[j]
        first += bracket(before + V[j] - V[-1], Jd) * q1[j]
        second += both + bracket(Jd, V[-1] - 2 * V[j]) * q1[j]
        second += bracket(pushed + Jd * q1[j], J[j]) * q1[j]
    assert error(first, Vdd[-1]) < 1e-13
    assert error(second, Vdd[-1]) < 1e-13


def test_hybrid_partial_derivative_25_is_not_zero_before_j():
    model = ROBOTS["chain"]
    q = random_state(model, seed=42)[0]
    J = dyn.jacobian(model, q, 4, representation="hybrid").T
    gradient = theory.jacobian_gradient(model, q, 4, representation="hybrid")
    for j, k in product(range(5), repeat=2):
        expected = bracket(w(J[k]), J[j]) if k < j else bracket(J[j], v(J[k]))
        np.testing.assert_allclose(gradient[:, j, k], expected, atol=1e-14)
    before = np.triu(np.ones((5, 5)), 1).T.astype(bool)
    assert np.abs(gradient[:, before]).max() > 0.1


def test_hybrid_time_derivative_26_corrected(c):
    J = c.J["hybrid"]
    V = c.rates("hybrid")[0]
    r = c.pose[:, :3, 3]
    for j in c.N:
        before = V[j - 1] if j else np.zeros(6)
        carried = shift(r[j - 1] - r[-1]) @ before if j else before
        turned = bracket(w(before), J[j])
        pairs = sum(bracket(J[j], v(J[k])) * c.q1[k] for k in c.N[j:])
        relative = bracket(J[j], v(V[-1] - carried))
        assert error(pairs + turned, c.Jd["hybrid"][j]) < 1e-13
        assert error(relative + turned, c.Jd["hybrid"][j]) < 1e-13


def test_hybrid_time_derivatives_27_and_30(c):
    """(27) with Ad_{r_ij} and ad_{V^h_j} - ad_{r_i'}, r_ij = r_j - r_i."""
    V, Vd, _ = c.rates("hybrid")
    r = c.pose[:, :3, 3]
    for j in c.N:
        Ad, step = shift(r[j] - r[-1]), v(V[j] - V[-1])
        first = bracket(step, c.X[j]) + Ad @ bracket(w(V[j]), c.X[j])
        second = Ad @ (bracket(V[j], c.X[j]) - bracket(v(V[-1]), c.X[j]))
        assert error(first, c.Jd["hybrid"][j]) < 1e-13
        assert error(second, c.Jd["hybrid"][j]) < 1e-13
        turned = bracket(w(V[j]), c.X[j])
        Jdd = bracket(v(Vd[j] - Vd[-1]), c.X[j]) + 2 * bracket(step, turned)
        Jdd += Ad @ (bracket(w(Vd[j]), c.X[j]) + bracket(w(V[j]), turned))
        assert error(Jdd, c.Jdd["hybrid"][j]) < 1e-13


def test_hybrid_acceleration_28_corrected_and_29(c):
    J = c.J["hybrid"]
    V, Vd, _ = c.rates("hybrid")
    r = c.pose[:, :3, 3]
    linear = sum(J[j] * c.q2[j] for j in c.N)
    pairs, shifted = np.zeros(6), np.zeros(6)
    for j in c.N:
        before = w(V[j - 1]) if j else np.zeros(6)
        pairs += bracket(before, J[j]) * c.q1[j]
        pairs += sum(bracket(J[j], v(J[k])) * c.q1[j] * c.q1[k] for k in c.N[j:])
        turned = shift(r[j] - r[-1]) @ bracket(w(V[j]), c.X[j])
        shifted += (bracket(v(V[j] - V[-1]), c.X[j]) + turned) * c.q1[j]
    assert error(linear + pairs, Vd[-1]) < 1e-13
    assert error(linear + shifted, Vd[-1]) < 1e-13


def test_hybrid_jerk_32_corrected(c):
    """With 2 ad_w q'' + (ad_w' + ad_w ad_w) q' in its last bracket."""
    V, Vd, Vdd = c.rates("hybrid")
    r = c.pose[:, :3, 3]
    found = np.zeros(6)
    for j in c.N:
        X, step, turned = c.X[j], v(V[j] - V[-1]), bracket(w(V[j]), c.X[j])
        twice = bracket(w(Vd[j]), X) + bracket(w(V[j]), turned)
        found += c.J["hybrid"][j] * c.q3[j] + 2 * bracket(step, X) * c.q2[j]
        found += (bracket(v(Vd[j] - Vd[-1]), X) + 2 * bracket(step, turned)) * c.q1[j]
        found += shift(r[j] - r[-1]) @ (2 * turned * c.q2[j] + twice * c.q1[j])
    assert error(found, Vdd[-1]) < 1e-13


def test_mixed_derivatives_33_corrected(c):
    """Of the three printed relations only that of the acceleration is correct."""
    RT = np.eye(6)
    RT[:3, :3] = c.pose[-1, :3, :3].T
    V, Vd, Vdd = (x[-1] for x in c.rates("hybrid"))
    mixed, mixed_d, mixed_dd = (x[-1] for x in c.rates("mixed"))
    assert error(mixed_d, RT @ Vd) < 1e-13
    assert error(mixed_dd, RT @ (Vdd - bracket(w(V), w(Vd)))) < 1e-13
    turned = [bracket(w(mixed), w(J)) for J in c.J["mixed"]]
    assert error(c.Jd["mixed"], c.Jd["hybrid"] @ RT.T - turned, axes=2) < 1e-13


# Errors


def test_bad_arguments_are_named():
    model = ROBOTS["tree"]
    q = np.zeros(7)
    assert_rejected(
        (lambda: theory.jacobian_partial(model, q, 0, ["elbow"]), "no joint 'elbow'"),
        (lambda: theory.jacobian_partial(model, q, 0, [1, 7]), "joint name or index below 7, got"),
        (lambda: theory.jacobian_partial(model, q, 0, [1.0]), "index below 7, got 1.0"),
        (lambda: theory.jacobian_partial(model, q, 0, 0), "joints: sequence got 0"),
        (lambda: theory.jacobian_partial(model, q, 0, "joint1"), "the string 'joint1'"),
    )
