# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The arm with elastic joints in MuJoCo: a plant that shares no dynamics with this package.

MuJoCo gets the moving bodies of the model, with fixed links merged, and computes their dynamics by
itself; its mass matrix is compared with that of the model at the start. Each motor behind a spring
becomes a separate hinge in the world whose armature is the rotor's inertia and whose angle is
theta, for any type of joint: under Spong's simplification, a rotor feels neither gravity nor the
motion of the links. A linear spring with its damper is a fixed tendon of length theta - q; a rotor
on a rigid joint is that joint's armature, and a passive spring one of its joint. MuJoCo integrates
all of this, and viscous friction, with its fourth-order Runge-Kutta method and a fixed inner step
h.

Coupled joints follow n independent ones (:class:`.TreeJoints`) by equality constraints, which
MuJoCo meets softly, within STOP_TIME. A coordinate that is no joint, such as a motor of a
differential, is a tendon over the joints that give it; its rotor and friction, if no spring lies
between, belong to a hinge in the world that is tied to this tendon.

Loops are closed softly as well, within LOOP_TIME: the cut joint is a common point and, for each
direction that it keeps, a tendon of constant length between the bodies. Moving by 0.1 rad within
0.1 s, the mechanisms of config/mechanisms agree with `ElasticRobot` within 2e-6 rad.

With a `floor`, points of the links press and rub on level ground: spheres of FOOT_RADIUS, so that
feet turn but do not roll, and MuJoCo's stiffest contacts. The base may then float on them. MuJoCo
then integrates by its semi-implicit Euler method: with Runge-Kutta, feet that stand creep.

