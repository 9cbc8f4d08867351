# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Antagonistic joints: two motors that pull on opposite sides of the link through springs,

    Q = s_a(theta_a - q) - s_b(q - theta_b),

with the loads s_a of the agonist and -s_b of the antagonist. The second flat output is the
stiffness sigma = -dQ/dq = s_a' + s_b' (motors held), or the pretension (s_a + s_b) / 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ...core import Array, InputError, inlined
from ...core.quantities import entries
from ..actuator import (
    STIFFNESS_UNIT,
    TORQUE_UNIT,
    Actuator,
    Identified,
    MotorEntry,
    Rows,
    check_parts,
)
from ..actuator_tables import (
    MOTOR,
    OWN,
    SECOND,
    SECOND_OUTPUT_CLIPPED,
    SPRING,
    ahead,
    drive_spring,
    link_motion,
)
from ..motor import Motor
from ..part_description import read_motor, read_spring
from ..spring_columns import JointSprings, Positions, SpringColumns, middle_slopes
from ..spring_tables import (
    GREATEST,
    LEAST,
    LOWER,
    UPPER,
    law_on_travel,
    spring_deflection,
    spring_deflection_motion,
    spring_law,
)
from ..springs import Beyond, Spring, solve_increasing

BY_STIFFNESS = OWN  # 1 if the second output is the stiffness, 0 if it is the pretension
ITERATIONS = 100  # of the virtual springs
_RESOLUTION = 1e-14  # rad or m


# Antagonistic springs k and k + 1, of extensions a and b:
#
#     s_a(a) - s_b(b) = Q,    s_a'(a) + s_b'(b) = sigma


@inlined
def _solved(a1, a2, b1, b2, torque, bend):
    """x and y of a1 x - b1 y = torque, a2 x + b2 y = bend."""
    det = a1 * b2 + b1 * a2
    return (b2 * torque + b1 * bend) / det, (a1 * bend - a2 * torque) / det


@inlined
def _newton(laws, pieces, own, k, Q, sigma, a, b):
    """The extensions by Newton's method from the guess a, b, and whether it converged."""
    a_low, a_high = laws[k, LOWER], laws[k, UPPER]
    b_low, b_high = laws[k + 1, LOWER], laws[k + 1, UPPER]
    if not (a_low <= a <= a_high and b_low <= b <= b_high):
        a, b = 0.5 * (a_low + a_high), 0.5 * (b_low + b_high)
    for _ in range(20):
        s_a, a1, a2, _ = law_on_travel(laws, pieces, own, k, a)
        s_b, b1, b2, _ = law_on_travel(laws, pieces, own, k + 1, b)
        if not a1 * b2 + b1 * a2 > 0.0:
            return a, b, False
        da, db = _solved(a1, a2, b1, b2, Q - s_a + s_b, sigma - a1 - b1)
        a = min(max(a + da, a_low), a_high)
        b = min(max(b + db, b_low), b_high)
        # the next step would be below 1e-15
        if abs(da) < 1e-8 * (a_high - a_low) and abs(db) < 1e-8 * (b_high - b_low):
            return a, b, True
    return a, b, False


@inlined
def _at_pretension(laws, pieces, own, k, p, half, a, b):
    """Extensions at the pretension p and the joint torque 2 half, from the guess a, b."""
    return (
        spring_deflection(laws, pieces, own, k, p + half, a),
        spring_deflection(laws, pieces, own, k + 1, p - half, b),
    )


