// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#include "targets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace robot_ros2_control
{
namespace
{
void clear(Targets & targets)
{
  targets.times.clear();
  targets.positions.clear();
  targets.velocities.clear();
}
}  // namespace

std::string find_columns(
  const std::vector<std::string> & names, const std::vector<std::string> & among,
  std::size_t (& columns)[ROBOT_JOINTS])
{
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    const auto found = std::find(among.begin(), among.end(), names[i]);
    if (found == among.end()) {
      return "joint '" + names[i] + "' is missing";
    }
    columns[i] = static_cast<std::size_t>(found - among.begin());
  }
  return "";
}

std::string TargetReader::add(
  double time, const std::vector<std::string> & names, const std::vector<double> & positions,
  const std::vector<double> & velocities, Targets & targets) const
{
  std::size_t columns[ROBOT_JOINTS];
  const std::string missing = find_columns(names_, names, columns);
  if (!missing.empty()) {
    return missing;
  }
  const bool has_velocities = !velocities.empty();
  if (positions.size() != names.size() || (has_velocities && velocities.size() != names.size())) {
    return std::to_string(positions.size()) + " positions and " +
           std::to_string(velocities.size()) + " velocities of " + std::to_string(names.size()) +
           " joints";
  }
  JointRow position, velocity;
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    position.value[i] = positions[columns[i]];
    velocity.value[i] = has_velocities ? velocities[columns[i]] : 0.0;
    if (!std::isfinite(position.value[i]) || !std::isfinite(velocity.value[i])) {
      return "a number of '" + names_[i] + "' is not finite";
    }
    if (!has_velocities) {
      velocity.value[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  targets.times.push_back(time);
  targets.positions.push_back(position);
  targets.velocities.push_back(velocity);
  return "";
}

std::string TargetReader::read(
  const trajectory_msgs::msg::JointTrajectory & message, Targets & targets) const
{
  clear(targets);
  for (std::size_t k = 0; k < message.points.size(); ++k) {
    const auto & point = message.points[k];
    const double time = static_cast<double>(point.time_from_start.sec) +
      1e-9 * static_cast<double>(point.time_from_start.nanosec);
    std::string wrong;
    if (k > 0 && !(time > targets.times.back())) {
      wrong = "is not later than the point before";
    } else {
      wrong = add(time, message.joint_names, point.positions, point.velocities, targets);
    }
    if (!wrong.empty()) {
      return "point " + std::to_string(k) + ": " + wrong;
    }
  }
  return "";
}

std::string TargetReader::read(
  const sensor_msgs::msg::JointState & message, Targets & targets) const
{
  clear(targets);
  return add(0.0, message.name, message.position, message.velocity, targets);
}

std::string TargetReader::read(
  const std_msgs::msg::Float64MultiArray & message, Targets & targets) const
{
  std::vector<std::string> labels;
  for (const auto & dimension : message.layout.dim) {
    if (!dimension.label.empty()) {
      labels.push_back(dimension.label);
    }
  }
  clear(targets);
  if (!labels.empty() && labels != names_) {
    return "its labels are not the names of the joints in their order";
  }
  return add(0.0, names_, message.data, {}, targets);
}

}  // namespace robot_ros2_control
