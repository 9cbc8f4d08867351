// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#include "plugin.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace robot_ros2_control
{
namespace
{
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using diagnostic_msgs::msg::DiagnosticStatus;

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
/* s; a motion that begins so close to the end of the last one continues it */
constexpr double SAME_TIME = 1e-3;
constexpr double DIAGNOSTICS_PERIOD = 1.0; /* s; changes are published at once */
constexpr double RATE_TOLERANCE = 0.01;
constexpr double SHORTEST_CHANGE = 0.1; /* s, of a stiffness */

//INTERFACES//
constexpr const char * ANSWERS[] = {
  "accepted",
  "a number is not finite",
  "it is due now or in the past, before the last accepted point, or after a gap in motion",
  "the motion to it exceeds a limit of position or velocity",
  "too many points are waiting",
  "the controller is neither holding nor following"};

std::vector<std::string> interfaces(
  const std::vector<std::string> & names, const std::string & interface)
{
  std::vector<std::string> found;
  for (const auto & name : names) {
    found.push_back(name + "/" + interface);
  }
  return found;
}

/* The place of a name in a list, to which it is added if necessary. */
std::size_t place_in(std::vector<std::string> & list, const std::string & name)
{
  const auto found = std::find(list.begin(), list.end(), name);
  const auto place = static_cast<std::size_t>(found - list.begin());
  if (found == list.end()) {
    list.push_back(name);
  }
  return place;
}

template<std::size_t N>
void copy_row(const std::vector<double> & from, double (& to)[N])
{
  std::copy_n(from.begin(), N, to);
}

template<std::size_t N>
std::vector<double> row(const double (& values)[N])
{
  return std::vector<double>(values, values + N);
}

template<std::size_t N>
std::vector<double> difference(const double (& a)[N], const double (& b)[N])
{
  std::vector<double> found(N);
  for (std::size_t i = 0; i < N; ++i) {
    found[i] = a[i] - b[i];
  }
  return found;
}

diagnostic_msgs::msg::KeyValue entry(const std::string & key, const std::string & value)
{
  diagnostic_msgs::msg::KeyValue found;
  found.key = key;
  found.value = value;
  return found;
}

unsigned char level_of(const robot_output & output)
{
  if (output.state == ROBOT_LOST) {
    return DiagnosticStatus::ERROR;
  }
  if (output.state == ROBOT_STOPPING) {
    return output.fault == ROBOT_SETTLING ? DiagnosticStatus::WARN : DiagnosticStatus::ERROR;
  }
  return DiagnosticStatus::OK;
}

/* The fault, with its loop, or its joint, what was found there, and what is allowed. */
std::string text_of_fault(const robot_output & output)
{
  const std::string fault = robot_fault_name(output.fault);
  if (output.fault_joint < 0) {
    return output.open_loop ? fault + ", " + robot_loop_names[output.open_loop] : fault;
  }
  char found[64];
  std::snprintf(
    found, sizeof(found), "': %.4g, allowed: %.4g", output.fault_value, output.fault_allowed);
  return fault + ", '" + robot_joint_names[output.fault_joint] + found;
}
}  // namespace

/* The cycle: nothing below allocates, waits, throws or prints, until "The callbacks". */

double ElasticJointController::seconds(const rclcpp::Time & time)
{
  if (!has_origin_) {
    origin_.store(time.nanoseconds());
    clock_type_.store(static_cast<int>(time.get_clock_type()));
    has_origin_ = true;
  }
  return 1e-9 * static_cast<double>(time.nanoseconds() - origin_.load());
}

/*
 * A side of which an interface cannot be read keeps the time of its last sample: it is missing.
 * Returns whether there are both.
 */
bool ElasticJointController::measure(double now, robot_input & input) const
{
  bool has_links = true;
  bool has_motors = true;
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    const auto value = state_interfaces_[link_index_[i]].get_optional();
    has_links = has_links && value.has_value();
    input.q[i] = value.value_or(NOT_A_NUMBER);
  }
  for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
    const auto value = state_interfaces_[motor_index_[j]].get_optional();
    has_motors = has_motors && value.has_value();
    input.theta[j] = value.value_or(NOT_A_NUMBER);
  }
  input.time = now;
  input.link_time = has_links ? now : input.link_time;
  input.motor_time = has_motors ? now : input.motor_time;
  return has_links && has_motors;
}

/* The torque until the filters have settled: what balances the springs as they are measured first,
 * which brakes or drives may carry until now; that of the command interfaces before. */
void ElasticJointController::balance()
{
  robot_refusal refusal;
  is_balanced_ = robot_judge(&core_, input_.q, input_.theta, &refusal) == 0 &&
    robot_balance(&core_, input_.q, input_.theta, applied_) == 0;
}

/* Begin as soon as there are valid states; false if they do not come or are not plausible. */
bool ElasticJointController::start(double now)
{
  const int refused = robot_activate(&core_, nullptr);
  is_starting_ = refused != 0;
  report_.is_implausible = refused == 2;
  if (report_.is_implausible) {
    (void)robot_judge(&core_, output_.q, output_.theta, &report_.implausible);
    return false;
  }
  const auto is_finite = [](double x) {return std::isfinite(x);};
  report_.is_overdue = is_starting_ && now - starting_since_ > parameters_.start_timeout;
  report_.lacks_links = input_.link_time < now ||
    !std::all_of(input_.q, input_.q + ROBOT_JOINTS, is_finite);
  report_.lacks_motors = input_.motor_time < now ||
    !std::all_of(input_.theta, input_.theta + ROBOT_MOTORS, is_finite);
  return !report_.is_overdue;
}

