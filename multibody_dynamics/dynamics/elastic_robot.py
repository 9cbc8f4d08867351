"""The plant: an arm with elastic joints, its motors and their drives, integrated in time.

Link side and motor side of [M21] (2), (3), with friction and a limited motor torque:

    M(q) q'' + C(q, q') q' + g(q) = Q - d q' + J^T W,     Q = K (theta - q),
    M_m theta'' + Q + friction(theta') = tau_m.

On a rigid joint link and motor are one: theta = q, and M_m adds to the diagonal of M.

Integrator: the classical Runge-Kutta method of order 4 with a fixed inner step h. The Coriolis and
friction terms depend on velocity, so the symplectic methods that a bare spring suggests would be
implicit, or of order 2 and no longer symplectic; RK4 is explicit and of high order, which the tests
of a feedforward need. Its price is the limit |lambda| h < 2.6 on the fastest mode lambda (spring,
motor, link and drive), and a numerical damping ratio of (|lambda| h)^5 / 144, 2e-4 at the default
|lambda| h <= 0.5 and far less on all slower modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, tanh
from typing import Any, NamedTuple

import numpy as np

from . import inertia
from .compilation import compiled, inlined
from .elastic_joints import SeriesElasticJoints, refuse_counting_twice
from .errors import DynamicsError, InputError
from .forward_dynamics import forward_dynamics_cycle, forward_dynamics_scratch
from .inputs import Array, as_array
from .kinematics import forward_kinematics
from .mass_matrix import gravity_forces, mass_matrix
from .model import MultibodyModel

COARSEST_STEP = 0.25e-3  # s
ACCURATE = 0.5  # |lambda| h of the default step
STABLE = 2.6  # radius of the largest half disc in the stability region of RK4

# Columns of the table of actuators, a row per joint; link side of the gear.
STIFFNESS = 0  # inf: rigid
MOTOR_INERTIA = 1
VISCOUS = 2
COULOMB = 3
COULOMB_VELOCITY = 4
TORQUE_LIMIT = 5
LINK_VISCOUS = 6
PROPORTIONAL = 7
DERIVATIVE = 8
ACTUATOR_ROW = 9


@dataclass(frozen=True, eq=False)
class MotorDrive:
    """The position loop that a drive closes around its motor, link side of the gear:

        tau_m = feedforward + proportional (theta_ref - theta) + derivative (theta_ref' - theta').

    Gains (n,) or a scalar for all joints, in N m/rad and N m s/rad. Its cycle is short beside the
    mechanics, so it acts as in continuous time.
    """

    proportional: Array
    derivative: Array

    def __post_init__(self) -> None:
        for name in ("proportional", "derivative"):
            gain = np.array(getattr(self, name), dtype=np.float64)
            if not (np.isfinite(gain).all() and (gain >= 0.0).all()):
                raise InputError(f"drive: {name} gain is {gain}: must be finite and not negative")
            gain.flags.writeable = False
            object.__setattr__(self, name, gain)

    @classmethod
    def from_bandwidth(
        cls,
        model: MultibodyModel,
        joints: SeriesElasticJoints,
        q: Any,
        *,
        bandwidth: float,
        damping_ratio: float = 1.0,
    ) -> MotorDrive:
        """Gains that give each motor by itself, its spring cut, a bandwidth in Hz.

        A motor on a rigid joint carries its link; that counts as it is at the configuration q (n,).
        """
        load = np.diag(mass_matrix(model, q))
        carried = joints.motor_inertia + np.where(joints.is_rigid, load, 0.0)
        omega = 2.0 * np.pi * bandwidth
        return cls(carried * omega**2, 2.0 * damping_ratio * omega * carried)


class Energy(NamedTuple):
    """In J: of links and rotors, of the links in the field of gravity, and of the springs."""

    kinetic: float
    potential: float
    elastic: float


@inlined
def _friction(actuators, i, velocity):
    smooth_sign = tanh(velocity / actuators[i, COULOMB_VELOCITY])
    return actuators[i, VISCOUS] * velocity + actuators[i, COULOMB] * smooth_sign


@inlined
def _motor_torques(actuators, feedforward, reference, t, x, motor_torque):
    """Feedforward (n,), and the drive around a reference that moves on at its velocity."""
    for i in range(x.shape[1]):
        lag = reference[0, i] + reference[1, i] * t - x[2, i]
        lag_rate = reference[1, i] - x[3, i]
        torque = feedforward[i] + actuators[i, PROPORTIONAL] * lag
        torque += actuators[i, DERIVATIVE] * lag_rate
        limit = actuators[i, TORQUE_LIMIT]
        motor_torque[i] = min(max(torque, -limit), limit)


@inlined
def _slope(mechanics, actuators, applied, scratch, x, motor_torque, link_torque, dx):
    """dx/dt of x = (q, q', theta, theta') under the motor torques; False: M is singular."""
    parents, joints, gravity, prescribed = mechanics
    links, torques = scratch[0], scratch[1]
    n = x.shape[1]
    for i in range(n):
        motor = motor_torque[i] - _friction(actuators, i, x[3, i])
        stiffness = actuators[i, STIFFNESS]
        if isfinite(stiffness):
            spring = stiffness * (x[2, i] - x[0, i])
            dx[3, i] = (motor - spring) / actuators[i, MOTOR_INERTIA]
            motor = spring
        link_torque[i] = motor - actuators[i, LINK_VISCOUS] * x[1, i]
        torques[0, i] = link_torque[i]
        links[0, i] = x[0, i]
        links[1, i] = x[1, i]
        dx[0, i] = x[1, i]
        dx[2, i] = x[3, i]
    regular = forward_dynamics_cycle(
        parents, joints, gravity, prescribed, 0, links, torques, applied, *scratch[2:]
    )
    for i in range(n):
        dx[1, i] = links[2, i]
        if not isfinite(actuators[i, STIFFNESS]):
            dx[3, i] = dx[1, i]
    return regular


def _advance(
    mechanics, actuators, applied, scratch, work, state, feedforward, reference, h, steps, outputs
):
    """RK4 from `state` (4, n) through `steps` steps of h; False and no change where that fails.

    feedforward: (1, n) held, or (2 steps + 1, n) at the half steps. reference: (2, n) position and
    velocity at the start. outputs: (3, n) motor torque, joint torque and q'' at the end.
    """
    start, x, dx, total = work[0], work[1], work[2], work[3]
    motor_torque, link_torque = outputs[0], outputs[1]
    n = state.shape[1]
    held = feedforward.shape[0] == 1
    for j in range(4):
        for i in range(n):
            start[j, i] = x[j, i] = state[j, i]
    for step in range(steps):
        for stage in range(4):
            half_steps = (stage + 1) // 2  # 0, 1, 1, 2
            row = 0 if held else 2 * step + half_steps
            t = (step + 0.5 * half_steps) * h
            _motor_torques(actuators, feedforward[row], reference, t, x, motor_torque)
            if not _slope(mechanics, actuators, applied, scratch, x, motor_torque, link_torque, dx):
                return False
            weight = h / 6.0 if stage in (0, 3) else h / 3.0
            reach = h if stage == 2 else 0.5 * h
            for j in range(4):
                for i in range(n):
                    if stage == 0:
                        total[j, i] = start[j, i]
                    total[j, i] += weight * dx[j, i]
                    x[j, i] = start[j, i] + reach * dx[j, i]
        for j in range(4):
            for i in range(n):
                start[j, i] = x[j, i] = total[j, i]

    _motor_torques(actuators, feedforward[-1], reference, steps * h, x, motor_torque)
    if not _slope(mechanics, actuators, applied, scratch, x, motor_torque, link_torque, dx):
        return False
    for i in range(n):
        stiffness = actuators[i, STIFFNESS]
        if isfinite(stiffness):
            outputs[1, i] = stiffness * (x[2, i] - x[0, i])
        else:
            inertial = actuators[i, MOTOR_INERTIA] * dx[1, i]
            outputs[1, i] = motor_torque[i] - _friction(actuators, i, x[3, i]) - inertial
        outputs[2, i] = dx[1, i]
        for j in range(4):
            if not isfinite(x[j, i]):
                return False
    for j in range(4):
        for i in range(n):
            state[j, i] = x[j, i]
    return True


_compiled_advance = compiled(_advance)


class ElasticRobot:
    """An arm with springs between motors and links, stepped in time; deterministic.

    Parameters
    ----------
    model : the links, without the rotors that `joints` has (see :func:`.refuse_counting_twice`).
    joints : springs, motors, friction and the limits of the motor torques. The speed limits are for
        controllers to keep: nothing stops a motor here.
    step : inner step in s; the default is at most 0.25 ms and |lambda| h <= 0.5.
    drive : position loops of the drives, for :meth:`follow`.
    link_viscous : (n,) or scalar d, friction on the link side in N m s/rad, which no feedforward
        knows of.

    Attributes: `state` (4, n) with the rows `q`, `qd`, `theta`, `thetad`; `motor_torque`,
    `joint_torque` Q (what a torque sensor at the joint shows, on rigid joints too) and `qdd`, each
    (n,), at the same instant; `applied_wrenches` (n, 6), which the caller may write: what the world
    applies to each body, inertial axes and origin, held until changed. The robot starts at rest at
    q = 0. Raises InputError for data that do not fit together or an unstable step.
    """

    def __init__(
        self,
        model: MultibodyModel,
        joints: SeriesElasticJoints,
        *,
        step: float | None = None,
        drive: MotorDrive | None = None,
        link_viscous: Any = 0.0,
    ) -> None:
        if joints.joint_names != model.joint_names:
            raise InputError(
                f"robot '{model.name}' has the joints {', '.join(model.joint_names)}, the springs "
                f"and motors are of {', '.join(joints.joint_names)}"
            )
        refuse_counting_twice(joints, model.reflected_inertia)
        n = model.n
        self.model, self.joints, self.drive = model, joints, drive
        rotors = np.where(joints.is_rigid, joints.motor_inertia, 0.0)
        self._coupled = model.with_reflected_inertia(model.reflected_inertia + rotors)

        viscous = as_array("link_viscous", np.full(n, link_viscous), (n,), joints.joint_names)
        if (viscous < 0.0).any():
            raise InputError(f"link_viscous is {viscous}: friction cannot be negative")
        free = np.empty((n, ACTUATOR_ROW))
        free[:, STIFFNESS] = joints.stiffness
        free[:, MOTOR_INERTIA] = joints.motor_inertia
        free[:, VISCOUS] = joints.viscous
        free[:, COULOMB] = joints.coulomb
        free[:, COULOMB_VELOCITY] = joints.coulomb_velocity
        free[:, TORQUE_LIMIT] = joints.torque_limit
        free[:, LINK_VISCOUS] = viscous
        free[:, PROPORTIONAL:] = 0.0
        driven = free.copy()
        if drive is not None:
            for column, gain in (
                (PROPORTIONAL, drive.proportional),
                (DERIVATIVE, drive.derivative),
            ):
                if gain.shape not in ((), (n,)):
                    raise InputError(f"drive: gains of shape {gain.shape} for {n} joints")
                driven[:, column] = gain
        self._free, self._driven = free, driven
        self.step_size = self._choose_step(step)

        self.state: Array = np.zeros((4, n))
        self.q, self.qd, self.theta, self.thetad = self.state
        self._outputs = np.zeros((3, n))
        self.motor_torque, self.joint_torque, self.qdd = self._outputs
        applied = np.zeros((n, 18))
        self.applied_wrenches: Array = applied[:, :6]
        self._no_reference = np.zeros((2, n))
        self._fixed = (
            (
                self._coupled.parents,
                self._coupled.joint_rows,
                self._coupled.gravity,
                np.zeros(n, dtype=bool),
            ),
            applied,
            (np.zeros((5, n)), np.zeros((3, n)), *forward_dynamics_scratch(n)),
            np.zeros((4, 4, n)),
        )
        self.reset(np.zeros(n))

    @property
    def n(self) -> int:
        return self.model.n

    def reset(self, q: Any, qd: Any = None, *, theta: Any = None, thetad: Any = None) -> None:
        """Put the robot at q (n,) with velocity qd (n,), zero if not given.

        Without theta the springs are bent as they are at rest under gravity, theta = q + K^-1 g(q),
        and without thetad the motors move as the links do. `motor_torque` is then what holds them,
        M_m, friction and rates apart.
        """
        n, names = self.n, self.joints.joint_names
        q = as_array("q", q, (n,), names)
        qd = np.zeros(n) if qd is None else as_array("qd", qd, (n,), names)
        hold = gravity_forces(self.model, q)
        bent = q + self.joints.compliance * hold
        theta = bent if theta is None else as_array("theta", theta, (n,), names)
        thetad = qd if thetad is None else as_array("thetad", thetad, (n,), names)
        rigid = self.joints.is_rigid
        apart = rigid & ((theta != q) | (thetad != qd))
        for i in np.flatnonzero(apart):
            raise InputError(f"joint '{names[i]}' is rigid: theta and q must be the same")
        for row, value in zip(self.state, (q, qd, theta, thetad), strict=True):
            row[:] = value
        self._advance(self._free, hold[None], self._no_reference, 0.0, 0)

    def step(self, motor_torque: Any, dt: float) -> None:
        """Advance by dt in s under motor torques in N m, link side of the gear.

        motor_torque: (n,), held throughout, or (2 k + 1, n) at the ends and middles of the k =
        :meth:`inner_steps` of dt, which keeps the order of the integrator. Raises InputError for a
        wrong shape, NaN or infinity, DynamicsError where the motion diverges; the state then stays
        as it was.
        """
        steps = self.inner_steps(dt)
        profile = as_array("motor_torque", motor_torque, (self.n,), self.joints.joint_names)
        profile = np.atleast_2d(profile)
        if profile.shape not in ((1, self.n), (2 * steps + 1, self.n)):
            raise InputError(
                f"motor_torque: expected shape ({self.n},) or ({2 * steps + 1}, {self.n}): "
                f"{steps} inner steps in {dt} s; got {np.shape(motor_torque)}"
            )
        self._advance(self._free, profile, self._no_reference, dt, steps)

    def follow(self, position: Any, velocity: Any, feedforward: Any, dt: float) -> None:
        """Advance by dt in s with the drives around theta_ref, theta_ref' and a torque, each (n,).

        Within dt the reference moves on at its velocity, as drives interpolate. Raises as `step`,
        and InputError if the robot has no drive.
        """
        if self.drive is None:
            raise InputError("the robot was made without a drive; use step, or give it one")
        names = self.joints.joint_names
        rows = (("position", position), ("velocity", velocity), ("feedforward", feedforward))
        theta, thetad, tau = (as_array(name, row, (self.n,), names) for name, row in rows)
        reference = np.stack([theta, thetad])
        self._advance(self._driven, tau[None].copy(), reference, dt, self.inner_steps(dt))

    def inner_steps(self, dt: float) -> int:
        """How many inner steps there are in dt: the fewest that are no longer than `step_size`."""
        if not 0.0 < dt < np.inf:
            raise InputError(f"dt is {dt} s: must be positive and finite")
        return max(1, ceil(dt / self.step_size - 1e-9))

    def energy(self) -> Energy:
        """Kinetic, potential and elastic energy of the present state, J."""
        q, qd, theta, thetad = self.state
        links = qd @ mass_matrix(self.model, q) @ qd
        rotors = self.joints.motor_inertia @ thetad**2
        pose = forward_kinematics(self.model, q).pose
        masses, coms, _ = zip(*(inertia.decompose(M) for M in self.model.inertias), strict=True)
        centres = (pose[:, :3, :3] @ np.array(coms)[..., None])[..., 0] + pose[:, :3, 3]
        elastic = ~self.joints.is_rigid
        springs = self.joints.stiffness[elastic] @ (theta - q)[elastic] ** 2
        return Energy(
            kinetic=0.5 * float(links + rotors),
            potential=-float(np.array(masses) @ centres @ self.model.gravity),
            elastic=0.5 * float(springs),
        )

    def dissipation(self) -> float:
        """The power that friction of motors and links takes now, W, never negative."""
        motors = self.joints.friction(self.thetad) @ self.thetad
        return float(motors + self._free[:, LINK_VISCOUS] @ self.qd**2)

    def modes(self, q: Any) -> tuple[Array, Array]:
        """Eigenvalues lambda in 1/s and modes of springs, motors, friction and drives at rest at q.

        Gravity, much softer, is left out. Columns of the second array: n link, then n motor
        deflections (zero for rigid joints' motors). With friction the slope at rest counts.
        """
        n, joints, driven = self.n, self.joints, self._driven
        elastic = ~joints.is_rigid
        K = np.where(elastic, joints.stiffness, 0.0)
        kp = driven[:, PROPORTIONAL]
        d = joints.viscous + joints.coulomb / joints.coulomb_velocity + driven[:, DERIVATIVE]
        # Every motor has a row; that of a rigid joint belongs to its link and is left out.
        keep = np.concatenate([np.full(n, True), elastic])
        mass = np.zeros((2 * n, 2 * n))
        mass[:n, :n] = mass_matrix(self._coupled, q)
        mass[n:, n:] = np.diag(joints.motor_inertia)
        stiffness = np.block([[np.diag(K), -np.diag(K)], [-np.diag(K), np.diag(K + kp)]])
        stiffness[:n, :n] += np.diag(np.where(elastic, 0.0, kp))
        link_damping = driven[:, LINK_VISCOUS] + np.where(elastic, 0.0, d)
        damping = np.diag(np.concatenate([link_damping, d]))
        M, K, D = (matrix[np.ix_(keep, keep)] for matrix in (mass, stiffness, damping))
        size = len(M)
        rates = np.linalg.solve(M, np.hstack([K, D]))
        values, vectors = np.linalg.eig(np.vstack([np.eye(2 * size)[size:], -rates]))
        shapes = np.zeros((2 * n, 2 * size), dtype=complex)
        shapes[keep] = vectors[:size]
        return values, shapes

    def _choose_step(self, wanted: float | None) -> float:
        """The inner step, by the fastest mode over q = 0 and configurations in the joint limits."""
        limits = self.model.limits
        rng = np.random.default_rng(0)
        lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
        samples = rng.uniform(lower, np.maximum(lower, upper), size=(32, self.n))
        fastest, stiffest = 0.0, 0
        for q in (np.zeros(self.n), *samples):
            values, shapes = self.modes(q)
            k = int(np.argmax(np.abs(values)))
            if abs(values[k]) > fastest:
                fastest = float(abs(values[k]))
                stiffest = int(np.argmax(np.abs(shapes[:, k]))) % self.n
        finest = 1e-3 * COARSEST_STEP
        if fastest * finest > ACCURATE:
            raise InputError(
                f"joint '{self.joints.joint_names[stiffest]}': a mode of {fastest:.3g} rad/s is "
                f"too fast to integrate; a spring this stiff is better taken as rigid"
            )
        if wanted is None:
            # a whole number of steps in COARSEST_STEP, so that control periods are, too
            return COARSEST_STEP / max(1, ceil(fastest * COARSEST_STEP / ACCURATE))
        if not 0.0 < wanted < np.inf:
            raise InputError(f"step is {wanted} s: must be positive and finite")
        if fastest * wanted > STABLE:
            raise InputError(
                f"step of {wanted:.3g} s is unstable: the fastest mode, of joint "
                f"'{self.joints.joint_names[stiffest]}', has {fastest:.4g} rad/s; at most "
                f"{STABLE / fastest:.2g} s is stable, {ACCURATE / fastest:.2g} s is accurate"
            )
        return float(wanted)

    def _advance(
        self, actuators: Array, feedforward: Array, reference: Array, dt: float, steps: int
    ) -> None:
        mechanics, applied, scratch, work = self._fixed
        if not _compiled_advance(
            mechanics,
            actuators,
            applied,
            scratch,
            work,
            self.state,
            np.ascontiguousarray(feedforward),
            reference,
            dt / max(steps, 1),
            steps,
            self._outputs,
        ):
            raise DynamicsError(
                f"robot '{self.model.name}': the motion diverges within {dt} s (step "
                f"{self.step_size:.3g} s, q' = {self.qd}); smaller torques or a smaller step"
            )
