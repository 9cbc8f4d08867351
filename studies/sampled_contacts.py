# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Whether a law is passive when it is sampled: the energy that it creates in random contacts.

The law holds a simulated arm at a reference, with its torque held for each cycle, while random
links are touched at random points, by pulses of a wrench and by compliant walls. With the stored
energy V (`stored_energy`) and the work of the contacts, the surplus V - work never rises if the law
is passive. The energy created in a contact is

    max over t in its window and s <= t of   (V - work)(t) - (V - work)(s),

where s may lie in an earlier contact: contacts follow each other in bouts, without a rest between
them, so they begin in the state that the earlier ones left.

Work. Wrenches are held for 1 / SUBSTEPS of a cycle, in which the joints move by dq, so their work
is W . (J(q) + J(q + dq)) / 2 dq, up to terms of the order of dq^3. The error of this and of the
integration is not assumed, but measured: the energy of arm and springs can rise by no more than the
work of contacts and motors, whatever the law, and `error` is the amount by which it does.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from multibody_dynamics.dynamics.control import (
    Controller,
    DerivativeFilter,
    ElasticStructureController,
    HoldController,
    ImpedanceController,
    TorqueController,
)
from multibody_dynamics.dynamics.core import Array, read_only
from multibody_dynamics.dynamics.lie.screws import cross
from multibody_dynamics.dynamics.model import inertia
from multibody_dynamics.dynamics.model.records import POSE, POSITION, SCREW, TWIST
from multibody_dynamics.dynamics.rigid import InverseDynamicsSolver, gravity_forces
from studies.stored_energy import ArmStates, arm_energy, at_rest, stored_energy

WINDOW = 0.02  # s, for each contact
BOUT = 20  # contacts without a rest between them
SUBSTEPS = 2  # of a cycle, for which the force of a contact is held
SHORTEST = 0.2  # share of WINDOW, for the shortest contact
OFFSET = 0.1  # m, of the touched point from the centre of mass of its link
STIFFNESS = 3.0, 5.0  # logarithms to base 10 of the stiffnesses of walls in N/m
NO_WRENCH = read_only(np.zeros(6))