void ElasticJointController::write(const double torque[ROBOT_MOTORS])
{
  bool is_written = true;
  for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
    is_written = command_interfaces_[j].set_value(torque[j]) && is_written;
  }
  report_.lost_writes += is_written ? 0 : 1;
}

void ElasticJointController::take_requests()
{
  if (stop_is_requested_.exchange(false)) { /* what came before the stop is dropped */
    while (motion_ != nullptr || upcoming_ != nullptr || motions_.pop(upcoming_)) {
      take_motion();
      report_.stopped = motion_->id;
      leave_motion();
    }
    report_.stopped = std::max(report_.stopped, report_.motion);
    stream_input_.drop();
    robot_stop(&core_);
  }
  if (clearing_is_requested_.exchange(false)) {
    robot_clear_fault(&core_);
  }
}

/* The next motion takes the place of the present one, if there is one. */
void ElasticJointController::take_motion()
{
  if (upcoming_ != nullptr) {
    leave_motion();
    motion_ = std::exchange(upcoming_, nullptr);
    report_.motion = motion_->id;
  }
}

void ElasticJointController::leave_motion()
{
  if (motion_ != nullptr) {
    motion_->is_used.store(false);
  }
  motion_ = nullptr;
  next_point_ = 0;
}

/* Pass the next message of a stream to the core, positions of continuous joints in the turn nearest
 * the present motion. Returns whether there was one. */
bool ElasticJointController::take_targets()
{
  Targets * const targets = stream_input_.next();
  if (targets == nullptr) {
    return false;
  }
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    const double turn = core_parameters_.link_turn[i];
    const double distance = targets->positions.front().value[i] - output_.desired[0][i];
    const double whole = turn > 0.0 ? turn * std::floor(distance / turn + 0.5) : 0.0;
    for (auto & row : targets->positions) {
      row.value[i] -= whole;
    }
  }
  robot_answer answer = ROBOT_ACCEPTED;
  const bool is_passed = core_.motion.streams != 0 || is_near(*targets);
  if (is_passed) {
    if (core_.motion.streams == 0) {
      core_.motion.limits = stream_limits_; /* of which the last stream has widened the positions */
    }
    answer = robot_follow(
      &core_, targets->is_stamped ? &targets->start : nullptr,
      static_cast<int>(targets->times.size()), targets->times.data(),
      &targets->positions.front().value, &targets->velocities.front().value);
  }
  targets->is_used.store(false);
  report_.stream_messages += 1;
  if (!is_passed || answer != ROBOT_ACCEPTED) {
    report_.stream_refusals += 1;
    report_.stream_refusal = answer;
  }
  return true;
}

/* Whether the arm, and the first target, are near the present motion: where a stream may begin. */
bool ElasticJointController::is_near(const Targets & targets)
{
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    const double desired = output_.desired[0][i];
    const double distance = std::fmax(
      std::fabs(targets.positions.front().value[i] - desired), std::fabs(output_.q[i] - desired));
    if (distance > parameters_.start_tolerance) {
      report_.far_joint = i;
      report_.far_distance = distance;
      return false;
    }
  }
  return true;
}

/* A known external torque ends when it is no longer renewed. */
void ElasticJointController::take_external_torque(double now)
{
  bool is_new = false;
  while (external_torques_.pop(external_)) {
    is_new = true;
  }
  if (is_new) {
    external_time_ = now;
  } else if (is_pushed_ && now - external_time_ > parameters_.external_torque_timeout) {
    external_ = ExternalTorque{};
  } else {
    return;
  }
  is_pushed_ = is_new;
  (void)robot_set_external_torque(&core_, external_.torque);
}

/* Move the second outputs to the last target, by polynomials of degree 5. */
void ElasticJointController::follow_second(double now)
{
  while (second_targets_.pop(target_)) {
    std::copy_n(&second_[0][0], 3 * ROBOT_SECOND, &second_start_[0][0]);
    second_since_ = now;
    is_changing_ = true;
  }
  if (!is_changing_) {
    return;
  }
  const double T = target_.duration;
  const double s = std::fmin((now - second_since_) / T, 1.0);
  for (std::size_t v = 0; v != ROBOT_VARIABLE; ++v) {
    const double x = second_start_[0][v];
    const double c1 = second_start_[1][v] * T;
    const double c2 = 0.5 * second_start_[2][v] * T * T;
    const double h = (std::isfinite(target_.value[v]) ? target_.value[v] : x) - x - c1 - c2;
    const double dv = -c1 - 2.0 * c2;
    const double da = -2.0 * c2;
    const double c3 = 10.0 * h - 4.0 * dv + 0.5 * da;
    const double c4 = -15.0 * h + 7.0 * dv - da;
    const double c5 = 6.0 * h - 3.0 * dv + 0.5 * da;
    second_[0][v] = x + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))));
    second_[1][v] = (c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) / T;
    second_[2][v] = (2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) / (T * T);
  }
  const bool is_moving = output_.state >= ROBOT_HOLDING && output_.state <= ROBOT_BRAKING;
  is_changing_ = s < 1.0 && is_moving;
  if (!is_changing_) { /* there, or stopped by a fault */
    std::fill_n(&second_[1][0], 2 * ROBOT_SECOND, 0.0);
  }
  (void)robot_set_second_outputs(&core_, second_);
}

