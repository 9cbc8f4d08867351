# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""share_directory finds the files that belong to the code in every kind of installation."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from multibody_dynamics import resources

PACKAGE = Path(resources.__file__).parent


def found_from(code: Path) -> subprocess.CompletedProcess[str]:
    """The result of share_directory for a copy of the code in `code`."""
    (code / "multibody_dynamics").mkdir(parents=True)
    for name in ("__init__.py", "resources.py"):
        shutil.copy(PACKAGE / name, code / "multibody_dynamics")
    program = "from multibody_dynamics.resources import share_directory; print(share_directory())"
    return subprocess.run([sys.executable, "-c", program], cwd=code, capture_output=True, text=True)


def make_share(folder: Path) -> None:
    (folder / "config").mkdir(parents=True)
    (folder / "package.xml").touch()


@pytest.mark.parametrize(
    ("code", "share"),
    [
        ("checkout", "checkout"),
        ("prefix/lib/python3.12/site-packages", "prefix/share/multibody_dynamics"),
        ("usr/local/lib/python3.12/dist-packages", "usr/local/share/multibody_dynamics"),
        ("target", "target/share/multibody_dynamics"),
    ],
)
def test_files_beside_the_code_are_found(tmp_path, code, share):
    make_share(tmp_path / share)
    assert found_from(tmp_path / code).stdout.strip() == str(tmp_path / share)


def test_a_checkout_uses_its_own_files_beside_an_installation(tmp_path):
    make_share(tmp_path / "share" / "multibody_dynamics")
    make_share(tmp_path / "checkout")
    assert found_from(tmp_path / "checkout").stdout.strip() == str(tmp_path / "checkout")


def test_code_without_its_files_says_what_to_do(tmp_path):
    run = found_from(tmp_path / "alone")
    assert run.returncode != 0
    assert "reinstall the package with pip or colcon" in run.stderr


def test_our_share_directory_has_the_configuration():
    assert (resources.share_directory() / "config" / "fastdds_localhost.xml").is_file()
