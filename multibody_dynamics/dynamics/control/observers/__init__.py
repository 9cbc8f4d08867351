"""The state, disturbances and inertias of a running robot, estimated from its signals."""