/* Replace the motion after the start of the new one, and wait there if it begins later. */
robot_answer ElasticJointController::begin_motion(double now)
{
  const double start = motion_->start;
  if (output_.state == ROBOT_HOLDING) {
    motion_end_ = now;
    for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
      motion_end_state_[0][i] = output_.desired[0][i];
      for (std::size_t d = 1; d < 5; ++d) {
        motion_end_state_[d][i] = 0.0;
      }
    }
  }
  if (start < motion_end_ - SAME_TIME) {
    robot_cut(&core_, start);
    return ROBOT_ACCEPTED;
  }
  if (start <= motion_end_ + SAME_TIME) {
    return ROBOT_ACCEPTED;
  }
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    for (std::size_t d = 1; d < 5; ++d) {
      if (motion_end_state_[d][i] != 0.0) { /* a gap after a motion that does not end at rest */
        return ROBOT_POINT_LATE;
      }
    }
  }
  return robot_append(&core_, start, motion_end_state_);
}

/* Pass one point to the core after writing the torque; it costs less than a cycle of the law. The
 * points of a long motion wait until segments have ended. */
void ElasticJointController::take_point(double now)
{
  if (upcoming_ == nullptr && !motions_.pop(upcoming_)) {
    upcoming_ = nullptr;
  }
  const bool is_over = motion_ == nullptr || next_point_ >= motion_->points.size();
  const bool is_replaced = upcoming_ != nullptr && next_point_ > 0 &&
    motion_end_ >= upcoming_->start - SAME_TIME;
  if (is_over) {
    leave_motion();
  }
  if (is_over || is_replaced) {
    take_motion();
  }
  if (motion_ == nullptr) {
    return;
  }
  const std::size_t k = next_point_;
  const bool cuts = k == 0 && motion_->start < motion_end_ - SAME_TIME;
  if (!cuts && core_.motion.segments.used >= ROBOT_SEGMENTS - 1) {
    return;
  }
  robot_answer answer = ROBOT_ACCEPTED;
  if (k == 0) {
    answer = begin_motion(now);
  }
  Knot & point = motion_->points[k];
  if (answer == ROBOT_ACCEPTED) {
    answer = robot_append(&core_, point.time, point.state);
  }
  if (answer == ROBOT_ACCEPTED) {
    next_point_ = k + 1;
    motion_end_ = point.time;
    std::copy_n(&point.state[0][0], 5 * ROBOT_JOINTS, &motion_end_state_[0][0]);
    return;
  }
  leave_motion(); /* the rest of the message is dropped */
  report_.refusal = answer;
  report_.refused_point = k;
  tell(now, true);
  report_.refusal = ROBOT_ACCEPTED;
}

void ElasticJointController::tell(double now, bool is_urgent)
{
  const bool has_changed =
    report_.output.state != output_.state || report_.output.fault != output_.fault;
  report_.output = output_;
  report_.time = now;
  report_.is_streaming = core_.motion.streams != 0 && output_.state == ROBOT_FOLLOWING;
  report_.stream_interval = core_.motion.stream.interval;
  report_.stream_delay = core_.motion.stream.delay;
  cycle_time_.store(now);
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    report_.largest_error[i] =
      std::fmax(report_.largest_error[i], std::fabs(output_.desired[0][i] - output_.q[i]));
  }
  if (is_urgent || has_changed || ++cycles_since_report_ >= cycles_per_report_) {
    cycles_since_report_ = 0;
    /* The queue is full if the callbacks do not run; the next report counts what was lost. */
    if (reports_.push(report_)) {
      report_.time_to_torque = 0.0;
      report_.is_overdue = report_.is_implausible = false; /* said once */
      std::fill_n(report_.largest_error, ROBOT_JOINTS, 0.0);
    } else {
      report_.lost_reports += 1;
    }
  }
}

return_type ElasticJointController::update(const rclcpp::Time & time, const rclcpp::Duration &)
{
  const auto begin = std::chrono::steady_clock::now();
  const double now = seconds(time);
  const bool is_measured = measure(now, input_);
  report_.lost_reads += is_measured ? 0 : 1;
  robot_update(&core_, &input_, &output_);
  if (is_starting_ && is_measured && !is_balanced_) {
    balance();
  }
  write(is_starting_ ? applied_ : output_.torque);
  time_to_torque_ =
    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report_.time_to_torque = std::fmax(report_.time_to_torque, time_to_torque_);
  if (is_starting_) {
    const bool may_go_on = start(now);
    tell(now, !may_go_on);
    return may_go_on ? return_type::OK : return_type::ERROR;
  }
  take_requests();
  take_external_torque(now);
  follow_second(now);
  if (take_targets()) {
    take_targets(); /* messages that wait would wait on in a stream as fast as the cycles */
  }
  take_point(now);
  tell(now, false);
  return return_type::OK;
}

