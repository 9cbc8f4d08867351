// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#ifndef ROBOT_ROS2_CONTROL_ACTION_HPP
#define ROBOT_ROS2_CONTROL_ACTION_HPP

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

#include "robot_controller.h"

namespace robot_ros2_control
{
using FollowJointTrajectory = control_msgs::action::FollowJointTrajectory;

/* How a motion ends: error_code and error_string of FollowJointTrajectory. */
struct Verdict
{
  int code;
  std::string text;
};

/* Largest deviations that a goal allows; infinite for any. */
struct Tolerances
{
  std::array<double, ROBOT_JOINTS> path, goal, speed; /* rad or m; of the last, per s */
  double goal_time; /* s, after the last point */
};

/* What the action observes of the cycle. */
struct Observation
{
  double time; /* s, of the core's clock */
  const robot_output * output;
  const double * largest_error; /* of each joint, since the last observation */
  std::uint64_t stopped; /* motions up to this one were ended by a stop */
};

/* A motion that was passed to the cycle. */
struct Pursuit
{
  std::uint64_t id = 0;
  double start = 0.0, end = 0.0; /* s */
  std::array<double, ROBOT_JOINTS> target{};
};

/*
 * ~/follow_joint_trajectory as joint_trajectory_controller serves it: one goal at a time, which a
 * newer motion replaces. Every goal is accepted; the result of one that is refused says why. All
 * functions are called in one callback group, outside of the real-time thread.
 */
class TrajectoryAction
{
public:
  using Handle = rclcpp_action::ServerGoalHandle<FollowJointTrajectory>;
  using Follow = std::function<Verdict(const trajectory_msgs::msg::JointTrajectory &, Pursuit &)>;

  void open(
    const rclcpp_lifecycle::LifecycleNode::SharedPtr & node, const std::vector<std::string> & joints,
    const Tolerances & tolerances, Follow follow, std::function<void()> stop);
  void close();
  void observe(const Observation & observation);
  /* End the current goal, if there is one. */
  void end(int code, const std::string & text);
  bool follows(std::uint64_t id) const {return handle_ != nullptr && pursuit_.id == id;}

private:
  void start(const std::shared_ptr<Handle> & handle);
  std::string change(
    std::array<double, ROBOT_JOINTS> & position, std::array<double, ROBOT_JOINTS> * speed,
    const std::vector<control_msgs::msg::JointTolerance> & entries) const;
  void publish(const robot_output & output);
  bool judge(const Observation & observation, Verdict & verdict) const;

  std::vector<std::string> joints_;
  Tolerances defaults_{}, tolerances_{};
  Follow follow_;
  std::function<void()> stop_;
  Pursuit pursuit_;
  std::shared_ptr<Handle> handle_;
  rclcpp_lifecycle::LifecycleNode::SharedPtr node_;
  rclcpp_action::Server<FollowJointTrajectory>::SharedPtr server_;
};
}  // namespace robot_ros2_control

#endif
