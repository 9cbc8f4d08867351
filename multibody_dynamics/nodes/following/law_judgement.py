# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Design of the laws, and judgement of their sampled loops: stable, reported, or refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from ...dynamics.control import (
    LAWS,
    Arm,
    DesignedLaws,
    LoopJudgement,
    middle_of_range,
    spread_poses,
)
from ...dynamics.core import Array, DynamicsError, InputError, cached_result
from ..base.parameters import ParameterError
from .flatness_controller_parameters import FlatnessControllerParameters

Parameters = FlatnessControllerParameters
HOLD = "hold"  # the law that stops the arm after a fault
LONG = 10  # cycles; with a longer delay, the loop is so large that only the design pose is judged
TRIED = 20  # positions at which a design is tried


class Prepared(NamedTuple):
    """The `law` with its `parameters`, whose filter_bandwidth may be raised, and the position (n,)
    for which everything is designed."""

    law: Arm
    parameters: Parameters
    position: Array


def prepare_laws(
    make: Callable[[Parameters], Arm], p: Parameters, logger: RcutilsLogger
) -> Prepared:
    """Design the laws, and judge throughout the joint range the chosen one, the one that stops the
    arm, and those with which it reacts to collisions; fills the `judgements` of its laws.

    Without `design_position` they are designed for the middle of the joint range, and keep these
    gains, so the gains that run are those that were judged.

    With `unstable_poses` at "lower", the filter is made faster if torques come too late for an
    oscillation, and bandwidths are lowered until the loop is stable at all poses; see
    :meth:`.DesignedLaws.faster_filter` and :meth:`.DesignedLaws.stabilise`. What was judged in an
    earlier start, of the same robot with the same settings, is not judged again
    (:func:`.cached_result`). Raises ParameterError if the chosen law is refused, see
    :func:`is_refused`.
    """
    law = make(p)
    position = _designed(law, p)
    names = list(dict.fromkeys((p.law, HOLD, *_reactions(p))))
    judged = _judged(law.laws, p, names, position, logger)
    if p.unstable_poses == "lower" and not p.collision_thresholds:
        late = [name for name, found in judged.items() if found is not None and found.is_late]
        faster = _faster_filter(law.laws, p, late, position, logger)
        if faster is not None:
            _warn_of_noise(p.filter_bandwidth, faster, logger)
            p = replace(p, filter_bandwidth=faster)
            law = make(p)
            _designed(law, p)
            judged = _judged(law.laws, p, names, position, logger)
    for name, judgement in judged.items():
        if judgement is not None and judgement.unstable_share and p.unstable_poses == "lower":
            judgement = _stabilised(law.laws, p, name, position, logger)
        if refusal := take_judgement(law.laws, p, name, judgement, logger):
            if name == p.law:
                raise ParameterError(refusal)
            use = "stops the arm after a fault" if name == HOLD else "responds to collisions"
            logger.warning(f"{refusal}; it {use} all the same")
    if law.laws.lowered:
        law.design(position)
    return Prepared(law, p, position)


def take_judgement(
    laws: DesignedLaws,
    p: Parameters,
    name: str,
    judgement: LoopJudgement | None,
    logger: RcutilsLogger,
) -> str:
    """Log and keep a judgement, and what was lowered for it; returns why the law is refused, or
    an empty text."""
    if judgement is None:
        logger.info(f"law '{name}' is not judged: it uses link states estimated by an observer")
        return ""
    laws.judgements[name] = judgement
    if is_refused(p, name, judgement):
        return f"law '{name}' is refused: {judgement}; {_remedy(p, name)}"
    lowered = laws.lowered.get(name)
    if lowered:
        logger.warning(f"law '{name}' is lowered to {shown_settings(lowered)}: {judgement}")
    elif judgement.unstable_share:  # rclpy allows only one severity per line of code
        logger.warning(f"law '{name}': {judgement}")
    else:
        logger.info(f"law '{name}': {judgement}")
    return ""


def is_refused(p: Parameters, name: str, judgement: LoopJudgement) -> bool:
    """Whether a law with this judgement must not take effect: with `unstable_poses` at "lower"
    or "reject", if it is unstable at any pose; with "report", if it is unstable at the given design
    position with an exact model; with "accept", never."""
    if p.unstable_poses == "accept":
        return False
    if p.design_position and judgement.is_unstable_at_design:
        return True
    return p.unstable_poses != "report" and judgement.unstable_share > 0.0


def _remedy(p: Parameters, name: str) -> str:
    """What helps against a refusal."""
    if LAWS[name].lowers:
        return "use a lower bandwidth or stiffness"
    better = (
        "" if p.judged_model_error == 0.0 else "lower judged_model_error if the model is better, "
    )
    own = "raise torque_link_bandwidth, " if name == "torque_control" else ""
    return f"{own}{better}choose another law or, in simulations, set unstable_poses to 'accept'"


