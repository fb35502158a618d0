// SPDX-License-Identifier: Apache-2.0
#include "pipeline/dts_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/sha256.h"
#include "format/raw_sample.h"
#include "pipeline/shared_store.h"

namespace dts {
namespace {

// Read between two looks at the reader's stop flag.
constexpr std::uint64_t kBytesAtOnce = kReadPieceBytes;

// Its handles are opened by the first read from the disk.
class DtsReader : public ReaderState {
 public:
  VolumeHandles handles;
};

VolumeHandles& handles_of(ReaderState& reader) { return static_cast<DtsReader&>(reader).handles; }

// A file's fingerprint. Without the CRCs of its blocks that does not tell two payloads apart,
// so then it is this very file's.
std::string fingerprint_of(const DtsFile& file, const SampleTable& table) {
  std::vector<std::byte> facts(file.header_bytes().begin(), file.header_bytes().end());
  const std::vector<std::byte>& sections = file.sections().bytes;
  facts.insert(facts.end(), sections.begin(), sections.end());
  if (std::any_of(table.block_crcs.begin(), table.block_crcs.end(),
                  [](std::int64_t crc) { return crc < 0; })) {
    const FileIdentity& identity = file.identity();
    for (const std::uint64_t value : {identity.device, identity.inode, identity.size,
                                      static_cast<std::uint64_t>(identity.mtime_ns)}) {
      facts.resize(facts.size() + sizeof value);
      store_le(facts.data() + facts.size() - sizeof value, value);
    }
  }
  return sha256_hex(facts);
}

// The name of the memory that processes share: the fingerprint of the file or the set.
std::string store_name(const VolumeSet& set, const std::vector<const SampleTable*>& tables) {
  if (set.num_volumes() == 1) return fingerprint_of(set.volume(0), *tables[0]);
  std::string joined;
  for (std::size_t v = 0; v < set.num_volumes(); ++v) {
    joined += fingerprint_of(set.volume(v), *tables[v]);
  }
  return sha256_hex(std::as_bytes(std::span(joined)));
}

// InvalidArgument: a pixel file, which has no blocks.
const std::vector<const SampleTable*>& tables_of(const VolumeSet& set) {
  set.require_blocks();
  return set.tables();
}

}  // namespace

DtsSource::DtsSource(std::shared_ptr<const VolumeSet> set, Keep keep)
    : set_(std::move(set)),
      tables_(tables_of(*set_)),
      source_order_(set_->source_order()),
      source_places_(set_->source_places()),
      labels_(set_->labels()),
      has_pixels_(set_->header().may_hold_raw_samples()) {
  if (keep == Keep::kPrivate) store_ = make_private_store(num_blocks(), block_bytes());
  if (keep == Keep::kShared) {
    store_ = open_shared_store(store_name(*set_, tables_), num_blocks(), block_bytes());
  }
}

std::int64_t DtsSource::num_samples() const { return set_->header().num_samples; }

std::int64_t DtsSource::label(std::int64_t sample) const {
  return labels_[static_cast<std::size_t>(position(sample))];
}

std::int64_t DtsSource::choice_index(std::int64_t sample) const {
  check_sample(sample);
  return source_order_[static_cast<std::size_t>(sample)];
}

std::int64_t DtsSource::position(std::int64_t sample) const {
  check_sample(sample);
  return source_places_[static_cast<std::size_t>(sample)];
}

std::unique_ptr<ReaderState> DtsSource::open_reader() const {
  return std::make_unique<DtsReader>();
}

void DtsSource::read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                             std::span<SampleView> views, ReaderState& reader) const {
  check_views(samples.size(), views.size());
  // (sample, its place in `samples`) of those that are not in memory, in file order.
  std::vector<std::pair<std::int64_t, std::size_t>> absent;
  absent.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    check_sample(samples[i]);
    const ConstByteSpan block = store_ ? store_->find(block_of(samples[i])) : ConstByteSpan();
    if (block.empty()) {
      absent.emplace_back(samples[i], i);
    } else {
      views[i] = view_in_block(samples[i], block);
    }
  }
  if (absent.empty()) return;
  std::sort(absent.begin(), absent.end());
  std::vector<std::int64_t> ids(absent.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = absent[i].first;
  std::vector<std::int64_t> offsets(ids.size());
  const ByteSpan place = memory.allocate(set_->plan_samples(ids, offsets));
  const std::span<const std::int64_t> all_ids(ids);
  const std::span<const std::int64_t> all_offsets(offsets);
  for (std::size_t first = 0; first < ids.size() && !reader.is_stopped();) {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    while (first + count < ids.size() && (count == 0 || bytes < kBytesAtOnce)) {
      bytes += size_of(ids[first + count]);
      ++count;
    }
    set_->read_samples(all_ids.subspan(first, count), all_offsets.subspan(first, count), place,
                       handles_of(reader));
    reader.bytes_read += static_cast<std::int64_t>(bytes);
    first += count;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    views[absent[i].second] =
        view_of(place.subspan(static_cast<std::size_t>(offsets[i]), size_of(ids[i])));
  }
}

