# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains of torque sources, designed joint by joint and checked with sampling and delay.

    inertia_shaping_gains   apparent inertia M_theta = K / w^2 and a damper (Albu-Schaeffer, Ott and
                            Hirzinger 2007); passive at the link
    torque_observer_gains   the same, and a disturbance observer (Kong et al. 2009, Oh and Kong
                            2017); only a share of its estimate is compensated, which keeps
                            the joint passive (Rampeltshammer et al. 2020)
    torque_lqr_gains        linear-quadratic gains on the torque error, its rate and its integral

All three yield the numbers of one law (:class:`TorqueGains`). They are designed for the motor
against its spring with the link locked, and accepted if the sampled loop, with the stated delay and
velocity filter, is stable with every inertia of the link from the one felt at the joint to a locked
link, and over the whole range of stiffness of its spring.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_continuous_are

from ...core import Array, IndependentCopies, InputError, as_array, read_only
from ...elastic import Actuator, Actuators, greatest_stiffness
from ...model import MultibodyModel
from ..gains.joint_gains import (
    _drive_gains,
    _joints,
    at_rest,
    check_fit,
    inertias_felt,
    linear_arm,
    smallest_inertias,
)
from ..gains.joint_values import bandwidths, per_name
from .torque_loop import MAX_DELAY, ComplexArray, LoopTiming, TorqueJoint, TorqueLoop, TorqueServo
from .torque_observer import passive_share

DAMPING_RATIO = 0.5**0.5  # Butterworth: the bandwidth of the nominal loop is its -3 dB frequency
DEFAULT_GAIN = 2.0  # ratio of the default bandwidth to the resonance with the link locked
DELAY_PHASE = 0.3  # rad, phase lost to delay and period at the default bandwidth, at most
INTEGRAL_SHARE = 1.0 / 3.0  # bandwidth of the integral in torque_lqr_gains over that of the loop
LINKS = 9  # inertias of the link for which a design is checked
MARGIN = 0.95  # of the passive share of the observer
STEP, STEPS = 0.8, 20  # factor per step and number of steps, in search of a stable bandwidth


@dataclass(frozen=True, eq=False)
class TorqueGains(IndependentCopies):
    """Gains of a torque source for m motors: each motor in front of a spring gets the torque

        tau_m = u / a + (1 - 1 / a) load + friction + b d,
        u = load_d + a M_m theta_d'' + D_s (phi_d' - phi') + k_i integral of (load_d - load).

    Attributes, each (m,) unless stated
    ----------
    share : a = M_theta / M_m, see :class:`.InertiaShaping`; 1 / a - 1 is the gain on the torque
        error.
    damping : D_s in N m s/rad, of the shaped motor against its spring. It grows with the square
        root of the stiffness, which keeps the damping ratio constant.
    integral : k_i, 1/s.
    observer : w in rad/s of the :class:`.TorqueObserver` that yields d; 0 for none.
    observer_share : b, 0 to 1.
    drive : (2, m) PD gains in N m/rad and N m s/rad of the motors that set a stiffness.
    stiffness : (n,) tangent K of the springs for which the gains were designed; inf if rigid.
    design : name of the design.
    """

    motor_names: tuple[str, ...]
    share: Array
    damping: Array
    integral: Array
    observer: Array
    observer_share: Array
    drive: Array
    stiffness: Array
    design: str = "given"

    def __post_init__(self) -> None:
        m = len(self.motor_names)
        for name in ("damping", "integral", "observer", "observer_share"):
            row = per_name(name, getattr(self, name), self.motor_names, of="motor")
            object.__setattr__(self, name, read_only(row))
        share = per_name("share", self.share, self.motor_names, positive=True, of="motor")
        object.__setattr__(self, "share", read_only(share))
        for name in ("share", "observer_share"):
            row = getattr(self, name)
            if (row > 1.0).any():
                j = int(np.argmax(row))
                raise InputError(
                    f"motor '{self.motor_names[j]}': {name} is {row[j]:g}: must not exceed 1"
                )
        drive = as_array("drive", self.drive, (2, m), self.motor_names)
        object.__setattr__(self, "drive", read_only(drive))


