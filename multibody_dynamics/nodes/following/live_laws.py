"""Another law, chosen while the node runs: judged beside the cycle before it comes into force.

The chosen law is judged as at configuration, in a process of its own, while the law in force keeps
running; the cycle is not held up. If bandwidths have to be lowered, the law is designed anew in a
thread. Once accepted, it comes into force, with the parameters of that time; if refused, the
parameter `law` returns to the law in force. A law that was judged before under the same conditions,
and accepted, comes into force at once.

The damping ratio of an impedance in force is judged in the same way. The stiffness is not: the
impedance was judged with every stiffness that it accepts. Changes of the delays and of
predict_state concern the robot, and are in effect at once: the law in force is then judged again.
If it is unstable with them, it nevertheless remains in force, because a change of law in an
unstable loop is no remedy; this is reported as an error until the delays change back, or another
law is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from rclpy.impl.rcutils_logger import RcutilsLogger

from ...dynamics.control import (
    Controller,
    FlatnessLaw,
    FlatnessSettings,
    JudgingProcess,
    JudgingRequest,
    Verdict,
)
from ...dynamics.core import Array
from .flatness_controller_parameters import FlatnessControllerParameters
from .law_design import is_refused, judging_conditions, take_judgement

Parameters = FlatnessControllerParameters
Kept = TypeVar("Kept")


class _Found(NamedTuple):
    """A verdict, and the law designed anew if it had to be lowered."""

    verdict: Verdict
    redesigned: Controller | None


class LiveLaws:
    """The law in force, and the one that is being judged.

    Parameters
    ----------
    law : of the cycle, with judgements from configuration; position : (n,) of its design.
    p : the parameters with which it was configured.
    logger, defer : of the node; defer calls a function in the thread of the executor.
    restore : sets a parameter, by name, back to the value in force.

    Attributes: `in_force`, the name of the law that the node uses, and `damping`, the
    impedance_damping; `judging`, the name of the law that is being judged, or empty; `refused`, why
    the last change was refused, or empty; `is_unstable`, whether the law in force was found to be
    unstable after a change of the delays. It is reset when a new judgement finds this law stable,
    and when another law is accepted.
    """

    # wide: the parts of the node
    def __init__(
        self,
        law: FlatnessLaw,
        p: Parameters,
        position: Array,
        *,
        logger: RcutilsLogger,
        defer: Callable[[Callable[[], None]], None],
        restore: Callable[[str, str | float], None],
    ) -> None:
        self._law, self._position = law, position
        self._logger, self._defer, self._restore = logger, defer, restore
        self.in_force, self.judging, self.refused = p.law, "", ""
        self.damping, self.is_unstable = p.impedance_damping, False
        self._judged = {
            name: _conditions(p, name)
            for name, judgement in law.judgements.items()
            if not is_refused(p, name, judgement)
        }
        self._process = JudgingProcess()
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="live laws", initializer=JudgingProcess.give_way
        )
        self._newest = 0
        self._pending: Future[_Found] | None = None
        self._asked: tuple[object, ...] = ()  # name and conditions of the law that is being judged
        self._wanted: tuple[Parameters, Callable[[], None]] = (p, lambda: None)

    def close(self) -> None:
        """Forget what is being judged, and end the process."""
        self._forget()
        self._process.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def choose(self, p: Parameters, settings: FlatnessSettings, then: Callable[[], None]) -> None:
        """Bring the law that the parameters choose into force, at once or after its judgement, and
        call `then`; judge the law in force again if the conditions have changed. `settings` are
        those of the parameters."""
        name = p.law
        known, conditions = self._judged.get(name), _conditions(p, name)
        self._wanted = p, then  # whatever changes meanwhile is in effect once the law is accepted
        if known == conditions or (name == self.in_force and known is None):
            self._forget()
            self._accept(p, then)
        elif not self.judging or self._asked != (name, conditions):
            self._submit(p, settings)

    def _forget(self) -> None:
        """Whatever is being judged is no longer wanted."""
        self._newest += 1
        self.judging = ""
        if self._pending is not None:
            self._pending.cancel()

    def _accept(self, p: Parameters, then: Callable[[], None]) -> None:
        is_new = (p.law, p.impedance_damping) != (self.in_force, self.damping)
        if self.is_unstable and is_new:
            if p.law != self.in_force:
                self._judged.pop(self.in_force, None)  # to be judged again if it is chosen again
            self.is_unstable = False
        self.in_force, self.damping = p.law, p.impedance_damping
        if is_new:
            self.refused = ""
            then()

    def _submit(self, p: Parameters, settings: FlatnessSettings) -> None:
        self._forget()
        self.judging, number, law = p.law, self._newest, self._law
        self._asked = p.law, _conditions(p, p.law)
        what = "" if p.law == self.in_force else f"; '{self.in_force}' remains in force until then"
        self._logger.info(f"law '{p.law}' is being judged{what}")
        request = JudgingRequest(
            law.model,
            law.actuators,
            settings,
            p.law,
            self._position,
            law.stiffness[0].copy(),
            dict(law.lowered),
            judging_conditions(p, p.law),
            lowers=p.unstable_poses == "lower" and p.law != self.in_force,
        )
        self._pending = self._thread.submit(self._judge, request)
        self._pending.add_done_callback(lambda done: self._defer(lambda: self._take(number, done)))

    def _judge(self, request: JudgingRequest) -> _Found:
        """In the thread: wait for the process, and design the law anew if it was lowered."""
        verdict = self._process.submit(request).result()
        if not request.lowers or not verdict.lowered:
            return _Found(verdict, None)
        law = self._law
        return _Found(verdict, law.redesign(request.name, request.q, verdict.lowered))

    def _take(self, number: int, done: Future[_Found]) -> None:
        """In the thread of the executor: accept or refuse what was judged."""
        if number != self._newest or done.cancelled():
            return
        self.judging = ""
        p, then = self._wanted
        name, law = p.law, self._law
        if (error := done.exception()) is not None:
            self._refuse(p, f"law '{name}' is refused: it could not be judged: {error!r}")
            return
        verdict, redesigned = done.result()
        judgement, lowered = law.judgements.get(name), law.lowered.get(name)
        if redesigned is not None:
            law.lowered[name] = verdict.lowered
        refusal = take_judgement(law, p, name, verdict.judgement, self._logger)
        is_running = (name, p.impedance_damping) == (self.in_force, self.damping)
        if is_running:
            self._judged[name] = _conditions(p, name)
            self._judge_running(bool(refusal))
            return
        if refusal:
            _put_back(law.judgements, name, judgement)
            _put_back(law.lowered, name, lowered)
            self._refuse(p, refusal)
            return
        if redesigned is not None:
            law.install(name, redesigned)
        self._judged[name] = _conditions(p, name)
        self._logger.info(f"law '{name}' is accepted")
        self._accept(p, then)

    def _judge_running(self, is_unstable: bool) -> None:
        """Report a new judgement of the law in force, which remains in force in any case."""
        name, was_unstable, self.is_unstable = self.in_force, self.is_unstable, is_unstable
        if is_unstable:
            self._logger.error(
                f"law '{name}' is in force, but unstable now: {self._law.judgements[name]}; reduce"
                " the delay, or choose another law"
            )
        elif was_unstable:
            self._logger.info(f"law '{name}' is stable again")

    def _refuse(self, p: Parameters, refusal: str) -> None:
        self.refused = refusal
        self._logger.error(f"{refusal}; law '{self.in_force}' remains in force")
        if p.law != self.in_force:
            self._restore("law", self.in_force)
        elif p.impedance_damping != self.damping:
            self._restore("impedance_damping", self.damping)


def _put_back(kept: dict[str, Kept], name: str, old: Kept | None) -> None:
    """Give an entry the value that it had, or remove it if it had none."""
    kept.pop(name, None)
    if old is not None:
        kept[name] = old


def _has_damping(name: str) -> bool:
    """Whether impedance_damping applies to a law."""
    return name in ("joint_impedance", "cartesian_impedance")


def _conditions(p: Parameters, name: str) -> tuple[object, ...]:
    """The live parameters on which the judgement of a law depends."""
    conditions = judging_conditions(p, name)
    damping = p.impedance_damping if _has_damping(name) else 0.0
    return (*sorted(conditions.items()), damping)
