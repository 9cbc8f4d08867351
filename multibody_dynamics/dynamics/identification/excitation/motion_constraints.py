# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The limits of a Fourier motion as smooth inequalities of its coefficients, with gradients.

All values of one quantity along the motion, as shares u_t of its limit, enter one inequality

    1 - (1/r) log sum_t exp(r u_t) >= 0

(G. Kreisselmeier, R. Steinhauser, "Systematic control design by optimizing a vector performance
index", IFAC 1979). The logarithmic term exceeds the greatest u_t by at most log(count) / r: the
inequality is on the safe side, and becomes tighter as the sharpness r grows. Positions, speeds and
accelerations are linear in the coefficients. Torques follow from the derivatives of the inverse
dynamics. Torque rates, and Q', Q'' in the flat map of elastic joints, are differences in time,
which are linear in Q; the flat map itself is differentiated by central differences, joint by joint.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...core import Array
from ...mechanisms import ClosedChainModel, loop_tangents
from ...rigid import inverse_dynamics, inverse_dynamics_derivatives
from .fourier_form import FourierForm
from .link_capsules import Clearances, box_excess, clearances
from .motion_limits import ExcitationLimits, middle_and_half

DISTANCE = 0.1  # m of clearance, which count as much as 100 % of another limit
STEP = 1e-6  # of the central differences of the flat map, relative
SPARSER = 2  # collisions are checked at every SPARSER-th sample


class Drives(NamedTuple):
    """Outputs (k, m) of the drives, and their derivatives (6, k, m) with respect to q, q', q'', Q,
    Q', Q''."""

    values: dict[str, Array]
    slopes: dict[str, Array]


class MotionConstraints:
    """Inequalities of the coefficients (size, n) of a Fourier motion; all positive: within limits.

    times (k,) : at which they hold, equally spaced.
    """

    def __init__(
        self, form: FourierForm, limits: ExcitationLimits, sharpness: float = 100.0
    ) -> None:
        self.limits, self.sharpness = limits, sharpness
        self.times = form.times(per_ramp=20 if limits.motors else 10)
        self.basis = form.basis(self.times)
        self._flat = self.basis[:3].reshape(-1, form.size)
        count, step = len(self.times), self.times[1]
        self._rate = _stencil((1.0, -8.0, 0.0, 8.0, -1.0), 12.0 * step, count)
        self._second = _stencil((-1.0, 16.0, -30.0, 16.0, -1.0), 12.0 * step**2, count)

    def motion(self, coefficients: Array) -> Array:
        """q ... q'''' (5, k, n) at `times`."""
        return np.asarray(self.basis @ coefficients)

    def evaluate(self, coefficients: Array) -> tuple[Array, Array]:
        """Values (c,) and their derivatives (c, size, n)."""
        rows = self.motion(coefficients)
        parts = [
            *self._linear(rows),
            *self._dependent(rows),
            *self._drives(rows),
            *self._distances(rows),
        ]
        return (
            np.concatenate([value for value, _ in parts]),
            np.concatenate([slope for _, slope in parts]),
        )

    def _linear(self, rows: Array) -> list[tuple[Array, Array]]:
        limits = self.limits
        middle, half = middle_and_half(np.stack([limits.lower, limits.upper], axis=1))
        parts = []
        for order, centre, width in (
            (0, middle, half),
            (1, 0.0, limits.velocity),
            (2, 0.0, limits.acceleration),
        ):
            used = np.flatnonzero(np.isfinite(width))
            value, weight = self._both_sides(((rows[order] - centre) / width)[:, used])
            slope = np.zeros((len(used), *self.basis.shape[2:], rows.shape[-1]))
            slope[np.arange(len(used)), :, used] = (-(self.basis[order].T @ weight) / width[used]).T
            parts.append((value, slope))
        return parts

    def _dependent(self, rows: Array) -> list[tuple[Array, Array]]:
        """Positions and speeds of the joints that the loops determine, and how steeply they follow
        the motors."""
        model = self.limits.model
        parts: list[tuple[Array, Array]] = []
        if not isinstance(model, ClosedChainModel):
            return parts
        tangents = loop_tangents(model, *rows[:3])
        own = model.system.passive_indices
        middle, half = middle_and_half(self.limits.dependent[:2].T)
        for order, centre, width in ((0, middle, half), (1, 0.0 * half, self.limits.dependent[2])):
            for j in np.flatnonzero(np.isfinite(width)).tolist():
                place = tangents.motion[order][:, [own[j]]] - centre[j]
                value, weight = self._both_sides(place / width[j])
                bars = np.zeros((len(place), 3, model.body_count))
                bars[:, order, own[j]] = -weight[:, 0] / width[j]
                slope = tangents.pulled_back(bars).swapaxes(0, 1).reshape(-1, model.n)
                parts.append((value, (self._flat.T @ slope)[None]))
        for j in own.tolist():
            ratio = tangents.G[0][:, j] / self.limits.steepest
            value, weight = self._both_sides(ratio.reshape(-1, 1))
            bars = -weight.reshape(ratio.shape) / self.limits.steepest
            slope = np.einsum("ki,kij->kj", bars, tangents.H[:, j])
            parts.append((value, (self.basis[0].T @ slope)[None]))
        return parts

    def _drives(self, rows: Array) -> list[tuple[Array, Array]]:
        limits, n = self.limits, self.limits.model.n
        own = np.arange(n)
        kinds = {"torque": (limits.torque, own), "rate": (limits.torque_rate, own)}
        if limits.motors is not None:
            motors, of = limits.motors, limits.motors.actuators.joint_of_motor
            kinds = {
                "joint": (limits.torque, own),
                "torque": (motors.torque, of),
                "rate": (motors.torque_rate, of),
                "speed": (motors.speed, of),
                "deflection": (middle_and_half(motors.travel)[1], of),
            }
        if not any(np.isfinite(limit).any() for limit, _ in kinds.values()):
            return []
        Q = inverse_dynamics(limits.model, *rows[:3]).tau
        slopes = np.stack(inverse_dynamics_derivatives(limits.model, *rows[:3]))
        found = self._outputs(rows, Q)
        parts = []
        for name, (limit, joints) in kinds.items():
            for m in np.flatnonzero(np.isfinite(limit)).tolist():
                value, weight = self._both_sides(found.values[name][:, [m]] / limit[m])
                bar = -weight[:, 0] / limit[m]
                if name == "rate":
                    bar = self._rate.T @ bar
                local = found.slopes[name][:, :, m] * bar
                slope = self._pulled_back(local, slopes[:, :, joints[m]], int(joints[m]))
                parts.append((value, slope[None]))
        return parts

    def _pulled_back(self, local: Array, slopes: Array, joint: int) -> Array:
        """The gradient (size, n) from the derivatives `local` (6, k) with respect to q, q', q'', Q,
        Q', Q'' of a joint.

        slopes : (3, k, n) derivatives of Q of this joint with respect to q, q', q''.
        """
        by_torque = local[3] + self._rate.T @ local[4] + self._second.T @ local[5]
        bars = by_torque[:, None] * slopes
        bars[:, :, joint] += local[:3]
        return np.asarray(self._flat.T @ bars.reshape(-1, bars.shape[-1]))

    def _outputs(self, rows: Array, Q: Array) -> Drives:
        limits = self.limits
        alone = np.zeros((6, *Q.shape))
        alone[3] = 1.0
        if limits.motors is None:
            effort, slope = Q, alone.copy()
            if limits.friction is not None:
                effort = Q + limits.friction.torque(rows[1])
                one = np.ones_like(Q)
                slope[1] = limits.friction.rates(rows[1], one, 0.0 * one)[0]
            values = {"torque": effort, "rate": self._rate @ effort}
            return Drives(values, {"torque": slope, "rate": slope})
        motion = np.stack([*rows[:3], Q, self._rate @ Q, self._second @ Q])
        motors = limits.motors

        def outputs(motion: Array) -> Array:
            turned = motion.swapaxes(0, 1)
            moved = motors.motor_motion(turned[:, :3], turned[:, 3:])
            return np.stack([moved.torque, moved.velocity, moved.deflection])

        effort, speed, deflection = outputs(motion)
        by = np.empty((6, 3, *effort.shape))
        for k in range(6):
            step = np.zeros_like(motion)
            step[k] = STEP * max(1.0, float(np.abs(motion[k]).max()))
            width = 2.0 * step[k, 0, 0]
            by[k] = (outputs(motion + step) - outputs(motion - step)) / width
        values = {
            "joint": Q,
            "torque": effort,
            "rate": self._rate @ effort,
            "speed": speed,
            "deflection": deflection - middle_and_half(motors.travel)[0],
        }
        by = by.swapaxes(0, 1)
        names = ("joint", "torque", "rate", "speed", "deflection")
        return Drives(values, dict(zip(names, (alone, by[0], by[0], by[1], by[2]), strict=True)))

    def _distances(self, rows: Array) -> list[tuple[Array, Array]]:
        limits = self.limits
        parts: list[tuple[Array, Array]] = []
        if limits.capsules is None:
            return parts
        q, basis = rows[0, ::SPARSER], self.basis[0, ::SPARSER]
        model, capsules = limits.model, limits.capsules
        if len(capsules.pairs):
            found = clearances(model, capsules, q)
            parts.append(self._kept(found, limits.clearance, basis, 1))
        if limits.box is not None and capsules.boxed.any():
            inside = box_excess(model, capsules, q, limits.box)
            parts.append(self._kept(inside, 0.0, basis, int(capsules.boxed.sum())))
        return parts

    def _kept(
        self, found: Clearances, least: float, basis: Array, together: int
    ) -> tuple[Array, Array]:
        """Distances (k, p) of at least `least`, one inequality for each `together` columns."""
        k, p = found.distance.shape
        share = 1.0 + (least - found.distance) / DISTANCE
        groups = share.reshape(k, p // together, together).swapaxes(1, 2).reshape(-1, p // together)
        value, weight = self._softly(groups)
        weight = weight.reshape(k, together, -1).swapaxes(1, 2).reshape(k, p)
        bars = weight[..., None] * found.slope / DISTANCE
        bars = bars.reshape(k, p // together, together, -1).sum(axis=2)
        slope = basis.T @ bars.reshape(k, -1)
        return value, slope.reshape(basis.shape[1], *bars.shape[1:]).swapaxes(0, 1)

    def _softly(self, shares: Array) -> tuple[Array, Array]:
        """1 minus the smooth maximum of each column of shares (k, m), (m,), and the weights
        (k, m)."""
        top = shares.max(axis=0)
        grown = np.exp(self.sharpness * (shares - top))
        total = grown.sum(axis=0)
        return 1.0 - top - np.log(total) / self.sharpness, grown / total

    def _both_sides(self, shares: Array) -> tuple[Array, Array]:
        value, weight = self._softly(np.concatenate([shares, -shares]))
        upper, lower = np.split(weight, 2)
        return value, upper - lower


def _stencil(weights: tuple[float, ...], divisor: float, count: int) -> sparse.csr_array:
    """Differences (k, k) in time, of values that stay constant before the start and the end."""
    rows = np.repeat(np.arange(count), len(weights))
    offsets = np.arange(len(weights)) - len(weights) // 2
    columns = np.clip(np.arange(count)[:, None] + offsets, 0, count - 1).ravel()
    values = np.tile(np.asarray(weights) / divisor, count)
    return sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=(count, count)))