Everything else acts as a force that is held over an inner step and evaluated at its middle, x + h/2
v: nonlinear and variable springs (by the laws of `elastic`), Coulomb friction, drives, wrenches,
and the inertial forces of a moving base, whose frame is MuJoCo's world. For a spring this is the
leapfrog method: order 2, symplectic, stable for |lambda| h < 2. With the default h of 0.25 ms, a
Panda that moves by 0.5 rad within a second ends within 1e-5 rad of `ElasticRobot`; halving h
reduces the difference to a quarter.
"""

import re
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from ..dynamics.core import Array, DynamicsError, InputError, ModelError, NeverCopied, as_array
from ..dynamics.elastic import (
    Actuator,
    Actuators,
    Spring,
    motor_motion,
    resting_second_outputs,
)
from ..dynamics.lie import convert_twist, se3
from ..dynamics.mechanisms import LARGEST_PITCH, ClosedChainModel, closure_rows
from ..dynamics.model import MultibodyModel, inertia
from ..dynamics.rigid import mass_matrix, postures
from .tree_joints import TreeJoints, ball_pitches, joint_positions, tree_joints

REQUIREMENT = "mujoco>=3.3,<4"
VERSIONS = (3, 3), (4,)  # the least, and the first that is not accepted
COARSEST_STEP = 0.25e-3  # s
ACCURATE = 0.5  # largest |lambda| h of the default step
STOP_TIME = 5e-3  # s, time constant of the end stops, which MuJoCo damps critically
LOOP_TIME = 1e-3  # s, time constant with which loops close
STIFF = [0.9999, 0.9999, 1e-3, 0.5, 2.0]  # impedance of the equations of loops
FOOT_RADIUS = 1e-4  # m
ON_GROUND = [0.999, 0.999, 1e-3, 0.5, 2.0]  # impedance of contacts
ARM = 0.1  # m, from the centre of a cut joint to the ends of the tendons that keep its directions
FAR = 1e6  # rad or m: a limit that is none
SAME_ROBOT = 1e-9  # relative difference of mass matrices
LARGEST_FORCE, LARGEST_STATE = 1e6, 1e9  # MuJoCo resets the state beyond accelerations of 1e10


def import_mujoco() -> Any:
    """The module `mujoco`. Raises a DynamicsError that explains how to install it, or another
    version."""
    try:
        import mujoco
    except ImportError as error:
        raise DynamicsError(
            f"the MuJoCo plant requires the Python package mujoco ({error}): "
            f"pip install '{REQUIREMENT}', if necessary in a virtual environment with access to "
            f"ROS 2, or install the extra multibody_dynamics[mujoco]"
        ) from None
    least, beyond = VERSIONS
    numbers = (re.match(r"\d*", part) for part in mujoco.__version__.split("."))
    found = tuple(int(number[0] or 0) for number in numbers if number is not None)
    if not least <= found < beyond:
        raise DynamicsError(
            f"the MuJoCo plant requires {REQUIREMENT}, but version {mujoco.__version__} is "
            f"installed: pip install '{REQUIREMENT}'"
        )
    return mujoco


class Floor(NamedTuple):
    """Level ground at z = 0, for the origins of these links; `friction` is that of Coulomb.

    is_base_free : the robot stands on these `contacts`, and nothing else holds its base.
    """

    contacts: tuple[str, ...]
    friction: float = 0.5
    is_base_free: bool = False


class MujocoRobot(NeverCopied):
    """A :class:`.Plant` simulated by MuJoCo; deterministic.

    Parameters
    ----------
    model : the links, gravity, reflected inertia and payloads.
    actuators : springs and motors, of any kind.
    urdf : the robot's URDF as text or bytes; only checked for having the joints of the model.
    step : inner step in s; default: at most 0.25 ms, and |lambda| h <= 0.5 for the fastest mode.
    drive : position loops for :meth:`follow`: `proportional` and `derivative`, (m,) or scalars.
    link_viscous : (n,) or scalar, friction on the link side in N m s/rad.
    end_stops : if not None, MuJoCo's soft limits at the joint limits of the model.
    floor : what touches the ground, if anything does.

    Passive balls in loops keep the chart of the assembled pose, see :mod:`.ball_charts`.

    Raises DynamicsError if mujoco is not installed or has another mass matrix, and beyond the
    LARGEST_PITCH of a ball; ModelError for a robot that MuJoCo rejects, with helical joints, or
    loops cut at a joint that slides; InputError for inconsistent data and for coordinates that the
    positions of the joints do not determine.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        urdf: str | bytes | None = None,
        *,
        step: float | None = None,
        drive: Any = None,
        link_viscous: Any = 0.0,
        end_stops: Any = None,
        floor: Floor | None = None,
    ) -> None:
        if actuators.joint_names != model.joint_names:
            raise InputError(
                f"robot '{model.name}' has the joints {', '.join(model.joint_names)}, but "
                f"the actuators have {', '.join(actuators.joint_names)}"
            )
        actuators.refuse_counting_twice(model.reflected_inertia)
        self._joints, self._pitches = tree_joints(model), ball_pitches(model)
        self._mujoco = mujoco = import_mujoco()
        n, m = model.n, len(actuators.motors)
        self.model, self.actuators, self.drive = model, actuators, drive
        viscous = as_array("link_viscous", np.full(n, link_viscous), (n,), model.joint_names)
        if (viscous < 0.0).any():
            raise InputError(f"link_viscous is {viscous}: friction cannot be negative")

        if urdf is not None:
            _check_joints(urdf, model)
        self._compiled = _compile(
            mujoco, model, self._joints, actuators, viscous, end_stops is not None, floor
        )
        self.floor = floor
        self._data, self._middle = (mujoco.MjData(self._compiled) for _ in range(2))
        self._base: tuple[Array, Array, Array, Array] | None = None
        gains = (0.0, 0.0) if drive is None else (drive.proportional, drive.derivative)
        self._gains = tuple(
            as_array("drive", np.broadcast_to(gain, m), (m,), actuators.motor_names)
            for gain in gains
        )
        self._find_bodies_and_joints()
        self._write_inertias(model)
        self._check_mass_matrix()
        self._take_actuators()

        self.q, self.qd, self.joint_torque, self.qdd = np.zeros((4, n))
        self.theta, self.thetad, self.motor_torque = np.zeros((3, m))
        self.applied_wrenches: Array = np.zeros((model.body_count, 6))
        self._set_gravity(model)
        self.step_size = self._choose_step(step)
        self._compiled.opt.timestep = self.step_size
        self._compiled.geom_solref[:] = 2.0 * self.step_size, 1.0
        self.reset(model.home)

    def _find_bodies_and_joints(self) -> None:
        """Indices of bodies and degrees of freedom in MuJoCo, and what q is in terms of these."""
        own, model, joints, actuators = self._compiled, self.model, self._joints, self.actuators
        dofs = {own.joint(k).name: int(own.joint(k).dofadr[0]) for k in range(own.njnt)}
        self._bodies = np.array([own.body(model.body_names[i]).id for i in joints.bodies])
        self.is_base_free = self.floor is not None and self.floor.is_base_free
        feet = [_foot(name) for name in self.floor.contacts] if self.floor is not None else []
        self._sites = [own.site(foot).id for foot in feet]
        self._feet = [own.geom(foot).id for foot in feet]
        # of each degree of freedom in MuJoCo's positions; those of a free base belong to nothing
        self._places = np.arange(own.nv) + (own.nq - own.nv)
        inputs = [c for c, name in enumerate(model.joint_names) if _input(name) in dofs]
        links = [dofs[name] for name in joints.names]
        # dofs that follow q, and the coordinates that are dofs of their own
        self._tree = np.array([*links, *(dofs[_input(model.joint_names[c])] for c in inputs)])
        self._inputs = np.eye(self.n)[inputs]
        self._read = np.zeros((self.n, own.nv))  # q = read @ x
        self._read[:, links] = joints.inverse
        self._motors = np.array(
            [
                dofs[_dof_of(joints, model, i) if actuators.is_rigid[i] else _rotor(name)]
                for name, i in zip(actuators.motor_names, actuators.joint_of_motor, strict=True)
            ]
        )

    def _take_actuators(self) -> None:
        """Springs, friction and limits of the actuators as arrays, and the second outputs."""
        actuators = self.actuators
        self._is_rigid = actuators.is_rigid
        self._first = actuators.first_motor
        tendons = [_tendon(actuator) for actuator in actuators.actuators]
        self._tendons = np.array([(0.0, 0.0) if t is None else t for t in tendons]).T
        self._others = [
            each
            for each, tendon in zip(actuators.each(), tendons, strict=True)
            if tendon is None and not actuators.is_rigid[each[0]]
        ]
        self._limit = actuators.torque_limit
        self._coulomb, self._coulomb_velocity, self._viscous = (
            np.array([getattr(motor, name) for motor in actuators.motors])
            for name in ("coulomb", "coulomb_velocity", "viscous")
        )
        self.stiffness: Array = np.zeros((2, len(actuators.variable_joints)))
        self.stiffness[0] = resting_second_outputs(actuators)
        self._free: dict[int, tuple[float, float]] = {}  # ranges of stiffnesses without a motor
        for _, actuator, _, j in actuators.each():
            if actuator.input_range is not None:
                self._free[j] = actuator.input_range

    @property
    def n(self) -> int:
        return self.model.n

    def reset(self, q: Any, qd: Any = None, *, theta: Any = None, thetad: Any = None) -> None:
        """Set the links to q, q' (n,) and the motors to theta, theta' (m,); see :class:`.Plant`.

        Variable joints start with the second outputs `stiffness`: initially the middle of what
        springs and motors hold at zero torque.
        """
        actuators, data = self.actuators, self._data
        n, m = self.n, len(actuators.motors)
        q = as_array("q", q, (n,), actuators.joint_names)
        qd = np.zeros(n) if qd is None else as_array("qd", qd, (n,), actuators.joint_names)
        self._mujoco.mj_resetData(self._compiled, data)
        x, G = self._positions(q)
        self._refuse_turned_balls(x)
        data.qpos[self._places[self._tree]] = x
        self._mujoco.mj_forward(self._compiled, data)
        if self.is_base_free:
            data.qpos[2] -= data.site_xpos[self._sites, 2].min()
        hold = self._holding(data, x, G)
        if self.is_base_free:
            hold = hold - G.T @ self._carried(data)[self._tree]

        torque = np.stack([hold, np.zeros(n), np.zeros(n)])
        second = np.zeros((3, len(actuators.variable_joints)))
        second[0] = self.stiffness[0]
        motors = motor_motion(
            actuators,
            np.stack([q, np.zeros(n), np.zeros(n)]),
            torque,
            second,
            deflection=actuators.settled_deflection(torque, beyond="continue"),
            beyond="continue",
        )
        theta = motors.position if theta is None else as_array("theta", theta, (m,))
        if thetad is None:
            thetad = np.where(actuators.torque_share > 0.0, qd[actuators.joint_of_motor], 0.0)
        thetad = as_array("thetad", thetad, (m,), actuators.motor_names)
        apart = self._is_rigid & ((theta[self._first] != q) | (thetad[self._first] != qd))
        for i in np.flatnonzero(apart):
            name = actuators.joint_names[i]
            raise InputError(f"joint '{name}' is rigid: theta and q must be equal")
        data.qpos[self._places[self._motors]], data.qvel[self._motors] = theta, thetad
        data.qvel[self._tree] = G @ qd
        self._publish(
            lambda t, theta, thetad: np.clip(motors.torque, -self._limit, self._limit), 0.0
        )

    def step(self, motor_torque: Any, dt: float) -> None:
        """Advance by dt in s under constant motor torques (m,); see :class:`.Plant`."""
        names = self.actuators.motor_names
        given = as_array("motor_torque", motor_torque, (len(names),), names)
        torque = np.clip(given, -self._limit, self._limit)
        self._advance(lambda t, theta, thetad: torque, dt)

    def follow(self, position: Any, velocity: Any, feedforward: Any, dt: float) -> None:
        """Advance by dt in s while the drives follow theta_ref, theta_ref', with a feedforward
        torque; all (m,)."""
        if self.drive is None:
            raise InputError("the robot has no drive; use step, or construct it with one")
        names = self.actuators.motor_names
        rows = (("position", position), ("velocity", velocity), ("feedforward", feedforward))
        reference, rate, given = (as_array(name, row, (len(names),), names) for name, row in rows)
        proportional, derivative = self._gains

        def torque(t: float, theta: Array, thetad: Array) -> Array:
            wanted = given + proportional * (reference + rate * t - theta)
            wanted += derivative * (rate - thetad)
            return np.clip(wanted, -self._limit, self._limit)

        self._advance(torque, dt)

    def set_model(self, model: MultibodyModel) -> None:
        """Continue from the present state with other inertias or gravity."""
        if model.joint_names != self.model.joint_names:
            raise InputError(
                f"model '{model.name}' has the joints {', '.join(model.joint_names)}; the robot "
                f"has {', '.join(self.model.joint_names)}"
            )
        self._write_inertias(model)
        self._set_gravity(model)
        self.model = model

    def _write_inertias(self, model: MultibodyModel) -> None:
        """Overwrite the inertias after MuJoCo's checks, which refuse light and flat bodies."""
        own = self._compiled
        inertias = dict(zip(self._bodies, model.inertias[self._joints.bodies], strict=True))
        if self.is_base_free:
            inertias[own.body(model.base_name).id] = model.base_inertia
        for body, M in inertias.items():
            mass, com, inertia_com = inertia.decompose(M)
            moments, axes = np.linalg.eigh(inertia_com)
            axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
            own.body_mass[body], own.body_ipos[body], own.body_inertia[body] = mass, com, moments
            self._mujoco.mju_mat2Quat(own.body_iquat[body], axes.ravel())
        self._mujoco.mj_setConst(own, self._mujoco.MjData(own))

    def _check_mass_matrix(self) -> None:
        """DynamicsError if this version of MuJoCo makes another robot of the bodies.

        Some versions lose the rotation of inertias.
        """
        model, armature = self.model, self._compiled.dof_armature[self._tree]
        for q in (model.home, *postures(model, 3)):
            x, G = self._positions(q)
            if self._turned_balls(x).any():
                continue
            found = self.mass_matrix(q) - G.T @ (armature[:, None] * G)
            wanted = mass_matrix(model.with_reflected_inertia(np.zeros(self.n)), q)
            if not np.abs(found - wanted).max() <= SAME_ROBOT * np.abs(wanted).max():
                raise DynamicsError(
                    f"MuJoCo {self._mujoco.__version__} has another mass matrix for robot "
                    f"'{model.name}', by {np.abs(found - wanted).max():.3g}; install another "
                    f"version, and please report this"
                )

    def mass_matrix(self, q: Any) -> Array:
        """(n, n) mass matrix of the links at q (n,), with armatures of rigid joints, by MuJoCo."""
        x, G = self._positions(q)
        self._refuse_turned_balls(x)
        return np.asarray(G.T @ self._full_mass_matrix(q)[np.ix_(self._tree, self._tree)] @ G)

    def gravity_forces(self, q: Any) -> Array:
        """(n,) torques that hold the links at q (n,) on a base at rest, by MuJoCo."""
        x, G = self._positions(q)
        self._refuse_turned_balls(x)
        return self._holding(self._probe(q), x, G)

    def _holding(self, data: Any, x: Array, G: Array) -> Array:
        """(n,) torques that hold the links and the springs of passive joints at x of `_tree`."""
        own, tree = self._compiled, self._tree
        stiffness = own.jnt_stiffness[own.dof_jntid[tree]]
        bent = stiffness * (x - own.qpos_spring[self._places[tree]])
        return np.asarray(G.T @ (data.qfrc_bias[tree] + bent))

    def _positions(self, q: Any) -> tuple[Array, Array]:
        """The positions of `_tree` at q (n,), and their rates per unit of each q'."""
        q = as_array("q", q, (self.n,), self.model.joint_names)
        x, G = joint_positions(self.model, self._joints, q)
        return np.concatenate((x, self._inputs @ q)), np.vstack((G, self._inputs))

    def _turned_balls(self, x: Array) -> NDArray[np.bool_]:
        """The balls in loops that are nearly singular at x of `_tree`, in their only chart."""
        return np.abs(x[self._pitches]) > LARGEST_PITCH

    def _refuse_turned_balls(self, x: Array) -> None:
        for j in self._pitches[self._turned_balls(x)]:
            raise DynamicsError(
                f"robot '{self.model.name}': joint '{self._joints.names[j]}' of a ball is at "
                f"{x[j]:.3g} rad in the chart of the assembled pose, which MuJoCo keeps and which "
                "is singular at 1.57 rad: assemble the robot closer, cut the loop at the ball, or "
                "use the internal plant, ElasticRobot"
            )

    def _probe(self, q: Any) -> Any:
        data = self._mujoco.MjData(self._compiled)
        data.qpos[self._places[self._tree]], _ = self._positions(q)
        self._mujoco.mj_forward(self._compiled, data)
        return data

    def _full_mass_matrix(self, q: Any) -> Array:
        data, full = self._probe(q), np.eye(self._compiled.nv)
        for row in full:  # rows are columns: the matrix is symmetric
            self._mujoco.mj_mulM(self._compiled, data, row, row.copy())
        return full

    def move_base(self, pose: Array, rates: Array) -> None:
        """Let the base move, see :meth:`.Plant.move_base`; InputError for one that is free."""
        if self.is_base_free:
            raise InputError(f"the base of robot '{self.model.name}' is free; nothing moves it")
        twist, acceleration = convert_twist(pose, rates[:2], "spatial", "body")
        origin = acceleration[3:] + np.cross(twist[:3], twist[3:])
        self._base = pose.copy(), twist[:3], acceleration[:3], origin

    def _carried(self, data: Any) -> Array:
        """(nv,) share of the ground in the forces of a robot at rest on it: those of least norm."""
        J = np.zeros((len(self._sites), 3, self._compiled.nv))
        for own, site in zip(J, self._sites, strict=True):
            self._mujoco.mj_jacSite(self._compiled, data, own, None, site)
        J = J.reshape(-1, self._compiled.nv)
        return np.asarray(J.T @ (np.linalg.pinv(J[:, :6].T) @ data.qfrc_bias[:6]))

    @property
    def base(self) -> tuple[Array, Array, Array]:
        """Pose (4, 4) of a free base, its twist (6,) in body-fixed representation, and the rate of
        that."""
        data, pose = self._data, np.eye(4)
        body = self._compiled.body(self.model.base_name).id
        pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
        (v, omega), (a, alpha) = data.qvel[:6].reshape(2, 3), data.qacc[:6].reshape(2, 3)
        v, a = v @ pose[:3, :3], a @ pose[:3, :3]
        return pose, np.concatenate((omega, v)), np.concatenate((alpha, a - np.cross(omega, v)))

    @property
    def contact_points(self) -> Array:
        """(p, 3) where the contacts of the floor are, m, in inertial axes."""
        return np.array(self._data.site_xpos[self._sites])

    @property
    def ground_forces(self) -> Array:
        """(p, 3) of the floor on its contacts, N, in inertial axes."""
        own, data, force = self._compiled, self._data, np.zeros(6)
        forces = np.zeros((len(self._sites), 3))
        for k, contact in enumerate(data.contact):
            self._mujoco.mj_contactForce(own, data, k, force)
            forces[self._feet.index(contact.geom2)] += contact.frame.reshape(3, 3).T @ force[:3]
        return forces

    def _set_gravity(self, model: MultibodyModel) -> None:
        self._compiled.opt.gravity[:] = model.gravity

    def _advance(self, torque: Any, dt: float) -> None:
        if not 0.0 < dt < inf:
            raise InputError(f"dt is {dt} s: must be positive and finite")
        self._refuse_turned_balls(self._data.qpos[self._places[self._tree]])
        own, data, mujoco = self._compiled, self._data, self._mujoco
        steps = max(1, ceil(dt / self.step_size - 1e-9))
        own.opt.timestep = h = dt / steps
        before = data.qpos.copy(), data.qvel.copy()
        is_touched = self.applied_wrenches.any() or data.xfrc_applied.any()
        is_touched = is_touched or self._base is not None
        for k in range(steps):
            middle, v = data.qpos.copy(), data.qvel + 0.5 * h * data.qacc
            mujoco.mj_integratePos(own, middle, data.qvel, 0.5 * h)
            x, t = middle[self._places], (k + 0.5) * h
            theta, thetad = x[self._motors], v[self._motors]
            applied = data.qfrc_applied
            applied[:] = 0.0
            applied[self._motors] = torque(t, theta, thetad)
            applied[self._motors] -= self._coulomb * np.tanh(thetad / self._coulomb_velocity)
            for i, Q, motors, loads in self._other_springs(x, v, t):
                applied += Q * self._read[i]
                applied[motors] -= loads
            if is_touched:
                self._apply_wrenches(middle, v)
            if not max(np.abs(applied).max(), np.abs(data.xfrc_applied).max()) < LARGEST_FORCE:
                break
            mujoco.mj_step(own, data)
            if not max(np.abs(data.qvel).max(), np.abs(data.qacc).max()) < LARGEST_STATE:
                break
        else:
            for j in self._free:
                self.stiffness[0, j] = self._free_stiffness(j, dt)
            self._publish(torque, dt)
            return
        mujoco.mj_resetData(own, data)
        data.qpos[:], data.qvel[:] = before
        mujoco.mj_forward(own, data)
        raise DynamicsError(
            f"robot '{self.model.name}': the motion diverges within {dt} s (step "
            f"{self.step_size:.3g} s, q' = {self.qd}); use smaller torques or a smaller step"
        )

    def _other_springs(self, x: Array, v: Array, t: float) -> Any:
        """Joint, Q, degrees of freedom and motor loads of each spring outside MuJoCo."""
        for i, actuator, motors, j in self._others:
            rotors = self._motors[motors.start : motors.stop]
            k = self._free_stiffness(j, t) if j in self._free else 0.0
            rows = actuator.spring_rows(
                self._read[i, None] @ x,
                self._read[i, None] @ v,
                [x[r, None] for r in rotors],
                [v[r, None] for r in rotors],
                [np.array([k]), np.zeros(1)],
                "continue",
            )
            yield i, rows.torque[0], rotors, np.array(rows.loads)[:, 0]

    def _free_stiffness(self, j: int, t: float) -> float:
        """The commanded stiffness, clipped to its range, t s after the beginning of a step."""
        k, rate = self.stiffness[:, j]
        return float(np.clip(k + t * rate, *self._free[j]))

    def _apply_wrenches(self, positions: Array, v: Array) -> None:
        """Apply the wrenches, force first, and the inertial forces of a base that moves, at these
        positions and velocities."""
        own, at, bodies, mujoco = self._compiled, self._middle, self._bodies, self._mujoco
        at.qpos[:], at.qvel[:] = positions, v
        for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
            update(own, at)
        wrenches, centre = self.applied_wrenches[self._joints.bodies], at.xipos[bodies]
        if self._base is not None:
            wrenches = wrenches @ se3.coAd(se3.inverse(self._base[0])).T
        moment, force = np.split(wrenches, 2, axis=1)
        moment = moment - _cross(centre, force)
        if self._base is not None:
            pose, omega, alpha, origin = self._base
            gravity = own.opt.gravity
            acceleration = origin + gravity - pose[:3, :3].T @ gravity
            w, reference = at.cvel[bodies, :3], at.subtree_com[own.body_rootid[bodies]]
            velocity = at.cvel[bodies, 3:] + _cross(w, centre - reference)
            turning = _cross(omega, _cross(omega, centre) + 2.0 * velocity)
            felt = acceleration + _cross(alpha, centre) + turning
            force = force - own.body_mass[bodies, None] * felt
            axes = at.ximat[bodies].reshape(-1, 3, 3)
            inertias = axes * own.body_inertia[bodies, None] @ axes.transpose(0, 2, 1)
            moment -= np.einsum("bij,bj->bi", inertias, alpha - _cross(w, omega))
            moment -= _cross(w, inertias @ omega)
            moment -= _cross(omega, np.einsum("bij,bj->bi", inertias, omega + w))
        self._data.xfrc_applied[bodies] = np.hstack((force, moment))

    def _publish(self, torque: Any, t: float) -> None:
        """Update all outputs for the present state; t: time since the command, s."""
        data, rotors = self._data, self._motors
        x, v, applied = data.qpos[self._places], data.qvel, data.qfrc_applied
        self.q[:], self.qd[:] = self._read @ x, self._read @ v
        self.theta[:], self.thetad[:] = x[rotors], v[rotors]
        self.motor_torque[:] = torque(t, self.theta, self.thetad)
        first = self._first
        friction = self._coulomb * np.tanh(self.thetad / self._coulomb_velocity)
        applied[:] = 0.0
        applied[rotors] = self.motor_torque - friction
        stiffness, damping = self._tendons
        self.joint_torque[:] = stiffness * (self.theta[first] - self.q)
        self.joint_torque += damping * (self.thetad[first] - self.qd)
        for i, Q, motors, loads in self._other_springs(x, v, 0.0):
            applied += Q * self._read[i]
            applied[motors] -= loads
            self.joint_torque[i] = Q
        self._apply_wrenches(data.qpos, v)
        self._mujoco.mj_forward(self._compiled, data)
        self.qdd[:] = self._read @ data.qacc
        push = self.motor_torque - friction - self._viscous * self.thetad
        push -= self.actuators.motor_inertia * data.qacc[rotors]
        np.copyto(self.joint_torque, push[first], where=self._is_rigid)

    def _choose_step(self, wanted: float | None) -> float:
        if wanted is not None:
            if not 0.0 < wanted < inf:
                raise InputError(f"step is {wanted} s: must be positive and finite")
            return float(wanted)
        own, size = self._compiled, self._compiled.nv
        K, D = np.diag(own.jnt_stiffness[own.dof_jntid]), np.diag(own.dof_damping)
        for i, actuator, motors, _ in self.actuators.each():
            ends = np.vstack((self._read[i], np.eye(size)[self._motors[list(motors)]]))
            for row, spring in zip(actuator.directions @ ends, actuator.springs, strict=True):
                K += actuator.factor_range[1] * _greatest(spring) * np.outer(row, row)
            if actuator.damping > 0.0:
                D += actuator.damping * np.outer(*2 * (actuator.directions[0] @ ends,))
        K[self._motors, self._motors] += self._gains[0]
        D[self._motors, self._motors] += self._gains[1] + self._coulomb / self._coulomb_velocity
        limits, rng = self.model.limits, np.random.default_rng(0)
        lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
        fastest = 0.0
        motions = np.delete(np.eye(size), self._tree, axis=1)  # of rotors, and those of q
        motions = np.hstack((motions, np.zeros((size, self.n))))
        poses = rng.uniform(lower, np.maximum(lower, upper), size=(32, self.n))
        for q in (self.model.home, *poses[self.model.reaches(poses)]):
            x, motions[self._tree, -self.n :] = self._positions(q)
            if self._turned_balls(x).any():
                continue
            K_q, D_q, M = (
                motions.T @ matrix @ motions for matrix in (K, D, self._full_mass_matrix(q))
            )
            spring, damper = (eigvalsh(matrix, M)[-1] for matrix in (K_q, D_q))
            fastest = max(fastest, np.sqrt(max(spring, 0.0)), damper)
        if fastest * COARSEST_STEP > 1e3 * ACCURATE:
            raise InputError(
                f"a mode of {fastest:.3g} rad/s is too fast to integrate; model a spring this "
                f"stiff as rigid"
            )
        return COARSEST_STEP / max(1, ceil(fastest * COARSEST_STEP / ACCURATE))


