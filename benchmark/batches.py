# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Many states at a time: vector code for one robot."""

import argparse
from collections.abc import Callable
from functools import partial

import harness
import numpy as np
import pinocchio as pin
from harness import Group, Row

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.bodies import regressor
from multibody_dynamics.dynamics.rigid.vector_batches import LARGE_BATCH

SMALL, MEDIUM, LARGE = 2**13, 200_000, 10**6
RNEA = "`pin.rnea` from Python: Q, one state after the other"
BATCH = f"`BatchInverseDynamics` with `out`, {LARGE:,} states, all cores"
FUNCTION = f"`inverse_dynamics`, {MEDIUM:,} states, all cores"
PER_STATE = 20  # rounds between blocks of the large batch


def groups(options: argparse.Namespace) -> list[Group]:
    model, robot = harness.robots(options.urdf)
    return [inverse_dynamics(model, robot), functions(model)]


def inverse_dynamics(model: dyn.MultibodyModel, robot: pin.Model) -> Group:
    data, evaluate = robot.createData(), dyn.rigid.BatchInverseDynamics(model)
    states = np.random.default_rng(2).normal(size=(5, LARGE, model.n))
    few = np.ascontiguousarray(states[:, :SMALL])
    medium = states[:, :MEDIUM]
    columns = np.ascontiguousarray(few.transpose(0, 2, 1))
    rows = [row[0].copy() for row in few[:3]]
    out, small_out = np.empty((3, LARGE, model.n)), np.empty((3, SMALL, model.n))
    column_out = np.empty((3, model.n, SMALL))
    general = dyn.inverse_dynamics(model, *few, representation="body")
    evaluate(*states, out=out)
    for k, wanted in enumerate(general):
        harness.require(f"batch, row {k}", out[k, :SMALL], wanted)
        harness.require(f"columns, row {k}", evaluate.columns(*columns)[k].T, wanted)
    last = dyn.inverse_dynamics(model, *states[:, -SMALL:])
    harness.require("the last states of the batch", out[:, -SMALL:], np.array(last))
    one = {"threads": 1}
    found = [
        Row(RNEA, harness.loop(partial(pin.rnea, robot, data, *rows), 1000), 1000),
        Row(
            "`inverse_dynamics`, 8192 states, general code, one core",
            partial(dyn.inverse_dynamics, model, *few, representation="body"),
            SMALL,
            5,
        ),
        Row("`BatchInverseDynamics`, 8192 states, one core", partial(evaluate, *few, **one), SMALL),
        Row(
            "with `out`, 8192 states, one core",
            partial(evaluate, *few, out=small_out, **one),
            SMALL,
        ),
        Row(
            "`columns` with `out`, 8192 states, one core",
            partial(evaluate.columns, *columns, out=column_out, **one),
            SMALL,
        ),
        Row(
            FUNCTION,
            harness.on_all_cores(partial(dyn.inverse_dynamics, model, *medium)),
            MEDIUM,
            PER_STATE,
        ),
        Row(BATCH, harness.on_all_cores(partial(evaluate, *states, out=out)), LARGE, PER_STATE),
    ]
    title = f"Q, Q' and Q'' of many states of {model.name}"
    return Group("batches", title, found, RNEA, "state")


def functions(model: dyn.MultibodyModel) -> Group:
    """Each function with a small batch, and at the size from which it uses vector code."""
    states = np.random.default_rng(2).normal(size=(5, LARGE_BATCH, model.n))
    cases: dict[str, tuple[Callable[..., object], int, int]] = {
        "forward_kinematics, poses": (dyn.forward_kinematics, 1, LARGE_BATCH),
        "forward_kinematics, to the acceleration": (dyn.forward_kinematics, 3, LARGE_BATCH),
        "mass_matrix": (dyn.mass_matrix, 1, LARGE_BATCH),
        "forward_dynamics": (dyn.forward_dynamics, 3, LARGE_BATCH),
        "inverse_dynamics_derivatives": (dyn.inverse_dynamics_derivatives, 3, LARGE_BATCH),
        "forward_dynamics_derivatives": (dyn.forward_dynamics_derivatives, 3, LARGE_BATCH),
        "inverse_dynamics_regressor": (
            dyn.identification.inverse_dynamics_regressor,
            3,
            regressor.LARGE_BATCH,
        ),
    }
    found = []
    for name, (function, count, large) in cases.items():
        few, all_of_it = states[:count, : large // 32], states[:count, :large]
        parts, whole = _last(function(model, *few)), _last(function(model, *all_of_it))
        harness.require(name, whole[: len(parts)], parts, 1e-10)
        small = partial(function, model, *few)
        found.append(Row(f"`{name}`, general code, one core", small, len(parts), PER_STATE))
        block = harness.on_all_cores(partial(function, model, *all_of_it))
        found.append(Row(f"`{name}`, vector code, all cores", block, large, PER_STATE))
    return Group("functions", f"functions on batches of {model.name}", found, "", "state")


def _last(result: object) -> np.ndarray:
    """The last array of a result."""
    if isinstance(result, np.ndarray):
        return result
    return [x for x in result if x is not None][-1]  # type: ignore[attr-defined]