std::int64_t DtsSource::block_bytes() const { return set_->header().block_size; }

std::int64_t DtsSource::num_blocks() const { return set_->header().num_blocks; }

std::int64_t DtsSource::block_of(std::int64_t sample) const {
  check_sample(sample);
  const VolumeSet::Place place = set_->sample_place(sample);
  const auto& first = tables_[place.volume]->first_sample;
  const auto behind = std::upper_bound(first.begin(), first.end(), place.index);
  return static_cast<std::int64_t>(set_->first_block(place.volume)) + (behind - first.begin()) - 1;
}

std::uint32_t DtsSource::size_of(std::int64_t sample) const {
  const VolumeSet::Place place = set_->sample_place(sample);
  return tables_[place.volume]->sizes[place.index];
}

bool DtsSource::read_block(std::int64_t block, ByteSpan out, bool check,
                           ReaderState& reader) const {
  const std::int64_t ids[1] = {block};
  if (!set_->read_blocks(ids, out, check, handles_of(reader), reader.watched())) return false;
  reader.bytes_read += static_cast<std::int64_t>(out.size());
  reader.blocks_read += 1;
  return true;
}

SampleView DtsSource::view_in_block(std::int64_t sample, ConstByteSpan block_memory) const {
  check_sample(sample);
  const VolumeSet::Place place = set_->sample_place(sample);
  const SampleTable& table = *tables_[place.volume];
  const Header& header = set_->header();
  // Blocks are block_size apart behind the header area, and no sample crosses two.
  const std::uint64_t offset =
      (table.offsets[place.index] - header.header_bytes) % header.block_size;
  const std::uint32_t size = table.sizes[place.index];
  if (block_memory.size() < offset + size) {
    throw InvalidArgument("a block's memory has " + std::to_string(block_memory.size()) +
                          " bytes, expected " + std::to_string(block_bytes()));
  }
  return view_of(block_memory.subspan(offset, size));
}

SampleView DtsSource::view_of(ConstByteSpan stored) const {
  SampleView view;
  view.bytes = stored;
  const auto shape = has_pixels_ ? raw_shape(stored) : std::nullopt;
  if (shape) {
    view.bytes = stored.subspan(kRawHeadBytes);
    view.height = shape->height;
    view.width = shape->width;
    view.channels = shape->channels;
  }
  return view;
}

void DtsSource::check_unchanged(ReaderState& reader) const {
  set_->check_unchanged(handles_of(reader));
}

KeptBytes DtsSource::kept() const {
  if (!store_) return {};
  return {store_->held_bytes(), store_->is_shared(), store_->is_complete()};
}

std::int64_t DtsSource::num_kept_blocks() const { return store_ ? num_blocks() : 0; }

std::int64_t DtsSource::num_held_blocks() const { return store_ ? store_->num_held_blocks() : 0; }

bool DtsSource::keep_next(bool check, ReaderState& reader) const {
  const std::int64_t block = store_ ? store_->next_absent() : -1;
  if (block < 0) return false;
  store_->load(block, *this, check, reader);
  return true;
}

}  // namespace dts
