# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Elastic structure preserving control: dampers and springs on links; the joints stay elastic.

The links of an arm with the spring torques Q = s(theta - q) are to move as if dampers D and springs
K_i acted on them directly, while their own springs remain between them and motors of the same
inertia M_m, whose new coordinate is eta (M. Keppler, D. Lakatos, C. Ott, A. Albu-Schaeffer, IEEE
T-RO 34(2), 2018, ESP; IROS 2018, ESPi). With e = q - q_d, x = eta - e, and the Coriolis matrix C of
the Christoffel symbols:

    M e'' + C(q, q') e' + D e' + K_i e = F + tau_ext,     F = s(x) + d x'               (1)
    M_m eta'' + D_m eta' + K_m eta     = -F                                             (2)

"esp" has K_i = 0 and springs K_m that hold the motors, as PD control does; "esp_impedance" has K_m
= 0: the motors follow the links, and at rest the links feel K_i alone, however soft their springs
are.

How eta is found, and the torque for (2). The links obey M q'' + C q' + g = Q + tau_ext, so (1)
holds for any motion if F is *defined* as

    F = Q - w,    w = M q_d'' + C(q, q') q_d' + g(q) - D e' - K_i e.                    (3)

F gives x by the spring law, hence eta = e + x. The rate of (3) gives F', x' and eta', where q'' in
w' follows from (1). Its second derivative is, with q''' from the rate of (1),

    Q'' = F'' + w'',    F'' = s'(x) (eta'' - e'') + s''(x) x'^2,                        (4)

in which eta'' is free: the law takes it from (2), and the flat map of (q, q', q'') and (Q, Q', Q'')
yields the motor torque that brings about this Q''. M q_d'' + C q_d' + g with two rates comes from
:class:`.PassiveInverseDynamicsSolver`, which needs q_d''''. For a spring with damper d, x is a
state, d x' = F - s(x), and Q' instead of Q'' is prescribed: F' = s'(x) x' + d (eta'' - e''). At
rigid joints eta is e, and F = -K_m e - D_m e' acts on the link. On the desired motion e, eta and F
vanish, and the torque is that of the flat map.

Storage. M' - 2C is skew-symmetric, so that with the energy U of the virtual springs

    V  = e'^T M e' / 2 + e^T K_i e / 2 + eta'^T M_m eta' / 2 + eta^T K_m eta / 2 + U(x),
    V' = tau_ext . e' - e'^T D e' - eta'^T D_m eta' - d x'^2,

along moving references, too: the arm is passive from contacts to the velocity error. This requires
an exact model of arm and friction, and tau_ext and its rate for q'' and q''' (`contact`), which an
observer provides with a lag. An error of q'' and q''' leaves (1) as it is, but disturbs (2).

Gains that change while the law runs, K_i(t) and D(t) linearly towards new values, enter w' and w''
with their rates. The energy e^T K_i' e / 2 comes from a tank (`stiffness_ramp`): V plus the energy
in the tank then rises by the work of the contacts, and by that of the steps K_i' e / s' of the rate
of eta where a change begins and ends.

The springs may be linear or hardening, with or without a damper; a variable stiffness, as long as
it is constant; or antagonistic pairs, whose pretension or stiffness is controlled separately (two
poles at -bandwidth), see `virtual_springs`. Rigid joints may be mixed in.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...core import Array, InputError
from ...elastic import Actuators, MotorFeedforward, SpringSolver, rigid_rotors
from ...model import MultibodyModel
from ...rigid import PassiveInverseDynamicsSolver, singular
from ..controllers.controllers import PERIOD, Past
from ..controllers.feedback_linearization import HybridChain, SecondOutputFeedback
from ..gains.joint_gains import JointPoles, check_fit, per_name
from ..observers.disturbance_compensation import DisturbanceCompensation
from .elastic_structure_gains import DAMPING_RATIO, ElasticStructureGains
from .live_impedance import ImpedanceTarget, LiveImpedance
from .stiffness_ramp import StiffnessRamp
from .virtual_springs import VirtualSprings

CONTACT_BANDWIDTH = 120.0
"""rad/s, default of the observer of contacts in the laws by name."""

GainDesign = Callable[[Array | None, float], ElasticStructureGains]
"""The gains for stiffnesses of the links (n,), N m/rad, None for the default, and a damping
ratio."""


class ElasticStructureController(LiveImpedance):
    """ESP and ESPi: see the module.

    >>> law = ElasticStructureController(model, actuators, esp_gains(model, actuators, q, 40.0))
    >>> torque = law.update(desired, q, qd, theta, thetad)  # every cycle

    Parameters
    ----------
    gains : gains of the joints; may be set between updates, and then change at once. Reading them
        gives those of the last update.
    design : designs other gains while the law runs, see :meth:`change`; None if they never change.
    has_stiffness : whether `design` uses the stiffness.
    damping_ratio : damping ratio with which `gains` were designed.
    stiffness_time : shortest time in s in which gains change.
    stiffness_energy : capacity in J of the tank that supplies the energy for rising stiffness.
    bandwidth : bandwidth of second outputs that motors set, rad/s, (n,) or a scalar; may be set
        between updates.
    contact_bandwidth : bandwidth in rad/s of the observer that estimates external torques and their
        rates for q'' and q'''; 0 for none. They are not compensated: the arm yields to contacts.

    Attributes
    ----------
    contact : (2, n) external joint torques in N m and their rates in N m/s, as used for q'' and
        q'''. Written by the observer; without one, by the caller.
    virtual : the springs between e and eta.
    eta, eta_rate : (n,) values of the last update; e and e' at rigid joints.
    dissipated : power in W dissipated by D, D_m and the dampers d at the last update.

    An `external_torque` is compensated, as in other laws. Raises DynamicsError where the mass
    matrix is singular.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        gains: ElasticStructureGains,
        *,
        design: GainDesign | None = None,
        has_stiffness: bool = False,
        damping_ratio: float = DAMPING_RATIO,
        stiffness_time: float = 0.5,
        stiffness_energy: float = 1.0,
        bandwidth: Any = 40.0,
        contact_bandwidth: float = 0.0,
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        check_fit(model, actuators, gains.joint_names, "gains")
        super().__init__(model, actuators, friction=friction, period=period)
        n = actuators.n
        self._gain_design, self.has_stiffness = design, has_stiffness
        self.damping_ratio = damping_ratio
        self.ramp = StiffnessRamp(_row(gains), time=stiffness_time, capacity=stiffness_energy)
        self._gains_before, self._stretch = self.ramp.value.copy(), np.zeros(3 * n)
        self._K, self._D, self._motor_D = self.ramp.value.reshape(3, n)
        self._gain_rates = np.zeros((3, n))
        self.gains, self.bandwidth = gains, bandwidth
        self.contact_bandwidth = contact_bandwidth
        self.observer = (
            DisturbanceCompensation(model, actuators, contact_bandwidth, share=1.0)
            if contact_bandwidth
            else None
        )
        self.contact: Array = np.zeros((2, n))
        self.virtual = VirtualSprings(actuators)
        self.eta, self.eta_rate = np.zeros((2, n))
        self.dissipated, self._is_running = 0.0, False
        self._springs = SpringSolver(actuators, *self._links, *self._motors)
        self._motion, self._torque = np.zeros((5, n)), np.zeros((3, n))  # of the links; Q
        self._pushed = np.zeros((3, n))  # Q + external torques
        self._w, self._e = np.zeros((3, n)), np.zeros((4, n))
        plain = actuators.without_link_friction()
        self._flat = MotorFeedforward(plain, self._motion, self._torque)
        self._reported_map = self._flat
        self._now, self._later = self._flat_map(), self._flat_map()
        self._second = SecondOutputFeedback(self, self._springs)
        self._rigid, self._damped = actuators.is_rigid, actuators.is_damped
        self._elastic = ~self._rigid
        self._stiff = self._elastic & ~self._damped
        self._rotors = rigid_rotors(actuators)
        counted = np.where(actuators.torque_share > 0.0, actuators.motor_inertia, 0.0)
        self._inertia = np.where(
            self._rigid, np.inf, np.bincount(actuators.joint_of_motor, counted, n)
        )
        coupled = self._coupled(model)
        model.require_tree("elastic structure preserving control")
        self._passive = PassiveInverseDynamicsSolver(coupled)
        nothing = np.zeros(n, dtype=bool)
        chain = partial(HybridChain, coupled, nothing, motion=self._motion, torque=self._pushed)
        self._chains = chain(order=0), chain(order=1)
        self._moved_by_base += (self._passive, *self._chains)

    def _coupled(self, model: MultibodyModel) -> MultibodyModel:
        return model.with_reflected_inertia(model.reflected_inertia + self._rotors)

    @property
    def gains(self) -> ElasticStructureGains:
        return replace(
            self._gains,
            link_stiffness=self._K.copy(),
            link_damping=self._D.copy(),
            motor_damping=self._motor_D.copy(),
        )

    @gains.setter
    def gains(self, gains: ElasticStructureGains) -> None:
        self._gains, self._aimed_stiffness = gains, gains.link_stiffness
        self.ramp.aim(_row(gains))
        self.ramp.settle()

    @property
    def bandwidth(self) -> Any:
        return self._bandwidth

    @bandwidth.setter
    def bandwidth(self, bandwidth: Any) -> None:
        self.second_poles = JointPoles.from_bandwidth(self.actuators, bandwidth)
        self._bandwidth = bandwidth

    @property
    def memory(self) -> tuple[Array, ...]:
        of_springs = (self.virtual.x, self.virtual.force) if self._damped.any() else ()
        return of_springs if self.observer is None else (*of_springs, *self.observer.memory)

    def reset(self) -> None:
        super().reset()
        self._second.reset()
        self.virtual.settle()
        self.ramp.settle()
        self._gain_rates[:] = 0.0
        self._is_running = False
        for flat in (self._now, self._later):
            flat.settle()
        if self.observer is not None:
            self.observer.reset()
            self.contact[:] = 0.0

    def set_model(self, model: MultibodyModel) -> None:
        super().set_model(model)
        coupled = self._coupled(model)
        for solver in (self._passive, *self._chains):
            solver.set_model(coupled)
        if self.observer is not None:
            self.observer.set_model(model)

    # As a LiveImpedance

    @property
    def stiffness_names(self) -> tuple[str, ...]:
        """The names of the joints, for a law with springs on the links."""
        return self.actuators.joint_names if self.has_stiffness else ()

    @property
    def aimed(self) -> ImpedanceTarget:
        row = self._aimed_stiffness.tolist() if self.has_stiffness else ()
        return ImpedanceTarget(tuple(row), self.damping_ratio)

    @property
    def present_stiffness(self) -> Array:
        return self._K if self.has_stiffness else self._K[:0]

    def check(self, target: ImpedanceTarget) -> None:
        self._designed(target)

    def _designed(self, target: ImpedanceTarget) -> ElasticStructureGains:
        if self._gain_design is None:
            raise InputError("the gains of this law cannot change: it was made without a `design`")
        row = np.array(target.stiffness) if self.has_stiffness else np.zeros(self.actuators.n)
        return self._gain_design(row, target.damping_ratio)

    def aim(self, target: ImpedanceTarget, duration: float = 0.0) -> None:
        """Approach other gains; K_m stays. Raises InputError for a law without a design."""
        if target == self.aimed:
            return
        gains = self._designed(target)
        self._aimed_stiffness, self.damping_ratio = gains.link_stiffness, target.damping_ratio
        self.ramp.aim(_row(gains), duration)

    def _stiffness_of(self, row: Array, settings: Mapping[str, Any]) -> Array:
        if not self.has_stiffness:
            return row
        given = settings.get("link_stiffness", row)
        if given is None and self._gain_design is not None:
            return self._gain_design(None, self.damping_ratio).link_stiffness
        return per_name("link_stiffness", given, self.actuators.joint_names)

    def settings_of(self, target: ImpedanceTarget) -> dict[str, Any]:
        given: dict[str, Any] = {"damping_ratio": target.damping_ratio}
        return given | ({"link_stiffness": target.stiffness} if self.has_stiffness else {})

    def _change_gains(self) -> None:
        """One step of K_i, D and D_m towards their targets."""
        ramp, n = self.ramp, self.actuators.n
        rates = self._gain_rates.reshape(-1)
        self._gains_before[:] = ramp.value
        np.subtract(self._links[0], self._desired[0], out=self._stretch[:n])
        self._stretch[:n] *= 0.5 * self._stretch[:n]
        if ramp.advance(self.period, self.dissipated, self._stretch):
            ramp.withdraw_energy(self._stretch)
        np.subtract(ramp.value, self._gains_before, out=rates)
        rates /= self.period

    # The law

    def _law(self, has_ahead: bool) -> None:
        self._change_gains()
        if self.observer is not None:
            self._observe(self.observer)
        if self._is_running:
            self.virtual.advance(self.period)
        self._is_running = True
        self._find_eta()
        w, Q, e, virtual = self._w, self._torque, self._e, self.virtual
        F, K_m, D_m = virtual.force, self._gains.motor_stiffness, self._motor_D
        # eta'' by (2)
        etadd = -(F[0] + K_m * self.eta + D_m * self.eta_rate)
        etadd /= self._inertia
        # Q' of rigid and damped joints
        damped_rate = virtual.slope * virtual.rate + self.actuators.damping * (etadd - e[2])
        np.copyto(F[1], damped_rate, where=self._damped)
        rigid_rate = -K_m * e[1] - D_m * e[2]
        np.copyto(F[1], rigid_rate, where=self._rigid)
        np.add(F[1], w[1], where=~self._stiff, out=Q[1])
        self._solve(1)
        np.subtract(self._motion[3], self._desired[3], out=e[3])
        # Q'' by (4)
        self._set_w(2)
        np.add(virtual.slope * (etadd - e[2]) + virtual.rest, w[2], out=Q[2])
        self._command()
        if has_ahead:
            self.torque += self._map(self._later, self._ahead) - self._map(self._now, self._desired)

    def _observe(self, observer: DisturbanceCompensation) -> None:
        if self.stiffness.size:
            observer.springs.stiffness[:] = self.stiffness[:2]
        past = self._past or Past(tuple(self._links), tuple(self._motors), self.applied_torque)
        known = self.external_torque - self.base_torque
        observer.update(self._time_passed(), past.links, past.motors, past.torque, known)
        self.contact[0], self.contact[1] = observer.link, observer.link_rate

    def _find_eta(self) -> None:
        """e .. e'', w, F with one rate each, x, and eta from the measured state."""
        springs, virtual, Q, e = self._springs, self.virtual, self._torque, self._e
        K_m, D_m, F = self._gains.motor_stiffness, self._motor_D, virtual.force
        if self.stiffness.size:
            springs.stiffness[:] = self.stiffness[:2]
            virtual.stiffness[:] = self.stiffness
            self._second.command(virtual.present, 0.0, self.second_poles.second)
        springs.update()
        self._motion[:2] = self._links
        self._motion[2:] = 0.0
        np.subtract(self._links, self._desired[:2], out=e[:2])
        self._set_w(0)
        np.copyto(Q[0], springs.torque, where=self._elastic)
        np.copyto(Q[1], springs.torque_rate, where=self._stiff)
        F[0] = -K_m * e[0] - D_m * e[1]
        np.add(F[0], self._w[0], out=Q[0], where=self._rigid)
        np.subtract(Q[0], self._w[0], out=F[0], where=self._elastic)
        self._solve(0)
        np.subtract(self._motion[2], self._desired[2], out=e[2])
        self._set_w(1)
        np.subtract(Q[1], self._w[1], out=F[1], where=self._stiff)
        virtual.update()
        np.add(e[0], virtual.x, out=self.eta)
        np.add(e[1], virtual.rate, out=self.eta_rate)
        lost = self._D * e[1] ** 2 + D_m * self.eta_rate**2
        self.dissipated = float(lost.sum() + self.actuators.damping @ virtual.rate**2)

    def _set_w(self, k: int) -> None:
        """The k-th derivative of w, for which the motion is known up to the order k + 1."""
        passive, e = self._passive, self._e
        passive.state[:] = self._motion[:4]
        passive.reference[:] = self._desired[1:]
        passive.update()
        np.subtract(passive.result[k], self._D * e[k + 1], out=self._w[k])
        self._w[k] -= self._K * e[k]
        if k == 0:
            self._w[0] -= self.external_torque
        else:
            stiffening, damping, _ = self._gain_rates
            self._w[k] -= k * (damping * e[k] + stiffening * e[k - 1])

    def _solve(self, order: int) -> None:
        """q'' or, with order 1, also q''' of the links under Q and the external torques."""
        pushed = self._pushed
        np.add(self._torque, 0.0, out=pushed)
        pushed[0] += self.external_torque + self.contact[0]
        pushed[1] += self.contact[1]
        chain = self._chains[order]
        if not chain.update():
            raise singular(self.model, self._motion[0], chain.prescribed)

    def _command(self) -> None:
        """The motor torques for Q, Q', Q'' and the motion of the links."""
        flat, actuators = self._flat, self.actuators
        if self._damped.any():
            flat.deflection[:] = self._motors[0, actuators.first_motor] - self._links[0]
        if self.stiffness.size:
            flat.stiffness[:] = self.virtual.present
        # Q of rigid joints contains the inertia of their rotors, which the flat map adds
        self._torque[0] -= self._rotors * self._motion[2]
        self.torque[:] = self._feedforward(flat)
        self._second.drive(self.torque)


def _row(gains: ElasticStructureGains) -> Array:
    """(3 n,) the gains that may change while the law runs: K_i, D and D_m."""
    return np.concatenate((gains.link_stiffness, gains.link_damping, gains.motor_damping))
