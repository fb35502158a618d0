// SPDX-License-Identifier: Apache-2.0
#include "jpeg/decode.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "base/error.h"
#include "image/scratch.h"
#include "image/simd.h"
#include "jpeg/cmyk.h"
#include "jpeg/codec_info.h"
#include "jpeg/crop_decoder.h"
#include "jpeg/decode_cost.h"
#include "jpeg/image_box.h"
#include "jpeg/layout.h"
#include "jpeg/libjpeg_session.h"
#include "jpeg/probe.h"
#include "jpeg/restart_scan.h"
#include "jpeg/splice.h"

// After jpeglib.h.
#include <jerror.h>

namespace dts {
namespace {

// Columns decoded beyond the box on each side: the chroma upsampling of a pixel looks
// one chroma sample further, and treats the first and last column its own way.
constexpr std::int64_t kMargin = 2;
// libjpeg upsamples very narrow pictures by another rule, and takes a narrow crop for one.
constexpr std::int64_t kMinCropWidth = 32;
constexpr int kRowsPerCall = 8;
constexpr std::int64_t kCmykChannels = 4;

// Baseline, extended and progressive, with Huffman or arithmetic coding.
bool is_supported_process(std::uint8_t sof) {
  return sof == 0xC0 || sof == 0xC1 || sof == 0xC2 || sof == 0xC9 || sof == 0xCA;
}

bool is_jpeg_start(ConstByteSpan data) {
  return data.size() >= 3 && data[0] == std::byte{0xFF} && data[1] == std::byte{0xD8} &&
         data[2] == std::byte{0xFF};
}

// Why Pillow must be asked about a picture with this header; "" when it need not.
std::string unsupported_feature(const JpegInfo& info) {
  if (info.precision != 8) return std::to_string(info.precision) + " bits a sample, not 8";
  if (!is_supported_process(info.sof)) {
    return "coding process SOF" + std::to_string(info.sof - 0xC0) + " is not decoded here";
  }
  if (info.width == 0 || info.height == 0) {
    return "the header gives a size of " + std::to_string(info.width) + " x " +
           std::to_string(info.height);
  }
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4) {
    return std::to_string(info.num_components) + " components, not 1, 3 or 4";
  }
  return "";
}

// Reads `num_rows` scanlines to memory `stride` bytes apart. C only: runs under guarded().
void read_rows(jpeg_decompress_struct& codec, std::uint8_t* first, std::int64_t stride,
               std::int64_t num_rows) {
  JSAMPROW pointers[kRowsPerCall];
  for (std::int64_t y = 0; y < num_rows;) {
    const int wanted = static_cast<int>(std::min<std::int64_t>(kRowsPerCall, num_rows - y));
    for (int i = 0; i < wanted; ++i) pointers[i] = first + (y + i) * stride;
    y += jpeg_read_scanlines(&codec, pointers, static_cast<JDIMENSION>(wanted));
  }
}

// The columns libjpeg is asked for.
struct Columns {
  JDIMENSION left;
  JDIMENSION width;
};

Columns columns_around(const Box& box, std::int64_t image_width) {
  std::int64_t left = std::max<std::int64_t>(box.left - kMargin, 0);
  std::int64_t right = std::min(box.left + box.width + kMargin, image_width);
  if (right - left < kMinCropWidth) {
    left = std::max<std::int64_t>(right - kMinCropWidth, 0);
    right = std::min(left + kMinCropWidth, image_width);
  }
  return {static_cast<JDIMENSION>(left), static_cast<JDIMENSION>(right - left)};
}

bool is_own_first(JpegReader reader) {
  static const bool has_kernels = best_simd_level() != SimdLevel::kGeneric;
  return reader == JpegReader::kOwn || (reader == JpegReader::kAuto && has_kernels);
}

// Pixels of the same box.
bool are_equal(const ConstImageView& a, const ConstImageView& b) {
  if (a.channels != b.channels) return false;
  for (std::int64_t y = 0; y < a.height; ++y) {
    if (std::memcmp(a.row(y), b.row(y), static_cast<std::size_t>(a.width * a.channels)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct JpegDecoder::State {
  CropDecoder own;
  LibjpegSession session;
  Splicer splicer;
  ConstByteSpan data;
  JpegFrame frame;
  std::string error;
  bool is_open = false;
  bool is_at_header = false;
  // The splicer has not seen the data yet.
  bool may_splice = false;
  JpegReader reader = JpegReader::kAuto;
  Splicing splicing = Splicing::kWhenFaster;
  bool is_checking = false;
  DecodePath path = DecodePath::kLibjpeg;
  Scratch pixels;
  Scratch cmyk_rows;

  DecodeStatus refuse(DecodeStatus status, const std::string& reason) {
    error = reason;
    return status;
  }
  DecodeStatus give_up();
  DecodeStatus open(ConstByteSpan bytes);
  DecodeStatus check_layout();
  void set_frame(std::int64_t width, std::int64_t height, int num_components);
  DecodeStatus decode(const Box& box, int halvings, bool is_gray_out, ConstImageView* view);
  void check_own(const Box& box, bool is_gray_out, const ConstImageView& found);
  DecodeStatus decode_with_libjpeg(const Box& box, int halvings, bool is_gray_out,
                                   ConstImageView* view);
  DecodeStatus decode_from_header(const Box& box, int halvings, bool is_gray_out,
                                  ConstImageView* view);
  bool start(bool is_gray_out, int halvings);
  bool crop(const Box& box, Columns* columns);
  bool read_box(const Box& box, const Columns& columns, ConstImageView* view);
  bool read_cmyk_box(const Box& box, const Columns& columns, ConstImageView* view);
};

// libjpeg's error exit was taken.
DecodeStatus JpegDecoder::State::give_up() {
  const int code = session.error_code();
  error = session.message();
  session.close();
  is_at_header = false;
  if (code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code == JERR_ARITH_NOTIMPL || code == JERR_NOT_COMPILED) return DecodeStatus::kUnsupported;
  return DecodeStatus::kDamaged;
}

void JpegDecoder::State::set_frame(std::int64_t width, std::int64_t height, int num_components) {
  frame.width = width;
  frame.height = height;
  frame.num_components = num_components;
  frame.is_gray = num_components == 1;
  frame.is_cmyk = num_components == kCmykChannels;
  is_open = true;
}

DecodeStatus JpegDecoder::State::open(ConstByteSpan bytes) {
  error.clear();
  frame = {};
  data = bytes;
  is_open = is_at_header = may_splice = false;
  path = DecodePath::kLibjpeg;
  own.close();
  splicer.close();
  if (!is_jpeg_start(data)) return refuse(DecodeStatus::kNotJpeg, "the data is no JPEG");
  // What our own decoder takes, or what can be spliced, passes all checks below. libjpeg is
  // asked when there is a box.
  if (is_own_first(reader) && own.open(data)) {
    session.close();
    may_splice = splicing != Splicing::kNever;
    const JpegGeometry& geometry = own.geometry();
    set_frame(geometry.width, geometry.height, geometry.num_components);
    return DecodeStatus::kOk;
  }
  if (splicing != Splicing::kNever && splicer.open(data)) {
    session.close();
    const SpliceHeader& header = splicer.header();
    set_frame(header.width, header.height, header.num_components);
    return DecodeStatus::kOk;
  }
  std::uint64_t needed_bytes = 0;
  const auto info = probe_jpeg(data, &needed_bytes);
  if (!info && needed_bytes > 0) {
    return refuse(DecodeStatus::kIncomplete, "the JPEG ends inside of its header");
  }
  if (!info) return refuse(DecodeStatus::kNotJpeg, "the data has no JPEG frame header");
  const std::string feature = unsupported_feature(*info);
  if (!feature.empty()) return refuse(DecodeStatus::kUnsupported, feature);

  if (!session.read_header(data)) {
    const DecodeStatus status = give_up();
    return session.passed_end() ? DecodeStatus::kIncomplete : status;
  }
  const DecodeStatus status = check_layout();
  if (status != DecodeStatus::kOk) return status;
  const jpeg_decompress_struct& codec = session.codec();
  set_frame(codec.image_width, codec.image_height, codec.num_components);
  is_at_header = true;
  return DecodeStatus::kOk;
}

// The header was read. Finds out what a box, for which libjpeg doesn't read all of the
// file, wouldn't show.
DecodeStatus JpegDecoder::State::check_layout() {
  const ConstByteSpan coded = session.unread();
  if (!is_plain_header(data.first(data.size() - coded.size()))) {
    return refuse(DecodeStatus::kNotJpeg, "stray bytes between the segments of the header");
  }
  const ScanEnd end = find_scan_end(coded);
  if (end == ScanEnd::kEoi) return DecodeStatus::kOk;
  if (end == ScanEnd::kNone || !is_complete_jpeg(data)) {
    return refuse(DecodeStatus::kIncomplete, "no end-of-image marker after the last scan");
  }
  // Several scans are all read before the first row. What stands behind a lone one may
  // make libjpeg give up, but not before the last row.
  if (jpeg_has_multiple_scans(&session.codec())) return DecodeStatus::kOk;
  return refuse(DecodeStatus::kUnsupported, "a marker inside or behind the only scan");
}

bool JpegDecoder::State::start(bool is_gray_out, int halvings) {
  const J_COLOR_SPACE space = is_gray_out ? JCS_GRAYSCALE : frame.is_cmyk ? JCS_CMYK : JCS_RGB;
  return session.guarded([space, halvings](jpeg_decompress_struct& codec) {
    codec.out_color_space = space;
    if (halvings > 0) {
      codec.scale_num = 1;
      codec.scale_denom = 1u << halvings;
      codec.do_fancy_upsampling = FALSE;
    }
    jpeg_start_decompress(&codec);
  });
}

// Moves to the first row of the box; `columns` becomes what libjpeg will deliver.
bool JpegDecoder::State::crop(const Box& box, Columns* columns) {
  *columns = columns_around(box, session.codec().output_width);
  return session.guarded([&box, columns](jpeg_decompress_struct& codec) {
    if (columns->width < codec.output_width) {
      jpeg_crop_scanline(&codec, &columns->left, &columns->width);
    }
    if (box.top > 0) jpeg_skip_scanlines(&codec, static_cast<JDIMENSION>(box.top));
  });
}

// Straight into the rows of the view, which leaves out the columns around the box.
bool JpegDecoder::State::read_box(const Box& box, const Columns& columns, ConstImageView* view) {
  const std::int64_t channels = session.codec().output_components;
  const std::int64_t stride = columns.width * channels;
  std::uint8_t* out = pixels.get(static_cast<std::size_t>(box.height * stride));
  *view = {out + (box.left - columns.left) * channels, box.height, box.width, channels, stride};
  return session.guarded(
      [&](jpeg_decompress_struct& codec) { read_rows(codec, out, stride, box.height); });
}

bool JpegDecoder::State::read_cmyk_box(const Box& box, const Columns& columns,
                                       ConstImageView* view) {
  const std::int64_t stride = columns.width * kCmykChannels;
  const std::int64_t offset = (box.left - columns.left) * kCmykChannels;
  const std::int64_t out_stride = box.width * 3;
  std::uint8_t* rows = cmyk_rows.get(static_cast<std::size_t>(kRowsPerCall * stride));
  std::uint8_t* out = pixels.get(static_cast<std::size_t>(box.height * out_stride));
  *view = {out, box.height, box.width, 3, out_stride};
  return session.guarded([&](jpeg_decompress_struct& codec) {
    for (std::int64_t y = 0; y < box.height; y += kRowsPerCall) {
      const std::int64_t count = std::min<std::int64_t>(kRowsPerCall, box.height - y);
      read_rows(codec, rows, stride, count);
      for (std::int64_t i = 0; i < count; ++i) {
        cmyk_to_rgb(rows + i * stride + offset, static_cast<std::size_t>(box.width),
                    out + (y + i) * out_stride);
      }
    }
  });
}

DecodeStatus JpegDecoder::State::decode(const Box& box, int halvings, bool is_gray_out,
                                        ConstImageView* view) {
  if (!is_open) return refuse(DecodeStatus::kNotJpeg, "no image is open");
  if (halvings < 0 || halvings > kMaxHalvings) {
    throw InvalidArgument("halvings is " + std::to_string(halvings) + ", expected 0 to " +
                          std::to_string(kMaxHalvings));
  }
  if (!is_inside(box, frame.width, frame.height, halvings)) {
    throw InvalidArgument(describe(box) + " is not inside of " +
                          describe_image(frame.width, frame.height, halvings));
  }
  error.clear();
  const bool is_own = halvings == 0 ? own.decode(box, is_gray_out, view)
                                    : own.decode_scaled(box, halvings, is_gray_out, view);
  if (is_own) {
    if (is_checking && halvings == 0) check_own(box, is_gray_out, *view);
    path = DecodePath::kOwn;
    return DecodeStatus::kOk;
  }
  return decode_with_libjpeg(box, halvings, is_gray_out, view);
}

void JpegDecoder::State::check_own(const Box& box, bool is_gray_out, const ConstImageView& found) {
  ConstImageView expected;
  const DecodeStatus status = decode_with_libjpeg(box, 0, is_gray_out, &expected);
  if (status == DecodeStatus::kOk && are_equal(found, expected)) return;
  throw std::logic_error("the decoder of torch_dts and " + jpeg_library() + " read " +
                         describe(box) + " of " + describe_image(frame.width, frame.height, 0) +
                         " differently" + (error.empty() ? "" : ": " + error) +
                         "; decoder=\"libjpeg\" leaves ours out");
}

DecodeStatus JpegDecoder::State::decode_with_libjpeg(const Box& box, int halvings, bool is_gray_out,
                                                     ConstImageView* view) {
  if (may_splice) splicer.open(data);
  may_splice = false;
  path = DecodePath::kLibjpeg;
  const Box whole = unscaled(box, frame.width, frame.height, halvings);
  if (const auto part = splicer.cut(whole, splicing == Splicing::kWhenPossible)) {
    // Parts begin with an MCU, whose sides a scale divides.
    const Box inner = {part->box.top >> halvings, part->box.left >> halvings, box.height,
                       box.width};
    if (session.read_header(part->data) &&
        decode_from_header(inner, halvings, is_gray_out, view) == DecodeStatus::kOk) {
      path = DecodePath::kSpliced;
      return DecodeStatus::kOk;
    }
    error.clear();  // the whole file gives it in its own words
  }
  if (!is_at_header && !session.read_header(data)) return give_up();
  is_at_header = false;
  return decode_from_header(box, halvings, is_gray_out, view);
}

// libjpeg has read the header of the picture that `box` lies in.
DecodeStatus JpegDecoder::State::decode_from_header(const Box& box, int halvings, bool is_gray_out,
                                                    ConstImageView* view) {
  if (!start(is_gray_out, halvings)) return give_up();
  if (smooths_blocks(session.codec())) {
    session.close();
    return refuse(DecodeStatus::kUnsupported, "a progressive picture without its last scans");
  }
  Columns columns;
  if (!crop(box, &columns)) return give_up();
  const bool is_read =
      frame.is_cmyk ? read_cmyk_box(box, columns, view) : read_box(box, columns, view);
  if (!is_read) return give_up();
  session.close();
  return DecodeStatus::kOk;
}

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;

DecodeStatus JpegDecoder::open(ConstByteSpan data) { return state_->open(data); }
const JpegFrame& JpegDecoder::frame() const { return state_->frame; }

DecodeStatus JpegDecoder::decode(const Box& box, bool as_gray, ConstImageView* pixels) {
  return state_->decode(box, 0, as_gray && state_->frame.is_gray, pixels);
}

DecodeStatus JpegDecoder::decode_scaled(const Box& box, int halvings, bool as_gray,
                                        ConstImageView* pixels) {
  return state_->decode(box, halvings, as_gray && state_->frame.is_gray, pixels);
}

bool JpegDecoder::is_quicker_alone(std::span<const Box> boxes, const Box& around) const {
  const CropDecoder& own = state_->own;
  if (!state_->is_open || !own.is_open()) return false;
  const std::int64_t interval = own.restart_interval();
  const std::int64_t alone = decode_cost(own.geometry(), interval, boxes);
  const std::int64_t together =
      decode_cost(own.geometry(), interval, std::span<const Box>(&around, 1));
  return 5 * alone < 4 * together;  // by a fifth: the cost is an estimate
}

DecodePath JpegDecoder::path() const { return state_->path; }
void JpegDecoder::set_reader(JpegReader reader) { state_->reader = reader; }
void JpegDecoder::set_checking(bool is_checking) { state_->is_checking = is_checking; }
void JpegDecoder::set_splicing(Splicing when) { state_->splicing = when; }

const std::string& JpegDecoder::error() const { return state_->error; }

std::size_t JpegDecoder::held_bytes() const {
  return state_->pixels.bytes() + state_->cmyk_rows.bytes() + state_->splicer.held_bytes() +
         state_->own.held_bytes();
}

void JpegDecoder::shrink(std::size_t keep_bytes) {
  if (held_bytes() <= keep_bytes) return;
  state_->pixels.release();
  state_->cmyk_rows.release();
  state_->splicer.release();
  state_->own.release();
}

}  // namespace dts