class SingleJoint(NamedTuple):
    """A single elastic joint: `name`; `joint`, its motor and spring at rest; `link`, the smallest
    inertia felt; `stiffest`, the largest tangent K of the spring; `motors` by index, each with its
    share of the joint's motor inertia; `apparent_inertia`, the inertia felt at q; `place` in the
    order of the joints."""

    name: str
    joint: TorqueJoint
    link: float
    stiffest: float
    motors: Mapping[int, float]
    apparent_inertia: float
    place: int

    def loop(self, servo: TorqueServo, *, is_locked: bool) -> TorqueLoop:
        """The sampled loop, with the link locked, or free with the inertia felt at q."""
        return TorqueLoop(self.joint, servo, np.inf if is_locked else self.apparent_inertia)

    def servo(self, gains: TorqueGains, timing: LoopTiming, friction: float = 1.0) -> TorqueServo:
        """The law of this joint, its motors taken as one."""
        j = next(iter(self.motors))
        return TorqueServo(
            share=float(gains.share[j]),
            damping=float(sum(gains.damping[k] for k in self.motors)),
            integral=float(gains.integral[j]),
            observer=float(gains.observer[j]),
            observer_share=float(gains.observer_share[j]),
            friction=friction,
            timing=timing,
        )


def whole_arm_poles(
    model: MultibodyModel,
    actuators: Actuators,
    gains: TorqueGains,
    q: Any,
    stiffness: Any = None,
    *,
    link_stiffness: Any = 0.0,
    link_damping: Any = 0.0,
) -> ComplexArray:
    """All poles in 1/s of the arm near rest at q (n,) under a :class:`.TorqueController` with these
    springs and dampers between desired and actual links, all joints coupled.

    The loop is taken as continuous, without delay, integral and observer. stiffness : (v,) second
    outputs at rest.
    """
    check_fit(model, actuators, gains.motor_names, "gains")
    rest = at_rest(model, actuators, q, stiffness)
    joint, n = actuators.joint_of_motor, actuators.n
    springs = np.diag(rest.hessian)[n:]  # of each motor against its link; zero if rigid
    springs = np.where(actuators.torque_share > 0.0, springs, 0.0)
    K, D = (
        per_name(name, row, model.joint_names)[joint] * actuators.torque_share / gains.share
        for name, row in (("link_stiffness", link_stiffness), ("link_damping", link_damping))
    )
    fed_back = (1.0 / gains.share - 1.0) * springs
    damping = gains.damping / gains.share
    # the reference deflects the springs at a rate of their torque over their stiffness
    rate = np.divide(K * gains.damping, springs, out=np.zeros_like(K), where=springs > 0.0)
    damping = damping + (1.0 / gains.share - 1.0) * actuators.damping[joint]
    values = np.array([K - fed_back, D + rate - damping, fed_back, damping])
    values[2:] += gains.drive
    arm = linear_arm(model, actuators, q, rest)
    arm.add_feedback(values)
    return arm.poles()


def single_joints(
    model: MultibodyModel, actuators: Actuators, q: Any, stiffness: Any = None
) -> tuple[SingleJoint, ...]:
    """The joints with springs, uncoupled, at rest at q (n,) under gravity.

    stiffness : (v,) second outputs at rest; default: mid-range. The inertia felt is the smallest
    at q and at 50 random positions within the joint limits.
    """
    actuators.refuse_base_springs("torque control")
    rest = at_rest(model, actuators, q, stiffness)
    q = as_array("q", q, (model.n,), model.joint_names)
    apparent, least = inertias_felt(model, actuators, q), smallest_inertias(model, actuators, q)
    return tuple(
        SingleJoint(
            model.joint_names[i],
            TorqueJoint(
                inertia=joint.motor, stiffness=joint.K, damping=joint.damping, viscous=joint.viscous
            ),
            float(least[i]),
            max(joint.K, _stiffest(actuators.actuators[i])),
            MappingProxyType(joint.shares),
            float(apparent[i]),
            i,
        )
        for i, joint in enumerate(_joints(model, actuators, rest, q))
        if not joint.is_rigid
    )


def _stiffest(actuator: Actuator) -> float:
    """The largest tangent stiffness of a joint on the travel of its springs, or up to the torque
    limits of the motors; if neither is limited, the stiffness at zero deflection."""
    limited = zip(actuator.springs, actuator.greatest_torques, strict=True)
    return actuator.factor_range[1] * sum(greatest_stiffness(*each) for each in limited)


Design = Callable[[TorqueJoint, float], TorqueServo]


