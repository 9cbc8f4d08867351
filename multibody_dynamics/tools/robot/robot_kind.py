# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What kind of robot a description is: an arm, a hand, a humanoid, a quadruped, ...

The usual names of joints and links decide where they say it, and otherwise the tree: a long chain
is an arm, several short ones on a light base are the fingers of a hand.
"""

import re

import numpy as np

from ...dynamics.model import MultibodyModel

PARTS = {
    "leg": r"(^|[\W_\d]|left|right|[lrfhb])(hip|knee|ankle|thigh|calf|shank|leg|foot|haa|[hk]fe)",
    "wheel": r"wheel|caster",
    "finger": r"finger|thumb|index|middle|pinky|little|knuckle|gripper|jaw|claw|distal"
    r"|proximal|(^|left|right|[lr])_?ring_|^(rh_|lh_)?(ff|mf|rf|lf|th)j\d",
    "rotor": r"rotor|propeller",
    "head": r"head|neck|eye|pupil|lidar|camera|kinect",
    "torso": r"torso|waist|chest|spine|trunk|abdomen",
    "arm": r"shoulder|elbow|wrist|(^|[\W_\d]|left|right)arm|forearm|uparm",
}  # in the order in which they claim a joint
ON_A_BASE = ("humanoid", "biped", "quadruped", "hexapod", "robot with", "mobile base", "aircraft")
ARM = 4  # least joints of an arm
FINGERS, LONGEST = (3, 5), 5  # of a hand, and the joints of one of them
GRIPPER = 2  # most driven joints of a gripper
LIGHT = 3.0  # kg; a hand


def robot_kind(model: MultibodyModel) -> str:
    """The kind of robot in a few words, with the number of its limbs."""
    names = zip(model.tree_joint_names, model.body_names, strict=True)
    part = [_part(joint) or _part(body) for joint, body in names]
    limbs = {name: _limbs(model, part, name) for name in PARTS}
    legs, wheels, arms, rotors = (len(limbs[name]) for name in ("leg", "wheel", "arm", "rotor"))
    chains = [model.path(i) for i in range(model.body_count) if i not in model.parents]
    if not (arms or legs or rotors):
        long = [c for c in chains if len(_of_arm(model, part) & set(c)) >= ARM]
        arms = len({chain[0] for chain in long})
        arms = arms if arms <= 2 else 0
    grip = _grip(model, part, len(limbs["finger"]), max(arms, 1))
    more = [f"{arms} arms" if arms > 1 else "an arm"] if arms else []
    if legs >= 3:
        kind = {4: "quadruped", 6: "hexapod"}.get(legs, f"robot with {legs} legs")
    elif legs == 2:
        kind = "humanoid" if arms >= 2 else "biped"
    elif wheels:
        kind = f"mobile base with {wheels} wheels"
    elif rotors > 2:
        kind = f"aircraft with {rotors} rotors"
    elif legs:
        kind = "leg"
    elif arms > 1:
        kind = "upper body"
    elif arms:
        joints, fingers = _hand(chains) if not grip else (0, 0)
        grip = f"a hand with {fingers} fingers" if joints >= ARM else grip
        joints = joints if joints >= ARM else len(_of_arm(model, part))
        kind, more = f"arm with {joints} joints", []
    elif grip:
        return grip.removeprefix("a ")
    else:
        return _by_tree(model, chains)
    more += ["a head"] if limbs["head"] else []
    more += ["a torso"] if limbs["torso"] and more[:1] not in ([], ["a head"]) else []
    more += [grip] if grip else []
    joined = " and ".join(filter(None, (", ".join(more[:-1]), *more[-1:])))
    link = " with " if " with " not in kind else " and " if len(more) == 1 else ", "
    return f"{kind}{link}{joined}" if joined else kind


def _part(text: str) -> str:
    found = (name for name, words in PARTS.items() if re.search(words, text.lower()))
    return next(found, "")


def _of_arm(model: MultibodyModel, part: list[str]) -> set[int]:
    """The driven joints that are neither of a hand nor of a head."""
    return {i for i in model.first_bodies if part[i] not in ("finger", "head")}


def _limbs(model: MultibodyModel, part: list[str], name: str) -> list[int]:
    """The first joints of the limbs of one sort: those that none of the sort carries."""
    return [i for i, own in enumerate(part)
            if own == name and all(part[j] != name for j in model.path(i)[:-1])]  # fmt: skip


def _grip(model: MultibodyModel, part: list[str], fingers: int, hands: int) -> str:
    """What the fingers form; "" without any."""
    driven = sum(part[i] == "finger" for i in model.first_bodies)
    what = "gripper" if driven <= GRIPPER * hands or fingers < FINGERS[0] else "hand"
    if not fingers:
        return ""
    if hands > 1 and fingers >= 2 * hands:
        return f"{hands} {what}s"
    return f"a hand with {fingers} fingers" if what == "hand" else "a gripper"


def _hand(chains: list[list[int]]) -> tuple[int, int]:
    """The joints before a hand, and its fingers, by the tree; (0, 0) if it is none."""
    before = len(set.intersection(*map(set, chains)))
    fingers = range(2, LONGEST + 1)
    if FINGERS[0] <= len(chains) <= FINGERS[1] and max(map(len, chains)) - before in fingers:
        return before, len(chains)
    return 0, 0


def _by_tree(model: MultibodyModel, chains: list[list[int]]) -> str:
    before, fingers = _hand(chains)
    if fingers and not before and float(np.sum(model.inertias[:, 5, 5])) < LIGHT:
        return f"hand with {fingers} fingers"
    count = model.body_count
    shape = "chain" if len(chains) == 1 else f"tree with {len(chains)} ends"
    return f"{shape} of {count} moving bod{'y' if count == 1 else 'ies'}"
