# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Disturbances of links and motors, estimated on both sides of the springs and compensated.

    links    p' = Q - beta - friction + tau_ext + d,        p = M(q) q'
    motors   M_m theta'' = tau - friction - load + d_m

Whatever the model does not explain appears in d or d_m: wrong inertias, a payload, a contact, wrong
friction or rotors. The momentum on each side (:mod:`momentum_balance`) gives their mean over every
cycle without differentiating velocities; four equal poles smooth it and give d' as well
(:mod:`low_pass`). A base that yields to the arm's torques moves the links, which the observer takes
for a disturbance, and compensates. The lag of the estimate then drives the oscillation of the base,
unless it is more than half a period, as with poles below about 0.8 times the natural frequency of
the base. Links on springs softer than the model says do the same. Once the estimate of a link
oscillates (:mod:`oscillation_monitor`), the poles of the links are therefore lowered. If an
estimate oscillates still, in swings that may now be longer in proportion to its lag, they fall to
half, up to HALVINGS times, and stay there. Gains are kept: on springs, motors under PD control take
energy from the links, and what feeds the oscillation is the estimate. The base does not reach the
motors, whose momentum does not depend on it. The flat map then takes Q - d and Q' - d' in place of
Q and Q', so the motors move to where the springs carry the disturbance, and -d_m is added to the
torque.

A spring whose stiffness is K appears as d = (K - K_model) phi and is compensated, too: at low
frequencies Q - d = K_model phi, so the motor moves to q_d + phi with the true deflection phi.
Unlike an integral of the tracking error, the estimates do not depend on feedback gains. They use
the torque that was sent, so they do not wind up at torque limits.

The gap of a backlash is known only smoothed: while the link crosses it, the estimate swings by up
to the torque that closes it and, compensated, drives the link from flank to flank. Where feedback
acts on the motors alone, the estimate of a link behind a backlash is therefore held at its mean
once the desired motion has been slower than SLOWEST for SETTLED and the low-pass has settled:
motors under PD control with constant torques take energy from the link. It is released when the
motion goes on, or when the estimate departs from this mean by more than the torque that closes the
gap.

The estimates stay within a share of the torque limits. They are limited after the low-pass, not
before it: the momentum differences of coarse encoders are noise of several times the limits (3.7
times with 14 bits per turn on the Panda). Its mean is zero, but clipping this noise would also
suppress any smaller mean beneath it: the observer would hardly see disturbances any more, and the
loop would become unstable.
"""

from collections.abc import Sequence
from math import copysign, exp, inf
from typing import Annotated, NamedTuple

import numpy as np

from ...core import (
    Array,
    BoundCall,
    Field,
    IndependentCopies,
    InputError,
    Integers,
    compiled_exactly,
    inlined_exactly,
    record_fields,
)
from ...elastic import Actuators, SpringSolver, friction
from ...model import MultibodyModel
from ...rigid import momentum_solver
from ..records.actuation import actuation
from ..signals.derivative_filter import MAX_STEP, positive
from ..signals.low_pass import advance_low_pass, low_pass_weights
from .momentum_balance import driven_links
from .oscillation_monitor import LONGEST, oscillates, reset_oscillation

SHARE = 0.5
"""Share of the motors' torque limits that may compensate disturbances, by default."""

LINEAR = 0.8  # share of the limit up to which an estimate is used as it is
SLOWEST = 5e-4  # rad/s or m/s; a slower desired motion is at rest
SETTLED = 1.0  # s at rest before an estimate is held, besides 8 time constants of the low-pass
AVERAGED = 0.2  # s, time constant of the mean at which it is held
FADED = 0.1  # s, in which it is held or released
LONGEST_STEP = 1.0  # time constants of a pole, from one state to the next
HALVINGS = 2  # of the lowered poles of the links, if they oscillate again


class Disturbances(NamedTuple):
    """The observer of disturbances on both sides of the springs."""

    is_started: Annotated[Integers, Field("whether the last update is known")]
    momentum: Annotated[Array, Field("p of the links", ("n",))]
    bias: Annotated[Array, Field("beta + friction of the links", ("n",))]
    driving: Annotated[Array, Field("known torques on the links", ("n",))]
    motor_momentum: Annotated[Array, Field("of the motors", ("m",))]
    motor_bias: Annotated[Array, Field("friction and load of the motors", ("m",))]
    link_lags: Annotated[Array, Field("of the low-pass", (4, "n"))]
    motor_lags: Annotated[Array, Field("of the low-pass", (4, "m"))]
    link: Annotated[Array, Field("N m or N, d of the links", ("n",))]
    link_rate: Annotated[Array, Field("N m/s or N/s, d'", ("n",))]
    motor: Annotated[Array, Field("N m or N, d of the motors", ("m",))]
    rest: Annotated[Array, Field("s, of each link at rest with a steady estimate", ("n",))]
    mean: Annotated[Array, Field("of the estimates at rest", ("n",))]
    held: Annotated[Array, Field("share of this mean in d, 0 to 1", ("n",))]
    is_lowered: Annotated[Integers, Field("how often poles fell, as an estimate oscillated")]
    turn: Annotated[Array, Field("of the links at their last turning points", ("n",))]
    swing: Annotated[Array, Field("sizes of their last swings", ("n",))]
    explained: Annotated[Array, Field("variation of the reference since", ("n",))]
    since: Annotated[Array, Field("s, since the last turning points", ("n",))]
    direction: Annotated[Integers, Field("whether they rise", ("n",))]
    swings: Annotated[Integers, Field("unexplained ones in a row", ("n",))]


