// SPDX-License-Identifier: Apache-2.0
// A good file with random damage where readers look: it opens, or CorruptFile tells why.
// Seeds are fixed; under ASan and UBSan any read outside of what was read shows.
#include <doctest/doctest.h>
#include <zlib.h>

#include <random>

#include "format/reader.h"
#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::kTable;
using testing::patch;
using testing::read_range;
using testing::SmallFile;
using testing::TempDir;

SmallFile compressed_file() {
  SmallFile file = testing::small_old_file();
  file.add_tables(testing::kSmallOrder);
  for (auto& section : file.sections) {
    uLongf size = ::compressBound(section.stored.size());
    Bytes stream(size);
    REQUIRE(::compress2(reinterpret_cast<Bytef*>(stream.data()), &size,
                        reinterpret_cast<const Bytef*>(section.stored.data()),
                        section.stored.size(), 9) == Z_OK);
    stream.resize(size);
    section.stored = stream;
    section.flags = kSectionZlib;
  }
  return file;  // without HEAD, so that a damaged header is looked into further
}

// True when all of it could be read.
bool survives(const std::string& path, bool ignore_sections) {
  try {
    const auto file = DtsFile::open(path, {.ignore_sections = ignore_sections});
    if (!file->header().has_blocks()) return true;
    for (const Section& section : file->sections().sections) file->section(section.tag);
    file->labels();
    const SampleTable& table = file->samples();
    REQUIRE(table.first_sample.back() == file->header().num_samples);
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < table.sizes.size(); ++i) {
      REQUIRE(table.offsets[i] + table.sizes[i] <= file->identity().size);
      if (table.sizes[i] < 1 << 20) ids.push_back(static_cast<std::int64_t>(i));
    }
    std::vector<std::int64_t> offsets(ids.size());
    Bytes out(file->plan_samples(ids, offsets));
    file->read_samples(ids, offsets, out, file->handle());
    return true;
  } catch (const CorruptFile& error) {
    REQUIRE(std::string(error.what()).size() > 10);
    return false;
  }
}

struct Spot {
  std::uint64_t offset;
  std::size_t size;
};

void fuzz(SmallFile file, std::uint32_t seed, int num_rounds) {
  const TempDir dir;
  const std::string path = dir / "a.dts";
  file.write(path);
  std::vector<Spot> spots = {{0, 144}};
  for (std::uint32_t b = 0; b < 2; ++b) spots.push_back({file.block_start(b), 48});
  if (!file.sections.empty()) spots.push_back({kTable, 16 + 40 * file.sections.size()});
  for (const auto& section : file.sections) {
    spots.push_back({section.offset, section.stored.size()});
  }
  std::vector<Bytes> good;
  for (const Spot& spot : spots) good.push_back(read_range(path, spot.offset, spot.size));

  std::mt19937 random(seed);
  const std::uint32_t edges[] = {0,   1,          63,         64,         340,
                                 341, 0x7FFFFFFF, 0x80000000, 0xFFFFFFC0, 0xFFFFFFFF};
  int num_survived = 0;
  for (int round = 0; round < num_rounds; ++round) {
    CAPTURE(round);
    const std::size_t which = random() % spots.size();
    Bytes bad = good[which];
    for (std::uint32_t change = random() % 3 + 1; change > 0; --change) {
      if (random() % 2 == 0 || bad.size() < 4) {
        bad[random() % bad.size()] ^= static_cast<std::byte>(1u << random() % 8);
      } else {
        store_le(bad.data() + random() % (bad.size() / 4) * 4, edges[random() % std::size(edges)]);
      }
    }
    patch(path, spots[which].offset, bad);
    // Three in four get right CRCs, to reach what lies behind that check.
    if (!file.sections.empty() && random() % 4 != 0) {
      for (std::size_t i = 0; i < file.sections.size(); ++i) {
        const auto& section = file.sections[i];
        if (spots[which].offset == section.offset) {
          testing::patch_value(path, kTable + 16 + 40 * i + 32,
                               crc32(0, read_range(path, section.offset, section.stored.size())));
        }
      }
      Bytes table = read_range(path, kTable, 16 + 40 * file.sections.size());
      store_le(table.data() + 12, std::uint32_t{0});
      testing::patch_value(path, kTable + 12, crc32(0, table));
    }
    num_survived += survives(path, false);
    num_survived += survives(path, true);
    for (std::size_t i = 0; i < spots.size(); ++i) patch(path, spots[i].offset, good[i]);
  }
  CHECK(num_survived > num_rounds / 10);       // not all damage is in a field that is checked
  CHECK(num_survived < num_rounds * 19 / 10);  // and much of it is found
  CHECK(survives(path, false));
}

TEST_CASE("fuzz: a file with plain sections") { fuzz(testing::small_file(), 1, 500); }
TEST_CASE("fuzz: a file with compressed sections") { fuzz(compressed_file(), 2, 500); }
TEST_CASE("fuzz: an old file") { fuzz(testing::small_old_file(), 3, 500); }

}  // namespace
}  // namespace dts
