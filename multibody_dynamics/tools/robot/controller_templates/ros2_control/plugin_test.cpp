// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

/*
 * Runs the plugin through its life with the interfaces of ros2_control and an ideal arm in place of
 * the hardware: activation, motion, refused trajectories, stop, missing states, deactivation. Counts
 * allocations in its cycle, and compares the torques with and without rehearsals. The exit status is
 * 0 if all is as expected.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "class_loader/class_loader.hpp"
#include "hardware_interface/actuator_interface.hpp"

#include "bench.hpp"

using namespace robot_bench;

/* glibc's own allocator, so that every allocation of the real-time thread can be counted */
static unsigned long allocations = 0;
#if defined(__GLIBC__)
extern "C" void * __libc_malloc(std::size_t size);
extern "C" void * malloc(std::size_t size)
{
  allocations += is_in_cycle ? 1 : 0;
  return __libc_malloc(size);
}
#endif

namespace
{
/* Whether as many controllers are rehearsed. */
bool rehearses_just(unsigned int count)
{
  return robot_ros2_control::ElasticJointController::rehearse() == count;
}

/* The rates of t^5 at a node follow from values and two derivatives at three nodes. */
void test_rates()
{
  std::vector<double> time{1.0, 1.7, 2.1};
  std::vector<std::array<double, 3>> value;
  for (const double t : time) {
    value.push_back({std::pow(t, 5), 5.0 * std::pow(t, 4), 20.0 * std::pow(t, 3)});
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const auto rate = robot_ros2_control::higher_derivatives(time, value, k);
    expect(
      std::fabs(rate[0] - 60.0 * time[k] * time[k]) < 1e-8 &&
      std::fabs(rate[1] - 120.0 * time[k]) < 1e-6, "jerk and its derivative of a polynomial");
  }
}

void test_life(Bench & bench)
{
  double applied[ROBOT_MOTORS];
  double size = 1.0;
  for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) { /* zero, because brakes hold the arm, or else */
    applied[j] = j % 2 ? 0.5 * WEIGHT[j] : 0.0;
    (void)bench.commands[j]->set_value(applied[j]);
    size = std::fmax(size, std::fabs(WEIGHT[j]));
  }
  expect(bench.is_good, "the plugin is configured");
  bench.measure(true);
  expect(rehearses_just(0), "and not rehearsed yet");
  expect(bench.activate(), "the plugin is activated");
  expect(rehearses_just(1), "and rehearsed");
  double error = 0.0;
  for (int k = 0; k < 3000; ++k) {
    bench.run(1);
    error = std::fmax(error, bench.largest_torque_error(WEIGHT));
  }
  expect(error < 1e-3 * size, "from the first torque on, springs and motors are balanced");
  expect(bench.state() == ROBOT_HOLDING, "it holds the arm");
  expect(bench.largest_torque_error(WEIGHT) < 1e-3 * size, "with the torque of gravity");
}

