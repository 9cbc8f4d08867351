# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Which laws claim to be passive in contacts, and under which conditions.

PASSIVITY_CLAIMS is the one table of these claims. docs/impedance.md repeats it, a test compares the
two, and `tools/study/passivity_study.py` puts every row to the test in thousands of contacts. For
each row there is a storage function (:func:`.stored_energy`) that rises by no more than the work of
the contacts in continuous time; `sampled` says whether this also held, in all contacts tried, with
the torque held for a cycle of 1 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...core import InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from ..controllers.controllers import PERIOD, Controller
from ..controllers.torque_controller import TorqueController
from ..torque.torque_gains import inertia_shaping_gains
from ..torque.torque_loop import LoopTiming
from .controller_designs import make_controller
from .controller_settings import ControllerSettings

TORQUE_SOURCE = "torque_source"


@dataclass(frozen=True, eq=False, kw_only=True)
class PassivityClaim:
    """A claim: an arm under this law is passive from contacts to the velocities of its links.

    Attributes
    ----------
    law : a key of LAWS, or TORQUE_SOURCE.
    conditions : under which it is made, in addition to those of all claims.
    sampled : whether it is made for the sampled loop, too.
    settings : of :class:`.ControllerSettings`.
    restiffens : whether it covers changes of the stiffness while the law runs.
    names : of the public objects whose documentation makes this claim.
    """

    law: str
    conditions: str
    sampled: bool
    settings: Mapping[str, Any] = field(default_factory=dict)
    restiffens: bool = False
    names: tuple[str, ...] = ()

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
            if settings:
                raise InputError(f"{TORQUE_SOURCE}: takes no settings")
            timing = LoopTiming(period=period)
            gains = inertia_shaping_gains(model, actuators, position, timing=timing)
            return TorqueController(model, actuators, gains, period=period)
        own = dict(self.settings) | settings
        chosen = ControllerSettings(law=self.law, position=position, period=period, **own)
        return make_controller(model, actuators, chosen)


_ALONE = {"disturbance_bandwidth": 0.0}
_KNOWN = {"contact_bandwidth": 0.0}
_OF_ESP = "exact model and friction; contact torques and their rates known and continuous"

PASSIVITY_CLAIMS: Mapping[str, PassivityClaim] = MappingProxyType(
    {
        "motor_pd": PassivityClaim(
            law="motor_pd",
            conditions="no compensation of disturbances, no integral",
            sampled=True,
            settings=_ALONE,
        ),
        "hold": PassivityClaim(
            law="hold",
            conditions="holding at rest",
            sampled=True,
        ),
        "state_feedback, modal": PassivityClaim(
            law="state_feedback",
            conditions="constant gains; linear springs without dampers; no compensation",
            sampled=True,
            settings={**_ALONE, "gain_design": "modal", "gain_update_time": 0.0},
            names=("modal_gains",),
        ),
        "joint_impedance": PassivityClaim(
            law="joint_impedance",
            conditions="constant stiffness",
            sampled=True,
            names=("JointImpedance",),
        ),
        "joint_impedance, changing": PassivityClaim(
            law="joint_impedance",
            conditions="the stiffness changes, with the tank",
            sampled=True,
            restiffens=True,
        ),
        "cartesian_impedance": PassivityClaim(
            law="cartesian_impedance",
            conditions="constant stiffness",
            sampled=False,
            names=("CartesianImpedance",),
        ),
        "cartesian_impedance, changing": PassivityClaim(
            law="cartesian_impedance",
            conditions="the stiffness changes, with the tank",
            sampled=False,
            restiffens=True,
        ),
        "esp": PassivityClaim(
            law="esp",
            conditions=_OF_ESP,
            sampled=False,
            settings=_KNOWN,
        ),
        "esp_impedance": PassivityClaim(
            law="esp_impedance",
            conditions=_OF_ESP,
            sampled=False,
            settings=_KNOWN,
        ),
        "torque_source": PassivityClaim(
            law=TORQUE_SOURCE,
            conditions=(
                "inertia shaping, a constant torque commanded; linear springs without dampers, "
                "motors without friction"
            ),
            sampled=False,
            names=("inertia_shaping_gains",),
        ),
    }
)
"""The claims by name."""
