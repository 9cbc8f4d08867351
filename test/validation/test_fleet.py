# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Many recordings, compared one by one, in processes and on a cluster: equal results."""

import numpy as np
import pytest
from distributed import LocalCluster

from bag_files import messages_of, motion, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.validation.fleet import pooled_residuals, validate_all
from multibody_dynamics.validation.settings import Settings
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
MODEL = dyn.load_urdf(ARM)
SETTINGS = Settings(ARM, cutoff=10.0)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Two recordings and a missing one."""
    folder = tmp_path_factory.mktemp("bags")
    found = [folder / "absent"]
    for k, count in enumerate((3000, 1500)):
        t, rows = motion(MODEL, count, noise=1e-3 * k)
        found.append(write_bag(folder / f"bag{k}", messages_of(t, rows, MODEL.joint_names)))
    return found


@pytest.fixture(scope="module")
def one_by_one(paths):
    return validate_all(paths, SETTINGS)


def same(outcomes, others):
    assert outcomes[0] == others[0]
    for one, other in zip(outcomes[1:], others[1:], strict=True):
        for a, b in zip(one.residuals, other.residuals, strict=True):
            for name in ("count", "mean", "spread", "absolute", "squared", "largest", "when"):
                assert np.array_equal(getattr(a, name), getattr(b, name))
    for a, b in zip(pooled_residuals(outcomes)[1], pooled_residuals(others)[1], strict=True):
        assert np.array_equal(a.squared, b.squared)


def test_an_unreadable_recording_does_not_affect_the_others(paths, one_by_one):
    assert "absent" in one_by_one[0]
    names, totals = pooled_residuals(one_by_one)
    assert names == MODEL.joint_names
    assert totals[0].count == sum(each.residuals[0].count for each in one_by_one[1:])
    assert pooled_residuals(one_by_one[:1]) == ((), [])


def test_in_processes(paths, one_by_one):
    seen = []
    same(validate_all(paths, SETTINGS, processes=2, progress=lambda *x: seen.append(x)), one_by_one)
    assert seen == [(k, 3) for k in range(4)]


def test_on_a_cluster_of_two_workers(paths, one_by_one):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        same(validate_all(paths, SETTINGS, dask=cluster.scheduler_address), one_by_one)


def test_a_missing_cluster(paths):
    with pytest.raises(InputError, match="no scheduler answers"):
        validate_all(paths, SETTINGS, dask="not an address")
