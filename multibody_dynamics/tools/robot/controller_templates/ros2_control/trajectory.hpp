// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#ifndef ROBOT_ROS2_CONTROL_TRAJECTORY_HPP
#define ROBOT_ROS2_CONTROL_TRAJECTORY_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include "robot_controller.h"

namespace robot_ros2_control
{
/* One segment stays free for the path to rest, and one for waiting until the motion begins. */
static_assert(ROBOT_SEGMENTS >= 3, "the plugin needs a segment for at least one point");

struct Knot
{
  double time; /* s, of the core's clock */
  double state[5][ROBOT_JOINTS]; /* q..q'''' in the order of the core */
};

/* The points of one message, as they pass to the cycle. */
struct Motion
{
  std::uint64_t id = 0; /* increases from motion to motion */
  double start = 0.0; /* s, of the core's clock: the motion after this time is replaced */
  std::vector<Knot> points;
  std::atomic<bool> is_used{false}; /* from its message until the cycle has done with it */
};

/*
 * Reads trajectories outside of the cycle.
 *
 * A message has positions, velocities and accelerations. The jerk and its derivative at a point are
 * those of the polynomial through the positions, velocities and accelerations of this point and its
 * neighbours; they are zero where the robot is at rest. A point without velocities and accelerations
 * is one at rest.
 */
class TrajectoryReader
{
public:
  /* Names of the joints in messages, and the limits that motions must keep. */
  void set(const std::vector<std::string> & names, const robot_parameters & parameters);

  /*
   * Fill `motion`, which begins at `start`. Returns an empty text, or why the message is refused. All
   * segments but the first are checked against the limits here; the first one begins where the
   * robot is then, and is checked in the cycle.
   */
  std::string read(
    const trajectory_msgs::msg::JointTrajectory & message, double start, Motion & motion);

  /* Why these are not the joints of the controller, or an empty text. */
  std::string match(const std::vector<std::string> & names);

private:
  std::string check(Motion & motion);

  std::vector<std::string> names_;
  robot_parameters parameters_{};
  std::size_t column_[ROBOT_JOINTS] = {}; /* of each joint in the message */
  std::unique_ptr<robot_reference> scratch_ = std::make_unique<robot_reference>();
};

/*
 * The third and fourth derivative at the node `at` of the polynomial of degree 3 count - 1 that has
 * the given values and two derivatives at 2 or 3 nodes.
 */
std::array<double, 2> higher_derivatives(
  const std::vector<double> & time, const std::vector<std::array<double, 3>> & value,
  std::size_t at);

}  // namespace robot_ros2_control

#endif
