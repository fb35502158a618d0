// SPDX-License-Identifier: Apache-2.0
#include "jpeg/libjpeg_session.h"

#include <jerror.h>

namespace dts {
namespace {

// Handed out when a picture asks for more than there is, as libjpeg's own sources do.
constexpr JOCTET kEndOfImage[] = {0xFF, JPEG_EOI};

constexpr int kSmoothedCoefficients = 9;  // of a block, in zigzag order, behind the first

}  // namespace

LibjpegSession::LibjpegSession() : codec_{}, source_{} {
  codec_.err = &errors_.manager;
  codec_.client_data = this;
  source_.init_source = do_nothing;
  source_.fill_input_buffer = continue_with_end;
  source_.skip_input_data = skip_bytes;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = do_nothing;
}

bool LibjpegSession::read_header(ConstByteSpan data) {
  close();
  errors_.reset();
  passed_end_ = false;
  source_.next_input_byte = reinterpret_cast<const JOCTET*>(data.data());
  source_.bytes_in_buffer = data.size();
  // Also after a failure half way there may be memory to give back.
  is_created_ = true;
  return guarded([](jpeg_decompress_struct& codec) {
    jpeg_create_decompress(&codec);  // keeps err and client_data
    codec.src = &of(reinterpret_cast<j_common_ptr>(&codec)).source_;
    jpeg_read_header(&codec, TRUE);
  });
}

void LibjpegSession::close() {
  if (is_created_) jpeg_destroy_decompress(&codec_);
  is_created_ = false;
}

ConstByteSpan LibjpegSession::unread() const {
  if (passed_end_) return {};
  return {reinterpret_cast<const std::byte*>(source_.next_input_byte), source_.bytes_in_buffer};
}

LibjpegSession& LibjpegSession::of(j_common_ptr codec) {
  return *static_cast<LibjpegSession*>(codec->client_data);
}

boolean LibjpegSession::continue_with_end(j_decompress_ptr codec) {
  of(reinterpret_cast<j_common_ptr>(codec)).passed_end_ = true;
  ++codec->err->num_warnings;
  codec->src->next_input_byte = kEndOfImage;
  codec->src->bytes_in_buffer = sizeof kEndOfImage;
  return TRUE;
}

void LibjpegSession::skip_bytes(j_decompress_ptr codec, long num_bytes) {
  if (num_bytes <= 0) return;
  jpeg_source_mgr& source = *codec->src;
  const auto wanted = static_cast<std::size_t>(num_bytes);
  if (wanted > source.bytes_in_buffer) {
    continue_with_end(codec);
    return;
  }
  source.next_input_byte += wanted;
  source.bytes_in_buffer -= wanted;
}

bool smooths_blocks(const jpeg_decompress_struct& codec) {
  if (!codec.progressive_mode || codec.coef_bits == nullptr) return false;
  for (int c = 0; c < codec.num_components; ++c) {
    for (int k = 1; k <= kSmoothedCoefficients; ++k) {
      if (codec.coef_bits[c][k] != 0) return true;
    }
  }
  return false;
}

}  // namespace dts
