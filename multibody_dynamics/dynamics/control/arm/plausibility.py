# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Whether the measured positions of an arm at rest agree with its model.

At rest, springs carry the links: Q(q, theta) = g(q) - J^T W, whatever friction holds the motors.
Two rules find what is wired, named, scaled or configured wrongly:

1. The misfit Q - g of no joint exceeds an external torque as large as its torque limit, plus
   CALIBRATION rad between the zeros of its two encoders. A rigid joint is within RIGID rad of its
   motor. Payloads, supports and contacts that the motors can hold stay below that, and so do stops
   that carry the arm, on which its springs are relaxed.
2. If more than twice NOTICED rad of a deflection are unexplained, no exchange explains the springs
   CLEARLY better: of links and motors, which only a load that lifts every link with about twice its
   weight could imitate, or of two joints, which must then explain every spring within EXACT of its
   load. Misfits are weighed by the gravity torque of their joint.

An arm that moves needs other torques; then the first rule alone applies, with MOVING times the
torque. Joints without torque limit may be loaded by GREATEST times their largest gravity torque, or
bend by UNLIMITED rad.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, compiled_exactly, inlined_exactly
from ...elastic import Actuators, SpringSolver, resting_second_outputs
from ...model import MultibodyModel
from ...rigid import InverseDynamicsSolver, gravity_forces
from ..stability.loop_judgement import spread_poses

CALIBRATION = 0.005  # rad or m, between the zeros of the encoders of a link and its motor
RIGID = 0.05  # rad or m, backlash and compliance of a joint that is called rigid
NOTICED = 0.002  # rad or m
CLEARLY = 36.0  # times the sum of squares
EXACT = 0.05
GREATEST = 5.0
MOVING = 3.0
UNLIMITED = 0.1  # rad or m
LEAST = 1e-3  # N m or N
POSES = 200
DEGREE = pi / 180.0


@inlined_exactly
def spring_misfit(is_rigid, first_motor, q, theta, springs, weight, felt, allowed, misfit):
    """The unexplained torque of each joint as a share of what is allowed; of a rigid joint, the
    distance from its motor."""
    for i in range(q.shape[0]):
        if is_rigid[i]:
            misfit[i] = (theta[first_motor[i]] - q[i]) / RIGID
        else:
            misfit[i] = (springs[i] - weight[i]) / (allowed[i] + CALIBRATION * abs(felt[i]))


@inlined_exactly
def largest_misfit(misfit):
    """The joint with the largest one."""
    worst = 0
    for i in range(misfit.shape[0]):
        if not abs(misfit[i]) <= abs(misfit[worst]):
            worst = i
    return worst


@inlined_exactly
def weighed_misfit(is_rigid, springs, weight, scale):
    """The sum of squares of the unexplained torques over those of `scale`."""
    total = 0.0
    for i in range(springs.shape[0]):
        if not is_rigid[i]:
            total += ((springs[i] - weight[i]) / scale[i]) * ((springs[i] - weight[i]) / scale[i])
    return total


@inlined_exactly
def misfit_scale(is_rigid, springs, weight, felt, scale):
    """Set the `scale` of misfits; returns whether one of them is worth an explanation."""
    is_noticed = False
    for i in range(springs.shape[0]):
        noise = NOTICED * abs(felt[i])
        scale[i] = 1.0 if is_rigid[i] else abs(weight[i]) + noise
        if not is_rigid[i] and not abs(springs[i] - weight[i]) <= 2.0 * noise:
            is_noticed = True
    return is_noticed


@inlined_exactly
def explains_springs(is_rigid, springs, weight, felt):
    """Whether the springs carry the links, each within EXACT of its load, and at least two of them
    carry more than noise."""
    loaded = 0
    for i in range(springs.shape[0]):
        if not is_rigid[i]:
            noise = NOTICED * abs(felt[i])
            if not abs(springs[i] - weight[i]) <= EXACT * abs(weight[i]) + 0.5 * noise:
                return False
            if abs(weight[i]) > 2.0 * noise:
                loaded += 1
    return loaded >= 2


_MISFIT = compiled_exactly(spring_misfit)
_WEIGHED = compiled_exactly(weighed_misfit)
_SCALE = compiled_exactly(misfit_scale)
_EXPLAINS = compiled_exactly(explains_springs)


