// SPDX-License-Identifier: Apache-2.0
#include "pipeline/joined_source.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dts {
namespace {

// The parts' own states, each opened when its part is first read.
class JoinedReader : public ReaderState {
 public:
  explicit JoinedReader(std::size_t num_parts) : states_(num_parts) {}

  // Runs action(state of the part) and takes over what it read.
  template <class Action>
  auto with(std::size_t part, const SampleSource& source, const Action& action) {
    if (!states_[part]) states_[part] = source.open_reader();
    ReaderState& state = *states_[part];
    state.watch(watched());
    const Counted counted{*this, state};
    return action(state);
  }

  bool is_open(std::size_t part) const { return states_[part] != nullptr; }

 private:
  struct Counted {
    ~Counted() {
      whole.bytes_read += std::exchange(part.bytes_read, 0);
      whole.blocks_read += std::exchange(part.blocks_read, 0);
    }
    ReaderState& whole;
    ReaderState& part;
  };
  std::vector<std::unique_ptr<ReaderState>> states_;
};

}  // namespace

JoinedSource::JoinedSource(std::vector<std::shared_ptr<const SampleSource>> parts)
    : parts_(std::move(parts)), first_{0} {
  if (parts_.empty()) throw InvalidArgument("no sources to join, expected at least one");
  for (const auto& part : parts_) first_.push_back(first_.back() + part->num_samples());
}

std::size_t JoinedSource::part_of(std::int64_t sample) const {
  check_sample(sample);
  // Behind the last first sample that is not above; parts without samples are passed over.
  const auto behind = std::upper_bound(first_.begin(), first_.end(), sample);
  return static_cast<std::size_t>(behind - first_.begin() - 1);
}

std::int64_t JoinedSource::label(std::int64_t sample) const {
  const std::size_t part = part_of(sample);
  return parts_[part]->label(sample - first_[part]);
}

std::int64_t JoinedSource::position(std::int64_t sample) const {
  const std::size_t part = part_of(sample);
  return first_[part] + parts_[part]->position(sample - first_[part]);
}

std::unique_ptr<ReaderState> JoinedSource::open_reader() const {
  return std::make_unique<JoinedReader>(parts_.size());
}

void JoinedSource::read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                                std::span<SampleView> views, ReaderState& reader) const {
  check_views(samples.size(), views.size());
  // (part, place in `samples`), part by part.
  std::vector<std::pair<std::size_t, std::size_t>> places;
  places.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) places.emplace_back(part_of(samples[i]), i);
  std::sort(places.begin(), places.end());
  std::vector<std::int64_t> part_samples;
  std::vector<SampleView> part_views;
  for (std::size_t begin = 0; begin < places.size() && !reader.is_stopped();) {
    const std::size_t part = places[begin].first;
    std::size_t end = begin;
    part_samples.clear();
    for (; end < places.size() && places[end].first == part; ++end) {
      part_samples.push_back(samples[places[end].second] - first_[part]);
    }
    part_views.assign(part_samples.size(), {});
    static_cast<JoinedReader&>(reader).with(part, *parts_[part], [&](ReaderState& state) {
      parts_[part]->read_samples(part_samples, memory, part_views, state);
    });
    for (std::size_t i = begin; i < end; ++i) views[places[i].second] = part_views[i - begin];
    begin = end;
  }
}

void JoinedSource::check_unchanged(ReaderState& reader) const {
  auto& joined = static_cast<JoinedReader&>(reader);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (!joined.is_open(part)) continue;  // opening compares too
    joined.with(part, *parts_[part],
                [&](ReaderState& state) { parts_[part]->check_unchanged(state); });
  }
}

KeptBytes JoinedSource::kept() const {
  KeptBytes whole{0, false, true};
  for (const auto& source : parts_) {
    const KeptBytes part = source->kept();
    whole.held_bytes += part.held_bytes;
    whole.is_shared = whole.is_shared || part.is_shared;
    whole.is_complete = whole.is_complete && part.is_complete;
  }
  return whole;
}

std::int64_t JoinedSource::num_kept_blocks() const {
  std::int64_t total = 0;
  for (const auto& part : parts_) total += part->num_kept_blocks();
  return total;
}

std::int64_t JoinedSource::num_held_blocks() const {
  std::int64_t total = 0;
  for (const auto& part : parts_) total += part->num_held_blocks();
  return total;
}

bool JoinedSource::keep_next(bool check, ReaderState& reader) const {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const SampleSource& source = *parts_[part];
    if (source.num_held_blocks() >= source.num_kept_blocks()) continue;
    const bool has_kept = static_cast<JoinedReader&>(reader).with(
        part, source, [&](ReaderState& state) { return source.keep_next(check, state); });
    if (has_kept) return true;
  }
  return false;
}

}  // namespace dts