void test_motions(Bench & bench)
{
  const double before = bench.q[0];
  const double distance = 0.02;
  bench.send(bench.goal(distance, 1.0));
  bench.run(500);
  expect(bench.state() == ROBOT_FOLLOWING, "it follows a trajectory");
  expect(
    std::fabs(bench.q[0] - before - 0.5 * distance) < 0.01 * distance, "half in half the time");
  bench.run(600);
  expect(bench.state() == ROBOT_HOLDING, "it holds the arm at the end");
  expect(std::fabs(bench.q[0] - before - distance) < 1e-9, "which is the point of the message");

  const unsigned long braked = bench.plugin.output().counts.late_references;
  auto first = bench.goal(-0.5 * distance, 0.5); /* back, in two messages that join in motion */
  first.points[0].velocities.assign(ROBOT_JOINTS, 0.0);
  first.points[0].accelerations.assign(ROBOT_JOINTS, 0.0);
  first.points[0].velocities.back() = -1.5 * distance; /* rad/s or m/s, of joint 0 */
  auto second = bench.goal(-distance, 0.5);
  second.header.stamp = rclcpp::Time(bench.now + 500 * PERIOD, RCL_ROS_TIME);
  bench.publish(first);
  bench.send(second); /* at once: none may replace the other */
  bench.run(500);
  expect(
    std::fabs(bench.q[0] - before - 0.5 * distance) < 0.01 * distance, "half of it in one message");
  bench.run(600);
  expect(
    bench.state() == ROBOT_HOLDING && bench.plugin.output().counts.late_references == braked &&
    std::fabs(bench.q[0] - before) < 1e-9, "and the rest in the next one, without braking");

  auto longer = bench.goal(distance, 1.0); /* with more points than the core holds */
  longer.points.resize(2 * ROBOT_SEGMENTS, longer.points[0]);
  for (std::size_t k = 0; k < longer.points.size(); ++k) {
    const double share = static_cast<double>(k + 1) / static_cast<double>(longer.points.size());
    longer.points[k].positions.back() = before + share * distance;
    longer.points[k].time_from_start = rclcpp::Duration::from_seconds(2.0 * share);
  }
  bench.send(longer);
  bench.run(2100);
  expect(std::fabs(bench.q[0] - before - distance) < 1e-9, "it follows a long trajectory");
  bench.send(bench.goal(-distance, 1.0));
  bench.run(1100);

  for (std::size_t k = 1; k <= robot_ros2_control::MOST_WAITING; ++k) { /* in parts, all at once */
    auto part = bench.goal(distance * static_cast<double>(k) / robot_ros2_control::MOST_WAITING, 0.2);
    part.header.stamp =
      rclcpp::Time(bench.now + 200 * PERIOD * static_cast<std::int64_t>(k - 1), RCL_ROS_TIME);
    bench.publish(part);
    bench.wait(0.02);
  }
  bench.wait(0.3);
  bench.run(2100);
  expect(std::fabs(bench.q[0] - before - distance) < 1e-9, "as many messages as are promised wait");
  bench.send(bench.goal(-distance, 1.0));
  bench.run(1100);

  auto wrong = bench.goal(distance, 1.0);
  wrong.joint_names[0] = "unknown";
  bench.send(wrong);
  wrong = bench.goal(std::numeric_limits<double>::infinity(), 1.0);
  bench.send(wrong);
  wrong = bench.goal(distance, 0.5);
  wrong.header.stamp = rclcpp::Time(bench.now - 1000 * PERIOD, RCL_ROS_TIME); /* due in the past */
  bench.send(wrong);
  bench.run(100);
  expect(bench.state() == ROBOT_HOLDING, "it refuses trajectories that it cannot follow");

  auto waiting = bench.goal(-distance, 1.0);
  waiting.header.stamp = rclcpp::Time(bench.now + 500 * PERIOD, RCL_ROS_TIME);
  bench.send(waiting);
  bench.run(499);
  expect(std::fabs(bench.q[0] - before) < 1e-9, "it waits for the time in the header");
  bench.run(500);
  expect(bench.call("stop"), "the service stop answers");
  bench.run(2);
  expect(bench.state() == ROBOT_BRAKING, "it brakes on request");
  bench.run(2000);
  expect(bench.state() == ROBOT_HOLDING, "and holds the arm");
}

void test_action()
{
  Bench bench(false);
  bench.keeps_torques = false;
  bench.measure(true);
  (void)bench.activate();
  bench.run(3000);
  using Action = robot_ros2_control::FollowJointTrajectory;
  const auto client =
    rclcpp_action::create_client<Action>(bench.node, "/robot_controller/follow_joint_trajectory");
  expect(
    bench.spin_until([&client]() {return client->action_server_is_ready();}), "the action is served");
  for (const bool is_wrong : {true, false}) {
    Action::Goal goal;
    goal.trajectory = bench.goal(0.01, 0.5);
    goal.trajectory.joint_names[0] = is_wrong ? "unknown" : goal.trajectory.joint_names[0];
    const auto sent = client->async_send_goal(goal);
    bench.executor.spin_until_future_complete(sent, std::chrono::seconds(10));
    const auto result = client->async_get_result(sent.get());
    const bool has_ended = bench.spin_until(
      [&bench, &result]() {
        bench.run(20);
        return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      });
    expect(
      has_ended && result.get().result->error_code ==
      (is_wrong ? Action::Result::INVALID_JOINTS : Action::Result::SUCCESSFUL),
      is_wrong ? "a wrong goal ends with its reason" : "a goal ends when it is reached");
  }
}

