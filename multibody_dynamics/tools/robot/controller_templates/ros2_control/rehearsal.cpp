// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

/*
 * A hardware component without interfaces, whose read() rehearses the next cycle of all active
 * controllers of this library. While the controller manager sleeps, other programs evict them from
 * the caches; the rehearsal warms these before the states are read, so that less time passes until
 * the torques are set. It is an actuator because these are read first, in the order of the robot
 * description: put it at the beginning.
 */
#include "hardware_interface/actuator_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

#include "plugin.hpp"

namespace robot_ros2_control
{
class Rehearsal : public hardware_interface::ActuatorInterface
{
public:
  using CallbackReturn = hardware_interface::CallbackReturn;
  using return_type = hardware_interface::return_type;

  /* Only the thread that calls update() may rehearse. */
  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override
  {
    if (ActuatorInterface::on_init(params) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    if (get_hardware_info().is_async) {
      RCLCPP_ERROR(get_logger(), "is_async must be false: it rehearses in the thread of update()");
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    ElasticJointController::rehearse();
    return return_type::OK;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    return return_type::OK;
  }
};
}  // namespace robot_ros2_control

PLUGINLIB_EXPORT_CLASS(robot_ros2_control::Rehearsal, hardware_interface::ActuatorInterface)
