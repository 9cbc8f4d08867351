# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Thresholds of collision detection, learned from a recorded motion without contacts.

The recording passes the same estimator and filters as in the control cycle. For every joint and
each kind of residual r, the coefficients c of the terms f(t) are those of the threshold with the
lowest average that no residual exceeds,

    minimise  mean c . f(t)    such that  c . f(t) >= |r(t)| at all t,  c >= ASSUMED:

a linear programme, solved with only those samples that matter. The threshold is the result times
`margin`. ASSUMED is an error of the model that every robot has; without it, terms that the
recording hardly excites would vanish from the threshold.

How well this holds for other motions is measured on the recording itself: thresholds learned from
four fifths of it are compared with the residuals in the remaining fifth, for each fifth in turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...core import Array, DynamicsError, InputError, as_array, as_real
from ...elastic import Actuators, SpringSolver
from ...model import MultibodyModel
from ..signals.low_pass import LowPass
from .collision_detection import CollisionDetector, DrivingTorque
from .collision_thresholds import HIT, KINDS, TERMS, CollisionThresholds, DetectionSettings
from .state_estimation import StateEstimation, StateEstimator

PARTS = 5  # of the recording, for the held-out thresholds
BLOCK = 25  # samples, of which the largest residual is a constraint from the beginning
ADDED = 50  # violated samples that become constraints at a time
ROUNDS = 50
TOLERANCE = 1e-3  # relative excess that ends the search
ASSUMED = (0.0, 0.02, 0.02, 0.0, 0.0, 0.01, 0.0)  # least coefficients, for TERMS
LEAST = 2e-3  # smallest constant, as a share of the torque limit of the joint's motors
SHORTEST = 5.0  # s of settled samples


class RecordedMotion(NamedTuple):
    """A motion without contacts, sampled at t (k,) in s, on the link side of the gear.

    q (k, n), theta (k, m) : positions of links and motors, rad (m).
    Q (k, n) : torques of sensors, N m (N); tau (k, m) : of motors; None if not recorded. Q is used
        where the source of the state measures it, tau at rigid joints.
    """

    t: Array
    q: Array | None
    theta: Array
    Q: Array | None = None
    tau: Array | None = None


@dataclass(frozen=True, eq=False)
class LearnedThresholds:
    """Result of :func:`learn_thresholds`.

    held_out : (2, n) for KINDS, largest ratio of a residual to the threshold, margin included, on
        parts of the recording from which the threshold was not learned; a false alarm at 1 or more.
    at_rest, median, high : (2, n) N m: the constant term, and median and 95 % quantile of the
        thresholds during the recording.
    duration : s that were used. period : s, the median step.
    """

    thresholds: CollisionThresholds
    held_out: Array
    at_rest: Array
    median: Array
    high: Array
    duration: float
    period: float

    @property
    def smallest_hit(self) -> Array:
        """(n,) N m, a step of the external torque that is typically detected within 20 ms."""
        return self.median[HIT] / step_response(self.thresholds.settings, 0.02)


def learn_thresholds(
    model: MultibodyModel,
    actuators: Actuators,
    recording: RecordedMotion,
    settings: DetectionSettings | None = None,
    *,
    stiffness: Any = None,
    learned_from: Mapping[str, Any] | None = None,
) -> LearnedThresholds:
    """Learn thresholds, which cover the errors of this model, from a motion without contacts.

    The recording should contain what the robot will do: its speeds, accelerations, poses, payload
    and reversals of direction; a minute is enough if it does.

    stiffness : (v,) constant second outputs of the variable joints; default: mid-range.
    learned_from : provenance, for the file.

    Raises InputError for wrong shapes, missing signals, and recordings that are too short.
    """
    settings = settings or DetectionSettings()
    residuals, terms, period = _replay(model, actuators, recording, settings, stiffness)
    duration = len(residuals) * period
    if duration < SHORTEST:
        raise InputError(
            f"the recording has {duration:.3g} s of samples without gaps: thresholds need "
            f"{SHORTEST:g} s, and should be learned from a minute"
        )
    least = LEAST * _torque_scale(actuators, terms)
    envelope = fit_envelope(residuals, terms, least)
    held_out = np.zeros(residuals.shape[1:])
    edges = np.linspace(0, len(residuals), PARTS + 1).astype(int)
    for begin, end in pairwise(edges.tolist()):
        others = np.r_[0:begin, end : len(residuals)]
        found = fit_envelope(residuals[others], terms[others], least)
        share = residuals[begin:end] / (found * terms[begin:end]).sum(axis=2)
        np.maximum(held_out, share.max(axis=0) / settings.margin, out=held_out)
    coefficients = settings.margin * envelope
    values = (coefficients * terms).sum(axis=2)
    return LearnedThresholds(
        CollisionThresholds(model.joint_names, coefficients, settings, learned_from or {}),
        held_out,
        coefficients[:, 0].copy(),
        np.median(values, axis=0),
        np.quantile(values, 0.95, axis=0),
        duration,
        period,
    )


def fit_envelope(residuals: Array, terms: Array, least: Array) -> Array:
    """Coefficients (2, 7, n) of the lowest thresholds above the residuals.

    residuals (k, 2, n), not negative; terms (k, 2, 7, n); least (n,): smallest constants.
    """
    out = np.zeros(terms.shape[1:])
    for kind in range(len(KINDS)):
        for j in range(residuals.shape[2]):
            out[kind, :, j] = _lowest(residuals[:, kind, j], terms[:, kind, :, j], float(least[j]))
    return out


