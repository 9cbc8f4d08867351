# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "esp"."""

from dataclasses import dataclass
from typing import Any

from ....elastic import Actuators
from ....model import MultibodyModel
from ...impedance.elastic_structure_gains import ElasticStructureGains, esp_gains
from ..controller_settings import LawName
from ..impedance_settings import ElasticStructureSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class ESPSettings(ElasticStructureSettings):
    """Feedforward by the flat map, with Q' and Q''; dampers on the links; springs and motors keep
    their characteristics."""

    law: LawName = "esp"

    def gains(
        self, model: MultibodyModel, actuators: Actuators, stiffness: Any, ratio: float
    ) -> ElasticStructureGains:
        q, w = self.position_of(model), self.bandwidth
        return esp_gains(model, actuators, q, w, self.stiffness, damping_ratio=ratio)