def _compile(
    mujoco: Any,
    model: MultibodyModel,
    joints: TreeJoints,
    actuators: Actuators,
    viscous: Array,
    with_stops: bool,
    floor: Floor | None,
) -> Any:
    """MuJoCo's model of bodies, rotors and linear springs; the inertias are placeholders."""
    try:
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        if floor is None:
            spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        else:
            spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
        if not with_stops:
            spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
        _add_bodies(mujoco, spec, model, joints, _add_base(spec, model, floor))
        if floor is not None:
            _add_floor(mujoco, spec, model, floor)
        _add_couplings(mujoco, spec, model, joints)
        lengths = _add_loops(mujoco, spec, model)
        for i, actuator, motors, _ in actuators.each():
            if joints.joint_of(i) is None and (
                actuator.is_rigid or model.reflected_inertia[i] or viscous[i]
            ):
                name = _input(model.joint_names[i])
                _add_rotor(mujoco, spec, name)
                tendon = _add_tendon(spec, joints, f"tie of {name}", -joints.inverse[i], name)
                _add_tie(mujoco, spec, tendon)
            if actuator.is_rigid:
                continue
            names = [_rotor(actuators.motor_names[motor]) for motor in motors]
            for name in names:
                _add_rotor(mujoco, spec, name)
            if _tendon(actuator) is not None:
                _add_tendon(spec, joints, model.joint_names[i], -joints.inverse[i], names[0])
        compiled = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        if isinstance(error, DynamicsError):
            raise
        raise ModelError(f"MuJoCo rejects the robot '{model.name}': {error}") from None

    for name, length in lengths.items():  # of the tendon, relative to that at the zero position
        own = compiled.tendon(name).id
        compiled.equality(name).data[0] = length - compiled.tendon_length0[own]
    compiled.dof_frictionloss[:] = 0.0
    for i, actuator, motors, _ in actuators.each():
        link = _dof_of(joints, model, i)
        if model.reflected_inertia[i] or viscous[i]:
            dof = compiled.joint(link).dofadr[0]
            compiled.dof_armature[dof] = model.reflected_inertia[i]
            compiled.dof_damping[dof] = viscous[i]
        for motor in motors:
            data, name = actuators.motors[motor], _rotor(actuators.motor_names[motor])
            dof = compiled.joint(link if actuator.is_rigid else name).dofadr[0]
            compiled.dof_armature[dof] += data.inertia
            compiled.dof_damping[dof] += data.viscous
        tendon = _tendon(actuator)
        if tendon is not None:
            k = compiled.tendon(model.joint_names[i]).id
            compiled.tendon_stiffness[k], compiled.tendon_damping[k] = tendon
    springs = model.passive_springs if isinstance(model, ClosedChainModel) else {}
    for name, spring in springs.items():
        own = compiled.joint(name)
        own.stiffness, own.qpos_spring, own.damping = spring
    mujoco.mj_setConst(compiled, mujoco.MjData(compiled))
    return compiled