unsigned int ElasticJointController::rehearse()
{
  const std::unique_lock<std::mutex> lock(rehearsal_lock_, std::try_to_lock);
  if (!lock.owns_lock()) { /* a controller is being switched in another thread */
    return 0;
  }
  unsigned int count = 0;
  for (auto * each = first_rehearsed_; each != nullptr; each = each->next_rehearsed_) {
    each->rehearse_cycle();
    ++count;
  }
  return count;
}

void ElasticJointController::rehearse_cycle()
{
  robot_input input = input_;
  rehearsed_ = core_;
  unused_output_ = output_; /* read here, and so in the caches, as are the commands below */
  measure(input_.time + core_parameters_.period, input);
  robot_update(&rehearsed_, &input, &unused_output_);
  for (const auto & command : command_interfaces_) {
    (void)command.get_optional();
  }
}

/* Waits for a rehearsal that is under way, but only if that is in another thread. */
void ElasticJointController::set_active(bool is_active)
{
  const std::lock_guard<std::mutex> lock(rehearsal_lock_);
  ElasticJointController ** place = &first_rehearsed_;
  while (*place != nullptr && *place != this) {
    place = &(*place)->next_rehearsed_;
  }
  const bool is_listed = *place == this;
  if (is_active && !is_listed && !is_async()) { /* an asynchronous one has a thread of its own */
    next_rehearsed_ = nullptr;
    *place = this;
  } else if (!is_active && is_listed) {
    *place = next_rehearsed_;
  }
  is_active_.store(is_active);
}

/* The law begins with the torque that balances the springs, whatever the command interfaces hold:
 * zero, if brakes or drives carry the arm. */
CallbackReturn ElasticJointController::on_activate(const rclcpp_lifecycle::State &)
{
  const robot_encoder_steps steps = core_.steps; /* known since the configuration */
  if (
    state_interfaces_.size() != state_names_.size() || command_interfaces_.size() != ROBOT_MOTORS ||
    robot_initialise(&core_, &core_parameters_) != 0 || !can_read_interfaces())
  {
    return CallbackReturn::ERROR;
  }
  core_.steps = steps;
  for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
    const double torque = command_interfaces_[j].get_optional().value_or(0.0);
    applied_[j] = std::isfinite(torque) ? torque : 0.0;
  }
  input_ = robot_input{};
  output_ = robot_output{};
  input_.link_time = input_.motor_time = -1.0;
  has_origin_ = false;
  is_starting_ = true;
  is_balanced_ = false;
  starting_since_ = 0.0; /* the first cycle is the origin of time */
  cycle_time_.store(0.0);
  for (leave_motion(); upcoming_ != nullptr || motions_.pop(upcoming_); leave_motion()) {
    take_motion();
  }
  stream_input_.drop();
  while (external_torques_.pop(external_) || second_targets_.pop(target_)) {
  }
  is_pushed_ = is_changing_ = false;
  std::copy_n(&core_.second[0][0], 3 * ROBOT_SECOND, &second_[0][0]);
  stop_is_requested_.store(false);
  clearing_is_requested_.store(false);
  report_ = Report{};
  report_.motion = report_.stopped = motion_count_;
  set_active(true);
  return CallbackReturn::SUCCESS;
}

/* No torque is left on the motors. */
CallbackReturn ElasticJointController::on_deactivate(const rclcpp_lifecycle::State &)
{
  set_active(false);
  robot_deactivate(&core_);
  const double no_torque[ROBOT_MOTORS] = {};
  if (command_interfaces_.size() == ROBOT_MOTORS) {
    write(no_torque);
  }
  output_.state = ROBOT_INACTIVE;
  output_.fault = ROBOT_NO_FAULT;
  std::fill_n(output_.torque, ROBOT_MOTORS, 0.0);
  tell(report_.time, true);
  return CallbackReturn::SUCCESS;
}

/* The callbacks: outside of the real-time thread */

/* An interface whose numbers are not floating-point ones throws in every cycle. */
bool ElasticJointController::can_read_interfaces()
{
  try {
    for (const auto & each : state_interfaces_) {
      (void)each.get_optional();
    }
    for (const auto & each : command_interfaces_) {
      (void)each.get_optional();
    }
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "not activated: %s", error.what());
    return false;
  }
  return true;
}

