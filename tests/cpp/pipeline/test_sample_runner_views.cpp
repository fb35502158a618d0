// SPDX-License-Identifier: Apache-2.0
// Several views of one decoding: each equals, byte for byte, what a runner of its own makes
// with the view's number.
#include <string>

#include "image/pictures.h"
#include "jpeg/encoder.h"
#include "pipeline/counted_allocations.h"
#include "pipeline/sample_runner.h"
#include "support.h"

namespace {

using dts::ChoiceKey;
using dts::ConstImageView;
using dts::DecodeStatus;
using dts::SampleRunner;
using dts::ViewPlans;
using dts::testing::Bytes;
using dts::testing::Picture;

const std::string kSource = "source channels=3 max_pixels=0 pass_order=2\n";
// Crops of two sizes, gray and colour, other dtypes, an edit of pixels, a crop beyond the image.
const std::vector<std::string> kViews = {
    kSource +
        "resized_crop op=0 height=32 width=40 scale=0.08,1 ratio=0.75,1.33 filter=2\n"
        "horizontal_flip op=1 p=0.5\n"
        "color_jitter op=2 brightness=0.6,1.4 saturation=0.6,1.4\n"
        "output height=32 width=40 channels=3 dtype=1 layout=0 scale=1 mean=0.5 std=0.2\n"
        "erasing op=3 p=0.5 scale=0.02,0.33 ratio=0.3,3.3 value=0\n",
    kSource +
        "resized_crop op=0 height=15 width=9 scale=0.05,0.3 ratio=0.75,1.33 filter=3\n"
        "grayscale channels=1\n"
        "output height=15 width=9 channels=1 dtype=0 layout=0 scale=0\n",
    kSource +
        "random_crop op=0 height=50 width=60 padding=9,9,9,9 pad_if_needed=1\n"
        "vertical_flip op=1 p=0.5\n"
        "gaussian_blur op=2 kernel=5,5 sigma=0.1,2\n"
        "output height=50 width=60 channels=3 dtype=2 layout=1 scale=1\n",
    kSource +
        "center_crop height=3 width=7\n"
        "output height=3 width=7 channels=3 dtype=0 layout=0 scale=0\n",
};

std::shared_ptr<const ViewPlans> views_of(const std::vector<std::string>& plans) {
  std::string text;
  for (const std::string& plan : plans) text += (text.empty() ? "" : "view\n") + plan;
  return std::make_shared<const ViewPlans>(dts::parse_view_plans(text));
}

std::vector<Bytes> images_of(const ViewPlans& views) {
  std::vector<Bytes> images;
  for (const auto& plan : views.plans) {
    images.emplace_back(static_cast<std::size_t>(plan.image_bytes()), std::byte{0x5A});
  }
  return images;
}

std::vector<void*> places_of(std::vector<Bytes>& images) {
  std::vector<void*> places;
  for (Bytes& image : images) places.push_back(image.data());
  return places;
}

template <class Source>
void check_views(SampleRunner& together, const std::vector<std::string>& plans,
                 const Source& source, const ChoiceKey& key) {
  std::vector<Bytes> images = images_of(*views_of(plans));
  REQUIRE(together.run(source, key, places_of(images)) == DecodeStatus::kOk);
  for (std::size_t view = 0; view < plans.size(); ++view) {
    CAPTURE(view);
    SampleRunner alone(views_of({plans[view]}));
    Bytes expected(images[view].size());
    ChoiceKey own = key;
    own.view += static_cast<std::uint32_t>(view);
    REQUIRE(alone.run(source, own, expected.data()) == DecodeStatus::kOk);
    CHECK(images[view] == expected);
  }
}

std::vector<Bytes> files() {
  const dts::testing::Sampling halved = {{2, 2}, {1, 1}, {1, 1}};
  return {
      dts::testing::encode({.name = "plain", .sampling = halved}, 190, 150, 1),
      dts::testing::encode({.name = "restart", .sampling = halved, .restart_interval = 2}, 320, 240,
                           2),
      dts::testing::encode({.name = "progressive", .sampling = halved, .progressive = true}, 120,
                           140, 3),
      dts::testing::encode(
          {.name = "gray", .sampling = {{1, 1}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE},
          90, 80, 4),
  };
}

}  // namespace

TEST_CASE("views of a JPEG equal those of decodes of their own") {
  SampleRunner together(views_of(kViews));
  for (const Bytes& data : files()) {
    for (std::uint64_t index = 0; index < 8; ++index) {
      check_views(together, kViews, dts::ConstByteSpan(data),
                  {.seed = 3, .epoch = 2, .index = index, .view = 4, .occurrence = 1});
    }
  }
}

TEST_CASE("small views far apart in a file with restart markers, and all views gray") {
  const std::string small =
      kSource +
      "resized_crop op=0 height=8 width=8 scale=0.01,0.02 ratio=1,1 filter=2\n"
      "output height=8 width=8 channels=3 dtype=0 layout=0 scale=0\n";
  const std::string gray = kSource +
                           "resized_crop op=0 height=8 width=8 scale=0.1,0.5 ratio=1,1 filter=2\n"
                           "grayscale channels=3\n"
                           "output height=8 width=8 channels=3 dtype=0 layout=0 scale=0\n";
  for (const auto& plans : {std::vector<std::string>{small, small}, {gray, gray, gray}}) {
    SampleRunner together(views_of(plans));
    for (const Bytes& data : files()) {
      for (std::uint64_t index = 0; index < 12; ++index) {
        check_views(together, plans, dts::ConstByteSpan(data), {.seed = 8, .index = index});
      }
    }
  }
}

TEST_CASE("views of pixels equal those of runs of their own") {
  const Picture colour = dts::testing::pattern_picture(70, 80, 3);
  const Picture gray = dts::testing::pattern_picture(70, 80, 1);
  SampleRunner together(views_of(kViews));
  for (std::uint64_t index = 0; index < 10; ++index) {
    check_views(together, kViews, colour.view(), {.seed = 1, .index = index});
    check_views(together, kViews, gray.view(), {.seed = 1, .index = index});
  }
}

TEST_CASE("one view that can't be made makes the sample one for Python, and the next is good") {
  const std::string large = kSource + "random_crop op=0 height=300 width=300\n" +
                            "output height=300 width=300 channels=3 dtype=0 layout=0 scale=0\n";
  const std::string sized =
      kSource + "output height=7 width=7 channels=3 dtype=0 layout=0 scale=0\n";
  const Bytes data = files()[0];
  for (const std::string& bad : {large, sized}) {
    const auto views = views_of({kViews[0], bad});
    SampleRunner runner(views);
    std::vector<Bytes> images = images_of(*views);
    CHECK(runner.run(data, {}, places_of(images)) == DecodeStatus::kUnsupported);
    CHECK_FALSE(runner.error().empty());
    CHECK(runner.run(dts::ConstByteSpan(data).first(99), {}, places_of(images)) !=
          DecodeStatus::kOk);
  }
  SampleRunner runner(views_of(kViews));
  std::vector<Bytes> images = images_of(*views_of(kViews));
  CHECK(runner.run(dts::ConstByteSpan(data).first(data.size() / 2), {}, places_of(images)) ==
        DecodeStatus::kIncomplete);
  check_views(runner, kViews, dts::ConstByteSpan(data), {.index = 1});
  dts::testing::check_message<dts::InvalidArgument>(
      [&] { runner.run(data, {}, images[0].data()); },
      "there are 1 places for 4 views, expected as many");
}

TEST_CASE("damaged files end in a status, whatever the bytes and the views") {
  const auto views = views_of(kViews);
  SampleRunner runner(views);
  std::vector<Bytes> images = images_of(*views);
  dts::testing::Random random(5);
  for (const Bytes& whole : files()) {
    for (int round = 0; round < 60; ++round) {
      Bytes data = whole;
      for (int k = 0; k < 3; ++k) {
        data[random() % data.size()] = static_cast<std::byte>(random() & 0xFF);
      }
      runner.run(data, {.index = static_cast<std::uint64_t>(round)}, places_of(images));
    }
  }
  check_views(runner, kViews, dts::ConstByteSpan(files()[1]), {.index = 1});
}

TEST_CASE("nothing is allocated for views once sizes repeat") {
  const auto views = views_of(kViews);
  SampleRunner runner(views);
  std::vector<Bytes> images = images_of(*views);
  const std::vector<void*> places = places_of(images);
  const std::vector<Bytes> data = files();
  std::int64_t before = 0;
  for (int round = 0; round < 3; ++round) {
    before = dts::testing::num_allocations();
    for (std::uint64_t i = 0; i < 2 * data.size(); ++i) {
      REQUIRE(runner.run(data[i % data.size()], {.seed = 1, .index = i}, places) ==
              DecodeStatus::kOk);
    }
  }
  CHECK(dts::testing::num_allocations() - before == 0);
}