def _add_base(spec: Any, model: MultibodyModel, floor: Floor | None) -> Any:
    """What carries the first joints: a free body, or the world."""
    if floor is None or not floor.is_base_free:
        return spec.worldbody
    if np.linalg.eigvalsh(model.base_inertia)[0] <= 0.0:
        raise ModelError(
            f"the base of robot '{model.name}', link '{model.base_name}', cannot float: it has no"
            " inertia"
        )
    base = spec.worldbody.add_body(name=model.base_name)
    _give_inertia(base)
    base.add_freejoint()
    return base


def _give_inertia(body: Any) -> None:
    """Neither at the origin nor along the axes: MuJoCo takes shortcuts for such bodies."""
    body.mass, body.ipos, body.inertia = 1.0, [0.1, 0.2, 0.3], [1.0, 1.1, 1.2]
    body.iquat, body.explicitinertial = [0.5, 0.5, 0.5, -0.5], True


def _add_floor(mujoco: Any, spec: Any, model: MultibodyModel, floor: Floor) -> None:
    """Level ground, and spheres that touch it, as the first shapes."""
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    shapes = [
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0], pos=[0.0, 0.0, -FOOT_RADIUS]
        )
    ]
    for name in floor.contacts:
        body, pose = model.frame(name)
        holder = model.base_name if body < 0 else model.body_names[body]
        if body < 0 and not floor.is_base_free:
            raise InputError(f"contact '{name}' belongs to the base, which does not move")
        own: dict[str, Any] = {"name": _foot(name), "pos": pose[:3, 3]}
        spec.body(holder).add_site(**own)
        shapes.append(spec.body(holder).add_geom(size=[FOOT_RADIUS, 0.0, 0.0], mass=0.0, **own))
    for shape in shapes:
        shape.friction, shape.solimp = [floor.friction, 0.0, 0.0], ON_GROUND
    for foot in shapes[1:]:
        foot.contype = 0  # feet touch only the ground


