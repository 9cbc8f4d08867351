# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The flat map with user-defined laws, which run in plain Python, against known laws."""

from dataclasses import dataclass

import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import (
    Actuator,
    Antagonistic,
    Motor,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import motor_motion
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, PolynomialSpring, Spring

MOTOR = Motor(0.3, viscous=0.5, coulomb=0.4, coulomb_velocity=0.1)


@dataclass(frozen=True)
class OwnSpring(Spring):
    """s = c_1 phi + c_2 phi^2 + c_3 phi^3, written by a user."""

    c: tuple[float, float, float]

    def law(self, phi):
        a, b, c = self.c
        slope = a + (2.0 * b + 3.0 * c * phi) * phi
        third = np.full_like(phi, 6.0 * c)
        return (a + (b + c * phi) * phi) * phi, slope, 2.0 * b + 6.0 * c * phi, third

    def potential(self, phi):
        a, b, c = self.c
        return (a / 2 + (b / 3 + c / 4 * phi) * phi) * phi**2


OWN = OwnSpring((150.0, 0.0, 4e3), travel=(-0.3, 0.4)), OwnSpring((150.0, 0.0, 4e3))
KNOWN = CubicSpring(150.0, 4e3, travel=(-0.3, 0.4)), CubicSpring(150.0, 4e3)
TENDONS: tuple[Spring, Spring] = (
    OwnSpring((5.0, 900.0, 100.0), travel=(0.0, 0.6)),
    PolynomialSpring((5.0, 900.0, 100.0), travel=(0.0, 0.6)),
)


def kinds(spring: Spring, tendon: Spring) -> dict[str, Actuator]:
    drive = StiffnessDrive(Motor(1e-3), 50.0, 200.0)
    return {
        "series": SeriesElastic(MOTOR, spring),
        "damped": SeriesElastic(MOTOR, spring, damping=0.5),
        "variable": VariableStiffness(MOTOR, (0.5, 2.0), spring, drive),
        "stiff": Antagonistic(MOTOR, MOTOR, tendon, TENDONS[1]),
        "tense": Antagonistic(MOTOR, MOTOR, tendon, TENDONS[1], "pretension"),
    }


@pytest.mark.parametrize(("own", "known"), list(zip(OWN, KNOWN, strict=True)), ids=("ends", "free"))
def test_a_user_defined_law_is_evaluated_and_inverted(own, known):
    phi = np.linspace(-0.6, 0.7, 12).reshape(3, 4)
    digits = {"rtol": 1e-13, "atol": 1e-14}
    wanted = known.derivatives(phi, beyond="continue")
    np.testing.assert_allclose(own.derivatives(phi, beyond="continue"), wanted, **digits)
    energy = known.energy(phi, beyond="continue")
    np.testing.assert_allclose(own.energy(phi, beyond="continue"), energy, **digits)
    np.testing.assert_allclose(own.deflection(wanted[0], beyond="continue"), phi, **digits)
    assert own.torque_range == pytest.approx(known.torque_range, rel=1e-15)


@pytest.mark.parametrize("kind", kinds(OWN[0], TENDONS[0]))
def test_planning_accepts_user_defined_laws(kind):
    own, known = (
        Actuators(("joint",), (kinds(spring, tendon)[kind],))
        for spring, tendon in zip((OWN[0], KNOWN[0]), TENDONS, strict=True)
    )
    rng = np.random.default_rng(0)
    state, Q = rng.normal(size=(6, 3, 1)), rng.normal(size=(6, 3, 1)) * [[8.0], [20.0], [90.0]]
    second = None
    if known.variable_joints:
        middle = {"variable": 1.2, "stiff": 600.0, "tense": 60.0}[kind]
        second = np.broadcast_to([[middle], [0.1], [0.2]], (6, 3, 1))
    phi = known.settled_deflection(Q)
    np.testing.assert_allclose(own.settled_deflection(Q), phi, rtol=1e-13, atol=1e-15)
    wanted = motor_motion(known, state, Q, second, deflection=phi)
    found = motor_motion(own, state, Q, second, deflection=phi)
    for row, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(row, want, rtol=1e-11, atol=1e-12)
    later = known.deflection_after(phi, Q, 1e-3)
    np.testing.assert_allclose(own.deflection_after(phi, Q, 1e-3), later, rtol=1e-13, atol=1e-15)
    given = state[:, 0], state[:, 1], wanted.position, wanted.velocity
    for row, want in zip(own.springs(*given), known.springs(*given), strict=True):
        np.testing.assert_allclose(row, want, rtol=1e-11, atol=1e-12)
    back = own.link_position(wanted.position, Q[:, 0], deflection=phi)
    np.testing.assert_allclose(back, state[:, 0], rtol=0, atol=1e-12)


def test_a_batch_may_be_empty():
    for actuator in kinds(KNOWN[0], TENDONS[1]).values():
        joints = Actuators(("joint",), (actuator,))
        none, second = np.zeros((0, 3, 1)), np.zeros((3, len(joints.variable_joints)))
        second[0] = 1.0
        bent = np.zeros((0, 1))
        assert motor_motion(joints, none, none, second, deflection=bent).torque.shape[0] == 0


def test_beyond_the_travel_planning_names_joint_and_quantity():
    for spring in (OWN[0], KNOWN[0]):
        joints = Actuators(("elbow",), (SeriesElastic(MOTOR, spring),))
        with pytest.raises(InputError, match=r"joint 'elbow': torque of 500 is beyond the travel"):
            motor_motion(joints, np.zeros((3, 1)), [[500.0], [0.0], [0.0]])
