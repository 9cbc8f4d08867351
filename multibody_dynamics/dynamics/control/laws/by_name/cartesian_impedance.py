# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "cartesian_impedance"."""

from dataclasses import dataclass
from typing import Any

from ....core import setting
from ....elastic import Actuators
from ....model import MultibodyModel
from ...impedance.impedance import CartesianImpedance
from ..controller_settings import LawName
from ..impedance_settings import ImpedanceSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class CartesianImpedanceSettings(ImpedanceSettings):
    """Feedforward by the flat map, with Q' and Q''; a spring and a damper on a tool around the
    desired motion."""

    follows_no_motion = "it controls a tool, and leaves the posture of the arm soft"

    law: LawName = "cartesian_impedance"
    # fmt: off
    tool_stiffness: Any = setting(None, unit="N m/rad, N/m", live=True, is_row=True,
        meaning="three rotational stiffnesses of the tool, then three translational ones, along the"
        " axes of the base; empty: values that correspond to a quarter of the springs' stiffness")
    tool: str | int | None = setting(None, parameter="impedance_tool",
        meaning="link on which it acts; empty: the last link")
    posture_stiffness: Any = setting(None, unit="N m/rad or N/m", live=True, is_row=True,
        meaning="stiffness of the posture; one value, or one per joint of the robot; empty: 2 % of"
        " the springs' stiffness")
    # fmt: on

    def design(self, model: MultibodyModel, actuators: Actuators) -> CartesianImpedance:
        return CartesianImpedance(
            model,
            actuators,
            self.position_of(model),
            self.tool_stiffness,
            **self.of("tool", "posture_stiffness"),
            **self.common(),
        )
