# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The laws of :mod:`.controller_settings`, designed for a robot: from settings to a controller."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import InputError
from ...elastic import Actuators
from ...model import MultibodyModel, check_model
from ..controllers.controllers import Controller
from .controller_settings import ControllerSettings


def make_controller(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    """The control law that the settings name, designed for this robot.

    Raises InputError for settings that do not fit the robot and for designs that are not stable,
    and DynamicsError if no gains stabilise the arm (:func:`.coupled_gains`).
    """
    check_model(model)
    for name, value, kind in (
        ("actuators", actuators, Actuators),
        ("settings", settings, ControllerSettings),
    ):
        if not isinstance(value, kind):
            raise InputError(f"{name}: expected {kind.__name__}, got {value!r}")
    return settings.design(model, actuators)


def _attribute(law: Controller, path: str) -> Any:
    """An attribute, or that of an attribute; None where the law has none."""
    found: Any = law
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def retune(controller: Controller, settings: ControllerSettings) -> None:
    """Change the gains of a running law between two updates; integrators and filters keep their
    state, but the observer of "torque_control" starts again from zero.

    The settings must name the same law and variant; gains are designed for the controller's current
    model. The torque jumps by the change of the gains times the current error: retune at rest or in
    small steps, or make a new law and :meth:`.BumplessTransfer.switch` to it. Everything is checked
    and designed first, which takes milliseconds; after an InputError the law is unchanged.
    """
    model, actuators = controller.model, controller.actuators
    other = make_controller(model, actuators, settings)
    same = type(other) is type(controller)
    for name in settings.fixed:
        before, after = (_attribute(law, name) for law in (controller, other))
        same &= bool(np.array_equal(before, after))
    if not same:
        raise InputError(
            f"law '{settings.law}' with these settings differs from the running "
            f"{type(controller).__name__} in more than gains; make a new law and switch to it"
        )
    # the period first: gains are discretised with it, and that of a running law is the last step
    for name in ("period", *settings.tunable, "friction"):
        setattr(controller, name, getattr(other, name))
