# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control laws of an arm by name: their design, the judgement of their sampled loops, and
what may change while they run."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ...core import Array, DynamicsError, IndependentCopies, InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from ..controllers.controllers import PERIOD, Controller, LinearFeedback
from ..controllers.hold_controller import HoldController
from ..controllers.late_hold import LateHoldController
from ..controllers.link_damping import LinkDampingController
from ..controllers.scheduled_feedback import ScheduledFeedback
from ..gains.joint_gains import at_rest
from ..impedance.impedance import JointImpedance
from ..impedance.live_impedance import ImpedanceTarget, LiveImpedance
from ..observers.adaptive_feedforward import AdaptiveFeedforward
from ..stability.loop_judgement import LoopJudge, LoopJudgement
from ..stability.loop_sampling import RestingPlants
from ..stability.stable_bandwidth import faster_filter
from ..stability.step_torques import needed_resolution, step_torques, velocity_peak
from .by_name.hold import HoldSettings
from .controller_settings import ControllerSettings, SecondOutputs, make_controller
from .flatness_settings import ON_LINKS, FlatnessSettings
from .lowered_settings import SEARCHES

FEEDFORWARD_LEAD = 0.5  # cycles, assumed in the judgement of laws that depend on the lead


class DesignedLaws(IndependentCopies):
    """The control laws of an arm with elastic joints, by name; `laws[name]` is the controller.

    Parameters
    ----------
    settings : of every law, and how the state is estimated; `signals` : names of the signals that
        are measured.
    second : (v,) second outputs, read at each design and judgement.

    Attributes
    ----------
    settings : of the next design; may be replaced.
    second : (v,), shared, not copied.
    on_links : the law that stops the arm without motor states; None where that is impossible
        because the links are not measured, or because a motor sets a stiffness.
    judgements : stability of the laws that were judged, by name; the caller stores the results of
        :meth:`judge` or :meth:`stabilise` here.
    lowered : by law, the settings that :meth:`stabilise` had to change.
    undesigned : by law, why the last :meth:`design` failed; such a law cannot be started.
    adapts : whether the laws with an adaptation change their estimates, see :meth:`adapt`.
    holds : the controllers that "hold" uses for torques on time, and for late ones; None before
        the first design.
    tolerates_delay : whether "hold" is `late` now.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        settings: FlatnessSettings,
        signals: tuple[str, ...],
        second: Array,
    ) -> None:
        self.model, self.actuators, self.settings = model, actuators, settings
        self._signals = signals
        self.second = second
        self.on_links: LinkDampingController | None = None
        if signals == ("link_position", "motor_position"):
            hold = settings.controllers["hold"]
            assert isinstance(hold, HoldSettings)
            with suppress(InputError):
                self.on_links = LinkDampingController(model, actuators, stop_time=hold.stop_time)
        self.judgements: dict[str, LoopJudgement] = {}
        self.lowered: dict[str, dict[str, Any]] = {}
        self.undesigned: dict[str, str] = {}
        self.adapts, self.tolerates_delay = True, False
        self._laws: dict[str, Controller] = {}
        self._plants = RestingPlants()
        self._own: dict[str, ImpedanceTarget] = {}  # of laws with live stiffness, by settings
        self.holds: tuple[HoldController, LateHoldController] | None = None
        self._limit: Array = actuators.torque_limit
        self._step_torques: dict[str, Array] = {}  # by law

    def __getitem__(self, name: str) -> Controller:
        """The controller of this name."""
        return self._laws[name]

    def renew(self) -> None:
        """Forget what earlier runs have shown: estimates of adaptations, stiffness and damping that
        were not set by `settings`, that torques were late, and that laws have oscillated."""
        self.forget_adaptation()
        for law in self._laws.values():
            law.lowerings = 0
        for name in self._own:
            self.renew_impedance(name)
        self.tolerate_delay(False)

    def design(self, q: Array) -> None:
        """Design every law of `settings` for rest at q (n,).

        Raises DynamicsError or InputError where `settings.law`, "hold" or, if there are reactions,
        "joint_impedance" cannot be designed, for example because its gains are not stable there;
        other laws that cannot be designed are listed in `undesigned`.
        """
        self._laws, self._step_torques, self.undesigned = {}, {}, {}
        for name in self.settings.controllers:
            try:
                settings = self._settings_of(name, q)
                law = make_controller(self.model, self.actuators, settings)
                self._step_torques[name] = self._steps_of(law, q)  # some laws fail only when run
                self._laws[name] = law
            except DynamicsError as error:
                if name in (self.settings.law, "hold"):
                    raise
                self.undesigned[name] = str(error)
        self._own = {name: law.aimed for name, law in self._live()}
        for law in self._laws.values():
            if isinstance(law, ScheduledFeedback):
                law.prepare()
        for name, share in self.settings.reactions.items():
            self._laws[name] = self._reaction(share, q)
        if self.on_links is not None:
            self._laws[ON_LINKS] = self.on_links
        self.adapt(self.adapts)
        hold = self._laws["hold"]
        assert isinstance(hold, HoldController)
        self.holds = hold, LateHoldController(self.model, self.actuators, q)
        self.tolerates_delay = False
        self.limit(self._limit)

    def limit(self, torque: Array) -> None:
        """Let all laws know the limits (m,), in N m, on the torques that will be sent."""
        self._limit = torque
        for law in (*self._laws.values(), *(self.holds or ())):
            law.limit(torque)

    def _steps_of(self, law: Controller, q: Array) -> Array:
        """See :func:`.step_torques`; of a law that is not running yet."""
        estimation = self.settings.estimation
        bandwidth = estimation.bandwidth
        if estimation.source == "motor_encoders":
            bandwidth = self.settings.motor_bandwidth
        peak = velocity_peak(estimation.order, bandwidth, law.period)
        rest = at_rest(self.model, self.actuators, q, self.second)
        try:
            return step_torques(law, q, rest, peak)
        finally:
            law.reset()

    def needed_resolution(self, name: str) -> Array:
        """(n + m,) rad or m, steps of the encoders of links and motors that change a torque by its
        limit, through the law `name` or the stop."""
        designed = {name, "hold"} & self._step_torques.keys()
        found = [needed_resolution(self._step_torques[each], self._limit) for each in designed]
        unused = np.full(self.actuators.n + len(self._limit), np.inf)
        return np.min([unused, *found], axis=0)

    def _settings_of(self, name: str, q: Array) -> ControllerSettings:
        """Settings of a law for rest at q (n,), with the present second outputs unless others are
        given. Without link encoders they leave out observers of disturbances and contacts, which
        would compare the model with link states that come from the model."""
        settings = self.settings.controllers[name]
        changes: dict[str, Any] = {"position": q}
        if isinstance(settings, SecondOutputs) and settings.stiffness is None:
            changes["stiffness"] = self.second.copy()
        if settings.observer and "link_position" not in self._signals:
            changes[settings.observer] = 0.0
        return replace(settings, **changes | self.lowered.get(name, {}))

    def _reaction(self, share: float, q: Array) -> Controller:
        """The joint impedance with a share of its stiffness."""
        law = make_controller(self.model, self.actuators, self._settings_of("joint_impedance", q))
        assert isinstance(law, JointImpedance)
        law.set_stiffness(share * law.target)
        law.ramp.settle()
        return law

    def judge(
        self,
        name: str,
        q: Array,
        *,
        at: Array | None = None,
        period: float = PERIOD,
        **conditions: Any,
    ) -> LoopJudgement | None:
        """Stability of the law `name`, designed for rest at q (n,), throughout the joint range.

        at : (n,) position that is judged first, in place of q. period : s of a cycle. conditions :
        `delay`, `model_error` and `poses` of :func:`.judge_loop`. Returns None for laws that use
        link states estimated by the observer of motor_encoders.
        """
        law = self._made(replace(self._settings_of(name, q), period=period))
        if (judge := self._judge_of(law, q if at is None else at, conditions, name)) is None:
            return None
        return judge.judge(law)

    def basis(self, name: str, q: Array) -> tuple[Any, ...]:
        """Everything but the conditions on which :meth:`judge`, :meth:`stabilise` and
        :meth:`faster_filter` depend for this law, for :func:`.cached_result`."""
        estimation = self.settings.estimation, self.settings.motor_bandwidth
        return self.model, self.actuators, self._settings_of(name, q), *estimation, self.second

    def stabilise(
        self, name: str, q: Array, *, period: float = PERIOD, **conditions: Any
    ) -> LoopJudgement | None:
        """Lower the bandwidths of the law `name` until its loop is stable at all poses, and return
        its judgement; arguments and None as for :meth:`judge`.

        The values that were found (:mod:`lowered_settings`) are in
        `lowered` and apply to all designs from now on. If there are none, and for laws that lower
        nothing, the judgement is that of the given bandwidths.
        """
        self.lowered.pop(name, None)
        settings = replace(self._settings_of(name, q), period=period)
        law = self._made(settings)
        if (judge := self._judge_of(law, q, conditions, name)) is None:
            return None
        judgement = judge.judge(law)
        search = SEARCHES.get(settings.lowers)
        if not judgement.is_unstable.any() or search is None:
            return judgement
        lowered = search(settings, self._made, judge)
        if lowered is None:
            return judgement
        self.lowered[name] = lowered
        return judge.judge(self._made(replace(settings, **lowered)))

    def faster_filter(
        self, names: Iterable[str], q: Array, *, period: float = PERIOD, **conditions: Any
    ) -> float | None:
        """The bandwidth in Hz of the filter of the state with which none of these laws excites
        oscillations because its torque comes late (:meth:`.LoopJudgement.is_late`), up to
        FASTEST_FILTER times the given one; None if there is none. Arguments as for :meth:`judge`.
        """
        names = list(names)
        laws = [self._made(replace(self._settings_of(name, q), period=period)) for name in names]
        judges = [
            self._judge_of(law, q, conditions, name) for law, name in zip(laws, names, strict=True)
        ]
        pairs = [(law, each) for law, each in zip(laws, judges, strict=True) if each is not None]
        return faster_filter(pairs)

    def _made(self, settings: ControllerSettings) -> Controller:
        """A controller for :meth:`judge`, with the present second outputs."""
        law = make_controller(self.model, self.actuators.without_coulomb_friction(), settings)
        law.stiffness[0] = self.second
        law.lead = FEEDFORWARD_LEAD * settings.period
        return law

    def _judge_of(
        self, law: Controller, q: Array, conditions: Mapping[str, Any], name: str
    ) -> LoopJudge | None:
        """The poses, errors and bases with which a law of this name is judged; None if it is not.
        A law that lowers nothing is judged on a rigid base."""
        estimation = self.settings.estimation
        if estimation.source == "motor_encoders":
            on_motors = isinstance(law, LinearFeedback) and not law.uses_links
            if not on_motors and not isinstance(law, HoldController):
                return None
            estimation = replace(
                estimation,
                source="link_and_motor_encoders",
                bandwidth=self.settings.motor_bandwidth,
            )
        settings = self.settings.controllers[name]
        base = settings.base_frequency if settings.lowers else 0.0
        return LoopJudge(
            law, q, estimation=estimation, plants=self._plants, base_frequency=base, **conditions
        )

    def redesign(self, name: str, q: Array, lowered: Mapping[str, Any]) -> Controller:
        """A controller of the law `name` for rest at q (n,), with `lowered` settings; for
        :meth:`install`. Takes too long for a cycle; to be called in the background."""
        settings = replace(self._settings_of(name, q), **lowered)
        return make_controller(self.model, self.actuators, settings)

    def install(self, name: str, law: Controller) -> None:
        """Use `law` under this name from its next start on."""
        law.lowerings = self._laws[name].lowerings if name in self._laws else 0
        self._laws[name] = law
        self.undesigned.pop(name, None)
        if isinstance(law, LiveImpedance):
            self._own[name] = law.aimed
        else:  # they may have changed while it was designed
            own = self.settings.controllers[name]
            _set(law, own.of(*own.live()))
        if self.holds and isinstance(law, HoldController):
            law.watch(*self.holds[0].watched)
            self.holds = law, self.holds[1]
            self.tolerate_delay(self.tolerates_delay)
        law.limit(self._limit)
        self.adapt(self.adapts)

    def tolerate_delay(self, is_late: bool) -> None:
        """Choose the controller that "hold" uses from its next start on: the
        :class:`.LateHoldController` if torques are late, otherwise the law of `settings`."""
        self.tolerates_delay = is_late
        if self.holds:
            self._laws["hold"] = self.holds[is_late]

    @property
    def late(self) -> LateHoldController | None:
        """The second one of `holds`."""
        return self.holds[1] if self.holds else None

    def change(self, settings: FlatnessSettings, keep: str = "") -> str:
        """Use other settings from the next design on. Of the laws already designed, only those with
        live settings change, and only where these differ from the previous ones: stiffness and
        damping gradually, but not those of the law `keep`; other live settings at once. Reactions
        keep what they were designed with.

        Returns why a setting was refused, if the law cannot take it; otherwise "".
        """
        problem = ""
        for name, law in self._laws.items():
            differing = self._differing(name, settings)
            if not differing:
                continue
            if not isinstance(law, LiveImpedance):
                _set(law, differing)
                continue
            try:
                own = law.with_settings(differing, self._own[name])
                target = law.with_settings(differing)
                if name != keep:
                    law.aim(target)
                self._own[name] = own
            except InputError as error:
                problem = f"{name}: the stiffness was not changed: {error}"
        self.settings = settings
        return problem

    def requested(
        self, name: str, settings: FlatnessSettings, base: ImpedanceTarget | None = None
    ) -> ImpedanceTarget | None:
        """What the law `name` would approach after :meth:`change`, with `base` as its present
        target; None if it has no live stiffness or damping. Raises InputError if it cannot take
        the stiffness."""
        law = self.live_impedance(name)
        if law is None:
            return None
        return law.with_settings(self._differing(name, settings), base)

    def _differing(self, name: str, settings: FlatnessSettings) -> dict[str, Any]:
        """The live settings of a law that differ from the present ones."""
        if name not in settings.controllers or name not in self.settings.controllers:
            return {}
        own, old = settings.controllers[name], self.settings.controllers[name]
        rows = {each: (getattr(own, each), getattr(old, each)) for each in own.live()}
        return {each: new for each, (new, before) in rows.items() if _is_new(new, before)}

    def _live(self) -> Iterator[tuple[str, LiveImpedance]]:
        for name, law in self._laws.items():
            if isinstance(law, LiveImpedance) and name in self.settings.controllers:
                yield name, law

    def live_impedance(self, name: str) -> LiveImpedance | None:
        """The law of this name, if its stiffness or damping may change while it runs."""
        law = self._laws.get(name)
        return law if isinstance(law, LiveImpedance) else None

    def own_impedance(self, name: str) -> ImpedanceTarget | None:
        """The stiffness and damping of a law by `settings`; None if they cannot change."""
        return self._own.get(name)

    def renew_impedance(self, name: str) -> None:
        """Return the stiffness and damping of a law to those of `settings`; they are in effect from
        its next start on."""
        law = self.live_impedance(name)
        if law is not None and name in self._own:
            law.aim(self._own[name])

    def change_impedance(
        self, name: str, values: Mapping[str, float], duration: float = 0.0
    ) -> None:
        """Change stiffnesses and the damping ratio of the law `name`, see
        :meth:`.LiveImpedance.change`. Raises InputError for a law without live stiffness."""
        law = self.live_impedance(name)
        if law is None:
            raise InputError(
                f"law '{name}': its stiffness does not change while it runs; choose "
                f"joint_impedance, cartesian_impedance or esp_impedance"
            )
        law.change(values, duration)

    def adapt(self, is_active: bool) -> None:
        """Let the laws with an adaptation change their estimates from now on, or keep them."""
        self.adapts = is_active
        for law in self._adaptations():
            law.is_active = is_active

    def forget_adaptation(self) -> None:
        """Return the estimates of all laws to the model."""
        for law in self._adaptations():
            law.clear()

    def _adaptations(self) -> Iterator[AdaptiveFeedforward]:
        for law in self._laws.values():
            if isinstance(law, LinearFeedback) and law.adaptive is not None:
                yield law.adaptive


def _set(law: Controller, settings: Mapping[str, Any]) -> None:
    """Set the attributes of a law that have the names of its live settings."""
    for name, value in settings.items():
        setattr(law, name, value)


def _is_new(value: Any, old: Any) -> bool:
    """Whether a number, a row of numbers, or None differs from the old one."""
    if value is None or old is None:
        return value is not old
    return not np.array_equal(value, old)