def external_loads(model: MultibodyModel, actuators: Actuators) -> Array:
    """(n,) N m or N, the largest external torque on each joint at rest that is believed."""
    limit = actuators.joint_torque_limit_within(model.limits.effort)
    weight = np.abs(gravity_forces(model, spread_poses(model, POSES))).max(axis=0)
    still = np.zeros(model.n), np.zeros(len(actuators.motors))
    springs = _springs(actuators)
    springs.q[:], springs.theta[:] = still
    springs.update()
    bent = UNLIMITED * np.abs(springs.stiffness_felt)
    other = np.maximum(GREATEST * weight, np.where(actuators.is_rigid, 0.0, bent))
    return np.maximum(weight, np.where(np.isfinite(limit), limit, np.maximum(other, LEAST)))


def softest_outputs(actuators: Actuators) -> Array:
    """(v,) second outputs; the softest ones where no motor sets them, because only what is measured
    can be judged."""
    softest = resting_second_outputs(actuators)
    for _, actuator, _, second in actuators.each():
        if actuator.input_range is not None:
            softest[second] = actuator.input_range[0]
    return softest


def _springs(actuators: Actuators) -> SpringSolver:
    springs = SpringSolver(actuators)
    springs.stiffness[0] = softest_outputs(actuators)
    return springs


class Implausible(NamedTuple):
    """Why positions at rest are not believed: the joint with the largest misfit, how much of its
    torque (N m or N; rad or m for a rigid joint) the model does not explain, how much is allowed,
    and the likely cause."""

    joint: str
    misfit: float
    allowed: float
    is_rigid: bool
    cause: str

    def __str__(self) -> str:
        if self.is_rigid:
            text = f"'{self.joint}' is rigid, but {self.misfit:.4g} from its motor"
        else:
            text = (
                f"the spring of '{self.joint}' carries {self.misfit:.4g} (N m or N) that gravity"
                " does not explain"
            )
        return f"{text}; allowed: {self.allowed:.4g}. Likely cause: {self.cause}"


