// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

/*
 * Runs the plugin through its life with the interfaces of ros2_control and an ideal arm in place of
 * the hardware: activation, motion, refused trajectories, stop, missing states, deactivation. Counts
 * allocations in update(), and compares the torques with and without rehearsals. The exit status is
 * 0 if all is as expected.
 *
 *     plugin_test --times SECONDS
 *
 * measures instead the time from the start of update() until the torques are set, at 1 kHz after
 * sleeping, with rehearsals in alternate seconds. For times of the controller alone: chrt -f 80 taskset -c 1 plugin_test --times 120
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "class_loader/class_loader.hpp"
#include "hardware_interface/actuator_interface.hpp"
#include "plugin.hpp"

/* glibc's own allocator, so that every allocation of the real-time thread can be counted */
#if defined(__GLIBC__)
static thread_local bool is_counting = false;
static unsigned long allocations = 0;
extern "C" void * __libc_malloc(std::size_t size);
extern "C" void * malloc(std::size_t size)
{
  allocations += is_counting ? 1 : 0;
  return __libc_malloc(size);
}
#else
static bool is_counting = false;
static unsigned long allocations = 0;
#endif

namespace
{
//TABLES//
constexpr std::int64_t PERIOD = 1000000; /* ns */
constexpr std::int64_t BEGIN = 1000000000000; /* ns, of the simulated clock */

int failures = 0;

void expect(bool is_true, const char * what)
{
  std::printf("%s: %s\n", is_true ? "ok" : "WRONG", what);
  failures += is_true ? 0 : 1;
}

/* The plugin, its interfaces, and the arm. */
class Bench
{
public:
  explicit Bench(bool with_rehearsals)
  : rehearses(with_rehearsals)
  {
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "robot_controller";
    params.update_rate = params.controller_manager_update_rate = 1000;
    params.node_options = plugin.define_custom_node_options();
    is_good = plugin.init(params) == controller_interface::return_type::OK;
    /* an ideal arm does not show what disturbs it */
    plugin.get_node()->set_parameter({"disturbance_bandwidth", 0.0});
    is_good = is_good && plugin.configure().label() == "inactive";
    for (const auto & name : plugin.state_interface_configuration().names) {
      states.push_back(std::make_shared<hardware_interface::StateInterface>(description(name)));
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
    const auto names = plugin.state_interface_configuration().names;
    for (std::size_t k = 0; k < names.size(); ++k) {
      /* links come first, then the motors that are not links, too */
      const double link = has_links ? q[k < ROBOT_JOINTS ? k : 0] : NAN;
      const double value = k < ROBOT_JOINTS ? link : theta[motor_of(names[k])];
      (void)states[k]->set_value(value);
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
    is_counting = true;
    if (rehearses) {
      robot_ros2_control::ElasticJointController::rehearse();
    }
    is_counting = false;
  }

  void update()
  {
    now += PERIOD;
    const rclcpp::Time time(now, RCL_ROS_TIME);
    const rclcpp::Duration period(0, static_cast<std::uint32_t>(PERIOD));
    is_counting = true;
    const auto result = plugin.update(time, period);
    is_counting = false;
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

  /* Send a message, and give the subscription the time to receive it. */
  void send(const trajectory_msgs::msg::JointTrajectory & message)
  {
    expect(
      spin_until([this]() {return publisher->get_subscription_count() == 1;}),
      "the plugin subscribes to trajectories");
    publisher->publish(message);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    spin_until([end]() {return std::chrono::steady_clock::now() >= end;});
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
  std::vector<hardware_interface::CommandInterface::SharedPtr> commands;
  rclcpp::Node::SharedPtr node;
  rclcpp::Publisher<trajectory_msgs::msg::JointTrajectory>::SharedPtr publisher;
  rclcpp::executors::SingleThreadedExecutor executor;
};

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
  std::copy_n(START, ROBOT_JOINTS, bench.q);
  std::copy_n(START_MOTORS, ROBOT_MOTORS, bench.theta);
  double applied[ROBOT_MOTORS];
  for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) { /* what acted before, held by somebody else */
    applied[j] = 0.5 * WEIGHT[j];
    (void)bench.commands[j]->set_value(applied[j]);
  }
  expect(bench.is_good, "the plugin is configured");
  bench.measure(true);
  expect(rehearses_just(0), "and not rehearsed yet");
  expect(bench.activate(), "the plugin is activated");
  expect(rehearses_just(1), "and rehearsed");
  bench.run(1);
  expect(bench.largest_torque_error(applied) == 0.0, "the first torque is the one that acted");
  bench.run(3000);
  expect(bench.state() == ROBOT_HOLDING, "it holds the arm");
  double size = 1.0;
  for (const double weight : WEIGHT) {
    size = std::fmax(size, std::fabs(weight));
  }
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
  bench.send(first);
  bench.send(second);
  bench.run(500);
  expect(
    std::fabs(bench.q[0] - before - 0.5 * distance) < 0.01 * distance, "half of it in one message");
  bench.run(600);
  expect(
    bench.state() == ROBOT_HOLDING && bench.plugin.output().counts.late_references == braked &&
    std::fabs(bench.q[0] - before) < 1e-9, "and the rest in the next one, without braking");

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
  std::copy_n(START, ROBOT_JOINTS, bench.q);
  std::copy_n(START_MOTORS, ROBOT_MOTORS, bench.theta);
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

using Clock = std::chrono::steady_clock;

void print_quantiles(const char * name, std::vector<double> times)
{
  std::sort(times.begin(), times.end());
  const auto at = [&times](double share) {return times[static_cast<std::size_t>(share * times.size())];};
  std::printf(
    "%-14s p50 %.1f us, p99 %.1f us, p99.9 %.1f us, largest %.1f us\n", name, at(0.5), at(0.99),
    at(0.999), times.back());
}

/* Registers alone: whatever it lasts longer than usual was taken by interrupts and by others. */
double control()
{
  const auto start = Clock::now();
  volatile double result = 1.0;
  double x = result;
  for (int k = 0; k < 1500; ++k) {
    x = 0.5 * (x + 1.0);
  }
  result = x;
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/* Cycles of a motion back and forth, one every millisecond; rehearsed in every other second. */
void print_times(int seconds)
{
  Bench bench(false);
  test_life(bench);
  bench.keeps_torques = false;
  std::vector<double> found[2], controls;
  double distance = 0.05;
  bool is_sent = false;
  int following = 0;
  auto next = Clock::now();
  for (int k = 0; k < 1000 * seconds; ++k) {
    following += bench.state() == ROBOT_FOLLOWING ? 1 : 0;
    is_sent = is_sent && bench.state() != ROBOT_FOLLOWING;
    if (bench.state() == ROBOT_HOLDING && !is_sent) {
      is_sent = true;
      bench.publisher->publish(bench.goal(distance, 1.0));
      distance = -distance;
      bench.executor.spin_some(std::chrono::milliseconds(1));
    }
    bench.rehearses = k / 1000 % 2 == 1;
    next = std::max(next + std::chrono::nanoseconds(PERIOD), Clock::now());
    std::this_thread::sleep_until(next);
    bench.prepare();
    bench.measure(true);
    bench.update();
    found[bench.rehearses].push_back(1e6 * bench.plugin.time_to_torque());
    controls.push_back(control());
  }
  print_quantiles("not rehearsed", found[0]);
  print_quantiles("rehearsed", found[1]);
  print_quantiles("control", controls);
  std::printf("following in %.0f %% of the cycles\n", 0.1 * following / seconds);
  expect(bench.is_good, "every cycle was successful");
}
}  // namespace

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  if (argc == 3 && std::strcmp(argv[1], "--times") == 0) {
    print_times(std::max(2, std::atoi(argv[2])));
  } else {
    test_rates();
    const auto torques = test_all(false);
    expect(torques == test_all(true), "rehearsals change no torque");
    test_switches_beside_rehearsals();
    test_component();
  }
  rclcpp::shutdown();
  std::printf("%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