def _lowest(residual: Array, terms: Array, least: float) -> Array:
    """Coefficients (7,) of one threshold."""
    from scipy.optimize import linprog  # nodes need only the thresholds found

    size = terms.max(axis=0)
    used = size > 1e-9 * max(size[1:].max(initial=0.0), least)
    used[0] = True
    rows = terms[:, used] / size[used]
    cost = rows.mean(axis=0)
    lowest = np.array((least, *ASSUMED[1:]))
    bounds = [(low, None) for low in (lowest * size)[used]]
    whole = len(residual) // BLOCK * BLOCK
    first = np.arange(0, whole, BLOCK) + residual[:whole].reshape(-1, BLOCK).argmax(axis=1)
    chosen = np.unique(np.append(first, residual.argmax()))
    for _ in range(ROUNDS):
        solution = linprog(
            cost, A_ub=-rows[chosen], b_ub=-residual[chosen], bounds=bounds, method="highs"
        )
        if solution.x is None:
            raise DynamicsError(f"no threshold was found: {solution.message}")
        excess = residual - rows @ solution.x
        allowed = TOLERANCE * (rows @ solution.x)
        wrong = np.flatnonzero(excess > allowed)
        if not wrong.size:
            break
        chosen = np.union1d(chosen, wrong[np.argsort(excess[wrong])[-ADDED:]])
    out = lowest
    out[used] = solution.x * (1.0 + TOLERANCE) / size[used]
    return out


def step_response(settings: DetectionSettings, time: float, kind: int = HIT) -> float:
    """Share of a constant external torque in a residual, `time` s after its beginning; the velocity
    filter delays it by another 1 to 2 ms."""
    smooth, slow, step = LowPass(1, settings.bandwidth), 0.0, 1e-4
    for _ in range(round(time / step)):
        value = float(smooth.update(step, np.ones(1))[0])
        slow -= np.expm1(-settings.high_pass * step) * (value - slow)
    return value - slow if kind == HIT else value


def _torque_scale(actuators: Actuators, terms: Array) -> Array:
    """(n,) torque limits of the joints, N m; without a limit, the largest torque of the recording,
    at least a hundredth of that of the strongest joint."""
    limit = np.bincount(actuators.joint_of_motor, actuators.torque_limit, actuators.n)
    torque = (terms[:, 1, 1] + terms[:, 1, 2]).max(axis=0)
    torque = np.maximum(torque, max(1e-2 * torque.max(), 1e-3))
    return np.where(np.isfinite(limit), limit, torque)


def _replay(
    model: MultibodyModel,
    actuators: Actuators,
    recording: RecordedMotion,
    settings: DetectionSettings,
    stiffness: Any,
) -> tuple[Array, Array, float]:
    """Absolute residuals (k, 2, n), terms (k, 2, 7, n), and the median step in s."""
    estimation = StateEstimation(settings.source, settings.filter_bandwidth, settings.filter_order)
    estimator = StateEstimator(model, actuators, estimation)
    t, rows = _signals(actuators, recording, estimator)
    springs = SpringSolver(actuators, *estimator.state)
    if stiffness is not None:
        variable = actuators.variable_joints
        springs.stiffness[0] = as_array("stiffness", stiffness, (len(variable),), variable)
    detector = CollisionDetector(model, actuators, None, settings)
    driving = DrivingTorque(actuators, estimator.signals)
    residuals = np.zeros((len(t), len(KINDS), model.n))
    terms = np.zeros((len(t), len(KINDS), len(TERMS), model.n))
    links_have_friction, law = actuators.has_link_friction.any(), np.zeros((4, model.n))
    count, no_torque = 0, np.zeros(len(actuators.motors))
    for k, time in enumerate(t.tolist()):
        signals = {name: row[k] for name, row in rows.items()}
        state = estimator.update(time, stiffness=springs.stiffness, **signals)
        springs.update()
        springs.follow_slip()
        Q = driving.of(springs.torque, signals, signals.get("motor_torque", no_torque))
        if links_have_friction:  # the reference was not recorded; the term of reversals is left
            law[1] = state.qd
            Q = Q - actuators.link_friction(law, np.stack([Q, 0.0 * Q, 0.0 * Q]))[0]
        detector.update(time, state.q, state.qd, Q)
        if detector.is_settled:
            np.abs(detector.residual, out=residuals[count])
            terms[count] = detector.terms
            count += 1
    steps = np.diff(t)
    return residuals[:count], terms[:count], float(np.median(steps[steps > 0.0]))


def _signals(
    actuators: Actuators, recording: RecordedMotion, estimator: StateEstimator
) -> tuple[Array, dict[str, Array]]:
    """Times, and the signals that the estimator and rigid joints need."""
    given = {
        "link_position": (recording.q, "q", actuators.joint_names),
        "motor_position": (recording.theta, "theta", actuators.motor_names),
        "joint_torque": (recording.Q, "Q", actuators.joint_names),
        "motor_torque": (recording.tau, "tau", actuators.motor_names),
    }
    t = as_array("t", recording.t, (len(recording.t),))
    if len(t) < 2:
        raise InputError(f"t: expected two or more samples, got {len(t)}")
    rows = {}
    for name in {*estimator.signals} | ({"motor_torque"} if actuators.is_rigid.any() else set()):
        values, short, owners = given[name]
        if values is None:
            why = "rigid joints need" if name == "motor_torque" else "the source of the state needs"
            raise InputError(f"{short}: was not recorded, but {why} the {name.replace('_', ' ')}")
        rows[name] = as_real(short, values)
        if rows[name].shape != (len(t), len(owners)):
            raise InputError(
                f"{short}: expected shape {(len(t), len(owners))}, got {rows[name].shape}"
            )
    return t, rows
