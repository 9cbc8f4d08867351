# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Redundancy resolution: weights, secondary motion, damping near singularities, manipulability."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, as_array, check_sequence, exactly, read_only
from ..model import MultibodyModel
from .tool_task import Task, task_jacobian

POSITIVE = ("weights", "limit_margin", "length")
NOT_NEGATIVE = ("posture_gain", "limit_speed", "feedback")


@dataclass(frozen=True)
class Damping:
    """Damping that begins smoothly where the tasks lose a direction, and is zero elsewhere.

    lambda^2 = strength^2 s(tau) with tau = sum_i eps^2 / (sigma_i^2 + eps^2) over the singular
    values of A W^-1/2 and eps = `singular_value`: each lost direction adds 1 to tau, which is
    analytic in q, even where singular values cross. s is 0 below tau = 0.1 (smallest singular value
    about 3 eps), 1 above 0.5 (eps), and four times continuously differentiable. At full damping the
    joint rates are below |task rates| / (2 strength). Solvers report the unmet part of the task
    rates, order by order.

    singular_value, strength: in the units of A W^-1/2, see `manipulability`; `strength` defaults to
    `singular_value`.
    """

    singular_value: float = 0.03
    strength: float | None = None

    def __post_init__(self) -> None:
        for name in ("singular_value", "strength"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InputError(f"damping: {name} must be positive, got {value!r}")

    @property
    def lambda_max(self) -> float:
        """The largest possible lambda, which equals the strength."""
        return self.singular_value if self.strength is None else self.strength


@dataclass(frozen=True, eq=False)
class RedundancyResolution:
    """Selects, among all joint motions that fulfil a task, the one nearest to a secondary motion z.

    Attributes
    ----------
    weights : (n,) positive weights w of |q' - z|_W^2 = sum_i w_i (q'_i - z_i)^2, which is
        minimised; default 1. A joint with a large weight moves little. If revolute and prismatic
        joints share a task, weights make their rates comparable.
    prescribed : joints (names or indices) whose motion is given; only the others serve the task,
        the joint space decomposition of [M21] remark 2.
    posture, posture_gain : (n,) rad or m, and 1/s (a number or (n,)): z = -gain (q - posture), the
        descent along the gradient of the squared distance to it.
    limit_margin, limit_speed : rad or m, and rad/s or m/s (numbers or (n,)): within the margin of
        a joint limit of the model, z leads away from it, with the given speed at the limit; it is
        the gradient of a potential that is five times continuously differentiable.
    damping : None meets the tasks exactly, and a singularity is then an error.
    feedback : 1/s, rate at which an error of the tool decays: e' = -feedback e, with e in m or, for
        rotations, the sine of the angle; its derivatives enter those of the joint rates.
    length : m; a translation by it counts as 1 rad, in damping and wherever a task is not exact.

    Raises InputError for invalid values; shapes are checked later, against the robot.
    """

    weights: Any = None
    prescribed: Sequence[str | int] = ()
    posture: Any = None
    posture_gain: Any = 1.0
    limit_margin: Any = 0.2
    limit_speed: Any = 0.0
    damping: Damping | None = None
    feedback: float = 0.0
    length: float = 1.0

    def __post_init__(self) -> None:
        check_sequence("prescribed", self.prescribed, "joints")
        for name in (*POSITIVE, *NOT_NEGATIVE, "posture"):
            if (given := getattr(self, name)) is None:
                continue
            values = as_array(name, given, ())
            if name in POSITIVE and not (values > 0).all():
                raise InputError(f"{name}: expected positive numbers, got {given}")
            if name in NOT_NEGATIVE and not (values >= 0).all():
                raise InputError(f"{name}: expected zero or more, got {given}")
            if values.ndim:
                object.__setattr__(self, name, read_only(values))

    def joint_weights(self, model: MultibodyModel) -> Array:
        """The weights (n,) for a robot, 1 by default."""
        given = np.ones(model.n) if self.weights is None else self.weights
        return exactly("weights", given, (model.n,))


class Manipulability(NamedTuple):
    """Distance of a configuration from singularities by the singular values sigma of A, each (...).

    A = `task_jacobian` with translations divided by `length`, times W^-1/2: with weights of 1 and
    only revolute joints, sigma is a task rate (rad/s, or m/s divided by `length`) per joint rate
    (rad/s).
    """

    yoshikawa: Array  # sqrt(det(A A^T)), the product of the sigma
    smallest_singular_value: Array
    condition_number: Array  # largest over smallest; infinite at singularities


def manipulability(
    model: MultibodyModel,
    tasks: Task | Sequence[Task],
    q: Any,
    *,
    weights: Any | None = None,
    length: float = 1.0,
) -> Manipulability:
    """Manipulability of tasks at q (..., n); see `Manipulability` for the units.

    For tasks with both rotations and translations, the product [Yoshikawa 1985] and the ratio of
    singular values depend on the `length` in m that counts as 1 rad. Raises InputError as
    `task_jacobian` does.
    """
    w = RedundancyResolution(weights=weights, length=length).joint_weights(model)
    A = task_jacobian(model, tasks, q, length=length) / np.sqrt(w)
    if A.shape[-2] > A.shape[-1]:
        raise InputError(
            f"the tasks prescribe {A.shape[-2]} components, but there are only {A.shape[-1]} joints"
        )
    sigma = np.linalg.svd(A, compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = np.where(sigma[..., -1] > 0, sigma[..., 0] / sigma[..., -1], np.inf)
    return Manipulability(*map(np.asarray, (np.prod(sigma, axis=-1), sigma[..., -1], condition)))
