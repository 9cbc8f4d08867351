# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A surgical arm whose instrument pivots about one point, modelled in three ways.

Joints 1 to 3, a lift and two parallel axes, bring the remote centre to the incision. The axes of
joints 4 and 5 and the instrument intersect there: however these joints move, the point of the
instrument in the incision stays in place.

The arm resembles those of [M18k] 2.5 and 3.6 (Mueller 2018, kinematics), with other dimensions.

    python examples/04_remote_centre_of_motion.py --picture arm.png
"""

import argparse
from itertools import pairwise
from math import pi
from typing import NamedTuple

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3

LINKS = ("carriage", "upper_arm", "forearm", "rcm_link", "instrument_holder")
JOINTS = ("lift", "shoulder", "elbow", "roll", "pitch")
DESCRIPTIONS = ("joint frames", "body screws", "spatial screws")


class Geometry(NamedTuple):
    """The arm at q = 0, in its plane of symmetry y = 0, in inertial axes; m.

    axes, points : (5, 3) direction of each joint axis, and a point on it.
    curves : five (k, 3), the centre lines of the links.
    remote_centre : (3,)
    instrument : (3,) unit vector along the instrument, towards its tip.
    """

    axes: np.ndarray
    points: np.ndarray
    curves: list[np.ndarray]
    remote_centre: np.ndarray
    instrument: np.ndarray


def geometry(
    height: float = 0.5,
    carriage: float = 0.1,
    upper_arm: float = 0.3,
    forearm: float = 0.25,
    radius: float = 0.2,
    inclination: float = pi / 12,
    link_arc: float = pi / 4,
    holder_arc: float = pi / 6,
    depth: float = 0.12,
) -> Geometry:
    """The geometry of the arm from its design parameters.

    The column is the z axis; the horizontal links are at `height`. The curved links have `radius`
    about the remote centre. Seen from there, the axis of joint 4 is `inclination` above the
    horizontal plane, that of joint 5 `link_arc` above it, and the instrument `holder_arc` above
    that; rad. The tip is `depth` beyond the remote centre. Lengths in m.
    """
    ends = np.cumsum([0.0, carriage, upper_arm, forearm])
    shoulder, elbow, wrist = (np.array([x, 0.0, height]) for x in ends[1:])
    angles = inclination + np.array([0.0, link_arc, link_arc + holder_arc])

    def inwards(angle):
        return np.array([np.cos(angle), 0.0, -np.sin(angle)])

    centre = wrist + radius * inwards(angles[0])
    roll, pitch, instrument = map(inwards, angles)
    arcs = [
        np.array([centre - radius * inwards(x) for x in np.linspace(begin, end, 25)])
        for begin, end in pairwise(angles)
    ]
    tube = np.linspace(centre - radius * instrument, centre + depth * instrument, 25)
    z = np.array([0.0, 0.0, 1.0])
    straight = ((z * height, shoulder), (shoulder, elbow), (elbow, wrist))
    return Geometry(
        axes=np.array([z, z, z, roll, pitch]),
        points=np.array([np.zeros(3), shoulder, elbow, centre, centre]),
        curves=[
            *(np.linspace(begin, end, 25) for begin, end in straight),
            *(arcs[0], np.concatenate([arcs[1], tube])),
        ],
        remote_centre=centre,
        instrument=instrument,
    )


def remote_centre_arm(
    description: str = "spatial screws",
    masses: tuple[float, ...] = (3.0, 2.0, 1.5, 0.8, 0.6),
    **dimensions: float,
) -> dyn.MultibodyModel:
    """Model the arm by one of the DESCRIPTIONS, which differ in the frames of axes and points.

    `dimensions` are those of :func:`geometry`. Each body frame is at the centre of mass of its
    link and has inertial axes at q = 0. The frames "incision" on the forearm and "instrument" on
    the last link, with z along it, both have their origin in the remote centre.
    """
    shape = geometry(**dimensions)
    parents = range(-1, 4)
    coms = np.array([curve.mean(axis=0) for curve in shape.curves])
    bodies = se3.from_rotation_translation(np.eye(3), coms)
    mounts = np.concatenate([[np.eye(4)], bodies[:-1]])  # the frames of the parents
    inertias = [wire(m, curve) for m, curve in zip(masses, shape.curves, strict=True)]

    def screws(axes, points):
        turning = [dyn.revolute(e, y) for e, y in zip(axes[1:], points[1:], strict=True)]
        return [dyn.prismatic(axes[0]), *turning]

    centre = shape.remote_centre
    options = {
        "joint_names": JOINTS,
        "body_names": LINKS,
        "name": "remote_centre_arm",
        "frames": {
            "incision": dyn.model.Frame(2, frame_in(bodies[2], np.eye(3), centre)),
            "instrument": dyn.model.Frame(
                4, frame_in(bodies[4], dyn.model.joints.turn_z_to(shape.instrument), centre)
            ),
        },
    }
    if description == "joint frames":  # the frames of the joints in each body, with z as joint axis
        axes = [dyn.model.joints.turn_z_to(e) for e in shape.axes]
        return dyn.theory.model_from_joint_frames(
            parents,
            [frame_in(*row) for row in zip(mounts, axes, shape.points, strict=True)],
            [frame_in(*row) for row in zip(bodies, axes, shape.points, strict=True)],
            screws(np.tile((0.0, 0.0, 1.0), (5, 1)), np.zeros((5, 3))),
            inertias,
            **options,
        )
    if description == "body screws":  # the pose of each body in its parent, and its axis
        return dyn.theory.model_from_body_screws(
            parents,
            se3.inverse(mounts) @ bodies,
            screws(shape.axes, shape.points - coms),
            inertias,
            **options,
        )
    if description != "spatial screws":
        raise ValueError(f"description '{description}' is not one of {', '.join(DESCRIPTIONS)}")
    return dyn.model_from_screws(
        parents, screws(shape.axes, shape.points), bodies, inertias, **options
    )


def frame_in(body, R, point):
    """The pose in a body of the frame with axes R and origin `point`."""
    return se3.inverse(body) @ se3.from_rotation_translation(R, point)


def wire(mass, curve):
    """Spatial inertia of equal point masses along a curve, about their centre of mass."""
    spread = mass * np.cov(curve.T, bias=True)
    return dyn.spatial_inertia(mass, np.zeros(3), np.trace(spread) * np.eye(3) - spread)


def main(arguments: list[str] | None = None) -> float:
    """Returns how far joints 4 and 5 move the remote centre, m: by rounding errors only."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the arm pivoting")
    options = parser.parse_args(arguments)

    robots = {name: remote_centre_arm(name) for name in DESCRIPTIONS}
    model = robots["spatial screws"]
    q = np.random.default_rng(4).uniform(-pi, pi, (1000, model.n)) * (0.1, 1, 1, 1, 1)
    kinds = (
        dyn.theory.JointFrameDescription,
        dyn.theory.BodyScrewDescription,
        dyn.theory.SpatialScrewDescription,
    )
    expected = dyn.forward_kinematics(model, q).pose
    for kind, (name, robot) in zip(kinds, robots.items(), strict=True):
        difference = np.abs(kind.of(robot).poses(q) - expected).max()
        print(f"poses by {name:<15} differ by {difference:.0e} from the recursion")

    incision, instrument = (dyn.frame_pose(model, q, name) for name in ("incision", "instrument"))
    moved = float(np.linalg.norm((instrument - incision)[:, :3, 3], axis=1).max())
    print(f"joints 4 and 5 move the remote centre by {moved:.0e} m in {len(q)} configurations")

    q = np.array([0.05, 0.5, -1.1, 0.4, 0.3])
    J = dyn.jacobian(model, q, "instrument", representation="hybrid")
    print(f"its velocity from their rates: {np.abs(J[3:, 3:]).max():.0e} m/rad")
    np.set_printoptions(precision=4, suppress=True)
    for body in ("forearm", "instrument_holder"):
        for representation in ("body", "spatial"):
            print(f"{representation} Jacobian of the {body} at q = {q}")
            print(dyn.jacobian(model, q, body, representation=representation) + 0.0)
    if options.picture:
        draw(model, q, options.picture)
    return moved


