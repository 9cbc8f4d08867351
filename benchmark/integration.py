# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Integration: steps per second of the example systems, and methods for joints with springs."""

import argparse
from functools import partial

import harness
import numpy as np
from harness import Group, Row
from scipy.linalg import lu_factor, lu_solve

from multibody_dynamics import dynamics as dyn

STEP, LENGTH = 1e-3, 1000  # s, steps per call
HOME = np.array([0.3, -0.5, 0.2, -1.8, 0.1, 1.2, 0.4])
# All values of springs and motors are on the link side of the gear.
STIFFNESS = np.array([3000, 3000, 2000, 2000, 500, 500, 500.0])  # N m/rad
MOTOR_INERTIA = np.array([0.45] * 4 + [0.1] * 3)  # kg m^2
MOTOR_FRICTION = np.array([1.0] * 4 + [0.3] * 3)  # N m s/rad
TORQUE = np.array([20, 30, 20, 15, 4, 4, 2.0])  # N m, amplitudes at 3 Hz, added to gravity
DURATION = 0.3  # s
REFERENCE = 2e-5  # s
METHODS = (
    ("rk4", 1e-3, None), ("rk4", 5e-4, None), ("rk4", 2.5e-4, None),
    ("dormand_prince", 1e-3, None), ("dormand_prince", 2.5e-4, None),
    ("dormand_prince", 1e-3, 1e-4), ("dormand_prince", 1e-3, 1e-8),
    ("rosenbrock", 2e-3, None), ("rosenbrock", 1e-3, None), ("rosenbrock", 2.5e-4, None),
)  # fmt: skip


class ElasticArm:
    """x' = F(t, x) of an arm with 7 elastic joints, x = (q, q', theta, theta')."""

    def __init__(self, model: dyn.MultibodyModel) -> None:
        self.n = model.n
        self.forward = dyn.ForwardDynamicsSolver(model)
        self.derivatives = dyn.rigid.ForwardDynamicsDerivativesSolver(model)
        self.weight = dyn.gravity_forces(model, HOME)
        rest = np.zeros(self.n)
        self.start = np.concatenate([HOME, rest, HOME + self.weight / STIFFNESS, rest])
        self.calls = 0

    def slope(self, t: float, x: np.ndarray) -> np.ndarray:
        self.calls += 1
        q, qd, theta, thetad = x.reshape(4, self.n)
        Q = STIFFNESS * (theta - q)
        (qdd,) = self.forward(q, qd, Q)
        motor = self.weight + TORQUE * np.sin(6 * np.pi * t) - Q - MOTOR_FRICTION * thetad
        return np.concatenate([qd, qdd, thetad, motor / MOTOR_INERTIA])

    def jacobian(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd, theta, _ = x.reshape(4, self.n)
        by_q, by_qd, by_Q = self.derivatives(q, qd, STIFFNESS * (theta - q))
        spring, none, one = by_Q * STIFFNESS, np.zeros((self.n, self.n)), np.eye(self.n)
        pull, friction = np.diag(STIFFNESS / MOTOR_INERTIA), np.diag(MOTOR_FRICTION / MOTOR_INERTIA)
        J = np.block([
            [none, one, none, none],
            [by_q - spring, by_qd, spring, none],
            [none, none, none, one],
            [pull, none, -pull, -friction],
        ])  # fmt: skip
        drive = 6 * np.pi * TORQUE * np.cos(6 * np.pi * t) / MOTOR_INERTIA
        return J, np.concatenate([np.zeros(3 * self.n), drive])

    def links_at_the_end(self, method: str, step: float, tolerance: float | None) -> np.ndarray:
        self.calls = 0
        if method == "rosenbrock":
            _, states = dyn.integration.rosenbrock(
                self.slope, self.jacobian, self.start, DURATION, step
            )
            return states[-1, : self.n]
        allowed = (
            None if tolerance is None else dyn.integration.Tolerances(tolerance, tolerance / 100)
        )
        space = dyn.lie.lie_groups.ProductGroup([dyn.lie.lie_groups.R(4 * self.n)])
        _, elements = dyn.integration.munthe_kaas(
            space, lambda t, X: self.slope(t, X[0]), (self.start,),
            DURATION, step, method=method, tolerances=allowed,
        )  # fmt: skip
        return elements[-1][0][: self.n]


def groups(options: argparse.Namespace) -> list[Group]:
    rows = []
    for name, example in dyn.integration.examples.SYSTEMS.items():
        for group in ("SE3", "SO3xR3"):
            run = partial(
                dyn.integration.integrate, example(group), LENGTH * STEP, STEP, every=LENGTH
            )
            energy = run().energy
            harness.require(f"the energy of {name}", energy[1:], energy[:1], 1e-4)
            rows.append(Row(f"{name}, {group}", run, LENGTH, 20))
    title = f"RK4 of {STEP * 1e3:g} ms in absolute coordinates"
    return [Group("integration", title, rows, "", "step"), methods_for_springs(options)]


def methods_for_springs(options: argparse.Namespace) -> Group:
    """Prints a table of methods, and returns the rows of the parts of a step."""
    model, _ = harness.robots(harness.ROBOT)
    arm = ElasticArm(model)
    J, _ = arm.jacobian(0.0, arm.start)
    fastest = np.abs(np.linalg.eigvals(J)).max()
    print(f"\n{DURATION} s of {model.name} with springs, fastest mode {fastest:.0f} rad/s\n")
    print(f"{'method':18}{'step, ms':>10}{'tolerance':>12}{'error, rad':>12}{'evaluations':>13}")
    exact = arm.links_at_the_end("dormand_prince", REFERENCE, None)
    for method, step, tolerance in METHODS:
        error = np.abs(arm.links_at_the_end(method, step, tolerance) - exact).max()
        shown = "" if tolerance is None else f"{tolerance:.0e}"
        print(f"{method:18}{step * 1e3:10g}{shown:>12}{error:12.1e}{arm.calls:13,}")
    matrix, right = np.eye(4 * model.n) / STEP - J, np.ones(4 * model.n)
    factors = lu_factor(matrix)
    parts = {
        "q''": arm.forward.update,
        "its derivatives": arm.derivatives.update,
        "factorisation of Rosenbrock's matrix": lambda: lu_factor(matrix, check_finite=False),
        "solution with its factors": lambda: lu_solve(factors, right, check_finite=False),
    }
    rows = [harness.called(name, part, options) for name, part in parts.items()]
    return Group("integration_parts", "parts of a step with springs", rows, "q''")