@inlined_exactly
def reset_disturbances(d):
    """Set the estimates to zero; the next update is the first. Links that have oscillated stay
    slow."""
    d.is_started[0] = 0
    for i in range(d.link.shape[0]):
        d.link[i] = 0.0
        d.link_rate[i] = 0.0
        d.rest[i] = 0.0
        d.mean[i] = 0.0
        d.held[i] = 0.0
        reset_oscillation(d, i)
        for k in range(4):
            d.link_lags[k, i] = 0.0
    for j in range(d.motor.shape[0]):
        d.motor[j] = 0.0
        for k in range(4):
            d.motor_lags[k, j] = 0.0


@inlined_exactly
def soft_limit(value, limit):
    """A value limited to +- `limit` with a continuous slope, and this slope.

    Below LINEAR times the limit it is not changed. The limit is reached at 2 - LINEAR times the
    limit by a parabola, on which the slope falls to zero.
    """
    size = abs(value)
    if size <= LINEAR * limit:
        return value, 1.0
    share = size / limit if limit > 0.0 else inf
    slope = min(max(0.5 * (2.0 - LINEAR - share) / (1.0 - LINEAR), 0.0), 1.0)
    return copysign(limit * (1.0 - (1.0 - LINEAR) * slope * slope), value), slope


@inlined_exactly
def _hold_at_rest(d, i, band, bandwidth, moves, step):
    """Hold estimate i at its mean while the desired motion rests and it stays within the band."""
    estimate = d.link_lags[3, i]
    if moves != 0 or (d.held[i] > 0.0 and abs(estimate - d.mean[i]) > band):
        d.rest[i] = 0.0
    if d.held[i] == 0.0:
        weight = 1.0 if moves != 0 else 1.0 - exp(-step / AVERAGED)
        d.mean[i] += weight * (estimate - d.mean[i])
    d.rest[i] += step
    change = step if d.rest[i] + 0.5 * step > SETTLED + 8.0 / bandwidth else -step
    d.held[i] = min(max(d.held[i] + change / FADED, 0.0), 1.0)


@inlined_exactly
def _observe_links(
    a, d, bandwidth, longest, limit, band, step, weights, qd, momentum, beta, springs, sent, known,
    wanted_speed, wanted_rate
):  # fmt: skip
    """Update the estimates of the links; whether one of them oscillates."""
    moves = has_oscillated = 0
    for i in range(qd.shape[0]):
        if abs(wanted_speed[i]) > SLOWEST:
            moves = 1
    for i in range(qd.shape[0]):
        bias = beta[i]
        held = 0.5  # torques of springs are sampled, those of motors have been held for a step
        driving = known[i]
        if a.is_rigid[i]:
            j = a.first_motor[i]
            bias += friction(a.motor_rows, j, qd[i], sent[j])
            held = 0.0
            driving += sent[j]
        else:
            driving += springs[i]
        if d.is_started[0] != 0 and step <= MAX_STEP:
            mean = held * d.driving[i] + (1.0 - held) * driving - 0.5 * (d.bias[i] + bias)
            advance_low_pass(d.link_lags, i, weights, (momentum[i] - d.momentum[i]) / step - mean)
            share = d.held[i]
            if band[i] > 0.0:
                _hold_at_rest(d, i, band[i], bandwidth, moves, step)
            fade = (d.held[i] - share) / step * (d.mean[i] - d.link_lags[3, i])
            estimate = (1.0 - d.held[i]) * d.link_lags[3, i] + d.held[i] * d.mean[i]
            value, slope = soft_limit(estimate, limit[i])
            along = wanted_rate[i] + d.link_rate[i]  # the map has subtracted the last d'
            rate = bandwidth * (d.link_lags[2, i] - d.link_lags[3, i])
            if oscillates(d, i, d.link_lags[3, i], rate, along, limit[i], longest, step):
                has_oscillated = 1
            d.link[i] = value
            d.link_rate[i] = slope * ((1.0 - d.held[i]) * rate + fade)
        d.momentum[i] = momentum[i]
        d.bias[i] = bias
        d.driving[i] = driving
    return has_oscillated


