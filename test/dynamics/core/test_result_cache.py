# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Results of slow computations, kept for the next process."""

import os
import resource
import subprocess
import sys
import types
from dataclasses import dataclass, replace

import numpy as np
import pytest

from elastic_arms import shipped
from multibody_dynamics.dynamics.control import ControllerSettings, FlatnessSettings
from multibody_dynamics.dynamics.core import cached_result, compilation
from multibody_dynamics.dynamics.core.result_cache import MOST, digest
from rejections import assert_rejected

PROGRAM = """
import sys
import numpy as np
from multibody_dynamics.dynamics.core import cached_result

def compute():
    print("computed")
    return {"rows": np.arange(1000.0)}

for k in range(int(sys.argv[1])):
    assert (cached_result("test", ("robot", k % 7), compute)["rows"] == np.arange(1000.0)).all()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    if not compilation.IS_COMPILED:
        pytest.skip("nothing is kept without Numba")
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)
    return tmp_path


def started(tmp_path, count=1, **options):
    environment = os.environ | {"MULTIBODY_DYNAMICS_CACHE_DIR": str(tmp_path)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(count)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def counted(arguments):
    """How often the result for these arguments is computed, asked for twice."""
    calls = []
    for _ in range(2):
        assert cached_result("test", arguments, lambda: calls.append(1) or 7.0) == 7.0
    return len(calls)


def test_equal_arguments_are_computed_once_and_any_other_again(folder):
    arm = shipped("planar_two_link")
    settings = FlatnessSettings()
    first = (arm.model, arm.actuators, settings, arm.rest, {"delay": 0.001, "poses": 100})
    assert counted(first) == 1
    again = shipped("planar_two_link")
    assert counted((again.model, again.actuators, FlatnessSettings(), *first[3:])) == 0
    motor = replace(arm.actuators.actuators[0].motors[0], viscous=0.123)
    others = (
        (arm.model.with_gravity((0.0, 0.0, -9.80)), *first[1:]),
        (arm.model.with_payload(arm.model.body_names[-1], 1e-9), *first[1:]),
        (
            arm.model,
            replace(
                arm.actuators,
                actuators=(
                    arm.actuators.actuators[0].with_motors([motor]),
                    *arm.actuators.actuators[1:],
                ),
            ),
            *first[2:],
        ),
        (*first[:2], replace(settings, motor_bandwidth=99.0), *first[3:]),
        (*first[:3], np.nextafter(arm.rest, 9.0), first[4]),
        (*first[:4], {"delay": 0.001, "poses": 101}),
        (*first[:4], {"delay": 0.001}, {"poses": 100}),
    )
    for other in others:
        assert counted(other) == 1


def test_numbers_shapes_and_types_that_look_alike_differ():
    values = (1, 1.0, True, "1", (1,), [1], {1: None}, {None: 1}, np.ones(1), np.ones((1, 1)), 1j)
    values += (np.float32(1.0), np.ones(1, dtype=int), None, ((1,),), (1, None), -0.0, 0.0)
    assert len({digest(value) for value in values}) == len(values)


@dataclass(frozen=True)
class Foreign:
    """Its code is not in the hash of this library."""

    size: float = 1.0


@pytest.mark.parametrize(
    "value", [Foreign(), lambda: 0, types.SimpleNamespace(), np.array([None]), {"a": [object()]}]
)
def test_with_code_of_others_nothing_is_kept(folder, value):
    assert counted((ControllerSettings(), value)) == 2
    assert not list(folder.iterdir())


def test_a_damaged_file_is_computed_again_and_replaced(folder):
    assert counted("arguments") == 1
    (file,) = folder.glob("test-*.result")
    content = file.read_bytes()
    for damaged in (b"", content[:-1], content[:40], content.replace(b"\x07", b"\x08") + b"x"):
        file.write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert counted("arguments") == 1
        assert file.read_bytes() == content


def test_exceptions_are_not_kept(folder):
    def fails():
        raise ValueError("not now")

    assert_rejected((lambda: cached_result("test", 1, fails), "not now"), error=ValueError)
    assert counted(1) == 1


def test_old_results_make_room_for_new_ones(folder):
    for k in range(MOST + 20):
        cached_result("test", k, lambda k=k: k)
        os.utime(next(folder.glob(f"test-{digest(k)}.result")), (k, k))
    kept = {file.name for file in folder.iterdir()}
    assert len(kept) == MOST
    assert f"test-{digest(MOST + 19)}.result" in kept
    assert f"test-{digest(0)}.result" not in kept


def test_processes_at_once_and_later_ones_get_complete_results(tmp_path):
    several = [started(tmp_path, 200) for _ in range(3)]
    for process in several:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert output.count("computed") <= 7
    late = started(tmp_path, 200)
    assert late.communicate(timeout=120)[0] == ""
    assert not list(tmp_path.rglob("*.result.*")), "unfinished files"


def test_a_full_disk_costs_a_warning(tmp_path):
    """A limit of file sizes acts as a full disk."""

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for _ in range(2):
        process = started(tmp_path, preexec_fn=small_files)
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert output == "computed\n"
        assert "cannot be cached" in errors
