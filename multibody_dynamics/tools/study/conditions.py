# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The conditions under which the laws are compared: errors of the model, delays, contacts,
encoders, rates and speeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import pi

from ...dynamics.core import InputError
from .model_errors import PARTS

BITS = 18
PUSHED_FOR = 0.02  # s
HIT_AT, PAYLOAD_AT = 0.5, 2.0 / 7.0  # shares of the motion
OBSERVER_GAIN = 20.0  # 1/s
ERRORS = (0.1, 0.2, 0.3)
DELAYS = (1e-3, 3e-3, 5e-3)  # s
JITTERS = (0.2, 0.5)
PREPARED_FOR = 5.0  # Hz, the default base_frequency
PREPARED = ", law for soft bases"


@dataclass(frozen=True)
class Condition:
    """What differs between the controller's assumptions and the robot.

    Attributes
    ----------
    key, title, group : names; `group` is a key of GROUPS.
    error : relative error of the parameters `parts` of the controller's model.
    bits : resolution of the encoders of links and motors, per turn on the link side, with noise of
        a third of a step; 0: exact positions.
    delay : s between a torque command and its effect; `known_delay` : what the controller knows.
    jitter : largest deviation of a period from `period`, as a share of it; uniformly distributed.
    rate : Hz. slower : factor by which the motion is slower.
    has_payload, has_hit : whether the payload appears and the hit occurs.
    observer_gain : 1/s, of the observer of external torques that is fed back; 0: none.
    has_link_encoders : otherwise the links are observed from the motor encoders, by the model.
    base_frequency : Hz, of the base for which the law is prepared; 0: rigid.
    effects : fields of :class:`.DriveEffects` of the robot with their values; torques as shares of
        the joints' effort limits. has_terms : whether the law knows them, as terms of its model.
    """

    key: str
    title: str
    group: str
    error: float = 0.0
    parts: tuple[str, ...] = PARTS
    bits: int = BITS
    delay: float = 0.0
    known_delay: float = 0.0
    jitter: float = 0.0
    rate: float = 1000.0
    slower: float = 1.0
    has_payload: bool = False
    has_hit: bool = False
    observer_gain: float = 0.0
    has_link_encoders: bool = True
    base_frequency: float = 0.0
    effects: tuple[tuple[str, float], ...] = ()
    has_terms: bool = False

    @property
    def period(self) -> float:
        """The period in s."""
        return 1.0 / self.rate

    @property
    def resolution(self) -> float:
        """rad or m, step of the encoders."""
        return 2.0 * pi / 2.0**self.bits if self.bits else 0.0

    @property
    def is_random(self) -> bool:
        """Whether the model is drawn at random: then, several draws are made."""
        return self.error > 0.0


def _percent(error: float) -> str:
    return f"{100.0 * error:g} %"


def _conditions() -> Iterator[Condition]:
    yield Condition("exact", "exact model", "exact")
    for e in ERRORS:
        yield Condition(f"all-{100 * e:g}", f"all parameters {_percent(e)} off", "error", e)
    for part, e in product(PARTS, ERRORS):
        yield Condition(f"{part}-{100 * e:g}", f"{part} {_percent(e)} off", "parts", e, (part,))
    for known, d in product((0.0, 1.0), DELAYS):
        name = "known" if known else "unknown"
        yield Condition(f"delay-{1e3 * d:g}-{name}", f"delay of {1e3 * d:g} ms, {name}", "delay",
                        delay=d, known_delay=known * d)  # fmt: skip
    for j in JITTERS:
        yield Condition(f"jitter-{100 * j:g}", f"period +-{_percent(j)}", "jitter", jitter=j)
    for what, gain in product(("payload", "hit"), (0.0, OBSERVER_GAIN)):
        key, title = (f"{what}-observer", f"{what}, with observer") if gain else (what, what)
        yield Condition(key, title, "contact", observer_gain=gain, has_payload=what == "payload",
                        has_hit=what == "hit")  # fmt: skip
    for bits in (14, 22):
        yield Condition(f"bits-{bits}", f"{bits}-bit encoders", "encoders", bits=bits)
    for e, end, off in ((0.0, "", ""), (0.1, "-10", f"{_percent(0.1)} off")):
        title = f"motor encoders only{off and ', all parameters '}{off}"
        yield Condition(f"motor-encoders{end}", title, "encoders", e, has_link_encoders=False)
    yield Condition("500-hz", "500 Hz", "rate", rate=500.0)
    for (slower, name), e in product(((2.0, "half"), (4.0, "quarter")), (0.0, 0.1)):
        end, off = ("-10", f", {_percent(e)} off") if e else ("", "")
        yield Condition(f"{name}-speed{end}", f"{name} speed{off}", "speed", e, slower=slower)

    friction = {"link_coulomb": 0.05 / 1.3, "link_static": 0.05}
    gear = {"gear_error": 5e-4, "gear_harmonic": 200.0}
    motors = {"motor_coulomb": 0.02, "motor_load": 0.02}
    together = friction | motors | {"hysteresis": 0.015} | gear
    for key, title, own in (
        ("link-friction", "link friction of 5 %", friction),
        ("hysteresis", "hysteresis of 1.5 %", {"hysteresis": 0.015}),
        ("backlash", "backlash of 1 mrad", {"backlash": 1e-3}),
        ("gear-error", "gear error of 0.5 mrad", gear),
        ("drives", "friction of links and motors, hysteresis and gear error", together),
    ):
        for base, known, end, remark in (
            (0.0, False, "", ""),
            (0.0, True, "-known", ", known"),
            (PREPARED_FOR, False, "-default", PREPARED),
        ):
            yield Condition(f"{key}{end}", f"{title}{remark}", "effects", base_frequency=base,
                            effects=tuple(own.items()), has_terms=known)  # fmt: skip
    for hertz in (5, 10, 20):
        soft = {"base_frequency": float(hertz), "base_inertia": 0.2}
        for base, end, remark in ((0.0, "-unknown", ""), (PREPARED_FOR, "", PREPARED)):
            yield Condition(f"base-{hertz}{end}", f"base of {hertz} Hz{remark}", "effects",
                            base_frequency=base, effects=tuple(soft.items()))  # fmt: skip


CONDITIONS = {each.key: each for each in _conditions()}
GROUPS = {
    "exact": "the exact model, with encoders",
    "error": "all parameters of the model off",
    "parts": "links, springs, motors or friction off",
    "delay": "delays of the torque, known and unknown",
    "jitter": "irregular periods",
    "contact": "a payload that appears, and a hit",
    "encoders": "14-bit and 22-bit encoders, and motor encoders only",
    "rate": "500 Hz",
    "speed": "slower motions",
    "effects": "friction, hysteresis, backlash and gear errors of real drives, and soft bases",
}
KEY_GROUPS = ("exact", "error", "contact")
"""Repeated on MuJoCo by --plant both, for the main laws and the given springs."""
OTHER_STIFFNESS_GROUPS = ("exact", "error", "speed")
"""Studied with all stiffnesses; the others with the given springs."""
MAIN_GROUPS = ("parts", "speed", "jitter", "effects")
"""Studied for the main laws only."""


def chosen_groups(names: Sequence[str]) -> tuple[str, ...]:
    """The groups with these names, in their order; "all" stands for all of them.

    Raises InputError for a name that does not exist.
    """
    for name in names:
        if name not in GROUPS and name != "all":
            raise InputError(f"conditions '{name}': expected all or some of {', '.join(GROUPS)}")
    return tuple(group for group in GROUPS if group in names or "all" in names)
