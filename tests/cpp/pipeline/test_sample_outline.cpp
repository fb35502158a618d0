// SPDX-License-Identifier: Apache-2.0
// Outlines, done with a plain resize in floating point, beside what the runner makes itself.
#include "pipeline/sample_outline.h"

#include <cmath>

#include "image/pictures.h"
#include "jpeg/edit.h"
#include "jpeg/encoder.h"
#include "pipeline/counted_allocations.h"
#include "pipeline/sample_runner.h"
#include "support.h"

namespace {

using dts::ChoiceKey;
using dts::DecodeStatus;
using dts::SampleOutline;
using dts::SampleRunner;
using dts::ViewPlans;
using dts::testing::Bytes;

const std::string kSource = "source channels=3 max_pixels=178956970 pass_order=2\n";
const std::string kCrop =
    "resized_crop op=0 height=20 width=24 scale=0.08,1 ratio=0.75,1.3333 filter=2\n";
const std::string kOutput = "output height=20 width=24 channels=3 dtype=0 layout=1 scale=0\n";

std::shared_ptr<const ViewPlans> plan_of(const std::string& text) {
  return std::make_shared<const ViewPlans>(dts::parse_view_plans(text));
}

std::vector<Bytes> photos() {
  std::vector<Bytes> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(dts::testing::encode({.name = "photo", .sampling = {{2, 2}, {1, 1}, {1, 1}}},
                                       70 + 20 * i, 130 - 12 * i, static_cast<unsigned>(i)));
  }
  all.push_back(dts::testing::encode({.name = "progressive", .progressive = true}, 60, 50));
  return all;
}

// Weights of the pixels first, first + 1, ... of a side for one pixel of the result.
struct Weights {
  std::int64_t first = 0;
  std::vector<double> values;
};

Weights weights_at(double centre, double scale, std::int64_t size) {
  const double support = std::max(scale, 1.0);
  const auto low = static_cast<std::int64_t>(std::max(0.0, std::floor(centre - support)));
  const auto high = std::min(size, static_cast<std::int64_t>(std::ceil(centre + support)));
  Weights weights{low, {}};
  double sum = 0;
  for (std::int64_t x = low; x < high; ++x) {
    const double distance = std::abs(static_cast<double>(x) + 0.5 - centre) / support;
    weights.values.push_back(std::max(0.0, 1 - distance));
    sum += weights.values.back();
  }
  for (double& value : weights.values) value /= sum;
  return weights;
}

// HWC bytes.
std::vector<std::uint8_t> do_outline(const SampleOutline& outline,
                                     const dts::testing::Decoded& whole, std::int64_t height,
                                     std::int64_t width) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(height * width * 3));
  const double y_scale = (outline.roi_bottom - outline.roi_top) / static_cast<double>(height);
  const double x_scale = (outline.roi_right - outline.roi_left) / static_cast<double>(width);
  for (std::int64_t y = 0; y < height; ++y) {
    const Weights rows = weights_at(outline.roi_top + (static_cast<double>(y) + 0.5) * y_scale,
                                    y_scale, outline.height);
    for (std::int64_t x = 0; x < width; ++x) {
      const Weights columns = weights_at(
          outline.roi_left + (static_cast<double>(x) + 0.5) * x_scale, x_scale, outline.width);
      const std::int64_t to_y = outline.flip_vertical ? height - 1 - y : y;
      const std::int64_t to_x = outline.flip_horizontal ? width - 1 - x : x;
      const bool is_erased = to_y >= outline.erase_top && to_x >= outline.erase_left &&
                             to_y < outline.erase_top + outline.erase_height &&
                             to_x < outline.erase_left + outline.erase_width;
      for (std::int64_t c = 0; c < 3; ++c) {
        double sum = 0;
        for (std::size_t i = 0; i < rows.values.size(); ++i) {
          for (std::size_t j = 0; j < columns.values.size(); ++j) {
            const std::int64_t from_y = outline.top + rows.first + static_cast<std::int64_t>(i);
            const std::int64_t from_x = outline.left + columns.first + static_cast<std::int64_t>(j);
            sum += rows.values[i] * columns.values[j] *
                   whole.pixels[static_cast<std::size_t>((from_y * whole.width + from_x) * 3 + c)];
          }
        }
        out[static_cast<std::size_t>((to_y * width + to_x) * 3 + c)] =
            is_erased ? 7 : static_cast<std::uint8_t>(std::lround(sum));
      }
    }
  }
  return out;
}

int largest_difference(const std::vector<std::uint8_t>& one, const Bytes& other) {
  int largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    largest = std::max(largest, std::abs(int{one[i]} - std::to_integer<int>(other[i])));
  }
  return largest;
}

}  // namespace

