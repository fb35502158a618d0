// SPDX-License-Identifier: Apache-2.0
// Coefficients of whole pictures and of parts of them equal libjpeg's.
#include <algorithm>

#include "jpeg/coefficient_checks.h"
#include "jpeg/edit.h"

namespace dts::testing {
namespace {

// Rows and columns as of a crop, or all of them. Returns how many parts were checked.
int check_parts(EntropyDecoder& decoder, const Bytes& data, std::uint64_t& state, int num_parts) {
  FrameHeader header;
  REQUIRE(read_frame_header(data, &header));
  const JpegGeometry& geometry = header.geometry;
  const auto expected = libjpeg_coefficients(data);
  for (int part = 0; part <= num_parts; ++part) {
    REQUIRE(decoder.open(data, header));
    const auto random = [&state](std::int64_t below) {
      return std::int64_t{next_random(state, static_cast<unsigned>(below))};
    };
    std::int64_t first = 0, end = geometry.mcus_per_row();
    std::int64_t top = 0, bottom = geometry.mcu_rows();
    if (part > 0) {
      first = random(end);
      end = first + 1 + random(end - first);
      top = random(bottom);
      bottom = top + 1 + random(bottom - top);
    }
    CAPTURE(top);
    CAPTURE(first);
    CAPTURE(end);
    for (std::int64_t y = top; y < bottom; ++y) {
      CAPTURE(y);
      const RowMemory memory(geometry, end - first);
      REQUIRE(decoder.read(y, first, end, memory.row()));
      REQUIRE(count_wrong_blocks(geometry, y, first, memory.row(), expected) == 0);
    }
  }
  return num_parts + 1;
}

int random_interval(std::uint64_t& state) {
  return next_random(state, 3) == 0 ? 0 : 1 + static_cast<int>(next_random(state, 20));
}

int check_every_kind(SimdLevel level, int num_sizes, int num_parts) {
  EntropyDecoder decoder(level);
  std::uint64_t state = 5;
  int checked = 0;
  for (Kind kind : baseline_kinds()) {
    for (int i = 0; i < num_sizes; ++i) {
      kind.restart_interval = random_interval(state);
      kind.quality = 1 + static_cast<int>(next_random(state, 100));
      const int width = 1 + static_cast<int>(next_random(state, 90));
      const int height = 1 + static_cast<int>(next_random(state, 90));
      CAPTURE(kind.name);
      CAPTURE(kind.quality);
      CAPTURE(kind.restart_interval);
      CAPTURE(width);
      CAPTURE(height);
      checked += check_parts(decoder, encode(kind, width, height, static_cast<unsigned>(i)), state,
                             num_parts);
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("coefficients: every sampling, qualities, sizes, intervals") {
  CHECK(check_every_kind(SimdLevel::kGeneric, 30, 4) > 800);
  CHECK(check_every_kind(best_simd_level(), 60, 4) > 1500);
}

TEST_CASE("coefficients: pictures of more data than is read at once, all coefficients set") {
  EntropyDecoder decoder;
  std::uint64_t state = 9;
  for (Kind kind : baseline_kinds()) {
    CAPTURE(kind.name);
    for (const int quality : {60, 98, 100}) {
      CAPTURE(quality);
      kind.quality = quality;
      kind.restart_interval = quality == 98 ? 7 : 0;
      check_parts(decoder, encode(kind, 301, 203, 3), state, 4);
    }
  }
}

TEST_CASE("coefficients: the first ones of each block, and verdicts as with all of them") {
  EntropyDecoder decoder;
  std::uint64_t state = 6;
  for (Kind kind : baseline_kinds()) {
    CAPTURE(kind.name);
    kind.restart_interval = static_cast<int>(next_random(state, 5));
    kind.quality = 60 + static_cast<int>(next_random(state, 41));
    const Bytes data = encode(kind, 150, 120);
    const auto expected = libjpeg_coefficients(data);
    FrameHeader header;
    REQUIRE(read_frame_header(data, &header));
    for (const int num_kept : {1, 2, 5, 25, 63, 64}) {
      CAPTURE(num_kept);
      REQUIRE(decoder.open(data, header));
      decoder.keep({num_kept, 64, num_kept});
      const RowMemory memory(header.geometry, 4);
      REQUIRE(decoder.read(2, 1, 5, memory.row()));
      int wrong = 0;
      for (std::size_t c = 0; c < expected.size(); ++c) {
        const int kept = c == 1 ? 64 : num_kept;
        const CoefficientPlane& plane = memory.row().planes[c];
        for (int y = 0; y < plane.num_rows; ++y) {
          for (std::int64_t x = 0; x < plane.num_columns; ++x) {
            const std::int16_t* const block =
                plane.blocks + (y * plane.num_columns + x) * kBlockCoefficients;
            const std::int16_t* const whole = expected[c].block(2 * header.geometry.vertical[c] + y,
                                                                header.geometry.horizontal[c] + x);
            for (int k = 0; k < kept; ++k) {
              const std::size_t place = kNaturalOrder[static_cast<std::size_t>(k)];
              wrong += block[place] != whole[place];
            }
          }
        }
      }
      CHECK(wrong == 0);
    }
  }
  const Bytes data =
      encode({.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .quality = 95}, 83, 61);
  int num_read = 0;
  for (int round = 0; round < 400; ++round) {
    const Bytes changed = mutate(data, state);
    FrameHeader header;
    if (!read_frame_header(changed, &header) || header.geometry.mcus_per_row() > 20) continue;
    const RowMemory memory(header.geometry, header.geometry.mcus_per_row());
    const auto can_read = [&](int num_kept) {
      if (!decoder.open(changed, header)) return false;
      decoder.keep({num_kept, num_kept, num_kept});
      return decoder.read(1, 0, header.geometry.mcus_per_row(), memory.row());
    };
    const bool is_read = can_read(64);
    num_read += is_read ? 1 : 0;
    for (const int num_kept : {1, 5, 25}) REQUIRE(can_read(num_kept) == is_read);
  }
  CHECK(num_read > 50);
}

TEST_CASE("coefficients: rows in any order, and again") {
  EntropyDecoder decoder;
  for (const int interval : {0, 1, 5, 40}) {
    const Kind kind{.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .restart_interval = interval};
    const Bytes data = encode(kind, 150, 120);
    const auto expected = libjpeg_coefficients(data);
    FrameHeader header;
    REQUIRE(read_frame_header(data, &header));
    REQUIRE(decoder.open(data, header));
    for (const std::int64_t y : {7, 2, 3, 3, 0, 5, 1}) {
      const RowMemory memory(header.geometry, 4);
      REQUIRE(decoder.read(y, 3, 7, memory.row()));
      CHECK(count_wrong_blocks(header.geometry, y, 3, memory.row(), expected) == 0);
    }
  }
}

TEST_CASE("coefficients: what is missing or too much") {
  EntropyDecoder decoder;
  FrameHeader header;
  const Kind kind{.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .restart_interval = 3};
  const Bytes data = encode(kind, 150, 120);
  REQUIRE(read_frame_header(data, &header));
  const auto restarts = restarts_at(data);
  const std::size_t end = data.size() - 2;
  const auto can_open = [&](const Bytes& changed) { return decoder.open(changed, header); };
  CHECK(can_open(data));
  CHECK_FALSE(can_open(without(data, end, data.size())));
  CHECK_FALSE(can_open(without(data, end + 1, data.size())));
  CHECK_FALSE(can_open(without(data, restarts[4], restarts[5])));
  CHECK_FALSE(can_open(with_value(data, restarts[4] + 1, 0xD3)));
  CHECK_FALSE(can_open(with_value(data, restarts[4] + 1, 0xDA)));
  CHECK_FALSE(
      can_open(with_inserted(data, end, {0xFF, 0xD0 + static_cast<int>(restarts.size() % 8)})));

  const auto can_read = [&](const Bytes& changed, std::int64_t mcu_row) {
    REQUIRE(decoder.open(changed, header));
    const RowMemory memory(header.geometry, header.geometry.mcus_per_row());
    return decoder.read(mcu_row, 0, header.geometry.mcus_per_row(), memory.row());
  };
  // Segments lie across rows: 10 MCUs a row, 3 a segment.
  CHECK(can_read(data, 1));
  CHECK_FALSE(can_read(without(data, restarts[4] - 3, restarts[4]), 1));
  CHECK(can_read(without(data, restarts[4] - 3, restarts[4]), 0));
  CHECK_FALSE(can_read(with_inserted(data, restarts[4], {0x55, 0x55}), 1));
  CHECK(can_read(with_inserted(data, restarts[4], {0xFF, 0xFF}), 1));
  // After a failure others are read as ever, from their start.
  const auto expected = libjpeg_coefficients(data);
  const Bytes damaged = without(data, restarts[4] - 3, restarts[4]);
  REQUIRE(decoder.open(damaged, header));
  for (int round = 0; round < 2; ++round) {
    const RowMemory all(header.geometry, 10), some(header.geometry, 2);
    CHECK_FALSE(decoder.read(1, 0, 10, all.row()));
    REQUIRE(decoder.read(1, 6, 8, some.row()));
    CHECK(count_wrong_blocks(header.geometry, 1, 6, some.row(), expected) == 0);
  }
  CHECK_FALSE(can_read(with_inserted(data, restarts[4] - 2, {0xFF, 0xFF, 0}), 1));

  decoder.release();
  CHECK(decoder.held_bytes() == 0);
  CHECK(can_read(data, 7));
  CHECK(decoder.held_bytes() > 0);
}

TEST_CASE("coefficients: changed bytes never lead out of the memory") {
  EntropyDecoder decoder;
  std::uint64_t state = 11;
  int num_read = 0, num_refused = 0;
  for (Kind kind : baseline_kinds()) {
    for (const int interval : {0, 1, 4}) {
      kind.restart_interval = interval;
      kind.quality = interval == 4 ? 100 : 70;
      const Bytes data = encode(kind, 83, 61);
      for (int round = 0; round < 150; ++round) {
        const Bytes changed = mutate(data, state);
        FrameHeader header;
        if (!read_frame_header(changed, &header) || !decoder.open(changed, header)) continue;
        // A size that was changed would take long.
        const std::int64_t columns = std::min<std::int64_t>(header.geometry.mcus_per_row(), 40);
        const std::int64_t rows = std::min<std::int64_t>(header.geometry.mcu_rows(), 20);
        const std::int64_t first = next_random(state, static_cast<unsigned>(columns));
        for (std::int64_t y = next_random(state, 4); y < rows; ++y) {
          const RowMemory memory(header.geometry, columns - first);
          const bool is_read = decoder.read(y, first, columns, memory.row());
          ++(is_read ? num_read : num_refused);
        }
      }
    }
  }
  CHECK(num_read > 1000);
  CHECK(num_refused > 1000);
}

}  // namespace dts::testing
