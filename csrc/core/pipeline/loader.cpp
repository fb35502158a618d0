// SPDX-License-Identifier: Apache-2.0
#include "pipeline/loader.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/topology.h"
#include "pipeline/loader_shared.h"
#include "pipeline/loader_worker.h"

namespace dts {
namespace {

constexpr int kMaxWorkers = 4096;

const LoaderOptions& checked(const LoaderOptions& options) {
  if (options.num_workers < 0 || options.num_workers > kMaxWorkers) {
    throw InvalidArgument("num_workers is " + std::to_string(options.num_workers) +
                          ", expected 0 to " + std::to_string(kMaxWorkers));
  }
  if (options.prefetch_batches < 1) {
    throw InvalidArgument("prefetch_batches is " + std::to_string(options.prefetch_batches) +
                          ", expected at least 1");
  }
  if (!options.cpus.empty() && std::cmp_not_equal(options.cpus.size(), options.num_workers)) {
    throw InvalidArgument("there are " + std::to_string(options.cpus.size()) + " CPUs for " +
                          std::to_string(options.num_workers) +
                          " workers, expected as many, or none");
  }
  return options;
}

void check_outlines(const LoaderOptions& options, const ViewPlans& plans) {
  if (options.form != SampleForm::kOutlines || plans.num_views() == 1) return;
  throw InvalidArgument("there are " + std::to_string(plans.num_views()) +
                        " views, expected 1: outlines are of one image each");
}

}  // namespace

struct Loader::State {
  State(std::shared_ptr<const SampleSource> source, std::shared_ptr<const ViewPlans> first_plans,
        const LoaderOptions& options)
      : shared(std::make_shared<LoaderShared>(std::move(source), checked(options))),
        plans(std::move(first_plans)) {}

  void check_process() const;
  void start_threads();
  void join_threads();
  void run_thread(int number, int cpu);
  void check_append(const std::vector<ReadUnit>& units, std::size_t num_occurrences,
                    std::span<const std::int64_t> batch_sizes) const;
  bool work_here(Stream& stream, std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock);
  void wait_for_batch(std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock);