def inertia_shaping_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    bandwidth: Any = None,
    stiffness: Any = None,
    *,
    timing: LoopTiming | None = None,
    friction: float = 1.0,
) -> TorqueGains:
    """Inertia shaping: M_theta theta'' + D_s phi' + K phi = tau_d with (K / M_theta)^(1/2) = w.

    bandwidth : w in rad/s, (n,) or a scalar; default: twice the resonance of the motor on its
        spring, or as high as delay, sampling and links allow (:func:`default_bandwidth`). With w
        below this resonance, the motor keeps its inertia.
    stiffness : (v,) second outputs at rest at q (n,); default: mid-range.
    timing : period, delay and velocity filter for which stability is checked.
    friction : share of the viscous friction that the law will compensate.

    The damping ratio is 0.7, including the damper of the spring, and less where w is below the
    resonance. Without delay and sampling the joint is passive at its link. The torque is wrong by
    the share M_theta / M_m of the friction that is not compensated, and by M_theta q'' while the
    link accelerates.

    Raises InputError, naming the joint, if its sampled loop would be unstable.
    """
    timing = timing or LoopTiming()

    def design(joint: TorqueJoint, w: float) -> TorqueServo:
        return _shaped(joint, w, TorqueServo(friction=friction, timing=timing))

    return _designed((model, actuators, q, stiffness), "inertia_shaping", bandwidth, design, timing)


def torque_observer_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    bandwidth: Any = None,
    stiffness: Any = None,
    *,
    observer: float = 1.0,
    observer_share: float | None = None,
    timing: LoopTiming | None = None,
    friction: float = 1.0,
) -> TorqueGains:
    """:func:`inertia_shaping_gains` with a disturbance observer of the bandwidth `observer` w.

    observer_share : share of the disturbance that is compensated, 0 to 1; default: the largest with
        which the joint is passive at low frequencies (:func:`.passive_share`). With 1, friction,
        model errors and the motion of the link leave no static error, but the joint is not passive.
    """
    timing = timing or LoopTiming()
    if not 0.0 < observer < np.inf:
        raise InputError(f"observer is {observer} times the bandwidth: must be positive")
    if observer_share is not None and not 0.0 <= observer_share <= 1.0:
        raise InputError(f"observer_share is {observer_share}: must be from 0 to 1")

    def design(joint: TorqueJoint, w: float) -> TorqueServo:
        servo = _shaped(joint, w, TorqueServo(friction=friction, timing=timing))
        share = observer_share
        if share is None:
            share = _passive_share(joint, servo, observer * w)
        return replace(servo, observer=observer * w, observer_share=share)

    return _designed((model, actuators, q, stiffness), "torque_observer", bandwidth, design, timing)


def torque_lqr_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    bandwidth: Any = None,
    stiffness: Any = None,
    *,
    integral: float = INTEGRAL_SHARE,
    timing: LoopTiming | None = None,
    friction: float = 1.0,
) -> TorqueGains:
    """Linear-quadratic (LQR) gains on the error e of the torque, its rate and its integral.

    They minimise the integral of

        e^2 + (e' / w)^2 + (integral w)^2 (integral of e)^2 + (w_n / w)^4 v^2

    for a locked link, where v is the feedback torque of the motor and w_n = (K / M_m)^(1/2) the
    resonance of the motor on its spring. They leave no static error, but the joint is not passive
    at low frequencies.
    """
    timing = timing or LoopTiming()
    if not 0.0 < integral < np.inf:
        raise InputError(f"integral is {integral} times the bandwidth: must be positive")

    def design(joint: TorqueJoint, w: float) -> TorqueServo:
        natural, rate = joint.resonance**2, (joint.viscous + joint.damping) / joint.inertia
        A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -natural, -rate]])
        B = np.array([[0.0], [0.0], [natural]])
        effort = natural**2 / w**4
        cost = np.diag([(integral * w) ** 2, 1.0, w**-2])
        P = solve_continuous_are(A, B, cost, [[effort]])
        k_i, k_p, k_d = (B.T @ P)[0] / effort
        share = 1.0 / (1.0 + k_p)
        return TorqueServo(
            share=share,
            damping=share * k_d * joint.stiffness,
            integral=share * k_i,
            friction=friction,
            timing=timing,
        )

    return _designed((model, actuators, q, stiffness), "torque_lqr", bandwidth, design, timing)


TORQUE_DESIGNS: Mapping[str, Callable[..., TorqueGains]] = MappingProxyType(
    {
        "inertia_shaping": inertia_shaping_gains,
        "torque_observer": torque_observer_gains,
        "torque_lqr": torque_lqr_gains,
    }
)
"""The designs of gains of a torque source by name."""


def _shaped(joint: TorqueJoint, w: float, servo: TorqueServo) -> TorqueServo:
    share = min((joint.resonance / w) ** 2, 1.0)
    wanted = 2.0 * DAMPING_RATIO * w * share * joint.inertia
    own = joint.damping + share * (1.0 - servo.friction) * joint.viscous
    return replace(servo, share=share, damping=float(max(wanted - own, 0.0)))


