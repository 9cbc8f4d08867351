# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Geometric errors for the tests, and robots in which each error is a joint coordinate."""

from typing import NamedTuple

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.geometry.geometric_sensitivity import ErrorScrew


class Standing(NamedTuple):
    """The extended robot, and where the joints and the parameters are among its joints."""

    model: dyn.MultibodyModel
    joints: list[int]
    parameters: list[int]

    def state(self, values, *rows):
        """The state (k, n + p) in which the robot moves by `rows` and its errors are constant."""
        extended = np.zeros((len(rows), self.model.n))
        extended[:, self.joints] = rows
        extended[0, self.parameters] = values
        return extended


def with_standing_joints(model, errors):
    parents, screws, poses, inertias = [], [], [], []
    joints, parameters = {-1: -1}, {}
    for i in range(model.n):
        mount = joints[int(model.parents[i])]
        own = [k for k, e in enumerate(errors) if e.joint == model.joint_names[i]]
        for k in [*own, None]:
            moving = k is None
            A = model.poses[i]
            parents.append(mount)
            screws.append(model.screws[i] if moving else dyn.se3.Ad(A) @ errors[k].screw)
            poses.append(A)
            inertias.append(model.inertias[i] if moving else np.zeros((6, 6)))
            mount = len(parents) - 1
            (joints if moving else parameters)[i if moving else k] = mount
    frames = {
        name: dyn.model.Frame(joints[f.body], f.pose)
        for name, f in model.frames.items()
        if name not in (*model.body_names, model.base_name)
    }
    rotors = np.zeros(len(parents))
    order = [joints[i] for i in range(model.n)]
    rotors[order] = model.reflected_inertia
    extended = dyn.model_from_screws(
        parents, screws, poses, inertias,
        gravity=model.gravity, frames=frames, reflected_inertia=rotors,
        base_name=model.base_name,
    )  # fmt: skip
    return Standing(extended, order, [parameters[k] for k in range(len(errors))])


def some_errors(model, count=9, seed=0):
    """Errors of many joints in any order, some of one joint, and one with a screw of its own."""
    rng = np.random.default_rng(seed)
    every = dyn.identification.joint_errors(model, independent=False)
    chosen = [every[k] for k in rng.permutation(len(every))[: count - 3]]
    joint = model.joint_names[1]
    chosen += [e for e in every if e.name in (f"{joint}.ry", f"{joint}.x")]
    chosen.append(ErrorScrew("bent", "rad", rng.normal(size=6), joint=joint))
    return tuple(chosen), rng.normal(scale=0.3, size=len(chosen))
