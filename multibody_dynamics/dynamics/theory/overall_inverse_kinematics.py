# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint coordinates, rates and accelerations from the motion of all bodies, as in motion capture.

Two methods are available. For consistent data, which some motion of the joints reproduces exactly,
both find that motion:

"projection": each joint from the motion of its body relative to the parent, projected onto its own
    screw, [M18k] remark 9 (27), [M18d] remarks 1 and 3. The joints are independent of each other.
"least_squares": the joint motion that best reproduces the motion of all bodies.

For inconsistent data the solutions differ. [M18k] calls (27) the pseudoinverse solution; it is that
of the relative twists, (I - D) V = X q', not of the twists of the bodies, V = J q'.

Both depend on the choice of frames, because no norm of a twist (omega, v) is frame-invariant
([M18k] remark 9, end): angular and linear parts are weighted in rad and m, and v belongs to the
origin of the body frame (body, hybrid, mixed) or of the inertial frame (spatial). The exception is
least squares weighted by the inertias, weights=model.inertias in body representation: the kinetic
energy of the error is the same in all frames.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..core import Array, InputError, as_array, broadcast_shapes, times, transposed
from ..lie import Representation, se3, so3
from ..model import MultibodyModel, screw_type
from ..model.records import ANGULAR, LINEAR
from ..rigid import forward_kinematics
from .configuration import BodyScrewDescription
from .system_jacobian import SystemKinematics, system_kinematics

Method = Literal["projection", "least_squares"]


class OverallSolution(NamedTuple):
    """The joint motion, and the part of the given motion that it does not reproduce.

    joints : (..., n) q, q' or q'' in rad or m, per s, per s^2.
    residual : (..., N, 6) given minus reproduced motion. For poses the screw log(C_i(q)^-1 C_i) in
        the body frame; for twists and accelerations the difference in their representation.
    """

    joints: Array
    residual: Array


def joint_positions_from_poses(
    model: MultibodyModel,
    poses: Any,
    *,
    reference: Any | None = None,
    method: Method = "projection",
    weights: Any | None = None,
) -> OverallSolution:
    """Joint positions q (..., n) from the poses C_i (..., N, 4, 4) of all bodies.

    "projection": q_i = X_i . log(B_i^-1 C_p^-1 C_i) / |X_i|^2, the finite form of [M18k] (27); of
    coupled joints the mean, weighted by |X_i|^2.
    "least_squares": minimises sum_i r_i^T W_i r_i over the residuals r_i. It starts from the
    projection, or from the reference for joints whose body or parent has zero weight.

    Parameters
    ----------
    reference : q (..., n). A pose determines a joint angle only up to full turns; the result is
        within half a turn of the reference. Without it a revolute joint is within half a turn of
        zero, and a helical joint follows its displacement along the axis.
    weights : W_i of "least_squares": (N,), one per body, 0 for a body that was not observed; or
        (N, 6), one per component; or (N, 6, 6); default 1.

    Raises InputError for wrong shapes, NaN or infinity, poses that are not rigid transformations,
    weights that leave a joint undetermined, an unknown method, and weights for "projection".
    """
    N = model.body_count
    poses = se3.as_pose("poses", poses)
    if poses.ndim < 3 or poses.shape[-3] != N:
        raise InputError(f"poses: expected shape (..., {N}, 4, 4), got {poses.shape}")
    start = np.zeros(model.n) if reference is None else reference
    start = as_array("reference", start, (model.n,), model.joint_names)
    shape = broadcast_shapes(("poses", "reference"), (poses.shape[:-3], start.shape[:-1]))
    poses = np.broadcast_to(poses, (*shape, N, 4, 4))
    start = np.broadcast_to(start, (*shape, model.n))
    root = _root_of_weights(model, method, weights)
    seen = np.ones(N + 1, dtype=bool)  # the last one, at -1, is the base
    if root is not None:
        seen[:-1] = root.any(axis=(1, 2))
    observed = seen[:-1] & seen[model.parents]
    q = _project_poses(model, poses, start, observed, reference is None)
    if root is not None:
        for index in np.ndindex(shape):
            q[index] = _fit_poses(model, poses[index], q[index], root)
    return OverallSolution(q, _pose_errors(model, q, poses))


