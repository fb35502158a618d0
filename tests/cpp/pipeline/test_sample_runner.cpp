// SPDX-License-Identifier: Apache-2.0
// What the runner makes of plans is compared with Pillow and torchvision in
// tests/_native/test_plan.py; here are its promises about memory, statuses and keys.
#include "pipeline/sample_runner.h"

#include "image/pictures.h"
#include "jpeg/edit.h"
#include "jpeg/encoder.h"
#include "pipeline/counted_allocations.h"
#include "support.h"

namespace {

using dts::Box;
using dts::ChoiceKey;
using dts::ConstImageView;
using dts::DecodeStatus;
using dts::SampleRunner;
using dts::ViewPlans;
using dts::testing::Bytes;
using dts::testing::Picture;

const std::string kColour = "source channels=3 max_pixels=0 pass_order=2\n";
const std::string kStandard =
    "source channels=3 max_pixels=178956970 pass_order=2\n"
    "resized_crop op=0 height=48 width=56 scale=0.08,1 ratio=0.75,1.3333333333333333 filter=2\n"
    "horizontal_flip op=1 p=0.5\n"
    "output height=48 width=56 channels=3 dtype=1 layout=0 scale=1 mean=0.485,0.456,0.406 "
    "std=0.229,0.224,0.225\n";

std::shared_ptr<const ViewPlans> plan_of(const std::string& text) {
  return std::make_shared<const ViewPlans>(dts::parse_view_plans(text));
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  text.replace(text.find(old), old.size(), by);
  return text;
}

std::vector<Bytes> photos() {
  std::vector<Bytes> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(dts::testing::encode({.name = "photo", .sampling = {{2, 2}, {1, 1}, {1, 1}}},
                                       90 + 20 * i, 150 - 10 * i, static_cast<unsigned>(i)));
  }
  return all;
}

std::vector<float> run(SampleRunner& runner, const Bytes& data, const ChoiceKey& key) {
  std::vector<float> out(3 * 48 * 56, -99.0f);
  REQUIRE(runner.run(data, key, out.data()) == DecodeStatus::kOk);
  return out;
}

}  // namespace

TEST_CASE("the standard plan is crop, resize, flip and normalize") {
  const auto plan = plan_of(kStandard);
  SampleRunner runner(plan);
  const dts::FusedNormalize normalize(plan->plans[0].tail);
  dts::Resampler resampler;
  int num_flipped = 0;
  for (const Bytes& data : photos()) {
    const dts::testing::Decoded whole = dts::testing::decode_whole(data);
    Picture picture(whole.height, whole.width, 3);
    picture.bytes = whole.pixels;
    for (std::uint64_t index = 0; index < 10; ++index) {
      ChoiceKey key = {.seed = 77, .epoch = 3, .index = index};
      const Box crop = dts::choose_resized_crop(key, whole.width, whole.height, 0.08, 1.0, 0.75,
                                                1.3333333333333333);
      const auto resize =
          resampler.plan(dts::Filter::kBilinear, crop.width, crop.height, 56, 48, {0, 0, 48, 56});
      const Picture source = dts::testing::cut(dts::testing::cut(picture, crop), resize.source_box);
      Picture resized(48, 56, 3);
      resampler.run(resize, source.view(), resized.view());
      ChoiceKey flip_key = key;
      flip_key.op = 1;
      const bool flip = dts::choose_gate(flip_key, 0.5);
      num_flipped += flip ? 1 : 0;
      std::vector<float> expected(3 * 48 * 56);
      normalize.run(resized.view(), flip, expected.data());
      CHECK(run(runner, data, key) == expected);
    }
  }
  CHECK(num_flipped > 10);
  CHECK(num_flipped < 50);
}

