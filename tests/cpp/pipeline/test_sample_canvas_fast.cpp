// SPDX-License-Identifier: Apache-2.0
// A canvas that may decode JPEGs smaller: near to what an exact one gives where it does, the same
// bytes elsewhere.
#include <algorithm>
#include <cmath>

#include "image/pictures.h"
#include "jpeg/encoder.h"
#include "pipeline/sample_canvas.h"
#include "support.h"

namespace {

using dts::Box;
using dts::ConstImageView;
using dts::DecodeStatus;
using dts::Filter;
using dts::ImageSize;
using dts::PassOrder;
using dts::SampleCanvas;
using dts::testing::Bytes;
using dts::testing::Kind;

// What is done to the image before its pixels are looked at.
struct Work {
  Box box;
  bool flip_first = false;
  ImageSize size;
  Box window;
  Filter filter = Filter::kBilinear;
  bool edits_first = false;
};

void apply(SampleCanvas& canvas, const Work& work) {
  canvas.crop(work.box);
  if (work.edits_first) {
    dts::ImageView pixels;
    canvas.edit(&pixels);
  }
  if (work.flip_first) {
    canvas.flip_horizontal();
    canvas.flip_vertical();
  }
  canvas.resize(work.size, work.filter);
  canvas.crop(work.window);
}

std::vector<std::uint8_t> finished(SampleCanvas& canvas) {
  ConstImageView view;
  bool flip = false;
  REQUIRE(canvas.finish(&view, &flip) == DecodeStatus::kOk);
  std::vector<std::uint8_t> all;
  for (std::int64_t y = 0; y < view.height; ++y) {
    all.insert(all.end(), view.row(y), view.row(y) + view.width * view.channels);
  }
  return all;
}

std::vector<std::uint8_t> run(SampleCanvas& canvas, const Bytes& data, const Work& work) {
  REQUIRE(canvas.open(data, 0) == DecodeStatus::kOk);
  apply(canvas, work);
  return finished(canvas);
}

double mean_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

const Kind k420{.name = "420", .sampling = {{2, 2}, {1, 1}, {1, 1}}};
const Work kHalf{.box = {13, 7, 90, 131}, .size = {40, 60}, .window = {0, 0, 40, 60}};

}  // namespace

TEST_CASE("fast: every kind of JPEG, halved and more, flipped, a window of it") {
  SampleCanvas fast(PassOrder::kVerticalIfShrunkMore, true),
      exact(PassOrder::kVerticalIfShrunkMore);
  Work eighth{.box = {3, 5, 115, 150}, .size = {11, 17}, .window = {2, 3, 7, 9}};
  Work flipped = kHalf;
  flipped.flip_first = true;
  for (const Kind& kind : dts::testing::every_kind()) {
    if (kind.unfinished || kind.only_low) continue;
    CAPTURE(kind.name);
    const Bytes data = dts::testing::encode(kind, 157, 121);
    // Chroma of a third or a quarter of the width or height is halved once more, too.
    const bool has_coarse_chroma = std::max(kind.sampling[0][0], kind.sampling[0][1]) > 2;
    for (const Work& work : {kHalf, flipped, eighth}) {
      const auto found = run(fast, data, work), expected = run(exact, data, work);
      CHECK(found != expected);
      CHECK(mean_difference(found, expected) < (has_coarse_chroma ? 21.0 : 12.0));
    }
  }
}

TEST_CASE("fast: bytes are exact where the picture is not halved") {
  SampleCanvas fast(PassOrder::kVerticalIfShrunkMore, true),
      exact(PassOrder::kVerticalIfShrunkMore);
  const Bytes data = dts::testing::encode(k420, 157, 121);
  Work large = kHalf, nearest = kHalf, box = kHalf, edited = kHalf, narrow = kHalf;
  large.size = {46, 60};  // 90 rows are fewer than 92
  nearest.filter = Filter::kNearest;
  box.filter = Filter::kBox;
  edited.edits_first = true;
  narrow.size = {10, 66};
  narrow.window = {0, 0, 10, 60};
  for (const Work& work : {large, nearest, box, edited, narrow}) {
    CHECK(run(fast, data, work) == run(exact, data, work));
  }
}

TEST_CASE("fast: results of one decoding are halved as far as all of them allow") {
  SampleCanvas together(PassOrder::kVerticalIfShrunkMore, true);
  SampleCanvas alone(PassOrder::kVerticalIfShrunkMore, true);
  SampleCanvas exact(PassOrder::kVerticalIfShrunkMore);
  const Bytes data = dts::testing::encode(k420, 157, 121);
  const auto run_together = [&](const std::vector<Work>& works) {
    REQUIRE(together.open(data, 0) == DecodeStatus::kOk);
    for (const Work& work : works) {
      together.survey();
      apply(together, work);
      ConstImageView view;
      bool flip = false;
      CHECK(together.finish(&view, &flip) == DecodeStatus::kUnsupported);
      REQUIRE(together.has_surveyed());
    }
    REQUIRE(together.decode_surveyed() == DecodeStatus::kOk);
    std::vector<std::vector<std::uint8_t>> results;
    for (const Work& work : works) {
      together.rewind();
      apply(together, work);
      results.push_back(finished(together));
    }
    return results;
  };
  const Work other{.box = {20, 2, 99, 149}, .size = {48, 70}, .window = {5, 9, 31, 40}};
  const Work quarter{.box = {4, 6, 88, 101}, .size = {22, 25}, .window = {0, 0, 22, 25}};
  Work whole = kHalf;
  whole.size = {90, 60};

  const auto halves = run_together({kHalf, other});
  CHECK(halves[0] == run(alone, data, kHalf));
  CHECK(halves[1] == run(alone, data, other));
  // The quarter comes from the half, and is nearer than its own.
  const auto mixed = run_together({quarter, kHalf});
  CHECK(mixed[1] == run(alone, data, kHalf));
  CHECK(mixed[0] != run(alone, data, quarter));
  CHECK(mean_difference(mixed[0], run(exact, data, quarter)) <
        mean_difference(run(alone, data, quarter), run(exact, data, quarter)));
  const auto unscaled = run_together({kHalf, whole});
  CHECK(unscaled[0] == run(exact, data, kHalf));
  CHECK(unscaled[1] == run(exact, data, whole));
}
