// SPDX-License-Identifier: Apache-2.0
#include "pipeline/loader_worker.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "image/copy.h"
#include "pipeline/sample_erasing.h"
#include "pipeline/stored_sample.h"

namespace dts {
namespace {

// One very large image must not fix a thread's memory for ever. Looked at once a batch:
// where large images are the rule, getting the memory back costs little beside them.
constexpr std::size_t kShrinkAboveBytes = std::size_t{16} << 20;
constexpr std::size_t kKeepBytes = std::size_t{4} << 20;
// Of the next sample: all of a small image, which lies anywhere in a large set. The
// processor itself sees what comes behind the begin of a large one.
constexpr std::size_t kPrefetchedBytes = 4096;
constexpr std::size_t kCacheLineBytes = 64;

// The sample as a file that Pillow opens: pixels as PPM or PGM.
std::vector<std::byte> encoded_bytes(const SampleView& view) {
  std::string head;
  if (view.height > 0) {
    head = std::string(view.channels == 1 ? "P5 " : "P6 ") + std::to_string(view.width) + " " +
           std::to_string(view.height) + " 255\n";
  }
  const auto head_bytes = std::as_bytes(std::span(head));
  std::vector<std::byte> bytes;
  bytes.reserve(head_bytes.size() + view.bytes.size());
  bytes.insert(bytes.end(), head_bytes.begin(), head_bytes.end());
  bytes.insert(bytes.end(), view.bytes.begin(), view.bytes.end());
  return bytes;
}

}  // namespace

void LoaderWorker::begin(Stream& stream) {
  position_ = first_;
  if (plans_ == stream.plans()) return;
  runner_.reset();
  if (shared_.options.form != SampleForm::kBytes) {
    runner_ = std::make_unique<SampleRunner>(stream.plans());
  }
  plans_ = stream.plans();
  image_bytes_.clear();
  for (const SamplePlan& plan : plans_->plans) image_bytes_.push_back(plan.image_bytes());
  outs_.resize(image_bytes_.size());
}

void LoaderWorker::take_next(Stream& stream) {
  if (stride_ == 0) {
    position_ = stream.next_position.fetch_add(1, std::memory_order_relaxed);
  } else {
    position_ += stride_;
  }
}

void LoaderWorker::run(Stream& stream) noexcept {
  try {
    begin(stream);
    if (stride_ == 0) take_next(stream);
    while (move_to(stream, position_)) {
      run_sample(stream, position_);
      take_next(stream);
    }
  } catch (...) {
    fail(stream);
  }
  leave(stream);
}

void LoaderWorker::run_until(Stream& stream, std::int64_t end, std::int64_t deadline_ns) noexcept {
  deadline_ns_ = deadline_ns;
  try {
    do {
      if (!move_to(stream, position_)) break;
      run_sample(stream, position_);
      ++position_;
    } while (position_ < end && steady_ns() < deadline_ns);
  } catch (...) {
    fail(stream);
  }
  leave(stream);
}

bool LoaderWorker::move_to(Stream& stream, std::int64_t position) {
  if (stream.is_stopped.load(std::memory_order_relaxed)) return false;
  const bool leaves_unit = !unit_ || position >= unit_->end();
  const bool leaves_batch = !batch_ || position >= batch_->end();
  if (!leaves_unit && !leaves_batch) return true;

  if (leaves_batch && batch_) hand_over_bytes();
  if (leaves_unit) leave_unit();
  if (leaves_batch && runner_ && runner_->held_bytes() > kShrinkAboveBytes) {
    runner_->shrink(kKeepBytes);
  }
  const std::int64_t now = steady_ns();
  if (is_working_) WorkerCounters::add(counters_.work_ns, now - work_began_ns_);
  work_began_ns_ = now;

  std::unique_lock lock(shared_.mutex);
  settle(stream, leaves_unit, leaves_batch);
  if (!wait_for_places(stream, position, lock)) return false;
  if (leaves_unit && !wait_for_unit(stream, lock)) return false;
  if (stream.is_stopped.load(std::memory_order_relaxed)) return false;
  if (zone_ == nullptr) enter_zone();
  if (!is_working_) {
    is_working_ = true;
    ++shared_.num_working;
  }
  return true;
}

void LoaderWorker::enter_zone() {
  zone_ = batch_->zone.get();
  plans_->view_offsets(zone_->batch_size(), view_offsets_);
  if (!runner_) return;
  const bool streams = zone_->memory_bytes() >= kStreamedBatchBytes;
  runner_->set_stores(streams ? Stores::kStreamed : Stores::kCached);
}

// Until the position's unit and batch are known and the batch is open.
bool LoaderWorker::wait_for_places(Stream& stream, std::int64_t position,
                                   std::unique_lock<std::mutex>& lock) {
  bool has_waited = false;
  for (;;) {
    if (stream.is_over_from(position)) return false;
    if (!unit_) unit_ = stream.unit_at(position);
    if (!batch_) batch_ = stream.batch_at(position);
    if (unit_ && batch_ && batch_->zone) break;
    pause();
    shared_.seats[static_cast<std::size_t>(first_)].wait(position, lock);
    WorkerCounters::add(counters_.num_wakeups, 1);
    has_waited = true;
  }
  if (has_waited) {
    const std::int64_t now = steady_ns();
    WorkerCounters::add(counters_.wait_for_room_ns, now - work_began_ns_);
    work_began_ns_ = now;
  }
  return true;
}

// Until the unit's bytes are in memory, or the deadline is over. The wait is the feeder's,
// without the mutex.
bool LoaderWorker::wait_for_unit(Stream& stream, std::unique_lock<std::mutex>& lock) {
  pause();
  lock.unlock();
  views_ = shared_.feeder.wait(unit_->number, deadline_ns_);
  lock.lock();
  const std::int64_t now = steady_ns();
  WorkerCounters::add(counters_.wait_for_data_ns, now - work_began_ns_);
  work_began_ns_ = now;
  // Another worker may have failed meanwhile, in an earlier batch.
  return !views_.empty() && batch_->number < stream.failed_batch();
}

// Where boxes are erased elsewhere, also in samples that others decode.
void LoaderWorker::choose_boxes(ChoiceKey key, std::int64_t slot) const {
  const auto sample_view = key.view;
  for (std::int64_t view = 0; view < zone_->num_boxes(); ++view) {
    const SamplePlan& plan = plans_->plans[static_cast<std::size_t>(view)];
    Box box;
    if (plan.maybe_erasing && plan.maybe_erasing->deferred) {
      key.view = sample_view + static_cast<std::uint32_t>(view);
      key.op = plan.maybe_erasing->op;
      box = choose_erased_box(*plan.maybe_erasing, key, plan.height, plan.width);
    }
    const std::int64_t row[] = {box.top, box.left, box.height, box.width};
    std::copy(std::begin(row), std::end(row), zone_->boxes(view) + 4 * slot);
  }
}

// What this worker will need next, while it works on the present sample.
void LoaderWorker::prefetch(std::size_t place) const {
  if (place >= views_.size()) return;
  shared_.source->prefetch_label(unit_->samples[place]);
  const ConstByteSpan bytes = views_[place].bytes;
  const std::size_t end = std::min(bytes.size(), kPrefetchedBytes);
  for (std::size_t at = 0; at < end; at += kCacheLineBytes) __builtin_prefetch(bytes.data() + at);
}

void LoaderWorker::run_sample(Stream& stream, std::int64_t position) {
  const auto place = static_cast<std::size_t>(position - unit_->begin);
  prefetch(place + static_cast<std::size_t>(std::max<std::int64_t>(stride_, 1)));
  const std::int64_t slot = position - batch_->begin;
  const std::int64_t sample = unit_->samples[place];
  const std::int64_t occurrence = unit_->occurrences.empty() ? 0 : unit_->occurrences[place];
  const std::int64_t index = shared_.source->choice_index(sample);
  zone_->labels()[slot] = shared_.source->label(sample);
  zone_->indices()[slot] = index;

  ChoiceKey key;
  key.seed = stream.seed();
  key.epoch = stream.epoch();
  key.index = static_cast<std::uint64_t>(index);
  key.occurrence = static_cast<std::uint32_t>(occurrence & 0xFFFF);
  const SampleView& view = views_[place];
  DecodeStatus status = DecodeStatus::kOk;
  switch (shared_.options.form) {
    case SampleForm::kImages:
      choose_boxes(key, slot);
      status = run_plan(view, key, slot);
      break;
    case SampleForm::kOutlines:
      status = outline(view, key, slot);
      break;
    case SampleForm::kBytes:
      status = store(view, slot);
      break;
  }
  if (status != DecodeStatus::kOk) {
    ForeignSample foreign;
    foreign.batch = batch_->number;
    foreign.slot = slot;
    foreign.sample = sample;
    foreign.index = index;
    foreign.occurrence = occurrence;
    foreign.status = status;
    foreign.is_missing = view.is_missing;
    add_foreign(std::move(foreign), view);
  }
  ++done_in_unit_;
  ++done_in_batch_;
}

DecodeStatus LoaderWorker::run_plan(const SampleView& view, const ChoiceKey& key,
                                    std::int64_t slot) {
  for (std::size_t i = 0; i < outs_.size(); ++i) {
    outs_[i] = zone_->images() + view_offsets_[i] + slot * image_bytes_[i];
  }
  if (view.height > 0) {
    const ConstImageView pixels{reinterpret_cast<const std::uint8_t*>(view.bytes.data()),
                                view.height, view.width, view.channels, view.width * view.channels};
    return runner_->run(pixels, key, outs_);
  }
  if (view.is_missing) return DecodeStatus::kNotJpeg;
  const DecodeStatus status = runner_->run(view.bytes, key, outs_);
  const DecodePath path = runner_->path();
  if (path == DecodePath::kOwn) WorkerCounters::add(counters_.num_own, 1);
  if (path == DecodePath::kSpliced) WorkerCounters::add(counters_.num_spliced, 1);
  return status;
}

// The sample's bytes stay where they are in the unit in which the batch ends, so that a batch
// holds but one.
DecodeStatus LoaderWorker::outline(const SampleView& view, const ChoiceKey& key,
                                   std::int64_t slot) {
  SampleOutline outline;
  DecodeStatus status = DecodeStatus::kNotJpeg;
  if (view.height == 0 && !view.is_missing) status = runner_->outline(view.bytes, key, &outline);
  const std::byte* bytes = view.bytes.data();
  if (status != DecodeStatus::kOk) {
    outline = {};
    bytes = nullptr;
  } else if (unit_->end() < batch_->end()) {
    const ByteSpan copy = copies_.allocate(view.bytes.size());
    std::copy(view.bytes.begin(), view.bytes.end(), copy.begin());
    bytes = copy.data();
  } else {
    ++held_in_batch_;
  }
  outline.address = reinterpret_cast<std::intptr_t>(bytes);
  outline.sample = unit_->samples[static_cast<std::size_t>(batch_->begin + slot - unit_->begin)];
  outline.occurrence = static_cast<std::int64_t>(key.occurrence);
  std::memcpy(zone_->images() + slot * static_cast<std::int64_t>(sizeof outline), &outline,
              sizeof outline);
  return status;
}

DecodeStatus LoaderWorker::store(const SampleView& view, std::int64_t slot) const {
  StoredSample stored;
  if (!view.is_missing) {
    const ByteSpan copy = zone_->bytes()->allocate(view.bytes.size());
    copy_away(view.bytes, copy.data());
    stored.address = reinterpret_cast<std::intptr_t>(copy.data());
    stored.size = static_cast<std::int64_t>(copy.size());
    stored.height = view.height;
    stored.width = view.width;
    stored.channels = view.channels;
  }
  std::memcpy(zone_->images() + slot * static_cast<std::int64_t>(sizeof stored), &stored,
              sizeof stored);
  return view.is_missing ? DecodeStatus::kNotJpeg : DecodeStatus::kOk;
}

// What the batch was told of is the batch's now, where this worker is done with it.
void LoaderWorker::hand_over_bytes() {
  if (held_in_batch_ > 0) batch_->held->add_unit(unit_->number, held_in_batch_);
  released_by_others_ += std::exchange(held_in_batch_, 0);
  if (copies_.held_bytes() > 0) batch_->held->add_copies(std::exchange(copies_, {}));
}

void LoaderWorker::add_foreign(ForeignSample foreign, const SampleView& view) {
  if (!foreign.is_missing) foreign.bytes = encoded_bytes(view);
  const std::lock_guard lock(shared_.mutex);
  batch_->foreign_slots.push_back(foreign.slot);
  shared_.foreign.push_back(std::move(foreign));
  ++shared_.num_foreign;
}

// Tells the feeder what is done in the unit; its views may be gone after this.
void LoaderWorker::leave_unit() {
  const std::int64_t count = done_in_unit_ - std::exchange(released_by_others_, 0);
  if (unit_ && count > 0) shared_.feeder.release(unit_->number, count);
  views_ = {};
}

// With the mutex held: hands in what was done since the last time.
void LoaderWorker::settle(Stream& stream, bool leaves_unit, bool leaves_batch) {
  if (leaves_unit && unit_) {
    stream.finish_in_unit(*unit_, std::exchange(done_in_unit_, 0));
    unit_.reset();
  }
  if (leaves_batch && batch_) {
    const std::int64_t count = std::exchange(done_in_batch_, 0);
    WorkerCounters::add(counters_.num_samples, count);
    if (count > 0 && stream.finish_in_batch(*batch_, count)) {
      if (batch_->number == stream.num_delivered()) shared_.batch_ready.notify_all();
      if (batch_->number == 0) shared_.feeder.fill_store(true);
    }
    zone_ = nullptr;
    batch_.reset();
  }
}

// The end of the stream for this worker, or of one visit of the thread that calls next().
void LoaderWorker::leave(Stream& stream) noexcept {
  try {
    if (batch_) hand_over_bytes();
    leave_unit();
  } catch (...) {
    fail(stream);
  }
  const std::int64_t now = steady_ns();
  const std::lock_guard lock(shared_.mutex);
  if (is_working_) WorkerCounters::add(counters_.work_ns, now - work_began_ns_);
  settle(stream, true, true);
  pause();
}

void LoaderWorker::fail(Stream& stream) noexcept {
  const std::exception_ptr error = std::current_exception();
  const std::lock_guard lock(shared_.mutex);
  shared_.fail(stream, batch_ ? batch_->number : stream.num_delivered(), error);
}

void LoaderWorker::pause() {
  if (!is_working_) return;
  is_working_ = false;
  if (--shared_.num_working == 0) shared_.workers_left.notify_all();
}

}  // namespace dts
