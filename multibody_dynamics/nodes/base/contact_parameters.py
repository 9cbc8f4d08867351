# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The ground on which links of a robot stand, in parameters."""

from dataclasses import dataclass

from .parameters import NodeParameters, parameter


@dataclass(frozen=True)
class ContactParameters(NodeParameters):
    """The parameters of nodes that know of contacts with level ground, see docs/moving_base.md."""

    # fmt: off
    contact_frames: tuple[str, ...] = parameter((),
        meaning="links whose origins touch level ground: feet that carry the base, or, in the"
        " simulator, a tool of an arm on a fixed base, at z = 0 of the base; empty: none")
    contact_friction: float = parameter(0.5, bounds=(0.001, 100.0),
        meaning="coefficient of friction between contact_frames and the ground")
    # fmt: on

    def check(self) -> None:
        super().check()
        self._require_unique("contact_frames")
