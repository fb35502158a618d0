// SPDX-License-Identifier: Apache-2.0
#include "jpeg/libjpeg_compressor.h"

#include <algorithm>
#include <cstdlib>
#include <new>

// After jpeglib.h.
#include <jerror.h>

namespace dts {
namespace {

constexpr std::size_t kMinCapacity = 4096;

}  // namespace

LibjpegCompressor::LibjpegCompressor() : codec_{}, destination_{} {
  codec_.err = &errors_.manager;
  codec_.client_data = this;
  destination_.init_destination = do_nothing;
  destination_.empty_output_buffer = grow;
  destination_.term_destination = do_nothing;
}

LibjpegCompressor::~LibjpegCompressor() {
  close();
  std::free(buffer_);
}

bool LibjpegCompressor::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return true;
  void* const larger = std::realloc(buffer_, capacity);
  if (larger == nullptr) return false;
  buffer_ = static_cast<JOCTET*>(larger);
  capacity_ = capacity;
  return true;
}

bool LibjpegCompressor::begin(std::size_t expected_bytes) {
  close();
  errors_.reset();
  if (!reserve(std::max(expected_bytes, kMinCapacity))) throw std::bad_alloc();
  destination_.next_output_byte = buffer_;
  destination_.free_in_buffer = capacity_;
  // Also after a failure half way there may be memory to give back.
  is_created_ = true;
  return guarded([](jpeg_compress_struct& codec) {
    jpeg_create_compress(&codec);  // keeps err and client_data
    codec.dest = &of(reinterpret_cast<j_common_ptr>(&codec)).destination_;
  });
}

void LibjpegCompressor::close() {
  if (is_created_) jpeg_destroy_compress(&codec_);
  is_created_ = false;
}

ConstByteSpan LibjpegCompressor::written() const {
  if (buffer_ == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(buffer_), capacity_ - destination_.free_in_buffer};
}

void LibjpegCompressor::shrink(std::size_t keep_bytes) {
  if (capacity_ <= keep_bytes) return;
  close();
  std::free(buffer_);
  buffer_ = nullptr;
  capacity_ = 0;
}

LibjpegCompressor& LibjpegCompressor::of(j_common_ptr codec) {
  return *static_cast<LibjpegCompressor*>(codec->client_data);
}

// The buffer is full.
boolean LibjpegCompressor::grow(j_compress_ptr codec) {
  LibjpegCompressor& session = of(reinterpret_cast<j_common_ptr>(codec));
  const std::size_t used = session.capacity_;
  if (!session.reserve(2 * used)) ERREXIT1(codec, JERR_OUT_OF_MEMORY, 0);
  session.destination_.next_output_byte = session.buffer_ + used;
  session.destination_.free_in_buffer = session.capacity_ - used;
  return TRUE;
}

}  // namespace dts
