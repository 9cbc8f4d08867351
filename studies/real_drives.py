# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What real drives add, without and with the terms of the flat map that describe it.

    python -m studies.real_drives [--quick]

The Panda of the demo follows its fast motion under the default law on a rigid base, with 18-bit
encoders, at 1 kHz. The plant has LuGre friction, Maxwell elements with sharp corners, a dead zone
and gear errors (`DriveEffects`), laws other than those of the flat map. This is the table of
docs/elastic_joints.md: rms / peak of the links' errors, and the mean step of the motor torques from
cycle to cycle, relative to that without effects.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from multibody_dynamics.dynamics.core import in_order, worker_processes
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    BacklashSpring,
    Friction,
    GearHarmonic,
    SeriesElastic,
    SlipElement,
)
from multibody_dynamics.dynamics.plant import DriveEffects, ElasticRobot
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.single_run import Outcome, simulate
from multibody_dynamics.tools.study.studied_laws import chosen_laws
from multibody_dynamics.tools.study.studied_robots import StudiedArm, built_in_robots, load_arm

PANDA_COULOMB = 0.5 * np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
"""N m of the real arm: C. Gaz et al., Dynamic identification of the Franka Emika Panda robot with
retrieval of feasible parameters, IEEE RA-L 4(4), 2019."""
BREAKAWAY = 1.3  # times Coulomb friction
COULOMB_VELOCITY = 0.04  # rad/s
BRISTLE = 2e-4  # rad, of the plant
REACH = 5e-3  # rad, travel after a reversal at which all slip elements slide
SHARES = np.arange(1, 5) / 4
ORDER = 200.0  # of the gear error: the second harmonic of a motor behind a gear of 100
WRONG = 0.3  # relative error of the numbers of the terms


class Case(NamedTuple):
    """Effects of the plant as fields of DriveEffects. The terms that describe them: Coulomb
    friction of links and motors, and the torque of the hysteresis, in N m; the share of the load
    that adds to the friction of motors, the gear error, the gap, and the presliding distance in
    rad, which may be longer than the bristles of the plant: errors of the links blur reversals."""

    title: str
    coulomb: Any = 0.0
    motor_coulomb: Any = 0.0
    motor_load: float = 0.0
    hysteresis: Any = 0.0
    error: float = 0.0
    gap: float = 0.0
    presliding: float = 4e-4

    def effects(self) -> DriveEffects:
        return DriveEffects(
            link_coulomb=self.coulomb, link_static=BREAKAWAY * np.asarray(self.coulomb),
            motor_coulomb=self.motor_coulomb,
            motor_static=BREAKAWAY * np.asarray(self.motor_coulomb), motor_load=self.motor_load,
            bristle=BRISTLE, hysteresis=self.hysteresis, hysteresis_deflection=REACH,
            backlash=self.gap, gear_error=self.error, gear_harmonic=ORDER,
        )  # fmt: skip

    def terms(self, actuators: Actuators, factor: float = 1.0) -> Actuators:
        """The actuators with these terms, the numbers of friction and hysteresis times `factor`."""
        rows = (factor * np.broadcast_to(x, actuators.n) for x in self[1:5])
        made = zip(actuators.actuators, *(row.tolist() for row in rows), strict=True)
        return replace(actuators, actuators=tuple(self._joint(*each) for each in made))

    def _joint(
        self, joint: SeriesElastic, coulomb: float, of_motor: float, load: float, torque: float
    ) -> SeriesElastic:
        if coulomb:
            joint = replace(joint, link_friction=Friction(
                coulomb=coulomb, coulomb_velocity=COULOMB_VELOCITY, presliding=self.presliding,
            ))  # fmt: skip
        if of_motor:
            motor = replace(joint.motor, coulomb=joint.motor.coulomb + of_motor,
                            coulomb_velocity=COULOMB_VELOCITY, load_friction=load)  # fmt: skip
            joint = replace(joint, motor=motor)
        if torque:
            k = torque / (0.5 * REACH * SHARES.sum())
            ends = (0.5 * REACH * SHARES).tolist()
            joint = replace(joint, hysteresis=tuple(SlipElement(k, k * end) for end in ends))
        if self.error:
            order = ORDER / joint.motor.gear_ratio
            joint = replace(joint, kinematic_error=(GearHarmonic(order, "motor", self.error),))
        if self.gap:
            joint = replace(joint, spring=BacklashSpring(joint.spring, self.gap))
        return joint


def panda() -> StudiedArm:
    """The Panda of the study with its fast motion."""
    return load_arm(built_in_robots()["panda"])


def cases() -> Iterator[Case]:
    effort = panda().model.limits.effort
    yield Case("none")
    yield Case("link friction, 0.15 to 0.64 N m", PANDA_COULOMB)
    yield Case("link friction, 5 % of the effort limits", 0.05 * effort)
    yield Case("link friction, 15 %", 0.15 * effort, presliding=6e-4)
    yield Case("motor friction, 4 % and 2 % of the load", 0.0, 0.04 * effort, 0.02)
    yield Case("hysteresis, 3 % of the effort limits", hysteresis=0.03 * effort)
    yield Case("kinematic error, 0.1 mrad", error=1e-4)
    yield Case("kinematic error, 0.5 mrad", error=5e-4)
    yield Case("backlash, 1 mrad", gap=1e-3)
    yield Case("friction of links and motors, hysteresis and kinematic error together",
               0.05 * effort, 0.04 * effort, 0.02, 0.03 * effort, 1e-4)  # fmt: skip


def errors(case: Case, factor: float | None, until: float = np.inf) -> Outcome:
    """A run of the motion until a time in s; factor: of the terms, None without terms."""
    arm, law = panda(), next(iter(chosen_laws(["all"])))  # motor_pd, the default
    actuators = arm.actuators if factor is None else case.terms(arm.actuators, factor)
    plant = ElasticRobot(arm.model, arm.actuators, effects=case.effects())
    return simulate(arm, law, CONDITIONS["exact"], plant=plant, until=until,
                    assumed=(arm.model, actuators))  # fmt: skip


def cell(outcome: Outcome, step: float) -> str:
    if outcome.lost:
        return outcome.lost
    rms, peak = 1e3 * outcome.rms, 1e3 * outcome.peak
    return f"{rms:.2g} / {peak:.2g} ({outcome.step / step:.1f})"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="errors with the effects of real drives")
    parser.add_argument("--quick", action="store_true", help="only two seconds of the motion")
    until = 2.0 if parser.parse_args(argv).quick else np.inf
    chosen = list(cases())
    factors = (None, 1.0, 1.0 - WRONG, 1.0 + WRONG)
    print("| effect | without the term | with it | 30 % too small | 30 % too large |")
    print("|---|---|---|---|---|")
    jobs = [(case, factor) for case in chosen for factor in factors]
    with worker_processes(os.cpu_count() or 1) as pool:
        found = list(in_order(pool, partial(_run, until), jobs))
    for k, case in enumerate(chosen):
        row = [cell(each, found[0].step) for each in found[4 * k : 4 * k + 4]]
        print(f"| {case.title} | {' | '.join(row)} |")


def _run(until: float, job: tuple[Case, float | None]) -> Outcome:
    return errors(*job, until)


if __name__ == "__main__":
    main()
