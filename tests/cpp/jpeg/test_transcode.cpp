// SPDX-License-Identifier: Apache-2.0
// Coefficients, tables, markers and metadata of transcoded pictures. Pillow's pixels:
// tests/_native/test_transcode.py. Bad input: test_transcode_bad_input.cpp.
#include "jpeg/transcode.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"
#include "jpeg/encoder.h"
#include "jpeg/libjpeg_session.h"
#include "jpeg/metadata.h"
#include "jpeg/probe.h"
#include "jpeg/restart_interval.h"
#include "support.h"

namespace {

using dts::ConstByteSpan;
using dts::JpegTranscoder;
using dts::Transcoded;
using dts::TranscodeStatus;
using dts::testing::Bytes;
using dts::testing::encode;
using dts::testing::every_kind;
using dts::testing::Kind;
using dts::testing::odd_image;
using dts::testing::odd_images;

// All that pixels are made of.
struct Coded {
  std::vector<int> layout;  // size, components, ids, factors, colour space, tables
  std::vector<JCOEF> coefficients;
  unsigned restart_interval = 0;
  bool operator==(const Coded& other) const {
    return layout == other.layout && coefficients == other.coefficients;
  }
};

Coded read_coded(ConstByteSpan data) {
  dts::LibjpegSession session;
  REQUIRE(session.read_header(data));
  Coded coded;
  jpeg_decompress_struct& codec = session.codec();
  coded.restart_interval = codec.restart_interval;
  jvirt_barray_ptr* arrays = nullptr;
  REQUIRE(session.guarded(
      [&arrays](jpeg_decompress_struct& c) { arrays = jpeg_read_coefficients(&c); }));
  coded.layout = {static_cast<int>(codec.image_width), static_cast<int>(codec.image_height),
                  codec.num_components, codec.jpeg_color_space};
  for (int c = 0; c < codec.num_components; ++c) {
    const jpeg_component_info& part = codec.comp_info[c];
    coded.layout.insert(coded.layout.end(),
                        {part.component_id, part.h_samp_factor, part.v_samp_factor});
    const JQUANT_TBL* table = codec.quant_tbl_ptrs[part.quant_tbl_no];
    coded.layout.insert(coded.layout.end(), table->quantval, table->quantval + DCTSIZE2);
    for (JDIMENSION y = 0; y < part.height_in_blocks; ++y) {
      JBLOCKARRAY rows = codec.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&codec),
                                                       arrays[c], y, 1, FALSE);
      const JCOEF* first = &rows[0][0][0];
      coded.coefficients.insert(coded.coefficients.end(), first,
                                first + std::size_t{part.width_in_blocks} * DCTSIZE2);
    }
  }
  return coded;
}

// RSTn in the coded data, each of which must be in turn.
std::size_t count_restarts(ConstByteSpan data) {
  std::size_t count = 0;
  for (std::size_t at = dts::probe_jpeg(data)->scan_start; at + 1 < data.size(); ++at) {
    const auto marker = std::to_integer<unsigned>(data[at + 1]);
    if (data[at] != std::byte{0xFF} || marker < 0xD0 || marker > 0xD7) continue;
    CHECK(marker - 0xD0 == count % 8);
    ++count;
  }
  return count;
}

std::string apps_of(ConstByteSpan data) {
  std::vector<dts::MetadataSegment> segments;
  dts::list_metadata(data, &segments);
  std::string text;
  for (const auto& segment : segments) text += std::to_string(segment.marker) + " ";
  return text;
}

bool is_huffman(const Kind& kind) { return !kind.arithmetic; }

// More than the ten blocks a MCU may have.
bool fits_one_scan(const Kind& kind) {
  int num_blocks = 0;
  for (const auto& [h, v] : kind.sampling) num_blocks += h * v;
  return kind.sampling.size() == 1 || num_blocks <= 10;
}

}  // namespace