def judging_conditions(p: Parameters, name: str) -> dict[str, Any]:
    """The arguments of :meth:`.DesignedLaws.judge` for a law. Known delays count only where they
    are not predicted: for a law that stops the arm, or with predict_state off."""
    is_predicted = p.predict_state and name != HOLD
    known = 0.0 if is_predicted else p.sensor_delay + p.command_delay
    delay = known + p.unknown_delay
    return {
        "delay": delay,
        "period": p.period,
        "poses": 0 if delay > LONG * p.period else p.judged_poses,
        "model_error": p.judged_model_error,
    }


def check_at(laws: DesignedLaws, p: Parameters, name: str, designed: Array, q: Array) -> None:
    """Judge a law, designed for the position `designed` (n,), at the first measured one q (n,),
    with an exact model. Raises InputError if it is unstable there, unless `unstable_poses` is
    "accept"."""
    if p.unstable_poses == "accept":
        return
    conditions = judging_conditions(p, name) | {"poses": 0, "model_error": 0.0}
    if refusal := refusal_at(p, name, laws.judge(name, designed, at=q, **conditions)):
        raise InputError(refusal)


def refusal_at(p: Parameters, name: str, found: LoopJudgement | None) -> str:
    """Why a law is refused that was judged at one position alone, with an exact model, or an empty
    text."""
    if found is None or p.unstable_poses == "accept" or not found.is_unstable_at_design:
        return ""
    return f"law '{name}' is refused: {found}; {_remedy(p, name)}"


def shown_settings(lowered: dict[str, Any]) -> str:
    """Changed settings of a law, as text with units."""
    units = {"stiffness_share": "", "inertia_share": "", "damping_ratio": ""}
    return ", ".join(
        f"{key} {_shown(value)}{units.get(key, ' in rad/s')}" for key, value in lowered.items()
    )


def _shown(value: Any) -> str:
    row = np.unique(np.atleast_1d(value))
    return ", ".join(f"{each:.3g}" for each in row)


def _designed(law: Arm, p: Parameters) -> Array:
    """Design the laws at `design_position`; if none is given, in the middle of the joint range or,
    if that fails, at the first of TRIED other positions at which the design succeeds. Returns the
    position. Raises ParameterError if there is none."""
    if p.design_position:
        given = np.array(p.design_position)
        law.design(given)
        return given
    middle = middle_of_range(law.model)
    refusal = ""
    for q in (middle, *spread_poses(law.model, TRIED)):
        try:
            law.design(q)
        except DynamicsError as error:
            refusal = refusal or str(error)
        else:
            return np.asarray(q)
    raise ParameterError(f"no design succeeds anywhere in the joint range: {refusal}")


def _judged(
    laws: DesignedLaws, p: Parameters, names: list[str], q: Array, logger: RcutilsLogger
) -> dict[str, LoopJudgement | None]:
    """The judgements of these laws, without lowering them."""
    judgements = {}
    for name in names:
        conditions = judging_conditions(p, name)

        def judge(name: str = name, conditions: dict[str, Any] = conditions) -> Any:
            logger.info(f"judging law '{name}' at {1 + conditions['poses']} poses ...")
            return laws.judge(name, q, **conditions)

        try:
            judgements[name] = cached_result("judgement", (laws.basis(name, q), conditions), judge)
        except DynamicsError as error:
            if name == p.law:
                raise ParameterError(f"law '{name}': {error}") from None
            logger.warning(f"law '{name}' was not judged: {error}")
    return judgements


def _stabilised(
    laws: DesignedLaws, p: Parameters, name: str, q: Array, logger: RcutilsLogger
) -> LoopJudgement | None:
    """The judgement of a law whose bandwidths are lowered as far as necessary."""
    conditions = judging_conditions(p, name)

    def search() -> tuple[LoopJudgement | None, dict[str, Any]]:
        logger.info(f"law '{name}' is unstable at some poses: trying lower settings ...")
        judgement = laws.stabilise(name, q, **conditions)
        return judgement, laws.lowered.get(name, {})

    judgement, lowered = cached_result("lowered", (laws.basis(name, q), conditions), search)
    if lowered:
        laws.lowered[name] = lowered
    return judgement


def _faster_filter(
    laws: DesignedLaws, p: Parameters, names: list[str], q: Array, logger: RcutilsLogger
) -> float | None:
    """The filter bandwidth in Hz that these laws need, if there is one."""
    chosen = [name for name in names if LAWS[name].lowers]
    if not chosen:
        return None
    conditions = judging_conditions(p, HOLD)

    def search() -> float | None:
        logger.info(f"law '{chosen[0]}' is unstable at some poses: trying faster filters ...")
        return laws.faster_filter(chosen, q, **conditions)

    basis = [laws.basis(name, q) for name in chosen]
    return cached_result("filter", (basis, conditions), search)


def _warn_of_noise(given: float, faster: float, logger: RcutilsLogger) -> None:
    logger.warning(
        f"filter_bandwidth is raised from {given:.3g} to {faster:.3g} Hz, because the torques would"
        " come too late for the fastest resonance of the arm; velocities become"
        f" {(faster / given) ** 1.5:.2g} times as noisy"
    )


def _reactions(p: Parameters) -> tuple[str, ...]:
    """The law of the reactions that yield. Judged whichever reaction is chosen now: the choice can
    be changed while the node runs."""
    return ("joint_impedance",) if p.collision_thresholds else ()
