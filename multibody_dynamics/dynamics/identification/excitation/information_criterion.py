# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How much the torques along a motion say about the parameters, with its gradient.

Joint torques tau = Y beta, with beta the base parameters and friction, are measured with white
noise of standard deviation s_i; along a motion with samples t, the information matrix is
M = sum_t Y_t^T diag(s)^-2 Y_t, and M^-1 the covariance of the best estimate of beta. The criteria:

    "log_det"    -log det M: the volume of the confidence ellipsoid (D-optimal). Its minimum does
                 not depend on the units of the parameters.
    "condition"  log cond M / 2: the logarithm of the condition number of the weighted observation
                 matrix.

(J. Swevers et al., "Optimal robot excitation and identification", IEEE Trans. Robotics and
Automation 13(5), 1997.) With N = d criterion / dM, the derivative with respect to the entries of
Y_t is 2 diag(s)^-2 Y_t N, from which :func:`.regressor_stack` computes the derivative with respect
to the motion.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...core import Array, IndependentCopies, InputError, as_array
from ...model import MultibodyModel
from ..bodies.joint_friction import COULOMB_VELOCITY
from ..bodies.regressor import base_parameters
from .regressor_gradient import regressor_stack

Kind = Literal["log_det", "condition"]
KINDS: tuple[str, ...] = get_args(Kind)
FRICTION = ("viscous", "coulomb", "offset")
ROUNDING = 1e-12  # singular values of the columns that count as zero, relative
SEPARATE = 1e-6  # least share of a constant torque outside the span of the other columns
TINY = 1e-13  # smallest eigenvalue of the scaled information matrix that counts, relative


class TorqueColumns(IndependentCopies):
    """tau = columns beta: the base parameters and the friction of a robot, as one linear model.

    An offset that no motion can separate from the other parameters is left out: that of a vertical
    prismatic joint, for example, from the weight that it carries, if its drive has a rotor.

    rotors : include the reflected inertias of the drives; those of elastic joints belong to the
        motors.
    friction : some of "viscous", "coulomb" (smooth, tanh(q' / v0)) and "offset", for every joint.
    """

    def __init__(
        self,
        model: MultibodyModel,
        *,
        rotors: bool = True,
        friction: Sequence[str] = FRICTION,
        coulomb_velocity: float = COULOMB_VELOCITY,
    ) -> None:
        for name in friction:
            if name not in FRICTION:
                raise InputError(f"friction '{name}': expected one of {', '.join(FRICTION)}")
        self.model, self._speed = model, coulomb_velocity
        self.base = base_parameters(model, extra=("rotor",) if rotors else ())
        self._stack = regressor_stack(model)
        every = np.arange(model.n)
        self.friction = {name: every for name in FRICTION[:2] if name in friction}
        if "offset" in friction:
            self.friction["offset"] = self._separable_offsets()
        self.names = (
            *self.base.describe().splitlines(),
            *(
                f"{model.joint_names[j]}.{kind}"
                for kind, joints in self.friction.items()
                for j in joints.tolist()
            ),
        )

    def _separable_offsets(self) -> NDArray[np.intp]:
        """Joints whose constant torque is no combination of the base parameters' columns."""
        n = self.model.n
        count = 20 + 3 * self.base.rank // n
        rows = np.random.default_rng(0).uniform(-2.0, 2.0, (count, 3, n))
        rows[:, 0] = self.model.within_reach(self.model.home + rows[:, 0])
        known = self._base_columns(rows).reshape(count * n, -1)
        kept = []
        for j in range(n):
            constant = np.tile(np.eye(n)[j], count)
            rest = constant - known @ np.linalg.lstsq(known, constant, rcond=ROUNDING)[0]
            if np.linalg.norm(rest) > SEPARATE * np.linalg.norm(constant):
                kept.append(j)
                known = np.column_stack([known, constant])
        return np.array(kept, dtype=np.intp)

    def _base_columns(self, rows: Array) -> Array:
        unit = np.eye(self.model.n)
        full = np.concatenate([self._stack.regressors(rows), rows[:, 2, :, None] * unit], axis=-1)
        return np.asarray(full[..., self.base.indices])

    def evaluate(self, motion: Any) -> Array:
        """(k, n, r) for states (k, 3, n) with rows q, q', q''."""
        rows = as_array("motion", motion, (3, self.model.n), self.model.joint_names)
        columns = {
            "viscous": rows[:, 1],
            "coulomb": np.tanh(rows[:, 1] / self._speed),
            "offset": np.ones_like(rows[:, 1]),
        }
        unit = np.eye(self.model.n)
        others = [
            (columns[name][..., None] * unit)[..., joints] for name, joints in self.friction.items()
        ]
        return np.concatenate([self._base_columns(rows), *others], axis=-1)

    def pull_back(self, motion: Array, weights: Array) -> Array:
        """df/d(q, q', q'') (k, 3, n) of f with the derivatives df/dcolumns (k, n, r)."""
        n, rank, inertial = self.model.n, self.base.rank, 10 * self.model.body_count
        full = np.zeros((len(motion), n, inertial + n))
        full[..., self.base.indices] = weights[..., :rank]
        result = self._stack.gradient(motion, full[..., :inertial])
        own = np.arange(n)
        result[:, 2] += full[:, own, inertial + own]
        slopes = {
            "viscous": np.ones((len(motion), n)),
            "coulomb": (1.0 - np.tanh(motion[:, 1] / self._speed) ** 2) / self._speed,
        }
        for k, (name, slope) in enumerate(slopes.items()):
            if name in self.friction:
                at = rank + n * (k if "viscous" in self.friction else 0)
                result[:, 1] += slope * weights[:, own, at + own]
        return result


