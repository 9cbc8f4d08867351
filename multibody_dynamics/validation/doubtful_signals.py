# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded signals that cannot be what their names say, and the likely cause.

A velocity is compared with positions by its integral over a short time w:

    q(t + w) - q(t) = integral of v from t to t + w

which noise and quantisation disturb far less than derivatives of positions. A v that lags behind
by d, as filtered ones do, adds d (v(t + w) - v(t)).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import Array
from ..dynamics.elastic import Actuators
from ..dynamics.identification import HIGHEST, MeasuredRun, Residuals, ZeroPhaseFilter
from ..dynamics.model import MultibodyModel
from ..dynamics.rigid import inverse_dynamics

WINDOW = 0.25  # s
DELAY = 0.2  # s, the longest lag of velocities that is recognised as such
CONTRADICTS = 0.1  # of the movement, in what velocities and positions differ
MOST = 0.9  # share of an error, or of its square, that has one cause
RELEVANT = 0.02  # of the fastest joint's movement
SLOW = 0.01  # rad/s or m/s, rms: a joint at rest, or a difference of no importance
NOISE = 5.0  # standard deviations
ALIKE = 0.98  # correlation of proportional signals
NEAR = 0.15  # relative distance to a known factor
SLOWEST = 1e-3  # of the speed limits: a slower motion is no motion of an arm
BEYOND = 0.1  # of the range of a joint, by which it may leave its limits
EFFORTS_ALIKE = 0.85  # correlation of efforts with those of the model
EFFORT_RATIO = 2.0  # between efforts and those of the model, which friction does not explain
STEADY = 3.0  # standard deviations by which the mean of an effort exceeds its changes
EXACT = 1e-12  # of the square of a mean: a variance of rounding alone
VARIES = 0.1  # of its mean, by which an effort varies more than the steps of its sensor
CLIPPED = 0.05  # share of the samples at one end of their range
LEVELS = 200  # different values of an effort; with fewer, ends are often met by rounding alone
LATE = 0.01  # s, a delay of efforts worth a note
TINY = 1e-300
FEWEST = 16  # windows
MISPLACED = 5.0  # between the torque of a deflection and that of the model
BEND = 0.1  # of a motion: a larger deflection is no delay or error of the encoders
CUTOFF = 5.0  # Hz, of motions that show sign and size of an effort
DEGREES = 180.0 / np.pi
VELOCITIES = {
    -1.0: "the other sign",
    DEGREES: "in degrees/s",
    30.0 / np.pi: "in rpm",
    1e3: "in mm/s or mrad/s",
}


class Stretch(NamedTuple):
    """Times (k,) in s, positions and velocities (k, n) of joints."""

    t: Array
    q: Array
    qd: Array


class _Movement(NamedTuple):
    """In k windows of n joints: of the positions, by the velocities, changes of the velocities; and
    standard deviations (n,) of their noise."""

    moved: Array
    integral: Array
    change: Array
    noise: Array


def contradicting_velocities(stretches: Iterable[Stretch]) -> dict[int, str]:
    """What is wrong with the velocities of joints, by index; joints not named are consistent."""
    stretches = [each for each in stretches if len(each.t) > 2]
    parts = [part for each in stretches if (part := _movement(each)) is not None]
    if sum(len(part.moved) for part in parts) < FEWEST:
        return {}
    moved, integral, change = (np.concatenate([p[k] for p in parts]) for k in range(3))
    noise = np.max([part.noise for part in parts], axis=0)
    q, qd = (np.concatenate([part[k] for part in stretches]) for k in (1, 2))
    rms = [np.sqrt((rows**2).mean(axis=0)) for rows in (moved - integral, moved, integral)]
    size = np.maximum(rms[1], rms[2])
    wrong = rms[0] > np.maximum(CONTRADICTS * size, NOISE * noise)
    wrong &= rms[0] > np.maximum(RELEVANT * rms[1].max(), SLOW * WINDOW)
    return {
        int(j): _about_velocity(moved[:, j], integral[:, j], change[:, j], q[:, j], qd[:, j])
        for j in np.flatnonzero(wrong)
    }


