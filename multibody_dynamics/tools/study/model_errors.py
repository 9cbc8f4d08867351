# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Wrong models: a robot whose parameters are off by a given share, with random signs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...dynamics.elastic import Actuator, Actuators, Motor, Spring
from ...dynamics.model import MultibodyModel

PARTS = ("links", "springs", "motors", "friction")
"""What can be wrong: mass and inertia of each link, the torque of each spring, the rotor inertia of
each motor, and its viscous and Coulomb friction."""


def with_model_errors(
    model: MultibodyModel,
    actuators: Actuators,
    share: float,
    rng: np.random.Generator,
    parts: Sequence[str] = PARTS,
) -> tuple[MultibodyModel, Actuators]:
    """The robot with every parameter of `parts` off by +-`share`, with random signs.

    A draw of all parts and a draw of one of them have the same signs.
    """

    def factor(part: str) -> float:
        sign = float(rng.choice((-1.0, 1.0)))
        return 1.0 + share * sign * (part in parts)

    inertias = np.array([factor("links") * inertia for inertia in model.link_inertias])
    wrong = tuple(_wrong(actuator, factor) for actuator in actuators.actuators)
    return replace(model, link_inertias=inertias), replace(actuators, actuators=wrong)


def _wrong(actuator: Actuator, factor: Callable[[str], float]) -> Actuator:
    """The actuator with wrong motors and springs."""

    def motor(given: Motor) -> Motor:
        return replace(
            given,
            inertia=factor("motors") * given.inertia,
            viscous=factor("friction") * given.viscous,
            coulomb=factor("friction") * given.coulomb,
        )

    def spring(given: Spring) -> Spring:
        return given.scaled(torque=factor("springs"))

    return actuator.with_motors([motor(each) for each in actuator.motors]).with_springs(spring)