def _add_bodies(
    mujoco: Any, spec: Any, model: MultibodyModel, joints: TreeJoints, base: Any
) -> None:
    """The bodies on their joints."""
    placed: list[Any] = []
    for j, (joint, i) in enumerate(zip(joints.names, joints.bodies, strict=True)):
        k = int(joints.parents[j])
        A = joints.poses[j] if k < 0 else se3.inverse(joints.poses[k]) @ joints.poses[j]
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(A[:3, :3]).ravel())
        body = (base if k < 0 else placed[k]).add_body(
            name=model.body_names[i], pos=A[:3, 3], quat=quaternion
        )
        _give_inertia(body)
        placed.append(body)
        e, v = np.split(joints.screws[j], 2)
        is_turning = bool(np.any(e))
        if is_turning and abs(e @ v) > 1e-9:
            raise ModelError(f"joint '{joint}' is helical; MuJoCo has no such joint")
        added = body.add_joint(
            name=joint,
            type=mujoco.mjtJoint.mjJNT_HINGE if is_turning else mujoco.mjtJoint.mjJNT_SLIDE,
            axis=e if is_turning else v,
            pos=np.cross(e, v) if is_turning else np.zeros(3),
        )
        added.solref_limit = [STOP_TIME, 1.0]


def _add_couplings(mujoco: Any, spec: Any, model: MultibodyModel, joints: TreeJoints) -> None:
    """Equality constraints of the dependent joints, and the limits of the coordinates."""
    for j, factors in joints.ties().items():
        tendon = _add_tendon(spec, joints, f"tie of {joints.names[j]}", factors)
        _add_tie(mujoco, spec, tendon)
    lower, upper = model.limits.lower, model.limits.upper
    for c in np.flatnonzero((lower < upper) & (np.isfinite(lower) | np.isfinite(upper))):
        j = joints.joint_of(c)
        if j is None:
            name = f"limit of {model.joint_names[c]}"
            limited = _add_tendon(spec, joints, name, joints.inverse[c])
            limited.solref_limit = [STOP_TIME, 1.0]
        else:
            limited = spec.joint(joints.names[j])
        limited.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        limited.range = np.clip([lower[c], upper[c]], -FAR, FAR)