class SimulatedArm(Protocol):
    """The part of a plant (`dyn.plant.Plant`) that is needed here."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array
    applied_wrenches: Array

    def reset(self, q: Any, qd: Any = None, *, theta: Any = None, thetad: Any = None) -> None: ...

    def step(self, motor_torque: Any, dt: float) -> None: ...


class SampledContacts(NamedTuple):
    """Energies (k,) in J, one for each contact.

    supplied : the greatest work that the contact supplied up to any time in its window.
    created : the energy that the law created.
    error : of the measurement, see the module.
    """

    supplied: Array
    created: Array
    error: Array

    @property
    def share(self) -> float:
        """Greatest energy created over the mean work that a contact supplied."""
        return float(self.created.max() / self.supplied.mean())

    def rises(self, tolerance: float = 1e-6) -> int:
        """Number of contacts that created more than twice the largest error, or than `tolerance`
        times the mean work, whichever is greater."""
        allowed = max(2.0 * float(self.error.max()), tolerance * float(self.supplied.mean()))
        return int((self.created > allowed).sum())


def sampled_contacts(
    law: Controller,
    arm: SimulatedArm,
    reference: Any,
    count: int,
    *,
    force: float = 20.0,
    walls: float = 0.5,
    restiffens: bool = False,
    delay: int = 0,
    velocity_filter: tuple[int, float] | None = None,
    seed: int | Sequence[int] = 0,
) -> SampledContacts:
    """Touch a simulated arm `count` times while the law holds it at its reference.

    The law computes its torque once in every `law.period` s. ESP without an observer of contacts is
    given their true torques and rates; a :class:`.TorqueController` is commanded the constant
    torques that hold its reference.

    Parameters
    ----------
    reference : (n,), or (p, n), of which each bout takes the next row.
    force : N, standard deviation of each component of the force of a pulse (its moment about the
        touched point has 0.1 m times this), and of the initial force of a wall.
    walls : share of the contacts that are walls; the others are pulses.
    restiffens : give an impedance a new random stiffness in every contact, at most the present one.
    delay : cycles after which a torque acts.
    velocity_filter : order and bandwidth in Hz of the filter from which the law gets velocities
        (:class:`.DerivativeFilter`); None if it gets the true ones.
    """
    references = np.reshape(reference, (-1, law.actuators.n))
    given = law.ramp.target.copy() if isinstance(law, ImpedanceController) else None
    rng, found = np.random.default_rng(seed), []
    for first in range(0, count, BOUT):
        bout = _Bout(law, arm, references[first // BOUT % len(references)], delay, velocity_filter)
        size = min(BOUT, count - first)
        for _ in range(size):
            if restiffens and given is not None and isinstance(law, ImpedanceController):
                law.target = given * rng.uniform(0.1, 1.0, len(given))
            bout.touch(_Contact(law, bout.links, rng, force, walls))
        found.append(bout.result())
        if given is not None and isinstance(law, ImpedanceController):
            law.target = given
    return SampledContacts(*(np.concatenate(column) for column in zip(*found, strict=True)))


class _Links:
    """Joint screws and poses of the links at the present state of an arm."""

    def __init__(self, law: Controller) -> None:
        model = law.model
        self._solver = InverseDynamicsSolver(model, "spatial")
        self.upwards = np.zeros((model.n, model.n), dtype=bool)  # [i, j]: joint j moves body i
        for i, parent in enumerate(model.parents):
            if parent >= 0:
                self.upwards[i] = self.upwards[parent]
            self.upwards[i, i] = True
        self.centres = [inertia.decompose(each)[1] for each in model.inertias]
        self._in_joint = model.body_in_joint

    def update(self, q: Array, qd: Array) -> None:
        state = self._solver.state
        state[0], state[1], state[2:] = q, qd, 0.0
        self._solver.update()

    def point(self, body: int, local: Array) -> tuple[Array, Array]:
        """Position and velocity (3,) of a point given in the frame of the joint."""
        row = self._solver.bodies[body + 1]
        p = row[POSE : POSE + 9].reshape(3, 3) @ local + row[POSITION : POSITION + 3]
        return p, row[TWIST + 3 : TWIST + 6] + np.array(cross(row[TWIST : TWIST + 3], p))

    def torque(self, body: int, wrench: Array, order: int = 0) -> Array:
        """(n,) S^(order) . wrench of the joints that move the body."""
        column = SCREW + 6 * order
        screws = self._solver.bodies[1:, column : column + 6]
        return np.asarray(np.where(self.upwards[body], screws @ wrench, 0.0))

    def local(self, body: int, offset: Array) -> Array:
        """A point at an offset (3,) from the centre of mass, in the frame of the joint."""
        pose = self._in_joint[body]
        return np.asarray(pose[:3, :3] @ (self.centres[body] + offset) + pose[:3, 3])


class _Contact:
    """A pulse of a wrench, or a wall, at a random point and in a random part of the window."""

    def __init__(
        self, law: Controller, links: _Links, rng: np.random.Generator, force: float, walls: float
    ) -> None:
        self.body = int(rng.integers(law.actuators.n))
        self.local = links.local(self.body, OFFSET * _direction(rng))
        length = rng.uniform(SHORTEST, 1.0) * WINDOW
        self.begin = rng.uniform(0.0, WINDOW - length)
        self.length = length
        self.is_wall = bool(rng.random() < walls)
        self.force, self.moment = rng.normal(0.0, force, 3), rng.normal(0.0, 0.1 * force, 3)
        self.normal = _direction(rng)
        self.stiffness = 10.0 ** rng.uniform(*STIFFNESS)
        self.depth = abs(self.force[0]) / self.stiffness
        self._place: Array | None = None

    def wrench(self, t: float, point: Array, velocity: Array) -> tuple[Array, Array]:
        """The wrench (6,) about the inertial origin at t in s of the window, and its rate."""
        if not self.begin < t < self.begin + self.length:
            return NO_WRENCH, NO_WRENCH
        if self.is_wall:
            if self._place is None:
                self._place = point + self.depth * self.normal
            depth = float(self.normal @ (self._place - point))
            if depth <= 0.0:
                return NO_WRENCH, NO_WRENCH
            f = self.stiffness * depth * self.normal
            f_rate = -self.stiffness * float(self.normal @ velocity) * self.normal
            moment = moment_rate = NO_WRENCH[:3]
        else:
            turn = np.pi * (t - self.begin) / self.length
            share = np.sin(turn) ** 4
            rate = 4.0 * np.pi / self.length * np.sin(turn) ** 3 * np.cos(turn)
            f, moment = share * self.force, share * self.moment
            f_rate, moment_rate = rate * self.force, rate * self.moment
        wrench = np.concatenate((moment + cross(point, f), f))
        turning = np.add(cross(point, f_rate), cross(velocity, f)) + moment_rate
        return wrench, np.concatenate((turning, f_rate))


def _direction(rng: np.random.Generator) -> Array:
    vector = rng.standard_normal(3)
    return np.asarray(vector / np.linalg.norm(vector))


class _Bout:
    """Contacts in succession at one reference, and their effect on the stored energy."""

    def __init__(
        self,
        law: Controller,
        arm: SimulatedArm,
        reference: Array,
        delay: int,
        velocity_filter: tuple[int, float] | None,
    ) -> None:
        self.law, self.arm, self.reference = law, arm, reference
        self.links = _Links(law)
        theta, torque = at_rest(law, reference)
        arm.reset(reference, np.zeros_like(reference), theta=theta, thetad=np.zeros_like(theta))
        arm.applied_wrenches[:] = 0.0
        law.reset()
        self._desired = np.zeros((5, len(reference)))
        self._desired[0] = reference
        self._held = gravity_forces(law.model, reference)
        if isinstance(law, HoldController):
            law.hold_at(reference)
        self._sent = [torque] * delay
        self._filters = None
        if velocity_filter is not None:
            names = law.actuators.joint_names, law.actuators.motor_names
            self._filters = [DerivativeFilter(name, *velocity_filter) for name in names]
        self._time = 0.0
        self._rows: list[tuple[Array, ...]] = []
        self._external: list[Array] = []
        self._stiffness: list[Array] = []
        self._tank: list[float] = []
        self._work, self._motor_work = [0.0], [0.0]
        self._contacts = 0

    def touch(self, contact: _Contact) -> None:
        """One window with a contact."""
        law, arm, h = self.law, self.arm, self.law.period / SUBSTEPS
        self._contacts += 1
        self.links.update(arm.q, arm.qd)
        for i in range(round(WINDOW / law.period)):
            load, rate = self._load(contact, i * law.period)
            torque = self._torque(contact, load, rate)
            self._record(self.links.torque(contact.body, load))
            work = motor_work = 0.0
            for j in range(SUBSTEPS):
                if j:
                    load, _ = self._load(contact, i * law.period + j * h)
                before = self.links.torque(contact.body, load)
                q, theta = arm.q.copy(), arm.theta.copy()
                arm.applied_wrenches[contact.body] = load
                arm.step(torque, h)
                self.links.update(arm.q, arm.qd)
                after = self.links.torque(contact.body, load)
                work += 0.5 * float((before + after) @ (arm.q - q))
                motor_work += float(torque @ (arm.theta - theta))
            arm.applied_wrenches[contact.body] = 0.0
            self._work.append(self._work[-1] + work)
            self._motor_work.append(self._motor_work[-1] + motor_work)
            self._time += law.period

    def _load(self, contact: _Contact, t: float) -> tuple[Array, Array]:
        return contact.wrench(t, *self.links.point(contact.body, contact.local))

    def _record(self, external: Array) -> None:
        law, arm = self.law, self.arm
        self._rows.append(tuple(row.copy() for row in (arm.q, arm.qd, arm.theta, arm.thetad)))
        self._external.append(external)
        if isinstance(law, ImpedanceController):
            self._stiffness.append(law.ramp.value.copy())
            self._tank.append(law.ramp.energy)

    def _torque(self, contact: _Contact, load: Array, rate: Array) -> Array:
        """The motor torque that acts in this cycle."""
        law, arm = self.law, self.arm
        if isinstance(law, ElasticStructureController) and law.observer is None:
            law.contact[0] = self.links.torque(contact.body, load)
            law.contact[1] = self.links.torque(contact.body, rate)
            law.contact[1] += self.links.torque(contact.body, load, 1)
        qd, thetad = arm.qd, arm.thetad
        if self._filters is not None:
            qd = self._filters[0].update(self._time, arm.q)[1]
            thetad = self._filters[1].update(self._time, arm.theta)[1]
        if isinstance(law, TorqueController):
            torque = law.command(self._held, arm.q, qd, arm.theta, thetad)
        else:
            torque = law.update(self._desired, arm.q, qd, arm.theta, thetad)
        limit = law.actuators.torque_limit
        self._sent.append(np.clip(torque, -limit, limit))
        return self._sent.pop(0)

    def result(self) -> tuple[Array, Array, Array]:
        """(k,) J supplied, created, and error, of the contacts of this bout."""
        self._record(np.zeros(self.law.actuators.n))
        states = ArmStates(*(np.array(column) for column in zip(*self._rows, strict=True)))
        work, motor_work = np.array(self._work), np.array(self._motor_work)
        energy = stored_energy(
            self.law,
            states,
            self.reference,
            external=np.array(self._external),
            stiffness=np.array(self._stiffness) if self._stiffness else None,
        )
        if self._tank:
            energy = energy + np.array(self._tank)
        physical = arm_energy(self.law.model, self.law.actuators, states, self.law.stiffness)
        created = _rise(energy - work)
        error = _rise(physical - work - motor_work)
        shape = self._contacts, -1
        windows = work[1:].reshape(shape) - work[:-1].reshape(shape)[:, :1]
        return (
            np.maximum(windows.max(axis=1), 0.0),
            created[1:].reshape(shape).max(axis=1),
            error[1:].reshape(shape).max(axis=1),
        )


def _rise(surplus: Array) -> Array:
    """The rise at every time above the lowest earlier value."""
    return np.asarray(surplus - np.minimum.accumulate(surplus))
