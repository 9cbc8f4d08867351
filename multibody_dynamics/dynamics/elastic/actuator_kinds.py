"""What moves a joint: rigid, series elastic and variable stiffness actuators.

Every motor obeys, on the link side of the gear,

    M_m theta'' + load + friction(theta') = tau_m,
    friction(v) = viscous v + coulomb tanh(v / coulomb_velocity),

and the springs make the joint torque Q and the loads of the motors from the deflections:

    kind                 joint torque                            load of the motor
    rigid                theta = q                               Q
    series elastic       Q = s(phi) + d phi', phi = theta - q    Q
    variable stiffness   Q = k g(phi), phi = theta - q           Q; kappa G(phi) on the one that
                                                                 sets k = k_0 + kappa theta_k
    antagonistic         Q = s_a(theta_a - q) - s_b(q - theta_b) s_a; -s_b on the antagonist

with increasing laws s, g and G the integral of g. With two motors a joint has a second flat output:
its stiffness sigma = -dQ/dq (motors held), or the pretension (s_a + s_b) / 2. See G. Palli,
C. Melchiorri, A. De Luca, ICRA 2008, and G. Buondonno, A. De Luca, RA-L 2016.

Damping d in the spring lowers the relative degree: Q = s(phi) + d phi' is then no equation for phi
but a filter of first order,

    phi' = (Q - s(phi)) / d,    theta'' = q'' + (Q' - s'(phi) phi') / d,

with a state phi that needs an initial value. Forward in time it is stable (time constant d / s'),
so that a wrong initial value is forgotten. The feedforward needs Q', but neither Q'' nor q''''.

Spong's simplification: a rotor's kinetic energy is M_m theta'^2 / 2, that of its own spin. What it
leaves out is the motion of the rotor's axis, of the order of 1 / gear ratio of the rotor's own
torque (with a ratio of 100, 1 % of M_m times the accelerations of the joints before it); the
rotor's mass belongs to the link that carries it. Direct drives (ratio near 1) need the complete
model, with inertial coupling of motors and links, whose feedforward needs derivatives of q beyond
the fourth (A. De Luca, P. Tomei, in Theory of Robot Control, Springer 1996).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import factorial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, InputError, as_real
from .springs import Beyond, LinearSpring, Spring, solve_increasing

Rows = Sequence[Array]
"""A quantity and its first and second time derivatives, (...) each."""


class MotorRows(NamedTuple):
    """What the flat relations say of one motor, (...) each."""

    position: Array
    velocity: Array
    acceleration: Array
    load: Array
    deflection: Array


class SpringRows(NamedTuple):
    """What the springs of one joint do: Q, Q', sigma; load and deflection of each motor, (...)."""

    torque: Array
    torque_rate: Array
    stiffness: Array
    loads: tuple[Array, ...]
    deflections: tuple[Array, ...]


@dataclass(frozen=True)
class Motor:
    """Inertia of rotor and gear, friction and limits, on the link side of the gear.

    Units of a revolute joint; those of a prismatic one are kg, N s/m, N and m/s.
    Raises InputError for values that no hardware has.
    """

    inertia: float  # kg m^2
    gear_ratio: float = 1.0  # motor travel per link travel
    viscous: float = 0.0  # N m s/rad
    coulomb: float = 0.0  # N m
    coulomb_velocity: float = 1.0  # rad/s, at which friction is 0.76 coulomb
    torque_limit: float = np.inf  # N m
    speed_limit: float = np.inf  # rad/s

    def __post_init__(self) -> None:
        for each in fields(self):
            value = float(as_real(each.name, getattr(self, each.name)))
            object.__setattr__(self, each.name, value)
            may_be_zero = each.name in ("inertia", "viscous", "coulomb")
            may_be_infinite = each.name.endswith("limit")
            if not (value > 0.0 or (may_be_zero and value == 0.0)):
                right = "zero or greater" if may_be_zero else "greater than zero"
                raise InputError(f"{each.name} of the motor is {value:g}: must be {right}")
            if np.isinf(value) and not may_be_infinite:
                raise InputError(f"{each.name} of the motor is {value:g}: must be finite")