// A new crop, rotation and jitter for each image, so new sizes for every piece of memory.
TEST_CASE("nothing is allocated per sample, whatever the sizes") {
  const std::string crop_and_colours =
      kColour +
      "random_crop op=0 height=60 width=70 padding=4,4,4,4 fill=1,2,3 pad_if_needed=1\n"
      "vertical_flip op=1 p=0.5\n"
      "color_jitter op=2 brightness=0.6,1.4 contrast=0.6,1.4 saturation=0.6,1.4 hue=-0.1,0.1\n"
      "rotation op=3 degrees=-20,20 filter=2\n"
      "gaussian_blur op=4 kernel=5,5 sigma=0.1,2\n"
      "random_grayscale op=5 p=0.5\n"
      "resize height=48 width=56 filter=3\n"
      "output height=48 width=56 channels=3 dtype=1 layout=0 scale=1\n"
      "erasing op=6 p=0.5 scale=0.02,0.33 ratio=0.3,3.3 random=1\n";
  const std::string lanczos = replaced(kStandard, "filter=2", "filter=5");
  const std::string nearest = replaced(kStandard, "filter=2", "filter=0");
  std::vector<Bytes> data = photos();
  for (std::size_t i = 0; i < 6; ++i) {
    data.push_back(dts::testing::encode(
        {.name = "restarts", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .restart_interval = 2},
        static_cast<int>(96 + 16 * i), static_cast<int>(192 - 16 * i), static_cast<unsigned>(i)));
  }
  for (const std::string& text : {kStandard, lanczos, nearest, crop_and_colours}) {
    SampleRunner runner(plan_of(text));
    std::vector<float> out(3 * 48 * 56);
    const auto allocations_of = [&](std::uint64_t begin, std::uint64_t end) {
      const std::int64_t before = dts::testing::num_allocations();
      for (std::uint64_t i = begin; i < end; ++i) {
        const auto status = runner.run(data[i % data.size()], {.seed = 1, .index = i}, out.data());
        REQUIRE(status == DecodeStatus::kOk);
      }
      return dts::testing::num_allocations() - before;
    };
    CHECK(allocations_of(0, 1000) > 0);
    CHECK(allocations_of(1000, 4000) == 0);
    CHECK(runner.held_bytes() < std::size_t{2} << 20);
  }
}

// Large axes, and the rows between the passes, count like pixels.
TEST_CASE("what a very large image needed is given back") {
  const std::string text = replaced(kStandard, "scale=0.08,1", "scale=1,1");
  SampleRunner runner(plan_of(text));
  std::vector<float> out(3 * 48 * 56);
  const std::vector<Bytes> data = photos();
  const auto run_small = [&] {
    for (std::uint64_t i = 0; i < 60; ++i) {
      REQUIRE(runner.run(data[i % data.size()], {.index = i}, out.data()) == DecodeStatus::kOk);
    }
  };
  run_small();
  const std::size_t usual = runner.held_bytes();
  Picture large(3000, 4000, 3);
  REQUIRE(runner.run(large.view(), {}, out.data()) == DecodeStatus::kOk);
  CHECK(runner.held_bytes() > usual);
  runner.shrink(usual);
  CHECK(runner.held_bytes() == 0);
  run_small();
  CHECK(runner.held_bytes() == usual);
}

TEST_CASE("every part of the key decides, and nothing else does") {
  SampleRunner runner(plan_of(kStandard));
  SampleRunner other(plan_of(kStandard));
  const Bytes data = photos()[0];
  const ChoiceKey key = {.seed = 5, .epoch = 6, .index = 7, .view = 8, .occurrence = 9};
  const auto expected = run(runner, data, key);
  CHECK(run(other, photos()[1], key) != expected);
  CHECK(run(other, data, key) == expected);
  // The step's op is the plan's.
  ChoiceKey changed = key;
  changed.op = 99;
  CHECK(run(runner, data, changed) == expected);
  for (int part = 0; part < 5; ++part) {
    changed = key;
    changed.seed += part == 0 ? 1 : 0;
    changed.epoch += part == 1 ? 1 : 0;
    changed.index += part == 2 ? 1 : 0;
    changed.view += part == 3 ? 1 : 0;
    changed.occurrence += part == 4 ? 1 : 0;
    CHECK(run(runner, data, changed) != expected);
  }
}