def _movement(stretch: Stretch) -> _Movement | None:
    """The movements in all windows of a stretch, which may have gaps; None if it is too short."""
    t, q, qd = stretch
    steps = np.diff(t)
    count = max(round(WINDOW / max(float(np.median(steps)), 1e-9)), 1)
    if len(t) <= count:
        return None
    areas = 0.5 * steps[:, None] * (qd[1:] + qd[:-1])
    area = np.concatenate([np.zeros((1, q.shape[1])), np.cumsum(areas, axis=0)])
    lasted = t[count:] - t[:-count]
    whole = (lasted > 0.0) & (lasted < 1.5 * max(count * float(np.median(steps)), WINDOW))
    moved, integral, change = (rows[count:] - rows[:-count] for rows in (q, area, qd))
    whole &= np.isfinite(moved).all(axis=1) & np.isfinite(integral).all(axis=1)
    if not whole.any():
        return None
    bends = [np.diff(rows, 2, axis=0) for rows in (q, qd)]
    of_q, of_qd = (np.sqrt(np.nanmedian(each**2, axis=0) / 2.7) for each in bends)
    step = float(np.median(steps))
    noise = np.sqrt(2.0) * of_q + of_qd * np.sqrt(step * WINDOW)
    return _Movement(moved[whole], integral[whole], change[whole], noise)


def _about_velocity(moved: Array, integral: Array, change: Array, q: Array, qd: Array) -> str:
    """The likely cause of a contradiction, by the rows (k,) of one joint in windows, see
    :class:`_Movement`, and its positions and velocities."""
    if not qd.any():
        return "are all zero"
    if np.ptp(qd) <= 1e-9 * np.abs(qd).max():
        return f"are all {qd[0]:.4g}"
    if abs(_correlation(qd, q)) > ALIKE > abs(_correlation(integral, moved)):
        return f"are proportional to the positions ({float(np.ptp(qd) / np.ptp(q)):.3g} times)"
    error = integral - moved
    rms, mean = float(np.sqrt((error**2).mean())), float(error.mean())
    lag = -float(error @ change) / max(float(change @ change), TINY)
    factor = 1.0 + float(error @ moved) / max(float(moved @ moved), TINY)
    scaled = f"are {factor:.3g} times the derivatives of the positions{_cause(factor, VELOCITIES)}"
    is_scaled = abs(factor - 1.0) > CONTRADICTS and _correlation(integral, moved) ** 2 > MOST
    unexplained = float(((error - (factor - 1.0) * moved) ** 2).mean())
    if is_scaled and unexplained < min(error.var(), (1.0 - MOST) * rms**2):
        return scaled
    if abs(mean) > MOST * rms:
        return f"exceed the derivatives of the positions by {mean / WINDOW:.3g} throughout"
    if abs(lag) < DELAY and _correlation(error, change) ** 2 > MOST:
        which = "lag behind" if lag > 0.0 else "are ahead of"
        return f"{which} the derivatives of the positions by {1e3 * abs(lag):.2g} ms"
    return scaled if is_scaled else "do not follow from the positions"


def _correlation(one: Array, other: Array) -> float:
    finite = np.isfinite(one) & np.isfinite(other)
    if np.ptp(one[finite]) == 0.0 or np.ptp(other[finite]) == 0.0:
        return 0.0
    return float(np.corrcoef(one[finite], other[finite])[0, 1])


def _cause(factor: float, known: dict[float, str]) -> str:
    causes = [text for value, text in known.items() if abs(factor / value - 1.0) < NEAR]
    return f": {causes[0]}?" if causes else ""


