# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The kind of robot that a description is."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.robot.robot_kind import robot_kind
from robots import panda


def robot(*limbs: tuple[str, int], base: int = 0, mass: float = 1.0) -> dyn.MultibodyModel:
    """Chains of joints on the last of `base` joints (torso_0, ...): (names of joints, their
    number), or names with `|` between those of one chain."""
    parents, names = list(range(-1, base - 1)), [f"torso_{k}" for k in range(base)]
    for words, count in limbs:
        chain = words.split("|") if "|" in words else [f"{words}_{k}" for k in range(count)]
        for k, name in enumerate(chain):
            parents.append(base - 1 if k == 0 else len(parents) - 1)
            names.append(name)
    n = len(names)
    inertia = np.diag([0.01, 0.01, 0.01, mass, mass, mass])
    return dyn.model_from_screws(
        parents, np.tile([0.0, 0, 1, 0, 0, 0], (n, 1)), np.tile(np.eye(4), (n, 1, 1)),
        np.tile(inertia, (n, 1, 1)), joint_names=names,
    )  # fmt: skip


LEG, ARM = "{}_hip|{}_knee|{}_ankle", "{}_shoulder|{}_elbow|{}_wrist"
LEGS = [(LEG.replace("{}", side), 0) for side in ("left", "right")]
ARMS = [(ARM.replace("{}", side), 0) for side in ("left", "right")]


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (panda(), "arm with 7 joints"),
        (robot(("joint", 6)), "arm with 6 joints"),
        (robot(("a|b|c|d|e|f|finger", 0)), "arm with 6 joints and a gripper"),
        (robot(("waist|shoulder|elbow|wrist|gripper", 0)), "arm with 4 joints and a gripper"),
        (robot(("left_finger", 1), ("right_finger", 1)), "gripper"),
        (robot(*(("|".join(f"{finger}J{k}" for k in (3, 2, 1)), 0)
                 for finger in ("FF", "MF", "RF", "TH"))), "hand with 4 fingers"),
        (robot(("a", 4), ("b", 4), ("c", 4), ("d", 4), mass=0.02), "hand with 4 fingers"),
        (robot(*(("thumb" if k == 0 else f"ring{k}_finger", 3) for k in range(5)), mass=0.02),
         "hand with 5 fingers"),
        (robot(*((f"j{k}", 4) for k in range(4)), base=7),  # as of an arm with an Allegro hand
         "arm with 7 joints and a hand with 4 fingers"),
        (robot(*((LEG.replace("{}", leg), 0) for leg in ("fl", "fr", "rl", "rr"))), "quadruped"),
        (robot(*LEGS), "biped"),
        (robot(*LEGS, *ARMS, ("neck", 2)), "humanoid with 2 arms and a head"),
        (robot(*ARMS, base=1), "upper body with 2 arms and a torso"),
        (robot(("left_wheel", 1), ("right_wheel", 1)), "mobile base with 2 wheels"),
        (robot(("left_wheel", 1), ("right_wheel", 1), (ARM.replace("{}", "a"), 0)),
         "mobile base with 2 wheels and an arm"),
        (robot(*((f"rotor_{k}", 1) for k in range(4))), "aircraft with 4 rotors"),
        (robot(("j", 2)), "chain of 2 moving bodies"),
        (robot(("j", 1), ("k", 2)), "tree with 2 ends of 3 moving bodies"),
    ],
)  # fmt: skip
def test_kinds(model, kind):
    assert robot_kind(model) == kind