def _add_loops(mujoco: Any, spec: Any, model: MultibodyModel) -> dict[str, float]:
    """The equations of the cut joints: common points, and tendons {name: length} between points at
    ARM from there in two directions, whose angle is constant."""
    lengths: dict[str, float] = {}
    for loop in model.loops if isinstance(model, ClosedChainModel) else ():
        points, turns = ([row for row in closure_rows(loop) if row.is_point == k] for k in (1, 0))
        if len(points) < 3 or any(row.pitch for row in points):
            raise ModelError(
                f"loop '{loop.name}': its cut joint slides, which MuJoCo cannot model; cut the loop"
                " at a joint that only turns, or use the internal plant, ElasticRobot"
            )
        ends = []
        for body, pose in ((loop.first, loop.first_pose), (loop.second, loop.second_pose)):
            index, offset = model.frame(body)
            parent = spec.worldbody if index < 0 else spec.body(model.body_names[index])
            ends.append((parent, offset @ pose))

        def sites(name: str, *places: Array, ends: Any = ends) -> list[str]:
            names = [f"{name}, {side}" for side in ("first", "second")]
            for own, place, (parent, pose) in zip(names, places, ends, strict=True):
                parent.add_site(name=own, pos=pose[:3, :3] @ place + pose[:3, 3])
            return names

        centre = points[0].c
        equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, name=f"loop '{loop.name}'")
        equality.name1, equality.name2 = sites(equality.name, centre, centre)
        equality.objtype = mujoco.mjtObj.mjOBJ_SITE
        equality.solref, equality.solimp = [LOOP_TIME, 1.0], STIFF
        for row in turns:
            tendon = spec.add_tendon(name=row.name)
            for site in sites(row.name, centre + ARM * row.u, centre + ARM * row.x):
                tendon.wrap_site(site)
            lengths[row.name] = ARM * np.sqrt(2.0 * (1.0 - row.value))
            tie = _add_tie(mujoco, spec, tendon)
            tie.name, tie.solref, tie.solimp = row.name, [LOOP_TIME, 1.0], STIFF
    return lengths


