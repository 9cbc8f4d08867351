// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

/*
 * A hardware component that integrates the arm with its springs and motors in the time of the
 * controller manager, for trials without hardware. Brakes hold the arm until the first effort that is
 * not zero, and again when its command interfaces are released.
 */
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

#include "robot_controller.h"
#include "simulated_arm.h"

namespace robot_ros2_control
{
//MOTOR_STATES//
constexpr double LONGEST_STEP = 0.05; /* s; a manager that was interrupted for longer lost time */

class SimulatedArm : public hardware_interface::SystemInterface
{
public:
  using CallbackReturn = hardware_interface::CallbackReturn;
  using return_type = hardware_interface::return_type;

  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override
  {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    for (const auto & joint : get_hardware_info().joints) {
      for (const auto & state : joint.state_interfaces) {
        if (find(joint.name, state.name) == nullptr) {
          RCLCPP_ERROR(
            get_logger(), "the state interface %s/%s is not one of this arm; see simulated_arm.urdf",
            joint.name.c_str(), state.name.c_str());
          return CallbackReturn::ERROR;
        }
      }
    }
    robot_arm_reset(&arm_);
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    arm_.brakes = 1;
    show();
    return CallbackReturn::SUCCESS;
  }

  return_type perform_command_mode_switch(
    const std::vector<std::string> & started, const std::vector<std::string> & stopped) override
  {
    is_driven_ = !started.empty();
    if (!is_driven_ && !stopped.empty()) {
      arm_.brakes = 1;
      std::fill_n(torque_, ROBOT_MOTORS, 0.0);
    }
    return return_type::OK;
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    const double step = std::min(period.seconds(), LONGEST_STEP);
    if (step > 0.0 && robot_arm_step(&arm_, torque_, step) != 0) {
      RCLCPP_ERROR(get_logger(), "the motion of the simulated arm diverges");
      return return_type::ERROR;
    }
    show();
    return return_type::OK;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
      const double torque = get_command(std::string(robot_motor_names[j]) + "/effort");
      torque_[j] = is_driven_ && std::isfinite(torque) ? torque : 0.0;
    }
    return return_type::OK;
  }

private:
  /* The number that a state interface shows, or nullptr. */
  const double * find(const std::string & joint, const std::string & interface) const
  {
    for (std::size_t i = 0; i < ROBOT_JOINTS; ++i) {
      if (joint == robot_joint_names[i] && interface == "position") {
        return &arm_.q[i];
      }
      if (joint == robot_joint_names[i] && interface == "velocity") {
        return &arm_.qd[i];
      }
    }
    for (std::size_t j = 0; j < ROBOT_MOTORS; ++j) {
      if (joint == robot_motor_names[j] && interface == MOTOR_POSITION) {
        return &arm_.theta[j];
      }
      if (joint == robot_motor_names[j] && interface == MOTOR_VELOCITY) {
        return &arm_.thetad[j];
      }
    }
    return nullptr;
  }

  void show()
  {
    for (const auto & joint : get_hardware_info().joints) {
      for (const auto & state : joint.state_interfaces) {
        set_state(joint.name + "/" + state.name, *find(joint.name, state.name));
      }
    }
  }

  robot_arm arm_{};
  bool is_driven_ = false; /* whether a controller has claimed the efforts */
  double torque_[ROBOT_MOTORS] = {};
};
}  // namespace robot_ros2_control

PLUGINLIB_EXPORT_CLASS(robot_ros2_control::SimulatedArm, hardware_interface::SystemInterface)
