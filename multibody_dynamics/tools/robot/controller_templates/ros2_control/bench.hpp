// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

/*
 * The plugin with the interfaces of ros2_control, and an ideal arm in place of the hardware.
 */
#ifndef ROBOT_BENCH_HPP
#define ROBOT_BENCH_HPP

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin.hpp"

namespace robot_bench
{
//TABLES//
constexpr std::int64_t PERIOD = 1000000; /* ns */
constexpr std::int64_t BEGIN = 1000000000000; /* ns, of the simulated clock */

inline int failures = 0;
inline thread_local bool is_in_cycle = false; /* of the controller manager */

inline void expect(bool is_true, const char * what)
{
  std::printf("%s: %s\n", is_true ? "ok" : "WRONG", what);
  failures += is_true ? 0 : 1;
}

/* The plugin, its interfaces, and the arm. */
class Bench
{
public:
  explicit Bench(bool with_rehearsals, const std::vector<std::string> & stream_topics = {})
  : rehearses(with_rehearsals)
  {
    std::copy_n(START, ROBOT_JOINTS, q);
    std::copy_n(START_MOTORS, ROBOT_MOTORS, theta);
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "robot_controller";
    params.update_rate = params.controller_manager_update_rate = 1000;
    params.node_options = plugin.define_custom_node_options();
    is_good = plugin.init(params) == controller_interface::return_type::OK;
    /* an ideal arm does not show what disturbs it */
    plugin.get_node()->set_parameter({"disturbance_bandwidth", 0.0});
    plugin.get_node()->set_parameter({"stream_topics", stream_topics});
    is_good = is_good && plugin.configure().label() == "inactive";
    for (const auto & name : plugin.state_interface_configuration().names) {
      states.push_back(std::make_shared<hardware_interface::StateInterface>(description(name)));
      if (states.size() > ROBOT_JOINTS) { /* links come first */
        motors.push_back(motor_of(name));
      }
    }
    for (const auto & name : plugin.command_interface_configuration().names) {
      commands.push_back(std::make_shared<hardware_interface::CommandInterface>(description(name)));
    }
    node = std::make_shared<rclcpp::Node>("bench");
    publisher = node->create_publisher<trajectory_msgs::msg::JointTrajectory>(
      "/robot_controller/joint_trajectory", rclcpp::SystemDefaultsQoS());
    executor.add_node(node);
    executor.add_node(plugin.get_node()->get_node_base_interface());
  }

  static hardware_interface::InterfaceDescription description(const std::string & name)
  {
    const auto slash = name.rfind('/');
    hardware_interface::InterfaceInfo info;
    info.name = name.substr(slash + 1);
    info.initial_value = "0.0";
    return hardware_interface::InterfaceDescription(name.substr(0, slash), info);
  }

  bool activate()
  {
    std::vector<hardware_interface::LoanedStateInterface> loaned_states;
    std::vector<hardware_interface::LoanedCommandInterface> loaned_commands;
    for (const auto & each : states) {
      loaned_states.emplace_back(each);
    }
    for (const auto & each : commands) {
      loaned_commands.emplace_back(each, nullptr);
    }
    plugin.assign_interfaces(std::move(loaned_commands), std::move(loaned_states));
    return plugin.get_node()->activate().label() == "active";
  }

  /* The ideal arm follows its reference; at first it is where the tables say. */
  void measure(bool has_links)
  {
    const robot_output & output = plugin.output();
    const bool is_moved = output.state >= ROBOT_HOLDING && output.state != ROBOT_LOST;
    for (std::size_t i = 0; i < ROBOT_JOINTS && is_moved; ++i) {
      q[i] = output.desired[0][i];
    }
    for (std::size_t j = 0; j < ROBOT_MOTORS && is_moved; ++j) {
      theta[j] = output.desired_theta[j];
    }
    for (std::size_t k = 0; k < states.size(); ++k) {
      const double link = has_links ? q[k < ROBOT_JOINTS ? k : 0] : NAN;
      (void)states[k]->set_value(k < ROBOT_JOINTS ? link : theta[motors[k - ROBOT_JOINTS]]);
    }
  }

  static std::size_t motor_of(const std::string & name)
  {
    const std::string motor = name.substr(0, name.rfind('/'));
    std::size_t j = 0;
    while (j + 1 < ROBOT_MOTORS && motor != robot_motor_names[j]) {
      ++j;
    }
    return j;
  }