@inlined
def _bracketed(laws, pieces, own, k, Q, sigma):
    """The extensions by a search for the pretension, which increases with the stiffness, and
    whether they give Q and sigma. Slower than `_newton`, but guaranteed to converge."""
    half = 0.5 * Q
    low = max(laws[k, LEAST] - half, laws[k + 1, LEAST] + half)
    greatest = min(laws[k, GREATEST] - half, laws[k + 1, GREATEST] + half)
    high = max(low, greatest)
    possible = low <= greatest
    resolution = 4e-16 * max(abs(low), abs(high))
    p, a, b = 0.5 * (low + high), 0.0, 0.0
    for _ in range(200):
        a, b = _at_pretension(laws, pieces, own, k, p, half, a, b)
        _, a1, a2, _ = law_on_travel(laws, pieces, own, k, a)
        _, b1, b2, _ = law_on_travel(laws, pieces, own, k + 1, b)
        error = a1 + b1 - sigma
        if error >= 0.0:
            high = p
        if error <= 0.0:
            low = p
        slope = a2 / a1 + b2 / b1
        better = p - error / slope if slope > 0.0 else 0.5 * (low + high)
        if not low <= better <= high:
            better = 0.5 * (low + high)
        step = abs(better - p)
        p = better
        if step <= resolution:
            break
    a, b = _at_pretension(laws, pieces, own, k, p, half, a, b)
    found = (
        law_on_travel(laws, pieces, own, k, a)[1] + law_on_travel(laws, pieces, own, k + 1, b)[1]
    )
    return a, b, possible and abs(found - sigma) <= 1e-9 * abs(sigma)


@inlined
def _extensions(laws, pieces, own, k, torque, stiffness, a, b):
    """Both extensions with two rates, from the guess a, b, and whether the stiffness is feasible.

    The equations above, differentiated once and twice, are linear in a', b' and a'', b''.
    """
    Q, Qd, Qdd = torque
    sigma, sigmad, sigmadd = stiffness
    a, b, possible = _newton(laws, pieces, own, k, Q, sigma, a, b)
    if not possible:
        a, b, possible = _bracketed(laws, pieces, own, k, Q, sigma)
    _, a1, a2, a3 = law_on_travel(laws, pieces, own, k, a)
    _, b1, b2, b3 = law_on_travel(laws, pieces, own, k + 1, b)
    if not a1 * b2 + b1 * a2 > 0.0:  # springs stop hardening at an end of travel: keep p
        half, halfd = 0.5 * Qd, 0.5 * Qdd
        return (a, half / a1, halfd / a1), (b, -half / b1, -halfd / b1), possible
    da, db = _solved(a1, a2, b1, b2, Qd, sigmad)
    torque_rest = Qdd - a2 * da * da + b2 * db * db
    dda, ddb = _solved(a1, a2, b1, b2, torque_rest, sigmadd - a3 * da * da - b3 * db * db)
    return (a, da, dda), (b, db, ddb), possible


# Flat arrays; tuples of arrays cost time when they are passed on
@inlined
def antagonistic_feedforward(
    joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs
):  # fmt: skip
    """The motors of joint i lead the link by the extensions of their springs."""
    j, k, v = int(joints[i, MOTOR]), int(joints[i, SPRING]), int(joints[i, SECOND])
    deflection, flags, moves = outputs.deflection, outputs.flags, variant[1]
    second = given.second[0, v], moves * given.second[1, v], moves * given.second[2, v]
    possible = True
    if joints[i, BY_STIFFNESS] == 0.0:
        pull = (
            second[0] + 0.5 * Qs[0], second[1] + 0.5 * Qs[1], second[2] + 0.5 * Qs[2]
        )  # fmt: skip
        back = (
            second[0] - 0.5 * Qs[0], second[1] - 0.5 * Qs[1], second[2] - 0.5 * Qs[2]
        )  # fmt: skip
        a = spring_deflection_motion(laws, pieces, own, k, pull, deflection[j])
        b = spring_deflection_motion(laws, pieces, own, k + 1, back, deflection[j + 1])
    else:
        a, b, possible = _extensions(
            laws, pieces, own, k, Qs, second, deflection[j], deflection[j + 1]
        )
    rest = 0.5 * (given.torque[0, i] - Qs[0])  # a load that deflects no spring in this variant
    load_a = spring_law(laws, pieces, own, k, a[0])[0] + rest
    load_b = -spring_law(laws, pieces, own, k + 1, b[0])[0] + rest
    link = link_motion(given, i)
    drive_spring(motors, laws, j, k, ahead(link, 1.0, a), a[0], load_a, outputs)
    drive_spring(motors, laws, j + 1, k + 1, ahead(link, -1.0, b), b[0], load_b, outputs)
    if not possible:
        flags[j] |= SECOND_OUTPUT_CLIPPED
        flags[j + 1] |= SECOND_OUTPUT_CLIPPED