/* Send targets at 20 Hz by `send(distance of joint 0)`; returns the largest error of the motion
 * against the targets, as they are delayed, in the last half. */
template<typename Send>
double follow_sine(Bench & bench, double start, const Send & send, bool & is_moving)
{
  constexpr double AMPLITUDE = 0.02; /* rad or m */
  constexpr double FREQUENCY = 1.5; /* rad/s */
  constexpr int CYCLES = 50; /* per message */
  constexpr int MESSAGES = 60;
  double error = 0.0;
  for (int k = 0; k < MESSAGES; ++k) {
    const double t = 1e-3 * CYCLES * k;
    send(AMPLITUDE * (1.0 - std::cos(FREQUENCY * t)));
    bench.wait(0.005);
    for (int i = 0; i < CYCLES; ++i) {
      bench.run(1);
      const double due = t + 1e-3 * (i - CYCLES); /* one interval late */
      const double target = start + AMPLITUDE * (1.0 - std::cos(FREQUENCY * due));
      if (k > MESSAGES / 2) {
        error = std::fmax(error, std::fabs(bench.q[0] - target));
        is_moving = is_moving && bench.state() == ROBOT_FOLLOWING;
      }
    }
  }
  return error / AMPLITUDE;
}

void test_streams()
{
  Bench bench(false, {"joint_targets", "position_commands", "joint_trajectory"});
  bench.measure(true);
  (void)bench.activate();
  bench.run(3000);
  const auto targets = bench.node->create_publisher<sensor_msgs::msg::JointState>(
    "/robot_controller/joint_targets", rclcpp::QoS(20));
  const auto commands = bench.node->create_publisher<std_msgs::msg::Float64MultiArray>(
    "/robot_controller/position_commands", rclcpp::QoS(20));
  expect(
    bench.spin_until(
      [&]() {
        return targets->get_subscription_count() == 1 && commands->get_subscription_count() == 1;
      }), "the plugin subscribes to targets");
  const std::vector<double> start(bench.q, bench.q + ROBOT_JOINTS);
  const auto send_targets = [&](double distance) {
      sensor_msgs::msg::JointState message;
      message.name = {"another"};
      message.position = {0.0};
      for (std::size_t i = ROBOT_JOINTS; i-- > 0; ) {
        message.name.push_back(robot_joint_names[i]);
        message.position.push_back(start[i] + (i == 0 ? distance : 0.0));
      }
      targets->publish(message);
    };
  const auto send_commands = [&](double distance) {
      std_msgs::msg::Float64MultiArray message;
      message.data = start;
      message.data[0] += distance;
      commands->publish(message);
    };
  const auto send_chunk = [&](double distance) {
      auto message = bench.goal(0.0, 0.0);
      for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
        message.points[0].positions[ROBOT_JOINTS - 1 - i] = start[i] + (i == 0 ? distance : 0.0);
      }
      message.header.stamp = builtin_interfaces::msg::Time();
      bench.publisher->publish(message);
    };
  send_targets(1.0);
  bench.wait(0.3);
  bench.run(100);
  expect(bench.state() == ROBOT_HOLDING, "a stream that begins far away is refused");
  bench.run(600);
  bool is_moving = true;
  expect(
    follow_sine(bench, start[0], send_targets, is_moving) < 0.02 && is_moving,
    "it follows targets, one interval late");
  bench.run(1500);
  expect(bench.state() == ROBOT_HOLDING, "and holds the arm after the last one");
  expect(
    std::fabs(
      bench.q[0] - start[0] - 0.02 * (1.0 - std::cos(1.5 * 2.95))) < 1e-9, "where that was");
  send_commands(0.0);
  bench.wait(0.1);
  bench.run(2000);
  expect(std::fabs(bench.q[0] - start[0]) < 1e-9, "and goes back by a single target");
  is_moving = true;
  expect(
    follow_sine(bench, start[0], send_commands, is_moving) < 0.02 && is_moving,
    "it follows arrays of positions");
  bench.run(1500);
  send_commands(0.0);
  bench.wait(0.1);
  bench.run(2000);
  for (std::size_t k = 1; k <= robot_ros2_control::MOST_TARGETS; ++k) {
    send_commands(0.02 * static_cast<double>(k) / robot_ros2_control::MOST_TARGETS);
    bench.wait(0.005);
  }
  bench.wait(0.3);
  bench.run(3000);
  expect(
    std::fabs(bench.q[0] - start[0] - 0.02) < 1e-9, "as many targets as are promised wait for a cycle");
  send_commands(0.0);
  bench.wait(0.1);
  bench.run(2000);
  is_moving = true;
  expect(
    follow_sine(bench, start[0], send_chunk, is_moving) < 0.02 && is_moving,
    "it follows trajectories as targets");

  expect(bench.call("stop"), "the service stop answers");
  bench.run(2);
  expect(bench.state() == ROBOT_BRAKING, "it brakes on request");
  for (int k = 0; k < 40; ++k) {
    send_chunk(0.03);
    bench.wait(0.01);
    bench.run(50);
  }
  expect(bench.state() == ROBOT_HOLDING, "and holds the arm, though the stream goes on");
  const double stopped = bench.q[0];
  bench.wait(0.7);
  send_chunk(0.03);
  bench.wait(0.1);
  bench.run(2000);
  expect(
    std::fabs(bench.q[0] - stopped) > 1e-3 && std::fabs(bench.q[0] - start[0] - 0.03) < 1e-9,
    "a stream begins again after a pause");
  expect(bench.is_good && allocations == 0, "no cycle of a stream has allocated memory");
}

