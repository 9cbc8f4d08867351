# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Whether a controller is stable throughout the joint range: its sampled loop at many poses.

The inertia behind a spring changes with the pose, and so does the resonance that a delayed torque
has to damp. `judge_loop` evaluates the sampled loop (:mod:`loop_sampling`) at the design pose and
at a deterministic sequence of poses that fills the joint range evenly, for each pose with the
robot's parameters at a different corner of a given box of errors. Unless the base is said to be
rigid, some poses are also judged on a light base on springs, which turns the torques of the arm
into accelerations of its links, and with a joint that has lost a share of its stiffness, as with a
backlash. There, a law that notices oscillations is judged as it is after that, which must be stable
on a rigid base, too. A law whose gains follow the pose is judged with the gains that it has at each
pose, and one whose stiffness may change while it runs with a different stiffness at each pose
(:meth:`.Controller.vary`).

The poses are those of the additive recurrence p_k = frac(1/2 + k a), a_i = g^-i, where g is the
positive root of g^(n+1) = g + 1: the generalised golden ratio (M. Roberts, "The unreasonable
effectiveness of quasirandom sequences", 2018).
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Array, IndependentCopies, InputError, NoSolutionError, OverloadError, as_array
from ...elastic_arm import SoftBase
from ...model import MultibodyModel
from ..controllers.controllers import Controller
from ..observers.state_estimation import StateEstimation
from .lag_limit import lag_limit
from .loop_sampling import RestingPlants, RobotErrors, SampledLoop, sampled_loop

POSES = 100
TURN = np.pi  # rad or m: range of a joint without limits, on either side of zero
SOFT = 6  # of so many poses, one is judged on a soft base as well
FREQUENCIES = np.array((1.0, 1.4, 2.0, 2.8, 4.0, 6.0))  # of soft bases, relative to the lowest
WITHIN_GAP = 0.7  # of the stiffness of a joint, averaged over an oscillation through a backlash
LIGHT_BASE = 0.2, 0.005  # own inertia relative to the arm's, and damping ratio
MARGINAL = 1e-6  # 1/s; any growth below this is rounding error


def spread_poses(model: MultibodyModel, count: int = POSES) -> Array:
    """(count, n) positions that fill the joint limits evenly, always the same; fewer where loops do
    not allow them all."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / (model.n + 1))
    steps = ratio ** -np.arange(1.0, model.n + 1)
    shares = (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0
    lower, upper = _range(model)
    poses = np.asarray(lower + shares * np.maximum(upper - lower, 0.0))
    return poses[model.reaches(poses)]


def middle_of_range(model: MultibodyModel) -> Array:
    """(n,) the position in the middle of the joint range."""
    lower, upper = _range(model)
    return np.asarray(0.5 * (lower + upper))


def _range(model: MultibodyModel) -> tuple[Array, Array]:
    return np.maximum(model.limits.lower, -TURN), np.minimum(model.limits.upper, TURN)


@dataclass(frozen=True, eq=False)
class LoopJudgement:
    """Stability of a controller at many poses.

    Attributes
    ----------
    poses : (p, n); the first is the design pose.
    growth : (p,) rate in 1/s of the slowest decay (negative) or the fastest growth at each pose;
        NaN where it is not judged (:meth:`LoopJudge.loops`).
    growth_at_design : the same at the design pose with an exact model, 1/s.
    delay, model_error, base_frequency : conditions for which the loop was judged.
    pole, joint : at the worst pose, the pole in 1/s with the largest growth, and the joint that
        moves most in its mode.
    lag_limit : frequency in rad/s above which motors excite what they should damp, see
        :mod:`lag_limit`.
    """

    poses: Array
    growth: Array
    growth_at_design: float
    delay: float
    model_error: float
    pole: complex
    joint: str
    lag_limit: float = np.inf
    base_frequency: float = 0.0

    @property
    def is_late(self) -> bool:
        """Whether the arm is unstable because filter and delay let the torques come too late for
        the worst oscillation: a faster filter or less delay helps; lower gains hardly do."""
        return bool(self.is_unstable.any()) and self.pole.imag > self.lag_limit

    @property
    def is_unstable(self) -> NDArray[np.bool_]:
        """(p,) whether each pose is unstable."""
        return np.asarray(self.growth > MARGINAL)

    @property
    def is_unstable_at_design(self) -> bool:
        """Whether the loop is unstable at the design pose even with an exact model."""
        return self.growth_at_design > MARGINAL

    @property
    def unstable_share(self) -> float:
        """Share, 0 to 1, of unstable poses among those at which the springs carry the arm."""
        judged = np.isfinite(self.growth)
        return float(self.is_unstable.sum() / max(int(judged.sum()), 1))

    @property
    def worst_pose(self) -> Array:
        """(n,) the pose with the fastest growth or the slowest decay."""
        return np.asarray(self.poses[int(np.nanargmax(self.growth))])

    def __str__(self) -> str:
        judged = int(np.isfinite(self.growth).sum())
        count = int(self.is_unstable.sum())
        pose = ", ".join(f"{x:.2f}" for x in self.worst_pose)
        verdict = f"unstable at {count} of {judged} poses" if count else f"stable at {judged} poses"
        if self.is_unstable_at_design:
            verdict += ", including the design position"
        off = f" and parameter errors of {100.0 * self.model_error:g} %" if self.model_error else ""
        if self.base_frequency:
            off += f", also on bases from {self.base_frequency:g} Hz on (base_frequency)"
        late = ""
        if self.is_late:
            late = (
                f"; filter and delay make the motors excite oscillations faster than "
                f"{self.lag_limit:.0f} rad/s: a faster filter or less delay helps"
            )
        return (
            f"{verdict}, with a delay of {1e3 * self.delay:g} ms{off}; worst: pole "
            f"{self.pole.real:.3g} +- {self.pole.imag:.3g}i 1/s, joint '{self.joint}', at [{pose}]"
            f"{late}"
        )


def judge_loop(
    controller: Controller,
    design: Any,
    *,
    delay: float = 0.0,
    estimation: StateEstimation | None = None,
    model_error: float = 0.0,
    poses: Any = POSES,
    base_frequency: float = 0.0,
) -> LoopJudgement:
    """Judge the sampled loop at the design pose and at many others; 100 poses of seven joints take
    about two seconds.

    Parameters
    ----------
    controller, delay, estimation : see :func:`.sampled_loop`.
    design : (n,) pose for which the gains were designed.
    model_error : relative error of every inertia, stiffness, rotor and friction of the robot, with
        signs that differ from pose to pose; the design pose is judged without error, too.
    poses : how many (:func:`spread_poses`), or the poses (p, n) themselves.
    base_frequency : Hz; every SOFT-th pose is judged on a soft base, too, of one of the
        frequencies from this one up to FREQUENCIES, and with one joint that has lost a share
        of its stiffness, as with backlash; 0: neither, and a rigid base.

    Raises InputError where :func:`.sampled_loop` does for the design pose, and for a model_error
    that is not from 0 to less than 1.
    """
    return LoopJudge(
        controller,
        design,
        delay=delay,
        estimation=estimation,
        model_error=model_error,
        poses=poses,
        base_frequency=base_frequency,
    ).judge(controller)


class LoopJudge(IndependentCopies):
    """The poses and errors of :func:`judge_loop`, for several controllers of one robot.

    The arguments are those of that function; of `controller`, only the robot and the period are
    used. `plants` : of this robot, shared by several judges. `poses` (p, n): the first is the
    design pose.
    """

    def __init__(
        self,
        controller: Controller,
        design: Any,
        *,
        delay: float = 0.0,
        estimation: StateEstimation | None = None,
        model_error: float = 0.0,
        poses: Any = POSES,
        plants: RestingPlants | None = None,
        base_frequency: float = 0.0,
    ) -> None:
        if not 0.0 <= model_error < 1.0:
            raise InputError(f"model_error is {model_error}: must be from 0 to less than 1")
        model = controller.model
        first = as_array("design", design, (model.n,), model.joint_names)
        if np.ndim(poses) == 0:
            others = spread_poses(model, int(poses))
        else:
            others = as_array("poses", poses, (model.n,), model.joint_names)
        self.poses: Array = np.vstack((first, others.reshape(-1, model.n)))
        self.delay, self.model_error, self.estimation = delay, model_error, estimation
        self.lag_limit = lag_limit(estimation, delay, controller.period)
        self._plants = plants or RestingPlants()
        self._base_frequency = base_frequency

    def exact(self, controller: Controller) -> SampledLoop:
        """The loop at the design pose with an exact model."""
        controller.vary(0)
        controller.lowerings = 0
        return self._sampled(controller, 0, None)

    def loops(self, controller: Controller, k: int) -> Iterator[SampledLoop]:
        """The loops at pose k with the parameter errors of that pose: on a rigid base and, at every
        SOFT-th pose, on a soft one, and with a joint that has lost a share of its stiffness. None
        where the springs cannot carry the arm, or gains that follow the pose have no solution, so
        that the law keeps its last ones."""
        size, actuators = self.model_error, controller.actuators
        controller.vary(k)
        errors = RobotErrors.corner(actuators, size, k) if size else RobotErrors()
        cases: list[tuple[RobotErrors, SoftBase | None]] = []
        if size or k:  # otherwise, this is the exact loop
            cases = [(errors, None)]
        slow: list[tuple[RobotErrors, SoftBase | None]] = []
        if self._base_frequency and k % SOFT == 0:
            ratios = FREQUENCIES if k == 0 else FREQUENCIES[k // SOFT % len(FREQUENCIES)][None]
            bases = (SoftBase(f, *LIGHT_BASE) for f in self._base_frequency * ratios)
            slow += [(errors, base) for base in bases]
            springs = np.ones(actuators.n) + errors.springs
            springs[k // SOFT % actuators.n] *= WITHIN_GAP
            slow += [(errors, None), (replace(errors, springs=springs - 1.0), None)]
        for lowerings, each in enumerate((cases, slow)):
            for case in each:
                controller.lowerings = lowerings
                with suppress(OverloadError, NoSolutionError):
                    yield self._sampled(controller, k, *case)
        controller.lowerings = 0

    def _sampled(
        self,
        controller: Controller,
        k: int,
        errors: RobotErrors | None,
        base: SoftBase | None = None,
    ) -> SampledLoop:
        return sampled_loop(
            controller,
            self.poses[k],
            delay=self.delay,
            estimation=self.estimation,
            errors=errors,
            plants=self._plants,
            base=base,
        )

    def unstable_pose(
        self, controller: Controller, order: Sequence[int] = (), above: float = 0.0
    ) -> int | None:
        """The first pose with an unstable loop, or None; `order` are the poses to begin with.

        above : rad/s; slower oscillations do not count.
        """
        if self.exact(controller).growth_above(above) > MARGINAL:
            return 0
        for k in dict.fromkeys((*order, *range(len(self.poses)))):
            if any(each.growth_above(above) > MARGINAL for each in self.loops(controller, k)):
                return k
        return None

    def judge(self, controller: Controller) -> LoopJudgement:
        """The judgement at all poses."""
        exact = self.exact(controller)
        growth = np.full(len(self.poses), np.nan)
        growth[0], worst = exact.growth, exact
        for k in range(len(self.poses)):
            for loop in self.loops(controller, k):
                growth[k] = np.fmax(growth[k], loop.growth)
                if loop.growth > worst.growth:
                    worst = loop
        return LoopJudgement(
            self.poses,
            growth,
            exact.growth,
            self.delay,
            self.model_error,
            *worst.worst(),
            self.lag_limit,
            self._base_frequency,
        )