def smooth_friction(velocity: Array, viscous: Any, coulomb: Any, coulomb_velocity: Any) -> Array:
    """Torque that friction takes: viscous, and Coulomb's, smoothed through zero."""
    return np.asarray(viscous * velocity + coulomb * np.tanh(velocity / coulomb_velocity))


@dataclass(frozen=True)
class Actuator(ABC):
    """What moves one joint: its motors and the springs in front of them."""

    @property
    @abstractmethod
    def motors(self) -> tuple[Motor, ...]: ...

    @property
    def second_output(self) -> Literal["stiffness", "pretension"] | None:
        """What the joint has to be told beside its motion."""
        return None

    @property
    def suffixes(self) -> tuple[str, ...]:
        """By which the names of the motors differ from that of the joint."""
        return ("",)

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        """The travel of the spring in front of each motor."""
        return ((-np.inf, np.inf),) * len(self.motors)

    @abstractmethod
    def motor_rows(
        self, q: Rows, Q: Rows, second: Rows, deflection: Array | None, beyond: Beyond
    ) -> tuple[MotorRows, ...]:
        """Where the motors must be that the joint moves along q under the torque Q.

        second: the second output, if there is one; deflection: of a damped spring, its state.
        """

    @abstractmethod
    def spring_rows(
        self, q: Array, qd: Array, theta: Rows, thetad: Rows, k: Rows, beyond: Beyond
    ) -> SpringRows:
        """What the springs do with the link at q and the motors at theta, each with its rate.

        k: stiffness and its rate where it is an input that no motor shows.
        """

    @abstractmethod
    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        """Where the link is while the motors are at theta and the joint torque is Q.

        k: the stiffness where it is an input that no motor shows; deflection: of a damped spring.
        """

    def second_output_range(self, Q: Array, torque_share: float = np.inf) -> tuple[Array, Array]:
        """Least and greatest second output that can be had with the joint torque Q.

        torque_share : of the torque limits of the motors, that holds it at rest; limits do not
        count if it is not given. The least is above the greatest where Q itself is too much.
        """
        return np.full_like(Q, -np.inf), np.full_like(Q, np.inf)


@dataclass(frozen=True)
class Rigid(Actuator):
    """Motor and link are one. The inertia may be zero where the model counts the rotor."""

    motor: Motor

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)

    def motor_rows(
        self, q: Rows, Q: Rows, second: Rows, deflection: Array | None, beyond: Beyond
    ) -> tuple[MotorRows, ...]:
        return (MotorRows(q[0], q[1], q[2], Q[0], np.zeros_like(q[0])),)

    def spring_rows(
        self, q: Array, qd: Array, theta: Rows, thetad: Rows, k: Rows, beyond: Beyond
    ) -> SpringRows:
        unknown = np.full_like(q, np.nan)
        stiff = np.full_like(q, np.inf)
        return SpringRows(unknown, unknown, stiff, (unknown,), (np.zeros_like(q),))

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        return theta[0]


