# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Values with standard errors, and the robot that has them, from a fit of parameters.

A value f(theta) has the standard error of its linearisation about the estimate; those of friction
are widened where its velocities make the likelihood differ from its quadratic approximation
(`friction_profiles`). A value is determined if the prior contributes at most a twentieth of its
variance; otherwise it is reported as not determined, and keeps what was known before to the extent
that the recordings do not contradict it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from ...core import Array
from ...elastic import Actuator, Actuators, Identified, Motor, Spring
from ..bodies.joint_friction import COULOMB_VELOCITY, JointFriction
from ..bodies.regressor import base_parameters, with_inertial_parameters
from .drive_parameters import body_names
from .effect_sizes import EffectSizes
from .equation_sums import Uncertainty
from .fitted_model import FittedModel
from .friction_profiles import Widening
from .identified_robot import IdentifiedCovariance, IdentifiedRobot, IdentifiedValue

SIGNIFICANT = 3.0  # standard errors above which identified damping replaces that known before
STEP = 1e-30  # imaginary, for derivatives
MASS, COM, INERTIA = "mass", "xyz", ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
LEAST_INERTIA = 1e-9  # kg m^2, of a motor that drives a spring


class FittedValues:
    """Computes values and their standard errors from a fit."""

    def __init__(
        self, found: FittedModel, widenings: Mapping[str, Widening], friction: JointFriction
    ) -> None:
        self._found, self._equations = found, found.equations
        self._parameters = found.solver.parameters
        self._widenings, self._friction_before = widenings, friction
        self._theta, self._index = found.fit.theta, self._parameters.index
        self._gains, self._model = found.coefficients.gains, self._equations.model

    def _uncertainties(self, rows: Array) -> list[Uncertainty]:
        return self._found.solver.uncertainties(self._found.fit, rows)

    def _numbers(self, names: Sequence[str]) -> list[IdentifiedValue]:
        """Parameters by name; logarithms are converted to the numbers themselves."""
        values, rows = self._rows(names)
        errors = [
            Uncertainty(wide.factor * each.error, each.determined and wide.is_closed)
            for each, wide in zip(self._uncertainties(rows), self._wide(names), strict=True)
        ]
        kept = self._parameters.kept
        return [
            IdentifiedValue(kept[name], np.nan, False) if name in kept else each
            for name, each in zip(names, _valued(values, errors), strict=True)
        ]

    def _wide(self, names: Sequence[str]) -> list[Widening]:
        return [self._widenings.get(name, Widening(1.0, True)) for name in names]

    def _rows(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Values (m,) of parameters by name, and their derivatives (m, p)."""
        rows = np.zeros((len(names), len(self._theta)))
        values = np.zeros(len(names))
        for k, name in enumerate(names):
            i = self._index[name]
            is_log = "_velocity" in name or "log " in name
            values[k] = np.exp(self._theta[i]) if is_log else self._theta[i]
            rows[k, i] = values[k] if is_log else 1.0
        return values, rows

    def _body(self, body: str) -> dict[str, Any]:
        """Mass, centre of mass and inertia about it."""
        where = [self._index[name] for name in body_names(body)]
        ten = self._theta[where]
        rows = np.zeros((10, len(self._theta)))
        rows[:, where] = _about_com(ten + 1j * STEP * np.eye(10)).imag.T / STEP  # complex step
        values = _valued(_about_com(ten), self._uncertainties(rows))
        return {
            "mass": values[0],
            "com": dict(zip(COM, values[1:4], strict=True)),
            "inertia": dict(zip(INERTIA, values[4:], strict=True)),
        }

    def robot(self, links: bool) -> IdentifiedRobot:
        """The robot with everything that was identified."""
        model, equations = self._model, self._equations
        joints: dict[str, dict[str, IdentifiedValue]] = {}
        motors, springs, gains, delays = dict(joints), dict(joints), dict(joints), dict(joints)
        payloads = {name: self._body(f"payload {name}") for name in equations.payloads}
        for j, joint in enumerate(model.joint_names):
            channels = [each for each in equations.channels if each.joint == j]
            sides = {equations.side_of(each) for each in channels if each.kind != "spring"}
            if "link" in sides and self._is_free(f"link {joint}.viscous"):
                joints[joint] = self._friction(f"link {joint}")
            for i in equations.motors_of(j).tolist():
                self._take_motor(i, motors, gains, delays)
            if any("spring" in each.blocks for each in channels):
                springs |= self._springs(joint, j)
            if self._is_free(f"{joint}.sensor delay"):
                (delay,) = self._numbers([f"{joint}.sensor delay"])
                delays.setdefault(joint, {})["sensor"] = delay
        model = self._with_links(links, motors)
        friction = equations.known_friction or _link_friction(
            joints, model.joint_names, self._friction_before
        )
        return IdentifiedRobot(
            model,
            friction,
            self._actuators(motors, springs),
            {body: self._body(body) for body in model.body_names} if links else {},
            joints,
            motors,
            springs,
            gains,
            delays,
            payloads,
        )

    def _take_motor(
        self, i: int, motors: dict[str, Any], gains: dict[str, Any], delays: dict[str, Any]
    ) -> None:
        """Add what was identified of a motor."""
        name = self._equations.motor_names[i]
        channels = [each for each in self._equations.channels if each.motor == i]
        driving = [each for each in channels if "inertia" in each.blocks]
        if driving and self._is_free(f"{name}.inertia"):
            (rotor,) = self._numbers([f"{name}.inertia"])
            motors[name] = {"inertia": rotor}
        own = any(self._equations.side_of(each) == "motor" for each in driving)
        if own and self._is_free(f"motor {name}.viscous"):
            motors.setdefault(name, {}).update(self._friction(f"motor {name}"))
        if self._gains[i] and driving:
            (gain,) = self._numbers([f"{name}.log gain"])
            gains[name] = {"gain": gain}
        if self._is_free(f"{name}.command delay"):
            (delay,) = self._numbers([f"{name}.command delay"])
            delays[name] = {"command": delay}

    def _is_free(self, name: str) -> bool:
        """Whether a parameter was sought."""
        return self._parameters.free[self._index[name]] or name in self._parameters.kept

    def _friction(self, site: str) -> dict[str, IdentifiedValue]:
        names = ["viscous", "coulomb", "coulomb_velocity", "offset"]
        names += [name for name in ("stribeck", "stribeck_velocity", "load")
                  if self._is_free(f"{site}.{name}")]  # fmt: skip
        numbers = self._numbers([f"{site}.{name}" for name in names])
        return dict(zip(self._renamed(site, names), numbers, strict=True))

    def _renamed(self, site: str, names: Sequence[str]) -> list[str]:
        """Friction with bristles has a presliding distance in place of the Coulomb velocity."""
        has_bristles = site in self._equations.options.presliding
        return ["presliding" if has_bristles and x == "coulomb_velocity" else x for x in names]

    def _springs(self, joint: str, j: int) -> dict[str, dict[str, IdentifiedValue]]:
        """The springs of a joint, by joint or by the motors of an antagonistic one."""
        springs = self._equations.springs[j]
        assert springs is not None
        names = [*springs.names, *([f"{joint}.damping"] if springs.damped else [])]
        if self._is_free(f"{joint}.bias"):
            names.append(f"{joint}.bias")
        found: dict[str, dict[str, IdentifiedValue]] = {}
        for name, value in zip(names, self._numbers(names), strict=True):
            owner, _, own = name.rpartition(".")
            found.setdefault(owner, {})[own] = value
        if j in self._equations.effects:
            found[joint] |= EffectSizes(self._found, j).found()
        return found

    def _with_links(self, links: bool, motors: dict[str, dict[str, IdentifiedValue]]) -> Any:
        """The model with the new links, and rotors where they belong to it."""
        model = self._model
        if links:
            where = [self._index[name] for body in model.body_names for name in body_names(body)]
            model = with_inertial_parameters(model, self._theta[where])
        if self._equations.actuators is None:
            rotors = np.array(model.reflected_inertia)
            for joint, found in motors.items():
                if "inertia" in found:
                    rotors[model.joint_index(joint)] = max(found["inertia"].value, 0.0)
            model = model.with_reflected_inertia(rotors)
        return model

    def _actuators(
        self,
        motors: dict[str, dict[str, IdentifiedValue]],
        springs: dict[str, dict[str, IdentifiedValue]],
    ) -> Actuators | None:
        """The actuators with the new motors and springs."""
        given = self._equations.actuators
        if given is None:
            return None
        found: list[Actuator] = []
        for joint, actuator in zip(given.joint_names, given.actuators, strict=True):
            names = [joint + suffix for suffix in actuator.suffixes]
            new = [
                _motor(motor, motors.get(name, {}))
                for motor, name in zip(actuator.motors, names, strict=True)
            ]
            if not actuator.is_rigid:
                new = [replace(x, inertia=max(x.inertia, LEAST_INERTIA)) for x in new]
            owners = {
                suffix: springs.get(joint + suffix, {}) for suffix in ("", *actuator.suffixes)
            }
            values = {name: each.value for name, each in owners[""].items()}
            damping = owners[""].get("damping")
            if damping is None or not damping.determined:
                values.pop("damping", None)
            elif not damping.value > SIGNIFICANT * damping.error:
                del values["damping"]
            parts = Identified(new, partial(_owned_spring, owners), values)
            found.append(actuator.identified(parts))
        return Actuators(given.joint_names, tuple(found), given.torque_sources)

    def combinations(self) -> dict[str, IdentifiedValue]:
        """Base parameters of links and rotors, by their description."""
        names, values, rows = self._base()
        return dict(zip(names, _valued(values, self._uncertainties(rows)), strict=True))

    def covariance(self) -> IdentifiedCovariance:
        """The joint covariance of base parameters, motors, friction and springs."""
        names, values, rows = self._base()
        payloads = (f"payload {name}" for name in self._equations.payloads)
        bodies = {
            name for body in (*self._model.body_names, *payloads) for name in body_names(body)
        }
        drives = [
            name for name, i in self._index.items()
            if self._parameters.free[i] and name not in bodies
            and name.rpartition(".")[2] not in ("log gain", "command delay", "sensor delay")
        ]  # fmt: skip
        more, slopes = self._rows(drives)
        parts = [name.rpartition(".") for name in drives]
        public = [_public(f"{site}.{self._renamed(site, [own])[0]}") for site, _, own in parts]
        covariance = self._found.solver.covariance(self._found.fit, np.concatenate([rows, slopes]))
        factors = np.array([1.0] * len(names) + [each.factor for each in self._wide(drives)])
        covariance *= np.outer(factors, factors)
        return IdentifiedCovariance(
            (*names, *public), np.concatenate([values, more]), covariance, len(names)
        )

    def _base(self) -> tuple[list[str], Array, Array]:
        """Base parameters of links and rotors: descriptions, values (b,), derivatives (b, p)."""
        model = self._model
        firsts = [int(self._equations.motors_of(j)[0]) for j in range(model.n)]
        rotors = [f"{self._equations.motor_names[i]}.inertia" for i in firsts]
        coupled = [
            not self._equations.has_deflection[j]
            and self._is_free(name)
            and any(each.joint == j and each.kind == "rigid" for each in self._equations.channels)
            for j, name in enumerate(rotors)
        ]
        base = base_parameters(model, extra=("rotor",) if any(coupled) else ())
        wide = np.zeros((base.rank, len(self._theta)))
        values = np.zeros(base.rank)
        for i, body in enumerate(model.body_names):
            where = [self._index[name] for name in body_names(body)]
            block = base.combination[:, 10 * i : 10 * i + 10]
            wide[:, where] = block
            values += block @ self._theta[where]
        if any(coupled):
            for j, name in enumerate(rotors):
                column = base.combination[:, 10 * model.body_count + j]
                wide[:, self._index[name]] += column
                values += column * self._theta[self._index[name]]
        return base.describe().splitlines(), values, wide

    def indistinguishable(self) -> list[str]:
        """Which parameters the recordings cannot distinguish, in words."""
        notes = []
        for j, joint in enumerate(self._model.joint_names):
            motors = [self._equations.motor_names[i] for i in self._equations.motors_of(j)]
            for name in [f"{joint}.sensor", *(f"{motor}.command" for motor in motors)]:
                notes += self._delay_at_bound(name)
            channels = [each for each in self._equations.channels if each.joint == j]
            if not channels:
                notes.append(f"{joint}: no torque was measured")
                continue
            if any(each.kind == "rigid" and "inertia" in each.blocks for each in channels):
                (rotor,) = self._numbers([f"{joint}.inertia"])
                if not rotor.determined:
                    notes.append(
                        f"{joint}: the inertia of its rotor and that of the links about its axis "
                        "cannot be told apart; their split follows the values known before"
                    )
            for i in self._equations.motors_of(j).tolist():
                name = self._equations.motor_names[i]
                driven = any("signal" in each.blocks for each in channels if each.motor == i)
                if not (self._gains[i] and driven):
                    continue
                (gain,) = self._numbers([f"{name}.log gain"])
                if not gain.determined:
                    notes.append(
                        f"{name}: the drive gain cannot be told apart from the masses: kept at "
                        f"{gain.value:.4g} N m/A; carry a payload of known mass, in poses in which "
                        "this joint holds it"
                    )
            if self._equations.is_elastic[j] and not self._equations.has_deflection[j]:
                lacking = "motor" if self._equations.sources.q[j] else "link"
                notes.append(
                    f"{joint}: the position of its {lacking} was not measured: the spring keeps "
                    "its values, and stated errors assume that these are right"
                    + (
                        ""
                        if self._equations.sources.sensor[j]
                        else ", and the friction of motor and link cannot be told apart"
                    )
                )
        return notes

    def _delay_at_bound(self, name: str) -> list[str]:
        """A note about a delay "OWNER.KIND" that is as large as the equations can represent."""
        i = self._index[f"{name} delay"]
        limit = self._parameters.upper[i]
        if not self._parameters.free[i] or abs(self._theta[i]) < limit * (1.0 - 1e-9):
            return []
        owner, _, kind = name.rpartition(".")
        return [
            f"{owner}: the {kind} delay is at least {1e3 * limit:.2g} ms, the largest that "
            "can be identified with this cut-off: choose a lower one"
        ]


def _public(name: str) -> str:
    """The name of a parameter of a drive in `IdentifiedRobot.estimates`."""
    if name.startswith("link "):
        return name.removeprefix("link ")
    return f"motor {name}" if name.endswith(".inertia") else name


def _valued(values: Array, errors: Sequence[Uncertainty]) -> list[IdentifiedValue]:
    return [
        IdentifiedValue(float(value), each.error if each.determined else np.nan, each.determined)
        for value, each in zip(values, errors, strict=True)
    ]


def _about_com(ten: Any) -> Any:
    """Mass, centre of mass and inertia about it (..., 10), from the ten parameters (..., 10)."""
    mass = ten[..., :1]
    c = ten[..., 1:4] / mass
    x, y, z = np.moveaxis(c, -1, 0)
    shift = np.stack([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y], axis=-1)
    return np.concatenate([mass, c, ten[..., 4:] - mass * shift], axis=-1)


def _link_friction(
    joints: dict[str, dict[str, IdentifiedValue]], names: Sequence[str], before: JointFriction
) -> JointFriction:
    """Viscous and Coulomb friction and offset of the links, as before where nothing about it was
    determined."""
    rows = np.array([getattr(before, each.name) for each in fields(before)])
    for j, name in enumerate(names):
        values = joints.get(name, {})
        if any(value.determined for value in values.values()):
            rows[4, j] = 0.0
            rows[0, j], rows[1, j] = values["viscous"].value, values["offset"].value
            rows[2, j] = 2.0 * values["coulomb"].value
            if "coulomb_velocity" in values:
                rows[3, j] = 2.0 / values["coulomb_velocity"].value
            elif not rows[3, j]:
                rows[3, j] = 2.0 / COULOMB_VELOCITY
    return JointFriction(*rows)


def _motor(motor: Motor, found: dict[str, IdentifiedValue]) -> Motor:
    names = ("inertia", "viscous", "coulomb", "coulomb_velocity")
    return replace(motor, **{name: max(found[name].value, 0.0) for name in names if name in found})


def _owned_spring(
    owners: Mapping[str, Mapping[str, IdentifiedValue]], owner: str, spring: Spring
) -> Spring:
    """The law with the new parameters of its owner, over the same travel."""
    found = owners[owner]
    values = [found[name].value for name in spring.parameters if name in found]
    return spring.with_parameters(values) if values else spring
