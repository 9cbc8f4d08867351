# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""dQ/dq, dQ/dq', M and dq''/dq, dq''/dq', M^-1 of an arm, compared with Pinocchio."""

import argparse
from functools import partial

import harness
import numpy as np
import pinocchio as pin
from harness import Group

from multibody_dynamics import dynamics as dyn


def groups(options: argparse.Namespace) -> list[Group]:
    model, robot = harness.robots(options.urdf)
    data = robot.createData()
    q, v, a = np.random.default_rng(1).normal(size=(3, model.n))
    tau = dyn.inverse_dynamics(model, q, v, a).tau
    inverse = dyn.rigid.InverseDynamicsDerivativesSolver(model)
    forward = dyn.rigid.ForwardDynamicsDerivativesSolver(model)
    cases = (
        ("inverse", "Q", inverse, "qdd", a, pin.computeRNEADerivatives, 1e-12),
        ("forward", "q''", forward, "tau", tau, pin.computeABADerivatives, 1e-10),
    )
    found = []
    for kind, of, solver, last, third, theirs, tolerance in cases:
        expected = theirs(robot, data, q, v, third)
        for got, wanted in zip(solver(q, v, third)[:2], expected, strict=False):
            harness.require(f"derivatives of {of}", got, wanted, tolerance)
        reference = f"`pin.{theirs.__name__}` from Python"
        own = type(solver)(model, specialise=True)
        own.wait()
        harness.require(f"specialised {kind}", own(q, v, third)[0], expected[0], tolerance)
        rows = [
            harness.called(reference, partial(theirs, robot, data, q, v, third), options),
            *(
                harness.called(f"{each.kernel}, {name}", call, options)
                for each in (solver, own)
                for name, call in (
                    (f"`solver(q, qd, {last})`", partial(each, q, v, third)),
                    ("`solver.update()`", each.update),
                )
            ),
        ]
        title = f"derivatives of the {kind} dynamics of {model.name}, {model.n} joints"
        found.append(Group(f"{kind}_derivatives", title, rows, reference))
    return found