def joint_rates_from_twists(
    model: MultibodyModel,
    q: Any,
    twists: Any,
    *,
    representation: Representation = "body",
    method: Method = "projection",
    weights: Any | None = None,
) -> OverallSolution:
    """Joint rates q' (..., n) from the twists V_i (..., N, 6) of all bodies at q (..., n).

    "projection": q' = (X^T X)^-1 X^T (I - D) V, [M18k] (27), [M18d] remark 3; for each joint
    q'_i = X_i . (V_i - D_ip V_p) / |X_i|^2 with the screw and the twists in `representation`, and
    for coupled ones the mean, weighted by |X_i|^2.
    "least_squares": minimises (V - J q')^T W (V - J q'). The `weights` are those of
    :func:`joint_positions_from_poses`, applied to the components of the twists.

    Raises InputError in the same cases, and for an unknown representation.
    """
    kinematics = system_kinematics(model, q, representation=representation)
    V = _stacked(twists, "twists", kinematics)
    return _solve(kinematics, V, _root_of_weights(model, method, weights))


def joint_accelerations_from_motion(
    model: MultibodyModel,
    q: Any,
    twists: Any,
    accelerations: Any,
    *,
    representation: Representation = "body",
    method: Method = "projection",
    weights: Any | None = None,
) -> OverallSolution:
    """Joint accelerations q'' (..., n) from twists V_i and their derivatives V'_i (..., N, 6).

    Since V' = J q'' + J' q', q'' follows from V' - J' q' in the same way as q' from V in
    :func:`joint_rates_from_twists`. For "projection" in body representation this is [M18d] (11),

        q'' = (X^T X)^-1 X^T ((I - D) V' + a V)
        q''_i = X_i . (V'_i - Ad_{C_ip} V'_p + q'_i [X_i, V_i]) / |X_i|^2

    with V = J q', the twists that the joint rates reproduce. Remark 3 has [V_i, Ad_{C_ip} V_p] in
    place of q'_i [X_i, V_i], which is the same for consistent data; the paper omits the dot on its
    first term, the acceleration.

    Raises the InputError of :func:`joint_rates_from_twists`.
    """
    root = _root_of_weights(model, method, weights)
    kinematics = system_kinematics(model, q, representation=representation)
    V = _stacked(twists, "twists", kinematics)
    V_dot = _stacked(accelerations, "accelerations", kinematics)
    broadcast_shapes(("twists", "accelerations"), (V.shape[:-1], V_dot.shape[:-1]))
    qd = _solve(kinematics, V, root).joints
    moving = system_kinematics(model, q, qd, representation=representation)
    return _solve(moving, V_dot - moving.acceleration(np.zeros(model.n)), root)


def _solve(kinematics: SystemKinematics, V: Array, root: Array | None) -> OverallSolution:
    """Solve V = J x (..., 6N) for x (..., n): joint by joint, or all together with W = F^T F."""
    X, n, N = kinematics.X, kinematics.model.n, kinematics.model.body_count
    if root is None:
        relative = times(kinematics.A_inverse, V)
        x = np.einsum("...ij,...i->...j", X, relative) / np.square(X).sum(axis=-2)
    else:
        weighed = (root @ kinematics.J.reshape(*X.shape[:-2], N, 6, n)).reshape(X.shape)
        U, sizes, Vt = _determined(kinematics.model, weighed)
        right = times(root, V.reshape(*V.shape[:-1], N, 6)).reshape(V.shape)
        x = times(transposed(Vt), times(transposed(U), right) / sizes)
    residual = V - times(kinematics.J, x)
    return OverallSolution(x, residual.reshape(*residual.shape[:-1], N, 6))


def _project_poses(
    model: MultibodyModel, poses: Array, start: Array, observed: NDArray[np.bool_], is_free: bool
) -> Array:
    """Each joint from its own relative pose M = exp(X q), or from `start` if it is not observed.

    Full turns, which are translations along the axis, are removed before the principal logarithm.
    If the turn `is_free`, that of a coupled joint follows from the one that turns least.
    """
    tree = BodyScrewDescription.of(model)
    found, sizes = np.zeros(poses.shape[:-2]), np.square(tree.screws).sum(axis=-1) * observed
    near: dict[int, Array] = {} if is_free else dict(enumerate(np.moveaxis(start, -1, 0)))
    for i in np.argsort(np.abs(model.joint_rows[:, ANGULAR]), kind="stable").tolist():
        p, B, X = tree.parents[i], tree.relative_poses[i], tree.screws[i]
        M = se3.inverse(B if p < 0 else poses[..., p, :, :] @ B) @ poses[..., i, :, :]
        (a, h), c = model.joint_rows[i, [ANGULAR, LINEAR]], int(model.coordinates[i])
        turns = np.zeros(found.shape[:-1])
        if a:
            axis = X[:3] / a
            angle = so3.log(M[..., :3, :3]) @ axis
            if c in near:
                turns = np.round((a * near[c] - angle) / (2 * np.pi))
            elif screw_type(model.screws[i]) == "helical":
                turns = np.round((a / h * M[..., :3, 3] @ axis - angle) / (2 * np.pi))
            turns *= 2 * np.pi / a
            M[..., :3, 3] -= h * turns[..., None] * axis
        found[..., i] = turns + se3.log(M) @ X / (X @ X)
        if observed[i]:
            near.setdefault(c, found[..., i])
    total = model.collect(sizes, -1)
    return np.where(total > 0, model.collect(found * sizes, -1) / np.where(total, total, 1), start)