def positions_beyond_limits(
    model: MultibodyModel, joint: int, lowest: float, highest: float
) -> str:
    """What is wrong with recorded positions from `lowest` to `highest`; "" if nothing is."""
    low, high = float(model.limits.lower[joint]), float(model.limits.upper[joint])
    slides = model.joint_types[joint] == "prismatic"
    unit = "m" if slides else "rad"
    room = BEYOND * (high - low)
    if not np.isfinite(high - low) or (low - room <= lowest and highest <= high + room):
        return ""

    def fits(factor: float, shift: float = 0.0) -> bool:
        return bool(
            low - room <= factor * lowest + shift and factor * highest + shift <= high + room
        )

    turns = 2.0 * np.pi * round((0.5 * (low + high) - 0.5 * (lowest + highest)) / (2.0 * np.pi))
    if slides:
        cause = "are they in mm?" if fits(1e-3) else "is its zero elsewhere?"
    elif turns and fits(1.0, turns):
        cause = f"is its zero {-turns:.4g} rad away?"
    elif fits(1.0 / DEGREES):
        cause = "are they in degrees?"
    else:
        cause = "are they encoder counts, or those of the motor before its gear?"
    text = f"positions from {lowest:.4g} to {highest:.4g} {unit} are outside of its limits"
    return f"{text} {low:.4g} to {high:.4g} {unit}; {cause}"


def doubtful_pace(model: MultibodyModel, speed: Array) -> str:
    """What is wrong with the times of a motion with these largest speeds (n,), rad/s or m/s; "" if
    nothing is."""
    limit = model.limits.velocity
    share = np.divide(np.abs(speed), limit, out=np.ones_like(limit), where=limit > 0.0).max()
    if not 0.0 < share < SLOWEST:
        return ""
    return f"no joint exceeds {share:.2g} of its speed limit: are the times in ms?"


