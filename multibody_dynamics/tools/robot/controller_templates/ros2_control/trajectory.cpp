// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#include "trajectory.hpp"

#include <algorithm>
#include <cmath>

#include "targets.hpp"

namespace robot_ros2_control
{
namespace
{
using Message = trajectory_msgs::msg::JointTrajectory;
using Point = trajectory_msgs::msg::JointTrajectoryPoint;

double seconds(const builtin_interfaces::msg::Duration & duration)
{
  return static_cast<double>(duration.sec) + 1e-9 * static_cast<double>(duration.nanosec);
}

bool is_at_rest(const Point & point)
{
  const auto is_zero = [](double x) {return x == 0.0;};
  return std::all_of(point.velocities.begin(), point.velocities.end(), is_zero) &&
         std::all_of(point.accelerations.begin(), point.accelerations.end(), is_zero);
}

/* Why a point cannot be used, or an empty text. */
std::string defect(const Point & point)
{
  const auto is_finite = [](double x) {return std::isfinite(x);};
  if (point.positions.size() != ROBOT_JOINTS) {
    return "has " + std::to_string(point.positions.size()) + " positions instead of " +
           std::to_string(ROBOT_JOINTS);
  }
  const bool rests = point.velocities.empty() && point.accelerations.empty();
  if (
    !rests && (point.velocities.size() != ROBOT_JOINTS ||
    point.accelerations.size() != ROBOT_JOINTS))
  {
    return "needs a velocity and an acceleration for every joint, or none if it is at rest";
  }
  for (const auto * row : {&point.positions, &point.velocities, &point.accelerations}) {
    if (!std::all_of(row->begin(), row->end(), is_finite)) {
      return "has a number that is not finite";
    }
  }
  return "";
}

std::array<double, 3> column_of(const Point & point, std::size_t column)
{
  if (point.velocities.empty()) {
    return {point.positions[column], 0.0, 0.0};
  }
  return {point.positions[column], point.velocities[column], point.accelerations[column]};
}

/* The jerk of joint `column` and its derivative at points[k], from this point and its neighbours. */
std::array<double, 2> rates(const std::vector<Point> & points, std::size_t k, std::size_t column)
{
  const std::size_t first = k > 0 ? k - 1 : k;
  const std::size_t last = std::min(k + 1, points.size() - 1);
  std::vector<double> time;
  std::vector<std::array<double, 3>> value;
  if (is_at_rest(points[k]) || first == last) {
    return {0.0, 0.0};
  }
  for (std::size_t i = first; i <= last; ++i) {
    time.push_back(seconds(points[i].time_from_start));
    value.push_back(column_of(points[i], column));
  }
  return higher_derivatives(time, value, k - first);
}
}  // namespace

std::array<double, 2> higher_derivatives(
  const std::vector<double> & time, const std::vector<std::array<double, 3>> & value,
  std::size_t at)
{
  /* Newton's divided differences with every node three times, the node `at` first. */
  std::vector<std::size_t> order{at};
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (i != at) {
      order.push_back(i);
    }
  }
  const std::size_t count = 3 * time.size();
  std::vector<double> node(count), column(count), coefficient(count);
  for (std::size_t i = 0; i < count; ++i) {
    node[i] = time[order[i / 3]] - time[at];
    column[i] = value[order[i / 3]][0];
  }
  coefficient[0] = column[0];
  for (std::size_t k = 1; k < count; ++k) {
    for (std::size_t i = 0; i + k < count; ++i) {
      const double width = node[i + k] - node[i];
      if (width != 0.0) {
        column[i] = (column[i + 1] - column[i]) / width;
      } else { /* k is 1 or 2 */
        column[i] = value[order[i / 3]][k] / static_cast<double>(k);
      }
    }
    coefficient[k] = column[0];
  }
  /* p(t) = quadratic + t^3 r(t), by Horner's rule for r and r' at t = 0. */
  double r = 0.0;
  double slope = 0.0;
  for (std::size_t k = count; k-- > 3; ) {
    const double t = k + 1 < count ? -node[k] : 0.0;
    slope = slope * t + r;
    r = r * t + coefficient[k];
  }
  return {6.0 * r, 24.0 * slope};
}

void TrajectoryReader::set(
  const std::vector<std::string> & names, const robot_parameters & parameters)
{
  names_ = names;
  parameters_ = parameters;
}

std::string TrajectoryReader::match(const std::vector<std::string> & names)
{
  if (names.size() != names_.size()) {
    return "it names " + std::to_string(names.size()) + " joints instead of " +
           std::to_string(names_.size());
  }
  return find_columns(names_, names, column_);
}

std::string TrajectoryReader::check(Motion & motion)
{
  robot_reference & reference = *scratch_;
  for (std::size_t k = 1; k < motion.points.size(); ++k) {
    Knot & from = motion.points[k - 1];
    Knot & to = motion.points[k];
    robot_reference_hold(&reference, from.state[0], from.time);
    std::copy_n(&from.state[0][0], 5 * ROBOT_JOINTS, &reference.last[0][0]);
    const int row = robot_reference_append(&reference, to.time, to.state);
    if (
      row < 0 || !robot_segment_is_within(
        &reference, row, parameters_.lower, parameters_.upper, parameters_.velocity))
    {
      return "between points " + std::to_string(k - 1) + " and " + std::to_string(k) +
             " it exceeds a limit of position or velocity";
    }
  }
  return "";
}

std::string TrajectoryReader::read(const Message & message, double start, Motion & motion)
{
  const auto & points = message.points;
  const std::string unmatched = match(message.joint_names);
  if (!unmatched.empty()) {
    return unmatched;
  }
  /* A point at time zero is where the robot is then; it helps to find the rates of the next one. */
  const std::size_t first =
    points.size() > 1 && seconds(points[0].time_from_start) == 0.0 ? 1 : 0;
  motion.start = start;
  if (points.empty()) {
    return "it has no points; ~/stop brakes the arm";
  }
  motion.points.resize(points.size() - first);
  double before = 0.0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const std::string wrong = defect(points[k]);
    if (!wrong.empty()) {
      return "point " + std::to_string(k) + " " + wrong;
    }
    const double time = seconds(points[k].time_from_start);
    if (k >= first && !(time > before)) {
      return "point " + std::to_string(k) + " has the time from start " + std::to_string(time) +
             " s: it must be positive, and later than that of the point before";
    }
    before = time;
  }
  for (std::size_t k = 0; k < motion.points.size(); ++k) {
    motion.points[k].time = start + seconds(points[k + first].time_from_start);
    for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
      const auto value = column_of(points[k + first], column_[i]);
      const auto rate = rates(points, k + first, column_[i]);
      const double row[5] = {value[0], value[1], value[2], rate[0], rate[1]};
      for (std::size_t d = 0; d < 5; ++d) {
        motion.points[k].state[d][i] = row[d];
      }
    }
  }
  return check(motion);
}

}  // namespace robot_ros2_control
