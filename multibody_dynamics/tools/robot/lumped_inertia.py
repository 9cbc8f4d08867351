# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Distributes the inertia of a moving body over the links of the URDF that belong to it.

A moving body is its link and everything fixed to it. Identification finds the inertia of the whole;
the difference from that of the file is assigned to one link, so all others keep their numbers: to
the moving link itself or, if that would make it physically impossible, to the heaviest fixed link
that remains possible.
"""

import numpy as np

from ...dynamics.core import Array, InputError
from ...dynamics.model import MultibodyModel
from ...dynamics.model.inertia import decompose, principal_moments, transform
from .urdf_text import SAME, UrdfText, moved

SLACK = 1e-12  # relative: a point mass or a rod is just possible


def is_possible(M: Array) -> bool:
    """Whether some distribution of positive mass has the spatial inertia M (6, 6)."""
    mass, _, about_com = decompose(M)
    moments = principal_moments(about_com)
    slack = SLACK * float(np.abs(M).max())
    return bool(
        mass >= 0.0 and moments[0] >= -slack and moments[2] <= moments[0] + moments[1] + slack
    )


def write_body(text: UrdfText, model: MultibodyModel, body: str, M: Array) -> str | None:
    """Change the links of a moving body such that the body has the spatial inertia M (6, 6) about
    its origin; returns the link that changed, or None if M is that of the file.

    Raises InputError, naming the link, if no link of the body can take the difference.
    """
    index = model.body_index(body)
    if not np.isfinite(M).all():
        raise InputError(f"link '{body}': its inertia is not finite; nothing was written")
    if not is_possible(M) or decompose(M)[0] <= 0.0:
        mass, _, about_com = decompose(M)
        listed = ", ".join(f"{each:.4g}" for each in principal_moments(about_com))
        raise InputError(
            f"link '{body}': mass {mass:.4g} kg and principal moments ({listed}) kg m^2 belong "
            "to no physical body; nothing was written"
        )
    poses = {name: frame.pose for name, frame in model.frames.items() if frame.body == index}
    known = {name: text.inertia(name) for name in poses if name in text.links}
    lumped = {
        name: transform(each, poses[name]) for name, each in known.items() if each is not None
    }
    total = sum(lumped.values(), np.zeros((6, 6)))
    difference = M - total
    if np.abs(difference).max() <= SAME * max(np.abs(M).max(), np.abs(total).max()):
        return None
    heaviest = sorted(lumped, key=lambda name: -float(lumped[name][5, 5]))
    first = [body] if body in lumped or not lumped else []
    for link in dict.fromkeys([*first, *heaviest]):
        others = sum((each for name, each in lumped.items() if name != link), np.zeros((6, 6)))
        own = moved(M - others, poses[link])
        if decompose(own)[0] > 0.0 and is_possible(own):
            text.set_inertia(link, own)
            return link
    raise InputError(
        f"link '{body}': no single link of this body ({', '.join(heaviest)}) can take the change: "
        f"with the others as in the file, its mass or its principal moments would be impossible"
    )
