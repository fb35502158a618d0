// SPDX-License-Identifier: Apache-2.0
// Pixel files (MNIST, CIFAR): the whole payload into tensors, and writing. Stateful (handles).
#include "format/pixel_reader.h"

#include <string>
#include <tuple>
#include <vector>

#include "format/pixel_writer.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/handles.h"
#include "ops/numbers.h"
#include "ops/open_files.h"
#include "ops/paths.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

HandleTable<PixelWriter>& pixel_writers() {
  // Never destroyed: at exit a thread may still be inside an op.
  static auto& table = *new HandleTable<PixelWriter>("pixel writer");
  return table;
}

std::tuple<Tensor, Tensor> read_pixels_op(std::int64_t handle, bool check) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    const DtsFile& file = open->volume(0);
    const Header& header = file.header();
    // Before memory is taken by its numbers.
    if (header.has_blocks()) throw InvalidArgument("a file of blocks has no pixels");
    const std::int64_t shape[4] = {header.num_samples, header.image_height, header.image_width,
                                   header.num_channels};
    Tensor labels = new_int64(header.num_samples);
    Tensor pixels = torch::stable::empty({shape, 4}, ScalarType::Byte);
    const OpenFile::Borrowed handles(*open);
    read_pixels(file, mutable_int64_view(labels, "labels"), byte_view(pixels, "pixels"), check,
                (*handles).of(open->set(), 0));
    return std::tuple{labels, pixels};
  });
}

std::int64_t pixel_writer_open(std::string path, bool overwrite, std::string dataset_type,
                               std::int64_t is_training, std::int64_t num_classes,
                               std::int64_t num_samples, std::int64_t height, std::int64_t width,
                               std::int64_t channels) {
  return guarded([&] {
    Header header;
    header.dataset_type = dataset_type;
    header.is_training = narrow_u32(is_training, "is_training");
    header.num_classes = narrow_u32(num_classes, "num_classes");
    header.num_samples = narrow_u32(num_samples, "num_samples");
    header.image_height = narrow_u32(height, "height");
    header.image_width = narrow_u32(width, "width");
    header.num_channels = narrow_u32(channels, "channels");
    return pixel_writers().add(
        std::make_shared<PixelWriter>(unescape_path(path), overwrite, header));
  });
}

void pixel_writer_write(std::int64_t writer, Tensor pixels) {
  guarded([&] { pixel_writers().get(writer)->write_pixels(byte_view(pixels, "pixels")); });
}

void pixel_writer_set_normalization(std::int64_t writer, Tensor mean, Tensor std) {
  guarded([&] {
    pixel_writers().get(writer)->set_normalization(three_floats(mean, "mean"),
                                                   three_floats(std, "std"));
  });
}

// The writer leaves the table when it is done; after a failure it stays, to be aborted.
void pixel_writer_finish(std::int64_t writer, Tensor labels, Tensor info, Tensor classes) {
  guarded([&] {
    pixel_writers().get(writer)->finish(int64_view(labels, "labels"), copy_bytes(info, "info"),
                                        copy_bytes(classes, "classes"));
    pixel_writers().take(writer);
  });
}

void pixel_writer_abort(std::int64_t writer) { pixel_writers().take(writer); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def("read_pixels(int handle, bool check) -> (Tensor labels, Tensor pixels)");
  m.def(
      "pixel_writer_open(str path, bool overwrite, str dataset_type, int is_training, "
      "int num_classes, int num_samples, int height, int width, int channels) -> int");
  m.def("pixel_writer_write(int writer, Tensor pixels) -> ()");
  m.def("pixel_writer_set_normalization(int writer, Tensor mean, Tensor std) -> ()");
  m.def("pixel_writer_finish(int writer, Tensor labels, Tensor info, Tensor classes) -> ()");
  m.def("pixel_writer_abort(int writer) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("read_pixels", DTS_BOX(&read_pixels_op));
  m.impl("pixel_writer_open", DTS_BOX(&pixel_writer_open));
  m.impl("pixel_writer_write", DTS_BOX(&pixel_writer_write));
  m.impl("pixel_writer_set_normalization", DTS_BOX(&pixel_writer_set_normalization));
  m.impl("pixel_writer_finish", DTS_BOX(&pixel_writer_finish));
  m.impl("pixel_writer_abort", DTS_BOX(&pixel_writer_abort));
}

}  // namespace dts::ops
