# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Impedance control: links behind springs that feel like springs and dampers around the desired
motion, with a storage function.

The law is the passivity-based one of C. Ott, A. Albu-Schaeffer, A. Kugi, G. Hirzinger (IEEE T-RO
2008) and A. Albu-Schaeffer, C. Ott, G. Hirzinger (IJRR 2007), for any springs:

    u     = load(theta, q_bar) + M_theta theta_d'' + D_theta (theta_d' - theta') + second motors
    l(q)  = g(q) + Q_d - g(q_d) - dV_i/dq,      q_bar(theta): Q(theta, q_bar) = l(q_bar)
    tau_m = inertia shaping of u,  plus friction of the desired motion

V_i(q) is the potential of the impedance, Q_d and theta_d are the torques and motors of the desired
motion by the flat map: with an exact model, the arm follows it exactly. At rest q = q_bar under any
wrench. The links then feel exactly g and -dV_i/dq: the requested stiffness is that of the links,
not of the motors, and needs no correction for the series springs.

Storage. With a fixed reference, load(theta, q_bar) is the gradient of

    W(theta) = V_g(q_bar) - V_i(q_bar) + V_s(theta - q_bar),

because W is stationary in q_bar. Therefore

    V  = q'^T M q' / 2 + theta'^T M_theta theta' / 2 + V_s(theta - q) + V_g(q) - W(theta) + V_2
    V' = q'^T tau_ext - theta'^T D_theta theta' - r friction(theta') theta' - dampers of springs,

with V_2 of the second motors and r = M_theta / M_m. The Hessian of V at rest is positive definite
where the Hessian of V_i and the matrix K + dl/dq are; the latter is also the condition for a unique
q_bar (`link_equilibrium`). The energy for changes of stiffness comes from a tank
(`stiffness_ramp`). Passivity is claimed for a fixed reference, a constant stiffness of variable
joints, and torques within the limits of the motors; sampling, delay and errors of the torque
feedback reduce it, see docs/impedance.md.

Damping: D_theta = T^T D_i T + D_m, with T = dq_bar/dtheta without gravity, the dampers D_i of
`impedance_damping` for the links with the apparent rotors, redesigned every REDESIGN cycles, and
D_m = (1 - r) K (lead + period), which compensates for the damping lost because the torque feedback
is late by this time.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core import Array, InputError, as_array
from ...elastic import Actuators, SpringSolver, rigid_rotors
from ...model import MultibodyModel
from ...rigid import InverseDynamicsSolver, jacobian, kinetic_energy, mass_matrix, potential_energy
from ..controllers.controllers import PERIOD
from ..controllers.link_equilibrium import LinkEquilibrium
from ..gains.joint_values import per_name
from ..torque.inertia_shaping import InertiaShaping
from .impedance_design import (
    DEFAULT,
    MOST,
    carrying_stiffness,
    check_use,
    impedance_damping,
    sampled_poses,
    use_of_springs,
)
from .live_impedance import ImpedanceTarget, LiveImpedance, checked_number
from .stiffness_ramp import StiffnessRamp
from .tool_spring import cartesian_spring

USUAL_DAMPING = 0.7  # default damping ratio
ITERATIONS = 2
CONVERGED = 60  # iterations from any start
SOFT = 0.3  # share of the largest stiffness with which loops are also judged
UNEVEN = 0.1  # least share of it in single joints
REDESIGN = 10  # cycles after which the dampers are designed anew
NO_MOTION_COUPLING = 1e-12


class ImpedanceController(LiveImpedance):
    """Base of the impedances. Subclasses define V_i by a row of stiffnesses and :meth:`_spring`.

    Parameters
    ----------
    position : (n,) position at which `stiffness` is compared with the springs, which must be
        stiffer.
    stiffness : (k,), as defined by the subclass.
    damping_ratio : damping ratio of every mode with stiffness.
    least_damping : decay rate of modes without stiffness, 1/s.
    inertia_share : M_theta / M_m, see :class:`.InertiaShaping`; 1 for no torque feedback.
    bandwidth : bandwidth of the second motors of joints that have two, rad/s.
    stiffness_time : shortest time in which stiffness and damping ratio change, s.
    stiffness_energy : capacity in J of the tank that supplies the energy for rising stiffness, see
        :class:`.StiffnessRamp`.
    stiffness_share : the largest use of the springs that is accepted, see `impedance_design`.

    Attributes: those of a :class:`.Controller`; `ramp` of the stiffness, `equilibrium` of links,
    `dissipated`, power in W of the law's dampers at the last update; `second_projection` (m, m) and
    `second_gains` (2, m), the PD of the motions of motors that move no link. An `external_torque`
    that is set is compensated, which makes the arm stiff against it: leave it zero.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        position: Any,
        stiffness: Array,
        *,
        damping_ratio: float = USUAL_DAMPING,
        least_damping: float = 2.0,
        inertia_share: Any = 0.5,
        bandwidth: float = 40.0,
        stiffness_time: float = 0.5,
        stiffness_energy: float = 1.0,
        stiffness_share: float = MOST,
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        actuators.refuse_base_springs("an impedance")
        super().__init__(model, actuators, friction=friction, period=period)
        n, m = actuators.n, len(actuators.motors)
        if not 0.0 < stiffness_share <= MOST:
            raise InputError(
                f"stiffness_share is {stiffness_share}: must be positive, and at most {MOST}"
            )
        self.stiffness_share = float(stiffness_share)
        self.shaping = InertiaShaping(actuators, inertia_share)
        self._design = as_array("position", position, (n,), actuators.joint_names)
        self._carrying = carrying_stiffness(model, actuators, self._design, bandwidth)
        self._poses = sampled_poses(model, self._design)
        self.ramp = StiffnessRamp(stiffness, time=stiffness_time, capacity=stiffness_energy)
        self._stretch = np.zeros_like(self.ramp.value)
        self._given: Array | None = None
        self._is_soft = False
        self._present_ratio = damping_ratio
        self.damping_ratio = damping_ratio
        self._least_damping = checked_number("least_damping", least_damping, "1/s")
        self._now, self._later = self._flat_map(), self._flat_map()
        self._reported_map = self._now
        model.require_tree("impedance control")
        self._weight = InverseDynamicsSolver(model, "spatial")
        self._moved_by_base.append(self._weight)
        self._springs = SpringSolver(actuators, *self._links, *self._motors)
        self.equilibrium = LinkEquilibrium(actuators, self._motors[0], self._balance)
        self._offset = np.zeros(n)
        self._matrix = np.zeros((n, n))
        self._forward, self._u = np.zeros((2, m))
        self._damper, self._cycle = np.zeros((n, n)), 0
        self.dissipated, self._is_started = 0.0, False
        self._joint = actuators.joint_of_motor
        self._elastic = np.flatnonzero(~actuators.is_rigid)
        drives = np.where(actuators.torque_share > 0.0, self.shaping.apparent_inertia, 0.0)
        self._rotors = np.diag(drives @ (self._joint[:, None] == np.arange(n)))
        self._to_links = actuators.link_of_motors
        own = self._to_links @ np.linalg.pinv(self._to_links)
        self.second_projection = np.eye(m) - np.where(np.abs(own) < NO_MOTION_COUPLING, 0.0, own)
        self.second_gains = actuators.motor_inertia * np.array([[bandwidth**2], [2.0 * bandwidth]])
        self._has_second = m > n

    @property
    def inertia_share(self) -> Array:
        """(m,) M_theta / M_m."""
        return self.shaping.share

    @property
    def damping_ratio(self) -> float:
        return self._damping_ratio

    @damping_ratio.setter
    def damping_ratio(self, ratio: float) -> None:
        self._aim_ratio(ratio, 0.0)

    def _aim_ratio(self, ratio: float, duration: float) -> None:
        self._damping_ratio = checked_number("damping_ratio", ratio)
        change = abs(self._damping_ratio - self._present_ratio)
        self._ratio_slope = change / max(self.ramp.time, duration, 1e-9)

    @property
    def target(self) -> Array:
        """(k,) stiffness that is approached within the limits of `ramp`. Setting it raises
        InputError, and changes nothing, if it uses more than `stiffness_share` of the springs."""
        return self.ramp.target

    @target.setter
    def target(self, stiffness: Array) -> None:
        self._check(stiffness)
        self.ramp.aim(stiffness)

    def _check(self, stiffness: Array) -> None:
        matrices = self._matrices(stiffness, self._poses)
        limit = self.stiffness_share
        check_use(self.actuators, self._carrying, matrices, self._poses, limit)

    # As a LiveImpedance

    @property
    def aimed(self) -> ImpedanceTarget:
        return ImpedanceTarget(tuple(self.ramp.target.tolist()), self._damping_ratio)

    @property
    def present_stiffness(self) -> Array:
        return self.ramp.value

    def check(self, target: ImpedanceTarget) -> None:
        self._check(np.array(target.stiffness))

    def aim(self, target: ImpedanceTarget, duration: float = 0.0) -> None:
        row = np.array(target.stiffness)
        if (row != self.ramp.target).any():
            self._check(row)
            self.ramp.aim(row, duration)
        self._aim_ratio(target.damping_ratio, duration)

    def covers(self, target: ImpedanceTarget) -> bool:
        """Whether the stiffness is among those that :meth:`vary` takes: at most `stiffness_share`,
        at least SOFT of it, and in no direction less than UNEVEN of that."""
        return self._is_varied(np.array(target.stiffness))

    def _is_varied(self, row: Array) -> bool:
        like, least = self._proportional(), SOFT * self.stiffness_share
        even = least / self._use(like) * like
        return self._use(row) >= least and bool((row >= UNEVEN * even).all())

    def _use(self, row: Array) -> float:
        return float(use_of_springs(self._carrying, self._matrices(row, self._poses)).max())

    @property
    def memory(self) -> tuple[Array, ...]:
        return (self.equilibrium.q,)

    def vary(self, k: int) -> None:
        """Take a stiffness that uses all of `stiffness_share` (k = 1, 2, 5, 6, ..) or SOFT of it,
        in proportion to the springs (k odd) or distributed at random. If the given stiffness is
        softer, it takes the place of SOFT."""
        if self._given is None:
            self._given = self.ramp.target.copy()
            self._is_soft = not self._is_varied(self._given)
        row, is_full = self._given, k % 4 in (1, 2)
        if k and (is_full or not self._is_soft):
            row = self._proportional()
            if k % 2 == 0:
                row *= np.random.default_rng(k).uniform(UNEVEN, 1.0, len(row))
            row *= (1.0 if is_full else SOFT) * self.stiffness_share / self._use(row)
        self.ramp.aim(row)
        self.ramp.settle()

    @abstractmethod
    def _proportional(self) -> Array:
        """(k,) stiffnesses in proportion to the springs."""

    def reset(self) -> None:
        super().reset()
        self._now.settle()
        self._later.settle()
        self.ramp.settle()
        self._present_ratio = self._damping_ratio
        self.dissipated, self._is_started, self._cycle = 0.0, False, 0

    def set_model(self, model: MultibodyModel) -> None:
        super().set_model(model)
        self._weight.set_model(model)

    # The law

    def _law(self, has_ahead: bool) -> None:
        actuators, shaping, equilibrium = self.actuators, self.shaping, self.equilibrium
        springs, flat, u = self._springs, self._now, self._u
        if self.stiffness.size:
            springs.stiffness[:] = self.stiffness[:2]
            equilibrium.springs.stiffness[:] = self.stiffness[:2]
        springs.update()
        self._forward[:] = self._map(flat, self._desired)
        theta_d, velocity, acceleration, _ = flat.result
        self._begin()
        is_changed = self.ramp.advance(self.period, self.dissipated, self._stretch)
        if not self._is_started:
            equilibrium.start()
        load = equilibrium.update(ITERATIONS if self._is_started else CONVERGED)
        self._is_started = True
        if is_changed:
            self.ramp.withdraw_energy(self._stretch)
        np.subtract(velocity, self._motors[1], out=u)
        late = self._late_torque() * u
        missing, most = self._damping_ratio - self._present_ratio, self._ratio_slope * self.period
        self._present_ratio += min(max(missing, -most), most)
        if is_changed or self._cycle % REDESIGN == 0:
            self._damper = self._designed_damper()
        self._cycle += 1
        braking = self._damper @ (u @ self._to_links)
        damping = late + self._to_links @ braking
        if self._has_second:
            damping += self.second_projection @ (
                self.second_gains[1] * (self.second_projection @ u)
            )
        self.dissipated = float(damping @ u)
        np.multiply(shaping.apparent_inertia, acceleration, out=u)
        u += load
        u += damping
        if self._has_second:
            u += self.second_projection @ (
                self.second_gains[0] * (self.second_projection @ (theta_d - self._motors[0]))
            )
        self.torque[:] = shaping.shape(u, springs.load)
        # what remains of the flat map is friction
        self.torque += self._forward - actuators.motor_inertia * acceleration - flat.load
        if has_ahead:
            self.torque += self._map(self._later, self._ahead) - self._forward

    def _begin(self) -> None:
        """Take over the desired motion: Q_d - g(q_d), without external torques."""
        weight = self._weight_at(self._desired[0])
        np.subtract(self._inverse.result[0], weight, out=self._offset)

    def _weight_at(self, q: Array) -> Array:
        self._weight.state[0] = q
        self._weight.update()
        return self._weight.result[0]

    def _balance(self, q: Array) -> tuple[Array, Array]:
        """l(q) and the stiffness of the impedance, for :class:`.LinkEquilibrium`."""
        weight = self._weight_at(q)
        torque, self._matrix, self._stretch = self._spring(q)
        return torque + weight + self._offset, self._matrix

    def _late_torque(self) -> Array:
        """(m,) D_m."""
        shaping, time = self.shaping, self.lead + self.period
        inertial = np.where(
            shaping.is_shaped, self.equilibrium.springs.stiffness_felt[self._joint], 0.0
        )
        return (1.0 - shaping.share) * inertial * time

    def _designed_damper(self) -> Array:
        """(n, n) T^T D_i T."""
        equilibrium, chosen = self.equilibrium, self._elastic
        mass = mass_matrix(self.model, equilibrium.q) + self._rotors
        D = impedance_damping(mass, self._matrix, self._present_ratio, self._least_damping)
        T = np.eye(len(D))
        if chosen.size:
            left = equilibrium.remaining_stiffness(self._matrix)
            stiffness = np.diag(equilibrium.springs.stiffness_felt[chosen])
            T[np.ix_(chosen, chosen)] = np.linalg.solve(left, stiffness)
        return np.asarray(T.T @ D @ T)

    @abstractmethod
    def _spring(self, q: Array) -> tuple[Array, Array, Array]:
        """-dV_i/dq (n,), its stiffness (n, n) and dV_i/dk (k,) at q (n,), for which the rows of
        `_weight.bodies` are up to date."""

    @abstractmethod
    def _matrices(self, stiffness: Array, q: Array) -> Array:
        """(p, n, n) stiffness of the joints without deflection at the positions q (p, n)."""

    # Its storage

    def storage(self, q: Any, qd: Any, theta: Any, thetad: Any) -> float:
        """The storage function V in J, up to a constant, at a state and the reference of the last
        update; the energy in the tank is included. For tests and monitoring: expensive.

        Raises InputError for a variable stiffness, for which no storage function is known.
        """
        for name, actuator in zip(
            self.actuators.joint_names, self.actuators.actuators, strict=True
        ):
            if not actuator.has_storage:
                raise InputError(f"joint '{name}': no storage function for a variable stiffness")
        motors, links = np.array((theta, thetad)), np.array((q, qd))
        equilibrium = LinkEquilibrium(self.actuators, motors[0], self._balance)
        equilibrium.springs.stiffness[:] = self.equilibrium.springs.stiffness
        kept = self._matrix, self._stretch
        equilibrium.start()
        equilibrium.update(CONVERGED)
        self._matrix, self._stretch = kept
        hanging = equilibrium.q
        model = self.model.with_reflected_inertia(rigid_rotors(self.actuators))
        rotors = np.where(self.shaping.is_shaped, self.shaping.apparent_inertia, 0.0)
        V = float(kinetic_energy(model, *links)) + 0.5 * float(rotors @ motors[1] ** 2)
        V += float(potential_energy(model, links[0])) - float(potential_energy(model, hanging))
        V += float(self.actuators.spring_energy(links[0], motors[0]))
        V -= float(self.actuators.spring_energy(hanging, motors[0]))
        self._weight_at(hanging)
        V += float(self.ramp.value @ self._spring(hanging)[2])
        if self._has_second:
            apart = self.second_projection @ (self._now.result[0] - motors[0])
            V += 0.5 * float(self.second_gains[0] @ apart**2)
        return V + self.ramp.energy


class JointImpedance(ImpedanceController):
    """Springs and dampers between the links and their desired positions.

    >>> law = JointImpedance(model, actuators, q, [300.0, 200.0])
    >>> torque = law.update(desired, q, qd, theta, thetad)  # every cycle
    >>> law.set_stiffness([50.0, 200.0])  # between cycles

    stiffness : K_j (n,) or a scalar, N m/rad, of the links; None for a quarter of the springs'.
        With zero, only gravity compensation and a damper remain. Other parameters:
        :class:`ImpedanceController`.

    Raises InputError, naming the joint, if the stiffness is too large for the springs.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        position: Any,
        stiffness: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(model, actuators, position, np.zeros(actuators.n), **settings)
        self.set_stiffness(stiffness)
        self.ramp.settle()

    @property
    def stiffness_names(self) -> tuple[str, ...]:
        """The names of the joints."""
        return self.actuators.joint_names

    def set_stiffness(self, stiffness: Any) -> None:
        """Approach another stiffness, as in the constructor."""
        self.target = self._stiffness_of(self.ramp.target, {"link_stiffness": stiffness})

    def _stiffness_of(self, row: Array, settings: Mapping[str, Any]) -> Array:
        given = settings.get("link_stiffness", row)
        given = DEFAULT * self._carrying if given is None else given
        return per_name("link_stiffness", given, self.actuators.joint_names)

    def settings_of(self, target: ImpedanceTarget) -> dict[str, Any]:
        return {"link_stiffness": target.stiffness, "damping_ratio": target.damping_ratio}

    def _proportional(self) -> Array:
        return self._carrying.copy()

    def _spring(self, q: Array) -> tuple[Array, Array, Array]:
        error = self._desired[0] - q
        return self.ramp.value * error, np.diag(self.ramp.value), 0.5 * error**2

    def _matrices(self, stiffness: Array, q: Array) -> Array:
        return np.diag(stiffness)[None]


class CartesianImpedance(ImpedanceController):
    """A spring and damper between a tool and its desired pose, and weaker springs of the posture.

    V_i = phi^T K_r phi / 2 + d^T K_t d / 2 + e^T K_p e / 2, with phi = log(R R_d^T) and d = p - p_d
    in inertial axes, from the pose of the tool at q to that at the desired q_d, and e = q - q_d.

    The posture springs K_p act in all directions, not only in the null space: the tool feels them
    in addition to K_x. If they were projected into the null space, they would have no potential,
    and the law no storage function.

    Parameters
    ----------
    tool : body or frame, by name or index; None for the last body.
    stiffness : K_x (6,): three rotational ones in N m/rad, three translational ones in N/m, along
        the inertial axes; None for those that use a quarter of the springs' stiffness in the worst
        position.
    posture_stiffness : K_p (n,) or a scalar, N m/rad; None for 2 % of the springs'.

    Other parameters: :class:`ImpedanceController`. Raises InputError if the stiffness is too large
    for the springs, and for an unknown tool.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        position: Any,
        stiffness: Any = None,
        *,
        tool: str | int | None = None,
        posture_stiffness: Any = None,
        **settings: Any,
    ) -> None:
        self.tool = model.body_count - 1 if tool is None else tool
        body, n = model.body_index(self.tool), model.n
        super().__init__(model, actuators, position, np.zeros(6 + n), **settings)
        pose = model.body_in_joint[body] @ model.frame(self.tool).pose
        self._carrier, self._frames = body + 1, np.zeros((2, 12))
        self._frames[0] = np.concatenate((pose[:3, :3].ravel(), pose[:3, 3]))
        self._frames[1] = self._frames[0]
        N = model.body_count
        self._deviation, self._J, self._tool = np.zeros(6), np.zeros((6, N)), np.zeros(12)
        self._of_tree = np.zeros(N), np.zeros((N, N))
        self._torque, self._pulled = np.zeros(n), np.zeros((n, n))
        if not model.is_coupled:
            self._torque, self._pulled = self._of_tree
        given = {"tool_stiffness": stiffness, "posture_stiffness": posture_stiffness}
        self.target = self._stiffness_of(self.ramp.target, given)
        self.ramp.settle()
        self._pull()  # compiles

    @property
    def stiffness_names(self) -> tuple[str, ...]:
        """tool_rx, tool_ry, tool_rz, tool_x, tool_y, tool_z, and the joints of the posture."""
        return (*(f"tool_{axis}" for axis in _AXES), *self.actuators.joint_names)

    def set_stiffness(self, stiffness: Any, posture_stiffness: Any = None) -> None:
        """Approach another stiffness, as in the constructor; None keeps that of the posture."""
        given = {"tool_stiffness": stiffness}
        if posture_stiffness is not None:
            given["posture_stiffness"] = posture_stiffness
        self.target = self._stiffness_of(self.ramp.target, given)

    def _stiffness_of(self, row: Array, settings: Mapping[str, Any]) -> Array:
        tool = settings.get("tool_stiffness", row[:6])
        posture = settings.get("posture_stiffness", row[6:])
        tool = self._default() if tool is None else tool
        posture = 0.02 * self._carrying if posture is None else posture
        names = self.actuators.joint_names
        return np.concatenate(
            (
                per_name("tool_stiffness", tool, _AXES, of="axis"),
                per_name("posture_stiffness", posture, names),
            )
        )

    def settings_of(self, target: ImpedanceTarget) -> dict[str, Any]:
        return {
            "tool_stiffness": target.stiffness[:6],
            "posture_stiffness": target.stiffness[6:],
            "damping_ratio": target.damping_ratio,
        }

    def _default(self) -> Array:
        """(6,) stiffness that uses a quarter of the springs' stiffness in the worst position, the
        rotational ones 0.1 m^2 times the translational ones."""
        row = np.array([0.1] * 3 + [1.0] * 3 + [0.0] * self.model.n)
        use = use_of_springs(self._carrying, self._matrices(row, self._poses))
        return DEFAULT / float(use.max()) * row[:6]

    def _proportional(self) -> Array:
        return np.concatenate((self._default(), 0.02 * self._carrying))

    def _begin(self) -> None:
        super()._begin()
        self._pull()
        self._frames[1] = self._tool

    def _pull(self) -> None:
        """The spring at the position for which `_weight.bodies` are up to date."""
        cartesian_spring(
            self.model.parents,
            self._weight.bodies,
            self._carrier,
            self._frames,
            self.ramp.value,
            self._deviation,
            self._J,
            self._tool,
            *self._of_tree,
        )
        if self.model.is_coupled:
            G, (torque, pulled) = self.model.coordinate_map, self._of_tree
            self._torque[:], self._pulled[:] = torque @ G, G.T @ pulled @ G

    def _spring(self, q: Array) -> tuple[Array, Array, Array]:
        self._pull()
        e, posture = q - self._desired[0], self.ramp.value[6:]
        stretch = 0.5 * np.concatenate((self._deviation, e)) ** 2
        return self._torque - posture * e, self._pulled + np.diag(posture), stretch

    def _matrices(self, stiffness: Array, q: Array) -> Array:
        J = jacobian(self.model, q, self.tool, representation="hybrid")
        return (J.swapaxes(-1, -2) * stiffness[:6]) @ J + np.diag(stiffness[6:])


_AXES = ("rx", "ry", "rz", "x", "y", "z")
