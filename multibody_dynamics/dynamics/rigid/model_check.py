# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Masses, inertias, limits and gravity of a robot that can be read but look wrong."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..core import Array
from ..model import MultibodyModel
from ..model.inertia import decompose, principal_moments
from .crba import gravity_forces, mass_matrix

POSTURES = 500  # for gravity torques and the mass matrix
HEAVY = 10.0  # times the effort limit, to hold the links: hardly a choice of the motor
UNLIMITED = 1.0  # rad or m: half the range of a joint without limits
FLAT = 1e-3  # ratio of principal moments that only a needle or a missing entry explains
ROUNDING = 1e-12
EXTENDED = 1.0  # m: larger than the radius of gyration of any arm's link
# Ranges beyond the first number are hardly those of an arm; beyond the second, there is no limit.
TURNING = (25.0, 1e4)  # rad
SLIDING = (30.0, 1e4)  # m
STRONG = 30.0  # m/s^2: three times that of the Earth
SINGULAR = 1e10  # condition number of the mass matrix


class Finding(NamedTuple):
    """Something that looks wrong; `severe` if it makes the torques wrong."""

    severe: bool
    text: str
    subject: str = ""  # the body or joint, as it stands in the text


def inspect_model(model: MultibodyModel) -> list[Finding]:
    """Masses, inertias, limits and gravity that are readable but look wrong."""
    findings: list[Finding] = []
    if (gravity := float(np.linalg.norm(model.gravity))) > STRONG:
        text = f"gravity is {gravity:.4g} m/s^2; is it in cm/s^2 or mm/s^2?"
        findings.append(Finding(True, text, "gravity"))
    joints = {*model.joint_names, *model.couplings} if model.couplings else model.tree_joint_names
    for joint, body, M in zip(
        model.tree_joint_names, model.body_names, model.inertias, strict=True
    ):
        if joint in joints:  # not a part of one with several terms, which carries no link
            findings += _check_body(body, M)
    weight = np.abs(gravity_forces(model, postures(model)[:50])).max(axis=0)
    for j in range(model.n):
        findings += _check_limits(model, j, float(weight[j]))
    M = mass_matrix(model, postures(model)[:50])
    worst = float(np.linalg.cond(M).max()) if model.n else 1.0
    if worst > SINGULAR:
        weak = int(np.argmin(np.diagonal(M, axis1=-2, axis2=-1).min(axis=0)))
        text = (
            f"the mass matrix is singular (condition {worst:.1g}): there is almost no inertia"
            f" behind {model.joint_names[weak]}; add that of its motor (reflected inertia)"
        )
        findings.append(Finding(True, text, model.joint_names[weak]))
    return findings


def _check_body(body: str, M: Array) -> Iterator[Finding]:
    mass, com, about_com = decompose(M)
    moments = principal_moments(about_com)
    noise = ROUNDING * (np.abs(about_com).max() + mass * (com @ com))  # of the shift to the COM
    if mass == 0.0:
        yield Finding(False, f"{body} has no mass", body)
    elif moments[-1] <= noise:
        yield Finding(False, f"{body} is a point mass: no inertia about its COM", body)
    else:
        if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6):
            text = ", ".join(f"{x:.3g}" for x in moments)
            text = f"no rigid body can have the principal moments {text} kg m^2"
            yield Finding(True, f"{body}: {text}", body)
        elif moments[0] < FLAT * moments[-1]:
            least = moments[0] if moments[0] > noise else 0.0
            text = f"one principal moment is only {least:.3g} kg m^2"
            yield Finding(False, f"{body} is implausibly thin: {text}", body)
        radius = np.sqrt(moments[-1] / mass)
        if radius > EXTENDED:
            text = f"{body}: radius of gyration of {radius:.3g} m; is its inertia in g mm^2?"
            yield Finding(True, text, body)


def _check_limits(model: MultibodyModel, j: int, weight: float) -> Iterator[Finding]:
    """weight : N m or N, the largest effort against gravity."""
    joint, effort = model.joint_names[j], model.limits.effort[j]
    unit = "N" if model.joint_types[j] == "prismatic" else "N m"
    if weight > effort > 0.0:
        text = f"{weight:.3g} {unit} to hold its links, but its limit is {effort:.3g} {unit}"
        doubt = "; are masses in g?" if weight > HEAVY * effort else ""
        yield Finding(bool(doubt), f"{joint} needs {text}{doubt}", joint)
    if not np.isfinite(effort):
        yield Finding(False, f"{joint} has no effort limit: torques are not limited", joint)
    elif effort == 0.0:
        yield Finding(True, f"{joint} has the effort limit 0: every torque becomes zero", joint)
    if model.limits.velocity[j] == 0.0:
        yield Finding(True, f"{joint} has the velocity limit 0: it cannot move", joint)
    if doubt := doubtful_range(model, j):
        yield Finding(False, doubt, joint)


def doubtful_range(model: MultibodyModel, j: int) -> str:
    """What is doubtful about the unit of the limits of joint j; "" if nothing."""
    joint, travel = model.joint_names[j], model.limits.upper[j] - model.limits.lower[j]
    if model.joint_types[j] == "revolute" and TURNING[0] < travel < TURNING[1]:
        turns = travel / (2.0 * np.pi)
        text = f"{joint} has a range of {travel:.4g} rad, {turns:.3g} turns"
        return f"{text}; are its limits in degrees?"
    if model.joint_types[j] == "prismatic" and SLIDING[0] < travel < SLIDING[1]:
        return f"{joint} has a range of {travel:.4g} m; are its limits in mm?"
    return ""


def postures(model: MultibodyModel, count: int = POSTURES) -> Array:
    """`count` random configurations (count, n) within the joint ranges, the same in every call;
    fewer where loops do not allow them all, but at least the one at `home`."""
    lower, upper, *_ = model.limits
    low = np.where(np.isfinite(lower), lower, np.minimum(-UNLIMITED, upper - UNLIMITED))
    high = np.where(np.isfinite(upper), upper, np.maximum(UNLIMITED, low + UNLIMITED))
    q = np.random.default_rng(0).uniform(low, high, (count, model.n))
    reached = q[model.reaches(q)]
    return reached if len(reached) else model.home[None]
