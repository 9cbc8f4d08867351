# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematic calibration: the geometric errors of a robot from measurements of its frames.

Least squares over the error screws of [M18d] section 6.2, see :mod:`.geometric_sensitivity`.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from ...core import Array, InputError, as_array
from ...lie import se3
from ...model import MultibodyModel
from ...rigid import frame_pose
from .geometric_sensitivity import Errors, ErrorScrew, errors_at, perturbed_model, pose_sensitivity

CONVERGED = 1e-12  # relative change of the parameters and of the sum of squares at convergence
HIDDEN = 1e-6  # smaller components in the directions without effect are rounding errors


class Calibration(NamedTuple):
    """The result of :func:`calibrate`.

    values : (p,) the parameters, in the order of the errors; rad or m.
    model : the robot with these errors.
    residuals : measured relative to `model`: (k, 6), the displacement of the frame as a twist in
        its own axes, rad and m; or (k, 3), the difference of the positions in inertial axes, m.
    rank : number of combinations of the parameters that the measurements determine.
    unidentifiable : names of the parameters that they do not determine individually.
    converged : whether the search converged.
    errors : the error screws that were requested.
    """

    values: Array
    model: MultibodyModel
    residuals: Array
    rank: int
    unidentifiable: tuple[str, ...]
    converged: bool
    errors: tuple[ErrorScrew, ...]

    def describe(self) -> str:
        """A line for each parameter, and the remaining residuals."""
        rows = [
            f"{error.name:40} {value:+.6e} {error.unit}"
            + (" (not determined)" if error.name in self.unidentifiable else "")
            for error, value in zip(self.errors, self.values, strict=True)
        ]
        rms = np.sqrt(np.mean(np.square(self.residuals), axis=0))
        left = ", ".join(f"{value:.3g}" for value in rms)
        found = "converged" if self.converged else "NOT converged"
        rows.append(f"{found}; rank {self.rank} of {len(rows)}; rms of the residuals {left}")
        return "\n".join(rows)


def calibrate(
    model: MultibodyModel,
    errors: Errors,
    q: Any,
    measured: Any,
    frame: str | int,
    *,
    noise: tuple[float, float] = (1.0, 1.0),
    tolerance: float = 1e-8,
) -> Calibration:
    """Kinematic calibration: the geometric errors that best explain the measurements of `frame`.

    Levenberg-Marquardt (SciPy) with exact derivatives: the residual of a pose is the twist
    r = log(C(pi)^-1 C_measured) in the axes of the frame, and dr/dpi = -dexp_r^-1 J with the
    body-fixed :func:`.pose_sensitivity` J.

    Parameters
    ----------
    q : (k, n) the joint positions, as the encoders report them.
    measured : (k, 4, 4) poses of the frame, or (k, 3) positions of its origin, in the inertial
        frame. A misplacement of the measuring system appears as an error of the first joint.
    noise : standard deviations of a measured rotation (rad) and position (m), which determine the
        weights of the two.
    tolerance : combinations of parameters whose effect is smaller than this, relative to the
        largest one, are kept at zero. They are singular vectors of the identification Jacobian of
        all measurements at pi = 0, each parameter being scaled to an effect of norm one.

    Raises InputError for wrong shapes or names, NaN or infinity, and if no error has any effect.
    """
    q, target, weights = _checked(model, errors, q, measured, noise)
    positions = target.ndim == 2

    def compare(values: Array) -> tuple[Array, Array]:
        """The residuals (k, 6) or (k, 3), and their derivatives (k, 6 or 3, p)."""
        there, local = perturbed_model(model, errors, values), errors_at(errors, values)
        pose = frame_pose(there, q, frame)
        if positions:
            J = pose_sensitivity(there, local, q, frame, representation="hybrid")
            return target - pose[:, :3, 3], -J[:, 3:]
        r = se3.log(se3.inverse(pose) @ target)
        J = pose_sensitivity(there, local, q, frame, representation="body")
        return r, -se3.dexp_inv(r) @ J

    def residual(values: Array) -> Array:
        return (compare(values)[0] * weights).ravel()

    def derivative(values: Array) -> Array:
        return (compare(values)[1] * weights[:, None]).reshape(-1, len(errors))

    J = derivative(np.zeros(len(errors)))
    if not J.any():
        raise InputError(f"calibrate: no error has an effect on '{frame}' in these measurements")
    seen, unseen = _directions(J, tolerance)
    rank = seen.shape[1]
    solution = least_squares(
        lambda x: residual(seen @ x),
        np.zeros(rank),
        jac=lambda x: derivative(seen @ x) @ seen,
        method="lm",
        **dict.fromkeys(("ftol", "xtol", "gtol"), CONVERGED),
    )
    values = seen @ solution.x
    hidden = np.linalg.norm(unseen, axis=0) > HIDDEN
    return Calibration(
        values,
        perturbed_model(model, errors, values),
        compare(values)[0],
        rank,
        tuple(error.name for error, lost in zip(errors, hidden, strict=True) if lost),
        bool(solution.success),
        tuple(errors),
    )


def _checked(
    model: MultibodyModel, errors: Errors, q: Any, measured: Any, noise: Any
) -> tuple[Array, Array, Array]:
    """q, the measurements, and the weights (6,) or (3,) of a residual; InputError if invalid."""
    positions = np.ndim(measured) == 2
    q = as_array("q", q, (model.n,), model.joint_names)
    target = as_array("measured", measured, (3,) if positions else (4, 4))
    sigma = as_array("noise", noise, (2,))
    if q.ndim != 2 or target.shape[:1] != q.shape[:1] or target.ndim > 3:
        raise InputError(
            f"calibrate: expected q (k, {model.n}) and measured (k, 4, 4) or (k, 3), got "
            f"{q.shape} and {target.shape}"
        )
    if not errors:
        raise InputError(
            "calibrate: errors is empty; create some with `joint_errors` and `frame_errors`"
        )
    if sigma.ndim != 1 or not (sigma > 0).all():
        raise InputError(f"noise: expected two positive standard deviations, got {noise}")
    return q, target, (1 / (sigma[1:] if positions else sigma)).repeat(3)


def _directions(J: Array, tolerance: float) -> tuple[Array, Array]:
    """The combinations (p, rank) of parameters that a Jacobian J determines, scaled to the effects
    of the parameters, and those (p - rank, p) that have no effect."""
    size = np.linalg.norm(J, axis=0)
    scale = np.where(size > tolerance * size.max(), size, size.max())
    effects, directions = np.linalg.svd(np.linalg.qr(J / scale, mode="r"))[1:]
    rank = int(np.sum(effects > tolerance * effects[0]))
    return directions[:rank].T / scale[:, None], directions[rank:]
