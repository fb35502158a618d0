// SPDX-License-Identifier: Apache-2.0
#include "pipeline/block_feeder_units.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace dts {

FeederUnits::FeederUnits(const Options& options)
    : options_(options), queues_(static_cast<std::size_t>(options.readers)) {}

bool FeederUnits::append(ReadUnit request, std::vector<std::size_t> loose) {
  if (request.samples.empty()) {
    throw InvalidArgument("a unit has no samples, expected at least one");
  }
  auto unit = std::make_unique<FeederUnit>();
  unit->request = std::move(request);
  unit->number = next_number();
  unit->samples_left = static_cast<std::int64_t>(unit->request.samples.size());
  unit->singles_before = num_single_units_;
  if (unit->is_single()) {
    unit->tasks_left = 1;
    unit->ordinal = num_single_units_++;
    single_samples_ += unit->samples_left;
    ++singles_unclaimed_;
    unadmitted_singles_.push_back(unit.get());
    single_is_free_.push_back(false);
  } else {
    unit->loose = std::move(loose);
    unit->tasks_left =
        static_cast<std::int64_t>(unit->request.blocks.size()) + (unit->loose.empty() ? 0 : 1);
    unit->ordinal = num_block_units_++;
    unadmitted_blocks_.push_back(unit.get());
    trim_spare();
  }
  unit->samples_through = single_samples_;
  units_.push_back(std::move(unit));
  ++num_waiting_;
  return admit();
}

bool FeederUnits::holds_blocks_back() const {
  if (begins_blocks_ || unadmitted_blocks_.empty()) return false;
  const FeederUnit& first = *unadmitted_blocks_.front();
  return first.ordinal == 0 && 2 * first_live_single_ < first.singles_before;
}

bool FeederUnits::want(const FeederUnit& unit) {
  if (unit.is_single() || begins_blocks_) return false;
  begins_blocks_ = true;
  return admit();
}

bool FeederUnits::admit() {
  bool has_more = false;
  const auto num_queues = static_cast<std::int64_t>(queues_.size());
  while (!unadmitted_singles_.empty()) {
    FeederUnit* unit = unadmitted_singles_.front();
    if (unit->ordinal >= first_live_single_ + options_.single_units_ahead) break;
    unadmitted_singles_.pop_front();
    queues_[static_cast<std::size_t>(unit->number % num_queues)].singles.push_back({unit, 0});
    has_more = true;
  }
  while (!unadmitted_blocks_.empty() && !holds_blocks_back()) {
    FeederUnit* unit = unadmitted_blocks_.front();
    std::int64_t& user = piece_user_[unit->ordinal % 2];
    if (!options_.has_store) {
      if (user >= 0) break;
      user = unit->number;
    }
    unadmitted_blocks_.pop_front();
    for (std::int64_t place = 0; place < unit->tasks_left; ++place) {
      queues_[static_cast<std::size_t>(place % num_queues)].blocks.push_back({unit, place});
    }
    has_more = true;
  }
  return has_more;
}

bool FeederUnits::claim(int reader, ReadTask& task) {
  Queue& queue = queues_[static_cast<std::size_t>(reader)];
  if (queue.blocks.empty() && queue.singles.empty()) return false;
  const bool takes_single =
      queue.blocks.empty() || (!queue.singles.empty() && queue.singles.front().unit->number <
                                                             queue.blocks.front().unit->number);
  auto& tasks = takes_single ? queue.singles : queue.blocks;
  task = tasks.front();
  tasks.pop_front();
  if (takes_single) {
    task.unit->keep_target = keep_target_of(*task.unit);
    claimed_through_ = std::max(claimed_through_, task.unit->samples_through);
    if (!spare_.empty()) {
      task.unit->memory = std::move(spare_.back());
      spare_.pop_back();
    }
    --singles_unclaimed_;
    trim_spare();
  }
  return true;
}