@inlined_exactly
def poles_of_links(d, fast, lowered):
    """rad/s, the poles of the estimates of the links: `fast`, or what they have fallen to."""
    bandwidth = lowered if d.is_lowered[0] > 0 else fast
    for _ in range(1, d.is_lowered[0]):
        bandwidth *= 0.5
    return bandwidth


@inlined_exactly
def limited_by_step(bandwidth, step):
    """rad/s, the poles that states of every `step` s suffice for. Where they are sparse, above all
    those of one side, faster estimates would drive the arm."""
    return bandwidth if bandwidth * step <= LONGEST_STEP else LONGEST_STEP / step


@inlined_exactly
def _lower_links(d):
    """Lower the poles of the estimates, and count swings anew. The first time, the estimates
    approach the middle of their last swings: the oscillation in the low-passes would otherwise
    leave them slowly. Later, at a turning point, they go on from where they are, without a step."""
    for i in range(d.link.shape[0]):
        middle = d.link_lags[3, i]
        if d.swings[i] > 0:
            middle = d.turn[i] + (d.direction[i] - 0.5) * d.swing[i]
        if d.is_lowered[0] == 0:
            for k in range(3):
                d.link_lags[k, i] = middle
        d.swings[i] = 0
    d.is_lowered[0] += 1


@inlined_exactly
def _observe_motors(a, d, limit, step, weights, thetad, load, sent):
    for j in range(thetad.shape[0]):
        is_rigid = a.is_rigid[a.joint_of_motor[j]]
        momentum = a.motor_inertia[j] * thetad[j]
        carried = sent[j] if is_rigid else load[j]
        bias = friction(a.motor_rows, j, thetad[j], carried)
        if not is_rigid:
            bias += load[j]
        if d.is_started[0] != 0 and step <= MAX_STEP and not is_rigid:
            mean = (momentum - d.motor_momentum[j]) / step - sent[j]
            unexplained = mean + 0.5 * (bias + d.motor_bias[j])
            advance_low_pass(d.motor_lags, j, weights, unexplained)
            value, _ = soft_limit(d.motor_lags[3, j], limit[j])
            d.motor[j] = value
        d.motor_momentum[j] = momentum
        d.motor_bias[j] = bias


@inlined_exactly
def observe_disturbances(
    a, d, bandwidth, link_bandwidth, lowered_bandwidth, link_limit, motor_limit, band, step, qd,
    thetad, momentum, beta, springs, load, sent, known, wanted_speed, wanted_rate
):  # fmt: skip
    """Estimate what the model does not explain, `step` after the last estimate; once the links have
    oscillated, theirs with the lowered bandwidth, and half of it each time that they do so again.

    The torques `sent` to the motors have acted since then; those of the springs, the loads of the
    motors behind them, and the known external torques act now. wanted_speed : of the joints along
    the desired motion; wanted_rate : of their torques, less the disturbance.
    """
    poles = poles_of_links(d, link_bandwidth, lowered_bandwidth)
    of_links = limited_by_step(poles, step)
    weights = low_pass_weights(of_links, step)
    has_oscillated = _observe_links(
        a, d, of_links, LONGEST * link_bandwidth / poles, link_limit, band, step, weights, qd,
        momentum, beta, springs, sent, known, wanted_speed, wanted_rate,
    )  # fmt: skip
    if has_oscillated != 0 and link_bandwidth > lowered_bandwidth and d.is_lowered[0] <= HALVINGS:
        _lower_links(d)
    weights = low_pass_weights(limited_by_step(bandwidth, step), step)
    _observe_motors(a, d, motor_limit, step, weights, thetad, load, sent)
    d.is_started[0] = 1


_OBSERVE = compiled_exactly(observe_disturbances)
_RESET = compiled_exactly(reset_disturbances)


