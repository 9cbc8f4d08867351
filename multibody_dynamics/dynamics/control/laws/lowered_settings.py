# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Lowers settings of a law until its sampled loop is stable in the whole joint range.

Bandwidths: the compensation of disturbances demands most of the model, because it acts on whatever
the model gets wrong. It is therefore slowed down first, to no less than a tenth. If that is not
enough, it is turned off, the bandwidth of the law itself is lowered, to no less than a quarter, and
the compensation is added again as far as possible. The same applies to the observer of contacts in
"esp" and "esp_impedance", whose damping ratio is lowered together with the bandwidth.

Impedances: they may take any stiffness up to a share of the springs' while they run, so their loops
are judged with many (:meth:`.ImpedanceController.vary`). The largest share for which a loop is
stable at all poses depends on the period, the delay, and above all on the torque feedback: it makes
the rotors appear lighter by the factor `inertia_share` and suffers most from a delay. The share of
the stiffness is lowered first, as long as the requested stiffness remains possible. If that is not
enough, the torque feedback is weakened, and finally switched off (`inertia_share` 1).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...core import Array
from ..controllers.controllers import Controller
from ..stability.loop_judgement import LoopJudge
from ..stability.stable_bandwidth import stable_bandwidth
from .controller_settings import ControllerSettings
from .impedance_settings import ImpedanceSettings

LEAST_COMPENSATION, LEAST_BANDWIDTH = 0.1, 0.25  # shares of the given values
LEAST_SHARE = 0.02  # of the springs' stiffness
WEAKER, WEAKENED = 0.5, 5  # ratio of the torque feedback to the one tried before, and how often


def lowered_bandwidths(
    settings: ControllerSettings, make: Callable[[ControllerSettings], Controller], judge: LoopJudge
) -> dict[str, Any] | None:
    """The settings that must be changed for a loop that is stable at all poses; None if no
    such settings are found.

    settings : settings with which the loop is unstable at one of the poses.
    make : returns the controller for given settings.
    judge : the poses, parameter errors and filters with which the loop is judged.

    Poles and gains that were given instead of a bandwidth are not changed.
    """

    def is_stable(changed: dict[str, Any]) -> bool:
        return judge.unstable_pose(make(replace(settings, **changed))) is None

    def compensated(fixed: dict[str, Any]) -> dict[str, Any] | None:
        def controller(value: float) -> Controller:
            return make(replace(settings, **fixed | {observer: value}))

        lowered = stable_bandwidth(controller, given, LEAST_COMPENSATION * given, judge)
        return fixed | {observer: lowered.bandwidth} if lowered else None

    def slower(fixed: dict[str, Any]) -> dict[str, Any] | None:
        def controller(share: float) -> Controller:
            return make(replace(settings, **fixed | settings.slowed(share)))

        lowered = stable_bandwidth(controller, 1.0, LEAST_BANDWIDTH, judge)
        return fixed | settings.slowed(lowered.bandwidth) if lowered else None

    observer = settings.observer
    given = getattr(settings, observer) if observer else 0.0
    if given and (lowered := compensated({})):
        return lowered
    alone: dict[str, Any] = {observer: 0.0} if given else {}
    if given and is_stable(alone):
        return alone
    if settings.has_given_gains:
        return None
    lowered = slower(alone)
    if lowered is None or not given:
        return lowered
    del lowered[observer]
    return compensated(lowered) or lowered | alone


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


SEARCHES: Mapping[str, Callable[..., dict[str, Any] | None]] = {
    "bandwidth": lowered_bandwidths,
    "impedance": lowered_impedance,
}
"""By what a law lowers if it is unstable: the search for lower settings."""
