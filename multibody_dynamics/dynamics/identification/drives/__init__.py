# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Links, friction, motors and springs, identified jointly from whatever was measured."""