def _fit_poses(model: MultibodyModel, poses: Array, start: Array, root: Array) -> Array:
    """Minimise |F_i r_i|^2 over all bodies for one state, with r_i = log(C_i(q)^-1 C_i)."""

    def residuals(q: Array) -> Array:
        return (root @ _pose_errors(model, q, poses)[..., None]).ravel()

    def slope(q: Array) -> Array:
        """exp(r)' = -V^b(q) exp(r) for a fixed target, and therefore r' = -dexp_r^-1 J^b q'."""
        J = system_kinematics(model, q).J.reshape(-1, 6, model.n)
        r = _pose_errors(model, q, poses)
        return (-root @ se3.dexp_inv(r) @ J).reshape(-1, model.n)

    _determined(model, slope(start))
    tolerances = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15)
    solution = optimize.least_squares(residuals, start, jac=slope, method="lm", **tolerances)
    if not solution.success:
        raise InputError(f"the fit of joint positions to the poses failed: {solution.message}")
    return solution.x


def _pose_errors(model: MultibodyModel, q: Array, poses: Array) -> Array:
    """log(C_i(q)^-1 C_i), (..., N, 6)."""
    return se3.log(se3.inverse(forward_kinematics(model, q).pose) @ poses)


def _determined(model: MultibodyModel, matrix: Array) -> tuple[Array, Array, Array]:
    """The singular value decomposition of (..., 6N, n); InputError if it is rank-deficient."""
    U, sizes, Vt = np.linalg.svd(matrix, full_matrices=False)
    deficient = sizes[..., -1] <= matrix.shape[-2] * np.finfo(np.float64).eps * sizes[..., 0]
    if deficient.any():
        free = np.abs(Vt[..., -1, :][deficient][0]) > 1e-6
        joints = [name for name, is_free in zip(model.joint_names, free, strict=True) if is_free]
        raise InputError(f"weights: the observed motion leaves {', '.join(joints)} undetermined")
    return U, sizes, Vt


def _root_of_weights(model: MultibodyModel, method: str, weights: Any | None) -> Array | None:
    """F_i (N, 6, 6) with W_i = F_i^T F_i; None for the projection, which has no weights."""
    if method not in ("projection", "least_squares"):
        raise InputError(f"method: expected 'projection' or 'least_squares', got '{method}'")
    if method == "projection":
        if weights is not None:
            raise InputError("weights are only used by the method 'least_squares'")
        return None
    N = model.body_count
    W = as_array("weights", np.ones(N) if weights is None else weights, ())
    if W.shape not in ((N,), (N, 6), (N, 6, 6)):
        raise InputError(f"weights: expected {(N,)}, {(N, 6)} or {(N, 6, 6)}, got {W.shape}")
    if W.ndim == 1:
        W = np.repeat(W[:, None], 6, axis=1)
    if W.ndim == 2:
        W = W[:, :, None] * np.eye(6)
    sizes, axes = np.linalg.eigh(W)
    largest = np.abs(sizes).max(axis=1)
    wrong = (sizes[:, 0] < -1e-12 * largest) | (
        np.abs(W - W.swapaxes(1, 2)).max(axis=(1, 2)) > 1e-12 * largest
    )
    if wrong.any():
        body = model.body_names[int(np.argmax(wrong))]
        raise InputError(
            f"weights of body '{body}': expected a symmetric positive semidefinite matrix"
        )
    return np.sqrt(np.maximum(sizes, 0))[:, :, None] * axes.swapaxes(1, 2)


def _stacked(values: Any, name: str, kinematics: SystemKinematics) -> Array:
    """(..., N, 6) as (..., 6N); its batch must broadcast with that of the kinematics."""
    N = kinematics.model.body_count
    stacked = as_array(name, values, (N, 6)).reshape(*np.shape(values)[:-2], 6 * N)
    broadcast_shapes(("q", name), (kinematics.pose.shape[:-3], stacked.shape[:-1]))
    return stacked