  void run(int cycles, bool has_links = true)
  {
    for (int k = 0; k < cycles; ++k) {
      prepare();
      measure(has_links);
      update();
    }
  }

  /* What precedes the reading of the states in the cycle of the controller manager. */
  void prepare()
  {
    is_in_cycle = true;
    if (rehearses) {
      robot_ros2_control::ElasticJointController::rehearse();
    }
    is_in_cycle = false;
  }

  void update()
  {
    now += PERIOD;
    const rclcpp::Time time(now, RCL_ROS_TIME);
    const rclcpp::Duration period(0, static_cast<std::uint32_t>(PERIOD));
    is_in_cycle = true;
    const auto result = plugin.update(time, period);
    is_in_cycle = false;
    is_good = is_good && result == controller_interface::return_type::OK;
    for (std::size_t j = 0; j < ROBOT_MOTORS && keeps_torques; ++j) {
      torques.push_back(command(j));
    }
  }

  /* Let the callbacks run until `is_done`, ten seconds at most. */
  template<typename Condition>
  bool spin_until(Condition is_done)
  {
    for (int k = 0; k < 1000; ++k) {
      executor.spin_some();
      if (is_done()) {
        return true;
      }
      rclcpp::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  /* One point at rest `distance` from where joint 0 is now, after `duration` s. */
  trajectory_msgs::msg::JointTrajectory goal(double distance, double duration)
  {
    trajectory_msgs::msg::JointTrajectory message;
    message.header.stamp = rclcpp::Time(now, RCL_ROS_TIME);
    message.points.resize(1);
    for (std::size_t i = ROBOT_JOINTS; i-- > 0; ) { /* in another order than that of the core */
      message.joint_names.push_back(robot_joint_names[i]);
      message.points[0].positions.push_back(q[i] + (i == 0 ? distance : 0.0));
    }
    message.points[0].time_from_start = rclcpp::Duration::from_seconds(duration);
    return message;
  }

  void publish(const trajectory_msgs::msg::JointTrajectory & message)
  {
    if (!spin_until([this]() {return publisher->get_subscription_count() == 1;})) {
      expect(false, "the plugin alone subscribes to trajectories");
    }
    publisher->publish(message);
  }

  /* Send a message, and give the subscription the time to receive it. */
  void send(const trajectory_msgs::msg::JointTrajectory & message)
  {
    publish(message);
    wait(0.3);
  }

  /* Let the callbacks run for some s. */
  void wait(double duration)
  {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(duration);
    while (std::chrono::steady_clock::now() < end) {
      executor.spin_once(std::chrono::milliseconds(1));
    }
  }

  bool call(const std::string & service)
  {
    const auto client = node->create_client<std_srvs::srv::Trigger>("/robot_controller/" + service);
    if (!spin_until([&client]() {return client->service_is_ready();})) {
      return false;
    }
    auto answer = client->async_send_request(std::make_shared<std_srvs::srv::Trigger::Request>());
    return executor.spin_until_future_complete(answer, std::chrono::seconds(10)) ==
           rclcpp::FutureReturnCode::SUCCESS && answer.get()->success;
  }

  double largest_torque_error(const double expected[ROBOT_MOTORS]) const
  {
    double error = 0.0;
    for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
      error = std::fmax(error, std::fabs(command(j) - expected[j]));
    }
    return error;
  }

  double command(std::size_t j) const {return commands[j]->get_optional().value();}
  robot_state state() const {return plugin.output().state;}

  robot_ros2_control::ElasticJointController plugin;
  bool rehearses;
  bool keeps_torques = true;
  std::vector<double> torques; /* of all cycles and motors */
  bool is_good = false;
  std::int64_t now = BEGIN;
  double q[ROBOT_JOINTS];
  double theta[ROBOT_MOTORS];
  std::vector<hardware_interface::StateInterface::SharedPtr> states;
  std::vector<std::size_t> motors; /* of the states after those of the links */
  std::vector<hardware_interface::CommandInterface::SharedPtr> commands;
  rclcpp::Node::SharedPtr node;
  rclcpp::Publisher<trajectory_msgs::msg::JointTrajectory>::SharedPtr publisher;
  rclcpp::executors::SingleThreadedExecutor executor;
};
}  // namespace robot_bench

#endif
