# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint motion from the motion of all bodies: exact for consistent data, optimal otherwise."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, theory
from reference import error, motion, twists
from rejections import assert_rejected
from robots import panda, random_inertia, random_pose, random_state, random_tree, with_multidof

MODELS = [panda(), random_tree(8, seed=3), random_tree(7, seed=9), with_multidof()]
METHODS = ("projection", "least_squares")
RNG = np.random.default_rng(31)

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
each_representation = pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
each_method = pytest.mark.parametrize("method", METHODS)


def noisy(poses, size, seed=0):
    return poses @ se3.exp(size * np.random.default_rng(seed).normal(size=(*poses.shape[:-2], 6)))


# consistent data: exact joint motion


@each_method
@each_model
def test_exact_poses_give_the_positions(model, method):
    q = 3 * random_state(model, seed=2)[0]
    exact = np.array([C[0] for C in motion(model, [q]).poses], dtype=float)
    found = theory.joint_positions_from_poses(model, exact, reference=q + 2, method=method)
    np.testing.assert_allclose(found.joints, q, atol=2e-14)
    np.testing.assert_allclose(found.residual, 0, atol=1e-13)


@each_method
@each_representation
@each_model
def test_exact_motions_give_rates_and_accelerations(model, representation, method):
    q, qd, qdd = 2 * random_state(model, seed=5)[:3]
    exact = [twists(C, representation) for C in motion(model, [q, qd, qdd]).poses]
    V, V_dot = np.array(exact, dtype=float).swapaxes(0, 1)
    how = {"representation": representation, "method": method}
    rates = theory.joint_rates_from_twists(model, q, V, **how)
    assert error(rates.joints, qd) < 1e-13
    np.testing.assert_allclose(rates.residual, 0, atol=1e-12)
    found = theory.joint_accelerations_from_motion(model, q, V, V_dot, **how)
    assert error(found.joints, qdd) < 1e-12
    np.testing.assert_allclose(found.residual, 0, atol=1e-11)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_a_reference_within_half_a_turn_determines_the_turns(seed):
    model = MODELS[1]
    rng = np.random.default_rng(seed)
    q = rng.uniform(-30, 30, model.n)
    poses = theory.SpatialScrewDescription.of(model).poses(q)
    reference = q + rng.uniform(-3.1, 3.1, model.n)
    found = theory.joint_positions_from_poses(model, poses, reference=reference)
    np.testing.assert_allclose(found.joints, q, atol=1e-11)


@pytest.mark.parametrize("rate", [1.0, 3.0])
def test_without_reference_only_helical_joints_determine_their_turns(rate):
    """`rate` scales the screw from unit length; q is then not the angle."""
    screws = rate * np.array(
        [dyn.revolute((0, 1, 2), (0.1, 0.2, 0.3)), dyn.helical((1, 0, 1), (0.3, 0.1, 0), -0.004),
         dyn.prismatic((1, 1, 0))]
    )  # fmt: skip
    rng = np.random.default_rng(1)
    poses = [random_pose(rng) for _ in screws]
    bodies = [random_inertia(rng) for _ in screws]
    model = dyn.model_from_screws((-1, 0, 1), screws, poses, bodies)
    q = np.array([[4.0, 40.0, -7.0], [-3.5, -55.0, 0.2]]) / rate
    turn = np.array([[2 * np.pi, 0, 0], [-2 * np.pi, 0, 0]]) / rate
    found = theory.joint_positions_from_poses(model, dyn.forward_kinematics(model, q).pose)
    np.testing.assert_allclose(found.joints, q - turn, atol=1e-12)
    np.testing.assert_allclose(found.residual, 0, atol=1e-13)
    helical = theory.joint_positions_from_poses(
        model, dyn.forward_kinematics(model, q).pose, reference=q
    )
    np.testing.assert_allclose(helical.joints, q, atol=1e-12)


def test_half_turns_are_determined_up_to_a_full_turn():
    model = MODELS[0]
    for q in (np.full(7, np.pi), np.full(7, -np.pi)):
        found = theory.joint_positions_from_poses(model, dyn.forward_kinematics(model, q).pose)
        np.testing.assert_allclose(np.abs(found.joints), np.pi, atol=1e-13)


@each_model
def test_accelerations_are_those_of_the_papers_components(model):
    """[M18d] remark 1 (11) and its components, remark 3, with the missing dot."""
    q, qd, qdd = random_state(model, seed=7)[:3]
    body = dyn.forward_kinematics(model, q, qd, qdd, representation="body")
    found = theory.joint_accelerations_from_motion(model, q, body.twist, body.acceleration).joints
    k = theory.system_kinematics(model, q, qd)
    matrix = np.linalg.pinv(k.X) @ (k.A_inverse @ body.acceleration.ravel() + k.a @ k.V)
    np.testing.assert_allclose(found, matrix, atol=1e-13)
    X = theory.BodyScrewDescription.of(model).screws
    for i, p in enumerate(model.parents):
        V, V_dot = body.twist[i], body.acceleration[i]
        before = se3.Ad(se3.inverse(k.pose[i]) @ k.pose[p]) if p >= 0 else np.zeros((6, 6))
        relative = V_dot - before @ body.acceleration[p]
        bracket = qd[i] * se3.ad(X[i]) @ V, se3.ad(V) @ before @ body.twist[p]
        for term in bracket:
            np.testing.assert_allclose(
                X[i] @ (relative + term) / (X[i] @ X[i]), found[i], atol=1e-12
            )


