"""Identification from a recording: fitted to its first part, tested on the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.core import Array, InputError
from ..dynamics.identification import (
    Estimate,
    Identified,
    JointFriction,
    Residuals,
    identify_parameters,
)
from ..dynamics.model import MultibodyModel
from ..dynamics.rigid import inverse_dynamics
from .comparison import Validation
from .settings import Robot, Settings, described

FEWEST = 32  # states needed to fit, and as many to test on


@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters fitted to the states up to time `until` (s), tested on the later ones.

    states : numbers of states fitted, after filtering, and tested. before, after : residuals of Q
    on the tested states with the old and with the fitted parameters. yaml : for --data.
    """

    kinds: tuple[str, ...]
    found: Identified
    until: float
    states: tuple[int, int]
    before: Residuals
    after: Residuals
    yaml: str

    def figures(self, names: tuple[str, ...]) -> dict[str, Any]:
        """All results as plain numbers, for JSON."""
        before, after = self.before.figures(names), self.after.figures(names)
        return {
            "kinds": list(self.kinds),
            "fitted until": self.until,
            "states fitted": self.states[0],
            "states judged": self.states[1],
            "rank": self.found.rank,
            "before": before,
            "after": after,
            "parameters": _as_plain(self.found.estimates),
            "combinations": _as_plain(self.found.combinations),
        }


def identify(validation: Validation, robot: Robot, settings: Settings) -> Identification:
    """Fit the kinds of parameters in `settings.identify`; fitted friction replaces known friction.

    Raises InputError for recordings that lack the effort of a joint or are too short.
    """
    model = robot.model
    if settings.effort != "joint" or validation.joint_names != model.joint_names:
        raise InputError(
            "identification needs recorded efforts of all joints on the link side of the springs: "
            "use neither --hold nor --effort motor"
        )
    kinds = settings.identify
    known = JointFriction.none(model.n) if "friction" in kinds else robot.friction
    recorded = validation.recorded
    assert recorded is not None  # the settings ask for an identification
    cut = round(settings.train * len(recorded.times))
    fitted = recorded.until(cut)
    t, state, _, measured = validation.samples
    judged = slice(int(np.searchsorted(t, fitted.times[-1], side="right")) if cut else 0, None)
    if min(cut, len(t[judged])) < FEWEST:
        raise InputError(
            f"{cut} states to fit and {len(t[judged])} to test on, but {FEWEST} each are needed: "
            "use a longer recording, or a higher --rate or --cutoff"
        )
    torque = fitted.torque - known.torque(fitted.state[1])
    found = identify_parameters(
        model,
        *fitted.state,
        torque,
        kinds=kinds,
        payload_body=settings.payload_body,
        rate=fitted.rate,
        cutoff=fitted.cutoff,
        starts=fitted.starts.tolist(),
    )
    friction = found.friction if "friction" in kinds else robot.friction
    after = _torques(found.model, friction, state[:3, judged])
    before = _torques(model, robot.friction, state[:3, judged])
    return Identification(
        kinds,
        found,
        float(fitted.times[-1]),
        (found.count, len(t[judged])),
        Residuals.of(t[judged], before, measured[0][judged]),
        Residuals.of(t[judged], after, measured[0][judged]),
        _yaml(model, found, kinds, settings),
    )


def _as_plain(estimates: Mapping[str, Estimate]) -> dict[str, dict[str, float]]:
    return {name: {"value": x.value, "standard error": x.error} for name, x in estimates.items()}


def _torques(model: MultibodyModel, friction: JointFriction, state: Array) -> Array:
    return np.asarray(inverse_dynamics(model, *state).tau + friction.torque(state[1]))


def _yaml(
    model: MultibodyModel, found: Identified, kinds: tuple[str, ...], settings: Settings
) -> str:
    bodies, kind = {}, "links"
    if "payload" in kinds:
        assert found.payload is not None
        body = settings.payload_body or model.body_names[-1]
        bodies, kind = {body: _described_body(found.payload)}, "payload"
    elif "inertia" in kinds:
        rows = found.parameters.reshape(-1, 10)
        bodies = {
            name: _described_body(row) for name, row in zip(model.body_names, rows, strict=True)
        }
    friction = found.friction if "friction" in kinds else None
    return described(friction, model.joint_names, bodies, kind)


def _described_body(parameters: Array) -> dict[str, Any]:
    mass, first = float(parameters[0]), parameters[1:4]
    com = first / mass
    xx, xy, xz, yy, yz, zz = parameters[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about_com = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
    return {
        "mass": mass,
        "com": com.tolist(),
        "inertia_com": about_com[np.triu_indices(3)].tolist(),
    }
