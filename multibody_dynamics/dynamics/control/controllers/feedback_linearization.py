# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Exact feedback linearisation: every joint becomes a chain of integrators with its own poles.

    q'''' = v = q_d'''' + k_3 e''' + k_2 e'' + k_1 e' + k_0 e,    e = q_d - q,
    tau = flat map of (q, q', q'', q''', v).

q'' and q''' come from the spring torques and their rates by forward dynamics, then Q .. Q'' by
inverse dynamics: twice O(n) per cycle. By the theory of M. Spong and A. De Luca this is as exact as
the model. The order of the chain depends on the joint:

    elastic   4    for any spring law
    damped    3    q''' = v: the torque acts on q''' through the damper; the deflection is not
                   controlled, and decays with the time constant d / s'
    rigid     2    q'' = v

In a mixed arm, v of the shorter chains and the derivatives of v follow from the measured state and
the desired motion. The longer chains account for them, because q'' and q''' come from the hybrid
dynamics, and all chains stay decoupled. Second outputs set by a motor (a stiffness drive, an
antagonistic pair) are linearised, too: sigma'' = w = sigma_d'' + c_1 (..)' + c_0 (sigma_d - sigma),
where sigma and sigma' come from the present state of the springs (G. Palli, C. Melchiorri, A. De
Luca, ICRA 2008; G. Buondonno, A. De Luca, RA-L 2016).
"""

from functools import partial
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Array, InputError, read_only
from ...elastic import Actuators, SpringSolver, greatest_stiffness
from ...model import MultibodyModel
from ...model.records import WRENCH
from ...rigid import ModelSolver, forward_dynamics_cycle, forward_dynamics_scratch, singular
from ..gains.joint_gains import JointPoles, check_fit
from .controllers import PERIOD, Controller

FASTEST_RELAXATION = 500.0  # 1/s, s' / d of a damped spring that a cycle of 1 ms can follow


class HybridChain(ModelSolver):
    """Hybrid dynamics in place: q'' and, with order 1, q''' of the free joints from Q and Q' and
    the given q'', q''' of the prescribed joints.

    motion (5, n), torque (3, n): the caller's buffers; `update` overwrites the unknown entries, and
    returns 0 where the mass matrix is singular.
    """

    def __init__(
        self,
        model: MultibodyModel,
        prescribed: NDArray[np.bool_],
        order: int,
        motion: Array,
        torque: Array,
    ) -> None:
        bases = np.zeros((1, WRENCH))
        super().__init__(model, bases)
        self.prescribed = read_only(prescribed, np.bool_)
        self.update = partial(
            forward_dynamics_cycle, *self._constants, self.prescribed, order, bases, motion[None],
            torque[None], self.applied_wrenches.reshape(1, model.body_count, 18),
            *forward_dynamics_scratch(model.n, model.body_count),
        )  # fmt: skip
        self.update()


class FeedbackLinearization(Controller):
    """Law (3) of `controllers`: the error of each joint decays with its own `poles`.

    An unknown torque d on the links is mistaken for acceleration: neglecting gravity and higher
    orders of d, four poles at -w leave the static error q_d - q = -(6 / w^2 - M^-1 K / w^4) M^-1 d,
    which is large for light links. Its two parts, from q'' and from the deflection of the springs,
    cancel at w^2 = M^-1 K / 6. Below that, the links move against d, because the law also works
    against the springs, and an unknown payload may destabilise it.

    Parameters
    ----------
    poles : may be set between updates.
    lead : s; with an `ahead` of the same time, the measured chain is predicted to that time with
        the v of the last update.

    `motion` (5, n): q, q', q'', q''' now (or `lead` ahead), and the commanded q''''; it is the
    buffer of the inverse dynamics, overwritten by every update. Raises DynamicsError where the mass
    matrix is singular, and InputError for a spring so lightly damped that s' / d exceeds
    FASTEST_RELAXATION somewhere on its travel (if unlimited: up to the motor's torque limit); model
    such a spring as undamped.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        poles: JointPoles,
        *,
        lead: float = 0.0,
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        check_fit(model, actuators, poles.joint_names, "poles")
        for name, actuator in zip(actuators.joint_names, actuators.actuators, strict=True):
            if actuator.damping > 0.0:
                limit = actuator.greatest_torques[0]
                stiffest = greatest_stiffness(actuator.springs[0], limit)
                rate = stiffest / actuator.damping
                if rate > FASTEST_RELAXATION:
                    raise InputError(
                        f"joint '{name}': its damped spring relaxes at {rate:.4g} 1/s, too fast "
                        f"for feedback linearisation (at most {FASTEST_RELAXATION:g} 1/s); use an "
                        f"actuator with damping 0 for this law, or use LinearFeedback"
                    )
        super().__init__(model, actuators, friction=friction, period=period)
        n = actuators.n
        self.poles, self.lead = poles, lead
        self._taylor, self._predicted = np.eye(4, 5), 0.0
        self.motion: Array = self._inverse.state
        self._flat = self._flat_map()
        self._reported_map = self._flat
        self._springs = SpringSolver(actuators, *self._links, *self._motors)
        self._measured, self._torque = np.zeros((5, n)), np.zeros((3, n))
        rigid, damped = actuators.is_rigid, actuators.is_damped
        chain = partial(HybridChain, model, motion=self._measured, torque=self._torque)
        # Damped joints need q'' before their q''' = v, and all other q''' need that.
        self._chains = [chain(prescribed=rigid, order=0)] if damped.any() else []
        self._chains.append(chain(prescribed=rigid | damped, order=1))
        self._moved_by_base += self._chains
        self._is_elastic, self._short = ~rigid, rigid | damped
        self._full = ~self._short
        self._has_damped = bool(damped.any())
        self._second = SecondOutputFeedback(self, self._springs)
        self._work = np.zeros((4, n))
        self._v = np.zeros(n)

    def _prediction(self, time: float) -> Array:
        """(4, 5) maps q .. q'''' to q .. q''' `time` s later."""
        if time != self._predicted:
            self._predicted = time
            for k in range(5):
                np.fill_diagonal(self._taylor[:, k:], time**k / factorial(k))
        return self._taylor

    @property
    def memory(self) -> tuple[Array, ...]:
        return self.motion[4], self._second.commanded

    def reset(self) -> None:
        super().reset()
        self.motion[4] = 0.0
        self._second.reset()

    def set_model(self, model: MultibodyModel) -> None:
        super().set_model(model)
        for chain in self._chains:
            chain.set_model(model)

    def _law(self, has_ahead: bool) -> None:
        springs, torque, measured, motion = self._springs, self._torque, self._measured, self.motion
        if self.stiffness.size:
            springs.stiffness[:] = self.stiffness[:2]
        springs.update()
        measured[:2] = self._links
        np.copyto(torque[0], springs.torque, where=self._is_elastic)
        np.copyto(torque[1], springs.torque_rate, where=self._full)
        np.add(torque[0], self.external_torque, out=torque[0])
        self._solve_chain(self._desired)
        lead = self._lead if has_ahead else 0.0
        if lead:
            measured[4] = motion[4]
            np.matmul(self._prediction(lead), measured, out=motion[:4])
            self._short_chains(motion, self._ahead, self._short)
        else:
            motion[:] = measured
        self._command(motion, self._ahead if lead else self._desired)
        if self._has_damped:
            phi = self._motors[:, self.actuators.first_motor] - self._links
            np.add(phi[0], lead * phi[1], out=self._flat.deflection)
        if self.stiffness.size:
            self._second.command(self._flat.stiffness, lead, self.poles.second)
        self._inverse_dynamics(motion)
        self.torque[:] = self._feedforward(self._flat)
        self._second.drive(self.torque)

    def _solve_chain(self, desired: Array) -> None:
        """Compute the present q'' and q'''; those of the shorter chains are set by the law."""
        measured = self._measured
        self._short_chains(measured, desired, self.actuators.is_rigid)
        for chain in self._chains:
            if not chain.update():
                raise singular(self.model, measured[0], chain.prescribed)
            if chain is not self._chains[-1]:
                self._short_chains(measured, desired, self.actuators.is_damped)

    def _short_chains(self, motion: Array, desired: Array, which: NDArray[np.bool_]) -> None:
        """q'' = v of rigid joints or q''' = v of damped ones, with its derivatives, up to q''''."""
        if not which.any():
            return
        k0, k1, k2, _ = self.poles.coefficients
        for order, joints in ((2, self.actuators.is_rigid), (3, self.actuators.is_damped)):
            joints = joints & which
            for k in range(order, 5):
                error = desired[k - order : k] - motion[k - order : k]
                v = desired[k] + k0 * error[0] + k1 * error[1]
                if order == 3:
                    v += k2 * error[2]
                np.copyto(motion[k], v, where=joints)

    def _command(self, motion: Array, desired: Array) -> None:
        """q'''' = v of the joints with full chains."""
        work, v = self._work, self._v
        np.subtract(desired[:4], motion[:4], out=work)
        np.multiply(self.poles.coefficients, work, out=work)
        np.sum(work, axis=0, out=v)
        np.add(v, desired[4], out=v)
        np.copyto(motion[4], v, where=self._full)


