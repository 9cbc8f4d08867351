#!/usr/bin/env bash
# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

# Runs tests with every other CPython from 3.10 to 3.14 on PATH or below ~/.pyenv, each in its own
# environment from PyPI wheels, below build/:
#
#     scripts/pythons.sh [PYTEST ARGUMENT...]
#
# Without arguments: the installation, the recursions, the example programs, and nodes over DDS.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=("$@")
if [[ $# -eq 0 ]]; then
    tests=(test/test_installation.py test/dynamics/recursions test/test_example_programs.py
        test/nodes/test_feedforward_node.py)
fi
own=$("${PYTHON:-python3}" -c 'import sys; print(sys.version_info.minor)')
passed=()
failed=()
for minor in 10 11 12 13 14; do
    [[ $minor == "$own" ]] && continue
    for python in "$(command -v "python3.$minor")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python3; do
        "$python" -c "" 2>/dev/null || continue
        echo "== $("$python" --version)"
        if PYTHON=$python MULTIBODY_DYNAMICS_VENV=$PWD/build/python3.$minor OPENBLAS_NUM_THREADS=1 \
            scripts/environment.sh python -m pytest -q --timeout 900 -n 2 "${tests[@]}"; then
            passed+=("3.$minor")
        else
            failed+=("3.$minor")
        fi
        break
    done
done
echo "Besides CPython 3.$own, passed: ${passed[*]:-none}; failed: ${failed[*]:-none}"
[[ ${#failed[@]} -eq 0 ]]