TEST_CASE("gray pixels stay gray") {
  SampleRunner runner(
      plan_of("source channels=1 max_pixels=1 pass_order=2\n"
              "horizontal_flip op=0 p=1\n"
              "output height=28 width=28 channels=1 dtype=1 layout=0 scale=1 mean=0.5 std=0.25\n"));
  const Picture picture = dts::testing::pattern_picture(28, 28, 1);
  std::vector<float> out(28 * 28);
  // max_pixels is about encoded images.
  REQUIRE(runner.run(picture.view(), {}, out.data()) == DecodeStatus::kOk);
  for (std::int64_t i = 0; i < 28 * 28; ++i) {
    const auto value = static_cast<float>(*picture.at(i / 28, 27 - i % 28));
    REQUIRE(out[static_cast<std::size_t>(i)] == (value / 255.0f - 0.5f) / 0.25f);
  }
}

TEST_CASE("the order of the resampler's passes is the plan's") {
  const Picture picture = dts::testing::pattern_picture(120, 9, 3);
  std::vector<std::vector<std::uint8_t>> results;
  for (const int number : {0, 2}) {
    const auto plan =
        plan_of("source channels=3 max_pixels=0 pass_order=" + std::to_string(number) +
                "\nresize height=11 width=8 filter=3\n"
                "output height=11 width=8 channels=3 dtype=0 layout=1 scale=0\n");
    dts::Resampler resampler(dts::best_simd_level(), plan->plans[0].pass_order);
    Picture expected(11, 8, 3);
    const auto resize = resampler.plan(dts::Filter::kBicubic, 9, 120, 8, 11, {0, 0, 11, 8});
    const Picture source = dts::testing::cut(picture, resize.source_box);
    resampler.run(resize, source.view(), expected.view());
    std::vector<std::uint8_t> out(11 * 8 * 3);
    SampleRunner runner(plan);
    REQUIRE(runner.run(picture.view(), {}, out.data()) == DecodeStatus::kOk);
    CHECK(out == expected.bytes);
    results.push_back(out);
  }
  CHECK(results[0] != results[1]);
}

TEST_CASE("gray pixels are repeated where the plan takes colours") {
  const Picture gray = dts::testing::pattern_picture(8, 9, 1);
  std::vector<std::uint8_t> expected;
  for (std::int64_t y = 0; y < 8; ++y) {
    for (std::int64_t x = 0; x < 9; ++x) expected.insert(expected.end(), 3, *gray.at(y, x));
  }
  const std::string output = "output height=8 width=9 channels=3 dtype=0 layout=1 scale=0\n";
  SampleRunner runner(plan_of(kColour + output));
  std::vector<std::uint8_t> out(8 * 9 * 3);
  REQUIRE(runner.run(gray.view(), {}, out.data()) == DecodeStatus::kOk);
  CHECK(out == expected);
}

TEST_CASE("what a plan can't do to an image is said") {
  const auto refused = [](const std::string& steps, const Picture& picture) {
    const std::string output = "output height=8 width=9 channels=3 dtype=0 layout=0 scale=0\n";
    SampleRunner runner(plan_of(kColour + steps + output));
    std::vector<std::uint8_t> out(8 * 9 * 3);
    CHECK(runner.run(picture.view(), {}, out.data()) == DecodeStatus::kUnsupported);
    return runner.error();
  };
  const Picture picture = dts::testing::pattern_picture(8, 9, 3);
  CHECK(refused("", dts::testing::pattern_picture(8, 10, 3)) ==
        "the transform gives an image of 10 x 8 pixels, expected 9 x 8 like the others");
  CHECK(refused("random_crop op=0 height=9 width=9\n", picture) ==
        "a crop of 9 x 9 is larger than the image of 9 x 8 pixels");
  CHECK(refused("", dts::testing::pattern_picture(8, 9, 4)) ==
        "the image has 4 channels, expected 3");
  CHECK_FALSE(refused("gaussian_blur op=0 kernel=23,23 sigma=1,1\n", picture).empty());
}