@inlined
def antagonistic_torques(
    joints, laws, pieces, own, i, q, qd, theta, thetad, second, torque, rate, K, load, deflection
):
    """Q = s_a - s_b."""
    j, k = int(joints[i, MOTOR]), int(joints[i, SPRING])
    phi, phid = theta[j] - q[i], thetad[j] - qd[i]
    s, s1, _, _ = spring_law(laws, pieces, own, k, phi)
    phi_b, phid_b = q[i] - theta[j + 1], qd[i] - thetad[j + 1]
    s_b, b1, _, _ = spring_law(laws, pieces, own, k + 1, phi_b)
    deflection[j], deflection[j + 1] = phi, phi_b
    torque[i] = s - s_b
    rate[i] = s1 * phid - b1 * phid_b
    K[i] = s1 + b1
    load[j], load[j + 1] = s, -s_b


@inlined
def _antagonistic_deflection(laws, pieces, own, k, a, b, force, guess):
    """x with s_a(a + x) - s_b(b - x) = force, by Newton's method within a shrinking bracket."""
    x, lower, upper = guess, -np.inf, np.inf
    for _ in range(ITERATIONS):
        s_a, a1, _, _ = spring_law(laws, pieces, own, k, a + x)
        s_b, b1, _, _ = spring_law(laws, pieces, own, k + 1, b - x)
        error = s_a - s_b - force
        if error >= 0.0:
            upper = x
        if error <= 0.0:
            lower = x
        slope = a1 + b1
        better = x - error / slope if slope > 0.0 else x - np.sign(error)
        if not lower <= better <= upper:
            better = 0.5 * (lower + upper)
        step = abs(better - x)
        x = better
        if step <= _RESOLUTION:
            break
    return x


@inlined
def virtual_antagonistic_springs(
    joints, laws, pieces, own, i, second, unloaded, force, force_rate, x, rate, slope, rest
):
    """F = s_a(a + x) - s_b(b - x), with the extensions a and b of the unloaded springs."""
    j, k, F, Fd = int(joints[i, MOTOR]), int(joints[i, SPRING]), force[i], force_rate[i]
    a, b = unloaded[0, j], -unloaded[0, j + 1]
    ad, bd = unloaded[1, j], -unloaded[1, j + 1]
    x[i] = _antagonistic_deflection(laws, pieces, own, k, a, b, F, x[i])
    _, a1, a2, _ = spring_law(laws, pieces, own, k, a + x[i])
    _, b1, b2, _ = spring_law(laws, pieces, own, k + 1, b - x[i])
    slope[i] = a1 + b1
    rate[i] = (Fd - a1 * ad + b1 * bd) / slope[i]
    ad, bd = ad + rate[i], bd - rate[i]
    rest[i] = a2 * ad * ad - b2 * bd * bd
    rest[i] += a1 * unloaded[2, j] + b1 * unloaded[2, j + 1]


