// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#include "action.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace robot_ros2_control
{
namespace
{
using Result = FollowJointTrajectory::Result;
constexpr double ANY = std::numeric_limits<double>::infinity();

/* A tolerance of a goal: 0 keeps the default, -1 removes it. */
bool choose(double wanted, double & tolerance)
{
  tolerance = wanted == -1.0 ? ANY : wanted == 0.0 ? tolerance : wanted;
  return wanted >= 0.0 || wanted == -1.0;
}

std::string deviation(
  const std::string & what, double error, const std::string & from, double allowed)
{
  char text[160];
  std::snprintf(
    text, sizeof(text), " is %.4g from the %s; allowed: %g", error, from.c_str(), allowed);
  return what + text;
}

trajectory_msgs::msg::JointTrajectoryPoint point(const double * q, const double * qd)
{
  trajectory_msgs::msg::JointTrajectoryPoint found;
  found.positions.assign(q, q + ROBOT_JOINTS);
  found.velocities.assign(qd, qd + ROBOT_JOINTS);
  return found;
}
}  // namespace

void TrajectoryAction::open(
  const rclcpp_lifecycle::LifecycleNode::SharedPtr & node, const std::vector<std::string> & joints,
  const Tolerances & tolerances, Follow follow, std::function<void()> stop)
{
  node_ = node;
  joints_ = joints;
  defaults_ = tolerances;
  follow_ = std::move(follow);
  stop_ = std::move(stop);
  server_ = rclcpp_action::create_server<FollowJointTrajectory>(
    node, std::string(node->get_name()) + "/follow_joint_trajectory",
    [](const rclcpp_action::GoalUUID &, FollowJointTrajectory::Goal::ConstSharedPtr) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [this](const std::shared_ptr<Handle> & handle) {
      if (handle != handle_) {
        return rclcpp_action::CancelResponse::REJECT; /* it has ended */
      }
      stop_();
      return rclcpp_action::CancelResponse::ACCEPT;
    },
    [this](const std::shared_ptr<Handle> & handle) {start(handle);});
}

void TrajectoryAction::close()
{
  end(Result::INVALID_GOAL, "the controller is shut down");
  server_.reset();
  node_.reset();
}

void TrajectoryAction::start(const std::shared_ptr<Handle> & handle)
{
  const auto goal = handle->get_goal();
  Tolerances tolerances = defaults_;
  Pursuit pursuit;
  std::string wrong = change(tolerances.path, nullptr, goal->path_tolerance);
  wrong += wrong.empty() ? change(tolerances.goal, &tolerances.speed, goal->goal_tolerance) : "";
  if (wrong.empty() && !choose(
      rclcpp::Duration(goal->goal_time_tolerance).seconds(), tolerances.goal_time))
  {
    wrong = "goal_time_tolerance must be positive, 0 or -1";
  }
  Verdict verdict{Result::INVALID_GOAL, wrong};
  if (wrong.empty() && !goal->multi_dof_trajectory.points.empty()) {
    verdict.text = "multi_dof_trajectory: the robot has no such joints";
  } else if (wrong.empty()) {
    verdict = follow_(goal->trajectory, pursuit); /* ends the goal before */
  }
  if (!verdict.text.empty()) {
    RCLCPP_ERROR(node_->get_logger(), "goal refused: %s", verdict.text.c_str());
    auto result = std::make_shared<Result>();
    result->error_code = verdict.code;
    result->error_string = verdict.text;
    handle->abort(result);
    return;
  }
  handle_ = handle;
  pursuit_ = pursuit;
  tolerances_ = tolerances;
}

std::string TrajectoryAction::change(
  std::array<double, ROBOT_JOINTS> & position, std::array<double, ROBOT_JOINTS> * speed,
  const std::vector<control_msgs::msg::JointTolerance> & entries) const
{
  for (const auto & entry : entries) {
    const auto joint = std::find(joints_.begin(), joints_.end(), entry.name);
    if (joint == joints_.end()) {
      return "tolerance of '" + entry.name + "', which is not a joint of the controller";
    }
    const auto i = static_cast<std::size_t>(joint - joints_.begin());
    double unused = ANY;
    if (!choose(entry.position, position[i]) ||
      !choose(entry.velocity, speed != nullptr ? (*speed)[i] : unused))
    {
      return "tolerance of '" + entry.name + "' must be positive, 0 or -1";
    }
  }
  return "";
}

void TrajectoryAction::end(int code, const std::string & text)
{
  if (handle_ == nullptr) {
    return;
  }
  auto result = std::make_shared<Result>();
  result->error_code = code;
  result->error_string = text;
  const auto handle = std::exchange(handle_, nullptr);
  if (handle->is_canceling()) {
    handle->canceled(result);
  } else if (code == Result::SUCCESSFUL) {
    handle->succeed(result);
  } else {
    RCLCPP_ERROR(node_->get_logger(), "goal aborted: %s", text.c_str());
    handle->abort(result);
  }
}

void TrajectoryAction::observe(const Observation & observation)
{
  if (handle_ == nullptr) {
    return;
  }
  if (handle_->is_canceling()) {
    end(Result::SUCCESSFUL, "cancelled: the arm brakes");
    return;
  }
  publish(*observation.output);
  Verdict verdict{Result::SUCCESSFUL, ""};
  if (judge(observation, verdict)) {
    end(verdict.code, verdict.text);
    if (verdict.code == Result::PATH_TOLERANCE_VIOLATED) {
      stop_();
    }
  }
}

/* Whether the motion has ended, and how. */
bool TrajectoryAction::judge(const Observation & observation, Verdict & verdict) const
{
  const auto & output = *observation.output;
  verdict.code = Result::INVALID_GOAL;
  if (observation.stopped >= pursuit_.id) {
    verdict.text = "the arm was stopped on request";
    return true;
  }
  if (output.state < ROBOT_HOLDING || output.state > ROBOT_BRAKING) {
    verdict.text = std::string("the arm is ") + robot_state_name(output.state) + " (" +
      robot_fault_name(output.fault) + ")";
    return true;
  }
  if (observation.time < pursuit_.start) {
    return false;
  }
  if (observation.time < pursuit_.end) {
    for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
      if (observation.largest_error[i] > tolerances_.path[i]) {
        verdict.code = Result::PATH_TOLERANCE_VIOLATED;
        verdict.text =
          deviation(joints_[i], observation.largest_error[i], "motion", tolerances_.path[i]);
        return true;
      }
    }
    return false;
  }
  verdict = {Result::SUCCESSFUL, "goal reached"};
  for (std::size_t i = 0; i < ROBOT_JOINTS && verdict.code == Result::SUCCESSFUL; ++i) {
    const double error = std::fabs(pursuit_.target[i] - output.q[i]);
    const double speed = std::fabs(output.qd[i]);
    if (error > tolerances_.goal[i]) {
      verdict = {
        Result::GOAL_TOLERANCE_VIOLATED,
        deviation(joints_[i], error, "goal", tolerances_.goal[i])};
    } else if (speed > tolerances_.speed[i]) {
      verdict = {
        Result::GOAL_TOLERANCE_VIOLATED,
        deviation("the speed of " + joints_[i], speed, "goal", tolerances_.speed[i])};
    }
  }
  return verdict.code == Result::SUCCESSFUL ||
         observation.time - pursuit_.end > tolerances_.goal_time;
}

void TrajectoryAction::publish(const robot_output & output)
{
  auto feedback = std::make_shared<FollowJointTrajectory::Feedback>();
  double error[2][ROBOT_JOINTS];
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    error[0][i] = output.desired[0][i] - output.q[i];
    error[1][i] = output.desired[1][i] - output.qd[i];
  }
  feedback->header.stamp = node_->now();
  feedback->joint_names = joints_;
  feedback->desired = point(output.desired[0], output.desired[1]);
  feedback->desired.accelerations.assign(output.desired[2], output.desired[2] + ROBOT_JOINTS);
  feedback->actual = point(output.q, output.qd);
  feedback->error = point(error[0], error[1]);
  handle_->publish_feedback(feedback);
}

}  // namespace robot_ros2_control
