# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The order of components, the names of the representations, and the table of symbols."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..core import Array, as_array, check_choice

Representation = Literal["spatial", "body", "hybrid", "mixed"]
REPRESENTATIONS: tuple[str, ...] = get_args(Representation)


def check_representation(name: str) -> Representation:
    """`name` itself if it is a representation; otherwise InputError that lists all four."""
    check_choice("representation", name, REPRESENTATIONS)
    return name  # type: ignore[return-value]


def to_linear_first(screw: Any) -> Array:
    """(omega, v) to (v, omega), or (m, f) to (f, m): the order of Pinocchio, jaxlie and ROS.

    `screw` is (..., 6); returns a copy.
    """
    return np.roll(as_array("screw", screw, (6,)), 3, axis=-1)


def from_linear_first(screw: Any) -> Array:
    """(v, omega) to (omega, v), or (f, m) to (m, f); `screw` is (..., 6); returns a copy."""
    return np.roll(as_array("screw", screw, (6,)), -3, axis=-1)


class Symbol(NamedTuple):
    """One row of the table of symbols: the symbol of the papers and its name in the code."""

    symbol: str
    name: str
    shape: str
    unit: str
    frame: str


SYMBOLS: tuple[Symbol, ...] = (
    Symbol("q ... q''''", "q, qd, qdd, qddd, qdddd", "(..., n)", "rad, m; per s^k", "joint"),
    Symbol("Q, Q', Q''", "tau, tau_dot, tau_ddot", "(..., n)", "N m, N; per s^k", "joint"),
    Symbol("Y_i", "model.screws", "(n, 6)", "1, m", "inertial axes and origin, at q = 0"),
    Symbol("A_i", "model.poses", "(n, 4, 4)", "1, m", "body i to inertial, at q = 0"),
    Symbol("X_i", "BodyScrewDescription.screws", "(n, 6)", "1, m", "body i"),
    Symbol("X^p_i", "ParentScrewDescription.screws", "(n, 6)", "1, m", "parent of body i"),
    Symbol("Z_i", "JointFrameDescription.screws", "(n, 6)", "1, m", "joint frame"),
    Symbol("B_i", "BodyScrewDescription.relative_poses", "(n, 4, 4)", "1, m", "body i to parent"),
    Symbol("S_{i,i}", "JointFrameDescription.frames_in_body", "(n, 4, 4)", "1, m", "to body i"),
    Symbol("S_{p,i}", "JointFrameDescription.frames_in_parent", "(n, 4, 4)", "1, m", "to parent"),
    Symbol("M^b_i", "model.inertias", "(n, 6, 6)", "kg m^2, kg m, kg", "body i, about its origin"),
    Symbol("g", "model.gravity", "(3,)", "m/s^2", "inertial axes"),
    Symbol("C_i", "pose", "(..., n, 4, 4)", "1, m", "body i to inertial"),
    Symbol("V_i", "twist", "(..., n, 6)", "rad/s, m/s", "by representation"),
    Symbol("V_i'", "acceleration", "(..., n, 6)", "rad/s^2, m/s^2", "by representation"),
    Symbol("V_i''", "jerk", "(..., n, 6)", "rad/s^3, m/s^3", "by representation"),
    Symbol("V_i'''", "jounce", "(..., n, 6)", "rad/s^4, m/s^4", "by representation"),
    Symbol("J^b, J^s, J^h, J^m", "jacobian", "(..., 6, n)", "1, m", "body, spatial, hybrid, mixed"),
    Symbol("J", "SystemKinematics.J", "(..., 6n, n)", "1, m", "by representation"),
    Symbol("A", "SystemKinematics.A", "(..., 6n, 6n)", "1, m", "by representation"),
    Symbol("D", "SystemKinematics.D", "(..., 6n, 6n)", "1, m", "by representation"),
    Symbol("a", "SystemKinematics.a", "(..., 6n, 6n)", "rad/s, m/s", "body"),
    Symbol("b", "SystemKinematics.b", "(..., 6n, 6n)", "rad/s, m/s", "body, spatial"),
    Symbol("S_i", "joint screw", "(n, 6)", "1, m", "inertial axes and origin, at q"),
    Symbol("M_i", "rigid_body_inertia", "(..., 6, 6)", "kg m^2, kg m, kg", "by representation"),
    Symbol("Pi_i", "body_momenta", "(..., n, 6)", "kg m^2/s, kg m/s", "inertial axes and origin"),
    Symbol("W", "wrench", "(..., 6), (..., 3, 6)", "N m, N; per s^k", "inertial axes and origin"),
    Symbol("M", "mass_matrix", "(..., n, n)", "kg m^2, kg m, kg", "joint"),
    Symbol("C", "coriolis_matrix", "(..., n, n)", "kg m^2/s, kg m/s, kg/s", "joint"),
    Symbol("Gamma_ijk", "christoffel_symbols", "(..., n, n, n)", "kg m^2, kg m, kg", "joint"),
    Symbol("g(q)", "gravity_forces", "(..., n)", "N m, N", "joint"),
    Symbol("p", "generalized_momentum", "(..., n)", "kg m^2/s, kg m/s", "joint"),
    Symbol("S_i(q_i)", "Joint.subspace", "(..., 6, k)", "1, m", "body i"),
    Symbol("M^-1", "ArticulatedBodies.inverse", "(..., n, n)", "of 1/M", "joint"),
    Symbol("f(q)", "constraint_residual", "(..., m)", "rad, m", "first frame of the loop"),
    Symbol("A, A', ...", "constraint_matrices", "(..., m, n)", "1, m; per s^k", "as f, joint"),
    Symbol("lambda", "ConstrainedMotion.multipliers", "(..., m)", "N m, N", "as f"),
    Symbol("A, B, C, D", "LinearModel.matrices", "(..., 2n, 2n), ...", "by row", "joint"),
    Symbol("T, U", "kinetic_energy, potential_energy", "(...)", "J", "none"),
    Symbol("Y", "Regressor.Y", "(..., n, 10 n)", "N m or N per parameter", "joint"),
    Symbol("pi", "inertial_parameters", "(10 n,)", "kg, kg m, kg m^2", "body i, about its origin"),
    Symbol("U_k", "ErrorScrew.screw", "(6,)", "1, m", "body i at q = 0, or the frame itself"),
    Symbol("K", "stiffness", "(n,)", "N m/rad, N/m", "joint"),
    Symbol("theta", "motor position", "(..., m)", "rad, m", "joint: link side of the gear"),
    Symbol("M_m", "motor_inertia", "(m,)", "kg m^2, kg", "joint: link side of the gear"),
    Symbol("tau_m", "motor torque", "(..., m)", "N m, N", "joint: link side of the gear"),
    Symbol("phi", "MotorMotion.deflection", "(..., m)", "rad, m", "joint: link side of the gear"),
    Symbol("s(phi)", "Spring.torque", "(...)", "N m, N", "joint: link side of the gear"),
    Symbol("d", "SeriesElastic.damping", "()", "N m s/rad, N s/m", "joint: link side of the gear"),
    Symbol("k, sigma", "stiffness", "(..., 3, v) with rates", "N m/rad, N/m; per s^k", "joint"),
    Symbol("r", "residual", "(n,)", "N m, N", "joint"),
)  # fmt: skip
