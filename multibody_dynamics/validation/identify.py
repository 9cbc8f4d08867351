# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Identification from a recording: fitted to its first part, tested on the rest."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dynamics.core import Array, InputError
from ..dynamics.identification import (
    CarriedPayload,
    IdentificationSettings,
    IdentifiedRobot,
    IdentifiedValue,
    Residuals,
    RobotIdentification,
    identify_robot,
    reported,
)
from ..dynamics.model.inertia import decompose
from .comparison import Validation, predicted_torques
from .settings import SYMMETRIC, Robot, Settings, described

KINDS = ("friction", "payload", "inertia")
FEWEST = 32  # samples needed to fit, and states to test on


@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters fitted to the samples up to time `until` (s), tested on the later ones.

    robot : with all identified parameters. states : numbers of states fitted, after filtering, and
    tested. before, after : residuals of Q on the tested states with the old and with the new robot,
    for the recorded joints. yaml : for --data.
    """

    kinds: tuple[str, ...]
    found: RobotIdentification
    robot: Robot
    until: float
    states: tuple[int, int]
    before: Residuals
    after: Residuals
    yaml: str

    @property
    def estimates(self) -> dict[str, IdentifiedValue]:
        """All parameters by name."""
        return self.found.robot.estimates()

    def figures(self, names: tuple[str, ...]) -> dict[str, Any]:
        """All results as plain numbers, for JSON."""
        before, after = self.before.figures(names), self.after.figures(names)
        return {
            "kinds": list(self.kinds),
            "fitted until": self.until,
            "states fitted": self.states[0],
            "states judged": self.states[1],
            "before": before,
            "after": after,
            "notes": list(self.found.notes),
            "parameters": reported(self.estimates),
            "combinations": reported(self.found.combinations),
        }


def identify(validation: Validation, robot: Robot, settings: Settings) -> Identification:
    """Fit the kinds of parameters in `settings.identify`; fitted friction replaces known friction.

    Raises InputError for unknown kinds, and for recordings that are too short.
    """
    kinds = settings.identify
    _check_kinds(kinds)
    recorded, samples = validation.recorded, validation.samples
    assert recorded is not None  # the settings ask for an identification
    assert samples is not None
    cut = round(settings.train * len(recorded.times))
    until = float(recorded.times[cut - 1]) if cut else -np.inf
    t, state, _, measured = samples
    judged = slice(int(np.searchsorted(t, until, side="right")), None)
    if min(cut, len(t[judged])) < FEWEST:
        raise InputError(
            f"{cut} samples to fit and {len(t[judged])} states to test on, but {FEWEST} each are "
            "needed: use a longer recording, or a higher --rate or --cutoff"
        )
    run = recorded.run.part(0, cut)
    body = settings.payload_body or robot.model.body_names[-1]
    if "payload" in kinds:
        run = replace(run, payload=CarriedPayload(body, None, body))
    identification = identify_robot(
        robot.model,
        [run],
        robot.actuators if settings.effort == "motor" else None,
        friction=robot.friction,
        settings=_chosen(kinds, validation.cutoff),
    )
    better = _better(robot, identification.robot, settings, body)
    used = [robot.model.joint_index(name) for name in validation.joint_names]
    before, after = (
        Residuals.of(
            t[judged],
            predicted_torques(each, state[:, judged], settings)[0][:, used],
            measured[0][judged][:, used],
        )
        for each in (robot, better)
    )
    states = identification.count, len(t[judged])
    yaml = _yaml(better, identification.robot, kinds, body)
    return Identification(kinds, identification, better, until, states, before, after, yaml)


def _check_kinds(kinds: tuple[str, ...]) -> None:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds or len(set(kinds)) != len(kinds):
        raise InputError(
            f"kinds: expected some of {', '.join(KINDS)}, each once; got {list(kinds)}"
        )
    if "payload" in kinds and "inertia" in kinds:
        raise InputError(
            "kinds: torques cannot distinguish a payload from the inertia of its body; choose one"
        )


def _chosen(kinds: tuple[str, ...], cutoff: float) -> IdentificationSettings:
    return IdentificationSettings(
        cutoff=cutoff,
        links="inertia" in kinds,
        friction="friction" in kinds,
        rotors="inertia" in kinds,
        springs=False,
        delays=False,
    )


def _better(robot: Robot, identified: IdentifiedRobot, settings: Settings, body: str) -> Robot:
    """The robot with the identified parameters."""
    model = identified.model
    if body in identified.payloads:
        model = model.with_payload(
            body, *_body(identified.payloads[body]), name=f"payload of {body}"
        )
    friction = identified.friction
    if settings.effort == "motor":
        # Motors have no offset of their own: it becomes part of the joint's friction.
        actuators = robot.actuators
        assert actuators is not None
        offsets = np.zeros(model.n)
        for j, name in zip(actuators.joint_of_motor, actuators.motor_names, strict=True):
            if "offset" in identified.motors.get(name, {}):
                offsets[j] += identified.motors[name]["offset"].value
        friction = replace(friction, offset=friction.offset + offsets)
    return Robot(model, friction, identified.actuators or robot.actuators)


def _body(values: Mapping[str, Any]) -> tuple[float, Array, Array]:
    """Mass, centre of mass and inertia about it."""
    com, upper = (
        np.array([each.value for each in values[name].values()]) for name in ("com", "inertia")
    )
    return values["mass"].value, com, upper[SYMMETRIC]


def _yaml(robot: Robot, found: IdentifiedRobot, kinds: tuple[str, ...], body: str) -> str:
    """For --data: friction of the links, payload, links, and rotors of rigid joints."""
    bodies, kind = {}, "links"
    if "payload" in kinds:
        bodies, kind = {body: _described_body(*_body(found.payloads[body]))}, "payload"
    elif "inertia" in kinds:
        bodies = {
            name: _described_body(*decompose(M))
            for name, M in zip(found.model.body_names, found.model.inertias, strict=True)
        }
    model = robot.model
    rotors = dict(zip(model.joint_names, model.reflected_inertia.tolist(), strict=True))
    known = {name: value for name, value in rotors.items() if value > 0.0}
    friction = robot.friction if "friction" in kinds else None
    return described(friction, model.joint_names, bodies, kind, known)


def _described_body(mass: float, com: Array, inertia_com: Array) -> dict[str, Any]:
    upper = inertia_com[np.triu_indices(3)]
    return {"mass": float(mass), "com": com.tolist(), "inertia_com": upper.tolist()}
