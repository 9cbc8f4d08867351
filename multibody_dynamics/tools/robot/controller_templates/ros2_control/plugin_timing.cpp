// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

/*
 * Times from the start of update() until the torques are set: hot, one cycle after the other, and at
 * 1 kHz after sleeping, without and with rehearsals.
 *
 *     plugin_timing SECONDS [LIMIT]
 *
 * A control, a loop of the length of a hot cycle in registers alone, follows each cycle: whatever
 * exceeds LIMIT (10 us) there was taken by the computer. For the times of the controller alone it
 * needs real-time priority, a processor of its own, and on Linux the permission to count interrupts:
 * chrt -f 80 taskset -c 1 plugin_timing 120
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>

#include "interruptions.h"
#endif
#include "bench.hpp"

using namespace robot_bench;

namespace
{
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start)
{
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

#if defined(__linux__)
/* Whether something interrupted the program while it lived. */
class Interruptions
{
public:
  Interruptions() {interruptions_begin(&found_);}
  bool end()
  {
    interruptions_end(&found_);
    return interruptions_are_there(&found_) != 0;
  }
  static int count() {return interruptions_count_on(sched_getcpu());}

private:
  interruptions found_;
};
#else
struct Interruptions /* are not known here */
{
  bool end() {return false;}
  static int count() {return 0;}
};
#endif

/* Times in us, with and without those that were interrupted. */
struct Times
{
  Times(const char * name_)
  : name(name_) {}

  const char * name;
  std::vector<double> all, calm;

  void add(double time, bool is_interrupted)
  {
    all.push_back(time);
    if (!is_interrupted) {
      calm.push_back(time);
    }
  }

  void sort()
  {
    std::sort(all.begin(), all.end());
    std::sort(calm.begin(), calm.end());
  }

  void print(double limit) const
  {
    std::printf("%-25s", name);
    for (const auto * each : {&all, &calm}) {
      std::printf(" | %6zu", each->size());
      for (const double share : {0.5, 0.99, 0.999, 1.0}) {
        std::printf(" %6.1f", quantile(*each, share));
      }
      std::printf(" %6td", above(*each, limit));
    }
    std::printf("\n");
  }

  static double quantile(const std::vector<double> & sorted, double share)
  {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
    return sorted.empty() ? NAN : sorted[std::min(place, sorted.size() - 1)];
  }

  static std::ptrdiff_t above(const std::vector<double> & sorted, double limit)
  {
    return sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), limit);
  }

  /* The share of these above the limit, without as many as a control of the same length has. */
  double share_beyond(const Times & control, double limit) const
  {
    const double length = quantile(calm, 0.5) / quantile(control.calm, 0.5);
    const auto share = [limit](const std::vector<double> & times) {
        return static_cast<double>(above(times, limit)) / static_cast<double>(times.size());
      };
    return share(calm) - length * share(control.calm);
  }
};

/* Registers alone: whatever it lasts longer than usual was taken by interrupts and by others. */
double control(long steps)
{
  const auto start = Clock::now();
  volatile double result = 1.0;
  double x = result;
  for (long k = 0; k < steps; ++k) {
    x = 0.5 * (x + 1.0);
  }
  result = x;
  return microseconds_since(start);
}

/* Its steps that last as long as a hot cycle. */
long steps_of_control(Bench & bench)
{
  constexpr long STEPS = 1000;
  std::vector<double> cycles, controls;
  bench.send(bench.goal(0.0, 1.0));
  for (int k = 0; k < 1000; ++k) { /* in which it follows a motion */
    bench.run(1);
    cycles.push_back(1e6 * bench.plugin.time_to_torque());
    controls.push_back(control(STEPS));
  }
  std::sort(cycles.begin(), cycles.end());
  std::sort(controls.begin(), controls.end());
  return std::lround(STEPS * Times::quantile(cycles, 0.5) / Times::quantile(controls, 0.5));
}

/* Motions of a second, back and forth, with each kind of cycle in turn. */
void print_times(int seconds, double limit)
{
  constexpr int WARMING = 10; /* cycles after a pause that do not count as hot */
  Bench bench(false);
  bench.keeps_torques = false;
  bench.measure(true);
  expect(bench.activate(), "the plugin is activated");
  bench.run(3000);
  expect(bench.state() == ROBOT_HOLDING, "it holds the arm");
  const int counters = Interruptions::count();
  Times cycles[] = {{"hot"}, {"after sleeping"}, {"after sleeping, rehearsed"}};
  Times controls[] = {{"control"}, {"control"}, {"control"}};
  const long steps = steps_of_control(bench);
  int following = 0;
  for (int second = 0; second < seconds; ++second) {
    const int kind = second % 3;
    bench.rehearses = kind == 2;
    bench.send(bench.goal(second / 3 % 2 == 0 ? 0.05 : -0.05, 0.9));
    auto next = Clock::now();
    for (int k = 0; k < 1000; ++k) {
      if (kind > 0) {
        next = std::max(next + std::chrono::nanoseconds(PERIOD), Clock::now());
        std::this_thread::sleep_until(next);
      }
      Interruptions of_cycle; /* from the rehearsal on */
      bench.prepare();
      bench.measure(true);
      bench.update();
      const bool is_interrupted = of_cycle.end();
      Interruptions of_control;
      const double spent = control(steps);
      const bool is_control_interrupted = of_control.end();
      following += bench.state() == ROBOT_FOLLOWING ? 1 : 0;
      if (kind > 0 || k >= WARMING) {
        cycles[kind].add(1e6 * bench.plugin.time_to_torque(), is_interrupted);
        controls[kind].add(spent, is_control_interrupted);
      }
    }
  }
  std::printf(
    "us from the start of update() to the torques; all cycles | those that were not interrupted%s\n"
    "%-25s", counters > 0 ? "" : ", as far as is known: interrupts were not counted", "");
  for (int k = 0; k < 2; ++k) {
    std::printf(" | cycles    p50    p99  p99.9    max >%5.1f", limit);
  }
  std::printf("\n");
  for (int kind = 0; kind < 3; ++kind) {
    for (auto * each : {&cycles[kind], &controls[kind]}) {
      each->sort();
      each->print(limit);
    }
    std::printf(
      "%-25s above %.0f us, beyond a control of the same length: %.3f %%\n", "", limit,
      100.0 * cycles[kind].share_beyond(controls[kind], limit));
  }
  std::printf("following in %.0f %% of the cycles\n", 0.1 * following / seconds);
  expect(bench.is_good, "every cycle was successful");
}
}  // namespace

int main(int argc, char ** argv)
{
  if (argc < 2) {
    std::puts("arguments: seconds, and a limit in us (10)");
    return EXIT_FAILURE;
  }
  rclcpp::init(argc, argv);
  print_times(std::max(3, std::atoi(argv[1])), argc > 2 ? std::atof(argv[2]) : 10.0);
  rclcpp::shutdown();
  std::printf("%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