TEST_CASE("statuses of bad samples, and good ones after them") {
  SampleRunner runner(plan_of(kStandard));
  const std::vector<Bytes> data = photos();
  const auto expected = run(runner, data[0], {});
  std::vector<float> out(3 * 48 * 56);
  CHECK(runner.run(dts::ConstByteSpan{}, {}, out.data()) == DecodeStatus::kNotJpeg);
  CHECK_FALSE(runner.error().empty());
  CHECK(runner.run(dts::ConstByteSpan(data[0]).first(400), {}, out.data()) ==
        DecodeStatus::kIncomplete);
  SampleRunner small(plan_of("source channels=3 max_pixels=10 pass_order=2\n" +
                             kStandard.substr(kStandard.find('\n') + 1)));
  CHECK(small.run(data[0], {}, out.data()) == DecodeStatus::kUnsupported);
  CHECK(run(runner, data[0], {}) == expected);
  CHECK(runner.error().empty());
}

TEST_CASE("damaged files end in a status, whatever the bytes") {
  SampleRunner runner(plan_of(kStandard));
  const Bytes whole = photos()[0];
  std::vector<float> out(3 * 48 * 56);
  dts::testing::Random random(8);
  for (int round = 0; round < 400; ++round) {
    Bytes data = whole;
    for (int k = 0; k < 3; ++k) {
      data[random() % data.size()] = static_cast<std::byte>(random() & 0xFF);
    }
    if (round % 4 == 0) data.resize(random() % data.size());
    runner.run(data, {.index = static_cast<std::uint64_t>(round)}, out.data());
  }
  run(runner, whole, {});
}

TEST_CASE("fast plans: nothing is allocated once sizes repeat, damage ends in a status") {
  std::string text = replaced(kStandard, "height=48 width=56", "height=24 width=28");
  text = replaced(text, "output height=48 width=56", "output height=24 width=28");
  SampleRunner runner(plan_of(replaced(text, "pass_order=2", "pass_order=2 decode=1")));
  SampleRunner exact(plan_of(text));
  const std::vector<Bytes> all = photos();
  std::vector<float> out(3 * 24 * 28), expected(out.size());
  const auto run_all = [&] {
    for (std::uint64_t index = 0; index < 60; ++index) {
      REQUIRE(runner.run(all[index % all.size()], {.seed = 5, .index = index}, out.data()) ==
              DecodeStatus::kOk);
    }
  };
  run_all();
  const auto before = dts::testing::num_allocations();
  run_all();
  CHECK(dts::testing::num_allocations() == before);
  int num_scaled = 0;
  for (std::uint64_t index = 0; index < 60; ++index) {
    const Bytes& data = all[index % all.size()];
    REQUIRE(runner.run(data, {.seed = 5, .index = index}, out.data()) == DecodeStatus::kOk);
    REQUIRE(exact.run(data, {.seed = 5, .index = index}, expected.data()) == DecodeStatus::kOk);
    num_scaled += out != expected ? 1 : 0;
  }
  CHECK(num_scaled > 20);
  CHECK(num_scaled < 60);  // small crops are not
  std::uint64_t state = 6;
  for (int round = 0; round < 600; ++round) {
    const Bytes bad =
        dts::testing::mutate(all[static_cast<std::size_t>(round) % all.size()], state);
    runner.run(bad, {.seed = 5, .index = static_cast<std::uint64_t>(round)}, out.data());
  }
  run_all();
}

TEST_CASE("memory is given back on request") {
  SampleRunner runner(plan_of(kStandard));
  const std::vector<Bytes> data = photos();
  const auto expected = run(runner, data[0], {});
  CHECK(runner.held_bytes() > 48 * 56 * 3);
  runner.shrink(0);
  CHECK(runner.held_bytes() == 0);
  CHECK(run(runner, data[0], {}) == expected);
}
