/* Settings: defaults and ranges. Names of joints, motors, states and faults. */
#include "robot_controller_parts.h"

#include <math.h>

//TABLES//

static int are_positive(const double *row, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(row[i] > 0.0)) {
            return 0;
        }
    }
    return 1;
}

int robot_settings_are_valid(const robot_parameters *p)
{
    const double times[8] = {p->period,       p->stop_time,     p->filter_bandwidth,
                             p->max_step,     p->link_timeout,  p->motor_timeout,
                             p->recovery_speed, p->settling_time};
    return are_positive(times, 8) && is_finite_row(times, 4) && p->lead >= 0.0 && p->lead < 1.0 &&
           p->disturbance_bandwidth >= 0.0 && p->tracking_tolerance >= 0.0 &&
           p->transfer_time >= 0.0 && is_finite_row(&p->transfer_time, 1) &&
           p->stop_transfer_time >= 0.0 && is_finite_row(&p->stop_transfer_time, 1) &&
           p->filter_order >= 2 &&
           p->filter_order <= 4 && is_finite_row(p->gains[0], 4 * MOTORS) &&
           is_finite_row(p->hold_gains[0], 2 * MOTORS) && are_positive(p->hold_gains[0], MOTORS) &&
           is_finite_row(p->friction, MOTORS) &&
           are_positive(p->stop_acceleration, JOINTS) && are_positive(p->torque_limit, MOTORS) &&
           are_positive(p->torque_rate_limit, MOTORS) && are_positive(p->velocity, JOINTS) &&
           are_positive(p->link_speed, JOINTS) && are_positive(p->motor_speed, MOTORS);
}

const char *robot_state_name(robot_state state)
{
    static const char *const names[6] = {"inactive", "stopping", "holding",
                                         "following", "braking", "lost"};
    return (int)state >= 0 && (int)state < 6 ? names[state] : "unknown";
}

const char *robot_fault_name(robot_fault fault)
{
    static const char *const names[7] = {"none", "settling", "link states missing",
                                         "motor states missing", "tracking error",
                                         "torque not finite", "clock set back or stopped"};
    return (int)fault >= 0 && (int)fault < 7 ? names[fault] : "unknown";
}
