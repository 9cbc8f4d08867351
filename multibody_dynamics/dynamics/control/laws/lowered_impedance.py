# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Lowers torque feedback and stiffness of an impedance until its sampled loop is stable.

An impedance may take any stiffness up to a share of the springs' while it runs, so its loop is
judged with many (:meth:`.ImpedanceController.vary`). The largest share for which it is stable at
all poses depends on the period, the delay, and above all on the torque feedback: it makes the
rotors appear lighter by the factor `inertia_share` and suffers most from a delay. The share of the
stiffness is lowered first, as long as the requested stiffness remains possible. If that is not
enough, the torque feedback is weakened, and finally switched off (`inertia_share` 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...core import Array
from ..controllers.controllers import Controller
from ..stability.loop_judgement import LoopJudge
from ..stability.stable_bandwidth import stable_bandwidth
from .impedance_settings import ImpedanceSettings

LEAST_SHARE = 0.02  # of the springs' stiffness
WEAKER, WEAKENED = 0.5, 5  # ratio of the torque feedback to the one tried before, and how often


def lowered_impedance(
    settings: ImpedanceSettings, make: Callable[[ImpedanceSettings], Controller], judge: LoopJudge
) -> dict[str, Any] | None:
    """The settings that must be changed for a loop that is stable at all poses with every stiffness
    that it then accepts; None if no such settings are found. Arguments as for
    :func:`.lowered_bandwidths`.
    """
    for share in _weaker(np.asarray(settings.inertia_share, dtype=np.float64)):
        fixed: dict[str, Any] = {"inertia_share": share if share.ndim else float(share)}
        if np.array_equal(share, settings.inertia_share):
            fixed = {}

        def controller(limit: float, fixed: dict[str, Any] = fixed) -> Controller:
            return make(replace(settings, **fixed | {"stiffness_share": limit}))

        found = stable_bandwidth(controller, settings.stiffness_share, LEAST_SHARE, judge)
        if found is not None:
            return fixed | {"stiffness_share": found.bandwidth}
    return None


def _weaker(share: Array) -> Iterator[Array]:
    for k in range(WEAKENED):
        yield 1.0 - WEAKER**k * (1.0 - share)
    if (share < 1.0).any():
        yield np.ones_like(share)
