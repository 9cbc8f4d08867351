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
3. What sets the stiffness of a joint is within its range, whatever loads the arm: the distance of
   two antagonists within the travel of both springs, or SLACK of it below, as when a hand has moved
   the arm; a stiffness drive between no stiffness and twice as far above the least as the greatest.
   CALIBRATION and BEYOND of the range are allowed.

An arm that moves needs other torques; then the second rule does not apply, and MOVING times as much
is allowed. Joints without torque limit may be loaded by GREATEST times their largest gravity
torque, or bend by UNLIMITED rad.
"""

from collections.abc import Iterator
from enum import IntEnum
from itertools import combinations
from math import inf, pi
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, Field, IndependentCopies, Integers, record_fields
from ...elastic import (
    Actuators,
    SpringSolver,
    actuator_rows,
    motor_motion,
    resting_second_outputs,
)
from ...elastic.flat_map import compiled_springs
from ...model import MultibodyModel
from ...rigid import gravity_forces, inverse_solver
from ..records.actuation import actuation
from ..signals.encoder_steps import (
    RELAY,
    EncoderSteps,
    coarse_encoder,
    coarsest_encoder,
    of_encoder,
)
from ..stability.loop_judgement import spread_poses

CALIBRATION = 0.005  # rad or m, between the zeros of the encoders of a link and its motor
BEYOND = 0.05  # of the range of what sets a stiffness, besides CALIBRATION
SLACK = 0.1  # of the travel of antagonists; more would hide that they are exchanged
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


class Mistake(IntEnum):
    """The likely cause of positions that are not believed."""

    NONE = 0
    UNEXPLAINED_LOAD = 1
    EXCHANGED_SIDES = 2
    EXCHANGED_JOINTS = 3
    COARSE_ENCODER = 4
    OUT_OF_RANGE = 5


UNEXPLAINED_LOAD, EXCHANGED_SIDES, EXCHANGED_JOINTS, COARSE_ENCODER, OUT_OF_RANGE = map(
    int, list(Mistake)[1:]
)
MISTAKES = (
    "none",
    "the spring of a joint carries an unexplained load, or a rigid joint is far from its motor",
    "links and motors are exchanged",
    "two joints are exchanged",
    "an encoder is too coarse for the gains",
    "the distance of two antagonists, or the drive that sets a stiffness, is out of its range",
)
"""What each mistake is."""


class Refusal(NamedTuple):
    """Why positions cannot be those of this arm at rest."""

    mistake: Annotated[Integers, Field("the likely cause, or none")]
    joint: Annotated[Integers, Field("the one with the misfit")]
    other: Annotated[Integers, Field("the one that it is exchanged with")]
    misfit: Annotated[Array, Field("N m or N; rad or m of a rigid joint, an encoder or a range")]
    allowed: Annotated[Array, Field("of the misfit")]


class RestingSprings(NamedTuple):
    """The springs and the weight of an arm at rest."""

    # fmt: off
    torque: Annotated[Array, Field("N m or N, of the springs", ("n",))]
    rate: Annotated[Array, Field("N m/s or N/s; the arm is at rest", ("n",))]
    K: Annotated[Array, Field("N m/rad or N/m, their stiffness", ("n",))]
    load: Annotated[Array, Field("N m or N, of the motors", ("m",))]
    deflection: Annotated[Array, Field("rad or m", ("m",))]
    weight: Annotated[Array, Field("N m or N, of gravity", ("n",))]
    misfit: Annotated[Array, Field("unexplained torques as a share of those allowed", ("n",))]
    scale: Annotated[Array, Field("N m or N, of the torques that an exchange explains", ("n",))]
    softest: Annotated[Array, Field("second outputs; only what is measured is judged", (3, "v"))]
    settings: Annotated[Array, Field("rad or m, see `stiffness_settings`", ("n", 2))]
    still: Annotated[Array, Field("rad/s or m/s, zeros", ("n",))]
    motors_still: Annotated[Array, Field("rad/s or m/s, zeros", ("m",))]
    links: Annotated[Array, Field("rad or m, exchanged positions", ("n",))]
    motors: Annotated[Array, Field("rad or m, of the motors", ("m",))]
    # fmt: on


# What follows runs a few times in all: Python does not compile it, and C prints it. `arm` is the
# RestingArm, of which C needs nothing.


def spring_torques(arm, q, qd, theta, thetad, second, torque, rate, K, load, deflection):
    """In C, that of the actuators."""
    compiled_springs(
        *arm.rows, None, q, qd, theta, thetad, second, torque, rate, K, load, deflection
    )


def weigh_links(arm, q, weight):
    """In C, the gravity torques of the model."""
    arm.gravity.state[0] = q
    arm.gravity.update()
    weight[:] = arm.gravity.result[0]


def load_springs(arm, s, q, theta, second):
    """What the springs carry with links and motors at rest there, and what the links weigh."""
    spring_torques(
        arm, q, s.still, theta, s.motors_still, second, s.torque, s.rate, s.K, s.load,
        s.deflection,
    )  # fmt: skip
    weigh_links(arm, q, s.weight)


def excess_of_setting(a, s, theta, i):
    """rad or m, how far what sets the stiffness of joint i is beyond its range: the distance
    between two antagonists, or the second motor."""
    if a.has_one_motor[i]:
        return 0.0
    j = a.first_motor[i] + 1
    setting = theta[j - 1] - theta[j] if a.torque_share[j] > 0.0 else theta[j]
    return max(max(s.settings[i, 0] - setting, setting - s.settings[i, 1]), 0.0)


def allowed_excess(s, i):
    """rad or m, how far beyond its range what sets the stiffness of joint i may be."""
    return CALIBRATION + BEYOND * (s.settings[i, 1] - s.settings[i, 0])


def spring_misfit(a, s, q, theta, allowed):
    """The unexplained torque of each joint as a share of what is allowed; of a rigid joint, the
    distance from its motor; of a joint whose stiffness cannot be set like that, by how much."""
    for i in range(q.shape[0]):
        if a.is_rigid[i]:
            s.misfit[i] = (theta[a.first_motor[i]] - q[i]) / RIGID
        else:
            s.misfit[i] = (s.torque[i] - s.weight[i]) / (allowed[i] + CALIBRATION * abs(s.K[i]))
        excess = excess_of_setting(a, s, theta, i) / allowed_excess(s, i)
        if excess > abs(s.misfit[i]):
            s.misfit[i] = excess


def worst_joint(a, arm, s, q, theta, allowed):
    """The joint with the largest misfit; -1 if none is judged, because all of `allowed` are
    infinite."""
    is_judged = False
    worst = 0
    load_springs(arm, s, q, theta, s.softest)
    spring_misfit(a, s, q, theta, allowed)
    for i in range(q.shape[0]):
        is_judged = is_judged or allowed[i] < inf
        if not abs(s.misfit[i]) <= abs(s.misfit[worst]):
            worst = i
    return worst if is_judged else -1


def springs_agree(a, arm, s, q, theta, allowed):
    """Whether the springs between links and motors carry gravity and external torques within
    `allowed`: 1 or 0; -1 if that is not judged, because all of these are infinite."""
    worst = worst_joint(a, arm, s, q, theta, allowed)
    if worst < 0:
        return -1
    return 1 if abs(s.misfit[worst]) <= 1.0 else 0


def balance_springs(a, arm, s, q, theta, second, limit, torque):
    """Write the motor torques that balance the springs at rest there, within their limits."""
    load_springs(arm, s, q, theta, second)
    for j in range(theta.shape[0]):
        i = a.joint_of_motor[j]
        own = s.weight[i] if a.is_rigid[i] else s.load[j]
        torque[j] = min(max(own, -limit[j]), limit[j])


def misfit_scale(a, s):
    """Set the scale of misfits; returns whether one of them is worth an explanation."""
    is_noticed = False
    for i in range(s.scale.shape[0]):
        noise = NOTICED * abs(s.K[i])
        s.scale[i] = 1.0 if a.is_rigid[i] else abs(s.weight[i]) + noise
        if not a.is_rigid[i] and not abs(s.torque[i] - s.weight[i]) <= 2.0 * noise:
            is_noticed = True
    return is_noticed


def normalised_misfit(a, s):
    """The sum of squares of the unexplained torques over those of the scale."""
    total = 0.0
    for i in range(s.scale.shape[0]):
        if not a.is_rigid[i]:
            share = (s.torque[i] - s.weight[i]) / s.scale[i]
            total += share * share
    return total


def explains_springs(a, s):
    """Whether the springs carry the links, each within EXACT of its load, and at least two of them
    carry more than noise."""
    loaded = 0
    for i in range(s.scale.shape[0]):
        if not a.is_rigid[i]:
            noise = NOTICED * abs(s.K[i])
            if not abs(s.torque[i] - s.weight[i]) <= EXACT * abs(s.weight[i]) + 0.5 * noise:
                return False
            if abs(s.weight[i]) > 2.0 * noise:
                loaded += 1
    return loaded >= 2


def exchange_joints(a, s, q, theta, i, j):
    """Write the positions with those of joints i and j exchanged."""
    for k in range(q.shape[0]):
        s.links[k] = q[k]
    for k in range(theta.shape[0]):
        s.motors[k] = theta[k]
    s.links[i] = q[j]
    s.links[j] = q[i]
    s.motors[a.first_motor[i]] = theta[a.first_motor[j]]
    s.motors[a.first_motor[j]] = theta[a.first_motor[i]]


def find_exchange(a, arm, s, q, theta, refusal):
    """The exchange that explains the springs clearly better than the states as they are; returns
    whether there is one."""
    load_springs(arm, s, q, theta, s.softest)
    if not misfit_scale(a, s):
        return False
    best = normalised_misfit(a, s) / CLEARLY
    is_found = False
    if q.shape[0] == theta.shape[0]:
        load_springs(arm, s, theta, q, s.softest)
        total = normalised_misfit(a, s)
        if total < best:
            best = total
            is_found = True
            refusal.mistake[0] = EXCHANGED_SIDES
    for i in range(q.shape[0]):
        for j in range(i + 1, q.shape[0]):
            if a.has_one_motor[i] and a.has_one_motor[j]:
                exchange_joints(a, s, q, theta, i, j)
                load_springs(arm, s, s.links, s.motors, s.softest)
                total = normalised_misfit(a, s)
                if total < best and explains_springs(a, s):
                    best = total
                    is_found = True
                    refusal.mistake[0] = EXCHANGED_JOINTS
                    refusal.joint[0] = i
                    refusal.other[0] = j
    return is_found


def judge_positions(a, arm, s, q, theta, allowed, moves, refusal):
    """Whether links and motors of the arm, at rest or one that `moves`, cannot be there; why not is
    the `refusal`."""
    refusal.mistake[0] = UNEXPLAINED_LOAD
    worst = worst_joint(a, arm, s, q, theta, allowed)
    if worst < 0:
        return False
    tolerated = MOVING if moves else 1.0
    is_clear = not abs(s.misfit[worst]) <= tolerated
    if not is_clear and (moves or not find_exchange(a, arm, s, q, theta, refusal)):
        return False
    if refusal.mistake[0] != EXCHANGED_JOINTS:
        refusal.joint[0] = worst
    load_springs(arm, s, q, theta, s.softest)
    i = refusal.joint[0]
    excess = excess_of_setting(a, s, theta, i)
    refusal.allowed[0] = tolerated * allowed_excess(s, i)
    if refusal.mistake[0] == UNEXPLAINED_LOAD and excess > refusal.allowed[0]:
        refusal.mistake[0] = OUT_OF_RANGE
        refusal.misfit[0] = excess
        return True
    share = RIGID if a.is_rigid[i] else allowed[i] + CALIBRATION * abs(s.K[i])
    refusal.allowed[0] = tolerated * share
    refusal.misfit[0] = s.misfit[i] * share
    return True


def judge_encoders(a, steps, link_resolution, motor_resolution, refusal):
    """Whether a step of an encoder changes a torque by more than RELAY times its limit."""
    k = coarsest_encoder(
        steps.link_step, steps.motor_step, link_resolution, motor_resolution, RELAY
    )
    if k < 0:
        return False
    refusal.mistake[0] = COARSE_ENCODER
    n = steps.link_step.shape[0]
    refusal.joint[0] = k if k < n else a.joint_of_motor[k - n]
    refusal.misfit[0] = of_encoder(k, steps.link_step, steps.motor_step)
    refusal.allowed[0] = of_encoder(k, link_resolution, motor_resolution)
    return True


def external_loads(model: MultibodyModel, actuators: Actuators) -> Array:
    """(n,) N m or N, the largest external torque on each joint at rest that is believed."""
    limit = actuators.joint_torque_limit_within(model.limits.effort)
    weight = np.abs(gravity_forces(model, spread_poses(model, POSES))).max(axis=0)
    springs = SpringSolver(actuators)
    springs.stiffness[0] = softest_outputs(actuators)
    springs.update()
    unlimited = UNLIMITED * np.abs(springs.stiffness_felt)
    other = np.maximum(GREATEST * weight, np.where(actuators.is_rigid, 0.0, unlimited))
    return np.maximum(weight, np.where(np.isfinite(limit), limit, np.maximum(other, LEAST)))


def softest_outputs(actuators: Actuators) -> Array:
    """(v,) second outputs; the softest ones where no motor sets them, because only what is measured
    can be judged."""
    softest = resting_second_outputs(actuators)
    for _, actuator, _, second in actuators.each():
        if actuator.input_range is not None:
            softest[second] = actuator.input_range[0]
    return softest


def stiffness_settings(actuators: Actuators) -> Array:
    """(n, 2) rad or m, the range of what sets the stiffness of a joint: the distance of two
    antagonists, or the position of a stiffness drive; infinite for all other joints."""
    ranges = np.tile([-inf, inf], (actuators.n, 1))
    for i, actuator, _, _ in actuators.each():
        if (drive := actuator.drive) is not None:
            least, greatest = (float(k) for k in actuator.second_output_range(0.0))
            ends = np.array([min(drive.offset, 0.0), 2.0 * greatest - least])
            ranges[i] = np.sort((ends - drive.offset) / drive.gain)
        elif actuator.sides == (1.0, -1.0):
            slack, farthest = np.sum(actuator.limits_of_springs, axis=0)
            ranges[i] = slack - SLACK * (farthest - slack), farthest
    return ranges


EXCHANGED_TOPICS = "joint_states and motor_states are exchanged"


class Implausible(NamedTuple):
    """Why positions at rest are not believed: the joint with the largest misfit, how much of its
    torque (N m or N; rad or m for a rigid joint or motors out of range) the model does not
    explain, how much is allowed, and the likely cause."""

    joint: str
    misfit: float
    allowed: float
    is_rigid: bool
    cause: str
    is_out_of_range: bool = False

    def __str__(self) -> str:
        if self.is_out_of_range:
            text = (
                f"the stiffness of '{self.joint}' cannot be set like that: its motors are"
                f" {self.misfit:.4g} rad or m out of range"
            )
        elif self.is_rigid:
            text = f"'{self.joint}' is rigid, but {self.misfit:.4g} from its motor"
        else:
            text = (
                f"the spring of '{self.joint}' carries {self.misfit:.4g} (N m or N) that gravity"
                " does not explain"
            )
        return f"{text}; allowed: {self.allowed:.4g}. Likely cause: {self.cause}"


class RestingArm(IndependentCopies):
    """What springs carry at rest, and whether that agrees with the model.

    allowed : (n,) N m or N, external torques that are believed; see :func:`external_loads`.
    springs : what is computed for a judgement.
    """

    def __init__(self, model: MultibodyModel, actuators: Actuators) -> None:
        self.model, self.actuators = model, actuators
        self.allowed = external_loads(model, actuators)
        joints, _, laws, pieces = actuator_rows(actuators)
        self.rows = joints, laws, pieces
        self.gravity = inverse_solver(model)
        self._a = actuation(actuators)
        m, v = len(actuators.motors), len(actuators.variable_joints)
        self.springs = record_fields.zeros(RestingSprings, n=model.n, m=m, v=v)
        self.springs.softest[0] = softest_outputs(actuators)
        self.springs.settings[:] = stiffness_settings(actuators)
        self._refusal = record_fields.zeros(Refusal)
        self.judge(model.home, np.zeros(m))  # compiles

    def judge(
        self, q: Array, theta: Array, allowed: Array | None = None, *, moves: bool = False
    ) -> Implausible | None:
        """What is implausible about links (n,) and motors (m,) at rest there, if external torques
        within `allowed` (n,) are believed, those of the attribute by default; or about an arm that
        `moves`."""
        allowed, found = self.allowed if allowed is None else allowed, self._refusal
        if not judge_positions(self._a, self, self.springs, q, theta, allowed, moves, found):
            return None
        i, j, names = int(found.joint[0]), int(found.other[0]), self.model.joint_names
        misfit, share = float(found.misfit[0]), float(found.allowed[0])
        mistake = Mistake(int(found.mistake[0]))
        cause = {
            Mistake.EXCHANGED_SIDES: EXCHANGED_TOPICS,
            Mistake.EXCHANGED_JOINTS: _exchanged(names[i], names[j]),
        }.get(mistake) or self._cause(q, theta, allowed)
        is_rigid, is_out = bool(self.actuators.is_rigid[i]), mistake is Mistake.OUT_OF_RANGE
        return Implausible(names[i], misfit, share, is_rigid, cause, is_out)

    def coarse_encoder(self, steps: EncoderSteps, links: Array, motors: Array) -> str:
        """Why an encoder with these steps is too coarse, if steps of links (n,) and motors (m,)
        change a torque by its limit; empty if none is."""
        found = self._refusal
        if not judge_encoders(self._a, steps, links, motors, found):
            return ""
        joint = self.model.joint_names[found.joint[0]]
        return coarse_encoder(joint, float(found.misfit[0]), float(found.allowed[0]))

    def agrees(self, q: Array, theta: Array, allowed: Array) -> int:
        """Whether the springs between links (n,) and motors (m,) carry gravity and external torques
        within `allowed` (n,): 1 or 0; -1 if that is not judged, because all of these are
        infinite."""
        return springs_agree(self._a, self, self.springs, q, theta, allowed)

    def balance(self, q: Array, theta: Array, second: Array, limit: Array) -> Array:
        """(m,) motor torques that balance the springs at rest there, within `limit` (m,), with the
        second outputs (3, v)."""
        torque = np.zeros(len(theta))
        balance_springs(self._a, self, self.springs, q, theta, second, limit, torque)
        return torque

    def _worst(self, q: Array, theta: Array, allowed: Array) -> tuple[int, float]:
        worst = worst_joint(self._a, self, self.springs, q, theta, allowed)
        return worst, float(self.springs.misfit[worst])

    def _exchanges(self, q: Array, theta: Array) -> Iterator[tuple[str, Array, Array]]:
        """Causes that leave every number as it is, and the states without them."""
        names, s = self.model.joint_names, self.springs
        if len(theta) == len(q):
            yield EXCHANGED_TOPICS, theta, q
        for i, j in combinations(np.flatnonzero(self._a.has_one_motor).tolist(), 2):
            exchange_joints(self._a, s, q, theta, i, j)
            yield _exchanged(names[i], names[j]), s.links.copy(), s.motors.copy()
        for i in np.flatnonzero(~self._a.has_one_motor.astype(bool)).tolist():
            j, of_motors = int(self._a.first_motor[i]), self.actuators.motor_names
            pair = f"{_exchanged(of_motors[j], of_motors[j + 1])} in motor_states"
            yield pair, q, _swapped(theta, j, j + 1)

    # Explanations of what has been refused

    def _cause(self, q: Array, theta: Array, allowed: Array) -> str:
        """What explains the states: one mistake, else one for each joint that disagrees. The likely
        ones come first; others must be clearly better."""
        self._worst(q, theta, allowed)
        wrong = np.flatnonzero(~(np.abs(self.springs.misfit) <= 1.0)).tolist()
        best, found = np.inf, ""
        for cause, links, motors in self._mistakes(q, theta, wrong):
            excess = self._worst(links, motors, allowed)[1]
            total = float((self.springs.misfit**2).sum())
            if abs(excess) <= 1.0 and total < best / 4.0 - 1e-4:
                best, found = total, cause
        return found or self._stiffness(q, theta) or self._causes_by_joint(q, theta, wrong, allowed)

    def _stiffness(self, q: Array, theta: Array) -> str:
        """Whether springs that are all stiffer or softer by one factor would carry the arm."""
        s, is_elastic = self.springs, ~self.actuators.is_rigid
        load_springs(self, s, q, theta, s.softest)
        torque, weight = s.torque[is_elastic], s.weight[is_elastic]
        work = float(torque @ weight)
        ratio = float(weight @ weight) / work if work > 0.0 else 0.0
        if ratio > 0.01 and np.linalg.norm(ratio * torque - weight) < 0.2 * np.linalg.norm(weight):
            return f"springs of another robot; {ratio:.3g} times this stiffness would fit"
        return ""

    def _causes_by_joint(self, q: Array, theta: Array, wrong: list[int], allowed: Array) -> str:
        causes, motors = [], theta
        for i in wrong:
            best, cause, better = 1.0, "", motors
            for text, trial in self._mistakes_of_joint(motors, q, i):
                self._worst(q, trial, allowed)
                if abs(self.springs.misfit[i]) < best / 2.0 - 1e-2:
                    best, cause, better = abs(self.springs.misfit[i]), text, trial
            motors = better
            causes += [cause] if cause else []
        if causes and abs(self._worst(q, motors, allowed)[1]) <= 1.0:
            return "; ".join(causes)
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
        own = float(self._unloaded(q)[mine][0])
        if abs(own) > RIGID:
            text = f"{float(theta[mine][0]) / own:.4g} times the position of its link"
            yield f"'{name}' in motor_states is {text} (gear, unit)", np.where(mine, own, theta)

    def _unloaded(self, q: Array) -> Array:
        """(m,) motors with which the joint torques are zero with the links at rest at q (n,): those
        of their links, unless springs to the base load these."""
        state, Q = np.array([q, 0.0 * q, 0.0 * q]), np.zeros((3, len(q)))
        bent = self.actuators.settled_deflection(Q, beyond="continue")
        second = self.springs.softest
        found = motor_motion(self.actuators, state, Q, second, deflection=bent, beyond="continue")
        return found.position

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


def _exchanged(one: str, other: str) -> str:
    return f"'{one}' and '{other}' are exchanged"


def _swapped(row: Array, i: int, j: int) -> Array:
    swapped = row.copy()
    swapped[[i, j]] = row[[j, i]]
    return swapped
