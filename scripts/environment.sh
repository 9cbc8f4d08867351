#!/usr/bin/env bash
# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

# Runs a command in the project's own Python environment, which is created first if it is missing
# or out of date:
#
#     scripts/environment.sh COMMAND [ARGUMENT...]
#     scripts/environment.sh --demo COMMAND [ARGUMENT...]
#
# With --demo, an environment that must be created gets only what the demo needs; the next command
# without it adds the packages for tests, documentation and comparisons.
#
# ROS nodes find only each other: they use this computer only and a ROS domain of this checkout. It is
# printed by commands that start or watch nodes, and by shells.
#
# No ROS 2 sourced: ROS 2 comes from PyPI (Jazzy; Linux on x86-64, CPython 3.10 to 3.14).
# ROS 2 sourced:    this ROS 2 is used; the environment sees the system's packages, keeps their
#                   NumPy, for which the ROS messages were compiled, and adds only missing
#                   packages.
#
# PYTHON                   base interpreter (python3)
# MULTIBODY_DYNAMICS_VENV  folder of the environment (.venv)
# MULTIBODY_DYNAMICS_DOMAIN_ID  another ROS domain
set -euo pipefail

if [[ $# -eq 0 || $1 == -h || $1 == --help ]]; then # print the lines above
    sed -n '/^# Runs/,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit $(($# == 0 ? 2 : 0))
fi

needs=all
if [[ $1 == --demo ]]; then
    needs=demo
    shift
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=${MULTIBODY_DYNAMICS_VENV:-$root/.venv}
python=${PYTHON:-python3}

fail() {
    echo "environment.sh: $*" >&2
    exit 1
}

# A process started from another environment with ROS wheels inherits the library path of that
# environment, and a guard that would prevent the right one from being set.
if [[ -n ${_ROS_WHEELS_BOOTSTRAP_COMPLETE:-} ]]; then
    unset _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
fi

if [[ -n ${ROS_DISTRO:-} && -n ${AMENT_PREFIX_PATH:-} ]] && "$python" -c "import rclpy" 2>/dev/null; then
    ros="sourced $ROS_DISTRO"
else
    ros="wheels"
    unset ROS_DISTRO AMENT_PREFIX_PATH PYTHONPATH
    export RMW_IMPLEMENTATION=rmw_fastrtps_cpp # the only one among the wheels
fi

check_machine() {
    command -v "$python" >/dev/null || fail "$python was not found: set PYTHON=..."
    "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' ||
        fail "$python is $("$python" --version 2>&1), but CPython 3.10 to 3.14 is required: set PYTHON=..."
    "$python" -c "import venv, ensurepip" 2>/dev/null ||
        fail "$python cannot create an environment with pip." \
            "On Debian and Ubuntu: apt install python3-venv; or set PYTHON=... to another Python."
    if [[ $ros == wheels && $(uname -sm) != "Linux x86_64" ]]; then
        fail "the ROS 2 wheels require Linux on x86-64, but this is $(uname -sm):" \
            "source an installed ROS 2 (source /opt/ros/jazzy/setup.bash) and try again."
    fi
}

make_environment() {
    local started=$SECONDS
    check_machine
    if [[ $ros == wheels ]]; then
        case $needs in
        demo) install=("$root[ros,mujoco,view]") size="0.8 GB" ;;
        *) install=("$root[ros,docs,pinocchio,mujoco,dask,parquet,view,test]") size="2.7 GB" ;;
        esac
        if is_current; then
            echo "Adding the packages for tests and documentation to $venv: $size in all ..." >&2
        else
            echo "Creating $venv with ROS 2 Jazzy from PyPI: one to three minutes, $size ..." >&2
            "$python" -m venv --clear "$venv"
        fi
    else
        echo "Creating $venv on top of the $ros ROS 2 ..." >&2
        is_current || "$python" -m venv --clear --system-site-packages "$venv"
        numpy=$("$python" -c "import numpy; print(numpy.__version__)")
        extras=docs,mujoco,dask,parquet,view,test
        [[ $needs == demo ]] && extras=mujoco,view
        install=("$root[$extras]" "numpy==$numpy")
        "$python" -c "import pinocchio" 2>/dev/null ||
            echo "The tests need Pinocchio: rosdep install --from-paths '$root' --ignore-src" >&2
    fi
    # The pip that comes with Python 3.10 searches for fitting versions for more than seven minutes.
    # Byte code of what is imported is written then; that of all packages takes half of the time.
    local pip=("$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-compile)
    "${pip[@]}" "pip>=24.1" && "${pip[@]}" --editable "${install[@]}" ||
        fail "pip could not install the packages of setup.py (see above)."
    echo "$stamp" >"$venv/made-from"
    echo "$needs" >"$venv/made-for"
    echo "$root" >"$venv/checkout"
    echo "Created $venv in $((SECONDS - started)) s." >&2
}

# The environment is created again whenever any of this changes.
stamp="$ros, $("$python" --version 2>&1), $venv, $(cat "$root"/{setup.py,setup.cfg,package.xml,scripts/environment.sh} | cksum)"
is_current() {
    [[ $(cat "$venv/made-from" 2>/dev/null) == "$stamp" ]]
}
if ! is_current || [[ $needs == all && $(cat "$venv/made-for" 2>/dev/null) != all ]]; then
    make_environment
fi
# An environment that several checkouts share runs the code of one of them.
if [[ $(cat "$venv/checkout" 2>/dev/null) != "$root" ]]; then
    echo "$venv ran the code of $(cat "$venv/checkout" 2>/dev/null || echo another folder); from now on, that of $root" >&2
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-deps \
        --editable "$root" || fail "pip could not install $root (see above)."
    echo "$root" >"$venv/checkout"
fi

export VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH
unset PYTHONDONTWRITEBYTECODE # processes that find byte code start in two thirds of the time
settings=$("$venv/bin/python" -m multibody_dynamics.tools.environment)
eval "$settings"
case "${1##*/} ${2:-}" in # say where the nodes of this command are to be found
"bash "* | "sh "* | "zsh "* | "fish "* | *"_node "* | "ros2 "* | \
    *" demo" | *" task-demo" | *" loop" | *" compose" | *" monitor" | *" record")
    echo "ROS domain $ROS_DOMAIN_ID, this computer only; MULTIBODY_DYNAMICS_DOMAIN_ID=N chooses another" >&2
    ;;
esac
exec "$@"
