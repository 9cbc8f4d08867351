# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The statuses of the flatness controller on /diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...dynamics.control import AdaptiveFeedforward, FlatnessLaw, ScheduledFeedback
from ...dynamics.core import Array
from ..base.diagnostics import ERROR, OK, STALE, WARN
from .collision_reaction import OFF, CollisionReaction
from .faults import Faults
from .live_laws import LiveLaws
from .state_pairs import MeasuredSignals


class Report(NamedTuple):
    """The level, text and values of a status."""

    level: bytes
    text: str
    values: dict[str, object]


def problem(faults: Faults, inputs: MeasuredSignals) -> tuple[bytes, str] | None:
    """The active fault or, before the first cycle, the states that are still missing."""
    if faults.fault is not None:
        return ERROR, str(faults.fault)
    if faults.has_begun:
        return None
    missing = inputs.missing
    return (
        STALE,
        f"no state received yet for {missing}" if missing else "no matching pair of states yet",
    )


def ages(faults: Faults) -> dict[str, float]:
    """Time since the last state of each side."""
    found = {"age of the motor state [s]": faults.motors.age()}
    if faults.links is not None:
        found["age of the link state [s]"] = faults.links.age()
    return found


def counts(inputs: MeasuredSignals, skipped: int) -> dict[str, object]:
    """The numbers of states that were not used."""
    return {
        **{
            f"{topic}: messages without our joints": each.foreign
            for topic, each in inputs.used.items()
        },
        "pairs skipped": skipped,
        "unpaired states": inputs.pairs.alone,
    }


def largest_error(error: Array, joint_names: tuple[str, ...]) -> dict[str, object]:
    """The largest tracking error and its joint; error: (2, n)."""
    k = int(np.abs(error[0]).argmax())
    return {
        "largest tracking error": float(abs(error[0, k])),
        "joint with the largest error": joint_names[k],
    }


def law(controller: FlatnessLaw, live: LiveLaws, *, is_silent: bool) -> Report:
    """The active law, the one that was selected, the one that is being judged, and the stability of
    those that were judged."""
    chosen = live.in_force
    if is_silent:
        return Report(
            ERROR, "none: no torques are sent until ~/enable is called", {"chosen": chosen}
        )
    values: dict[str, object] = {
        "chosen": chosen,
        "share of the law in the torque": float(controller.transfer.share),
    }
    if live.judging:
        values["judging"] = live.judging
    if live.refused:
        values["refused"] = live.refused
    if (impedance := controller.impedance) is not None:
        values["damping ratio"] = impedance.damping_ratio
        values["energy for rising stiffness [J]"] = impedance.energy
        stiffness = impedance.present_stiffness
        for name, present in zip(impedance.stiffness_names, stiffness, strict=True):
            values[f"stiffness: {name}"] = float(present)
    for name, judgement in controller.laws.judgements.items():
        values[f"share of unstable poses: {name}"] = judgement.unstable_share
        values[f"stability: {name}"] = str(judgement)
    for name, lowered in controller.laws.lowered.items():
        for setting, value in lowered.items():
            unit = " [rad/s]" if setting.endswith("bandwidth") else ""
            values[f"lowered: {name}, {setting}{unit}"] = float(np.max(value))
    running = controller.transfer.law
    if isinstance(running, ScheduledFeedback):
        values["age of the gains [s]"] = running.age
        values["failed gain designs"] = running.refused
        if running.problem:
            values["last gain design failed because"] = running.problem
    if chosen not in controller.laws.judgements:
        values[f"stability: {chosen}"] = "not judged"
    if live.is_unstable:
        return Report(ERROR, f"{controller.name}, unstable with these delays", values)
    return Report(WARN if controller.name != chosen else OK, controller.name, values)


def estimator(controller: FlatnessLaw) -> Report:
    """The state estimator, and the external torques estimated by the observer."""
    found, settled = controller.arm.estimator, controller.arm.is_settled
    values: dict[str, object] = {"source": found.settings.source, "starts": found.starts}
    if found.refused:
        values["samples rejected"] = found.refused
    if controller.is_predicted:
        settings, predictor = controller.settings, controller.predictor
        k = int(np.abs(predictor.unexplained[: found.actuators.n]).argmax())
        values["prediction horizon [ms]"] = 1e3 * settings.delay
        values["largest unexplained acceleration [rad/s^2 or m/s^2]"] = float(
            predictor.unexplained[k]
        )
        values["joint with the largest unexplained acceleration"] = controller.model.joint_names[k]
    if controller.arm.observer is not None:
        residual = controller.arm.observer.residual
        k = int(np.abs(residual).argmax())
        values["largest external torque [N m or N]"] = float(residual[k])
        values["joint with the largest external torque"] = controller.model.joint_names[k]
    return Report(OK if settled else WARN, "settled" if settled else "settling", values)


def adaptation(estimates: AdaptiveFeedforward) -> Report:
    """The masses that the adaptive feedforward estimates, and those of the model."""
    values: dict[str, object] = {}
    for name, mass, known in estimates.masses():
        values[f"mass of {name} [kg]"] = mass
        values[f"mass of {name} in the model [kg]"] = known
    return Report(OK, "adapting" if estimates.is_active else "estimates kept", values)


def collisions(reaction: CollisionReaction, chosen: str) -> Report:
    """The contacts so far, and the largest ratio to a threshold since the last report."""
    detector = reaction.detector
    values: dict[str, object] = {
        "reaction": chosen,
        "contacts": reaction.contacts,
        "largest residual as a share of its threshold": reaction.largest,
        "at joint": detector.joint,
    }
    reaction.largest = 0.0
    if reaction.last is not None:
        values["last contact"] = reaction.last.text
    if chosen == OFF:
        return Report(OK, "off", values)
    if detector.is_contact:
        return Report(WARN, "contact", values)
    return Report(OK, "no contact" if detector.is_settled else "settling", values)


def springs_beyond_travel(controller: FlatnessLaw) -> Iterator[tuple[str, str]]:
    """A reason and a text for each spring that is beyond its travel now."""
    springs = controller.arm.springs
    beyond = springs.beyond_travel
    if beyond.any():
        for j in np.flatnonzero(beyond).tolist():
            name = controller.actuators.motor_names[j]
            text = f"the spring of {name} is beyond its travel, at {springs.deflection[j]:.4g}"
            yield f"travel of {name}", text
