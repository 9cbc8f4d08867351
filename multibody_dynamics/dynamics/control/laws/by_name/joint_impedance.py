# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "joint_impedance"."""

from dataclasses import dataclass

from ....elastic import Actuators
from ....model import MultibodyModel
from ...impedance.impedance import JointImpedance
from ..controller_settings import LawName
from ..impedance_settings import ImpedanceSettings, LinkStiffness


@dataclass(frozen=True, eq=False, kw_only=True)
class JointImpedanceSettings(LinkStiffness, ImpedanceSettings):
    """Feedforward by the flat map, with Q' and Q''; springs and dampers on the links around the
    desired motion."""

    law: LawName = "joint_impedance"

    def design(self, model: MultibodyModel, actuators: Actuators) -> JointImpedance:
        q = self.position_of(model)
        return JointImpedance(model, actuators, q, self.link_stiffness, **self.common())