/* Known external torques, and other stiffnesses of joints that set theirs. */
void test_requests()
{
  constexpr double PUSH = 0.5; /* N m or N, on joint 0 */
  Bench bench(false);
  bench.measure(true);
  (void)bench.activate();
  bench.run(3000);
  const auto external = bench.node->create_publisher<sensor_msgs::msg::JointState>(
    "/robot_controller/external_torque", rclcpp::QoS(10));
  expect(
    bench.spin_until([&]() {return external->get_subscription_count() == 1;}),
    "the plugin subscribes to external torques");
  sensor_msgs::msg::JointState push;
  push.name = {"another", robot_joint_names[0]};
  push.effort = {1.0, PUSH};
  for (int k = 0; k < 6; ++k) { /* renewed within the timeout */
    external->publish(push);
    bench.wait(0.1);
    bench.run(50);
  }
  expect(
    std::fabs(bench.command(0) - WEIGHT[0] + PUSH) < 1e-2 * PUSH, "it relies on a known push");
  bench.run(1000);
  expect(bench.largest_torque_error(WEIGHT) < 1e-2 * PUSH, "and no longer than that is renewed");
  push.effort.pop_back();
  external->publish(push);
  bench.wait(0.1);
  bench.run(50);
  expect(bench.largest_torque_error(WEIGHT) < 1e-2 * PUSH, "it refuses one without its effort");

  const auto stiffness = bench.node->create_publisher<trajectory_msgs::msg::JointTrajectory>(
    "/robot_controller/stiffness_reference", rclcpp::QoS(10));
  if (ROBOT_VARIABLE == 0) {
    return;
  }
  expect(
    bench.spin_until([&]() {return stiffness->get_subscription_count() == 1;}),
    "the plugin subscribes to stiffnesses");
  trajectory_msgs::msg::JointTrajectory change;
  change.points.resize(1);
  change.points[0].time_from_start = rclcpp::Duration::from_seconds(0.5);
  for (int v = 0; v != ROBOT_VARIABLE; ++v) {
    change.joint_names.push_back(robot_joint_names[VARIABLE_JOINT[v]]);
    change.points[0].positions.push_back(OTHER_SECOND[v]);
  }
  for (const bool is_wrong : {false, true}) {
    change.points[0].positions[0] *= is_wrong ? 1e6 : 1.0;
    stiffness->publish(change);
    bench.wait(0.1);
    bench.run(1500);
    double distance = 0.0;
    for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
      distance = std::fmax(distance, std::fabs(bench.theta[j] - OTHER_MOTORS[j]));
    }
    expect(distance < 1e-9, is_wrong ? "it refuses an impossible one" : "it sets a stiffness");
  }
  expect(bench.state() == ROBOT_HOLDING && bench.is_good, "and holds the arm");
  expect(std::fabs(bench.q[0] - START[0]) < 1e-12, "where it was");
}