# inconsistent data: what each method minimises


@each_representation
def test_the_projection_solves_for_the_relative_twists(representation):
    """[M18k] (27) is the pseudoinverse solution of (I - D) V = X q', not that of V = J q'."""
    model = MODELS[1]
    q, V = RNG.normal(size=model.n), RNG.normal(size=(model.n, 6))
    k = theory.system_kinematics(model, q, representation=representation)
    found = theory.joint_rates_from_twists(model, q, V, representation=representation)
    relative = np.linalg.lstsq(k.X, k.A_inverse @ V.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found.joints, relative, atol=1e-12)
    np.testing.assert_allclose(found.residual.ravel(), V.ravel() - k.J @ relative, atol=1e-12)
    overall = np.linalg.lstsq(k.J, V.ravel(), rcond=None)[0]
    assert error(found.joints, overall) > 0.01


@pytest.mark.parametrize("shape", ["none", "bodies", "components", "matrices"])
@each_representation
def test_least_squares_minimise_the_weighted_residual(representation, shape):
    model = MODELS[1]
    n = model.n
    q, V = RNG.normal(size=n), RNG.normal(size=(n, 6))
    weights = {
        "none": None,
        "bodies": RNG.uniform(0.1, 2, n),
        "components": RNG.uniform(0.1, 2, (n, 6)),
        "matrices": np.array(model.inertias),
    }[shape]
    W = np.zeros((n, 6, 6)) + np.eye(6)
    if weights is not None:
        W = W * weights.reshape(n, -1, 1) if weights.ndim < 3 else weights
    how = {"representation": representation, "method": "least_squares", "weights": weights}
    found = theory.joint_rates_from_twists(model, q, V, **how)
    J = theory.system_kinematics(model, q, representation=representation).J.reshape(n, 6, n)
    normal = np.einsum("kai,kab,kbj->ij", J, W, J)
    right = np.einsum("kai,kab,kb->i", J, W, V)
    np.testing.assert_allclose(found.joints, np.linalg.solve(normal, right), atol=1e-10)
    np.testing.assert_allclose(found.residual, V - J @ found.joints, atol=1e-12)


