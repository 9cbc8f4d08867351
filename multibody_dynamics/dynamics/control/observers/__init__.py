# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The state, disturbances and inertias of a running robot, estimated from its signals."""