CallbackReturn ElasticJointController::on_init()
{
  try {
    listener_ = std::make_shared<robot_ros2_control_parameters::ParamListener>(get_node());
    parameters_ = listener_->get_params();
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "parameters: %s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration ElasticJointController::command_interface_configuration() const
{
  return {
    interface_configuration_type::INDIVIDUAL,
    interfaces(parameters_.motors, parameters_.command_interface)};
}

InterfaceConfiguration ElasticJointController::state_interface_configuration() const
{
  return {interface_configuration_type::INDIVIDUAL, state_names_};
}

robot_parameters ElasticJointController::chosen_parameters() const
{
  const auto & p = parameters_;
  robot_parameters c;
  robot_default_parameters(&c);
  if (get_update_rate() > 0) {
    c.period = 1.0 / get_update_rate();
  }
//PARAMETERS//
  return c;
}

/* Limits of streams; returns an empty text, or which parameter is wrong. */
std::string ElasticJointController::choose_stream()
{
  const auto & p = parameters_;
  robot_stream_limits & s = stream_limits_;
  const std::size_t count = p.stream_acceleration.size();
  if (count > 1 && count != ROBOT_JOINTS) {
    return "stream_acceleration has " + std::to_string(count) + " numbers; expected none, one, or " +
           std::to_string(ROBOT_JOINTS);
  }
  if (p.stream_smoothing > 0.0 && p.stream_smoothing < core_parameters_.period) {
    return "stream_smoothing is " + std::to_string(p.stream_smoothing) +
           " s, less than a cycle; expected more, or 0";
  }
  s = robot_default_stream;
  s.delay = p.stream_delay;
  s.smoothing = p.stream_smoothing > 0.0 ? p.stream_smoothing : s.smoothing;
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    s.lower[i] = core_parameters_.lower[i];
    s.upper[i] = core_parameters_.upper[i];
    s.velocity[i] = std::fmin(s.velocity[i], core_parameters_.velocity[i]);
    if (count > 0) {
      s.acceleration[i] = p.stream_acceleration[count > 1 ? i : 0];
    }
  }
  return "";
}

CallbackReturn ElasticJointController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto logger = get_node()->get_logger();
  parameters_ = listener_->get_params();
  state_names_.clear();
  const auto links = interfaces(parameters_.links, parameters_.link_interface);
  const auto motors = interfaces(parameters_.motors, parameters_.motor_interface);
  for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
    link_index_[i] = place_in(state_names_, links[i]);
  }
  for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
    motor_index_[j] = place_in(state_names_, motors[j]);
  }
  core_parameters_ = chosen_parameters();
  if (robot_initialise(&core_, &core_parameters_) != 0) {
    RCLCPP_ERROR(
      logger, "the parameter %s is out of range; see robot_controller.h",
      robot_wrong_parameter(&core_parameters_));
    return CallbackReturn::FAILURE;
  }
  const std::string wrong = choose_stream();
  if (!wrong.empty()) {
    RCLCPP_ERROR(logger, "%s", wrong.c_str());
    return CallbackReturn::FAILURE;
  }
  robot_parameters designed;
  robot_default_parameters(&designed);
  if (std::fabs(core_parameters_.period / designed.period - 1.0) > RATE_TOLERANCE) {
    RCLCPP_WARN(
      logger, "runs at %u Hz, but the gains and the lead were designed for %g Hz",
      get_update_rate(), 1.0 / designed.period);
  }
  reader_.set(parameters_.links, core_parameters_);
  const double rate = parameters_.state_rate;
  cycles_per_report_ = static_cast<unsigned int>(
    std::max(1.0, std::round(1.0 / (rate * core_parameters_.period))));
  next_diagnostics_ = steady_clock_.now();

  open_topics();
  return CallbackReturn::SUCCESS;
}

void ElasticJointController::open_topics()
{
  using std_srvs::srv::Trigger;
  subscription_ = get_node()->create_subscription<trajectory_msgs::msg::JointTrajectory>(
    "~/joint_trajectory", rclcpp::QoS(MOST_WAITING).reliable(), /* a long motion comes in parts */
    [this](const trajectory_msgs::msg::JointTrajectory::ConstSharedPtr message) {
      receive(*message);
    });
  stop_service_ = get_node()->create_service<Trigger>(
    "~/stop", [this](Trigger::Request::ConstSharedPtr, Trigger::Response::SharedPtr response) {
      request(stop_is_requested_, *response);
      stream_input_.stop();
    });
  clear_service_ = get_node()->create_service<Trigger>(
    "~/clear_fault",
    [this](Trigger::Request::ConstSharedPtr, Trigger::Response::SharedPtr response) {
      request(clearing_is_requested_, *response);
    });
  using sensor_msgs::msg::JointState;
  external_subscription_ = get_node()->create_subscription<JointState>(
    "~/external_torque", rclcpp::QoS(MOST_WAITING),
    [this](const JointState::ConstSharedPtr message) {receive_external_torque(*message);});
  if (ROBOT_VARIABLE > 0) {
    second_subscription_ = get_node()->create_subscription<trajectory_msgs::msg::JointTrajectory>(
      "~/stiffness_reference", rclcpp::QoS(MOST_WAITING).reliable(),
      [this](const trajectory_msgs::msg::JointTrajectory::ConstSharedPtr message) {
        receive_second(*message);
      });
  }
  stream_input_.open(
    get_node(), parameters_.links, parameters_.stream_topics,
    [this](const builtin_interfaces::msg::Time & stamp) {return cycle_time_of(stamp);},
    [this]() {return is_active_.load();});
  action_.open(
    get_node(), parameters_.links, tolerances(),
    [this](const trajectory_msgs::msg::JointTrajectory & message, Pursuit & pursuit) {
      return accept(message, pursuit);
    },
    [this]() {stop();});
  state_publisher_ =
    get_node()->create_publisher<control_msgs::msg::JointTrajectoryControllerState>(
    "~/controller_state", rclcpp::QoS(MOST_WAITING));
  diagnostics_publisher_ = get_node()->create_publisher<diagnostic_msgs::msg::DiagnosticArray>(
    "/diagnostics", rclcpp::QoS(MOST_WAITING));
  timer_ = get_node()->create_wall_timer(
    std::chrono::duration<double>(1.0 / parameters_.state_rate), [this]() {publish();});
}

