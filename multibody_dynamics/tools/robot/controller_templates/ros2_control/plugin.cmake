# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

# The plugin for ros2_control, by default where ROS 2 and ros2_control are found.

find_package(ament_cmake QUIET)
find_package(controller_interface QUIET)
if(ament_cmake_FOUND AND controller_interface_FOUND)
  set(HAS_ROS2_CONTROL ON)
else()
  set(HAS_ROS2_CONTROL OFF)
endif()
if(ament_cmake_FOUND AND NOT controller_interface_FOUND)
  message(WARNING "controller_interface was not found: the plugin for ros2_control is not built")
endif()
option(BUILD_PLUGIN "Build the plugin for ros2_control" ${HAS_ROS2_CONTROL})
if(NOT BUILD_PLUGIN)
  return()
endif()

enable_language(CXX)
find_package(ament_cmake REQUIRED)
set(PLUGIN_DEPENDS
  control_msgs controller_interface diagnostic_msgs generate_parameter_library hardware_interface
  pluginlib rclcpp rclcpp_action rclcpp_lifecycle realtime_tools sensor_msgs std_msgs std_srvs
  trajectory_msgs)
foreach(package IN LISTS PLUGIN_DEPENDS)
  find_package(${package} REQUIRED)
endforeach()

generate_parameter_library(ROBOT_ros2_control_parameters ros2_control/parameters.yaml)

add_library(ROBOT_controller_plugin SHARED
  ros2_control/action.cpp ros2_control/plugin.cpp ros2_control/rehearsal.cpp ros2_control/simulated_arm.cpp
  ros2_control/stream_input.cpp ros2_control/targets.cpp ros2_control/trajectory.cpp
  ros2_control/simulated_arm.c)
target_compile_features(ROBOT_controller_plugin PUBLIC cxx_std_17)
target_compile_options(ROBOT_controller_plugin PRIVATE -Wall -Wextra -Wshadow)
target_include_directories(ROBOT_controller_plugin PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/ros2_control)
target_link_libraries(ROBOT_controller_plugin PUBLIC
  ROBOT_controller
  ROBOT_ros2_control_parameters
  controller_interface::controller_interface
  hardware_interface::hardware_interface
  pluginlib::pluginlib
  rclcpp::rclcpp
  rclcpp_action::rclcpp_action
  rclcpp_lifecycle::rclcpp_lifecycle
  realtime_tools::realtime_tools
  ${control_msgs_TARGETS}
  ${diagnostic_msgs_TARGETS}
  ${sensor_msgs_TARGETS}
  ${std_msgs_TARGETS}
  ${std_srvs_TARGETS}
  ${trajectory_msgs_TARGETS})

pluginlib_export_plugin_description_file(controller_interface ros2_control/plugin.xml)
pluginlib_export_plugin_description_file(hardware_interface ros2_control/hardware.xml)

install(TARGETS ROBOT_controller ROBOT_controller_plugin
  ARCHIVE DESTINATION lib
  LIBRARY DESTINATION lib
  RUNTIME DESTINATION bin)
install(DIRECTORY config launch DESTINATION share/${PROJECT_NAME})

if(BUILD_TESTING)
  foreach(program IN ITEMS test timing)
    add_executable(ROBOT_plugin_${program} test/plugin_${program}.cpp)
    target_link_libraries(ROBOT_plugin_${program} ROBOT_controller_plugin)
    target_compile_options(ROBOT_plugin_${program} PRIVATE -Wall -Wextra -Wshadow)
  endforeach()
  target_compile_definitions(ROBOT_plugin_test PRIVATE
    PLUGIN_LIBRARY="$<TARGET_FILE:ROBOT_controller_plugin>")
  add_test(NAME ROBOT_plugin_test COMMAND ROBOT_plugin_test)
endif()

ament_package()
