// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#include "stream_input.hpp"

#include <algorithm>
#include <utility>

namespace robot_ros2_control
{
namespace
{
//PAUSE//}  // namespace

void StreamInput::open(
  const rclcpp_lifecycle::LifecycleNode::SharedPtr & node, const std::vector<std::string> & joints,
  const std::vector<std::string> & topics, std::function<double(const Stamp &)> cycle_time,
  std::function<bool()> is_active)
{
  node_ = node;
  cycle_time_ = std::move(cycle_time);
  is_active_ = std::move(is_active);
  reader_.set(joints);
  const auto has = [&topics](const std::string & topic) {
      return std::find(topics.begin(), topics.end(), topic) != topics.end();
    };
  takes_trajectories_ = has("joint_trajectory");
  const auto qos = rclcpp::QoS(MOST_TARGETS).best_effort();
  if (has("joint_targets")) {
    using sensor_msgs::msg::JointState;
    targets_ = node->create_subscription<JointState>(
      "~/joint_targets", qos,
      [this](const JointState::ConstSharedPtr message) {take(*message, message->header.stamp);});
  }
  if (has("position_commands")) {
    using std_msgs::msg::Float64MultiArray;
    commands_ = node->create_subscription<Float64MultiArray>(
      "~/position_commands", qos,
      [this](const Float64MultiArray::ConstSharedPtr message) {take(*message, Stamp());});
  }
}

void StreamInput::close()
{
  targets_.reset();
  commands_.reset();
  node_.reset();
}

Targets * StreamInput::next()
{
  Targets * found = nullptr;
  return waiting_.pop(found) ? found : nullptr;
}

void StreamInput::drop()
{
  while (Targets * found = next()) {
    found->is_used.store(false);
  }
}

template<typename Message>
void StreamInput::take(const Message & message, const Stamp & stamp)
{
  const std::string wrong = pass(message, stamp);
  if (!wrong.empty()) {
    RCLCPP_ERROR_THROTTLE(
      node_->get_logger(), clock_, 1000, "targets refused: %s", wrong.c_str());
  }
}

void StreamInput::receive(const trajectory_msgs::msg::JointTrajectory & message)
{
  take(message, message.header.stamp);
}

/* Returns an empty text, or why the targets are refused. */
template<typename Message>
std::string StreamInput::pass(const Message & message, const Stamp & stamp)
{
  const double before = std::exchange(arrival_, clock_.now().seconds());
  is_stopped_ = is_stopped_ && arrival_ - before <= LONGEST_INTERVAL;
  if (!is_active_()) {
    return "the controller is not active";
  }
  if (is_stopped_) {
    return "the arm was stopped; a stream begins again after a pause of " +
           std::to_string(LONGEST_INTERVAL) + " s";
  }
  const auto slot = std::find_if(
    slots_.begin(), slots_.end(), [](const Targets & each) {return !each.is_used.load();});
  if (slot == slots_.end()) {
    return "too many are waiting";
  }
  const std::string wrong = reader_.read(message, *slot);
  if (!wrong.empty()) {
    return wrong;
  }
  slot->is_stamped = stamp.sec != 0 || stamp.nanosec != 0;
  slot->start = cycle_time_(stamp);
  const double late = cycle_time_(Stamp()) - slot->start - slot->times.back();
  if (late > LONGEST_INTERVAL) {
    return "the last one was due " + std::to_string(late) + " s ago";
  }
  slot->is_used.store(true);
  if (!waiting_.push(&*slot)) {
    slot->is_used.store(false);
    return "too many are waiting";
  }
  return "";
}

}  // namespace robot_ros2_control
