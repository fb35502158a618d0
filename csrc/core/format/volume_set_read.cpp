// SPDX-License-Identifier: Apache-2.0
// Reading from a VolumeSet: each volume's share of the work goes to its DtsFile.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "format/block.h"
#include "format/volume_set.h"

namespace dts {
namespace {

// Descriptors a reader keeps open.
constexpr std::size_t kMaxHandles = 8;

void require_lengths(std::size_t num_offsets, std::size_t num_samples) {
  if (num_offsets != num_samples) {
    throw InvalidArgument(std::to_string(num_offsets) + " offsets for " +
                          std::to_string(num_samples) + " samples");
  }
}

}  // namespace

const InputFile& VolumeHandles::of(const VolumeSet& set, std::size_t volume) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [=](const Entry& entry) { return entry.volume == volume; });
  if (found != entries_.end()) {
    std::rotate(entries_.begin(), found, found + 1);
  } else {
    auto handle = std::make_unique<InputFile>(set.volume(volume).open_handle());
    if (entries_.size() == kMaxHandles) entries_.pop_back();
    entries_.insert(entries_.begin(), {volume, std::move(handle)});
  }
  return *entries_.front().handle;
}

const InputFile* VolumeHandles::find(std::size_t volume) const {
  for (const Entry& entry : entries_) {
    if (entry.volume == volume) return entry.handle.get();
  }
  return nullptr;
}

void VolumeSet::check_unchanged(VolumeHandles& handles) const {
  if (is_one_file()) {
    volumes_.front()->check_unchanged(handles.of(*this, 0));
    return;
  }
  for (std::size_t v = 0; v < volumes_.size(); ++v) {
    const InputFile* maybe_handle = handles.find(v);
    volumes_[v]->check_unchanged(maybe_handle != nullptr ? *maybe_handle : volumes_[v]->handle());
  }
}

bool VolumeSet::read_blocks(std::span<const std::int64_t> block_ids, ByteSpan out, bool check,
                            VolumeHandles& handles, const std::atomic<bool>* maybe_stop) const {
  if (is_one_file()) {
    return volumes_.front()->read_blocks(block_ids, out, check, handles.of(*this, 0), maybe_stop);
  }
  const std::size_t block_size = header_.block_size;
  require_room_for_blocks(out, block_ids.size(), block_size);
  for (const std::int64_t block_id : block_ids) block_place(block_id);
  for (std::size_t i = 0; i < block_ids.size(); ++i) {
    const Place place = block_place(block_ids[i]);
    const std::int64_t own_id[] = {static_cast<std::int64_t>(place.index)};
    if (!volumes_[place.volume]->read_blocks(own_id, out.subspan(i * block_size, block_size), check,
                                             handles.of(*this, place.volume), maybe_stop)) {
      return false;
    }
  }
  return true;
}

std::vector<ArenaSample> VolumeSet::index_samples(ConstByteSpan arena,
                                                  std::span<const std::int64_t> block_ids) const {
  if (is_one_file()) return volumes_.front()->index_samples(arena, block_ids);
  const std::size_t block_size = header_.block_size;
  require_blocks_in(arena, block_ids.size(), block_size);
  std::vector<ArenaSample> samples;
  for (std::size_t i = 0; i < block_ids.size(); ++i) {
    const Place place = block_place(block_ids[i]);
    const std::int64_t own_id[] = {static_cast<std::int64_t>(place.index)};
    const std::size_t start = i * block_size;
    for (ArenaSample sample :
         volumes_[place.volume]->index_samples(arena.subspan(start, block_size), own_id)) {
      sample.block_id = static_cast<std::uint32_t>(block_ids[i]);
      sample.offset += start;
      samples.push_back(sample);
    }
  }
  return samples;
}

std::uint64_t VolumeSet::plan_samples(std::span<const std::int64_t> stored_ids,
                                      std::span<std::int64_t> offsets) const {
  if (is_one_file()) return volumes_.front()->plan_samples(stored_ids, offsets);
  require_lengths(offsets.size(), stored_ids.size());
  const std::vector<const SampleTable*>& tables = this->tables();
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < stored_ids.size(); ++i) {
    const Place place = sample_place(stored_ids[i]);
    offsets[i] = static_cast<std::int64_t>(end);
    end += align_up(tables[place.volume]->sizes[place.index]);
  }
  return end;
}

void VolumeSet::read_samples(std::span<const std::int64_t> stored_ids,
                             std::span<const std::int64_t> offsets, ByteSpan out,
                             VolumeHandles& handles) const {
  if (is_one_file()) {
    volumes_.front()->read_samples(stored_ids, offsets, out, handles.of(*this, 0));
    return;
  }
  require_lengths(offsets.size(), stored_ids.size());
  // (volume, position in `stored_ids`), volume by volume.
  std::vector<std::pair<std::size_t, std::size_t>> order(stored_ids.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = {sample_place(stored_ids[i]).volume, i};
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> own_ids, own_offsets;
  for (std::size_t begin = 0; begin < order.size();) {
    const std::size_t volume = order[begin].first;
    own_ids.clear();
    own_offsets.clear();
    for (; begin < order.size() && order[begin].first == volume; ++begin) {
      const std::size_t at = order[begin].second;
      own_ids.push_back(stored_ids[at] - static_cast<std::int64_t>(first_sample_[volume]));
      own_offsets.push_back(offsets[at]);
    }
    volumes_[volume]->read_samples(own_ids, own_offsets, out, handles.of(*this, volume));
  }
}

std::uint32_t VolumeSet::check_block(std::int64_t block, ByteSpan scratch, VolumeHandles& handles,
                                     std::string& problem) const {
  const Place place = block_place(block);
  return volumes_[place.volume]->check_block(static_cast<std::uint32_t>(place.index), scratch,
                                             handles.of(*this, place.volume), problem);
}

}  // namespace dts
