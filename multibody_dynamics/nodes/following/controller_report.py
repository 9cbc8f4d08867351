# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The statuses of the flatness controller on /diagnostics."""

from collections.abc import Iterator

import numpy as np

from ...dynamics.control import OFF, AdaptiveFeedforward, Arm, CollisionReaction, ScheduledFeedback
from ..base.diagnostics import ERROR, OK, WARN, Status
from .controller_setup import ControllerSetup
from .followed_motion import FollowedMotion
from .live_laws import LiveLaws
from .trajectory_learner import TrajectoryLearner


def statuses(setup: ControllerSetup, followed: FollowedMotion, reaction: str) -> Iterator[Status]:
    """What is followed, the law, the estimator, and what else there is."""
    arm = setup.arm
    yield reference(arm, followed)
    yield law(arm, setup.laws)
    yield estimator(arm)
    if (estimates := arm.adaptation) is not None:
        yield adaptation(estimates)
    if arm.collisions is not None:
        yield collisions(arm.collisions, reaction)
    if setup.learner is not None:
        yield learning(setup.learner)


def reference(arm: Arm, followed: FollowedMotion) -> Status:
    """The motion that is followed, and the second outputs."""
    return followed.status(arm.mode_of_motion, arm.second.report(arm.joint_torque))


def law(controller: Arm, live: LiveLaws) -> Status:
    """The active law, the one that was selected, the one that is being judged, and the stability of
    those that were judged."""
    chosen = live.in_force
    if controller.supervisor.is_final:
        text = "none: no torques are sent until ~/enable is called"
        return Status("law", ERROR, text, {"chosen": chosen})
    values: dict[str, object] = {
        "chosen": chosen,
        "share of the law in the torque": float(controller.transfer.share),
    }
    if live.judging:
        values["judging"] = live.judging
    if live.refused:
        values["refused"] = live.refused
    if (impedance := controller.impedance) is not None:
        values["damping ratio"] = impedance.damping_ratio  # type: ignore[attr-defined]
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
        return Status("law", ERROR, f"{controller.name}, unstable with these delays", values)
    return Status("law", WARN if controller.name != chosen else OK, controller.name, values)


def estimator(controller: Arm) -> Status:
    """The state estimator, and the external torques estimated by the observer."""
    found, settled = controller.measured.estimator, controller.measured.is_settled
    values: dict[str, object] = {"source": found.settings.source, "starts": found.starts}
    if found.refused:
        values["samples rejected"] = found.refused
    if controller.feedback.is_predicted:
        settings, predictor = controller.settings, controller.feedback.predictor
        k = int(np.abs(predictor.unexplained[: found.actuators.n]).argmax())
        values["prediction horizon [ms]"] = 1e3 * settings.delay
        values["largest unexplained acceleration [rad/s^2 or m/s^2]"] = float(
            predictor.unexplained[k]
        )
        values["joint with the largest unexplained acceleration"] = controller.model.joint_names[k]
    if controller.measured.observer is not None:
        residual = controller.measured.observer.residual
        k = int(np.abs(residual).argmax())
        values["largest external torque [N m or N]"] = float(residual[k])
        values["joint with the largest external torque"] = controller.model.joint_names[k]
    return Status(
        "estimator", OK if settled else WARN, "settled" if settled else "settling", values
    )


def adaptation(estimates: AdaptiveFeedforward) -> Status:
    """The masses that the adaptive feedforward estimates, and those of the model."""
    values: dict[str, object] = {}
    for name, mass, known in estimates.masses():
        values[f"mass of {name} [kg]"] = mass
        values[f"mass of {name} in the model [kg]"] = known
    text = "adapting" if estimates.is_active else "estimates kept"
    return Status("adaptation", OK, text, values)


def collisions(reaction: CollisionReaction, chosen: str) -> Status:
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
        return Status("collisions", OK, "off", values)
    if detector.is_contact:
        return Status("collisions", WARN, "contact", values)
    text = "no contact" if detector.is_settled else "settling"
    return Status("collisions", OK, text, values)


def learning(learner: TrajectoryLearner) -> Status:
    """The runs in the learning file."""
    values: dict[str, object] = {"file": str(learner.path), "learn": learner.learns}
    learned = learner.learning
    if learned is not None:
        values |= {"runs": len(learned.figures), "finished": learned.is_finished}
        if learned.figures:
            values |= {
                "rms of the last run [rad or m]": learned.figures[-1].rms,
                "rms of the best run [rad or m]": learned.best_rms,
            }
    return Status("learning", OK, learner.note, values)
