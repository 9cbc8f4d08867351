# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Collision geometry of a URDF: capsules that enclose it, and exact checks."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.motions.collision_geometry import collision_geometry
from urdf_parts import joint, link, robot

SHAPES = {
    "base": '<box size="0.4 0.4 0.2"/>',
    "upper": '<cylinder radius="0.05" length="0.5"/>',
    "fore": '<box size="0.1 0.06 0.4"/>',
    "hand": '<sphere radius="0.08"/>',
}
PLACES = {"base": "0 0 -0.1", "upper": "0 0 0.25", "fore": "0 0 0.2", "hand": "0 0 0.05"}


def urdf(tmp_path, shapes=SHAPES):
    solid = '<collision><origin xyz="{}"/><geometry>{}</geometry></collision>'
    links = [link(k, 1.0, more=solid.format(PLACES[k], each)) for k, each in shapes.items()]
    at = {"axis": "0 1 0", "limit": "-3 3 2 50"}
    joints = (
        joint("upper_joint", "revolute", "base", "upper", "0 0 0.05", **at),
        joint("fore_joint", "revolute", "upper", "fore", "0 0 0.5", **at),
        joint("hand_joint", "continuous", "fore", "hand", "0 0 0.4", **at),
    )
    file = tmp_path / "arm.urdf"
    file.write_text(robot("arm", *links, *joints))
    return file


def test_capsules_enclose_their_shapes(tmp_path):
    file = urdf(tmp_path)
    model = dyn.load_urdf(file)
    geometry = collision_geometry(model, file)
    capsules = geometry.capsules
    of = {int(body): k for k, body in enumerate(capsules.bodies)}
    assert set(of) == {-1, 0, 1, 2}
    upper = of[0]
    np.testing.assert_allclose(np.sort(capsules.ends[upper][:, 2]), [0.0, 0.5], atol=1e-12)
    assert capsules.radii[upper] == pytest.approx(0.05)
    corners = np.array(np.meshgrid([-0.05, 0.05], [-0.03, 0.03], [0.0, 0.4])).reshape(3, -1).T
    start, end = capsules.ends[of[1]]
    along = (end - start) / np.linalg.norm(end - start)
    inside = np.clip((corners - start) @ along, 0.0, np.linalg.norm(end - start))
    apart = np.linalg.norm(corners - start - inside[:, None] * along, axis=1)
    assert (apart <= capsules.radii[of[1]] + 1e-9).all()


def test_a_motion_into_the_base_is_found_and_one_above_it_is_not(tmp_path):
    file = urdf(tmp_path)
    model = dyn.load_urdf(file)
    geometry = collision_geometry(model, file)
    names = model.joint_names
    free = dyn.motion.interpolate(names, [0.0, 1.0], [np.zeros(3), [0.3, 0.3, 2.0]])
    assert geometry.first_collision(free) is None
    folded = dyn.motion.interpolate(names, [0.0, 1.0], [np.zeros(3), [0.4, 2.9, 0.0]])
    found = geometry.first_collision(folded)
    assert "base" in found
    assert "hand" in found or "fore" in found


def test_capsules_touch_before_the_shapes_do(tmp_path):
    """Configurations in which the capsules are apart are free of collisions."""
    file = urdf(tmp_path)
    model = dyn.load_urdf(file)
    geometry = collision_geometry(model, file)
    limits = idn.ExcitationLimits.of(model, capsules=geometry.capsules, clearance=1e-3)
    rng = np.random.default_rng(1)
    free = touching = 0
    for q in rng.uniform(-2.8, 2.8, (160, 3)):
        hold = dyn.motion.Trajectory(
            model.joint_names, np.array([0.0, 0.02]), np.stack([_still(q), _still(q)])
        )
        apart = idn.exceeded_limit(limits, hold) is None
        collides = geometry.first_collision(hold) is not None
        free += apart
        touching += collides
        assert not (apart and collides)
    assert free > 5
    assert touching > 2


def _still(q):
    state = np.zeros((5, 3))
    state[0] = q
    return state


def test_no_geometry_and_missing_meshes(tmp_path):
    bare = tmp_path / "bare.urdf"
    bare.write_text(urdf(tmp_path).read_text().replace("collision", "visual"))
    assert collision_geometry(dyn.load_urdf(bare), bare) is None
    file = urdf(tmp_path, SHAPES | {"hand": '<mesh filename="hand.stl"/>'})
    with pytest.raises(InputError, match=r"arm\.urdf: collision geometry"):
        collision_geometry(dyn.load_urdf(file), file)
