// Copyright 2026 multibody_dynamics developers
// SPDX-License-Identifier: Apache-2.0

/*
 * Times from the start of update() until the torques are set: hot, one cycle after the other, and at
 * 1 kHz after sleeping, without and with rehearsals, a third of SECONDS each.
 *
 *     plugin_timing SECONDS [LIMIT]
 *
 * A control, a loop in registers that lasts as long as the cycle in the median, precedes or follows
 * each cycle: whatever exceeds LIMIT (10 us) there was taken by the computer. For the times of the
 * controller alone it needs real-time priority, a processor of its own, and on Linux the permission
 * to count interrupts: chrt -f 80 taskset -c 1 plugin_timing 120
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
#include <sys/mman.h>

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
/* Whether others interrupted the program during its lifetime. */
class Interruptions
{
public:
  Interruptions() {interruptions_begin(&found_);}
  bool end()
  {
    interruptions_end(&found_);
    return interruptions_any(&found_) != 0;
  }

private:
  interruptions found_;
};

/* Lock the memory, and count interrupts; says what is not possible. */
void prepare_for_real_time()
{
  cpu_set_t processors;
  CPU_ZERO(&processors);
  (void)sched_getaffinity(0, sizeof(processors), &processors);
  const bool stays = CPU_COUNT(&processors) == 1;
  const int kinds = stays ? interruptions_count_on(sched_getcpu()) : 0;
  std::printf("%d kinds of interrupts are counted\n", kinds);
  if (!stays) {
    std::puts("the program may change its processor: see taskset");
  }
  if (sched_getscheduler(0) != SCHED_FIFO) {
    std::puts("the program has no real-time priority: see chrt");
  }
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    std::perror("mlockall");
  }
}
#else
struct Interruptions /* are not known here */
{
  bool end() {return false;}
};

void prepare_for_real_time()
{
  std::puts("interruptions are not known");
}
#endif

/* Times in us, with and without those that were interrupted. */
struct Times
{
  std::vector<double> all, calm;

  double median()
  {
    sort();
    return quantile(all, 0.5);
  }

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

  void print(const char * name, double limit) const
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

  double share_above(double limit) const
  {
    return static_cast<double>(above(calm, limit)) / static_cast<double>(calm.size());
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

/* One kind of cycle, and the control of the same length. */
class Kind
{
public:
  Kind(const char * name, bool sleeps, bool rehearses)
  : name_(name), sleeps_(sleeps), rehearses_(rehearses) {}

  /* A motion of 0.9 s, and 0.1 s of rest. */
  void run(Bench & bench, double distance)
  {
    bench.rehearses = rehearses_;
    bench.send(bench.goal(distance, 0.9));
    auto next = Clock::now();
    for (int k = 0; k < CYCLES; ++k) {
      while (sleeps_ && next <= Clock::now()) { /* skips what is late already */
        next += std::chrono::nanoseconds(PERIOD);
      }
      std::this_thread::sleep_until(next);
      if (k % 2 == 0) {
        run_control();
      }
      run_cycle(bench, sleeps_ || k >= WARMING);
      if (k % 2 == 1) {
        run_control();
      }
    }
  }

  /* Begin again, with a control as long as the cycles until now. */
  void adapt()
  {
    steps_ = std::lround(static_cast<double>(steps_) * cycles_.median() / controls_.median());
    cycles_ = controls_ = Times();
    following_ = 0;
  }

  void print(double limit)
  {
    cycles_.sort();
    controls_.sort();
    cycles_.print(name_, limit);
    controls_.print("control", limit);
    const double beyond = cycles_.share_above(limit) - controls_.share_above(limit);
    std::printf(
      "%-25s above %g us, beyond the control: %.3f %%; in motion: %.0f %%\n", "", limit,
      100.0 * beyond, 100.0 * following_ / static_cast<double>(cycles_.all.size()));
  }

private:
  static constexpr int CYCLES = 1000;
  static constexpr int WARMING = 10; /* cycles after a pause that do not count as hot */

  void run_cycle(Bench & bench, bool counts)
  {
    Interruptions interruptions; /* from the rehearsal on */
    bench.prepare();
    bench.measure(true);
    bench.update();
    const bool is_interrupted = interruptions.end();
    if (counts) {
      following_ += bench.state() == ROBOT_FOLLOWING ? 1 : 0;
      cycles_.add(1e6 * bench.plugin.time_to_torque(), is_interrupted);
    }
  }

  void run_control()
  {
    Interruptions interruptions;
    const double spent = control(steps_);
    controls_.add(spent, interruptions.end());
  }

  const char * name_;
  bool sleeps_, rehearses_;
  long steps_ = 1000;
  int following_ = 0;
  Times cycles_, controls_;
};

void print_times(int seconds, double limit)
{
  Bench bench(false);
  bench.keeps_torques = false;
  bench.measure(true);
  expect(bench.activate(), "the plugin is activated");
  bench.run(3000);
  expect(bench.state() == ROBOT_HOLDING, "it holds the arm");
  prepare_for_real_time();
  Kind kinds[] = {
    {"hot", false, false},
    {"after sleeping", true, false},
    {"after sleeping, rehearsed", true, true}};
  double distance = 0.05;
  for (int round = -1; round < seconds / 3; ++round) {
    for (auto & kind : kinds) {
      kind.run(bench, distance);
      if (round < 0) {
        kind.adapt();
      }
      distance = -distance;
    }
  }
  std::printf(
    "us from the start of update() to the torques; all cycles | those that were not interrupted\n"
    "%-25s", "");
  for (int k = 0; k < 2; ++k) {
    std::printf(" | cycles    p50    p99  p99.9    max >%5.1f", limit);
  }
  std::printf("\n");
  for (auto & kind : kinds) {
    kind.print(limit);
  }
  expect(bench.is_good, "every cycle was successful");
}
}  // namespace

int main(int argc, char ** argv)
{
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 0;
  const double limit = argc > 2 ? std::atof(argv[2]) : 10.0;
  if (seconds < 3 || !(limit > 0.0)) {
    std::puts("arguments: seconds, at least 3, and a limit in us (10)");
    return EXIT_FAILURE;
  }
  rclcpp::init(argc, argv);
  print_times(seconds, limit);
  rclcpp::shutdown();
  std::printf("%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
