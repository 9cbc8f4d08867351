# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "torque_control", and how stiff its impedance must be.

A torque source does not feel where its link is, so nothing but the impedance around it holds the
link against gravity. With the feedforward g(q_d) and the stiffness D w^2, small errors of the links
obey

    M e'' + 2 w D e' + (D w^2 + G) e = 0,   G = dg/dq,

which is stable if and only if D w^2 + G is positive definite (P. Tomei, "A simple PD controller for
robots with elastic joints", IEEE TAC 36(10), 1991). G is negative where a link stands above its
joint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ....core import Array, InputError, as_array, setting
from ....elastic import Actuators
from ....model import MultibodyModel
from ....rigid import gravity_gradient
from ...controllers.torque_controller import TorqueController
from ...gains.joint_gains import inertias_felt
from ...gains.joint_values import bandwidths
from ...stability.loop_judgement import spread_poses
from ...torque.torque_gains import TORQUE_DESIGNS, whole_arm_poles
from ...torque.torque_loop import MAX_DELAY, LoopTiming
from ..controller_settings import (
    ControllerSettings,
    Cycle,
    LawName,
    SecondOutputs,
    bandwidth_setting,
)

LINK_BANDWIDTH = 20.0  # rad/s, unless gravity demands more
STABILITY_MARGIN = 1.2  # of the bandwidth; 1.11 would cover masses and stiffnesses 10 % off


@dataclass(frozen=True, eq=False, kw_only=True)
class TorqueControlSettings(SecondOutputs, ControllerSettings):
    """Feedforward by the flat map of the joint torques, with their rates; feedback of the torques
    of the springs and their rates, within an impedance of the links, from q and q'."""

    page = "torque_control.md"
    tunable = ("gains", "link_stiffness", "link_damping")
    fixed = ("delay",)
    lowers = ""
    usual_bandwidth: ClassVar[float] = LINK_BANDWIDTH

    law: LawName = "torque_control"
    bandwidth: Any = bandwidth_setting(
        None,
        "both poles of each link driven by its torque source, which set the stiffness felt at the"
        " arm; one value, or one per joint of the robot; empty:"
        f" {LINK_BANDWIDTH:g}, or more where gravity would tip a link over",
        parameter="torque_link_bandwidth",
    )
    # fmt: off
    torque_design: str = setting("torque_observer", choices=tuple(TORQUE_DESIGNS),
        meaning="design of the torque loops, see docs/torque_control.md")
    torque_bandwidth: Any = bandwidth_setting(None,
        meaning="bandwidth of the torque loops; one value, or one per joint of the robot; empty: as"
        " high as springs, filter, command_delay and judged_delay allow")
    delay: float = setting(0.0, unit="s", parameter="",
        meaning="from a measurement to its torque, with which the torque loops must be stable")
    velocity_filter: tuple[int, float] | None = setting(None, parameter="",
        meaning="order and bandwidth in Hz of the filter of the measured state, with which the"
        " torque loops must be stable, too; None if the velocities are known")
    # fmt: on

    def in_cycle(self, cycle: Cycle) -> TorqueControlSettings:
        return replace(
            self,
            delay=min(cycle.command_delay, MAX_DELAY * cycle.period),
            period=cycle.period,
            velocity_filter=cycle.velocity_filter,
        )

    def design(self, model: MultibodyModel, actuators: Actuators) -> TorqueController:
        q = self.position_of(model)
        timing = LoopTiming(**self.of("period", "delay", "velocity_filter"))
        gains = TORQUE_DESIGNS[self.torque_design](
            model,
            actuators,
            q,
            self.torque_bandwidth,
            self.stiffness,
            timing=timing,
            friction=float(np.max(self.friction)),
        )
        inertias = inertias_felt(model, actuators, q)
        w = bandwidths(self._link_bandwidth(model, inertias), model.joint_names)
        impedance: dict[str, Any] = {
            "link_stiffness": inertias * w**2,
            "link_damping": 2.0 * inertias * w,
        }
        poles = whole_arm_poles(model, actuators, gains, q, self.stiffness, **impedance)
        worst = poles[poles.real.argmax()]
        if worst.real >= 0.0:
            raise InputError(
                f"robot '{model.name}': with a bandwidth of {np.max(w):g} rad/s around the torque"
                f" loops, the arm has a pole at {worst:.4g} 1/s; use a lower bandwidth"
            )
        return TorqueController(
            model, actuators, gains, **self.of("delay", "friction", "period"), **impedance
        )

    def _link_bandwidth(self, model: MultibodyModel, inertias: Array) -> Any:
        """rad/s, of the impedance around the torque loops: by default LINK_BANDWIDTH, or more where
        gravity would tip the links over somewhere in the joint range."""
        if self.bandwidth is not None:
            return self.bandwidth
        return max(
            LINK_BANDWIDTH,
            STABILITY_MARGIN * gravity_stability_rate(model, inertias, spread_poses(model)),
        )


def gravity_stability_rate(model: MultibodyModel, inertias: Any, positions: Any) -> float:
    """The smallest w in rad/s from which D w^2 + dg/dq is positive semidefinite at all positions.

    Parameters
    ----------
    inertias : (n,) diagonal of D, kg m^2 (kg), all positive. positions : (p, n) or (n,), rad or m.

    Zero if gravity tips no link over. Raises InputError for inertias that are not positive.
    """
    d = as_array("inertias", inertias, (model.n,), model.joint_names)
    if not (d > 0.0).all():
        name = model.joint_names[int(np.argmin(d))]
        raise InputError(f"inertias: that of joint '{name}' is {d.min():g}, must be positive")
    q = np.atleast_2d(np.asarray(positions, dtype=np.float64))
    G = gravity_gradient(model, q)
    scaled = 0.5 * (G + np.swapaxes(G, -1, -2)) / np.sqrt(np.outer(d, d))
    return float(np.sqrt(max(-np.linalg.eigvalsh(scaled).min(), 0.0)))
