# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One rigid body: momentum and Newton-Euler equations in all frames, against its particles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as ref
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid, se3
from multibody_dynamics.dynamics.model import inertia
from reference import error
from rejections import assert_rejected
from robots import random_inertia, random_pose

SEEDS = st.integers(0, 2**32 - 1)
EQUAL = 1e-13
NAMES = ("twist", "acceleration", "jerk", "jounce")


class Body:
    """A moving body: `pose` and its time series `C`, the inertia `M_b`, and its particles `J`."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.pose, self.M_b = random_pose(self.rng), random_inertia(self.rng)
        self.spatial = self.rng.normal(size=(4, 6))
        self.C, self.J = ref.moved_by(self.pose, self.spatial), ref.particles(self.M_b)
        self.mass, self.com, self.inertia_com = inertia.decompose(self.M_b)

    def get(self, function, *rates, at):
        """The result of a function of `rigid` for this body."""
        return function(self.pose, self.M_b, *rates, representation=at)

    def pull(self):
        """integral a p^T dm."""
        return ref.times(ref.rate(ref.rate(self.C)), self.J @ ref.transpose(self.C))

    def flow(self):
        """integral v p^T dm."""
        return ref.times(ref.rate(self.C), self.J @ ref.transpose(self.C))

    def rates(self, representation):
        """Twist, acceleration, jerk, jounce (4, 6)."""
        return ref.twists(self.C, representation).astype(float)

    def seen(self, integral, representation):
        """(m, f) from integral a p^T dm, with derivatives, in the frame of a representation."""
        if representation == "mixed":
            turned, fixed = (self.seen(integral, x) for x in ("body", "hybrid"))
            return np.concatenate([turned[:, :3], fixed[:, 3:]], axis=-1)
        return observed(integral, self.frame(representation))

    def frame(self, representation):
        if representation == "body":
            return self.C
        frame = ref.constant(ref.exact(np.eye(4)), len(self.C))
        if representation == "hybrid":
            frame[:, :3, 3] = self.C[:, :3, 3]
        return frame


def observed(integral, frame):
    inverse = ref.inverse(frame)
    turned = ref.times(ref.times(inverse, integral), ref.transpose(inverse))
    return ref.derivatives(ref.wrench(turned)).astype(float)


def inertia_in(body, frame):
    """The series of M (6, 6) in a frame, which is linear in integral p p^T dm."""
    placed = ref.times(ref.inverse(frame), body.C)
    J = ref.times(placed @ body.J, ref.transpose(placed))
    M = np.zeros((len(J), 6, 6), dtype=object)
    one, first = np.eye(3, dtype=int), np.zeros((len(J), 6), dtype=object)
    first[:, :3] = J[:, :3, 3]
    M[:, :3, :3] = np.trace(J[:, :3, :3], axis1=1, axis2=2)[:, None, None] * one - J[:, :3, :3]
    M[:, :3, 3:] = ref.hat(first)[:, :3, :3]
    M[:, 3:, :3] = -M[:, :3, 3:]
    M[:, 3:, 3:] = J[:, 3, 3, None, None] * one
    return M


def random_frame(rng):
    """A moving frame with the origin of one body and the axes of another, and its time series."""
    poses, rates = [random_pose(rng) for _ in range(2)], rng.normal(size=(2, 3, 6))
    origin, axes = (ref.moved_by(*x) for x in zip(poses, rates, strict=True))
    axes[:, :3, 3] = origin[:, :3, 3]
    return rigid.moving_frame(poses[0], rates[0], poses[1], rates[1]), axes


# from first principles


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@settings(max_examples=10)
@given(SEEDS)
def test_wrench_and_rates_are_those_of_the_particles(representation, seed):
    body = Body(seed)
    expected, rates = body.seen(body.pull(), representation), body.rates(representation)
    assert error(body.get(rigid.newton_euler_rates, *rates, at=representation), expected) < EQUAL
    assert error(body.get(rigid.newton_euler, *rates[:2], at=representation), expected[0]) < EQUAL


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@settings(max_examples=10)
@given(SEEDS)
def test_momentum_is_that_of_the_particles(representation, seed):
    body = Body(seed)
    Pi = body.get(rigid.rigid_body_momentum, body.rates(representation)[0], at=representation)
    assert error(Pi, body.seen(body.flow(), representation)[0]) < EQUAL


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@settings(max_examples=10)
@given(SEEDS)
def test_inertia_and_its_rate_are_those_of_the_particles(representation, seed):
    body = Body(seed)
    frame = body.frame("hybrid" if representation == "mixed" else representation)
    M = inertia_in(body, frame)
    if representation == "mixed":
        U = ref.constant(ref.exact(np.eye(6)), len(body.C))
        U[:, :3, :3] = body.C[:, :3, :3]
        M = ref.times(ref.times(ref.transpose(U), M), U)
    M, Md = ref.derivatives(M)[:2].astype(float)
    twist = body.rates(representation)[0]
    assert error(body.get(rigid.rigid_body_inertia, at=representation), M, 2) < EQUAL
    rate = body.get(rigid.rigid_body_inertia_dot, twist, at=representation)
    assert np.abs(rate - Md).max() < EQUAL * np.abs(M).max() * (1 + np.abs(twist).max())


@settings(max_examples=10)
@given(SEEDS)
def test_a_frame_with_the_origin_of_one_body_and_the_axes_of_another(seed):
    """[M18d] (62)-(64): motion, inertia, momentum, wrench and rates in a moving frame."""
    body = Body(seed)
    frame, series = random_frame(body.rng)
    own = ref.twists(series, "body")[:3].astype(float)
    assert error(np.array(frame[1:]), own) < EQUAL
    generator = ref.times(ref.rate(body.C), ref.inverse(body.C))
    seen = ref.times(ref.times(ref.inverse(series), generator), series)
    rates = np.array(rigid.twists_in_frame(frame, *body.spatial))
    assert error(rates, ref.derivatives(ref.twist(seen)).astype(float)) < EQUAL

    M, Md = ref.derivatives(inertia_in(body, series))[:2].astype(float)
    for function, count, expected, own, most in (
        (rigid.rigid_body_inertia, 0, M, 2, EQUAL),
        (rigid.rigid_body_inertia_dot, 1, Md, 2, 10 * EQUAL),
        (rigid.rigid_body_momentum, 1, observed(body.flow(), series)[0], 1, EQUAL),
        (rigid.newton_euler_rates, 4, observed(body.pull(), series), 1, 10 * EQUAL),
    ):
        assert error(body.get(function, *rates[:count], at=frame), expected, own) < most


# the equations of the paper, corrected where needed


@settings(max_examples=10)
@given(SEEDS)
def test_separate_equations_of_moments_and_forces(seed):
    """[M18d] (42) corrected, (43), (54), (55), (56), (57); with d = 0 they are (45)-(50), (58)."""
    body = Body(seed)
    m, d = body.mass, body.com
    R = body.pose[:3, :3]
    Theta = body.M_b[:3, :3]
    (w, v), (a, vd) = (x.reshape(2, 3) for x in body.rates("body")[:2])
    rdd = body.rates("hybrid")[1, 3:]
    moment = Theta @ a + np.cross(w, Theta @ w) + m * np.cross(d, vd + np.cross(w, v))
    lever = np.cross(a, d) + np.cross(w, np.cross(w, d))
    force = m * (vd + np.cross(w, v) + lever)
    mixed_moment = Theta @ a + np.cross(w, Theta @ w) + m * np.cross(d, R.T @ rdd)
    mixed_force = m * (rdd + R @ lever)
    expected = {
        "body": (moment, force),
        "hybrid": (R @ moment, R @ force),
        "mixed": (mixed_moment, mixed_force),
    }
    ws, ad = R @ w, R @ a
    Theta_h, dh = R @ Theta @ R.T, R @ d
    hybrid = Theta_h @ ad + np.cross(ws, Theta_h @ ws) + m * np.cross(dh, rdd)
    np.testing.assert_allclose(hybrid, R @ moment, atol=1e-12)
    for representation, parts in expected.items():
        W = body.get(rigid.newton_euler, *body.rates(representation)[:2], at=representation)
        assert error(W, np.concatenate(parts)) < EQUAL, representation


@settings(max_examples=10)
@given(SEEDS)
def test_compact_equations(seed):
    """[M18d] (38), (41), (53), and (63) with the angular velocity of k relative to j."""
    body = Body(seed)

    def seen(at, V, Vd):
        return body.get(rigid.rigid_body_inertia, at=at), body.get(rigid.newton_euler, V, Vd, at=at)

    for representation in ("spatial", "body"):
        V, Vd = body.rates(representation)[:2]
        M, W = seen(representation, V, Vd)
        assert error(W, M @ Vd - se3.ad(V).T @ M @ V) < EQUAL
    V, Vd = body.rates("hybrid")[:2]
    M, W = seen("hybrid", V, Vd)
    spin = np.concatenate([V[:3], np.zeros(3)])
    assert error(W, M @ Vd + se3.ad(spin) @ M @ spin) < EQUAL

    C_j, C_k = random_pose(body.rng), random_pose(body.rng)
    V_j, V_k = body.rng.normal(size=(2, 6))
    frame = rigid.moving_frame(C_j, [V_j], C_k, [V_k])
    V, Vd = rigid.twists_in_frame(frame, *body.spatial[:2])
    M, W = seen(frame, V, Vd)
    own = se3.Ad(se3.inverse(frame.pose)) @ V_j
    turning = C_k[:3, :3].T @ (V_k - V_j)[:3]
    drag = se3.ad(own) + se3.ad(np.concatenate([turning, np.zeros(3)]))
    assert error(W, M @ (Vd + drag @ V) - se3.ad(V).T @ M @ V) < EQUAL


@settings(max_examples=10)
@given(SEEDS)
def test_momentum_balance(seed):
    """[M18d] (36), (41), and (52) with its missing term."""
    body = Body(seed)
    for representation in ("spatial", "body", "hybrid"):
        Pi, Pid = body.seen(body.flow(), representation)[:2]
        V, Vd = body.rates(representation)[:2]
        missing = {
            "spatial": np.zeros(6),
            "body": -se3.ad(V).T @ Pi,
            "hybrid": np.concatenate([np.cross(V[3:], Pi[3:]), np.zeros(3)]),
        }
        W = body.get(rigid.newton_euler, V, Vd, at=representation)
        assert error(W, Pid + missing[representation]) < EQUAL, representation


# laws


@settings(max_examples=10)
@given(SEEDS)
def test_skew_symmetry(seed):
    """[M18d] remark 2, in every frame: M' - 2C is skew, and W = M V' + C V."""
    body = Body(seed)
    frame, _ = random_frame(body.rng)
    motions = {name: body.rates(name)[:2] for name in dyn.REPRESENTATIONS}
    for where, (V, Vd) in [*motions.items(), (frame, body.rng.normal(size=(2, 6)))]:
        M = body.get(rigid.rigid_body_inertia, at=where)
        C = body.get(rigid.rigid_body_coriolis_matrix, V, at=where)
        defect = body.get(rigid.rigid_body_inertia_dot, V, at=where) - 2 * C
        assert np.abs(defect + defect.T).max() < EQUAL * np.abs(C).max()
        assert error(M @ Vd + C @ V, body.get(rigid.newton_euler, V, Vd, at=where)) < EQUAL
        if where == "spatial":
            assert error(C, -se3.ad(V).T @ M, 2) < EQUAL
    short = -se3.ad(motions["body"][0]).T @ body.M_b
    assert np.abs(short + short.T).max() > 1e-3 * np.abs(short).max()


# input


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_batches_broadcast_and_equal_single_results(representation):
    rng = np.random.default_rng(3)
    pose = np.array([random_pose(rng) for _ in range(3)])
    M_b = np.array([random_inertia(rng) for _ in range(2)])[:, None]
    rates = rng.normal(size=(4, 3, 6))
    for function, count, shape in (
        (rigid.newton_euler_rates, 4, (3, 6)),
        (rigid.rigid_body_coriolis_matrix, 1, (6, 6)),
        (rigid.rigid_body_inertia, 0, (6, 6)),
    ):
        found = function(pose, M_b, *rates[:count], representation=representation)
        assert found.shape == (2, 3, *shape)
        for i, k in np.ndindex(2, 3):
            own = (pose[k], M_b[i, 0], *rates[:count, k])
            assert error(found[i, k], function(*own, representation=representation), 2) < 1e-15
    empty = rigid.newton_euler(pose[:0], M_b[0, 0], *rates[:2, :0], representation=representation)
    assert empty.shape == (0, 6)


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("bad", [None, 0.0, np.full((6, 6), np.nan), np.zeros(6) * 1j, "text"])
def test_bad_input_is_rejected_and_named(place, bad):
    arguments = [np.eye(4), np.eye(6), *np.zeros((4, 6))]
    arguments[place] = bad
    with pytest.raises(dyn.InputError, match=("pose", "M_b", *NAMES)[place]):
        rigid.newton_euler_rates(*arguments)


def test_other_mistakes_are_explained():
    one, unit, zero = np.eye(4), np.eye(6), np.zeros(6)
    two, frame = np.tile(one, (2, 1, 1)), rigid.MovingFrame(one, zero)

    def rates():
        return rigid.newton_euler_rates(one, unit, *[zero] * 4, representation=frame)

    assert_rejected(
        (lambda: rigid.newton_euler(one, unit, zero, zero, representation="world"), "'world' body"),
        (lambda: rigid.newton_euler(2 * one, unit, zero, zero), "pose rotation"),
        (
            lambda: rigid.rigid_body_momentum(two, unit, np.zeros((3, 6))),
            "pose (2,), M_b (), twist (3,)",
        ),
        (rates, "frame.acceleration is required"),
        (lambda: rigid.moving_frame(one, [zero], one, [zero, zero]), "twist derivatives 1 and 2"),
    )
