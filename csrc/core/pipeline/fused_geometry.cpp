// SPDX-License-Identifier: Apache-2.0
#include "pipeline/fused_geometry.h"

namespace dts {
namespace {

ImageSize size_of(const Box& box) { return {box.height, box.width}; }

Box inside(const Box& outer, const Box& part) {
  return {outer.top + part.top, outer.left + part.left, part.height, part.width};
}

}  // namespace

Box mirrored(const Box& box, const ImageSize& image, const Flips& flips) {
  return {flips.vertical ? image.height - box.top - box.height : box.top,
          flips.horizontal ? image.width - box.left - box.width : box.left, box.height, box.width};
}

FusedGeometry::FusedGeometry(const ImageSize& source, const Flips& flips)
    : source_(source), box_{0, 0, source.height, source.width}, after_(flips) {}

ImageSize FusedGeometry::size() const { return size_of(has_resize_ ? window_ : box_); }

void FusedGeometry::crop(const Box& box) {
  Box& whole = has_resize_ ? window_ : box_;
  whole = inside(whole, mirrored(box, size_of(whole), after_));
}

void FusedGeometry::resize(const ImageSize& size, Filter filter) {
  if (size == this->size()) return;
  has_resize_ = true;
  filter_ = filter;
  resized_ = size;
  window_ = {0, 0, size.height, size.width};
  before_ = after_;
  after_ = {};
}

bool FusedGeometry::is_whole() const { return !has_resize_ && size_of(box_) == source_; }

}  // namespace dts
