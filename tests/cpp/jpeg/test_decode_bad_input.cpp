// SPDX-License-Identifier: Apache-2.0
// Cut and changed files: never outside of memory, never a word on stderr, no memory
// kept, and the same verdict and pixels whichever box is asked for.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>

#include "image/scratch.h"
#include "jpeg/decode.h"
#include "jpeg/edit.h"
#include "jpeg/encoder.h"
#include "jpeg/image_box.h"
#include "jpeg/probe.h"

namespace dts::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// Tables of Huffman codes and a row of coefficients of our own decoder.
constexpr std::size_t kOwnDecoder = 300000;

// A copy of exactly this size, so that a sanitizer sees each read behind it.
Bytes prefix(const Bytes& data, std::size_t size) {
  return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)};
}

// One picture for each path through libjpeg.
std::vector<Bytes> pictures() {
  const Sampling half = {{2, 2}, {1, 1}, {1, 1}};
  std::vector<Bytes> list;
  list.push_back(encode({.name = "420", .sampling = half}, 97, 83));
  list.push_back(encode({.name = "restarts", .sampling = half, .restart_interval = 2}, 97, 83));
  list.push_back(encode({.name = "progressive", .sampling = half, .progressive = true}, 97, 83));
  list.push_back(encode({.name = "scan each", .one_scan_each = true}, 97, 83));
  list.push_back(encode({.name = "arithmetic", .arithmetic = true}, 97, 83));
  Kind cmyk{.name = "YCCK", .sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  cmyk.input = JCS_CMYK;
  cmyk.stored = JCS_YCCK;
  list.push_back(encode(cmyk, 97, 83));
  return list;
}

// The pixels of one box, "" when they were refused.
std::string pixels_of(JpegDecoder& decoder, const Box& box, DecodeStatus* status) {
  ConstImageView view;
  *status = decoder.decode(box, false, &view);
  if (*status != DecodeStatus::kOk) return "";
  std::string pixels;
  for (std::int64_t y = 0; y < box.height; ++y) {
    pixels.append(reinterpret_cast<const char*>(view.row(y)),
                  static_cast<std::size_t>(box.width * view.channels));
  }
  return pixels;
}

// Opens any bytes; what opens gives the same verdict for the whole and for a box, and the
// same pixels where both show them.
DecodeStatus check_any(JpegDecoder& decoder, const Bytes& data, std::uint64_t& state) {
  const DecodeStatus opened = decoder.open(data);
  CHECK((opened == DecodeStatus::kOk) == decoder.error().empty());
  if (opened != DecodeStatus::kOk) return opened;
  CHECK(is_complete_jpeg(data));
  const std::int64_t width = decoder.frame().width, height = decoder.frame().height;
  if (width * height > 1 << 20) return opened;  // the caller's limit, as Pillow's
  DecodeStatus whole_status, status;
  const std::string whole = pixels_of(decoder, {0, 0, height, width}, &whole_status);
  CHECK((whole_status == DecodeStatus::kOk) == decoder.error().empty());
  Box box;
  box.top = next_random(state, static_cast<unsigned>(height));
  box.left = next_random(state, static_cast<unsigned>(width));
  box.height = 1 + next_random(state, static_cast<unsigned>(height - box.top));
  box.width = 1 + next_random(state, static_cast<unsigned>(width - box.left));
  const std::string part = pixels_of(decoder, box, &status);
  CHECK(status == whole_status);
  if (status != DecodeStatus::kOk || status != whole_status) return status;
  std::string expected;
  for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
    expected += whole.substr(static_cast<std::size_t>((y * width + box.left) * 3),
                             static_cast<std::size_t>(box.width * 3));
  }
  CHECK((part == expected));
  ConstImageView small;
  const int halvings = 1 + static_cast<int>(next_random(state, 3));
  const std::int64_t bottom = scaled_side(box.top + box.height, halvings);
  const std::int64_t right = scaled_side(box.left + box.width, halvings);
  box.top >>= halvings;
  box.left >>= halvings;
  CHECK(decoder.decode_scaled({box.top, box.left, bottom - box.top, right - box.left}, halvings,
                              false, &small) == status);
  return status;
}