Tolerances ElasticJointController::tolerances() const
{
  const auto or_any = [](double x) {
      return x > 0.0 ? x : std::numeric_limits<double>::infinity();
    };
  Tolerances found;
  found.path.fill(or_any(parameters_.path_tolerance));
  found.goal.fill(or_any(parameters_.goal_tolerance));
  found.speed.fill(or_any(parameters_.stopped_velocity_tolerance));
  found.goal_time = or_any(parameters_.goal_time_tolerance);
  return found;
}

CallbackReturn ElasticJointController::on_cleanup(const rclcpp_lifecycle::State &)
{
  close_topics();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ElasticJointController::on_error(const rclcpp_lifecycle::State &)
{
  set_active(false);
  close_topics();
  return CallbackReturn::SUCCESS; /* unconfigured: it may be configured again */
}

CallbackReturn ElasticJointController::on_shutdown(const rclcpp_lifecycle::State &)
{
  set_active(false);
  close_topics();
  return CallbackReturn::SUCCESS;
}

void ElasticJointController::close_topics()
{
  timer_.reset();
  action_.close();
  subscription_.reset();
  stream_input_.close();
  external_subscription_.reset();
  second_subscription_.reset();
  stop_service_.reset();
  clear_service_.reset();
  state_publisher_.reset();
  diagnostics_publisher_.reset();
}

/* The controller manager counts its cycles with a steady clock, unless time is simulated; stamps are
 * in the time of the node. */
double ElasticJointController::cycle_time_of(const builtin_interfaces::msg::Time & stamp) const
{
  const rclcpp::Time node_now = get_node()->now();
  const bool is_steady = clock_type_.load() == RCL_STEADY_TIME;
  const std::int64_t now =
    is_steady ? rclcpp::Clock(RCL_STEADY_TIME).now().nanoseconds() : node_now.nanoseconds();
  const bool is_now = stamp.sec == 0 && stamp.nanosec == 0;
  const std::int64_t ahead =
    is_now ? 0 : rclcpp::Time(stamp, node_now.get_clock_type()).nanoseconds() -
    node_now.nanoseconds();
  return 1e-9 * static_cast<double>(now + ahead - origin_.load());
}

Verdict ElasticJointController::accept(
  const trajectory_msgs::msg::JointTrajectory & message, Pursuit & pursuit)
{
  using Result = FollowJointTrajectory::Result;
  if (!is_active_.load()) {
    return {Result::INVALID_GOAL, "the controller is not active"};
  }
  if (is_streaming_) {
    return {Result::INVALID_GOAL, "the arm follows a stream, which has not come to rest"};
  }
  const auto slot = std::find_if(
    slots_.begin(), slots_.end(), [](const Motion & each) {return !each.is_used.load();});
  if (slot == slots_.end()) {
    return {Result::INVALID_GOAL, "too many are waiting"};
  }
  const std::string refusal = reader_.read(message, cycle_time_of(message.header.stamp), *slot);
  if (!refusal.empty()) {
    const bool is_matched = reader_.match(message.joint_names).empty();
    return {is_matched ? Result::INVALID_GOAL : Result::INVALID_JOINTS, refusal};
  }
  if (slot->points.back().time <= cycle_time_.load()) {
    return {Result::OLD_HEADER_TIMESTAMP, "it ends in the past"};
  }
  slot->id = motion_count_ + 1;
  slot->is_used.store(true);
  pursuit.id = slot->id;
  pursuit.start = slot->start;
  pursuit.end = slot->points.back().time;
  std::copy_n(slot->points.back().state[0], ROBOT_JOINTS, pursuit.target.begin());
  if (!motions_.push(&*slot)) {
    slot->is_used.store(false);
    return {Result::INVALID_GOAL, "too many are waiting"};
  }
  motion_count_ = pursuit.id;
  action_.end(Result::INVALID_GOAL, "replaced by another trajectory");
  return {Result::SUCCESSFUL, ""};
}

void ElasticJointController::receive(const trajectory_msgs::msg::JointTrajectory & message)
{
  if (message.points.empty()) {
    stop();
    return;
  }
  if (stream_input_.takes_trajectories()) {
    stream_input_.receive(message);
    return;
  }
  Pursuit unused;
  const Verdict verdict = accept(message, unused);
  if (!verdict.text.empty()) {
    RCLCPP_ERROR(get_node()->get_logger(), "trajectory refused: %s", verdict.text.c_str());
  }
}

void ElasticJointController::stop()
{
  stop_is_requested_.store(is_active_.load());
  stream_input_.stop();
}

void ElasticJointController::receive_external_torque(const sensor_msgs::msg::JointState & message)
{
  ExternalTorque external{};
  std::string wrong = message.name.size() == message.effort.size() ? "" :
    "it needs an effort for every name";
  for (std::size_t k = 0; k < message.name.size() && wrong.empty(); ++k) {
    const auto joint = std::find(parameters_.links.begin(), parameters_.links.end(), message.name[k]);
    if (joint == parameters_.links.end()) {
      continue; /* a message may name more joints than ours */
    }
    const auto i = static_cast<std::size_t>(joint - parameters_.links.begin());
    external.torque[i] = message.effort[k];
    if (!(std::fabs(message.effort[k]) <= LARGEST_EXTERNAL_TORQUE[i])) {
      wrong = "that of '" + *joint + "' is " + std::to_string(message.effort[k]) +
        "; the joint can carry " + std::to_string(LARGEST_EXTERNAL_TORQUE[i]);
    }
  }
  if (wrong.empty() && !is_active_.load()) {
    wrong = "the controller is not active";
  }
  if (!wrong.empty()) {
    RCLCPP_ERROR_THROTTLE(
      get_node()->get_logger(), steady_clock_, 1000, "external torque refused: %s", wrong.c_str());
    return;
  }
  (void)external_torques_.push(external); /* if many wait, another one will follow */
}

void ElasticJointController::receive_second(const trajectory_msgs::msg::JointTrajectory & message)
{
  SecondTarget target;
  std::fill_n(target.value, ROBOT_SECOND, NOT_A_NUMBER);
  std::string wrong;
  if (message.points.size() != 1 || message.joint_names.empty() ||
    message.points[0].positions.size() != message.joint_names.size())
  {
    wrong = "it needs one point, with a position for every joint that it names";
  }
  for (std::size_t k = 0; k < message.joint_names.size() && wrong.empty(); ++k) {
    std::size_t v = 0;
    while (v != ROBOT_VARIABLE && parameters_.links[VARIABLE_JOINT[v]] != message.joint_names[k]) {
      ++v;
    }
    const double value = message.points[0].positions[k];
    if (v == ROBOT_VARIABLE) {
      wrong = "'" + message.joint_names[k] + "' is not a joint with variable stiffness";
    } else if (!(value >= LEAST_SECOND[v] && value <= LARGEST_SECOND[v])) {
      wrong = "that of '" + message.joint_names[k] + "' is " + std::to_string(value) +
        "; possible: " + std::to_string(LEAST_SECOND[v]) + " to " +
        std::to_string(LARGEST_SECOND[v]);
    } else {
      target.value[v] = value;
    }
  }
  if (wrong.empty()) {
    target.duration = rclcpp::Duration(message.points[0].time_from_start).seconds();
    const bool may_change =
      announced_state_ >= ROBOT_HOLDING && announced_state_ <= ROBOT_BRAKING;
    wrong = !(target.duration >= SHORTEST_CHANGE) ? "time_from_start must be at least 0.1 s" :
      !may_change ? "the arm is neither holding nor following" :
      !second_targets_.push(target) ? "too many are waiting" : "";
  }
  if (!wrong.empty()) {
    RCLCPP_ERROR(get_node()->get_logger(), "stiffness refused: %s", wrong.c_str());
  }
}

void ElasticJointController::request(
  std::atomic<bool> & flag, std_srvs::srv::Trigger::Response & response) const
{
  response.success = is_active_.load();
  flag.store(response.success);
  response.message = response.success ? "requested" : "the controller is not active";
}

/* All changes since the last call are announced; states and diagnostics are those of the newest. */
void ElasticJointController::publish()
{
  Report report;
  bool has_report = false;
  bool has_changed = false;
  while (reports_.pop(report)) {
    has_report = true;
    longest_time_to_torque_ = std::fmax(longest_time_to_torque_, report.time_to_torque);
    has_changed = has_changed || report.output.state != announced_state_ ||
      report.output.fault != announced_fault_ || report.refusal != ROBOT_ACCEPTED;
    announce(report);
    action_.observe({report.time, &report.output, report.largest_error, report.stopped});
  }
  if (!has_report) {
    return;
  }
  publish_state(report);
  if (has_changed || steady_clock_.now() >= next_diagnostics_) {
    next_diagnostics_ = steady_clock_.now() + rclcpp::Duration::from_seconds(DIAGNOSTICS_PERIOD);
    publish_diagnostics(report);
    longest_time_to_torque_ = 0.0;
  }
}

void ElasticJointController::announce(const Report & report)
{
  const auto logger = get_node()->get_logger();
  if (report.refusal != ROBOT_ACCEPTED) {
    RCLCPP_ERROR(
      logger, "trajectory refused from point %zu on: %s", report.refused_point,
      ANSWERS[report.refusal]);
    if (action_.follows(report.motion)) {
      action_.end(FollowJointTrajectory::Result::INVALID_GOAL, ANSWERS[report.refusal]);
    }
  }
  is_streaming_ = report.is_streaming;
  if (is_streaming_) {
    action_.end(FollowJointTrajectory::Result::INVALID_GOAL, "replaced by a stream");
  }
  if (report.stream_refusals != announced_refusals_) {
    announced_refusals_ = report.stream_refusals;
    if (report.stream_refusal == ROBOT_ACCEPTED) {
      RCLCPP_ERROR_THROTTLE(
        logger, steady_clock_, 1000, "targets refused: '%s' or its target is %.4g from the present "
        "motion; allowed: %g (start_tolerance)", parameters_.links[report.far_joint].c_str(),
        report.far_distance, parameters_.start_tolerance);
    } else {
      RCLCPP_ERROR_THROTTLE(
        logger, steady_clock_, 1000, "targets refused: %s",
        report.stream_refusal == ROBOT_POINT_FULL ?
        "some are out of order, or too many are waiting" :
        "the arm is neither holding its position nor following a stream");
    }
  }
  if (report.is_overdue) {
    RCLCPP_ERROR(
      logger, "not activated within start_timeout (%g s): %s", parameters_.start_timeout,
      report.lacks_links && report.lacks_motors ? "no valid states of links and motors" :
      report.lacks_links ? "no valid states of the links" :
      report.lacks_motors ? "no valid states of the motors" :
      "the filters of the positions have not settled");
  }
  if (report.is_implausible) {
    const auto & found = report.implausible;
    const std::string joint = robot_joint_names[found.joint];
    if (found.mistake == ROBOT_COARSE_ENCODER) {
      RCLCPP_ERROR(
        logger, "not activated: an encoder of '%s' has steps of %.3g; steps of %.3g change a "
        "torque by its limit. Use finer encoders, or lower the bandwidths", joint.c_str(),
        found.misfit, found.allowed);
    } else {
      const bool is_load = found.mistake != ROBOT_OUT_OF_RANGE;
      const std::string cause = found.mistake == ROBOT_EXCHANGED_SIDES ?
        "links and motors are exchanged" : found.mistake == ROBOT_EXCHANGED_JOINTS ?
        "exchanged with '" + std::string(robot_joint_names[found.other]) + "'" : !is_load ?
        "its two motors are exchanged, or the sign, unit or gear of one is wrong" :
        "names, signs, units, gear ratios, or springs of another robot";
      RCLCPP_ERROR(
        logger, "implausible states, not activated: '%s' %s %.4g %s; allowed: %.4g "
        "(external_load; inf for all joints: not judged). Likely cause: %s", joint.c_str(),
        is_load ? "carries" : "has motors that are", found.misfit,
        is_load ? "that its weight does not explain" : "rad or m out of range", found.allowed,
        cause.c_str());
    }
  }
  if (report.output.state == announced_state_ && report.output.fault == announced_fault_) {
    return;
  }
  announced_state_ = report.output.state;
  announced_fault_ = report.output.fault;
  const char * state = robot_state_name(announced_state_);
  const std::string fault = text_of_fault(report.output);
  if (level_of(report.output) == DiagnosticStatus::ERROR) {
    RCLCPP_ERROR(logger, "%.3f s: %s (%s)", report.time, state, fault.c_str());
  } else {
    RCLCPP_INFO(logger, "%.3f s: %s (%s)", report.time, state, fault.c_str());
  }
}

void ElasticJointController::publish_state(const Report & report)
{
  const robot_output & output = report.output;
  control_msgs::msg::JointTrajectoryControllerState message;
  message.header.stamp = get_node()->now();
  message.joint_names = parameters_.links;
  message.reference.positions = row(output.desired[0]);
  message.reference.velocities = row(output.desired[1]);
  message.reference.accelerations = row(output.desired[2]);
  message.feedback.positions = row(output.q);
  message.feedback.velocities = row(output.qd);
  message.error.positions = difference(output.desired[0], output.q);
  message.error.velocities = difference(output.desired[1], output.qd);
  message.output.effort = row(output.torque);
  state_publisher_->publish(message);
}

void ElasticJointController::publish_diagnostics(const Report & report)
{
  const robot_output & output = report.output;
  const robot_counts & counts = output.counts;
  DiagnosticStatus status;
  status.level = level_of(output);
  status.name = std::string(get_node()->get_name()) + ": elastic joints";
  status.hardware_id = "robot_controller";
  status.message = robot_state_name(output.state);
  status.values = {
    entry("state", robot_state_name(output.state)),
    entry("fault", text_of_fault(output)),
    entry("cycles", std::to_string(counts.cycles)),
    entry("stalled cycles", std::to_string(counts.stalled_cycles)),
    entry("time jumps", std::to_string(counts.time_jumps)),
    entry("late cycles", std::to_string(counts.late_cycles)),
    entry("coasted cycles", std::to_string(counts.coasted_cycles)),
    entry("refused samples", std::to_string(counts.refused_samples)),
    entry("frozen cycles", std::to_string(counts.frozen_cycles)),
    entry("refused points", std::to_string(counts.refused_points)),
    entry("late references", std::to_string(counts.late_references)),
    entry("limited torques", std::to_string(counts.limited_torques)),
    entry("limited torque rates", std::to_string(counts.limited_rates)),
    entry("cycles with unread states", std::to_string(report.lost_reads)),
    entry("cycles with unwritten torques", std::to_string(report.lost_writes)),
    entry("lost reports", std::to_string(report.lost_reports)),
    entry("stream: messages", std::to_string(report.stream_messages)),
    entry("stream: refused in the cycle", std::to_string(report.stream_refusals)),
    entry("stream: interval [s]", std::to_string(report.stream_interval)),
    entry("stream: delay [s]", std::to_string(report.stream_delay)),
    entry(
      "longest time to torque, us", std::to_string(std::lround(1e6 * longest_time_to_torque_)))};
  diagnostic_msgs::msg::DiagnosticArray message;
  message.header.stamp = get_node()->now();
  message.status.push_back(status);
  diagnostics_publisher_->publish(message);
}

}  // namespace robot_ros2_control

PLUGINLIB_EXPORT_CLASS(
  robot_ros2_control::ElasticJointController, controller_interface::ControllerInterface)
