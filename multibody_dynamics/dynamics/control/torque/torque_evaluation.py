# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How good a joint is as a torque source: bandwidth, impedance, passivity, noise, limits.

The measures of W. Rampeltshammer, A. Keemink, M. Sytsma, E. van Asseldonk, H. van der Kooij,
"Evaluation and comparison of SEA torque controllers in a unified framework", Actuators 12 (2023)
303, for a single joint under a :class:`.TorqueController`, sampled and with delay; and the torque
that its motor can deliver at a given frequency, after C. Lee, S. Oh, "Performance analysis of
series elastic actuator based on maximum torque transmissibility", arXiv:1902.05346.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core import Array, InputError
from ...elastic import Motor
from .torque_gains import SingleJoint, TorqueGains
from .torque_loop import MAX_DELAY, ComplexArray, LoopTiming, TorqueJoint, TorqueLoop

LOWEST = 0.1  # Hz
POINTS = 300
HALF_POWER = 0.5**0.5
VIOLATION = 1e-6  # of |Z|: a real part below minus this is more than rounding error
HALVINGS = 7  # of the interval in which the delay margin lies


@dataclass(frozen=True, eq=False)
class TorqueEvaluation:
    """A joint under one design of torque control; frequencies in Hz, link side, SI units.

    Attributes
    ----------
    joint, design : names.
    frequency : (k,) up to half the sampling rate.
    locked, free : (k,) response of the spring torque to a reference without rates, with the link
        locked, and with the link free, with its inertia at the position of the design.
    with_rates : (k,) as `locked`, for a reference with its first two derivatives.
    impedance : (k,) Z = -Q / q' at the link, N m s/rad.
    noise : (2,) standard deviations of motor and spring torque from the encoders, N m.
    delay_margin : s, additional delay at which the first loop becomes unstable, with the link
        locked, or with its smallest inertia; inf if both are stable with a total delay of MAX_DELAY
        periods.
    apparent_inertia : M_theta = share M_m, kg m^2.
    """

    joint: str
    design: str
    frequency: Array
    locked: ComplexArray
    with_rates: ComplexArray
    free: ComplexArray
    impedance: ComplexArray
    noise: Array
    delay_margin: float
    apparent_inertia: float

    @property
    def bandwidth(self) -> float:
        """-3 dB frequency of `locked`, Hz; inf if beyond half the sampling rate."""
        return half_power(self.frequency, self.locked)

    @property
    def bandwidth_with_rates(self) -> float:
        """-3 dB frequency of `with_rates`, Hz."""
        return half_power(self.frequency, self.with_rates)

    @property
    def bandwidth_free(self) -> float:
        """-3 dB frequency of `free`, relative to its value at the lowest frequency, Hz."""
        return half_power(self.frequency, self.free)

    @property
    def gain_free(self) -> float:
        """|free| at the lowest frequency: 1 if the link feels the commanded torque."""
        return float(abs(self.free[0]))

    @property
    def peak(self) -> float:
        """Largest |locked|."""
        return float(np.abs(self.locked).max())

    @property
    def rendered_inertia(self) -> float:
        """|Z| / w at 1 Hz, kg m^2: motor inertia felt by a hand that moves the link slowly."""
        z = np.interp(1.0, self.frequency, np.abs(self.impedance))
        return float(z / (2.0 * np.pi))

    @property
    def rendered_stiffness(self) -> float:
        """|Z| w at the highest frequency, N m/rad: the stiffness felt in an impact."""
        return float(abs(self.impedance[-1]) * 2.0 * np.pi * self.frequency[-1])

    @property
    def passivity_margin(self) -> float:
        """Minimum real part of Z, N m s/rad; if negative, the joint is passive only with this much
        viscous friction at the link."""
        return float(self.impedance.real.min())

    @property
    def least_passive_at(self) -> float:
        """Hz, frequency at which the real part of Z is smallest."""
        return float(self.frequency[np.argmin(self.impedance.real)])

    @property
    def first_violation(self) -> float:
        """The lowest frequency at which the joint feeds energy into a link in sinusoidal motion, in
        Hz; inf if there is none below half the sampling rate."""
        wrong = np.flatnonzero(self.impedance.real < -VIOLATION * np.abs(self.impedance))
        return float(self.frequency[wrong[0]]) if wrong.size else float("inf")


