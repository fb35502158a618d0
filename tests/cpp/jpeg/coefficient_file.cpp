// SPDX-License-Identifier: Apache-2.0
#include "jpeg/coefficient_file.h"

#include <cstdlib>
#include <cstring>

namespace dts::testing {
namespace {

// Places of a block, row by row, in zigzag order.
std::array<std::size_t, 64> zigzag_places() {
  std::array<std::size_t, 64> places = {};
  std::size_t count = 0;
  for (std::size_t sum = 0; sum < 15; ++sum) {
    for (std::size_t i = 0; i <= sum; ++i) {
      const std::size_t v = sum % 2 == 0 ? sum - i : i;
      if (v < 8 && sum - v < 8) places[count++] = 8 * v + sum - v;
    }
  }
  return places;
}

std::uint8_t end_of(const std::int16_t* block) {
  static const std::array<std::size_t, 64> places = zigzag_places();
  std::size_t end = 64;
  while (end > 1 && block[places[end - 1]] == 0) --end;
  return static_cast<std::uint8_t>(end);
}

const unsigned char* bytes_of(const Bytes& data) {
  return reinterpret_cast<const unsigned char*>(data.data());
}

}  // namespace

CoefficientFile::CoefficientFile(const Bytes& data) {
  jpeg_decompress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&codec);
  jpeg_mem_src(&codec, bytes_of(data), static_cast<unsigned long>(data.size()));
  jpeg_read_header(&codec, TRUE);
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&codec);
  geometry_.width = codec.image_width;
  geometry_.height = codec.image_height;
  geometry_.num_components = codec.num_components;
  for (int c = 0; c < codec.num_components; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const jpeg_component_info& info = codec.comp_info[c];
    geometry_.horizontal[k] = codec.num_components == 1 ? 1 : info.h_samp_factor;
    geometry_.vertical[k] = codec.num_components == 1 ? 1 : info.v_samp_factor;
    std::copy_n(info.quant_table->quantval, 64, components_[k].table.begin());
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(codec.num_components); ++c) {
    Component& component = components_[c];
    component.num_columns = geometry_.mcus_per_row() * geometry_.horizontal[c];
    const std::int64_t num_rows = geometry_.mcu_rows() * geometry_.vertical[c];
    component.blocks.resize(static_cast<std::size_t>(component.num_columns * num_rows));
    for (std::int64_t y = 0; y < num_rows; ++y) {
      JBLOCKARRAY line = codec.mem->access_virt_barray(
          reinterpret_cast<j_common_ptr>(&codec), arrays[c], static_cast<JDIMENSION>(y), 1, FALSE);
      std::memcpy(component.blocks[static_cast<std::size_t>(y * component.num_columns)].data(),
                  line[0], static_cast<std::size_t>(component.num_columns) * sizeof(JBLOCK));
    }
  }
  jpeg_finish_decompress(&codec);
  jpeg_destroy_decompress(&codec);
}

QuantTables CoefficientFile::tables() const {
  QuantTables tables = {};
  for (std::size_t c = 0; c < tables.size(); ++c) tables[c] = components_[c].table.data();
  return tables;
}

const CoefficientRow& CoefficientFile::row(const McuRange& range, std::int64_t mcu_row,
                                           bool exact_ends) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(geometry_.num_components); ++c) {
    Component& component = components_[c];
    CoefficientPlane& plane = row_.planes[c];
    plane.num_columns = (range.right - range.left) * geometry_.horizontal[c];
    plane.num_rows = geometry_.vertical[c];
    const auto count = static_cast<std::size_t>(plane.num_columns * plane.num_rows);
    component.part.reset(
        static_cast<std::int16_t*>(::operator new(128 * count, std::align_val_t{64})));
    component.ends = std::vector<std::uint8_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto along = static_cast<std::int64_t>(i);
      const std::int64_t y = mcu_row * plane.num_rows + along / plane.num_columns;
      const std::int64_t x = range.left * geometry_.horizontal[c] + along % plane.num_columns;
      const auto& block = component.blocks[static_cast<std::size_t>(y * component.num_columns + x)];
      std::memcpy(component.part.get() + 64 * i, block.data(), 128);
      const unsigned end = end_of(block.data());
      component.ends[i] =
          static_cast<std::uint8_t>(exact_ends ? end : end + next_random(state_, 65 - end));
    }
    plane.blocks = component.part.get();
    plane.ends = component.ends.data();
  }
  return row_;
}

ConstImageView CoefficientFile::decode(PixelRows& rows, const Box& box, bool as_gray,
                                       bool exact_ends) {
  rows.begin(geometry_, tables(), box, as_gray);
  const McuRange range = rows.range();
  for (std::int64_t y = range.top; y < range.bottom; ++y) rows.add_row(row(range, y, exact_ends));
  return rows.pixels();
}

Bytes with_changed_blocks(const Bytes& data, ChangeBlock change, std::uint64_t seed) {
  jpeg_decompress_struct reader;
  jpeg_compress_struct writer;
  jpeg_error_mgr errors;
  reader.err = writer.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&reader);
  jpeg_create_compress(&writer);
  jpeg_mem_src(&reader, bytes_of(data), static_cast<unsigned long>(data.size()));
  jpeg_read_header(&reader, TRUE);
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&reader);
  std::uint64_t state = seed;
  for (int c = 0; c < reader.num_components; ++c) {
    const jpeg_component_info& info = reader.comp_info[c];
    for (JDIMENSION y = 0; y < info.height_in_blocks; ++y) {
      JBLOCKARRAY line = reader.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&reader),
                                                        arrays[c], y, 1, TRUE);
      for (JDIMENSION x = 0; x < info.width_in_blocks; ++x) change(line[0][x], c, state);
    }
  }
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&writer, &out, &size);
  jpeg_copy_critical_parameters(&reader, &writer);
  writer.optimize_coding = TRUE;
  jpeg_write_coefficients(&writer, arrays);
  jpeg_finish_compress(&writer);
  jpeg_destroy_compress(&writer);
  jpeg_destroy_decompress(&reader);
  const auto* first = reinterpret_cast<const std::byte*>(out);
  Bytes result(first, first + size);
  std::free(out);
  return result;
}

}  // namespace dts::testing
