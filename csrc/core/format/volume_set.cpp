// SPDX-License-Identifier: Apache-2.0
// Opening a set and joining its tables. Reading is in volume_set_read.cpp.
#include "format/volume_set.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::uint32_t>::max();

std::string name_of(std::uint64_t volume, std::uint64_t num_volumes) {
  return "volume " + std::to_string(volume) + " of " + std::to_string(num_volumes);
}

// The files are the volumes 0 .. k-1 of sets of k volumes.
void check_numbers(const std::vector<std::shared_ptr<DtsFile>>& volumes) {
  const DtsFile& first = *volumes.front();
  const std::uint32_t num_volumes = first.header().num_volumes;
  for (const auto& volume : volumes) {
    volume->require_blocks();
    if (volume->header().num_volumes == num_volumes) continue;
    throw CorruptFile(volume->path(), 56,
                      "it is " + name_of(volume->header().volume_id, volume->header().num_volumes) +
                          ", but " + in_quotes(first.path()) + " is " +
                          name_of(first.header().volume_id, num_volumes) +
                          ": they are not of one set");
  }
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::uint32_t id = volumes[i]->header().volume_id;
    if (id == i) continue;
    if (id < i) {
      throw CorruptFile(
          volumes[i]->path(), 60,
          "it is " + name_of(id, num_volumes) + ", and so is " + in_quotes(volumes[i - 1]->path()));
    }
    throw CorruptFile(first.path(), 56, name_of(i, num_volumes) + " is missing");
  }
  if (volumes.size() < num_volumes) {
    throw CorruptFile(first.path(), 56, name_of(volumes.size(), num_volumes) + " is missing");
  }
}

// What all volumes of a set have in common.
void check_alike(const DtsFile& first, const DtsFile& other) {
  struct Field {
    const char* name;
    std::int64_t offset;
    std::uint32_t Header::* value;
  };
  static constexpr Field kFields[] = {
      {"is_training", 16, &Header::is_training},
      {"compress_level", 20, &Header::compress_level},
      {"num_classes", 28, &Header::num_classes},
      {"block_size", 92, &Header::block_size},
  };
  for (const Field& field : kFields) {
    const std::uint32_t found = other.header().*field.value;
    const std::uint32_t expected = first.header().*field.value;
    if (found == expected) continue;
    throw CorruptFile(other.path(), field.offset,
                      std::string(field.name) + " is " + std::to_string(found) + ", but " +
                          std::to_string(expected) + " in " + in_quotes(first.path()) +
                          ": they are not of one set");
  }
  for (const char* tag : {"CLSS", "ORDR"}) {
    const Section* mine = other.sections().find(tag);
    const Section* its = first.sections().find(tag);
    if ((mine == nullptr) == (its == nullptr)) continue;
    throw CorruptFile(other.path(), -1,
                      std::string(mine == nullptr ? "it has no section '" : "it has a section '") +
                          tag + "', other than " + in_quotes(first.path()));
  }
  const Section* classes = other.sections().find("CLSS");
  if (classes == nullptr) return;
  const Section* its = first.sections().find("CLSS");
  if (classes->crc == its->crc && classes->stored_bytes == its->stored_bytes) return;
  if (other.section("CLSS") == first.section("CLSS")) return;
  throw CorruptFile(other.path(), static_cast<std::int64_t>(classes->offset),
                    "section 'CLSS' has other class names than " + in_quotes(first.path()) +
                        ": they are not of one set");
}

// The volumes one behind the other as one file would be described.
Header joined_header(const std::vector<std::shared_ptr<DtsFile>>& volumes) {
  Header whole = volumes.front()->header();
  if (volumes.size() == 1) return whole;
  std::uint64_t num_samples = 0, num_blocks = 0;
  double source_bytes = 0;
  whole.total_bytes = whole.block_bytes = 0;
  for (const auto& volume : volumes) {
    const Header& header = volume->header();
    num_samples += header.num_samples;
    num_blocks += header.num_blocks;
    whole.total_bytes += volume->identity().size;
    whole.block_bytes += header.block_bytes;
    if (header.compression_ratio > 0) {
      source_bytes += static_cast<double>(volume->identity().size) / header.compression_ratio;
    }
    whole.version = std::max(whole.version, header.version);
    whole.block_header_size = std::max(whole.block_header_size, header.block_header_size);
    whole.max_pic_area = std::max(whole.max_pic_area, header.max_pic_area);
    whole.max_pic_per_block = std::max(whole.max_pic_per_block, header.max_pic_per_block);
  }
  if (num_samples > kMaxNumber || num_blocks > kMaxNumber) {
    throw CorruptFile(volumes.front()->path(), 52,
                      "the set has " + std::to_string(num_samples) + " samples in " +
                          std::to_string(num_blocks) + " blocks, expected at most " +
                          std::to_string(kMaxNumber) + " of each");
  }
  for (const auto& volume : volumes) {
    const Header& header = volume->header();
    if (header.total_blocks == header.num_blocks || header.total_blocks == num_blocks) continue;
    throw CorruptFile(volume->path(), 64,
                      "total_blocks is " + std::to_string(header.total_blocks) + ", expected " +
                          std::to_string(header.num_blocks) + " (its own) or " +
                          std::to_string(num_blocks) +
                          " (of the set): another set's volume is among them");
  }
  whole.num_samples = static_cast<std::uint32_t>(num_samples);
  whole.num_blocks = whole.total_blocks = static_cast<std::uint32_t>(num_blocks);
  whole.compression_ratio =
      source_bytes > 0 ? static_cast<float>(static_cast<double>(whole.total_bytes) / source_bytes)
                       : 1.0f;
  whole.crc_code = 0;
  return whole;
}