void test_faults(Bench & bench)
{
  bench.run(100, false);
  expect(bench.state() == ROBOT_STOPPING, "it stops without states of the links");
  bench.run(3000);
  expect(bench.state() == ROBOT_HOLDING, "and holds the arm when they are back");
  expect(bench.is_good, "every cycle was successful");
  expect(allocations == 0, "no cycle has allocated memory");
  expect(bench.plugin.get_node()->deactivate().label() == "inactive", "it is deactivated");
  expect(rehearses_just(0), "and not rehearsed any more");
  double torque = 0.0;
  for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
    torque = std::fmax(torque, std::fabs(bench.command(j)));
  }
  expect(torque == 0.0, "no torque is left");
  bench.plugin.release_interfaces();
  expect(bench.activate(), "it can be activated again");
  bench.run(3000);
  expect(bench.state() == ROBOT_HOLDING, "and holds the arm again");
  expect(bench.plugin.get_node()->deactivate().label() == "inactive", "and deactivated");
  expect(bench.plugin.get_node()->cleanup().label() == "unconfigured", "and cleaned up");
}

/* As the controller manager does in another thread, unless it is to switch as soon as possible. */
void test_switches_beside_rehearsals()
{
  Bench bench(false);
  bench.measure(true);
  std::atomic<bool> ends{false};
  std::atomic<unsigned long> rehearsed{0};
  std::thread reading(
    [&]() {
      while (!ends) {
        rehearsed += robot_ros2_control::ElasticJointController::rehearse();
      }
    });
  bool is_switched = true;
  for (int k = 0; k < 100; ++k) {
    is_switched = is_switched && bench.activate();
    const unsigned long before = rehearsed;
    while (rehearsed == before) {
      std::this_thread::yield();
    }
    is_switched = is_switched && bench.plugin.get_node()->deactivate().label() == "inactive";
    bench.plugin.release_interfaces();
  }
  (void)bench.activate();
  (void)bench.plugin.get_node()->shutdown();
  bench.plugin.release_interfaces();
  ends = true;
  reading.join();
  expect(rehearses_just(0), "it is not rehearsed after its shutdown");
  expect(is_switched, "switched on and off a hundred times beside rehearsals");
}

void test_component()
{
  class_loader::ClassLoader loader(PLUGIN_LIBRARY);
  for (const bool is_async : {false, true}) {
    const auto component = loader.createUniqueInstance<hardware_interface::ActuatorInterface>(
      "robot_ros2_control::Rehearsal");
    hardware_interface::HardwareComponentInterfaceParams params;
    params.hardware_info.name = "rehearsal";
    params.hardware_info.type = "actuator";
    params.hardware_info.is_async = is_async;
    const bool is_accepted =
      component->on_init(params) == hardware_interface::CallbackReturn::SUCCESS;
    expect(is_accepted != is_async, "the component is only accepted in the thread of the manager");
    expect(
      component->read(rclcpp::Time(), rclcpp::Duration(0, 1000000)) ==
      hardware_interface::return_type::OK, "and can be read");
  }
}

std::vector<double> test_all(bool rehearses)
{
  auto bench = std::make_unique<Bench>(rehearses);
  test_life(*bench);
  test_motions(*bench);
  test_faults(*bench);
  return bench->torques;
}
}  // namespace

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  test_rates();
  const auto torques = test_all(false);
  expect(torques == test_all(true), "rehearsals change no torque");
  test_action();
  test_streams();
  test_requests();
  test_switches_beside_rehearsals();
  test_component();
  rclcpp::shutdown();
  std::printf("%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