def _passive_share(joint: TorqueJoint, servo: TorqueServo, bandwidth: float) -> float:
    """The share of an observer of `bandwidth` in rad/s with which the joint is passive at low
    frequencies. The lag of the loop reduces the damping of the torque feedback."""
    timing = servo.timing
    lag = timing.delay + 0.5 * timing.period
    whole = joint.stiffness / servo.share  # of feedback and spring
    damping = servo.damping / servo.share - (whole - joint.stiffness) * lag
    return MARGIN * float(passive_share(damping, whole, bandwidth, lag))


def _designed(
    robot: tuple[MultibodyModel, Actuators, Any, Any],
    name: str,
    bandwidth: Any,
    design: Design,
    timing: LoopTiming,
) -> TorqueGains:
    model, actuators, q, stiffness = robot
    check_fit(model, actuators)
    names = actuators.motor_names
    rows, drives = np.zeros((5, len(names))), np.zeros((4, len(names)))
    rows[0] = 1.0
    rest = at_rest(model, actuators, q, stiffness)
    singles = iter(single_joints(model, actuators, q, stiffness))
    asked = None if bandwidth is None else bandwidths(bandwidth, model.joint_names)
    for i, joint in enumerate(_joints(model, actuators, rest, q)):
        if joint.is_rigid:
            continue
        single = next(singles)
        w = default_bandwidth(single, design, timing) if asked is None else float(asked[i])
        servo = design(single.joint, w)
        _refuse_unstable(single, name, w, design)
        for j, share in joint.shares.items():
            rows[:, j] = (
                servo.share,
                share * servo.damping,
                servo.integral,
                servo.observer,
                servo.observer_share,
            )
        _drive_gains(actuators, joint, drives, w**2, 2.0 * w)
    a, damping, integral, observer, b = rows
    return TorqueGains(names, a, damping, integral, observer, b, drives[2:], rest.stiffness, name)


def default_bandwidth(single: SingleJoint, design: Design, timing: LoopTiming) -> float:
    """rad/s: twice the resonance of the motor on its spring, unless delay and period forbid it; if
    the loop would be unstable with one more period of delay, the largest lower bandwidth, in steps
    of a fifth, with which it is stable."""
    highest = min(
        DEFAULT_GAIN * single.joint.resonance, DELAY_PHASE / (timing.delay + timing.period)
    )
    later = replace(timing, delay=min(timing.delay + timing.period, MAX_DELAY * timing.period))
    for w in highest * STEP ** np.arange(STEPS):
        servo = design(single.joint, w)
        if unstable_loop(single, replace(servo, timing=later)) is None:
            return float(w)
    return float(highest)


def unstable_loop(single: SingleJoint, servo: TorqueServo) -> TorqueLoop | None:
    """A loop of the joint that is unstable: over inertias of the link from the smallest felt to a
    locked link, at the stiffness at rest and the largest; None if there is none."""
    for K in sorted({single.joint.stiffness, single.stiffest}):
        joint = replace(single.joint, stiffness=K)
        factor = np.sqrt(K / single.joint.stiffness)
        scheduled = replace(servo, damping=servo.damping * factor)
        for part in np.linspace(0.0, 1.0, LINKS):
            loop = TorqueLoop(joint, scheduled, single.link / part if part else np.inf)
            if loop.growth >= 0.0:
                return loop
    return None


def _refuse_unstable(single: SingleJoint, name: str, w: float, design: Design) -> None:
    servo = design(single.joint, w)
    loop = unstable_loop(single, servo)
    if loop is None:
        return
    link = "locked" if np.isinf(loop.link) else f"of {loop.link:.3g} kg m^2"
    for lower in w * STEP ** np.arange(1, STEPS):
        if unstable_loop(single, design(single.joint, lower)) is None:
            advice = f"{lower:.3g} rad/s would be stable"
            break
    else:
        advice = "no lower bandwidth would be stable either: shorten the delay"
    timing = servo.timing
    raise InputError(
        f"joint '{single.name}': the torque loop '{name}' with a bandwidth of {w:.4g} rad/s is "
        f"unstable with its link {link} and a stiffness of {loop.joint.stiffness:.4g} N m/rad: at "
        f"a period of {1e3 * timing.period:g} ms and a delay of {1e3 * timing.delay:g} ms it has a "
        f"pole at |z| = {1.0 + loop.growth:.4g}; {advice}"
    )
