// SPDX-License-Identifier: Apache-2.0
#include "jpeg/same_coefficients.h"

#include <cstring>
#include <new>

// After jpeglib.h.
#include <jerror.h>

namespace dts {
namespace {

bool has_same_table(const jpeg_component_info& a, const jpeg_component_info& b) {
  if (a.quant_table == nullptr || b.quant_table == nullptr) return false;
  return std::memcmp(a.quant_table->quantval, b.quant_table->quantval,
                     sizeof a.quant_table->quantval) == 0;
}

bool has_same_layout(const jpeg_decompress_struct& a, const jpeg_decompress_struct& b) {
  if (a.image_width != b.image_width || a.image_height != b.image_height ||
      a.num_components != b.num_components || a.data_precision != b.data_precision ||
      a.jpeg_color_space != b.jpeg_color_space || a.saw_JFIF_marker != b.saw_JFIF_marker ||
      a.saw_Adobe_marker != b.saw_Adobe_marker ||
      (a.saw_Adobe_marker && a.Adobe_transform != b.Adobe_transform)) {
    return false;
  }
  for (int c = 0; c < a.num_components; ++c) {
    const jpeg_component_info& one = a.comp_info[c];
    const jpeg_component_info& other = b.comp_info[c];
    if (one.component_id != other.component_id || one.h_samp_factor != other.h_samp_factor ||
        one.v_samp_factor != other.v_samp_factor || one.width_in_blocks != other.width_in_blocks ||
        one.height_in_blocks != other.height_in_blocks || !has_same_table(one, other)) {
      return false;
    }
    // libjpeg makes no pixels of such, so there are none to be the same.
    if (a.max_h_samp_factor % one.h_samp_factor != 0 ||
        a.max_v_samp_factor % one.v_samp_factor != 0) {
      return false;
    }
  }
  return true;
}

// One row of blocks; null when libjpeg gave up.
const JBLOCK* row_of(LibjpegSession& session, jvirt_barray_ptr component, JDIMENSION row) {
  const JBLOCK* first = nullptr;
  const JBLOCK** const out = &first;
  const bool is_there = session.guarded([component, row, out](jpeg_decompress_struct& codec) {
    const auto common = reinterpret_cast<j_common_ptr>(&codec);
    *out = codec.mem->access_virt_barray(common, component, row, 1, FALSE)[0];
  });
  return is_there ? first : nullptr;
}

}  // namespace

bool CoefficientComparer::are_same(LibjpegSession& source, jvirt_barray_ptr* coefficients,
                                   ConstByteSpan data) {
  jvirt_barray_ptr* written = nullptr;
  jvirt_barray_ptr** const out = &written;
  bool is_same =
      session_.read_header(data) && session_.guarded([out](jpeg_decompress_struct& codec) {
        *out = jpeg_read_coefficients(&codec);
      });
  const bool lacks_memory = !is_same && session_.error_code() == JERR_OUT_OF_MEMORY;
  is_same = is_same && session_.codec().err->num_warnings == 0 &&
            !smooths_blocks(session_.codec()) && has_same_layout(source.codec(), session_.codec());
  const int num_components = is_same ? source.codec().num_components : 0;
  for (int c = 0; is_same && c < num_components; ++c) {
    const jpeg_component_info& component = source.codec().comp_info[c];
    const std::size_t row_bytes = std::size_t{component.width_in_blocks} * sizeof(JBLOCK);
    for (JDIMENSION row = 0; is_same && row < component.height_in_blocks; ++row) {
      const JBLOCK* const one = row_of(source, coefficients[c], row);
      const JBLOCK* const other = row_of(session_, written[c], row);
      is_same = one != nullptr && other != nullptr && std::memcmp(one, other, row_bytes) == 0;
    }
  }
  session_.close();
  if (lacks_memory) throw std::bad_alloc();
  return is_same;
}

}  // namespace dts