// In step with the samples read, so that all blocks are kept when all samples have been
// read. The first unit is what somebody waits for: it comes first unless it is all there is.
std::int64_t FeederUnits::keep_target_of(const FeederUnit& unit) const {
  const std::int64_t num_samples = options_.num_samples;
  if (options_.num_kept_blocks == 0 || num_block_units_ > 0 || num_samples == 0) return 0;
  if (unit.samples_through >= num_samples) return options_.num_kept_blocks;
  if (unit.ordinal == 0 || !fills_store_) return 0;
  const std::int64_t length = num_samples - not_filled_through_;
  const std::int64_t through =
      std::max<std::int64_t>(unit.samples_through - not_filled_through_, 0);
  return (options_.num_kept_blocks * through + length - 1) / length;
}

bool FeederUnits::finish(const ReadTask& task) { return --task.unit->tasks_left == 0; }

void FeederUnits::set_phase(FeederUnit& unit, UnitPhase phase) {
  if (!unit.is_read() && phase != UnitPhase::kWaiting) --num_waiting_;
  unit.phase = phase;
}

FeederUnit* FeederUnits::find(std::int64_t number) {
  const std::int64_t at = number - first_number_;
  if (at >= static_cast<std::int64_t>(units_.size())) return nullptr;
  FeederUnit* unit = at < 0 ? nullptr : units_[static_cast<std::size_t>(at)].get();
  if (unit == nullptr) {
    throw InvalidArgument("unit " + std::to_string(number) +
                          (number < 0 ? " is negative" : " has been released already"));
  }
  return unit;
}

bool FeederUnits::release(std::int64_t number, std::int64_t count) {
  FeederUnit* unit = find(number);
  if (unit == nullptr || !unit->is_read() || count < 0 || count > unit->samples_left) {
    throw InvalidArgument(
        "releasing " + std::to_string(count) + " samples of unit " + std::to_string(number) +
        (unit == nullptr || !unit->is_read()
             ? ", which is not read yet"
             : ", which has " + std::to_string(unit->samples_left) + " not released"));
  }
  unit->samples_left -= count;
  if (unit->samples_left > 0) return false;
  free(*unit);
  return admit();
}

// Beside groups of blocks there are only a few single units.
void FeederUnits::trim_spare() {
  if (num_block_units_ == 0) return;
  while (static_cast<std::int64_t>(spare_.size()) > singles_unclaimed_) spare_.pop_back();
}

void FeederUnits::free(FeederUnit& unit) {
  if (unit.is_single()) {
    single_is_free_[static_cast<std::size_t>(unit.ordinal - first_live_single_)] = true;
    while (!single_is_free_.empty() && single_is_free_.front()) {
      single_is_free_.pop_front();
      ++first_live_single_;
    }
    spare_.push_back(std::move(unit.memory));
    trim_spare();
  } else if (!options_.has_store) {
    piece_user_[unit.ordinal % 2] = -1;
  }
  units_[static_cast<std::size_t>(unit.number - first_number_)].reset();
  while (!units_.empty() && !units_.front()) {
    units_.pop_front();
    ++first_number_;
  }
}

void FeederUnits::reset(std::vector<ReadMemory>* keep) {
  for (const auto& unit : units_) {
    if (unit && keep != nullptr) {
      keep->push_back(std::move(unit->memory));
    } else if (unit && unit->is_single() && num_block_units_ == 0 &&
               unit->memory.held_bytes() > 0) {
      spare_.push_back(std::move(unit->memory));
    }
  }
  units_.clear();
  for (Queue& queue : queues_) queue = {};
  unadmitted_blocks_.clear();
  unadmitted_singles_.clear();
  single_is_free_.clear();
  piece_user_[0] = piece_user_[1] = -1;
  first_number_ = num_block_units_ = num_single_units_ = 0;
  single_samples_ = singles_unclaimed_ = 0;
  first_live_single_ = num_waiting_ = 0;
  begins_blocks_ = false;
  fills_store_ = true;
  claimed_through_ = not_filled_through_ = 0;
}

}  // namespace dts