def doubtful_efforts(
    names: Sequence[str],
    residual: Residuals,
    gears: NDArray[np.float64] | None = None,
    what: str = "efforts",
) -> list[str]:
    """What is wrong with efforts that follow those of the model, but with another sign or size.

    gears : ratios of the joints, if they are known.
    """
    notes = []
    count = max(residual.count, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = residual.spread[0, 1] / residual.spread[0, 0]
    for j, name in enumerate(names):
        alike, factor = float(residual.correlation[j]), float(slope[j])
        mean, (expected, measured) = residual.mean[:, j], np.diag(residual.spread[:, :, j])
        square = count * mean[1] ** 2
        if square > 0.0 and measured < EXACT * square and expected > VARIES**2 * square:
            notes.append(f"{name}: its {what} are all {mean[1]:.4g}")
            continue
        if not abs(alike) > EFFORTS_ALIKE:
            # Torques that gravity keeps constant have a size, but hardly a shape.
            steady = abs(mean) > STEADY * np.sqrt(np.array([expected, measured]) / count)
            if not steady.all():
                continue
            factor = float(mean[1] / mean[0])
        if 1.0 / EFFORT_RATIO < factor < EFFORT_RATIO or not np.isfinite(factor):
            continue
        known = {-1.0: "the other sign"}
        for unit, text in ((1e3, "in mN m"), (1e-3, "in kN m")):
            known |= {unit: text, -unit: f"{text}, with the other sign"}
        if gears is not None and gears[j] > EFFORT_RATIO:
            known[1.0 / gears[j]] = "torques of the motor before its gear"
        cause = _cause(factor, known) or (
            ": currents or a share of the rated torque?"
            if factor > 0.0
            else ": currents with the other sign, another axis, or a base that is turned?"
        )
        notes.append(f"{name}: its {what} are {factor:.3g} times those of the model{cause}")
    return notes


def clipped(effort: Array, position: Array) -> str:
    """Where recorded efforts (k,) stay at an end of their range although the joint moves; "" if
    they do not."""
    finite = np.isfinite(effort) & np.isfinite(position)
    effort, position = effort[finite], position[finite]
    if len(np.unique(effort)) < LEVELS:
        return ""
    for end in (effort.min(), effort.max()):
        held = effort == end
        if held.mean() > CLIPPED and np.ptp(position[held]) > BEND * np.ptp(position):
            return f"efforts are {end:.4g} in {held.mean():.0%} of the samples: were they clipped?"
    return ""


def late_efforts(late: Residuals) -> str:
    """By how much all efforts lag behind those of the model; "" if they do not.

    late : Q' of the model, and the measured minus the predicted Q. Friction of one joint may look
    like a lag, but hardly like the same lag in each.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        lags = -late.spread[0, 1] / late.spread[0, 0]
    lag = float(np.mean(lags))
    if len(lags) < 2 or not (LATE < abs(lag) < DELAY and np.ptp(lags) < NEAR * abs(lag)):
        return ""
    if not (late.correlation**2 > MOST).all():
        return ""
    which = "lag behind" if lag > 0.0 else "are ahead of"
    return f"the efforts {which} those of the model by {1e3 * abs(lag):.2g} ms"


def doubtful_run(
    run: MeasuredRun, model: MultibodyModel, actuators: Actuators | None = None
) -> list[str]:
    """What is wrong with the times, positions, efforts and deflections of a run, by joint.

    A torque sensor, the motors of a joint and its deflected spring must all follow the torque of
    the links, of the known robot.
    """
    if run.q is None:
        return []
    ends = zip(model.joint_names, np.min(run.q, axis=0), np.max(run.q, axis=0), strict=True)
    notes = [
        f"{name}: its {doubt}"
        for j, (name, low, high) in enumerate(ends)
        if low == low and (doubt := positions_beyond_limits(model, j, low, high))
    ]
    if not np.isfinite(run.q).all():  # of a joint that was not measured
        return notes
    if pace := doubtful_pace(
        model, run.rate * np.abs(np.diff(run.q, axis=0)).max(axis=0, initial=0.0)
    ):
        notes.append(pace)
    moves, gears = np.eye(model.n), None
    springs, bends = np.zeros((2, *run.q.shape))
    if actuators is not None:
        moves = (actuators.link_of_motors > 0.0).astype(np.float64)
        gears = actuators.gear_ratio[actuators.first_motor]
        for j, actuator in enumerate(actuators.actuators if run.theta is not None else ()):
            if actuator.series_spring is not None:
                bends[:, j] = np.nan_to_num(run.theta[:, actuators.first_motor[j]] - run.q[:, j])
                springs[:, j] = actuator.series_spring.torque(bends[:, j], beyond="continue")
    motor = None if run.motor_torque is None else run.motor_torque @ moves
    given = {"sensor": run.sensor, "motor": motor, "spring": springs}
    filter_ = ZeroPhaseFilter(run.rate, min(CUTOFF, HIGHEST * run.rate), orders=3)
    total = {kind: Residuals.none(model.n) for kind in given}
    for part in run.stretches:
        expected = inverse_dynamics(model, *filter_(run.q[part])).tau
        for kind, rows in given.items():
            if rows is not None and len(expected):
                measured = filter_(np.nan_to_num(rows[part]))[0]
                times = np.arange(len(expected)) / run.rate
                total[kind] += Residuals.of(times, expected, measured)
    for kind in ("sensor", "motor"):
        notes += doubtful_efforts(model.joint_names, total[kind], gears, f"efforts ({kind})")
    found = total["spring"]
    size = np.sqrt(found.spread[1, 1] / np.maximum(found.spread[0, 0], 1e-300))
    is_large = np.std(bends, axis=0) > BEND * np.std(run.q, axis=0)
    for j, name in enumerate(model.joint_names):
        alike, factor = found.correlation[j], size[j]
        if alike < -EFFORTS_ALIKE:
            notes.append(
                f"{name}: its deflection theta - q has the other sign than its torque: are links"
                " and motors exchanged?"
            )
        elif factor > MISPLACED and is_large[j]:
            notes.append(
                f"{name}: theta - q would deflect its spring with {factor:.3g} times the torque of"
                " the model: are columns exchanged, or positions in other units?"
            )
    return notes
