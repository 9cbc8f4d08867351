// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

#ifndef ROBOT_ROS2_CONTROL_PLUGIN_HPP
#define ROBOT_ROS2_CONTROL_PLUGIN_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_interface/controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/lock_free_queue.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include "robot_controller/robot_ros2_control_parameters.hpp"
#include "action.hpp"
#include "robot_controller.h"
#include "stream_input.hpp"
#include "trajectory.hpp"

namespace robot_ros2_control
{
constexpr std::size_t MOST_WAITING = 10; /* messages of a topic */

/* External joint torques in the order of the core, N m or N. */
struct ExternalTorque
{
  double torque[ROBOT_JOINTS];
};

/* Second outputs to be reached; not a number where one is to stay. */
struct SecondTarget
{
  double value[ROBOT_SECOND];
  double duration; /* s */
};

/*
 * The controller of robot_controller.h inside ros2_control: positions of links and motors in,
 * efforts of the motors out.
 *
 * update() runs in the real-time thread of the controller manager. It allocates nothing, waits for
 * nothing, throws nothing, and prints nothing. Motions and targets come in, and reports go out, through
 * lock-free queues; everything else happens in the callbacks of the node. on_activate() and
 * on_deactivate() run in the real-time thread if switches are requested "as soon as possible", and
 * beside it otherwise.
 */
class ElasticJointController : public controller_interface::ControllerInterface
{
public:
  ~ElasticJointController() override {set_active(false);}
  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_error(const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_shutdown(const rclcpp_lifecycle::State & previous) override;
  controller_interface::return_type update(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

  /*
   * Run the next cycle of all active controllers of this library on copies, whose results are not
   * used; returns their number. For the thread that calls update(): it waits for nothing.
   */
  static unsigned int rehearse();

  /* For the thread that calls update(): of its last call. */
  const robot_output & output() const {return output_;}
  double time_to_torque() const {return time_to_torque_;} /* s, until the commands are set */

private:
  /* What the cycle has to say: its output, and whether it refused a point of a motion. */
  struct Report
  {
    robot_output output;
    double time;              /* s, of the cycle */
    double time_to_torque;    /* s, the longest one since the last report */
    unsigned long lost_reads; /* cycles in which a state interface could not be read */
    unsigned long lost_writes;
    unsigned long lost_reports; /* before this one: refusals, changes or periodic reports */
    unsigned long stream_messages;
    unsigned long stream_refusals; /* messages that were refused, or some of their points */
    bool is_streaming;
    double stream_interval, stream_delay; /* s */
    robot_answer stream_refusal; /* the last one; if accepted: `far_joint` was too far away */
    std::size_t far_joint;
    double far_distance; /* rad or m */
    robot_answer refusal;
    std::size_t refused_point;
    double largest_error[ROBOT_JOINTS]; /* |desired - q| since the last report */
    std::uint64_t motion;  /* that the cycle has taken last */
    std::uint64_t stopped; /* motions up to this one were ended by a stop */
    bool is_overdue;       /* no valid states within start_timeout, for which reason: */
    bool lacks_links, lacks_motors;
    bool is_implausible; /* the states at activation */
    robot_refusal implausible;
  };

  /* The cycle */
  double seconds(const rclcpp::Time & time);
  bool measure(double now, robot_input & input) const;
  void balance();
  bool start(double now);
  void write(const double torque[ROBOT_MOTORS]);
  void take_requests();
  void take_point(double now);
  void take_motion();
  void leave_motion();
  bool take_targets();
  bool is_near(const Targets & targets);
  void take_external_torque(double now);
  void follow_second(double now);
  robot_answer begin_motion(double now);
  void tell(double now, bool is_urgent);
  void rehearse_cycle();
  void set_active(bool is_active);

  /* The callbacks */
  robot_parameters chosen_parameters() const;
  std::string choose_stream();
  Tolerances tolerances() const;
  bool can_read_interfaces();
  void open_topics();
  Verdict accept(const trajectory_msgs::msg::JointTrajectory & message, Pursuit & pursuit);
  void receive(const trajectory_msgs::msg::JointTrajectory & message);
  void stop();
  void receive_external_torque(const sensor_msgs::msg::JointState & message);
  void receive_second(const trajectory_msgs::msg::JointTrajectory & message);
  double cycle_time_of(const builtin_interfaces::msg::Time & stamp) const;
  void request(std::atomic<bool> & flag, std_srvs::srv::Trigger::Response & response) const;
  void publish();
  void announce(const Report & report);
  void publish_state(const Report & report);
  void publish_diagnostics(const Report & report);
  void close_topics();

  /* Settings, from on_configure() on */
  std::shared_ptr<robot_ros2_control_parameters::ParamListener> listener_;
  robot_ros2_control_parameters::Params parameters_;
  robot_parameters core_parameters_{};
  robot_stream_limits stream_limits_{};
  std::vector<std::string> state_names_;
  std::array<std::size_t, ROBOT_JOINTS> link_index_{};
  std::array<std::size_t, ROBOT_MOTORS> motor_index_{};
  unsigned int cycles_per_report_ = 1;

  /* The real-time thread */
  robot_controller core_{};
  robot_input input_{};
  robot_output output_{};
  double time_to_torque_ = 0.0;
  double applied_[ROBOT_MOTORS] = {};
  bool is_starting_ = false;
  bool is_balanced_ = false;
  double starting_since_ = 0.0;
  bool has_origin_ = false;
  Motion * motion_ = nullptr; /* whose points pass to the core */
  Motion * upcoming_ = nullptr;
  std::size_t next_point_ = 0;
  double motion_end_ = 0.0; /* s, and the state there: the last accepted point */
  double motion_end_state_[5][ROBOT_JOINTS] = {};
  ExternalTorque external_{};
  double external_time_ = 0.0; /* s, of the last message */
  bool is_pushed_ = false;
  SecondTarget target_{};
  double second_[3][ROBOT_SECOND] = {}; /* second outputs with two rates */
  double second_start_[3][ROBOT_SECOND] = {};
  double second_since_ = 0.0; /* s */
  bool is_changing_ = false;
  Report report_{};
  unsigned int cycles_since_report_ = 0;
  robot_controller rehearsed_{};
  robot_output unused_output_{};

  /* The controllers to be rehearsed: a linked list, only changed with the lock */
  inline static std::mutex rehearsal_lock_;
  inline static ElasticJointController * first_rehearsed_ = nullptr;
  ElasticJointController * next_rehearsed_ = nullptr;

  /* Between the threads */
  std::atomic<std::int64_t> origin_{0}; /* ns, of the times of the core */
  std::atomic<int> clock_type_{RCL_STEADY_TIME};
  std::atomic<double> cycle_time_{0.0}; /* s, of the last cycle */
  std::atomic<bool> is_active_{false};
  std::atomic<bool> stop_is_requested_{false};
  std::atomic<bool> clearing_is_requested_{false};
  std::array<Motion, MOST_WAITING + 2> slots_; /* two for the cycle */
  realtime_tools::LockFreeSPSCQueue<Motion *, MOST_WAITING> motions_;
  StreamInput stream_input_;
  realtime_tools::LockFreeSPSCQueue<ExternalTorque, 4> external_torques_;
  realtime_tools::LockFreeSPSCQueue<SecondTarget, MOST_WAITING> second_targets_;
  realtime_tools::LockFreeSPSCQueue<Report, 16> reports_;

  /* The callbacks */
  rclcpp::Clock steady_clock_{RCL_STEADY_TIME};
  TrajectoryReader reader_;
  TrajectoryAction action_;
  bool is_streaming_ = false; /* as last reported */
  unsigned long announced_refusals_ = 0; /* of streams */
  std::uint64_t motion_count_ = 0;
  robot_state announced_state_ = ROBOT_INACTIVE;
  robot_fault announced_fault_ = ROBOT_NO_FAULT;
  double longest_time_to_torque_ = 0.0; /* s, since the last diagnostics */
  rclcpp::Time next_diagnostics_{0, 0, RCL_STEADY_TIME};
  rclcpp::Subscription<trajectory_msgs::msg::JointTrajectory>::SharedPtr subscription_;
  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr external_subscription_;
  rclcpp::Subscription<trajectory_msgs::msg::JointTrajectory>::SharedPtr second_subscription_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr stop_service_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr clear_service_;
  rclcpp::Publisher<control_msgs::msg::JointTrajectoryControllerState>::SharedPtr state_publisher_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_publisher_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace robot_ros2_control

#endif
