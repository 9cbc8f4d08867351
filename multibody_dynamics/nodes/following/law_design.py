"""Design of the laws, and judgement of their sampled loops: stable, reported, or refused."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from ...dynamics.control import FlatnessLaw
from ...dynamics.core import Array, InputError
from ..base.parameters import ParameterError
from .flatness_controller_parameters import FlatnessControllerParameters

STOP = "hold"  # the law that stops the arm after a fault
PERIOD = 1e-3  # s, if no rate is given
LONG = 10  # cycles of delay; beyond, only the design pose is judged: the loop gets large


def prepare_laws(law: FlatnessLaw, p: FlatnessControllerParameters, logger: RcutilsLogger) -> None:
    """Design the laws, and judge the chosen one and the one that stops the arm in the whole joint
    range; fills `law.judgements`.

    Without `design_position` they are designed for zero, within the limits, until the first state
    is known (:func:`design_at`): this compiles the code, and most gains hardly depend on the pose.

    Raises ParameterError if the chosen law is unstable at the design position or, with
    `unstable_poses` at "reject", anywhere.
    """
    limits, conditions = law.model.limits, _conditions(p)
    q = np.clip(np.zeros(law.model.n), limits.lower, limits.upper)
    is_given = bool(p.design_position)
    if is_given:
        q = np.array(p.design_position)
        law.design(q)
    else:
        with suppress(InputError):
            law.design(q)
    law.judgements.clear()
    for name in dict.fromkeys((p.law, STOP)):
        try:
            is_long = conditions["delay"] > LONG * conditions["period"]
            poses = 0 if is_long else p.judged_poses
            found = law.judge(name, q, model_error=p.judged_model_error, poses=poses, **conditions)
        except InputError as error:
            if is_given:
                raise ParameterError(f"law '{name}': {error}") from None
            logger.warning(f"law '{name}' was not judged: {error}")
            continue
        if found is None:
            logger.info(f"law '{name}' is not judged: it is not linear near rest")
            continue
        law.judgements[name] = found
        is_refused = is_given and found.is_unstable_at_design
        is_refused |= p.unstable_poses == "reject" and found.unstable_share > 0.0
        if is_refused and name == p.law:
            raise ParameterError(f"law '{name}' is refused: {found}; use a lower bandwidth")
        if found.unstable_share:  # rclpy demands one severity for each line of code
            logger.warning(f"law '{name}': {found}")
        else:
            logger.info(f"law '{name}': {found}")


def design_at(law: FlatnessLaw, p: FlatnessControllerParameters, q: Array) -> None:
    """Design the laws for the first measured position (n,). Raises InputError if the chosen law is
    unstable there."""
    law.design(q)
    found = law.judge(p.law, q, poses=0, **_conditions(p))
    if found is not None and found.is_unstable_at_design:
        raise InputError(f"law '{p.law}' is refused: {found}; use a lower bandwidth")


def _conditions(p: FlatnessControllerParameters) -> dict[str, float]:
    """Delay and period in s for which a loop is judged."""
    rate = p.update_rate or p.expected_rate
    period = 1.0 / rate if rate else PERIOD
    waiting = period if p.update_rate else 0.0  # a timer uses the state of the previous tick
    return {"delay": p.command_delay + p.judged_delay + waiting, "period": period}