@dataclass(frozen=True)
class SeriesElastic(Actuator):
    """A spring of any law between motor and link, and a damper (N m s/rad) beside it or none."""

    motor: Motor
    spring: Spring
    damping: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.damping < np.inf:
            raise InputError(f"damping of the spring is {self.damping}: must be zero or greater")
        _check_parts(self.motor, self.spring)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        return (self.spring.travel,)

    def motor_rows(
        self, q: Rows, Q: Rows, second: Rows, deflection: Array | None, beyond: Beyond
    ) -> tuple[MotorRows, ...]:
        if self.damping == 0.0:
            phi, phid, phidd = self.spring.deflection_motion(*Q, beyond=beyond)
        elif deflection is None:
            raise InputError(
                "the deflection of a damped spring is a state of the feedforward: give `deflection`"
            )
        else:
            phi = deflection
            s, slope, _, _ = self.spring.derivatives(phi, beyond=beyond)
            phid = (Q[0] - s) / self.damping
            phidd = (Q[1] - slope * phid) / self.damping
        return (MotorRows(q[0] + phi, q[1] + phid, q[2] + phidd, Q[0], phi),)

    def spring_rows(
        self, q: Array, qd: Array, theta: Rows, thetad: Rows, k: Rows, beyond: Beyond
    ) -> SpringRows:
        phi, phid = theta[0] - q, thetad[0] - qd
        s, slope, _, _ = self.spring.derivatives(phi, beyond=beyond)
        torque = s + self.damping * phid
        rate = slope * phid if self.damping == 0.0 else np.full_like(phid, np.nan)
        return SpringRows(torque, rate, slope, (torque,), (phi,))

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        if self.damping == 0.0:
            return np.asarray(theta[0] - self.spring.deflection(Q, beyond=beyond))
        if deflection is None:
            raise InputError("Q of a damped spring depends on the past: give its deflection")
        return np.asarray(theta[0] - deflection)

    def torque_rate(self, phi: Array, phid: Array, phidd: Array, beyond: Beyond) -> Array:
        """Q' = s' phi' + d phi''."""
        return self.spring.stiffness(phi, beyond=beyond) * phid + self.damping * phidd

    def settled_deflection(self, Q: Rows, *, beyond: Beyond = "raise") -> Array:
        """phi of the filter when its start is long forgotten.

        Exact for a linear law and a torque that is a parabola of time; in general to second order
        in the time constant.
        """
        phi, _, phidd = self.spring.deflection_motion(*Q, beyond=beyond)
        slope = self.spring.stiffness(phi, beyond=beyond)
        phid = (Q[1] - self.damping * phidd) / slope
        return self.spring.deflection(Q[0] - self.damping * phid, beyond=beyond)

    def deflection_after(
        self, phi: Array, Q: Rows, dt: float, *, beyond: Beyond = "raise"
    ) -> Array:
        """phi after dt in s of the torque Q + Q' t + Q'' t^2 / 2 (a Taylor polynomial).

        Exact for a linear law. For others the filter is linearised at phi, solved exactly, and
        what the tangent leaves of the law is put in as a torque, three times over: a step should
        be so short that the stiffness changes little in it, but may be far longer than d / s'.
        Without damping, phi itself is returned.
        """
        if self.damping == 0.0:
            return phi
        s, slope, _, _ = self.spring.derivatives(phi, beyond=beyond)
        push = (Q[0] - s, Q[1], Q[2])
        if isinstance(self.spring, LinearSpring):
            return np.asarray(phi + _relaxed(push, slope, self.damping, dt))
        middle = end = np.zeros_like(phi)
        for _ in range(4):
            rest = [
                self.spring.torque(phi + x, beyond="continue") - s - slope * x
                for x in (middle, end)
            ]
            first, second = (4.0 * rest[0] - rest[1]) / dt, 4.0 * (rest[1] - 2.0 * rest[0]) / dt**2
            bent = (push[0], push[1] - first, push[2] - second)
            middle, end = (_relaxed(bent, slope, self.damping, t) for t in (0.5 * dt, dt))
        return np.asarray(phi + end)


@dataclass(frozen=True)
class StiffnessDrive:
    """The motor that sets a stiffness k = k_0 + kappa theta_k, both in N m/rad (per rad of it)."""

    motor: Motor
    offset: float = 0.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        _check_parts(self.motor)
        if not (np.isfinite(self.offset) and np.isfinite(self.gain) and self.gain != 0.0):
            raise InputError(
                f"stiffness drive: k = {self.offset} + {self.gain} theta_k: must be finite, the "
                f"gain not zero"
            )


LEAST_SHARE = 0.1  # of the least stiffness