class DisturbanceCompensation(IndependentCopies):
    """Estimates the torques on links and motors that the model does not explain.

    >>> compensation = DisturbanceCompensation(model, actuators, bandwidth=120.0)
    >>> compensation.update(1e-3, (q, qd), (theta, thetad), sent)  # every cycle

    Parameters
    ----------
    bandwidth : magnitude in rad/s of the four equal poles of each estimate; the estimates lag by
        4 / bandwidth.
    lowered_bandwidth : that of the links once they have oscillated, of which half or a quarter
        remain if they do so again; None: the same. If a limit of the torques is infinite, nothing
        tells an oscillation from noise, and it applies from the start.
    share : largest disturbance that is compensated, as a share (0 to 1) of the motors' torque
        limits; at a joint with two motors, of the sum of their limits.
    band : (n,) N m or N, within which the estimates of the links are held at rest, see the module;
        0 or None: they are never held.

    Attributes, overwritten in place: `link` and `link_rate` (n,), d in N m and d' in N m/s, zero
    until the second update; `motor` (m,), d_m in N m, zero for motors of rigid joints, whose
    disturbances appear at the link. All are limited, see :func:`soft_limit`. Not thread-safe.
    Raises InputError for values out of range.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        bandwidth: float,
        *,
        lowered_bandwidth: float | None = None,
        share: float = SHARE,
        band: Array | None = None,
    ) -> None:
        n, m = actuators.n, len(actuators.motors)
        if not 0.0 <= share <= 1.0:
            raise InputError(f"share of the torque limits is {share}: must be from 0 to 1")
        self.actuators = actuators
        limit = self._limit = share * actuators.torque_limit if share else np.zeros(m)
        self._link_limit: Array = np.asarray(
            np.bincount(actuators.joint_of_motor, limit, n), dtype=np.float64
        )
        self.bandwidth = positive("bandwidth", bandwidth, "rad/s")
        own = bandwidth if lowered_bandwidth is None else lowered_bandwidth
        self.lowered_bandwidth = min(positive("lowered_bandwidth", own, "rad/s"), self.bandwidth)
        is_known = bool(np.isfinite(self._link_limit).all())
        self._fastest = self.bandwidth if is_known else self.lowered_bandwidth
        self._actuation = actuation(actuators)
        self._memory = record_fields.zeros(Disturbances, n=n, m=m)
        self.link, self.link_rate = self._memory.link, self._memory.link_rate
        self.motor: Array = self._memory.motor
        self._q, self._theta = np.zeros((2, n)), np.zeros((2, m))
        self._band = np.zeros(n) if band is None else band
        self._nothing, self._moving = np.zeros(n), np.full(n, np.inf)
        self.springs = SpringSolver(actuators, *self._q, *self._theta)
        self.set_model(model)
        self.reset()  # compiles

    def set_model(self, model: MultibodyModel) -> None:
        """Use another model of the robot; the estimates continue from their values."""
        links = driven_links(model, self.actuators, has_sensors=False).model
        self._solver = momentum_solver(links)
        bandwidths = self.bandwidth, self._fastest, self.lowered_bandwidth
        limits = self._link_limit, self._limit, self._band
        qd, (momentum, beta, _) = self._solver.state[1], self._solver.result
        self._observe = BoundCall(
            _OBSERVE, self._actuation, self._memory, *bandwidths, *limits, ..., qd, ..., momentum,
            beta,
        )  # fmt: skip
        still = np.zeros(len(self._limit))
        self.update(np.inf, tuple(self._q), tuple(self._theta), still)  # compiles
        self._memory.is_started[0] = 0  # the momentum of another model is not comparable

    @property
    def lowerings(self) -> int:
        """How often the poles of the links have fallen because one oscillated: to
        `lowered_bandwidth`, then each time to half."""
        return int(self._memory.is_lowered[0])

    @lowerings.setter
    def lowerings(self, value: int) -> None:
        self._memory.is_lowered[0] = value

    @property
    def link_bandwidth(self) -> float:
        """rad/s, the present poles of the links."""
        return float(poles_of_links(self._memory, self._fastest, self.lowered_bandwidth))

    @property
    def memory(self) -> tuple[Array, ...]:
        """The arrays that every update after the first reads and overwrites."""
        d = self._memory
        own = d.motor_momentum, d.motor_bias, d.link_lags, d.motor_lags
        return (d.momentum, d.driving, d.bias, *own)

    def reset(self) -> None:
        """Set the estimates to zero; the next update is the first. `lowerings` remain."""
        _RESET(self._memory)

    def update(
        self,
        step: float,
        links: Sequence[Array],
        motors: Sequence[Array],
        sent: Array,
        known: Array | None = None,
        wanted_speed: Array | None = None,
        wanted_rate: Array | None = None,
        springs: SpringSolver | None = None,
    ) -> None:
        """Update the estimates to the present state.

        step : s since the last update; after more than MAX_STEP the estimates do not change.
        links : q, q' (n,); motors : theta, theta' (m,).
        sent : (m,) motor torques that acted since the last update.
        known : (n,) external joint torques that the law already takes into account.
        wanted_speed : (n,) of the joints along the desired motion; without it, nothing is held.
        wanted_rate : (n,) rate of the joint torques along it, less `link_rate`.
        springs : at this state, if the caller has evaluated them.
        """
        if springs is None:
            springs = self.springs
            self._q[:], self._theta[:] = links, motors
            springs.update()
        self._solver.state[0], self._solver.state[1] = links
        self._solver.update()
        self._observe(
            step, motors[1], springs.torque, springs.load, sent,
            self._nothing if known is None else known,
            self._moving if wanted_speed is None else wanted_speed,
            self._nothing if wanted_rate is None else wanted_rate,
        )  # fmt: skip
