// SPDX-License-Identifier: Apache-2.0
#include "pipeline/block_feeder.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "pipeline/block_feeder_reader.h"
#include "pipeline/block_feeder_units.h"

namespace dts {
namespace {

FeederUnits::Options unit_options(const SampleSource& source, const FeederOptions& options) {
  FeederUnits::Options chosen;
  chosen.readers = options.reader_threads;
  chosen.single_units_ahead = options.single_units_ahead;
  chosen.has_store = options.store != nullptr;
  chosen.num_samples = source.num_samples();
  chosen.num_kept_blocks = options.store ? source.num_blocks() : source.num_kept_blocks();
  return chosen;
}

FeederOptions completed(const SampleSource& source, FeederOptions options) {
  if (options.reader_threads < 1 || options.single_units_ahead < 1) {
    throw InvalidArgument("reader_threads is " + std::to_string(options.reader_threads) +
                          " and single_units_ahead " + std::to_string(options.single_units_ahead) +
                          ", expected at least 1 each");
  }
  if (!options.store) options.store = source.store();
  if (!options.buffers) options.buffers = std::make_shared<ReadBuffers>();
  return options;
}

}  // namespace

struct BlockFeeder::State {
  State(std::shared_ptr<const SampleSource> the_source, const FeederOptions& the_options)
      : source(std::move(the_source)),
        options(completed(*source, the_options)),
        units(unit_options(*source, options)) {}

  void run(int number);
  void run_task(const ReadTask& task, FeederReader& reader, std::unique_lock<std::mutex>& lock);

  // Runs `action` without the lock and returns what it threw. end_stream() waits for it.
  template <class Action>
  std::exception_ptr unlocked(std::unique_lock<std::mutex>& lock, const Action& action);
  // The same for a reader, whose time and bytes are counted.
  template <class Action>
  std::exception_ptr reading(std::unique_lock<std::mutex>& lock, FeederReader& reader,
                             const Action& action);

  void start_threads(std::unique_lock<std::mutex>& lock);
  void join_threads(std::unique_lock<std::mutex>& lock);
  void end_stream(std::unique_lock<std::mutex>& lock, std::vector<ReadMemory>* keep = nullptr);

  std::condition_variable& arrival_of(std::int64_t number) {
    return arrivals[static_cast<std::size_t>(number) % arrivals.size()];
  }

  const std::shared_ptr<const SampleSource> source;
  const FeederOptions options;
  const ProcessMark home;