def draw(model, q, file):
    from matplotlib import pyplot

    shape = geometry()
    swings = np.linspace(-0.9, 0.9, 7)[:, None] * np.eye(5)[3:, None]  # of joint 4, of joint 5
    pivoting = q + swings.reshape(-1, 5)
    figure = pyplot.figure(figsize=(9, 5))
    axes = figure.add_axes((-0.05, -0.1, 0.9, 1.2), projection="3d")
    for state, faint in [*((x, True) for x in pivoting), (q, False)]:
        motions = dyn.forward_kinematics(model, state).pose @ se3.inverse(model.poses)
        for k, (C, curve) in enumerate(zip(motions, shape.curves, strict=True)):
            if k >= 3 or not faint:
                line = curve @ C[:3, :3].T + C[:3, 3]
                style = {"color": "#999999", "lw": 0.8} if faint else {"color": f"C{k}", "lw": 3.0}
                axes.plot(*line.T, **style, label=None if faint else model.body_names[k])
    centre = dyn.frame_pose(model, q, "incision")[:3, 3]
    axes_of_pivot = dyn.jacobian(model, q, "instrument")[:3, 3:]
    for name, e, style in zip(JOINTS[3:], axes_of_pivot.T, ("--", ":"), strict=True):
        line = centre + np.outer((-0.3, 0.15), e)
        axes.plot(*line.T, "k", ls=style, lw=1.0, label=f"axis of {name}")
    axes.plot([0, 0], [0, 0], [0.2, 0.7], color="#333333", lw=5.0, label="column")
    axes.scatter(*centre, color="k", s=40, zorder=9, label="remote centre")
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", yticks=(-0.2, 0.0, 0.2))
    axes.set_aspect("equal")
    axes.view_init(elev=18, azim=-100)
    figure.legend(loc="center right", frameon=False)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