  // Holders of zones may outlive the loader for the time of a call.
  const std::shared_ptr<LoaderShared> shared;
  std::shared_ptr<const ViewPlans> plans;
  std::uint64_t generation = 0;  // of the stream, guarded by the mutex
  std::vector<std::thread> threads;
  std::unique_ptr<LoaderWorker> here;  // without workers: for the thread that calls next()
};

void Loader::State::check_process() const {
  if (!shared->home.is_here()) {
    throw InvalidArgument(
        "this loader belongs to another process: its threads don't exist after a fork; make a new "
        "loader in this process");
  }
}

void Loader::State::start_threads() {
  const int num_workers = shared->options.num_workers;
  if (num_workers == 0) {
    here = std::make_unique<LoaderWorker>(*shared, shared->counters[0], 0, 1);
    return;
  }
  const std::vector<int>& cpus = shared->options.cpus;
  threads.reserve(static_cast<std::size_t>(num_workers));
  try {
    for (int number = 0; number < num_workers; ++number) {
      const int cpu = cpus.empty() ? -1 : cpus[static_cast<std::size_t>(number)];
      threads.emplace_back([this, number, cpu] { run_thread(number, cpu); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = threads.size();
    join_threads();
    throw InvalidArgument("the system lets us start " + std::to_string(started) + " of " +
                          std::to_string(num_workers) + " worker threads (" + error.what() +
                          "); use fewer workers");
  }
}

void Loader::State::join_threads() {
  {
    const std::lock_guard lock(shared->mutex);
    shared->is_closing = true;
    shared->work_ready.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

void Loader::State::run_thread(int number, int cpu) {
  if (cpu >= 0) bind_this_thread(cpu);
  name_this_thread("dts-work-" + std::to_string(number));
  LoaderShared& s = *shared;
  const std::int64_t stride = s.options.reproducible ? s.options.num_workers : 0;
  LoaderWorker worker(s, s.counters[static_cast<std::size_t>(number)], number, stride);
  std::uint64_t seen = 0;
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.work_ready.wait(lock,
                      [&] { return s.is_closing || (s.stream != nullptr && generation != seen); });
    if (s.is_closing) return;
    seen = generation;
    // stop() holds the stream until the last worker has left it.
    std::shared_ptr<Stream> stream = s.stream;
    ++s.num_in_stream;
    lock.unlock();
    worker.run(*stream);
    stream.reset();
    lock.lock();
    if (--s.num_in_stream == 0) s.workers_left.notify_all();
  }
}

// InvalidArgument, OutOfRange: what can't be appended.
void Loader::State::check_append(const std::vector<ReadUnit>& units, std::size_t num_occurrences,
                                 std::span<const std::int64_t> batch_sizes) const {
  const std::int64_t num_samples = shared->source->num_samples();
  const std::int64_t num_blocks = shared->source->num_blocks();
  std::size_t count = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].samples.empty()) {
      throw InvalidArgument("unit " + std::to_string(i) + " has no samples, expected at least one");
    }
    count += units[i].samples.size();
    for (const std::int64_t sample : units[i].samples) {
      if (sample >= 0 && sample < num_samples) continue;
      throw OutOfRange("sample " + std::to_string(sample) + " is not among the " +
                       std::to_string(num_samples) + " of the source");
    }
    for (const std::int64_t block : units[i].blocks) {
      if (block >= 0 && block < num_blocks) continue;
      throw OutOfRange("block " + std::to_string(block) + " is not among the " +
                       std::to_string(num_blocks) + " of the source");
    }
  }
  if (num_occurrences != 0 && num_occurrences != count) {
    throw InvalidArgument("there are " + std::to_string(num_occurrences) + " occurrences for " +
                          std::to_string(count) + " samples, expected as many, or none");
  }
  for (const std::int64_t size : batch_sizes) {
    // Positions are added up; no memory holds a batch of this size.
    if (size >= 1 && size <= std::int64_t{1} << 40) continue;
    throw InvalidArgument("a batch size is " + std::to_string(size) + ", expected 1 to 2^40");
  }
}

// Works on the batch to deliver, without the mutex; false: there is nothing to do.
bool Loader::State::work_here(Stream& stream, std::int64_t deadline_ns,
                              std::unique_lock<std::mutex>& lock) {
  const StreamBatch* const front = stream.front();
  if (!here || front == nullptr || !front->zone) return false;
  const std::int64_t end = std::min(front->end(), stream.units_end());
  if (here->position() >= end) return false;
  if (shared->num_in_stream > 0) {
    throw InvalidArgument("next() is running in another thread; a loader has one consumer");
  }
  ++shared->num_in_stream;
  lock.unlock();
  here->run_until(stream, end, deadline_ns);
  lock.lock();
  if (--shared->num_in_stream == 0) shared->workers_left.notify_all();
  return true;
}

void Loader::State::wait_for_batch(std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock) {
  const std::int64_t began = steady_ns();
  if (began < deadline_ns) {
    shared->batch_ready.wait_for(lock, std::chrono::nanoseconds(deadline_ns - began));
  }
  shared->consumer_wait_ns += steady_ns() - began;
}

Loader::Loader(std::shared_ptr<const SampleSource> source, std::shared_ptr<const ViewPlans> plans,
               const LoaderOptions& options)
    : state_(std::make_unique<State>(std::move(source), std::move(plans), options)) {
  check_outlines(options, *state_->plans);
  state_->shared->station->on_free([weak = std::weak_ptr(state_->shared)] {
    if (const auto shared = weak.lock()) shared->on_zone_free();
  });
  state_->start_threads();
}

Loader::~Loader() {
  if (!state_->shared->home.is_here()) {
    // Its threads are not here to be joined, its locks may be held by them for ever.
    static_cast<void>(state_.release());
    return;
  }
  state_->shared->station->on_free(nullptr);
  stop();
  state_->join_threads();
}

void Loader::start(std::shared_ptr<const ViewPlans> plans, std::uint64_t seed,
                   std::uint32_t epoch) {
  stop();
  LoaderShared& s = *state_->shared;
  if (plans) {
    check_outlines(s.options, *plans);
    if (s.slot_bytes(*plans) != s.slot_bytes(*state_->plans)) s.station->trim();
    state_->plans = std::move(plans);
  }
  auto stream = std::make_shared<Stream>(state_->plans, seed, epoch);
  stream->memory()->source = s.source;
  if (state_->here) state_->here->begin(*stream);
  s.feeder.start();
  s.feeder.fill_store(false);  // the first batch has the processors to itself
  const std::lock_guard lock(s.mutex);
  s.stream = std::move(stream);
  ++state_->generation;
  s.work_ready.notify_all();
}

void Loader::append(std::vector<ReadUnit> units, std::span<const std::int64_t> occurrences,
                    std::span<const std::int64_t> batch_sizes) {
  state_->check_process();
  state_->check_append(units, occurrences.size(), batch_sizes);
  LoaderShared& s = *state_->shared;
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(s.mutex);
    stream = s.stream;
    if (!stream || stream->is_finished()) {
      throw InvalidArgument(stream ? "the stream is finished, nothing can be appended"
                                   : "there is no stream; start() begins one");
    }
  }
  // The feeder looks at each sample; workers need not wait for that.
  std::vector<StreamUnit> runs(units.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    runs[i].samples = units[i].samples;
    if (!occurrences.empty()) {
      const auto own = occurrences.first(runs[i].samples.size());
      runs[i].occurrences.assign(own.begin(), own.end());
      occurrences = occurrences.subspan(own.size());
    }
    s.feeder.append(std::move(units[i]));
  }
  const std::lock_guard lock(s.mutex);
  for (StreamUnit& run : runs) stream->append_unit(std::move(run));
  for (const std::int64_t size : batch_sizes) stream->append_batch(size);
  s.open_ahead(false);
}

void Loader::finish() {
  state_->check_process();
  LoaderShared& s = *state_->shared;
  const std::lock_guard lock(s.mutex);
  if (!s.stream) throw InvalidArgument("there is no stream; start() begins one");
  if (s.stream->units_end() != s.stream->batches_end()) {
    throw InvalidArgument("the stream's units hold " + std::to_string(s.stream->units_end()) +
                          " samples, its batches " + std::to_string(s.stream->batches_end()) +
                          "; they must be equal at its end");
  }
  s.stream->finish();
  s.wake_all();
  s.batch_ready.notify_all();
}

std::int64_t Loader::num_units_waiting() const {
  state_->check_process();
  return state_->shared->feeder.num_units_waiting();
}

NextState Loader::next(std::int64_t timeout_ms, Batch& batch) {
  state_->check_process();
  constexpr std::int64_t kMaxMs = std::int64_t{1000} * 60 * 60 * 24;
  const std::int64_t deadline =
      steady_ns() + std::clamp(timeout_ms, std::int64_t{0}, kMaxMs) * 1'000'000;
  LoaderShared& s = *state_->shared;
  // Before the lock, so that no zone is let go of while it is held.
  std::shared_ptr<Stream> stream;
  Batch made;
  {
    std::unique_lock lock(s.mutex);
    stream = s.stream;
    if (!stream) throw InvalidArgument("there is no stream; start() begins one");
    for (bool is_first = true;; is_first = false) {
      s.open_ahead(true);
      if (stream->num_delivered() == stream->failed_batch()) {
        std::rethrow_exception(stream->error());
      }
      const StreamBatch* const front = stream->front();
      if (front != nullptr && front->num_left == 0) break;
      // Somebody else's stop(), too, is an end.
      if (stream->is_all_delivered() || s.stream != stream) return NextState::kEnd;
      if (!is_first && steady_ns() >= deadline) return NextState::kTimeout;
      if (!state_->work_here(*stream, deadline, lock)) state_->wait_for_batch(deadline, lock);
    }
    const std::shared_ptr<StreamBatch> taken = stream->take_front();
    made.number = taken->number;
    made.size = taken->size;
    made.plans = stream->plans();
    made.zone = std::move(taken->zone);
    made.foreign_slots = std::move(taken->foreign_slots);
    made.held = std::move(taken->held);
    if (made.held) made.held->deliver();
    ++s.num_batches;
    s.open_ahead(false);
  }
  batch = std::move(made);
  return NextState::kBatch;
}

std::vector<ForeignSample> Loader::take_foreign() {
  state_->check_process();
  const std::lock_guard lock(state_->shared->mutex);
  return std::exchange(state_->shared->foreign, {});
}

void Loader::stop() {
  state_->check_process();
  LoaderShared& s = *state_->shared;
  std::shared_ptr<Stream> stream;
  {
    std::unique_lock lock(s.mutex);
    stream = std::exchange(s.stream, nullptr);
    s.foreign.clear();
    if (!stream) return;
    stream->is_stopped = true;
    s.wake_all();
    s.batch_ready.notify_all();
    s.workers_left.wait(lock, [&] { return s.num_working == 0; });
  }
  StreamMemory& memory = *stream->memory();
  s.feeder.stop(memory.num_out > 0 ? &memory.kept : nullptr);
  std::unique_lock lock(s.mutex);
  s.workers_left.wait(lock, [&] { return s.num_in_stream == 0; });
  // The lock goes before the stream and its zones do.
}

LoaderStats Loader::stats() const {
  state_->check_process();
  const LoaderShared& s = *state_->shared;
  LoaderStats stats;
  stats.feeder = s.feeder.stats();
  for (const WorkerCounters& counters : s.counters) {
    stats.num_samples += counters.num_samples.load(std::memory_order_relaxed);
    stats.num_own += counters.num_own.load(std::memory_order_relaxed);
    stats.num_spliced += counters.num_spliced.load(std::memory_order_relaxed);
    stats.work_ns += counters.work_ns.load(std::memory_order_relaxed);
    stats.wait_for_data_ns += counters.wait_for_data_ns.load(std::memory_order_relaxed);
    stats.wait_for_room_ns += counters.wait_for_room_ns.load(std::memory_order_relaxed);
  }
  const std::lock_guard lock(s.mutex);
  stats.num_batches = s.num_batches;
  stats.num_foreign = s.num_foreign;
  stats.consumer_wait_ns = s.consumer_wait_ns;
  return stats;
}

int Loader::num_threads() const {
  return static_cast<int>(state_->threads.size()) + state_->shared->options.feeder.reader_threads;
}

std::int64_t Loader::num_wakeups() const {
  std::int64_t sum = state_->shared->feeder.num_wakeups();
  for (const WorkerCounters& counters : state_->shared->counters) {
    sum += counters.num_wakeups.load(std::memory_order_relaxed);
  }
  return sum;
}

const TransferStation& Loader::station() const { return *state_->shared->station; }

}  // namespace dts
