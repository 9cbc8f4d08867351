"""Design of the laws, and judgement of their sampled loops: stable, reported, or refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from ...dynamics.control import FlatnessLaw, LoopJudgement
from ...dynamics.core import Array, DynamicsError, InputError
from ..base.parameters import ParameterError
from .flatness_controller_parameters import FlatnessControllerParameters

STOP = "hold"  # the law that stops the arm after a fault
LONG = 10  # cycles of delay; beyond, only the design pose is judged: the loop gets large


def prepare_laws(law: FlatnessLaw, p: FlatnessControllerParameters, logger: RcutilsLogger) -> None:
    """Design the laws, and judge, throughout the joint range, the chosen one and the one that
    stops the arm; fills `law.judgements`.

    Without `design_position` they are designed for zero, within the limits, until the first state
    is known (:func:`design_at`): this compiles the code, and most gains hardly depend on the pose.

    With `unstable_poses` at "lower", bandwidths are lowered until the loop is stable at all poses;
    see :meth:`.FlatnessLaw.stabilise`. Raises ParameterError if the chosen law is unstable at the
    design position or, with "lower" and "reject", anywhere.
    """
    limits = law.model.limits
    q = np.clip(np.zeros(law.model.n), limits.lower, limits.upper)
    is_given = bool(p.design_position)
    if is_given:
        q = np.array(p.design_position)
        law.design(q)
    else:
        with suppress(InputError):
            law.design(q)
    law.judgements.clear()
    law.lowered.clear()
    for name in dict.fromkeys((p.law, STOP)):
        try:
            found = _judged(law, p, name, q)
        except DynamicsError as error:
            if is_given:
                raise ParameterError(f"law '{name}': {error}") from None
            logger.warning(f"law '{name}' was not judged: {error}")
            continue
        if found is None:
            logger.info(f"law '{name}' is not judged: it is not linear near rest")
            continue
        law.judgements[name] = found
        is_refused = is_given and found.is_unstable_at_design
        is_refused |= p.unstable_poses in ("lower", "reject") and found.unstable_share > 0.0
        if is_refused and name == p.law:
            raise ParameterError(f"law '{name}' is refused: {found}; use a lower bandwidth")
        lowered = law.lowered.get(name)
        if lowered:
            changes = ", ".join(f"{key} {_shown(value)}" for key, value in lowered.items())
            logger.warning(f"law '{name}' is lowered to {changes} in rad/s: {found}")
        elif found.unstable_share:  # rclpy demands one severity for each line of code
            logger.warning(f"law '{name}': {found}")
        else:
            logger.info(f"law '{name}': {found}")
    if law.lowered and is_given:
        law.design(q)


def _judged(
    law: FlatnessLaw, p: FlatnessControllerParameters, name: str, q: Array
) -> LoopJudgement | None:
    """The judgement of one law, lowered if the parameters say so."""
    conditions = _conditions(p, name)
    is_long = conditions["delay"] > LONG * conditions["period"]
    conditions["poses"] = 0 if is_long else p.judged_poses
    conditions["model_error"] = p.judged_model_error
    judge = law.stabilise if p.unstable_poses == "lower" else law.judge
    return judge(name, q, **conditions)


def _shown(value: Any) -> str:
    row = np.unique(np.atleast_1d(value))
    return ", ".join(f"{each:.3g}" for each in row)


def design_at(law: FlatnessLaw, p: FlatnessControllerParameters, q: Array) -> None:
    """Design the laws for the first measured position (n,). Raises InputError if the chosen law is
    unstable there."""
    law.design(q)
    found = law.judge(p.law, q, poses=0, **_conditions(p, p.law))
    if found is not None and found.is_unstable_at_design:
        raise InputError(f"law '{p.law}' is refused: {found}; use a lower bandwidth")


def _conditions(p: FlatnessControllerParameters, name: str) -> dict[str, Any]:
    """Delay and period in s for which the loop of a law is judged. Known delays count only where
    they are not predicted: for a law that stops the arm, or with predict_state off."""
    is_predicted = p.predict_state and name != STOP
    known = 0.0 if is_predicted else p.sensor_delay + p.command_delay
    return {"delay": known + p.unknown_delay, "period": p.period}
