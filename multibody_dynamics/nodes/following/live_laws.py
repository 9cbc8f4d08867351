# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Another law, other stiffness or damping, chosen while the node runs: judged in the background
before they take effect.

Whatever is chosen is judged as at configuration, in a separate process, while the law in force
keeps running; the cycle is not held up. If bandwidths have to be lowered, the law is designed anew
in a thread. A law is judged at the present position as well, at which it would take effect. Once
accepted, the choice takes effect; if refused, the parameters return to what is in force. What was
judged before under the same conditions, and accepted, takes effect at once, and so does a stiffness
among those with which the law was judged (:meth:`.covers`); but a law that is unstable at some
poses (`unstable_poses: report`) is judged again whenever it is chosen, for the position of the arm
at that time.

Changes of the delays and of predict_state concern the robot, and are in effect at once: the law in
force, and the one that stops the arm, are then judged again. If the law in force is unstable with
them, it nevertheless remains in force, because a change of law in an unstable loop is no remedy;
this is reported as an error until the delays change back, or another law is accepted.

A law starts with the stiffness and damping of the parameters, whenever it is chosen and at every
activation; what came by topic lasts until then.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from ...dynamics.control import (
    Arm,
    Controller,
    FlatnessSettings,
    ImpedanceTarget,
    JudgingProcess,
    JudgingRequest,
    LoopJudgement,
    Verdict,
)
from ...dynamics.core import Array, BackgroundThread
from .flatness_controller_parameters import FlatnessControllerParameters
from .law_judgement import HOLD, is_refused, judging_conditions, refusal_at, take_judgement
from .law_parameters import live_parameters

Parameters = FlatnessControllerParameters
Kept = TypeVar("Kept")


class _Case(NamedTuple):
    """What is judged: a law under conditions, with stiffness and damping if these may change."""

    name: str
    conditions: tuple[tuple[str, float], ...]
    target: ImpedanceTarget | None


class _JudgedLaw(NamedTuple):
    """A verdict, and the law designed anew if other settings had to be lowered than before."""

    verdict: Verdict
    redesigned: Controller | None


class _KnownVerdict(NamedTuple):
    """Why a case is refused, or an empty text, and its judgement, if there is one. `is_new` : a
    law was chosen and has just been judged."""

    refusal: str
    judgement: LoopJudgement | None
    is_new: bool = False

    def holds_anywhere(self, p: Parameters) -> bool:
        """Whether the verdict does not depend on the present position."""
        found = self.judgement
        is_stable = found is None or found.unstable_share == 0.0
        return is_stable or bool(self.refusal) or p.unstable_poses == "accept"


class _Tuning(NamedTuple):
    """Stiffness and damping that the law in force is to have, within `duration` s, if accepted;
    `ends` are called with the refusal, or with an empty text."""

    target: ImpedanceTarget
    duration: float
    ends: tuple[Callable[[str], None], ...]


