// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pixel_source.h"

#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_message;
using testing::noise;

TEST_CASE("pixel source: images are used in place, by an owner that stays") {
  auto pixels = std::make_shared<Bytes>(noise(3 * 2 * 5 * 3, 1));
  const std::weak_ptr<Bytes> watched = pixels;
  const Bytes expected = *pixels;
  const ConstByteSpan span(*pixels);
  const std::byte* const at = span.data();
  {
    const PixelSource source(span, 2, 5, 3, {4, -1, 6}, std::move(pixels));
    CHECK_FALSE(watched.expired());
    CHECK(source.num_samples() == 3);
    CHECK(source.label(1) == -1);
    CHECK(source.choice_index(2) == 2);
    CHECK(source.position(2) == 2);
    const auto reader = source.open_reader();
    ReadMemory memory;
    const std::int64_t samples[] = {2, 0, 2};
    std::vector<SampleView> views(3);
    source.read_samples(samples, memory, views, *reader);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(views[i].bytes.data() == at + 30 * samples[i]);
      CHECK(views[i].bytes.size() == 30);
      CHECK(views[i].height == 2);
      CHECK(views[i].width == 5);
      CHECK(views[i].channels == 3);
      CHECK_FALSE(views[i].is_missing);
    }
    CHECK(std::equal(views[0].bytes.begin(), views[0].bytes.end(), expected.begin() + 60));
    CHECK(memory.held_bytes() == 0);
    CHECK(reader->bytes_read == 0);
    CHECK(source.kept().held_bytes == 90);
    CHECK(source.kept().is_complete);
    CHECK_FALSE(source.kept().is_shared);
  }
  CHECK(watched.expired());
}

TEST_CASE("pixel source: sizes that do not fit") {
  const Bytes pixels(90);
  check_message<InvalidArgument>(
      [&] { PixelSource(pixels, 2, 5, 3, {1, 2}, nullptr); },
      "90 bytes of pixels, expected 2 images (one per label) of 30 bytes");
  check_message<InvalidArgument>(
      [&] { PixelSource(pixels, 2, 5, 4, {1, 2}, nullptr); },
      "90 bytes of pixels, expected 2 images (one per label) of 40 bytes");
  check_message<InvalidArgument>([&] { PixelSource(pixels, 2, 0, 3, {}, nullptr); },
                                 "images of 2 x 0 x 3 (height, width, channels), expected 1 to "
                                 "65535 each");
  CHECK(PixelSource({}, 2, 5, 3, {}, nullptr).num_samples() == 0);
}

TEST_CASE("pixel source: samples out of range") {
  const Bytes pixels(10);
  const PixelSource source(pixels, 5, 1, 1, {1, 2}, nullptr);
  const std::string problem = "sample 2 is out of range, the source has 2";
  check_message<OutOfRange>([&] { source.label(2); }, problem);
  check_message<OutOfRange>([&] { source.choice_index(2); }, problem);
  const std::int64_t samples[] = {2};
  SampleView view;
  ReadMemory memory;
  const auto reader = source.open_reader();
  check_message<OutOfRange>([&] { source.read_samples(samples, memory, {&view, 1}, *reader); },
                            problem);
}

}  // namespace
}  // namespace dts