TEST_CASE("every kind keeps its coefficients and gets its markers") {
  JpegTranscoder transcoder;
  int num_done = 0;
  for (const Kind& kind : every_kind()) {
    for (const auto& [width, height] : {std::pair(37, 23), std::pair(96, 48), std::pair(5, 70)}) {
      const Bytes data = encode(kind, width, height);
      for (const std::int64_t interval : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}}) {
        CAPTURE(kind.name);
        CAPTURE(width);
        CAPTURE(interval);
        Transcoded result;
        const TranscodeStatus status = transcoder.run(data, {interval, false}, &result);
        if (!is_huffman(kind) || !fits_one_scan(kind)) {
          CHECK(status == TranscodeStatus::kUnsupported);
          CHECK(result.bytes.empty());
          continue;
        }
        REQUIRE(status == TranscodeStatus::kDone);
        ++num_done;
        const Coded before = read_coded(data), after = read_coded(result.bytes);
        CHECK(before == after);
        const auto info = dts::probe_jpeg(result.bytes);
        CHECK((info->sof == 0xC0 || info->sof == 0xC1));
        int max_h = 1, max_v = 1;
        for (const auto& [h, v] : kind.sampling) {
          max_h = std::max(max_h, h);
          max_v = std::max(max_v, v);
        }
        const int num_components = static_cast<int>(kind.sampling.size());
        const std::int64_t row = dts::mcus_per_row(width, max_h, num_components);
        const std::int64_t rows = dts::mcus_per_row(height, max_v, num_components);
        const std::int64_t expected = dts::choose_restart_interval(interval, row);
        CHECK(after.restart_interval == static_cast<unsigned>(expected));
        const std::int64_t num_restarts = expected == 0 ? 0 : (row * rows - 1) / expected;
        CHECK(count_restarts(result.bytes) == static_cast<std::size_t>(num_restarts));
      }
    }
  }
  CHECK(num_done > 300);
}

TEST_CASE("odd images: which are transcoded, which are kept and why") {
  const std::map<std::string, TranscodeStatus> kept = {
      {"coding/arithmetic.jpg", TranscodeStatus::kUnsupported},
      {"coding/progressive_unfinished.jpg", TranscodeStatus::kIncomplete},
      {"coding/twelve_bit.jpg", TranscodeStatus::kUnsupported},
      {"damage/bad_codes.jpg", TranscodeStatus::kDamaged},
      {"damage/junk_before_soi.jpg", TranscodeStatus::kNotJpeg},
      {"sampling/fractional.jpg", TranscodeStatus::kDamaged},
      {"size/bomb_65500.jpg", TranscodeStatus::kTooLarge},
      {"tail/cut_at_60_percent.jpg", TranscodeStatus::kIncomplete},
      {"tail/cut_then_eoi.jpg", TranscodeStatus::kDamaged},
      {"tail/no_eoi.jpg", TranscodeStatus::kIncomplete}};
  JpegTranscoder transcoder;
  int num_done = 0;
  for (const auto& image : odd_images()) {
    CAPTURE(image.path);
    Transcoded result;
    const TranscodeStatus status = transcoder.run(image.data, {1, false}, &result);
    const auto found = kept.find(image.path);
    const TranscodeStatus otherwise =
        image.is_jpeg() ? TranscodeStatus::kDone : TranscodeStatus::kNotJpeg;
    CHECK(status == (found == kept.end() ? otherwise : found->second));
    CHECK(result.bytes.empty() == (status != TranscodeStatus::kDone));
    if (status != TranscodeStatus::kDone) {
      CHECK(result.num_dropped == 0);
      CHECK(result.dropped_bytes == 0);
      continue;
    }
    ++num_done;
    CHECK(read_coded(result.bytes) == read_coded(image.data));
  }
  CHECK(num_done >= 24);
}