@dataclass(frozen=True)
class Antagonistic(Actuator):
    """Two motors that pull on opposite sides of the link: Q = s_a(theta_a - q) - s_b(q - theta_b).

    agonist, antagonist : the motors; the agonist pulls in the direction of positive joint torque.
    agonist_spring, antagonist_spring : spring laws over the extension, with finite travel. To
        regulate the stiffness they must harden (s'' > 0) over the whole travel, which makes
        sigma = s_a' + s_b' increase with the pretension.
    regulates : the second flat output, "stiffness", or "pretension" p = (s_a + s_b) / 2 in N m.
    """

    agonist: Motor
    antagonist: Motor
    agonist_spring: Spring
    antagonist_spring: Spring
    regulates: Literal["stiffness", "pretension"] = "stiffness"

    feedforward = staticmethod(antagonistic_feedforward)
    spring_torques = staticmethod(antagonistic_torques)
    virtual_spring = staticmethod(virtual_antagonistic_springs)
    may_have_second_output = True
    stiffness_word = "variable"
    required_keys = ("agonist", "antagonist")
    optional_keys = ("regulates",)
    motor_entries = MappingProxyType(
        {
            "_agonist": MotorEntry(("agonist",)),
            "_antagonist": MotorEntry(("antagonist",), side=-1.0),
        }
    )

    def __post_init__(self) -> None:
        if self.regulates not in ("stiffness", "pretension"):
            raise InputError(f"regulates must be stiffness or pretension, got '{self.regulates}'")
        for motor, spring in zip(self.motors, self.springs, strict=True):
            check_parts(motor, spring)
            if not np.isfinite(spring.travel).all():
                raise InputError("an antagonistic spring requires a finite travel")
            inner = np.linspace(*spring.travel, 1002)[1:-1]
            bend = spring.derivatives(inner)[2]
            if self.regulates == "stiffness" and bend.min() <= 0.0:
                raise InputError(
                    f"an antagonistic spring must harden (s'' > 0) on its travel, or the stiffness "
                    f"cannot be set; at {inner[bend.argmin()]:.6g} s'' is {bend.min():.6g}"
                )

    @classmethod
    def is_described(cls, keys: Mapping[str, Any]) -> bool:
        return "agonist" in keys or "antagonist" in keys

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, motion: str) -> Antagonistic:
        sides = []
        for side in cls.required_keys:
            at = f"{where}: {side}"
            each = entries(entry[side], at, ("motor", "spring"), ())
            motor, gear = read_motor(each["motor"], at, motion)
            sides.append((motor, read_spring(each["spring"], f"{at}: spring", gear)))
        (agonist, pull), (antagonist, back) = sides
        return cls(agonist, antagonist, pull, back, entry.get("regulates", "stiffness"))

    @property
    def motors(self) -> tuple[Motor, ...]:
        return self.agonist, self.antagonist

    @property
    def suffixes(self) -> tuple[str, ...]:
        return tuple(self.motor_entries)

    @property
    def torque_shares(self) -> tuple[float, ...]:
        return 0.5, 0.5

    @property
    def springs(self) -> tuple[Spring, Spring]:
        return self.agonist_spring, self.antagonist_spring

    @property
    def second_output(self) -> Literal["stiffness", "pretension"]:
        return self.regulates

    @cached_property
    def directions(self) -> Array:
        return np.array([[-1.0, 1.0, 0.0], [1.0, 0.0, -1.0]])

    def columns(self) -> dict[int, float]:
        return {BY_STIFFNESS: float(self.regulates == "stiffness")}

    def _check_motion(
        self, q: Array, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        if self.regulates == "pretension":
            self.agonist_spring.checked_torque(second[0] + 0.5 * Q[0], beyond)
            self.antagonist_spring.checked_torque(second[0] - 0.5 * Q[0], beyond)

    def _reject_second_output(self, Q: Array, second: Array) -> None:
        least, greatest = self._pretension_range(Q)
        if (none := least > greatest).any():
            raise InputError(
                f"joint torque of {Q[none][0]:.6g} {TORQUE_UNIT} is infeasible with the torque "
                f"ranges of the springs, {self.agonist_spring.torque_range} (agonist) and "
                f"{self.antagonist_spring.torque_range} (antagonist)"
            )
        low, high = (end[0] for end in self.second_output_range(Q))
        raise InputError(
            f"stiffness of {second[0]:.6g} is infeasible at a joint torque of {Q[0]:.6g} "
            f"{TORQUE_UNIT}; it must be from {low:.6g} to {high:.6g} {STIFFNESS_UNIT}"
        )

    def _laws(self, phi_a: Array, phi_b: Array) -> tuple[tuple[Array, ...], ...]:
        """s, s', s'', s''' of both springs, at the nearer end of the travel if beyond it."""
        return tuple(
            tuple(spring.derivatives(np.clip(phi, *spring.travel)))
            for spring, phi in zip(self.springs, (phi_a, phi_b), strict=True)
        )

    def _at_pretension(self, p: Array, half: Array) -> tuple[Array, Array]:
        """Extension of each spring at the pretension p and the joint torque 2 half."""
        a = self.agonist_spring.deflection(p + half, beyond="continue")
        return a, self.antagonist_spring.deflection(p - half, beyond="continue")

    def _pretension_range(self, Q: Array, torque_share: float = np.inf) -> tuple[Array, Array]:
        (a_low, a_high), (b_low, b_high) = (spring.torque_range for spring in self.springs)
        a_high, b_high = (
            min(high, torque_share * motor.torque_limit)
            for high, motor in zip((a_high, b_high), self.motors, strict=True)
        )
        half = 0.5 * Q
        return np.maximum(a_low - half, b_low + half), np.minimum(a_high - half, b_high + half)

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        """q from Q, which decreases with q. Beyond their travels both springs continue along their
        tangents, where one more step of Newton's method is exact."""
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

    def second_output_range(self, Q: Any, torque_share: float = np.inf) -> tuple[Array, Array]:
        Q = np.asarray(Q, dtype=np.float64)
        ends = self._pretension_range(Q, torque_share)
        if self.regulates == "pretension":
            return ends
        least, greatest = (
            sum((law[1] for law in self._laws(*self._at_pretension(p, 0.5 * Q))), np.zeros_like(Q))
            for p in ends
        )
        return least, greatest

    def measured_second_output(
        self, q: float, qd: float, theta: Any, thetad: Any
    ) -> tuple[float, float]:
        a = self.agonist_spring.derivatives(theta[0] - q, beyond="continue")
        b = self.antagonist_spring.derivatives(q - theta[1], beyond="continue")
        k = 0 if self.regulates == "pretension" else 1
        value, rate = a[k] + b[k], a[k + 1] * (thetad[0] - qd) + b[k + 1] * (qd - thetad[1])
        return (0.5 * value, 0.5 * rate) if k == 0 else (value, rate)

    def identification(self, joint: str) -> JointSprings:
        pull, back = self.springs
        p, r = len(pull.powers), len(pull.powers) + len(back.powers)

        def agonist(at: Positions) -> Array:
            return pull.terms(at.theta[:, 0] - at.q)

        def antagonist(at: Positions) -> Array:
            return -back.terms(at.q - at.theta[:, 1])

        def both(at: Positions) -> Array:
            return np.concatenate([agonist(at), antagonist(at)], axis=1)

        names = [
            f"{joint}{suffix}.{name}"
            for suffix, spring in zip(self.suffixes, self.springs, strict=True)
            for name in spring.parameters
        ]
        return JointSprings(
            tuple(names), np.array([*pull.parameters.values(), *back.parameters.values()]),
            pull.powers + back.powers,
            SpringColumns(both, tuple((i,) for i in range(r))),
            (SpringColumns(agonist, tuple((i,) for i in range(p))),
             SpringColumns(antagonist, tuple((i,) for i in range(p, r)))),
            np.concatenate([middle_slopes(spring) for spring in self.springs]),
        )  # fmt: skip

    def identified(self, found: Identified) -> Actuator:
        pair = [
            found.spring(suffix, law)
            for suffix, law in zip(self.suffixes, self.springs, strict=True)
        ]
        agonist, antagonist = found.motors
        return replace(
            self, agonist=agonist, antagonist=antagonist,
            agonist_spring=pair[0], antagonist_spring=pair[1],
        )  # fmt: skip