@pytest.mark.parametrize("weighed", [False, True])
def test_least_squares_of_poses_minimise_the_weighted_residual(weighed):
    model = MODELS[1]
    q = random_state(model, seed=3)[0]
    poses = noisy(dyn.forward_kinematics(model, q).pose, 0.02)
    weights = np.array(model.inertias) if weighed else None
    projected = theory.joint_positions_from_poses(model, poses, reference=q)
    found = theory.joint_positions_from_poses(
        model, poses, reference=q, method="least_squares", weights=weights
    )
    roots = [np.linalg.cholesky(M).T for M in weights] if weighed else np.eye(6)

    def errors(x):
        poses_of_x = dyn.forward_kinematics(model, x).pose
        return np.ravel(roots @ se3.log(se3.inverse(poses_of_x) @ poses)[..., None])

    other = optimize.least_squares(errors, q, xtol=1e-12, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(found.joints, other.x, atol=1e-7)
    assert np.sum(errors(found.joints) ** 2) < 0.9 * np.sum(errors(projected.joints) ** 2)
    residual = roots @ found.residual[..., None]
    np.testing.assert_allclose(residual.ravel(), errors(found.joints), atol=1e-14)
    assert np.abs(found.joints - q).max() < 0.1


@each_method
def test_the_residual_locates_an_error(method):
    model = random_tree(5, seed=3, branching=0)
    q = random_state(model)[0]
    poses = dyn.forward_kinematics(model, q).pose.copy()
    poses[4] = noisy(poses[4], 0.05)
    found = theory.joint_positions_from_poses(model, poses, reference=q, method=method)
    if method == "projection":
        np.testing.assert_allclose(found.joints[:4], q[:4], atol=1e-13)
        np.testing.assert_allclose(found.residual[:4], 0, atol=1e-13)
    sizes = np.linalg.norm(found.residual, axis=1)
    assert np.argmax(sizes) == 4
    assert sizes[4] > 0.01


# weights


def test_bodies_without_weight_need_no_data():
    """Motion capture observes the six bodies, not the massless ones inside their joints."""
    model = MODELS[3]
    observed = np.array([np.any(M) for M in model.inertias], dtype=float)
    assert observed.sum() == 6 < model.n
    q, qd, qdd = random_state(model, seed=4)[:3]
    moving = dyn.forward_kinematics(model, q, qd, qdd, representation="body")
    poses, V, V_dot = (np.array(x) for x in (moving.pose, moving.twist, moving.acceleration))
    hidden = observed == 0
    poses[hidden] = np.eye(4)
    V[hidden] = V_dot[hidden] = 99
    how = {"method": "least_squares", "weights": observed}
    found = theory.joint_positions_from_poses(model, poses, reference=q + 0.1, **how).joints
    np.testing.assert_allclose(found, q, atol=1e-12)
    assert error(theory.joint_rates_from_twists(model, q, V, **how).joints, qd) < 1e-12
    found = theory.joint_accelerations_from_motion(model, q, V, V_dot, **how).joints
    assert error(found, qdd) < 1e-11


# shapes and errors


@each_method
def test_batches_equal_single_results(method):
    model = MODELS[1]
    q, qd, qdd = RNG.normal(size=(3, 2, 3, model.n))
    moving = dyn.forward_kinematics(model, q, qd, qdd)
    V = moving.twist + RNG.normal(0, 0.1, moving.twist.shape)
    V_dot = moving.acceleration + RNG.normal(0, 0.1, moving.twist.shape)
    poses = noisy(moving.pose, 0.01)
    how = {"representation": "spatial", "method": method}
    found = (
        theory.joint_positions_from_poses(model, poses, reference=q[0], method=method),
        theory.joint_rates_from_twists(model, q[:, :1], V, **how),
        theory.joint_accelerations_from_motion(model, q[:, :1], V, V_dot, **how),
    )
    for i, j in np.ndindex(2, 3):
        at, first = (i, j), q[i, 0]
        single = (
            theory.joint_positions_from_poses(model, poses[at], reference=q[0, j], method=method),
            theory.joint_rates_from_twists(model, first, V[at], **how),
            theory.joint_accelerations_from_motion(model, first, V[at], V_dot[at], **how),
        )
        # least squares are flat at the minimum: round-off moves it by far more than one unit
        for together, one in zip(found, single, strict=True):
            np.testing.assert_allclose(together.joints[at], one.joints, atol=1e-9)
            np.testing.assert_allclose(together.residual[at], one.residual, atol=1e-9)


def test_unobserved_joints_are_named():
    model = panda()
    q, V, last = np.full(model.n, 0.3), np.zeros((model.n, 6)), model.joint_names[-1]
    given = {"method": "least_squares", "weights": (np.arange(model.n) < model.n - 1) * 1.0}
    positions = partial(theory.joint_positions_from_poses, model, model.poses, reference=q)
    assert_rejected(
        (lambda: theory.joint_rates_from_twists(model, q, V, **given), f"{last} undetermined"),
        (lambda: positions(**given), f"{last} undetermined"),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method: expected 'projection' or 'least_squares', got 'guess'"),
        ({"weights": np.ones(7)}, "weights are only used by the method 'least_squares'"),
        ({"method": "least_squares", "weights": np.ones(3)}, r"weights: expected \(7,\), \(7, 6\)"),
        ({"method": "least_squares", "weights": -np.ones(7)}, "weights of body '.*1': expected a"),
        ({"method": "least_squares", "weights": np.tril(np.ones((7, 6, 6)))}, "symmetric"),
    ],
)
def test_bad_methods_and_weights_are_named(options, message):
    model = panda()
    V = np.zeros((model.n, 6))
    with pytest.raises(dyn.InputError, match=message):
        theory.joint_rates_from_twists(model, np.zeros(model.n), V, **options)
    with pytest.raises(dyn.InputError, match=message):
        theory.joint_positions_from_poses(model, model.poses, **options)


def test_bad_motions_are_named():
    model = panda()
    zero, V = np.zeros(model.n), np.zeros((model.n, 6))
    scaled = model.poses * (1 + (np.arange(7) == 2)[:, None, None])
    positions = partial(theory.joint_positions_from_poses, model)
    rates = partial(theory.joint_rates_from_twists, model)
    accelerations = partial(theory.joint_accelerations_from_motion, model, zero)
    V2, a3, fit = np.zeros((2, 7, 6)), np.zeros((3, 7, 6)), {"method": "least_squares"}
    assert_rejected(
        (lambda: positions(model.poses[1:]), "poses: (..., 7, 4, 4)"),
        (lambda: positions(scaled), "poses[2] rotation"),
        (lambda: positions(model.poses, reference=zero[1:]), "reference: shape"),
        (lambda: rates(zero, V[1:]), "twists: (..., 7, 6)"),
        (lambda: accelerations(V, np.full((7, 6), np.nan)), "accelerations[0, 0] is nan"),
        (lambda: rates(np.zeros((2, 7)), a3), "batch dimensions do not broadcast: q"),
        (lambda: accelerations(V2, a3, **fit), "twists (2,), accelerations (3,)"),
        (lambda: rates(zero, V, representation="world"), "representation 'world'"),
    )
