# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Series elastic joints with a second spring in parallel, between the link and its base:

    Q = s(phi) - p(q - q_0),  phi = theta - q,  and the motor carries s(phi).

A kind of actuator as a user adds one, by the recipe in CONTRIBUTING.md; for tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from multibody_dynamics.dynamics.core import Array, InputError, inlined
from multibody_dynamics.dynamics.core.quantities import quantity
from multibody_dynamics.dynamics.elastic.actuator import (
    Actuator,
    Identified,
    IdentifiedQuantity,
    Rows,
    check_parts,
)
from multibody_dynamics.dynamics.elastic.actuator_tables import (
    MOTOR,
    OWN,
    SPRING,
    ahead,
    drive_spring,
    link_motion,
)
from multibody_dynamics.dynamics.elastic.motor import Motor, one_number
from multibody_dynamics.dynamics.elastic.part_description import read_motor, read_spring
from multibody_dynamics.dynamics.elastic.spring_columns import (
    JointSprings,
    Positions,
    SpringColumns,
)
from multibody_dynamics.dynamics.elastic.spring_tables import spring_deflection_motion, spring_law
from multibody_dynamics.dynamics.elastic.springs import (
    Beyond,
    LinearSpring,
    Spring,
    solve_increasing,
)

REST = OWN  # q_0


@inlined
def parallel_feedforward(
    joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs
):
    """The spring in front of the motor carries Q + p(q - q_0)."""
    j, k, moves = int(joints[i, MOTOR]), int(joints[i, SPRING]), variant[1]
    link = link_motion(given, i)
    p, p1, p2, _ = spring_law(laws, pieces, own, k + 1, link[0] - joints[i, REST])
    carried = (
        Qs[0] + variant[0] * p,
        Qs[1] + moves * p1 * link[1],
        Qs[2] + moves * (p1 * link[2] + p2 * link[1] * link[1]),
    )
    deflection = spring_deflection_motion(laws, pieces, own, k, carried, outputs.deflection[j])
    motion = ahead(link, 1.0, deflection)
    drive_spring(motors, laws, j, k, motion, deflection[0], given.torque[0, i] + p, outputs)


@inlined
def parallel_torques(
    joints, laws, pieces, own, i, q, qd, theta, thetad, second, torque, rate, K, load, deflection
):
    """Q = s(phi) - p(q - q_0)."""
    j, k = int(joints[i, MOTOR]), int(joints[i, SPRING])
    phi = theta[j] - q[i]
    s, s1, _, _ = spring_law(laws, pieces, own, k, phi)
    p, p1, _, _ = spring_law(laws, pieces, own, k + 1, q[i] - joints[i, REST])
    deflection[j], load[j] = phi, s
    torque[i] = s - p
    rate[i] = s1 * (thetad[j] - qd[i]) - p1 * qd[i]
    K[i] = s1 + p1


@dataclass(frozen=True)
class ParallelElastic(Actuator):
    """A spring between motor and link, and one between link and base, relaxed at `rest` in rad."""

    motor: Motor
    spring: Spring
    parallel_spring: Spring
    rest: float = 0.0

    feedforward = staticmethod(parallel_feedforward)
    spring_torques = staticmethod(parallel_torques)
    required_keys = ("parallel_spring", "spring", "motor")
    optional_keys = ("rest",)

    def __post_init__(self) -> None:
        check_parts(self.motor, self.spring, self.parallel_spring)
        if not np.isfinite(rest := one_number("rest of the parallel spring", self.rest)):
            raise InputError(f"rest of the parallel spring must be finite, got {rest:g}")

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, motion: str) -> ParallelElastic:
        motor, gear = read_motor(entry["motor"], where, motion)
        series, parallel = (
            read_spring(entry[key], f"{where}: {key}", gear)
            for key in ("spring", "parallel_spring")
        )
        rest = quantity(entry["rest"], f"{where}: rest", "angle", gear) if "rest" in entry else 0.0
        return cls(motor, series, parallel, rest)

    @classmethod
    def identified_quantities(cls, motion: str) -> Mapping[str, IdentifiedQuantity]:
        path = "parallel_spring", "stiffness"
        return {"parallel_stiffness": IdentifiedQuantity(path, "stiffness")}

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)

    @property
    def springs(self) -> tuple[Spring, ...]:
        return self.spring, self.parallel_spring

    @cached_property
    def directions(self) -> Array:
        return np.array([[-1.0, 1.0], [1.0, 0.0]])

    @property
    def offsets(self) -> tuple[float, ...]:
        return 0.0, -self.rest

    def columns(self) -> dict[int, float]:
        return {REST: self.rest}

    def _check_motion(
        self, q: Array, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        p = self.parallel_spring.torque(q[0] - self.rest, beyond=beyond)
        self.spring.checked_torque(Q[0] + p, beyond)

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        def law(x: Array) -> tuple[Array, Array]:  # of x = -q, with which Q increases
            s = self.spring.derivatives(theta[0] + x, beyond="continue")
            p = self.parallel_spring.derivatives(-x - self.rest, beyond="continue")
            return s[0] - p[0], s[1] + p[1]

        reach = 1.0
        while ((law(0.0 * Q - reach)[0] > Q) | (law(0.0 * Q + reach)[0] < Q)).any():
            reach *= 2.0
        q = -solve_increasing(law, Q, -reach, reach)
        self.spring.checked_deflection(theta[0] - q, beyond)
        self.parallel_spring.checked_deflection(q - self.rest, beyond)
        return q

    def identification(self, joint: str) -> JointSprings:
        spring, stiffness = self.spring, self.parallel_spring.constant_stiffness
        if stiffness is None:
            raise InputError(f"joint '{joint}': only a linear parallel spring can be identified")

        def series(at: Positions) -> Array:
            return spring.terms(at.theta[:, 0] - at.q)

        def both(at: Positions) -> Array:
            return np.column_stack([series(at), self.rest - at.q])

        names = *spring.parameters, "parallel_stiffness"
        count = len(names)
        return JointSprings(
            tuple(f"{joint}.{name}" for name in names),
            np.array([*spring.parameters.values(), stiffness]),
            (*spring.powers, 1),
            SpringColumns(both, tuple((i,) for i in range(count))),
            (SpringColumns(series, tuple((i,) for i in range(count - 1))),),
            np.eye(count)[0],
        )

    def identified(self, found: Identified) -> Actuator:
        parallel = self.parallel_spring
        if "parallel_stiffness" in found.values:
            parallel = LinearSpring(found.values["parallel_stiffness"], travel=parallel.travel)
        spring = found.spring("", self.spring)
        return ParallelElastic(found.motors[0], spring, parallel, self.rest)
