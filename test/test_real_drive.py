# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Panda under its default law, on a plant with what real drives add: the terms of the flat map
remove most of the error that each effect causes."""

from __future__ import annotations

import pytest

from multibody_dynamics.dynamics.elastic import Friction, GearHarmonic, SlipElement
from real_drive import SHARES, Effects, errors_with, panda, with_terms

UNTIL = 2.0  # s of the motion, with reversals of several joints


def slip_elements(torque: float, deflection: float) -> tuple[SlipElement, ...]:
    """Those of the plant."""
    stiffness = torque / (len(SHARES) * SHARES.mean()) / deflection
    return tuple(SlipElement(stiffness, stiffness * deflection * share) for share in SHARES)


def cases():
    """Effects, the terms that describe them, and the rms in rad that must remain at most."""
    effort = panda().model.limits.effort
    coulomb, slip, error = 0.05 * effort, 0.03 * effort, 5e-4
    friction = [Friction(coulomb=float(x), coulomb_velocity=0.04) for x in coulomb]
    yield (
        Effects(friction=coulomb, breakaway=1.3 * coulomb), {"link_friction": friction}, 3.5e-4
    )  # fmt: skip
    elements = [slip_elements(float(x), 5e-3) for x in slip]
    yield Effects(slip=slip), {"hysteresis": elements}, 3e-5
    gear = (GearHarmonic(2.0, "motor", error),)
    yield Effects(error=error, order=200.0), {"kinematic_error": gear}, 1.8e-4


@pytest.mark.parametrize("case", [*cases()], ids=("friction", "hysteresis", "gear"))
def test_the_terms_remove_most_of_the_error(case):
    effects, terms, limit = case
    actuators = panda().actuators
    without = errors_with(effects, actuators, until=UNTIL)
    found = errors_with(effects, with_terms(actuators, **terms), until=UNTIL)
    assert not without.lost
    assert not found.lost
    assert found.rms < limit
    assert found.rms < 0.3 * without.rms