def evaluate_torque(
    single: SingleJoint,
    gains: TorqueGains,
    timing: LoopTiming,
    *,
    resolution: float,
    friction: float = 1.0,
    points: int = POINTS,
) -> TorqueEvaluation:
    """Evaluate the design `gains` at a joint.

    timing : as on the robot; noise needs a velocity filter. resolution : resolution of the encoders
    in rad, on the link side of the gear. friction : share of the viscous friction that is
    compensated.
    Raises InputError if the loop is not stable.
    """
    if timing.velocity_filter is None:
        raise InputError("timing: velocity_filter is None; the noise of the encoders depends on it")
    servo = single.servo(gains, timing, friction)
    frequency = np.geomspace(LOWEST, 0.499 / timing.period, points)
    locked, free = (single.loop(servo, is_locked=is_locked) for is_locked in (True, False))
    return TorqueEvaluation(
        joint=single.name,
        design=gains.design,
        frequency=frequency,
        locked=locked.response(frequency).torque,
        with_rates=locked.response(frequency, rates=True).torque,
        free=free.response(frequency).torque,
        impedance=locked.impedance(frequency),
        noise=locked.noise(resolution),
        delay_margin=_delay_margin(single, locked),
        apparent_inertia=servo.share * single.joint.inertia,
    )


def _delay_margin(single: SingleJoint, loop: TorqueLoop) -> float:
    timing = loop.servo.timing

    def is_stable(extra: float) -> bool:
        late = replace(loop.servo, timing=replace(timing, delay=timing.delay + extra))
        links = (np.inf, single.link)
        return all(TorqueLoop(loop.joint, late, link).growth < 0.0 for link in links)

    low, high = 0.0, MAX_DELAY * timing.period - timing.delay
    if is_stable(high):
        return float("inf")
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_stable(middle) else (low, middle)
    return low


def half_power(frequency: Array, response: ComplexArray) -> float:
    """Frequency at which |response| first falls 3 dB below its first value, interpolated; inf if it
    never does."""
    gain = np.abs(response) / abs(response[0])
    below = np.flatnonzero(gain < HALF_POWER)
    if not below.size:
        return float("inf")
    k = int(below[0])
    x, y = np.log(frequency[k - 1 : k + 1]), gain[k - 1 : k + 1]
    return float(np.exp(x[0] + (x[1] - x[0]) * (HALF_POWER - y[0]) / (y[1] - y[0])))


@dataclass(frozen=True)
class TorqueLimits:
    """The torque that a motor in front of a spring with a locked link can deliver at a frequency.

    joint : motor and spring. motor : its limits; those of a joint with two motors apply to each.
    load : N m, which the motor already holds, such as gravity.
    """

    joint: TorqueJoint
    motor: Motor
    load: float = 0.0

    @property
    def available(self) -> float:
        """N m: the torque limit less friction and load; never negative."""
        return max(self.motor.torque_limit - self.motor.coulomb - abs(self.load), 0.0)

    def use(self, amplitude: Any, frequency: Any) -> tuple[Array, Array]:
        """Shares of the available torque and of the speed limit that a torque of `amplitude` in
        N m, as a sine of `frequency` in Hz, uses."""
        w = 2.0 * np.pi * np.asarray(frequency, dtype=np.float64)
        joint = self.joint
        spring = joint.stiffness + 1j * w * joint.damping
        moved = np.asarray(amplitude) / spring  # theta
        torque = moved * (-joint.inertia * w**2 + 1j * w * joint.viscous + spring)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_torque = np.abs(torque) / self.available
        return of_torque, np.abs(moved) * w / self.motor.speed_limit

    def largest(self, frequency: Any) -> Array:
        """The largest amplitude in N m at `frequency` in Hz within both limits."""
        worst = np.maximum(*self.use(1.0, frequency))
        return np.asarray(np.divide(1.0, worst, out=np.full_like(worst, np.inf), where=worst > 0.0))

    def bandwidth(self, amplitude: float) -> float:
        """The large-torque bandwidth: up to this frequency in Hz, a sine of `amplitude` in N m is
        within both limits; 0 if it never is, inf if it is at all frequencies up to 1 MHz.

        Near the resonance of the motor on its spring little torque is needed, and above it the
        speed, or the torque that accelerates the rotor, is the limit.
        """
        hertz = np.geomspace(1e-3, 1e6, 4000)
        beyond = np.flatnonzero(self.largest(hertz) < amplitude)
        if not beyond.size:
            return float("inf")
        k = int(beyond[0])
        if k == 0:
            return 0.0
        low, high = hertz[k - 1], hertz[k]
        for _ in range(50):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if self.largest(middle) >= amplitude else (low, middle)
        return float(low)
