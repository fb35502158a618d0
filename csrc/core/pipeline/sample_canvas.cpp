// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_canvas.h"

#include <algorithm>
#include <cstring>

#include "image/flip.h"
#include "jpeg/image_box.h"
#include "pipeline/scaled_source.h"

namespace dts {
namespace {

// An image that is larger is Pillow's to refuse or to hold.
constexpr std::int64_t kMaxImageBytes = std::int64_t{1} << 31;
// The resampler's limit, which also keeps products of sides far from overflow.
constexpr std::int64_t kMaxSide = std::int64_t{1} << 24;

std::string size_text(const ImageSize& size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

bool is_holdable(const ImageSize& size) {
  return size.height >= 1 && size.width >= 1 && size.height <= kMaxSide && size.width <= kMaxSide;
}

ConstImageView part_of(const ConstImageView& image, const Box& box) {
  return {image.row(box.top) + box.left * image.channels, box.height, box.width, image.channels,
          image.stride};
}

bool has_pixels(const Box& box) { return box.height > 0 && box.width > 0; }

// The smallest box that holds both.
Box around(const Box& one, const Box& other) {
  const std::int64_t top = std::min(one.top, other.top);
  const std::int64_t left = std::min(one.left, other.left);
  return {top, left, std::max(one.top + one.height, other.top + other.height) - top,
          std::max(one.left + one.width, other.left + other.width) - left};
}

}  // namespace

SampleCanvas::SampleCanvas(PassOrder pass_order, bool is_fast)
    : is_fast_(is_fast), resampler_(best_simd_level(), pass_order) {}

DecodeStatus SampleCanvas::refuse(const std::string& reason) {
  error_ = reason;
  return DecodeStatus::kUnsupported;
}

DecodeStatus SampleCanvas::open(ConstByteSpan encoded, std::int64_t max_pixels, bool keep_gray) {
  error_.clear();
  opened_ = decoded_ = {};
  surveyed_ = {};
  surveyed_boxes_.clear();
  surveyed_halvings_ = kMaxHalvings;
  was_encoded_ = true;
  const DecodeStatus status = decoder_.open(encoded);
  if (status != DecodeStatus::kOk) {
    error_ = decoder_.error();
    return status;
  }
  const JpegFrame& frame = decoder_.frame();
  opened_channels_ = keep_gray && frame.is_gray ? 1 : 3;
  opened_size_ = {frame.height, frame.width};
  rewind();
  if (max_pixels > 0 && frame.width * frame.height > max_pixels) {
    return refuse("the image has " + size_text({frame.height, frame.width}) +
                  " pixels, more than the limit of " + std::to_string(max_pixels));
  }
  return DecodeStatus::kOk;
}

DecodeStatus SampleCanvas::open(const ConstImageView& pixels, std::int64_t channels) {
  error_.clear();
  opened_ = pixels;
  decoded_ = {};
  opened_channels_ = channels;
  opened_size_ = {pixels.height, pixels.width};
  was_encoded_ = false;
  rewind();
  if (!is_holdable(size())) return refuse("the image has " + size_text(size()) + " pixels");
  return DecodeStatus::kOk;
}

void SampleCanvas::rewind() {
  pixels_ = opened_;
  slot_ = -1;
  channels_ = opened_channels_;
  is_encoded_ = was_encoded_;
  geometry_ = FusedGeometry(opened_size_);
  is_surveying_ = has_surveyed_ = false;
}

void SampleCanvas::survey() {
  rewind();
  is_surveying_ = true;
}

DecodeStatus SampleCanvas::decode_surveyed() {
  // Fast pixels depend on the scale that all of them allow, so that is the same on every machine.
  if (!is_fast_ && decoder_.is_quicker_alone(surveyed_boxes_, surveyed_)) return DecodeStatus::kOk;
  const bool as_gray = opened_channels_ == 1;
  decoded_box_ = surveyed_halvings_ == 0
                     ? surveyed_
                     : scaled_around(surveyed_, opened_size_, surveyed_halvings_);
  const DecodeStatus status =
      decoder_.decode_scaled(decoded_box_, surveyed_halvings_, as_gray, &decoded_);
  if (status == DecodeStatus::kOk) return status;
  error_ = decoder_.error();
  decoded_ = {};
  return status;
}

DecodeStatus SampleCanvas::resize(const ImageSize& size, Filter filter) {
  if (!is_holdable(size)) {
    return refuse("an image of " + size_text(this->size()) + " would be resized to " +
                  size_text(size) + " pixels");
  }
  if (!geometry_.can_resize()) {
    const DecodeStatus status = fetch();
    if (status != DecodeStatus::kOk) return status;
  }
  geometry_.resize(size, filter);
  return DecodeStatus::kOk;
}

// Padding and flipping can be done in either order, with the sides exchanged.
DecodeStatus SampleCanvas::pad(std::array<std::int64_t, 4> padding, PadMode mode,
                               std::span<const std::uint8_t> fill) {
  const DecodeStatus status = fetch();
  if (status != DecodeStatus::kOk) return status;
  const Flips flips = geometry_.flips_after();
  if (flips.horizontal) std::swap(padding[0], padding[2]);
  if (flips.vertical) std::swap(padding[1], padding[3]);
  const ConstImageView from = pixels_;
  ImageView to;
  const DecodeStatus taken = take(from.height + padding[1] + padding[3],
                                  from.width + padding[0] + padding[2], from.channels, &to);
  if (taken != DecodeStatus::kOk) return taken;
  pad_image(from, padding, mode, fill, to);
  hold(to, flips);
  return DecodeStatus::kOk;
}

DecodeStatus SampleCanvas::edit(ImageView* pixels) {
  DecodeStatus status = fetch();
  if (status != DecodeStatus::kOk) return status;
  if (slot_ < 0) status = own(pixels_);
  if (status == DecodeStatus::kOk) *pixels = owned();
  return status;
}

DecodeStatus SampleCanvas::edit_upright(ImageView* pixels) {
  const DecodeStatus status = edit(pixels);
  if (status != DecodeStatus::kOk) return status;
  apply(geometry_.flips_after());
  hold(owned(), {});
  return status;
}

DecodeStatus SampleCanvas::replace(std::int64_t channels, ConstImageView* pixels, ImageView* next) {
  const DecodeStatus status = fetch();
  if (status != DecodeStatus::kOk) return status;
  *pixels = pixels_;
  const DecodeStatus taken = take(pixels->height, pixels->width, channels, next);
  if (taken == DecodeStatus::kOk) hold(*next, geometry_.flips_after());
  return taken;
}

DecodeStatus SampleCanvas::finish(ConstImageView* pixels, bool* flip) {
  const DecodeStatus status = fetch();
  if (status != DecodeStatus::kOk) return status;
  *pixels = pixels_;
  *flip = geometry_.flips_after().horizontal;
  if (geometry_.flips_after().vertical) {
    pixels->data = pixels_.row(pixels_.height - 1);
    pixels->stride = -pixels_.stride;
  }
  return status;
}

// Does what was collected, but the flips at its end.
DecodeStatus SampleCanvas::fetch() {
  const bool has_pixels = !is_encoded_ && pixels_.channels == channels_;
  if (has_pixels && geometry_.is_whole()) return DecodeStatus::kOk;
  ConstImageView part;
  if (!geometry_.has_resize()) {
    const DecodeStatus status = read(geometry_.box(), &part);
    if (status != DecodeStatus::kOk) return status;
    pixels_ = part;
    geometry_ = FusedGeometry({part.height, part.width}, geometry_.flips_after());
    return status;
  }
  return fetch_resized();
}

// How often the picture is halved before it is resized.
int SampleCanvas::halvings() const {
  if (!is_fast_ || !is_encoded_ || is_surveying_) return 0;
  return decoded_.data != nullptr ? surveyed_halvings_ : possible_halvings(geometry_);
}

DecodeStatus SampleCanvas::fetch_resized() {
  const Box& window = geometry_.window();
  const ImageSize& resized = geometry_.resized();
  const int halvings = this->halvings();
  ScaledSource source = {geometry_.box(), {}};
  if (halvings > 0) source = scaled_source(geometry_, halvings);
  const ResamplePlan plan = resampler_.plan(geometry_.filter(), source.box.width, source.box.height,
                                            resized.width, resized.height, window, source.part);
  ConstImageView part;
  const Box inner =
      mirrored(plan.source_box, {source.box.height, source.box.width}, geometry_.flips_before());
  DecodeStatus status = read_scaled(
      {source.box.top + inner.top, source.box.left + inner.left, inner.height, inner.width},
      halvings, &part);
  if (status != DecodeStatus::kOk) return status;
  if (geometry_.flips_before().any()) {
    status = own(part);
    if (status != DecodeStatus::kOk) return status;
    apply(geometry_.flips_before());
    part = pixels_;
  }
  ImageView out;
  status = take(window.height, window.width, part.channels, &out);
  if (status != DecodeStatus::kOk) return status;
  resampler_.run(plan, part, out);
  hold(out, geometry_.flips_after());
  return status;
}

void SampleCanvas::survey(const Box& box) {
  surveyed_ = has_pixels(surveyed_) ? around(surveyed_, box) : box;
  surveyed_boxes_.push_back(box);
  const int halvings = is_fast_ ? possible_halvings(geometry_) : 0;
  surveyed_halvings_ = std::min(surveyed_halvings_, halvings);
  has_surveyed_ = true;
}

// A box of the source.
DecodeStatus SampleCanvas::read(const Box& box, ConstImageView* part) {
  return read_scaled(box, 0, part);
}

// A box of the source at 1 / 2^halvings of its size.
DecodeStatus SampleCanvas::read_scaled(const Box& box, int halvings, ConstImageView* part) {
  if (!is_encoded_) {
    *part = part_of(pixels_, box);
    return part->channels == channels_ ? DecodeStatus::kOk : repeat_gray(part);
  }
  if (is_surveying_) {
    survey(box);
    return DecodeStatus::kUnsupported;
  }
  if (decoded_.data != nullptr) {
    const Box inner = {box.top - decoded_box_.top, box.left - decoded_box_.left, box.height,
                       box.width};
    *part = part_of(decoded_, inner);
    is_encoded_ = false;
    return DecodeStatus::kOk;
  }
  const DecodeStatus status = decoder_.decode_scaled(box, halvings, channels_ == 1, part);
  if (status != DecodeStatus::kOk) error_ = decoder_.error();
  is_encoded_ = false;
  return status;
}

// One channel to three equal ones, in the canvas's own memory.
DecodeStatus SampleCanvas::repeat_gray(ConstImageView* part) {
  const ConstImageView gray = *part;
  ImageView color;
  const DecodeStatus status = take(gray.height, gray.width, channels_, &color);
  if (status != DecodeStatus::kOk) return status;
  for (std::int64_t y = 0; y < gray.height; ++y) {
    const std::uint8_t* from = gray.row(y);
    std::uint8_t* to = color.row(y);
    for (std::int64_t x = 0; x < gray.width; ++x, to += 3) to[0] = to[1] = to[2] = from[x];
  }
  *part = color;
  return status;
}

// Copies pixels into the canvas's own memory.
DecodeStatus SampleCanvas::own(const ConstImageView& pixels) {
  ImageView copy;
  const DecodeStatus status = take(pixels.height, pixels.width, pixels.channels, &copy);
  if (status != DecodeStatus::kOk) return status;
  const auto row_bytes = static_cast<std::size_t>(pixels.width * pixels.channels);
  for (std::int64_t y = 0; y < pixels.height; ++y) {
    std::memcpy(copy.row(y), pixels.row(y), row_bytes);
  }
  pixels_ = copy;
  return status;
}

// The other piece of memory becomes the present one; what pixels_ refers to stays.
DecodeStatus SampleCanvas::take(std::int64_t height, std::int64_t width, std::int64_t channels,
                                ImageView* next) {
  const ImageSize size = {height, width};
  if (!is_holdable(size) || height * width * channels > kMaxImageBytes) {
    return refuse("an operation gives an image of " + size_text(size) + " pixels");
  }
  slot_ = slot_ == 0 ? 1 : 0;
  Scratch& memory = memory_[static_cast<std::size_t>(slot_)];
  *next = {memory.get(static_cast<std::size_t>(height * width * channels)), height, width, channels,
           width * channels};
  return DecodeStatus::kOk;
}

// Only where slot_ >= 0: then pixels_ lies in memory of our own.
ImageView SampleCanvas::owned() const {
  return {const_cast<std::uint8_t*>(pixels_.data), pixels_.height, pixels_.width, pixels_.channels,
          pixels_.stride};
}

void SampleCanvas::apply(const Flips& flips) {
  if (flips.horizontal) dts::flip_horizontal(owned());
  if (flips.vertical) dts::flip_vertical(owned());
}

void SampleCanvas::hold(const ImageView& pixels, const Flips& open_flips) {
  pixels_ = pixels;
  channels_ = pixels.channels;
  geometry_ = FusedGeometry({pixels.height, pixels.width}, open_flips);
}

std::size_t SampleCanvas::held_bytes() const {
  return decoder_.held_bytes() + resampler_.held_bytes() + memory_[0].bytes() + memory_[1].bytes() +
         spare_.bytes();
}

void SampleCanvas::shrink(std::size_t keep_bytes) {
  if (held_bytes() <= keep_bytes) return;
  for (Scratch& memory : memory_) memory.release();
  spare_.release();
  resampler_.release();
  decoder_.shrink(0);
}

}  // namespace dts