TEST_CASE("an outline says what the runner does, to the rounding") {
  const std::string flips = "horizontal_flip op=1 p=0.5\nvertical_flip op=2 p=0.5\n";
  const std::vector<std::string> plans = {
      kSource + kCrop + flips + kOutput,
      kSource + flips + kCrop + kOutput,
      kSource + "resize height=40 width=0 filter=2\ncenter_crop height=20 width=24\n" + kOutput,
      kSource + flips + "resize height=33 width=0 filter=2\n" +
          "random_crop op=0 height=20 width=24\nhorizontal_flip op=3 p=0.5\n" + kOutput,
      kSource + "center_crop height=40 width=45\nresize height=20 width=24 filter=2\n" + kOutput,
      kSource + "random_crop op=0 height=20 width=24\n" + flips + kOutput,
      kSource + "resize height=200 width=240 filter=2\ncenter_crop height=20 width=24\n" + kOutput,
      kSource + kCrop + kOutput + "erasing op=5 p=0.7 scale=0.02,0.33 ratio=0.3,3.3 value=7\n",
  };
  int num_flipped = 0, num_erased = 0;
  for (const std::string& plan : plans) {
    SampleRunner runner(plan_of(plan));
    for (const Bytes& data : photos()) {
      const dts::testing::Decoded whole = dts::testing::decode_whole(data);
      for (std::uint64_t index = 0; index < 6; ++index) {
        CAPTURE(plan);
        CAPTURE(index);
        const ChoiceKey key = {.seed = 5, .epoch = 2, .index = index, .occurrence = 1};
        SampleOutline outline;
        Bytes expected(20 * 24 * 3);
        const DecodeStatus status = runner.run(data, key, expected.data());
        REQUIRE(runner.outline(data, key, &outline) == status);
        if (status != DecodeStatus::kOk) continue;  // the centre crop of a smaller image
        CHECK(outline.size == static_cast<std::int64_t>(data.size()));
        CHECK(outline.top >= 0);
        CHECK(outline.left >= 0);
        CHECK(outline.top + outline.height <= whole.height);
        CHECK(outline.left + outline.width <= whole.width);
        CHECK(largest_difference(do_outline(outline, whole, 20, 24), expected) <= 1);
        num_flipped += outline.flip_horizontal;
        num_erased += outline.erase_height > 0 ? 1 : 0;
      }
    }
  }
  CHECK(num_flipped > 30);
  CHECK(num_erased > 10);
}

TEST_CASE("what is more than a bilinear resize of a common JPEG has no outline") {
  const Bytes photo = photos().front();
  SampleOutline outline;
  const auto status_of = [&](const std::string& plan, const Bytes& data) {
    return SampleRunner(plan_of(plan)).outline(data, {.seed = 1}, &outline);
  };
  const std::string plain = kSource + kCrop + kOutput;
  CHECK(status_of(plain, photo) == DecodeStatus::kOk);
  const std::string bicubic =
      "resized_crop op=0 height=20 width=24 scale=0.08,1 ratio=0.75,1.3333 filter=3\n";
  for (const std::string& steps :
       {bicubic, kCrop + "color_jitter op=2 brightness=0.6,1.4\n",
        kCrop + "rotation op=3 degrees=-20,20 filter=2\n",
        "random_crop op=0 height=20 width=24 padding=90,90,90,90\n" + kCrop,
        std::string("resize height=40 width=40 filter=2\nresize height=20 width=24 filter=2\n"),
        std::string("center_crop height=200 width=300\nresize height=20 width=24 filter=2\n")}) {
    CAPTURE(steps);
    CHECK(status_of(kSource + steps + kOutput, photo) == DecodeStatus::kUnsupported);
  }
  CHECK(status_of(kSource + kCrop +
                      "output height=20 width=24 channels=3 dtype=1 layout=0 scale=1\n"
                      "erasing op=5 p=1 scale=0.02,0.33 ratio=0.3,3.3 random=1\n",
                  photo) == DecodeStatus::kUnsupported);
  // The result would have another size, and a picture with more pixels than the limit.
  CHECK(status_of(kSource + "resize height=20 width=0 filter=2\n" + kOutput, photo) ==
        DecodeStatus::kUnsupported);
  CHECK(status_of("source channels=3 max_pixels=100 pass_order=2\n" + kCrop + kOutput, photo) ==
        DecodeStatus::kUnsupported);

  using dts::testing::encode;
  const Bytes cmyk = encode({.name = "cmyk",
                             .sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}},
                             .input = JCS_CMYK,
                             .stored = JCS_CMYK},
                            40, 40);
  CHECK(status_of(plain, cmyk) == DecodeStatus::kUnsupported);
  CHECK(status_of(plain, Bytes(50, std::byte{0})) == DecodeStatus::kNotJpeg);
  CHECK(status_of(plain, {}) == DecodeStatus::kNotJpeg);
  const Bytes cut(photo.begin(), photo.end() - 40);
  CHECK(status_of(plain, cut) == DecodeStatus::kIncomplete);
  const Bytes header(photo.begin(), photo.begin() + 100);
  CHECK(status_of(plain, header) == DecodeStatus::kIncomplete);
}

TEST_CASE("an outline allocates nothing and leaves run() as it was") {
  SampleRunner runner(plan_of(kSource + kCrop + kOutput));
  const std::vector<Bytes> data = photos();
  Bytes first(20 * 24 * 3), again(20 * 24 * 3);
  REQUIRE(runner.run(data[0], {.seed = 3}, first.data()) == DecodeStatus::kOk);
  SampleOutline outline;
  const auto outline_all = [&] {
    for (std::uint64_t i = 0; i < 60; ++i) {
      REQUIRE(runner.outline(data[i % data.size()], {.seed = 1, .index = i}, &outline) ==
              DecodeStatus::kOk);
    }
  };
  outline_all();
  const std::int64_t before = dts::testing::num_allocations();
  outline_all();
  CHECK(dts::testing::num_allocations() == before);
  REQUIRE(runner.run(data[0], {.seed = 3}, again.data()) == DecodeStatus::kOk);
  CHECK(first == again);
}