// Whatever the process writes to stderr between the two ends of its life.
class StderrWatch {
 public:
  StderrWatch() {
    REQUIRE(::pipe(pipe_) == 0);
    ::fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
    saved_ = ::dup(2);
    ::dup2(pipe_[1], 2);
  }
  ~StderrWatch() {
    ::dup2(saved_, 2);
    ::close(saved_);
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  std::string text() {
    std::fflush(stderr);
    char buffer[4096];
    const ssize_t got = ::read(pipe_[0], buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  }

 private:
  int pipe_[2], saved_;
};

}  // namespace

TEST_CASE("files cut at every 37th byte are incomplete") {
  JpegDecoder decoder;
  std::uint64_t state = 5;
  for (const Bytes& data : pictures()) {
    for (std::size_t size = 3; size < data.size(); size += 37) {
      CAPTURE(size);
      REQUIRE(check_any(decoder, prefix(data, size), state) == DecodeStatus::kIncomplete);
    }
    // Cut and closed again: a picture, or damaged where the header is cut.
    for (std::size_t size = 3; size < data.size(); size += 37) {
      Bytes closed = prefix(data, size);
      closed.push_back(std::byte{0xFF});
      closed.push_back(std::byte{0xD9});
      CAPTURE(size);
      check_any(decoder, closed, state);
    }
  }
}

TEST_CASE("changed files: one verdict for the whole and a box, and the same pixels") {
  JpegDecoder decoder;
  std::uint64_t state = 11;
  int num_pictures = 0, num_refused = 0;
  std::vector<Bytes> list = pictures();
  for (const auto& image : odd_images()) {
    if (image.is_jpeg() && image.data.size() < 8000) list.push_back(image.data);
  }
  for (const Bytes& data : list) {
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      const Bytes changed = mutate(data, state);
      (check_any(decoder, changed, state) == DecodeStatus::kOk ? num_pictures : num_refused) += 1;
    }
  }
  CHECK(num_pictures > 500);
  CHECK(num_refused > 500);
}

TEST_CASE("10 000 bad files leave memory as it was, and nothing on stderr") {
  StderrWatch watch;
  JpegDecoder decoder;
  std::uint64_t state = 3;
  const std::vector<Bytes> list = pictures();
  std::size_t used = 0, largest = 0;
  for (const Bytes& data : list) largest = std::max(largest, data.size());
  const int num_rounds = kIsSanitized ? 3000 : 12000;
  const int warm_up = num_rounds / 6;
  for (int round = 0; round < num_rounds; ++round) {
    const Bytes& data = list[static_cast<std::size_t>(round) % list.size()];
    const Bytes bad =
        round % 3 == 0 ? prefix(data, next_random(state, data.size())) : mutate(data, state);
    ConstImageView view;
    if (decoder.open(bad) == DecodeStatus::kOk && decoder.frame().width == 97 &&
        decoder.frame().height == 83) {
      decoder.decode({10, 20, 60, 70}, false, &view);
    }
    if (round == warm_up) used = ::mallinfo2().uordblks;
  }
  // The box's pixels, a few rows of CMYK, and for splicing at most a header, the places of
  // restart markers and a part.
  CHECK(decoder.held_bytes() < 70 * 97 * 3 + 8 * 97 * 4 + 6 * largest + kOwnDecoder);
  // What one open picture holds inside of libjpeg may be there or not.
  if (!kIsSanitized) CHECK(::mallinfo2().uordblks < used + 100000);
  CHECK(watch.text() == "");
}

TEST_CASE("memory for a large picture is given back when asked") {
  JpegDecoder decoder;
  const Bytes large = encode({}, 1200, 900);
  ConstImageView view;
  CHECK(decoder.held_bytes() == 0);
  REQUIRE(decoder.open(large) == DecodeStatus::kOk);
  REQUIRE(decoder.decode({0, 0, 900, 1200}, false, &view) == DecodeStatus::kOk);
  const std::size_t held = decoder.held_bytes();
  CHECK(held >= 900u * 1200 * 3);
  CHECK(held < with_room(900u * 1200 * 3) + 100000 + kOwnDecoder);
  decoder.shrink(held);
  CHECK(decoder.held_bytes() == held);
  decoder.shrink(held - 1);
  CHECK(decoder.held_bytes() == 0);
  REQUIRE(decoder.decode({0, 0, 10, 10}, false, &view) == DecodeStatus::kOk);
  CHECK(decoder.held_bytes() < 10000);
}

}  // namespace dts::testing