class LiveLaws:
    """The law in force, and what is being judged.

    Parameters
    ----------
    law : of the cycle, with judgements from configuration; position : (n,) of its design.
    p : the parameters with which it was configured.
    logger, defer : of the node; defer calls a function in the thread of the executor.
    restore : sets a parameter, by name, back to the value in force.

    Attributes: `in_force`, the name of the law that the node uses; `judging`, the name of the law
    that is being judged, or empty; `refused`, why the last change was refused, or empty;
    `is_unstable`, whether the law in force was found to be unstable after a change of the delays.
    It is reset when a new judgement finds this law stable, and when another law is accepted.
    """

    def __init__(
        self,
        law: Arm,
        p: Parameters,
        position: Array,
        *,
        logger: RcutilsLogger,
        defer: Callable[[Callable[[], None]], None],
        restore: Callable[[str, Any], None],
    ) -> None:
        self._law, self._laws, self._position = law, law.laws, position
        self._logger, self._defer, self._restore = logger, defer, restore
        self.in_force, self.judging, self.refused = p.law, "", ""
        self.is_unstable = False
        self._wanted: tuple[Parameters, Callable[[], None]] = (p, lambda: None)
        self._accepted = p  # the last parameters whose stiffness and damping are in force
        self._tuning: _Tuning | None = None
        self._known: dict[_Case, _KnownVerdict] = {}
        for name, judgement in self._laws.judgements.items():
            if not is_refused(p, name, judgement) or name == HOLD:
                self._known[self._key(self._case(name))] = _KnownVerdict("", judgement)
        self._process = JudgingProcess()
        self._thread = BackgroundThread(
            "live laws", JudgingProcess.drop_realtime_priority, defer=defer
        )
        self._asked: _Case | None = None

    def close(self) -> None:
        """Forget what is being judged, and end the process."""
        self._forget()
        self._process.close()
        self._thread.close()

    # What is wanted

    def check(self, settings: FlatnessSettings) -> None:
        """Raise InputError if the law in force cannot take the stiffness of these settings."""
        pending = self._tuning
        self._laws.requested(self.in_force, settings, pending.target if pending else None)

    def choose(self, p: Parameters, settings: FlatnessSettings, then: Callable[[], None]) -> None:
        """Bring what the parameters choose into force, at once or after its judgement, and call
        `then` for another law; judge the law in force again if the conditions have changed.
        `settings` are those of the parameters; those that need no judgement are in effect at once.
        """
        pending = self._tuning
        target = self._laws.requested(self.in_force, settings, pending.target if pending else None)
        if problem := self._laws.change(settings, keep=self.in_force):
            self._logger.warning(problem)
        self._wanted = p, then
        live = self._laws.live_impedance(self.in_force)
        if live is not None and target is not None:
            if target != (pending.target if pending else live.aimed):
                ends = (*(pending.ends if pending else ()), self._end_parameters)
                self._tuning = _Tuning(target, 0.0, ends)
            elif pending is None:
                self._accepted = p
        self._proceed()

    def tune(
        self, values: Mapping[str, float], duration: float, end: Callable[[str], None]
    ) -> None:
        """Change stiffness and damping of the law in force by name, within `duration` s, at once or
        after their judgement; then call `end` with why they were refused, or with an empty text.

        Raises InputError, and changes nothing, for a law without live stiffness, an unknown name,
        and values that the law cannot take.
        """
        live = self._laws.live_impedance(self.in_force)
        if live is None:
            self._laws.change_impedance(self.in_force, values)  # raises
            return
        pending = self._tuning
        target = live.requested(values, pending.target if pending else None)
        ends = (*(pending.ends if pending else ()), end)
        self._tuning = _Tuning(target, duration, ends)
        self._proceed()

    def renew(self) -> None:
        """Forget stiffness and damping that came by topic: the law was renewed."""
        self._tuning = None
        self._proceed()

    # What is judged next

    def _case(self, name: str, target: ImpedanceTarget | None = None) -> _Case:
        """A law under the present conditions, by default with its own stiffness and damping."""
        conditions = judging_conditions(self._wanted[0], name)
        own = self._laws.own_impedance(name)
        return _Case(name, tuple(sorted(conditions.items())), target or own)

    def _key(self, case: _Case) -> _Case:
        """The case without a stiffness that is judged in any case."""
        live = self._laws.live_impedance(case.name)
        if live is None or case.target is None or not live.covers(case.target):
            return case
        return case._replace(target=case.target._replace(stiffness=()))

    def _running(self) -> _Case:
        """The law in force as it is."""
        live = self._laws.live_impedance(self.in_force)
        return self._case(self.in_force, None if live is None else live.aimed)

    def _proceed(self) -> None:
        """Bring into force what is accepted, and judge what has not been judged."""
        case = self._next()
        if case is None:
            self._forget()
        elif not self.judging or self._asked != case:
            self._submit(case)

    def _next(self) -> _Case | None:
        """The case to be judged, after everything that is known has been applied."""
        p, then = self._wanted
        if p.law != self.in_force:
            case = self._case(p.law)
            known = self._known.get(self._key(case))
            if known is None or not (known.is_new or known.holds_anywhere(p)):
                return case
            if known.refusal:
                self._refuse_law(case, known.refusal)
            else:
                self._known[self._key(case)] = known._replace(is_new=False)
                self._bring_into_force(p, then)
        if self._tuning is not None:
            case = self._case(self.in_force, self._tuning.target)
            known = self._known.get(self._key(case))
            if known is None:
                return case
            self._end_tuning(self._tuning, case, known.refusal)
        for case in (self._running(), self._case(HOLD)):
            if case.name not in self._laws.judgements:
                continue  # laws that use observed links are not judged
            known = self._known.get(self._key(case))
            if known is None:
                return case
            if known.judgement is not None:
                self._laws.judgements[case.name] = known.judgement
            if case.name == self.in_force:
                self._note(known.refusal)
        return None

    def _forget(self) -> None:
        """Whatever is being judged is no longer wanted."""
        self.judging, self._asked = "", None
        self._thread.drop()

    def _submit(self, case: _Case) -> None:
        name, law, p = case.name, self._law, self._wanted[0]
        laws = law.laws
        self.judging, self._asked = name, case
        what = "" if name in (self.in_force, HOLD) else f"; '{self.in_force}' remains in force"
        self._logger.info(f"law '{name}' is being judged{what}{' until then' if what else ''}")
        is_running = name == self.in_force
        lowered = dict(laws.lowered)
        live = laws.live_impedance(name)
        if is_running and live is not None and case.target is not None:
            lowered[name] = lowered.get(name, {}) | live.settings_of(case.target)
        request = JudgingRequest(
            law.model,
            law.actuators,
            law.settings,
            name,
            self._position,
            law.second.rows[0].copy(),
            lowered,
            dict(case.conditions),
            lowers=p.unstable_poses == "lower" and not is_running,
            here=law.measured.estimator.state.q.copy() if law.measured.is_settled else None,
        )
        self._thread.replace(partial(self._take, case), self._judge, request)

    def _judge(self, request: JudgingRequest) -> _JudgedLaw:
        """In the thread: wait for the process, and design the law anew if other settings were
        lowered than before."""
        verdict = self._process.submit(request).result()
        if not request.lowers or _is_same(verdict.lowered, request.lowered.get(request.name, {})):
            return _JudgedLaw(verdict, None)
        return _JudgedLaw(verdict, self._laws.redesign(request.name, request.q, verdict.lowered))

    def _take(self, case: _Case, done: Future[_JudgedLaw]) -> None:
        """In the thread of the executor: note whether what was judged is accepted, and proceed."""
        self.judging, self._asked = "", None
        name, laws, p = case.name, self._laws, self._wanted[0]
        is_chosen = name == p.law != self.in_force
        is_kept = name == HOLD or case == self._running()  # whatever the judgement
        if (error := done.exception()) is not None:
            problem = f"it could not be judged: {error!r}"
            if is_kept:
                self._logger.error(f"law '{name}' remains in force, but {problem}")
            refusal = "" if is_kept else f"law '{name}' is refused: {problem}"
            self._known[self._key(case)] = _KnownVerdict(refusal, None)
            self._proceed()
            return
        verdict, redesigned = done.result()
        judgement, lowered = laws.judgements.get(name), laws.lowered.get(name)
        if redesigned is not None:
            laws.lowered[name] = verdict.lowered
        refusal = take_judgement(laws, p, name, verdict.judgement, self._logger)
        if not is_kept:
            refusal = refusal or refusal_at(p, name, verdict.here)
        if refusal and not is_kept:
            _put_back(laws.judgements, name, judgement)
            _put_back(laws.lowered, name, lowered)
        elif redesigned is not None:
            self._known = {each: why for each, why in self._known.items() if each.name != name}
            laws.install(name, redesigned)
        if refusal and name == HOLD and self.in_force != HOLD:
            self._logger.error(f"{refusal}; it stops the arm after a fault all the same")
        self._known[self._key(case)] = _KnownVerdict(refusal, verdict.judgement, is_chosen)
        self._proceed()

    # Verdicts

    def _bring_into_force(self, p: Parameters, then: Callable[[], None]) -> None:
        if self.is_unstable:
            # to be judged before it is chosen again; unknown under delays that have just changed
            self._known.pop(self._key(self._running()), None)
        self.is_unstable = False
        self._drop_tuning("another law was accepted")
        self.in_force, self.refused, self._accepted = p.law, "", p
        self._laws.renew_impedance(p.law)
        self._logger.info(f"law '{p.law}' is accepted")
        then()

    def _refuse_law(self, case: _Case, refusal: str) -> None:
        del self._known[self._key(case)]  # to be judged again if it is chosen again
        p, then = self._wanted
        self._wanted = replace(p, law=self.in_force), then
        self._report(refusal)
        self._defer(lambda: self._restore("law", self.in_force))

    def _end_tuning(self, tuning: _Tuning, case: _Case, refusal: str) -> None:
        """Apply or drop a change of stiffness and damping."""
        self._tuning = None
        if refusal:
            del self._known[self._key(case)]
            self._report(refusal)
        else:
            live = self._laws.live_impedance(self.in_force)
            assert live is not None
            live.aim(tuning.target, tuning.duration)
            self._accepted, self.refused = self._wanted[0], ""
        for end in tuning.ends:
            end(refusal)

    def _drop_tuning(self, why: str) -> None:
        """Drop a change that is still being judged."""
        tuning, self._tuning = self._tuning, None
        for end in tuning.ends if tuning is not None else ():
            if end != self._end_parameters:  # these now concern a law that is not in force
                end(why)

    def _end_parameters(self, refusal: str) -> None:
        """Return parameters to what is in force if their change was refused."""
        if not refusal:
            return
        p, before = self._wanted[0], self._accepted
        for name in live_parameters(self.in_force):
            if getattr(p, name) != (value := getattr(before, name)):
                self._defer(lambda name=name, value=value: self._restore(name, value))

    def _report(self, refusal: str) -> None:
        self.refused = refusal
        self._logger.error(f"{refusal}; law '{self.in_force}' remains in force")

    def _note(self, refusal: str) -> None:
        """Report whether the law in force is still stable; it remains in force in any case."""
        was_unstable, self.is_unstable = self.is_unstable, bool(refusal)
        name = self.in_force
        if refusal and not was_unstable:
            self._logger.error(
                f"law '{name}' is in force, but unstable now: {self._laws.judgements[name]}; reduce"
                " the delay, or choose another law"
            )
        elif was_unstable and not refusal:
            self._logger.info(f"law '{name}' is stable again")


def _is_same(lowered: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return lowered.keys() == other.keys() and all(
        np.array_equal(value, other[name]) for name, value in lowered.items()
    )


def _put_back(kept: dict[str, Kept], name: str, old: Kept | None) -> None:
    """Give an entry the value that it had, or remove it if it had none."""
    kept.pop(name, None)
    if old is not None:
        kept[name] = old
