# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Which laws claim to be passive in contacts, and under which conditions.

PASSIVITY_CLAIMS is the one table of these claims. docs/impedance.md repeats it, a test compares the
two, and `passivity.py` puts every row to the test in thousands of contacts. For each row there is a
storage function (`stored_energy.py`) that rises by no more than the work of the contacts in
continuous time; `sampled` says whether this also held, in all contacts tried, with the torque held
for a cycle of 1 ms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from multibody_dynamics.dynamics.control import (
    PERIOD,
    Controller,
    ControllerSettings,
    LoopTiming,
    TorqueController,
    inertia_shaping_gains,
    make_controller,
)
from multibody_dynamics.dynamics.elastic import Actuators
from multibody_dynamics.dynamics.model import MultibodyModel

TORQUE_SOURCE = "torque_source"


@dataclass(frozen=True, eq=False)
class PassivityClaim:
    """A claim: an arm under this law is passive from contacts to the velocities of its links.

    Attributes
    ----------
    law : a key of LAWS, or TORQUE_SOURCE.
    conditions : under which it is made, in addition to those of all claims.
    sampled : whether it is made for the sampled loop, too.
    settings : of :class:`.ControllerSettings`.
    restiffens : whether it covers changes of the stiffness while the law runs.
    """

    law: str
    conditions: str
    sampled: bool
    settings: Mapping[str, Any] = field(default_factory=dict)
    restiffens: bool = False

    def controller(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        position: Any,
        *,
        period: float = PERIOD,
        **settings: Any,
    ) -> Controller:
        """The law of this claim, designed at `position` (n,); `settings` override those of the
        claim."""
        if self.law == TORQUE_SOURCE:
            timing = LoopTiming(period=period)
            gains = inertia_shaping_gains(model, actuators, position, timing=timing)
            return TorqueController(model, actuators, gains, period=period)
        own = dict(self.settings) | settings
        chosen = ControllerSettings(law=self.law, position=position, period=period, **own)
        return make_controller(model, actuators, chosen)


_ALONE = {"disturbance_bandwidth": 0.0}
_MODAL = {**_ALONE, "gain_design": "modal", "gain_update_time": 0.0}
_KNOWN = {"contact_bandwidth": 0.0}
_OF_ESP = "exact model and friction; contact torques and their rates known and continuous"
_CONSTANT = "constant stiffness"
_CHANGING = "the stiffness changes, with the tank"
_OF_SOURCE = (
    "inertia shaping, a constant torque commanded; linear springs without dampers, motors without "
    "friction"
)

PASSIVITY_CLAIMS: Mapping[str, PassivityClaim] = MappingProxyType(
    {
        "motor_pd": PassivityClaim(
            "motor_pd", "no compensation of disturbances, no integral", True, _ALONE
        ),
        "hold": PassivityClaim("hold", "holding at rest", True),
        "state_feedback, modal": PassivityClaim(
            "state_feedback",
            "constant gains; linear springs without dampers; no compensation",
            True,
            _MODAL,
        ),
        "joint_impedance": PassivityClaim("joint_impedance", _CONSTANT, True),
        "joint_impedance, changing": PassivityClaim(
            "joint_impedance", _CHANGING, True, restiffens=True
        ),
        "cartesian_impedance": PassivityClaim("cartesian_impedance", _CONSTANT, False),
        "cartesian_impedance, changing": PassivityClaim(
            "cartesian_impedance", _CHANGING, False, restiffens=True
        ),
        "esp": PassivityClaim("esp", _OF_ESP, False, _KNOWN),
        "esp_impedance": PassivityClaim("esp_impedance", _OF_ESP, False, _KNOWN),
        "torque_source": PassivityClaim(TORQUE_SOURCE, _OF_SOURCE, False),
    }
)
"""The claims by name."""