class SecondOutputFeedback:
    """sigma'' = w of the joints whose stiffness or pretension is set by a motor, for a law that
    evaluates the springs at the measured state."""

    def __init__(self, law: Controller, springs: SpringSolver) -> None:
        self.law, self.springs = law, springs
        self.joints = [
            each for each in law.actuators.each() if each[1].second_output and len(each[2]) == 2
        ]
        self.drives = [each for each in self.joints if each[1].drive is not None]
        self.reset()

    def reset(self) -> None:
        self.commanded = np.zeros(self.law.stiffness.shape[1])

    def command(self, rows: Array, lead: float, coefficients: Array) -> None:
        """Fill rows (3, v): the measured sigma and sigma', `lead` ahead, and w; the reference where
        no motor sets sigma. coefficients : (2, v) c_0 and c_1."""
        law = self.law
        rows[:] = law.stiffness
        rows[0] += lead * rows[1] + 0.5 * lead**2 * rows[2]
        rows[1] += lead * rows[2]
        for i, actuator, motors, j in self.joints:
            found = actuator.measured_second_output(
                *law._links[:, i], *law._motors[:, motors.start : motors.stop]
            )
            assert found is not None  # two motors set it
            value, rate = found
            value += lead * rate + 0.5 * lead**2 * self.commanded[j]
            rate += lead * self.commanded[j]
            k0, k1 = coefficients[:, j]
            rows[2, j] += k1 * (rows[1, j] - rate) + k0 * (rows[0, j] - value)
            rows[0, j], rows[1, j], self.commanded[j] = value, rate, rows[2, j]

    def drive(self, torque: Array) -> None:
        """Set the torques of stiffness drives, which follow w even outside the range of the
        stiffness."""
        if not self.drives:
            return
        law = self.law
        friction = law.friction * law.actuators.friction(law._motors[1], self.springs.load)
        for _, actuator, motors, j in self.drives:
            k = motors[1]
            assert actuator.drive is not None
            inertial = actuator.drive.motor.inertia * self.commanded[j] / actuator.drive.gain
            torque[k] = inertial + self.springs.load[k] + friction[k]