TEST_CASE("metadata is kept where it says how the picture is shown, or as a whole") {
  JpegTranscoder transcoder;
  Transcoded result;
  const Bytes& icc = odd_image("meta/icc_196k.jpg");
  REQUIRE(transcoder.run(icc, {1, false}, &result) == TranscodeStatus::kDone);
  CHECK(apps_of(result.bytes) == "224 226 226 226 ");
  CHECK(result.num_dropped == 0);

  const Bytes& turned = odd_image("meta/exif_rotate6.jpg");
  REQUIRE(transcoder.run(turned, {1, false}, &result) == TranscodeStatus::kDone);
  std::vector<dts::MetadataSegment> segments;
  dts::list_metadata(result.bytes, &segments);
  REQUIRE(std::count_if(segments.begin(), segments.end(), [](const auto& segment) {
            return dts::exif_orientation(segment.content) == 6;
          }) == 1);

  const Bytes& thumbnail = odd_image("meta/exif_thumbnail.jpg");
  REQUIRE(transcoder.run(thumbnail, {1, false}, &result) == TranscodeStatus::kDone);
  const std::size_t stripped_bytes = result.bytes.size();
  CHECK(apps_of(result.bytes) == "225 ");  // its orientation, without the thumbnail
  CHECK(result.num_dropped == 1);
  const std::int64_t dropped_bytes = result.dropped_bytes;
  REQUIRE(transcoder.run(thumbnail, {1, true}, &result) == TranscodeStatus::kDone);
  CHECK(apps_of(result.bytes) == apps_of(thumbnail));
  CHECK(result.num_dropped == 0);
  CHECK(static_cast<std::int64_t>(result.bytes.size() - stripped_bytes) == dropped_bytes);
}

TEST_CASE("bytes behind the picture are counted, or keep the file as it is") {
  JpegTranscoder transcoder;
  Transcoded result;
  const Bytes& garbage = odd_image("tail/garbage_after_eoi.jpg");
  REQUIRE(transcoder.run(garbage, {1, false}, &result) == TranscodeStatus::kDone);
  CHECK(result.num_dropped == 1);
  CHECK(result.dropped_bytes == 5000);
  CHECK(transcoder.run(garbage, {1, true}, &result) == TranscodeStatus::kTrailing);
  CHECK(result.bytes.empty());
  CHECK(transcoder.run(odd_image("meta/mpo_two_pictures.jpg"), {1, true}, &result) ==
        TranscodeStatus::kTrailing);
  Bytes padded = odd_image("gray/gray.jpg");
  padded.resize(padded.size() + 7);
  CHECK(transcoder.run(padded, {1, true}, &result) == TranscodeStatus::kDone);
}

TEST_CASE("a transcoder gives the same bytes whatever it did before") {
  const Bytes first = encode({.name = "", .progressive = true}, 90, 70);
  const Bytes other = encode({.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}}, 190, 170);
  JpegTranscoder transcoder, fresh;
  Transcoded result, again;
  REQUIRE(fresh.run(first, {2, false}, &result) == TranscodeStatus::kDone);
  const Bytes expected(result.bytes.begin(), result.bytes.end());
  REQUIRE(transcoder.run(other, {0, true}, &again) == TranscodeStatus::kDone);
  CHECK(transcoder.run({}, {0, true}, &again) == TranscodeStatus::kNotJpeg);
  REQUIRE(transcoder.run(first, {2, false}, &again) == TranscodeStatus::kDone);
  CHECK(Bytes(again.bytes.begin(), again.bytes.end()) == expected);
  // What was transcoded once stays as it is.
  REQUIRE(transcoder.run(expected, {2, false}, &again) == TranscodeStatus::kDone);
  CHECK(Bytes(again.bytes.begin(), again.bytes.end()) == expected);
}

TEST_CASE("a wrong interval is refused whatever the file") {
  JpegTranscoder transcoder;
  Transcoded result;
  dts::testing::thrown<dts::InvalidArgument>([&] { transcoder.run({}, {-2, false}, &result); });
}
