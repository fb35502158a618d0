// SPDX-License-Identifier: Apache-2.0
#include "pipeline/dts_source.h"

#include <algorithm>
#include <numeric>
#include <optional>
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

// Its handle is opened by the first read from the disk.
class DtsReader : public ReaderState {
 public:
  const InputFile& handle(const DtsFile& file) {
    if (!maybe_handle_) maybe_handle_.emplace(file.open_handle());
    return *maybe_handle_;
  }

 private:
  std::optional<InputFile> maybe_handle_;
};

const InputFile& handle_of(ReaderState& reader, const DtsFile& file) {
  return static_cast<DtsReader&>(reader).handle(file);
}

// The name of the memory that processes share: the file's fingerprint. Without the CRCs of
// its blocks that does not tell two payloads apart, so then it is this very file's memory.
std::string store_name(const DtsFile& file, const SampleTable& table) {
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

// InvalidArgument: a pixel file, which has no blocks.
const SampleTable& tables_of(const DtsFile& file) {
  file.require_blocks();
  return file.samples();
}

// Rank of each stored sample by its source index.
std::vector<std::uint32_t> places_of(const std::vector<std::uint32_t>& source_order) {
  std::vector<std::uint32_t> by_source(source_order.size());
  std::iota(by_source.begin(), by_source.end(), 0);
  std::sort(by_source.begin(), by_source.end(),
            [&](std::uint32_t a, std::uint32_t b) { return source_order[a] < source_order[b]; });
  std::vector<std::uint32_t> places(source_order.size());
  for (std::uint32_t rank = 0; rank < by_source.size(); ++rank) places[by_source[rank]] = rank;
  return places;
}

}  // namespace

DtsSource::DtsSource(std::shared_ptr<const DtsFile> file, Keep keep)
    : file_(std::move(file)),
      table_(tables_of(*file_)),
      source_order_(file_->source_order()),
      labels_(file_->labels()),
      has_pixels_(file_->header().may_hold_raw_samples()) {
  if (file_->header().num_volumes != 1) volume_places_ = places_of(source_order_);
  if (keep == Keep::kPrivate) store_ = make_private_store(num_blocks(), block_bytes());
  if (keep == Keep::kShared) {
    store_ = open_shared_store(store_name(*file_, table_), num_blocks(), block_bytes());
  }
}

std::int64_t DtsSource::num_samples() const {
  return static_cast<std::int64_t>(table_.sizes.size());
}

std::int64_t DtsSource::label(std::int64_t sample) const {
  return labels_[static_cast<std::size_t>(position(sample))];
}

std::int64_t DtsSource::choice_index(std::int64_t sample) const {
  check_sample(sample);
  return source_order_[static_cast<std::size_t>(sample)];
}

std::int64_t DtsSource::position(std::int64_t sample) const {
  check_sample(sample);
  const auto& places = volume_places_.empty() ? source_order_ : volume_places_;
  return places[static_cast<std::size_t>(sample)];
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
  const ByteSpan place = memory.allocate(file_->plan_samples(ids, offsets));
  const std::span<const std::int64_t> all_ids(ids);
  const std::span<const std::int64_t> all_offsets(offsets);
  for (std::size_t first = 0; first < ids.size() && !reader.is_stopped();) {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    while (first + count < ids.size() && (count == 0 || bytes < kBytesAtOnce)) {
      bytes += table_.sizes[static_cast<std::size_t>(ids[first + count])];
      ++count;
    }
    file_->read_samples(all_ids.subspan(first, count), all_offsets.subspan(first, count), place,
                        handle_of(reader, *file_));
    reader.bytes_read += static_cast<std::int64_t>(bytes);
    first += count;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    views[absent[i].second] = view_of(place.subspan(
        static_cast<std::size_t>(offsets[i]), table_.sizes[static_cast<std::size_t>(ids[i])]));
  }
}

std::int64_t DtsSource::block_bytes() const { return file_->header().block_size; }

std::int64_t DtsSource::num_blocks() const { return file_->header().num_blocks; }

std::int64_t DtsSource::block_of(std::int64_t sample) const {
  check_sample(sample);
  const auto& first = table_.first_sample;
  const auto behind =
      std::upper_bound(first.begin(), first.end(), static_cast<std::uint64_t>(sample));
  return behind - first.begin() - 1;
}

std::uint64_t DtsSource::block_start(std::int64_t block) const {
  const Header& header = file_->header();
  return header.header_bytes + static_cast<std::uint64_t>(block) * header.block_size;
}

void DtsSource::read_block(std::int64_t block, ByteSpan out, bool check,
                           ReaderState& reader) const {
  const std::int64_t ids[1] = {block};
  file_->read_blocks(ids, out, check, handle_of(reader, *file_));
  reader.bytes_read += static_cast<std::int64_t>(out.size());
  reader.blocks_read += 1;
}

SampleView DtsSource::view_in_block(std::int64_t sample, ConstByteSpan block_memory) const {
  const std::int64_t block = block_of(sample);
  const auto at = static_cast<std::size_t>(sample);
  const std::uint64_t offset = table_.offsets[at] - block_start(block);
  if (block_memory.size() < offset + table_.sizes[at]) {
    throw InvalidArgument("a block's memory has " + std::to_string(block_memory.size()) +
                          " bytes, expected " + std::to_string(block_bytes()));
  }
  return view_of(block_memory.subspan(offset, table_.sizes[at]));
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
  file_->check_unchanged(handle_of(reader, *file_));
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