  mutable std::mutex mutex;
  std::condition_variable work;  // readers: something to read, or the end
  // Waiters, by unit: it was read, or the stream ended. Few units are waited for at a time.
  std::array<std::condition_variable, 8> arrivals;
  std::condition_variable calm;  // end_stream(): nobody is at work
  FeederUnits units;
  bool is_running = false;
  bool is_closing = false;
  bool has_buffers = false;
  std::uint64_t stream = 0;
  int num_busy = 0;  // threads that use the stream's memory without the lock
  // Blocks may be left that nobody has begun. Off after an error: no unit asked for that
  // block, and whoever does will meet the error.
  std::atomic<bool> may_keep{false};
  std::atomic<bool> stop_reading{false};
  FeederStats stats;
  std::int64_t num_wakeups = 0;
  std::vector<std::thread> threads;
};

// ---- readers ------------------------------------------------------------------

void BlockFeeder::State::run(int number) {
  FeederReader reader(*source, options, stop_reading, may_keep);
  std::unique_lock lock(mutex);
  while (!is_closing) {
    ReadTask task;
    if (is_running && units.claim(number, task)) {
      run_task(task, reader, lock);
    } else if (is_running && may_keep && units.lets_store_fill()) {
      reading(lock, reader, [&] { reader.keep_next(); });
    } else {
      work.wait(lock);
    }
  }
}

void BlockFeeder::State::run_task(const ReadTask& task, FeederReader& reader,
                                  std::unique_lock<std::mutex>& lock) {
  FeederUnit& unit = *task.unit;
  if (!unit.error) {
    std::exception_ptr error;
    try {
      if (!unit.is_single() && !options.store && unit.piece.empty()) {
        unit.piece = options.buffers->piece(static_cast<int>(unit.ordinal % 2))
                         .reserve(unit.request.blocks.size() *
                                  static_cast<std::size_t>(source->block_bytes()));
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) error = reading(lock, reader, [&] { reader.read(task); });
    if (error && !unit.error) unit.error = error;
  }
  if (!units.finish(task) || !is_running) return;
  if (!unit.error && !unit.is_single() && !options.store) {
    unit.error = unlocked(lock, [&] { make_views(*source, nullptr, unit); });
  }
  units.set_phase(unit, unit.error                           ? UnitPhase::kFailed
                        : !unit.is_single() && options.store ? UnitPhase::kInStore
                                                             : UnitPhase::kReady);
  arrival_of(unit.number).notify_all();
}

template <class Action>
std::exception_ptr BlockFeeder::State::unlocked(std::unique_lock<std::mutex>& lock,
                                                const Action& action) {
  std::exception_ptr error;
  ++num_busy;
  lock.unlock();
  try {
    action();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (--num_busy == 0 && !is_running) calm.notify_all();
  return error;
}

template <class Action>
std::exception_ptr BlockFeeder::State::reading(std::unique_lock<std::mutex>& lock,
                                               FeederReader& reader, const Action& action) {
  std::exception_ptr error = unlocked(lock, action);
  const FeederStats done = reader.take_stats();
  stats.bytes_read += done.bytes_read;
  stats.read_ns += done.read_ns;
  stats.blocks_read += done.blocks_read;
  return error;
}

void BlockFeeder::State::start_threads(std::unique_lock<std::mutex>& lock) {
  try {
    for (int number = static_cast<int>(threads.size()); number < options.reader_threads; ++number) {
      threads.emplace_back([this, number] { run(number); });
    }
  } catch (...) {
    join_threads(lock);
    throw;
  }
}

void BlockFeeder::State::join_threads(std::unique_lock<std::mutex>& lock) {
  is_closing = true;
  work.notify_all();
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  lock.lock();
  threads.clear();
  is_closing = false;
}

void BlockFeeder::State::end_stream(std::unique_lock<std::mutex>& lock,
                                    std::vector<ReadMemory>* keep) {
  is_running = false;
  stop_reading = true;
  for (std::condition_variable& arrival : arrivals) arrival.notify_all();
  calm.wait(lock, [&] { return num_busy == 0; });
  stop_reading = false;
  units.reset(keep);
  if (has_buffers && keep != nullptr) {
    for (const int number : {0, 1}) keep->push_back(std::move(options.buffers->piece(number)));
  }
  if (has_buffers) options.buffers->release();
  has_buffers = false;
}

// ---- the feeder ---------------------------------------------------------------

BlockFeeder::BlockFeeder(std::shared_ptr<const SampleSource> source, const FeederOptions& options)
    : state_(std::make_unique<State>(std::move(source), options)) {}

BlockFeeder::~BlockFeeder() {
  if (!state_->home.is_here()) {
    static_cast<void>(state_.release());
    return;
  }
  std::unique_lock lock(state_->mutex);
  state_->end_stream(lock);
  state_->join_threads(lock);
}

void BlockFeeder::start() {
  State& state = *state_;
  if (!state.home.is_here()) {
    throw InvalidArgument("the loader was made in another process; make one in this process");
  }
  std::unique_lock lock(state.mutex);
  state.end_stream(lock);
  state.start_threads(lock);
  if (!state.options.store) {
    state.options.buffers->acquire();
    state.has_buffers = true;
  }
  ++state.stream;
  state.may_keep = state.options.store || state.source->num_kept_blocks() > 0;
  state.is_running = true;
}

void BlockFeeder::append(ReadUnit unit) {
  State& state = *state_;
  std::vector<std::size_t> loose = check_unit(*state.source, unit);
  {
    const std::lock_guard lock(state.mutex);
    if (!state.is_running) {
      throw InvalidArgument("a unit was appended to a stream that is not running");
    }
    state.arrival_of(state.units.next_number()).notify_all();
    if (!state.units.append(std::move(unit), std::move(loose)) && !state.may_keep) return;
  }
  state.work.notify_all();
}

std::int64_t BlockFeeder::num_units_waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->units.num_waiting();
}

void BlockFeeder::fill_store(bool may) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->units.fill_store(may);
    if (!may || !state_->is_running || !state_->may_keep) return;
  }
  state_->work.notify_all();
}

void BlockFeeder::stop(std::vector<ReadMemory>* keep) {
  if (!state_->home.is_here()) return;
  std::unique_lock lock(state_->mutex);
  state_->end_stream(lock, keep);
}

std::span<const SampleView> BlockFeeder::wait(std::int64_t number, std::int64_t deadline_ns) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const std::uint64_t stream = state.stream;
  const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
  for (bool is_late = false;;) {
    if (!state.is_running || state.stream != stream) return {};
    FeederUnit* unit = state.units.find(number);
    if (unit != nullptr && unit->phase == UnitPhase::kReady) return unit->views;
    if (unit != nullptr && unit->phase == UnitPhase::kFailed) {
      const std::exception_ptr error = unit->error;
      lock.unlock();
      std::rethrow_exception(error);
    }
    if (unit != nullptr && unit->phase == UnitPhase::kInStore) {
      // By who needs them, so that an epoch that is all in memory has few views at a time.
      state.units.set_phase(*unit, UnitPhase::kIndexing);
      unit->error = state.unlocked(
          lock, [&] { make_views(*state.source, state.options.store.get(), *unit); });
      state.units.set_phase(*unit, unit->error ? UnitPhase::kFailed : UnitPhase::kReady);
      state.arrival_of(number).notify_all();
      continue;
    }
    if (unit != nullptr && state.units.want(*unit)) state.work.notify_all();
    if (is_late) return {};
    if (deadline_ns == kForEver) {
      state.arrival_of(number).wait(lock);
    } else {
      is_late = state.arrival_of(number).wait_until(lock, deadline) == std::cv_status::timeout;
    }
    ++state.num_wakeups;
  }
}

void BlockFeeder::release(std::int64_t number, std::int64_t count) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->is_running) return;
    if (!state_->units.release(number, count) && !state_->may_keep) return;
  }
  state_->work.notify_all();
}

FeederStats BlockFeeder::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

std::int64_t BlockFeeder::num_wakeups() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_wakeups;
}

}  // namespace dts