class RestingArm:
    """What springs carry at rest, and whether that agrees with the model.

    allowed : (n,) N m or N, external torques that are believed; see :func:`external_loads`.
    """

    def __init__(self, model: MultibodyModel, actuators: Actuators) -> None:
        self.model, self.actuators = model, actuators
        self.allowed = external_loads(model, actuators)
        self.misfit: Array = np.zeros(model.n)
        self._springs = _springs(actuators)
        self._weight = InverseDynamicsSolver(model, "body")
        self._scale: Array = np.ones(model.n)
        still = np.zeros(model.n)
        self.judge(still, np.zeros(len(actuators.motors)))  # compiles
        self._exchange(np.ones(model.n), np.zeros(len(actuators.motors)))

    def judge(
        self, q: Array, theta: Array, allowed: Array | None = None, *, moves: bool = False
    ) -> Implausible | None:
        """What is implausible about links (n,) and motors (m,) at rest there, if external torques
        within `allowed` (n,) are believed, those of the attribute by default; or about an arm that
        `moves`."""
        allowed = self.allowed if allowed is None else allowed
        is_clear = not abs(self._worst(q, theta, allowed)[1]) <= (MOVING if moves else 1.0)
        if moves and not is_clear:
            return None
        cause = self._cause(q, theta, allowed) if is_clear else self._exchange(q, theta)
        if not cause:
            return None
        worst, excess = self._worst(q, theta, allowed)
        share = self._allowed(worst, allowed)
        rigid = bool(self.actuators.is_rigid[worst])
        name = self.model.joint_names[worst]
        return Implausible(name, excess * share, share, rigid, cause)

    def agrees(self, q: Array, theta: Array, allowed: Array) -> int:
        """Whether the springs between links (n,) and motors (m,) carry gravity and external torques
        within `allowed` (n,): 1 or 0; -1 if that is not judged, because all of these are
        infinite."""
        if np.isinf(allowed).all():
            return -1
        return int(abs(self._worst(q, theta, allowed)[1]) <= 1.0)

    def balance(self, q: Array, theta: Array, second: Array) -> Array:
        """(m,) motor torques that balance the springs at rest there, with second outputs (v,)."""
        springs = SpringSolver(self.actuators, q=q.copy(), theta=theta.copy())
        springs.stiffness[0] = second
        springs.update()
        weight = self._gravity(q)[self.actuators.joint_of_motor]
        return np.where(
            self.actuators.is_rigid[self.actuators.joint_of_motor], weight, springs.load
        )

    def _allowed(self, joint: int, allowed: Array) -> float:
        felt = abs(float(self._springs.stiffness_felt[joint]))
        if self.actuators.is_rigid[joint]:
            return RIGID
        return float(allowed[joint]) + CALIBRATION * felt

    def _gravity(self, q: Array) -> Array:
        self._weight.state[0] = q
        self._weight.update()
        return self._weight.result[0]

    def _load(self, q: Array, theta: Array) -> tuple[Array, Array]:
        """Torques of the springs, and those of gravity."""
        self._springs.q[:], self._springs.theta[:] = q, theta
        self._springs.update()
        return self._springs.torque, self._gravity(q)

    def _worst(self, q: Array, theta: Array, allowed: Array) -> tuple[int, float]:
        a, springs = self.actuators, self._springs
        torque, weight = self._load(q, theta)
        own = torque, weight, springs.stiffness_felt, allowed, self.misfit
        _MISFIT(a.is_rigid, a.first_motor, q, theta, *own)
        worst = largest_misfit(self.misfit)
        return worst, float(self.misfit[worst])

    def _total(self, q: Array, theta: Array) -> float:
        """The misfit in the scale of the states as they are."""
        return float(_WEIGHED(self.actuators.is_rigid, *self._load(q, theta), self._scale))

    def _exchange(self, q: Array, theta: Array) -> str:
        """The exchange that explains the springs clearly better; empty if there is none."""
        torque, weight = self._load(q, theta)
        own = torque, weight, self._springs.stiffness_felt, self._scale
        if not _SCALE(self.actuators.is_rigid, *own):
            return ""
        best, found = self._total(q, theta) / CLEARLY, ""
        for cause, links, motors in self._exchanges(q, theta):
            total = self._total(links, motors)
            if total < best and (links is theta or self._is_exact()):
                best, found = total, cause
        return found

    def _is_exact(self) -> bool:
        springs, weight = self._springs, self._weight.result[0]
        own = springs.torque, weight, springs.stiffness_felt
        return bool(_EXPLAINS(self.actuators.is_rigid, *own))

    def _exchanges(self, q: Array, theta: Array) -> Iterator[tuple[str, Array, Array]]:
        """Causes that leave every number as it is, and the states without them."""
        names, a = self.model.joint_names, self.actuators
        if len(theta) == len(q):
            yield "joint_states and motor_states are exchanged", theta, q
        single = np.flatnonzero(np.bincount(a.joint_of_motor, minlength=len(q)) == 1).tolist()
        for k, i in enumerate(single):
            for j in single[k + 1 :]:
                links, motors = _swapped(q, i, j), _swapped(theta, *a.first_motor[[i, j]])
                pair = f"'{names[i]}' and '{names[j]}' are exchanged"
                yield pair, links, motors

    # Explanations of what has been refused

    def _cause(self, q: Array, theta: Array, allowed: Array) -> str:
        """What explains the states: one mistake, else one for each joint that disagrees. The likely
        ones come first; others must be clearly better."""
        self._worst(q, theta, allowed)
        wrong = np.flatnonzero(~(np.abs(self.misfit) <= 1.0)).tolist()
        best, found = np.inf, ""
        for cause, links, motors in self._mistakes(q, theta, wrong):
            excess = self._worst(links, motors, allowed)[1]
            total = float((self.misfit**2).sum())
            if abs(excess) <= 1.0 and total < best / 4.0 - 1e-4:
                best, found = total, cause
        return found or self._stiffness(q, theta) or self._causes_by_joint(q, theta, wrong, allowed)

    def _stiffness(self, q: Array, theta: Array) -> str:
        """Whether springs that are all stiffer or softer by one factor would carry the arm."""
        torque, weight = (row[~self.actuators.is_rigid] for row in self._load(q, theta))
        work = float(torque @ weight)
        ratio = float(weight @ weight) / work if work > 0.0 else 0.0
        if ratio > 0.01 and np.linalg.norm(ratio * torque - weight) < 0.2 * np.linalg.norm(weight):
            return f"springs of another robot; {ratio:.3g} times this stiffness would fit"
        return ""

    def _causes_by_joint(self, q: Array, theta: Array, wrong: list[int], allowed: Array) -> str:
        found, motors = [], theta
        for i in wrong:
            best, cause, better = 1.0, "", motors
            for text, trial in self._mistakes_of_joint(motors, q, i):
                self._worst(q, trial, allowed)
                if abs(self.misfit[i]) < best / 2.0 - 1e-2:
                    best, cause, better = abs(self.misfit[i]), text, trial
            motors = better
            found += [cause] if cause else []
        if found and abs(self._worst(q, motors, allowed)[1]) <= 1.0:
            return "; ".join(found)
        return "names, signs, units or gear ratios of the states, or the springs of another robot"

    def _mistakes(
        self, q: Array, theta: Array, wrong: list[int]
    ) -> Iterator[tuple[str, Array, Array]]:
        """Single mistakes, and the states without them."""
        names, a = self.model.joint_names, self.actuators
        yield from self._exchanges(q, theta)
        for text, motors in self._mistakes_of_motors(theta, np.full(len(theta), True)):
            yield text, q, motors
        yield "joint_states are in degrees", q * DEGREE, theta
        yield "joint_states have the opposite sign", -q, theta
        for k, i in enumerate(wrong):
            for j in wrong[k + 1 :]:
                pair = f"'{names[i]}' and '{names[j]}' are exchanged in"
                yield f"{pair} joint_states", _swapped(q, i, j), theta
                if len(theta) == len(q):
                    yield f"{pair} motor_states", q, _swapped(theta, *a.first_motor[[i, j]])
            for text, motors in self._mistakes_of_joint(theta, q, i):
                yield text, q, motors
            for factor, what in ((DEGREE, "in degrees"), (-1.0, "of the opposite sign")):
                links = q.copy()
                links[i] *= factor
                yield f"'{names[i]}' in joint_states is {what}", links, theta

    def _mistakes_of_joint(self, theta: Array, q: Array, i: int) -> Iterator[tuple[str, Array]]:
        """Mistakes of the motors of joint i, and the positions without them."""
        mine = self.actuators.joint_of_motor == i
        for j in np.flatnonzero(mine):
            yield from self._mistakes_of_motors(theta, np.arange(len(theta)) == j)
        if mine.sum() > 1:
            yield from self._mistakes_of_motors(theta, mine)
            return
        (name,) = (self.actuators.motor_names[j] for j in np.flatnonzero(mine))
        if turns := round(float(theta[mine][0] - q[i]) / (2.0 * pi)):
            moved = np.where(mine, theta - 2.0 * pi * turns, theta)
            yield f"'{name}' in motor_states is {turns} turns too far", moved
        if abs(q[i]) > RIGID:
            text = f"{float(theta[mine][0]) / q[i]:.4g} times the position of its link"
            yield f"'{name}' in motor_states is {text} (gear, unit)", np.where(mine, q[i], theta)

    def _mistakes_of_motors(
        self, theta: Array, mine: NDArray[np.bool_]
    ) -> Iterator[tuple[str, Array]]:
        """Mistakes of some motors, and the positions without them."""
        names, ratio = self.actuators.motor_names, self.actuators.gear_ratio
        which = ", ".join(f"'{names[j]}'" for j in np.flatnonzero(mine))
        what = "motor_states" if mine.all() and len(mine) > 1 else f"{which} in motor_states"
        for factor, text in (
            (np.full_like(theta, DEGREE), "in degrees"),
            (np.full_like(theta, -1.0), "with the opposite sign"),
            (1.0 / ratio, "on the motor side of the gear instead of the link side"),
            (ratio, "divided by the gear ratio twice"),
            (DEGREE / ratio, "in degrees on the motor side of the gear"),
        ):
            yield f"{what}: {text}", np.where(mine, theta * factor, theta)


def _swapped(row: Array, i: int, j: int) -> Array:
    swapped = row.copy()
    swapped[[i, j]] = row[[j, i]]
    return swapped
