// SPDX-License-Identifier: Apache-2.0
#include "jpeg/transcode.h"

#include <new>
#include <vector>

#include "jpeg/decode.h"
#include "jpeg/libjpeg_compressor.h"
#include "jpeg/libjpeg_session.h"
#include "jpeg/metadata.h"
#include "jpeg/probe.h"
#include "jpeg/restart_interval.h"
#include "jpeg/same_coefficients.h"
#include "jpeg/same_pixels.h"

// After jpeglib.h.
#include <jerror.h>

namespace dts {
namespace {

// All coefficients are in memory at once. Pillow refuses larger pictures.
constexpr std::int64_t kMaxPixels = 178956970;

// Baseline, extended and progressive with Huffman coding.
bool is_huffman_process(std::uint8_t sof) { return sof >= 0xC0 && sof <= 0xC2; }

TranscodeStatus status_of(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::kOk:
      return TranscodeStatus::kDone;
    case DecodeStatus::kNotJpeg:
      return TranscodeStatus::kNotJpeg;
    case DecodeStatus::kUnsupported:
      return TranscodeStatus::kUnsupported;
    case DecodeStatus::kIncomplete:
      return TranscodeStatus::kIncomplete;
    case DecodeStatus::kDamaged:
      break;
  }
  return TranscodeStatus::kDamaged;
}

// Does it matter that these bytes behind the EOI get lost? Padding doesn't.
bool says_something(ConstByteSpan trailing) {
  for (const std::byte value : trailing) {
    if (value != std::byte{0}) return true;
  }
  return false;
}

}  // namespace

struct JpegTranscoder::State {
  JpegDecoder decoder;  // for its verdict on the layout
  LibjpegSession source;
  LibjpegCompressor target;
  CoefficientComparer coefficient_comparer;
  PixelComparer pixel_comparer;
  std::vector<MetadataSegment> segments;
  MetadataChoice metadata;

  TranscodeStatus run(ConstByteSpan data, const TranscodeOptions& options, Transcoded* result);
  TranscodeStatus list_segments(ConstByteSpan data, bool keep_all, Transcoded* result);
  TranscodeStatus read(ConstByteSpan data, jvirt_barray_ptr** coefficients);
  TranscodeStatus write(jvirt_barray_ptr* coefficients, std::int64_t restart_interval,
                        std::size_t expected_bytes);
};

TranscodeStatus JpegTranscoder::State::list_segments(ConstByteSpan data, bool keep_all,
                                                     Transcoded* result) {
  const ConstByteSpan trailing = data.subspan(list_metadata(data, &segments));
  if (keep_all) {
    if (says_something(trailing)) return TranscodeStatus::kTrailing;
    metadata.kept = segments;
  } else {
    choose_metadata(segments, &metadata);
    result->num_dropped = metadata.num_dropped;
    result->dropped_bytes = metadata.dropped_bytes;
  }
  if (!trailing.empty()) {
    ++result->num_dropped;
    result->dropped_bytes += static_cast<std::int64_t>(trailing.size());
  }
  return TranscodeStatus::kDone;
}

// All coefficients; they belong to `source`.
TranscodeStatus JpegTranscoder::State::read(ConstByteSpan data, jvirt_barray_ptr** coefficients) {
  if (!source.read_header(data)) return TranscodeStatus::kDamaged;
  const bool is_read = source.guarded([coefficients](jpeg_decompress_struct& codec) {
    *coefficients = jpeg_read_coefficients(&codec);
  });
  if (!is_read) {
    if (source.error_code() == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
    return TranscodeStatus::kDamaged;
  }
  if (source.codec().err->num_warnings > 0) return TranscodeStatus::kDamaged;
  // Its pixels are estimates, made by each version of libjpeg in its own way.
  if (smooths_blocks(source.codec())) return TranscodeStatus::kIncomplete;
  return TranscodeStatus::kDone;
}

TranscodeStatus JpegTranscoder::State::write(jvirt_barray_ptr* coefficients,
                                             std::int64_t restart_interval,
                                             std::size_t expected_bytes) {
  jpeg_decompress_struct* const from = &source.codec();
  const std::int64_t row =
      mcus_per_row(from->image_width, from->max_h_samp_factor, from->num_components);
  const auto interval = static_cast<unsigned>(choose_restart_interval(restart_interval, row));
  const MetadataSegment* const kept = metadata.kept.data();
  const std::size_t num_kept = metadata.kept.size();
  const bool is_written =
      target.begin(expected_bytes) && target.guarded([=](jpeg_compress_struct& codec) {
        jpeg_copy_critical_parameters(from, &codec);
        codec.optimize_coding = TRUE;
        codec.restart_interval = interval;
        // These two come with the other segments, as they were.
        codec.write_JFIF_header = codec.write_Adobe_marker = FALSE;
        jpeg_write_coefficients(&codec, coefficients);
        for (std::size_t i = 0; i < num_kept; ++i) {
          jpeg_write_marker(&codec, kept[i].marker,
                            reinterpret_cast<const JOCTET*>(kept[i].content.data()),
                            static_cast<unsigned>(kept[i].content.size()));
        }
        jpeg_finish_compress(&codec);
      });
  if (!is_written) {
    const int code = target.error_code();
    target.close();
    if (code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
    // MCUs of more than ten blocks, coefficients too large for a sequential scan.
    return TranscodeStatus::kUnsupported;
  }
  target.close();
  return TranscodeStatus::kDone;
}

TranscodeStatus JpegTranscoder::State::run(ConstByteSpan data, const TranscodeOptions& options,
                                           Transcoded* result) {
  const DecodeStatus opened = decoder.open(data);
  if (opened != DecodeStatus::kOk) return status_of(opened);
  if (!is_huffman_process(probe_jpeg(data)->sof)) return TranscodeStatus::kUnsupported;
  if (decoder.frame().width * decoder.frame().height > kMaxPixels) {
    return TranscodeStatus::kTooLarge;
  }
  TranscodeStatus status = list_segments(data, options.keep_metadata, result);
  if (status != TranscodeStatus::kDone) return status;
  jvirt_barray_ptr* coefficients = nullptr;
  status = read(data, &coefficients);
  if (status == TranscodeStatus::kDone) {
    // Restart markers make a small file larger, optimal tables most of them smaller.
    status = write(coefficients, options.restart_interval, data.size() + data.size() / 4);
  }
  // A progressive picture is decoded in another way than a sequential one: its pixels are compared.
  const bool is_proven = status == TranscodeStatus::kDone && !source.codec().progressive_mode &&
                         coefficient_comparer.are_same(source, coefficients, target.written());
  source.close();
  if (status != TranscodeStatus::kDone) return status;
  if (is_proven) {
    result->bytes = target.written();
    return TranscodeStatus::kDone;
  }
  switch (pixel_comparer.compare(data, target.written())) {
    case PixelComparison::kSame:
      break;
    case PixelComparison::kDifferent:
      return TranscodeStatus::kDiffers;
    case PixelComparison::kFailed:
      return TranscodeStatus::kDamaged;
  }
  result->bytes = target.written();
  return TranscodeStatus::kDone;
}

JpegTranscoder::JpegTranscoder() : state_(std::make_unique<State>()) {}
JpegTranscoder::~JpegTranscoder() = default;

TranscodeStatus JpegTranscoder::run(ConstByteSpan data, const TranscodeOptions& options,
                                    Transcoded* result) {
  choose_restart_interval(options.restart_interval, 1);  // refuses what is no interval
  *result = {};
  const TranscodeStatus status = state_->run(data, options, result);
  if (status != TranscodeStatus::kDone) *result = {};
  return status;
}

}  // namespace dts