def _add_tendon(
    spec: Any, joints: TreeJoints, name: str, factors: Array, rotor: str | None = None
) -> Any:
    """A fixed tendon whose length is the sum of factor x over the joints, plus the angle of a
    rotor."""
    tendon = spec.add_tendon(name=name, springlength=[0.0, 0.0])
    if rotor is not None:
        tendon.wrap_joint(rotor, 1.0)
    for j in np.flatnonzero(factors):
        tendon.wrap_joint(joints.names[j], float(factors[j]))
    return tendon


def _add_tie(mujoco: Any, spec: Any, tendon: Any) -> Any:
    """The constraint that keeps the length of a tendon as in the zero position."""
    tie = spec.add_equality(type=mujoco.mjtEq.mjEQ_TENDON, name1=tendon.name)
    tie.objtype, tie.solref = mujoco.mjtObj.mjOBJ_TENDON, [STOP_TIME, 1.0]
    tie.data[:5] = 0.0
    return tie


def _add_rotor(mujoco: Any, spec: Any, name: str) -> None:
    """A hinge in the world, whose inertia is its armature."""
    body = spec.worldbody.add_body(name=name, mass=1e-9, inertia=[1e-12] * 3)
    body.explicitinertial = True
    body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE)


def _dof_of(joints: TreeJoints, model: MultibodyModel, c: int) -> str:
    """The name in MuJoCo of the joint, or else of the tied hinge, that is the coordinate c."""
    j = joints.joint_of(c)
    return _input(model.joint_names[c]) if j is None else joints.names[j]