@dataclass(frozen=True)
class VariableStiffness(Actuator):
    """Q = k g(phi): a spring whose stiffness k is an input of its own, the second flat output.

    stiffness_range : least and greatest k in N m/rad, positive. A drive beyond the range sets what
        it says, but a tenth of the least k is always there: nobody may divide by less.
    shape : the law g in rad, with the slope 1 at zero; LinearSpring(1.0) gives Q = k phi.
    drive : what sets k; None if k is simply there, and its rates cost nothing.
    """

    motor: Motor
    stiffness_range: tuple[float, float]
    shape: Spring = field(default_factory=lambda: LinearSpring(1.0))
    drive: StiffnessDrive | None = None

    def __post_init__(self) -> None:
        least, greatest = self.stiffness_range
        if not 0.0 < least < greatest:
            raise InputError(
                f"stiffness_range: {least:g} to {greatest:g}: must be positive and increase"
            )
        _check_parts(self.motor, self.shape)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,) if self.drive is None else (self.motor, self.drive.motor)

    @property
    def suffixes(self) -> tuple[str, ...]:
        return ("",) if self.drive is None else ("", "_stiffness")

    @property
    def second_output(self) -> Literal["stiffness", "pretension"]:
        return "stiffness"

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        return (self.shape.travel, (-np.inf, np.inf))[: len(self.motors)]

    def motor_rows(
        self, q: Rows, Q: Rows, second: Rows, deflection: Array | None, beyond: Beyond
    ) -> tuple[MotorRows, ...]:
        """With u = Q / k: u' = (Q' - k' u) / k, u'' = (Q'' - 2 k' u' - k'' u) / k, g(phi) = u."""
        k, kd, kdd = second
        least, greatest = self.stiffness_range
        wrong = ~(k > 0.0) if beyond == "continue" else (k < least) | (k > greatest)
        if wrong.any():
            raise InputError(
                f"stiffness of {k[wrong][0]:.6g} N m/rad: must be from {least:.6g} to "
                f"{greatest:.6g} N m/rad"
            )
        u = Q[0] / k
        ud = (Q[1] - kd * u) / k
        udd = (Q[2] - 2.0 * kd * ud - kdd * u) / k
        phi, phid, phidd = self.shape.deflection_motion(u, ud, udd, beyond=beyond)
        rows = MotorRows(q[0] + phi, q[1] + phid, q[2] + phidd, Q[0], phi)
        if self.drive is None:
            return (rows,)
        gain = self.drive.gain
        load = gain * self.shape.energy(phi, beyond=beyond)
        position = (k - self.drive.offset) / gain
        return rows, MotorRows(position, kd / gain, kdd / gain, load, np.zeros_like(phi))

    def spring_rows(
        self, q: Array, qd: Array, theta: Rows, thetad: Rows, k: Rows, beyond: Beyond
    ) -> SpringRows:
        phi, phid = theta[0] - q, thetad[0] - qd
        if self.drive is None:
            value, rate = k
        else:
            value, rate, is_driven = self.driven(theta[1], thetad[1])
        g, slope, _, _ = self.shape.derivatives(phi, beyond=beyond)
        torque = value * g
        torque_rate = rate * g + value * slope * phid
        if self.drive is None:
            return SpringRows(torque, torque_rate, value * slope, (torque,), (phi,))
        load = is_driven * self.drive.gain * self.shape.energy(phi, beyond=beyond)
        deflections = (phi, np.zeros_like(phi))
        return SpringRows(torque, torque_rate, value * slope, (torque, load), deflections)

    def driven(self, position: Array, velocity: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """k and k' where the drive is, and whether it sets them there: below LEAST_SHARE of the
        range it does not."""
        assert self.drive is not None
        k = np.asarray(self.drive.offset + self.drive.gain * position)
        least = LEAST_SHARE * self.stiffness_range[0]
        is_driven = k >= least
        return np.maximum(k, least), self.drive.gain * velocity * is_driven, is_driven

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        if self.drive is not None:
            k = self.driven(theta[1], 0.0 * theta[1])[0]
        assert k is not None
        if not (k > 0.0).all():
            raise InputError(f"stiffness of {np.min(k):.6g} N m/rad: must be positive")
        return np.asarray(theta[0] - self.shape.deflection(Q / k, beyond=beyond))

    def second_output_range(self, Q: Array, torque_share: float = np.inf) -> tuple[Array, Array]:
        """The load kappa G(phi) of the stiffness drive falls with k: it bounds k from below."""
        least, greatest = (np.full_like(Q, end) for end in self.stiffness_range)
        if self.drive is None or np.isinf(limit := torque_share * self.drive.motor.torque_limit):
            return least, greatest
        side = np.where(Q < 0.0, -1.0, 1.0)
        widest = np.abs(self.shape.deflection(Q / least, beyond="continue"))

        def energy(phi: Array) -> tuple[Array, Array]:
            g = self.shape.torque(side * phi, beyond="continue")
            return self.shape.energy(side * phi, beyond="continue"), side * g

        wanted = np.full_like(widest, limit / abs(self.drive.gain))
        phi = side * solve_increasing(energy, wanted, 0.0, widest)
        g = self.shape.torque(phi, beyond="continue")
        needed = np.divide(Q, g, out=least.copy(), where=g != 0.0)
        return np.maximum(least, needed), greatest


@dataclass(frozen=True)
class Antagonistic(Actuator):
    """Two motors that pull at the link from both sides: Q = s_a(theta_a - q) - s_b(q - theta_b).

    agonist, antagonist : the motors; positive joint torque is the agonist's.
    agonist_spring, antagonist_spring : laws of the springs' extensions, of finite travel. To
        regulate the stiffness they must harden (s'' > 0) between the ends of it: then
        sigma = s_a' + s_b' increases with the pretension.
    regulates : the second flat output, "stiffness", or "pretension" p = (s_a + s_b) / 2 in N m.
    """

    agonist: Motor
    antagonist: Motor
    agonist_spring: Spring
    antagonist_spring: Spring
    regulates: Literal["stiffness", "pretension"] = "stiffness"

    def __post_init__(self) -> None:
        if self.regulates not in ("stiffness", "pretension"):
            raise InputError(f"regulates '{self.regulates}': must be stiffness or pretension")
        for motor, spring in zip(self.motors, self._springs, strict=True):
            _check_parts(motor, spring)
            if not np.isfinite(spring.travel).all():
                raise InputError("an antagonistic spring needs a finite travel")
            inner = np.linspace(*spring.travel, 1002)[1:-1]
            bend = spring.derivatives(inner)[2]
            if self.regulates == "stiffness" and bend.min() <= 0.0:
                raise InputError(
                    f"an antagonistic spring must harden (s'' > 0) on its travel, or the stiffness "
                    f"cannot be set; at {inner[bend.argmin()]:.6g} s'' is {bend.min():.6g}"
                )

    @property
    def motors(self) -> tuple[Motor, ...]:
        return self.agonist, self.antagonist

    @property
    def suffixes(self) -> tuple[str, ...]:
        return "_agonist", "_antagonist"

    @property
    def _springs(self) -> tuple[Spring, Spring]:
        return self.agonist_spring, self.antagonist_spring

    @property
    def second_output(self) -> Literal["stiffness", "pretension"]:
        return self.regulates

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        return self.agonist_spring.travel, self.antagonist_spring.travel

    def motor_rows(
        self, q: Rows, Q: Rows, second: Rows, deflection: Array | None, beyond: Beyond
    ) -> tuple[MotorRows, ...]:
        if self.regulates == "pretension":
            extensions: tuple[Rows, ...] = tuple(
                spring.deflection_motion(
                    *(p + side * T for p, T in zip(second, Q, strict=True)), beyond=beyond
                )
                for spring, side in zip(self._springs, (0.5, -0.5), strict=True)
            )
        else:
            extensions = self._extensions(Q, second, beyond)
        motors = []
        for spring, phi, side in zip(self._springs, extensions, (1.0, -1.0), strict=True):
            position, velocity, acceleration = (
                x + side * extension for x, extension in zip(q, phi, strict=True)
            )
            load = side * spring.torque(phi[0], beyond="continue")
            motors.append(MotorRows(position, velocity, acceleration, load, phi[0]))
        return tuple(motors)

    def _extensions(self, Q: Rows, sigma: Rows, beyond: Beyond) -> tuple[Rows, Rows]:
        """phi_a and phi_b with rates, of s_a(phi_a) - s_b(phi_b) = Q, s_a' + s_b' = sigma:

        [ s_a'   -s_b'  ] [ phi_a' ]   [ Q'     ]
        [ s_a''   s_b'' ] [ phi_b' ] = [ sigma' ]   and once more differentiated.
        """
        found = self._newton(Q[0], sigma[0])
        phi_a, phi_b = self._bracketed(Q[0], sigma[0], beyond) if found is None else found
        (_, a1, a2, a3), (_, b1, b2, b3) = self._laws(phi_a, phi_b)
        det = a1 * b2 + b1 * a2

        def solved(torque: Array, bend: Array) -> tuple[Array, Array]:
            return (b2 * torque + b1 * bend) / det, (a1 * bend - a2 * torque) / det

        da, db = solved(Q[1], sigma[1])
        dda, ddb = solved(Q[2] - a2 * da**2 + b2 * db**2, sigma[2] - a3 * da**2 - b3 * db**2)
        return (phi_a, da, dda), (phi_b, db, ddb)

    def _newton(self, Q: Array, sigma: Array) -> tuple[Array, Array] | None:
        """The extensions by Newton's method from the middle of the travels; None if not found."""
        travels = np.array([spring.travel for spring in self._springs])
        lower, upper = (travels[:, k].reshape(2, *(1,) * Q.ndim) for k in (0, 1))
        phi = np.broadcast_to(0.5 * (lower + upper), (2, *Q.shape))
        for _ in range(20):
            (a, a1, a2, _), (b, b1, b2, _) = self._laws(*phi)
            torque, bend = Q - a + b, sigma - a1 - b1
            det = a1 * b2 + b1 * a2
            if (det <= 0.0).any():
                return None
            step = np.array([b2 * torque + b1 * bend, a1 * bend - a2 * torque]) / det
            phi = np.minimum(np.maximum(phi + step, lower), upper)
            if (np.abs(step) < 1e-8 * (upper - lower)).all():  # the next one would be below 1e-15
                return phi[0], phi[1]
        return None

    def _bracketed(self, Q: Array, sigma: Array, beyond: Beyond) -> tuple[Array, Array]:
        """The extensions by way of the pretension, with which the stiffness increases: slower, but
        sure, and knows what cannot be had."""
        half = 0.5 * Q

        def stiffness(p: Array) -> tuple[Array, Array]:
            (_, a1, a2, _), (_, b1, b2, _) = self._laws(*self._at_pretension(p, half))
            return a1 + b1, a2 / a1 + b2 / b1

        least, greatest = self._pretension_range(Q)
        if beyond == "raise" and (none := least > greatest).any():
            raise InputError(
                f"joint torque of {Q[none][0]:.6g} N m is beyond what springs of torques "
                f"{self.agonist_spring.torque_range} and {self.antagonist_spring.torque_range} give"
            )
        p = solve_increasing(stiffness, sigma, least, np.maximum(least, greatest))
        off = np.abs(stiffness(p)[0] - sigma) > 1e-9 * np.abs(sigma)
        if beyond == "raise" and off.any():
            low, high = (end[off][0] for end in self.second_output_range(Q))
            raise InputError(
                f"stiffness of {sigma[off][0]:.6g} N m/rad cannot be had at a joint torque of "
                f"{Q[off][0]:.6g} N m: {low:.6g} to {high:.6g} N m/rad"
            )
        return self._at_pretension(p, half)

    def _laws(self, phi_a: Array, phi_b: Array) -> tuple[tuple[Array, ...], ...]:
        """s, s', s'', s''' of both springs, at the nearer end of the travel if beyond."""
        return tuple(
            spring.law(np.minimum(np.maximum(phi, spring.travel[0]), spring.travel[1]))
            for spring, phi in zip(self._springs, (phi_a, phi_b), strict=True)
        )

    def _at_pretension(self, p: Array, half: Array) -> tuple[Array, Array]:
        """Extension of each spring at the pretension p and the joint torque 2 half."""
        a = self.agonist_spring.deflection(p + half, beyond="continue")
        return a, self.antagonist_spring.deflection(p - half, beyond="continue")

    def _pretension_range(self, Q: Array, torque_share: float = np.inf) -> tuple[Array, Array]:
        (a_low, a_high), (b_low, b_high) = (spring.torque_range for spring in self._springs)
        a_high, b_high = (
            min(high, torque_share * motor.torque_limit)
            for high, motor in zip((a_high, b_high), self.motors, strict=True)
        )
        half = 0.5 * Q
        return np.maximum(a_low - half, b_low + half), np.minimum(a_high - half, b_high + half)

    def spring_rows(
        self, q: Array, qd: Array, theta: Rows, thetad: Rows, k: Rows, beyond: Beyond
    ) -> SpringRows:
        phi_a, phi_b = theta[0] - q, q - theta[1]
        s_a, a1, _, _ = self.agonist_spring.derivatives(phi_a, beyond=beyond)
        s_b, b1, _, _ = self.antagonist_spring.derivatives(phi_b, beyond=beyond)
        rate = a1 * (thetad[0] - qd) - b1 * (qd - thetad[1])
        return SpringRows(s_a - s_b, rate, a1 + b1, (s_a, -s_b), (phi_a, phi_b))

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        """Q falls with q. Out of both travels, both springs go on along tangents: one more step of
        Newton's method is exact there."""
        (a_low, a_high), (b_low, b_high) = self.limits_of_springs

        def law(x: Array, beyond: Beyond = "continue") -> tuple[Array, Array]:
            a = self.agonist_spring.derivatives(theta[0] + x, beyond=beyond)
            b = self.antagonist_spring.derivatives(-x - theta[1], beyond=beyond)
            return a[0] - b[0], a[1] + b[1]

        lower = np.minimum(a_low - theta[0], -b_high - theta[1])
        upper = np.maximum(a_high - theta[0], -b_low - theta[1])
        x = solve_increasing(law, Q, lower, upper)
        torque, slope = law(x)
        x = x + (Q - torque) / slope
        law(x, beyond)
        return -x

    def second_output_range(self, Q: Array, torque_share: float = np.inf) -> tuple[Array, Array]:
        ends = self._pretension_range(Q, torque_share)
        if self.regulates == "pretension":
            return ends
        least, greatest = (
            sum((law[1] for law in self._laws(*self._at_pretension(p, 0.5 * Q))), np.zeros_like(Q))
            for p in ends
        )
        return least, greatest


def _check_parts(motor: Motor, *springs: Spring) -> None:
    for spring in springs:
        if not isinstance(spring, Spring):
            raise InputError(f"expected a Spring, such as LinearSpring(stiffness), got {spring!r}")
    if motor.inertia == 0.0:
        raise InputError("inertia of the motor is 0: must be greater than zero behind a spring")


def _relaxed(push: Rows, stiffness: Array, damping: float, t: float) -> Array:
    """x(t) of d x' + K x = P + P' t + P'' t^2 / 2, x(0) = 0, with phi-functions of z = -K t / d:

    x = t / d (P phi_1(z) + P' t phi_2(z) + P'' t^2 phi_3(z)),  phi_k+1 = (phi_k - 1 / k!) / z.
    """
    z = -stiffness * t / damping
    near = np.where(z > -1.0, z, 0.0)
    series = sum(near**j / factorial(j + 3) for j in range(18))
    second = near * series + 0.5
    small = (near * second + 1.0, second, series)
    far = np.where(z > -1.0, -1.0, z)
    first = np.expm1(far) / far
    second = (first - 1.0) / far
    large = (first, second, (second - 0.5) / far)
    one, two, three = (np.where(z > -1.0, a, b) for a, b in zip(small, large, strict=True))
    return np.asarray(t / damping * (push[0] * one + push[1] * t * two + push[2] * t**2 * three))
