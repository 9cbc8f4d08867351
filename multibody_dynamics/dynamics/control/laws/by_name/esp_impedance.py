# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "esp_impedance"."""

from dataclasses import dataclass
from typing import Any

from ....elastic import Actuators
from ....model import MultibodyModel
from ...impedance.elastic_structure_gains import ElasticStructureGains, esp_impedance_gains
from ..controller_settings import LawName
from ..impedance_settings import ElasticStructureSettings, LinkStiffness


@dataclass(frozen=True, eq=False, kw_only=True)
class ESPImpedanceSettings(LinkStiffness, ElasticStructureSettings):
    """Feedforward by the flat map, with Q' and Q''; dampers and springs on the links instead of
    springs on the motors."""

    law: LawName = "esp_impedance"

    def gains(
        self, model: MultibodyModel, actuators: Actuators, stiffness: Any, ratio: float
    ) -> ElasticStructureGains:
        q, k = self.position_of(model), self.stiffness
        return esp_impedance_gains(model, actuators, q, stiffness, k, damping_ratio=ratio)
