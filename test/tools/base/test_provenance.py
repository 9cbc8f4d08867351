# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where results come from: digests identify contents, and versions name what is not installed."""

from importlib.metadata import version

from multibody_dynamics import __version__
from multibody_dynamics.tools.base.provenance import digest_of, versions


def test_versions_are_those_of_the_installed_packages():
    found = versions(("numpy", "no_such_package"))
    assert found["multibody_dynamics"] == __version__
    assert found["numpy"] == version("numpy")
    assert found["no_such_package"] == "not installed"


def test_a_digest_is_that_of_the_content(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("abc")
    two.write_text("abc")
    assert digest_of(one) == digest_of(two) == "ba7816bf8f01cfea"  # FIPS 180-2, example B.1
    two.write_text("abd")
    assert digest_of(one) != digest_of(two)
    assert digest_of(tmp_path) == digest_of(tmp_path)
