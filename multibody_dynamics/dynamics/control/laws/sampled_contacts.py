"""How much passivity a law loses by sampling: the energy that it creates in random contacts.

The law holds a simulated arm at a reference, with its torque held for each cycle. Every contact
pushes one link with a random wrench, which rises and falls smoothly within PUSH s, and is followed
by an equal time without contact. With the stored energy V (`stored_energy`), the energy created is
the greatest rise

    (V - work)(t) - (V - work)(s),    s <= t,

where the work is that of the contact. It is zero for a law that is passive in the sampled loop,
too, up to the error of the integration.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ...core import Array, as_array
from ...rigid import jacobian
from ..controllers.controllers import Controller
from ..impedance.elastic_structure import ElasticStructureController
from .stored_energy import ArmStates, at_rest, stored_energy

PUSH = 0.05  # s
SUBSTEPS = 4  # of a cycle, at which the work is evaluated


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
    """(k,) J of every contact: the greatest work that it supplied up to any time, and the energy
    that was created."""

    supplied: Array
    created: Array

    @property
    def share(self) -> float:
        """Greatest energy created over the mean work that a contact supplied."""
        return float(self.created.max() / self.supplied.mean())


def sampled_contacts(
    law: Controller,
    arm: SimulatedArm,
    reference: Any,
    count: int,
    *,
    force: float = 20.0,
    seed: int = 0,
) -> SampledContacts:
    """Push a simulated arm `count` times while the law holds it at `reference` (n,).

    The state is known exactly, the torque acts without delay, and each contact begins at rest. The
    law computes its torque once in every `law.period` s. ESP without an observer of contacts is
    given their true torques and rates.

    force : standard deviation of every component of the wrench, in N and (the same number) in N m.
        The wrench acts on a random link, about the inertial origin.

    Raises InputError for a law and actuators for which no storage is claimed.
    """
    rng, n = np.random.default_rng(seed), law.actuators.n
    q = as_array("reference", reference, (n,), law.actuators.joint_names)
    theta, _ = at_rest(law, q)
    desired = np.zeros((5, n))
    desired[0] = q
    supplied, created = np.zeros((2, count))
    for k in range(count):
        body, wrench = int(rng.integers(n)), rng.normal(0.0, force, 6)
        arm.reset(q, np.zeros(n), theta=theta, thetad=np.zeros_like(theta))
        arm.applied_wrenches[:] = 0.0
        law.reset()
        states, contacts = _pushed(law, arm, desired, body, wrench)
        power = (contacts * states.qd).sum(axis=-1)
        h = law.period / SUBSTEPS
        work = np.concatenate(([0.0], np.cumsum(0.5 * h * (power[1:] + power[:-1]))))
        energy = stored_energy(law, states, q, external=contacts)
        supplied[k] = work.max()
        surplus = energy - work
        created[k] = (surplus - np.minimum.accumulate(surplus)).max()
    return SampledContacts(supplied, created)


def _pushed(
    law: Controller, arm: SimulatedArm, desired: Array, body: int, wrench: Array
) -> tuple[ArmStates, Array]:
    """The states of one contact, and its external joint torques (k, n), every substep."""
    cycles = round(2.0 * PUSH / law.period)
    rows: list[tuple[Array, ...]] = []
    contacts: list[Array] = []

    def record(t: float) -> None:
        J = jacobian(law.model, arm.q, body, representation="spatial")
        contacts.append(J.T @ (_pulse(t) * wrench))
        rows.append(tuple(row.copy() for row in (arm.q, arm.qd, arm.theta, arm.thetad)))

    h = law.period / SUBSTEPS
    record(0.0)
    for i in range(cycles):
        if isinstance(law, ElasticStructureController) and law.observer is None:
            law.contact[0] = contacts[-1]
            J = jacobian(law.model, arm.q, body, representation="spatial")
            law.contact[1] = J.T @ (_pulse_rate(i * law.period) * wrench)
        torque = law.update(desired, arm.q, arm.qd, arm.theta, arm.thetad).copy()
        for j in range(SUBSTEPS):
            t = i * law.period + j * h
            arm.applied_wrenches[body] = _pulse(t + 0.5 * h) * wrench
            arm.step(torque, h)
            record(t + h)
    return ArmStates(*(np.array(column) for column in zip(*rows, strict=True))), np.array(contacts)


def _pulse(t: float) -> float:
    """The share of the wrench at t in s: it rises and falls with continuous derivatives."""
    return float(np.sin(np.pi * t / PUSH) ** 4) if 0.0 < t < PUSH else 0.0


def _pulse_rate(t: float) -> float:
    """The rate of :func:`_pulse` in 1/s."""
    turn = np.pi * t / PUSH
    inside = 0.0 < t < PUSH
    return float(4.0 * np.pi / PUSH * np.sin(turn) ** 3 * np.cos(turn)) if inside else 0.0