// Which part of a list of sums `number` falls into.
std::size_t part_of(const std::vector<std::uint64_t>& first, std::uint64_t number) {
  const auto behind = std::upper_bound(first.begin(), first.end(), number);
  return static_cast<std::size_t>(behind - first.begin()) - 1;
}

}  // namespace

std::shared_ptr<VolumeSet> VolumeSet::open(std::vector<std::string> paths, OpenOptions options) {
  if (paths.empty()) throw InvalidArgument("no file to open");
  std::vector<std::shared_ptr<DtsFile>> volumes;
  for (std::string& path : paths) volumes.push_back(DtsFile::open(std::move(path), options));
  if (volumes.size() > 1) {
    std::stable_sort(volumes.begin(), volumes.end(), [](const auto& a, const auto& b) {
      return a->header().volume_id < b->header().volume_id;
    });
    check_numbers(volumes);
    for (const auto& volume : volumes) check_alike(*volumes.front(), *volume);
  }
  return std::shared_ptr<VolumeSet>(new VolumeSet(std::move(volumes)));
}

VolumeSet::VolumeSet(std::vector<std::shared_ptr<DtsFile>> volumes)
    : volumes_(std::move(volumes)), header_(joined_header(volumes_)) {
  first_block_.push_back(0);
  first_sample_.push_back(0);
  for (const auto& volume : volumes_) {
    file_bytes_ += volume->identity().size;
    first_block_.push_back(first_block_.back() + volume->header().num_blocks);
    first_sample_.push_back(first_sample_.back() + volume->header().num_samples);
  }
}

VolumeSet::Place VolumeSet::block_place(std::int64_t block) const {
  if (block < 0 || block >= std::int64_t{header_.num_blocks}) {
    throw OutOfRange("block " + std::to_string(block) + " is out of range, the " +
                     (is_one_file() ? "file" : "set") + " has " +
                     std::to_string(header_.num_blocks) + " blocks");
  }
  const auto number = static_cast<std::uint64_t>(block);
  const std::size_t volume = part_of(first_block_, number);
  return {volume, number - first_block_[volume]};
}

VolumeSet::Place VolumeSet::sample_place(std::int64_t stored) const {
  if (stored < 0 || stored >= std::int64_t{header_.num_samples}) {
    throw OutOfRange("stored sample " + std::to_string(stored) + " is out of range, the " +
                     (is_one_file() ? "file" : "set") + " has " +
                     std::to_string(header_.num_samples));
  }
  const auto number = static_cast<std::uint64_t>(stored);
  const std::size_t volume = part_of(first_sample_, number);
  return {volume, number - first_sample_[volume]};
}

const std::vector<const SampleTable*>& VolumeSet::tables() const {
  return tables_.get([this] {
    std::vector<const SampleTable*> tables;
    for (const auto& volume : volumes_) tables.push_back(&volume->samples());
    return tables;
  });
}

const std::vector<std::uint32_t>& VolumeSet::source_order() const {
  if (is_one_file()) return volumes_.front()->source_order();
  return source_order_.get([this] { return join_order(); });
}

const std::vector<std::uint32_t>& VolumeSet::source_places() const {
  return is_one_file() ? volumes_.front()->source_places() : source_order();
}

const std::vector<std::int32_t>& VolumeSet::labels() const {
  if (is_one_file()) return volumes_.front()->labels();
  return labels_.get([this] { return join_labels(); });
}

std::vector<std::uint32_t> VolumeSet::join_order() const {
  std::vector<std::uint32_t> joined;
  joined.reserve(header_.num_samples);
  std::vector<bool> is_taken(header_.num_samples);
  for (std::size_t v = 0; v < volumes_.size(); ++v) {
    const Section* section = volumes_[v]->sections().find("ORDR");
    const std::vector<std::uint32_t>& own = volumes_[v]->source_order();
    for (std::size_t i = 0; i < own.size(); ++i) {
      // Without ORDR source index = stored index, of the set.
      const std::uint64_t source = section == nullptr ? first_sample_[v] + i : own[i];
      if (source >= is_taken.size() || is_taken[source]) {
        throw CorruptFile(
            volumes_[v]->path(), static_cast<std::int64_t>(section->offset + 4 * i),
            "section 'ORDR': stored sample " + std::to_string(i) + " has source index " +
                std::to_string(source) +
                (source < is_taken.size()
                     ? ", which a sample of another volume has too: they are not of one set"
                     : ", expected 0 .. " + std::to_string(is_taken.size() - 1) + " in this set"));
      }
      is_taken[source] = true;
      joined.push_back(static_cast<std::uint32_t>(source));
    }
  }
  return joined;
}

std::vector<std::int32_t> VolumeSet::join_labels() const {
  const std::vector<std::uint32_t>& order = source_order();
  std::vector<std::int32_t> joined(order.size());
  for (std::size_t v = 0; v < volumes_.size(); ++v) {
    const std::vector<std::int32_t>& own = volumes_[v]->labels();
    const std::vector<std::uint32_t>& places = volumes_[v]->source_places();
    for (std::size_t i = 0; i < own.size(); ++i) {
      joined[order[first_sample_[v] + i]] = own[places[i]];
    }
  }
  return joined;
}

}  // namespace dts
