// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#ifndef ROBOT_ROS2_CONTROL_TARGETS_HPP
#define ROBOT_ROS2_CONTROL_TARGETS_HPP

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include "robot_controller.h"

namespace robot_ros2_control
{
/* One value for each joint in the order of the core, rad and rad/s, or m and m/s. */
struct JointRow
{
  double value[ROBOT_JOINTS];
};
static_assert(sizeof(JointRow) == sizeof(double[ROBOT_JOINTS]), "rows of the core's tables");

/* The targets of one message of a stream, as they pass to the cycle. */
struct Targets
{
  bool is_stamped = false;
  double start = 0.0; /* s, of the core's clock, if the message has a stamp */
  std::vector<double> times; /* s, after the start, or after the message should have arrived */
  std::vector<JointRow> positions;
  std::vector<JointRow> velocities; /* not a number where none was sent */
  std::atomic<bool> is_used{false}; /* from its message until the cycle has done with it */
};

/*
 * Reads the messages of a stream outside of the cycle, as the nodes of multibody_dynamics read them.
 * Each function fills rows and times of `targets`, and returns an empty text, or why the message is
 * refused.
 */
class TargetReader
{
public:
  /* Names of the joints in messages, which is also the order of arrays without names. */
  void set(const std::vector<std::string> & names) {names_ = names;}

  /* Points with positions; velocities are optional, accelerations unused. */
  std::string read(const trajectory_msgs::msg::JointTrajectory & message, Targets & targets) const;
  /* One target, which may be among other joints. */
  std::string read(const sensor_msgs::msg::JointState & message, Targets & targets) const;
  std::string read(const std_msgs::msg::Float64MultiArray & message, Targets & targets) const;

private:
  std::string add(
    double time, const std::vector<std::string> & names, const std::vector<double> & positions,
    const std::vector<double> & velocities, Targets & targets) const;

  std::vector<std::string> names_;
};

/* Where each of `names` is `among` others; returns an empty text, or which one is missing. */
std::string find_columns(
  const std::vector<std::string> & names, const std::vector<std::string> & among,
  std::size_t (& columns)[ROBOT_JOINTS]);

}  // namespace robot_ros2_control

#endif