def information(columns: Array, noise: Array, rate: float, duration: float) -> Array:
    """M (r, r) of columns (k, n, r) at times equally spaced over `duration` seconds.

    noise : (n,) standard deviation of white noise of the torques, of samples at `rate` Hz.
    """
    weighted = (columns / noise[:, None]).reshape(-1, columns.shape[-1])
    return np.asarray(weighted.T @ weighted * (rate * duration / len(columns)))


class InformationCriterion(IndependentCopies):
    """A criterion of the information in a motion, smaller is better, and its gradient."""

    def __init__(
        self, columns: TorqueColumns, noise: Any, *, kind: Kind = "log_det", rate: float = 100.0
    ) -> None:
        if kind not in KINDS:
            raise InputError(f"criterion '{kind}': expected one of {', '.join(KINDS)}")
        n = columns.model.n
        self.columns, self.kind, self.rate = columns, kind, rate
        self.noise = as_array("noise", noise, (n,), columns.model.joint_names)
        if not (self.noise > 0.0).all():
            raise InputError(f"noise: expected positive numbers, got {self.noise}")

    def __call__(self, motion: Any, duration: float) -> tuple[float, Array]:
        """The criterion of states (k, 3, n), and its derivatives with respect to them.

        Infinite, with a gradient of zero, if the information matrix is singular.
        """
        rows = np.ascontiguousarray(motion)
        Y = self.columns.evaluate(rows)
        M = information(Y, self.noise, self.rate, duration)
        scale = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        if values[0] <= TINY:
            return np.inf, np.zeros_like(rows)
        if self.kind == "log_det":
            criterion = -float(np.log(values).sum() + 2.0 * np.log(scale).sum())
            inverse = (vectors / values) @ vectors.T
            slope = -inverse / np.outer(scale, scale)
        else:
            values, vectors = np.linalg.eigh(M)
            criterion = 0.5 * float(np.log(values[-1] / values[0]))
            first, last = vectors[:, 0], vectors[:, -1]
            slope = 0.5 * (np.outer(last, last) / values[-1] - np.outer(first, first) / values[0])
        weights = 2.0 * self.rate * duration / len(rows) * (Y @ slope) / self.noise[:, None] ** 2
        return criterion, self.columns.pull_back(rows, weights)