def _check_joints(urdf: str | bytes, model: MultibodyModel) -> None:
    """ModelError if the URDF lacks a joint of the model, and thus describes another robot."""
    text = urdf.decode(errors="replace") if isinstance(urdf, bytes) else urdf
    known = set(re.findall(r"""<joint\s[^>]*\bname\s*=\s*["']([^"']*)""", text))
    missing = [
        name
        for name in tree_joints(model).names
        if name not in known and name.rpartition("_")[0] not in known
    ]
    if missing:
        raise ModelError(f"the URDF for MuJoCo has no joint {', '.join(sorted(missing))}")


def _rotor(motor: str) -> str:
    return f"rotor of {motor}"


def _foot(link: str) -> str:
    return f"foot of {link}"


def _input(joint: str) -> str:
    return f"input of {joint}"


def _cross(a: Array, b: Array) -> Array:
    """a x b of the rows (n, 3); several times as fast as `numpy.cross` for few rows."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)).T


def _tendon(actuator: Actuator) -> tuple[float, float] | None:
    """Stiffness and damping of a spring that becomes a tendon in MuJoCo, else None."""
    spring = actuator.series_spring
    K = None if spring is None else spring.constant_stiffness
    return None if K is None else (K, actuator.damping)


def _greatest(spring: Spring) -> float:
    """The largest stiffness of a spring over its travel."""
    ends = np.where(np.isfinite(spring.travel), spring.travel, 0.0)
    return float(np.max(spring.stiffness(np.linspace(*ends, 65))))
