// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#ifndef ROBOT_ROS2_CONTROL_STREAM_INPUT_HPP
#define ROBOT_ROS2_CONTROL_STREAM_INPUT_HPP

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"
#include "realtime_tools/lock_free_queue.hpp"

#include "targets.hpp"

namespace robot_ros2_control
{
constexpr std::size_t MOST_TARGETS = 20; /* messages that may arrive at once */

/*
 * The topics that bring streams of targets. Messages pass to the cycle through a lock-free queue;
 * all functions but next() and drop() are called in one callback group, outside of the real-time
 * thread.
 */
class StreamInput
{
public:
  using Stamp = builtin_interfaces::msg::Time;

  /*
   * `topics`: those that bring streams. `cycle_time` returns the time of the core's clock at a stamp,
   * or now if that is zero; `is_active` whether there are cycles.
   */
  void open(
    const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
    const std::vector<std::string> & joints, const std::vector<std::string> & topics,
    std::function<double(const Stamp &)> cycle_time, std::function<bool()> is_active);
  void close();

  /* Whether trajectories are targets, and to be received here. */
  bool takes_trajectories() const {return takes_trajectories_;}
  void receive(const trajectory_msgs::msg::JointTrajectory & message);

  /* Refuse targets until the stream has paused: the messages of those who do not know that the arm
   * was stopped must not move it again. */
  void stop() {is_stopped_ = true;}

  /* In the cycle: the next message, or nullptr; set its `is_used` to false in the end. */
  Targets * next();
  /* In the cycle: leave out what is waiting. */
  void drop();

private:
  template<typename Message>
  void take(const Message & message, const Stamp & stamp);
  template<typename Message>
  std::string pass(const Message & message, const Stamp & stamp);

  rclcpp_lifecycle::LifecycleNode::SharedPtr node_;
  std::function<double(const Stamp &)> cycle_time_;
  std::function<bool()> is_active_;
  TargetReader reader_;
  bool takes_trajectories_ = false;
  bool is_stopped_ = false;
  rclcpp::Clock clock_{RCL_STEADY_TIME};
  double arrival_ = 0.0; /* s, of the last message */
  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr targets_;
  rclcpp::Subscription<std_msgs::msg::Float64MultiArray>::SharedPtr commands_;
  std::array<Targets, MOST_TARGETS + 1> slots_; /* one for the cycle */
  realtime_tools::LockFreeSPSCQueue<Targets *, MOST_TARGETS> waiting_;
};
}  // namespace robot_ros2_control

#endif
