// SPDX-License-Identifier: Apache-2.0
// Writing a .dts file: blocks are built in the caller's arena and written in any order.
#include <string>
#include <vector>

#include "format/writer.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/handles.h"
#include "ops/numbers.h"
#include "ops/paths.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

HandleTable<Writer>& writers() {
  static HandleTable<Writer> table("writer");
  return table;
}

std::int64_t finish_block_op(Tensor arena, std::int64_t level, std::int64_t block_id,
                             std::int64_t block_header_size, Tensor sizes, Tensor labels) {
  return guarded([&] {
    return std::int64_t{finish_block(byte_view(arena, "arena"), narrow_u32(level, "level"),
                                     narrow_u32(block_id, "block_id"),
                                     narrow_u32(block_header_size, "block_header_size"),
                                     int64_view(sizes, "sizes"), int64_view(labels, "labels"))};
  });
}

void read_files_into_op(Tensor paths, Tensor offsets, Tensor sizes, Tensor arena) {
  guarded([&] {
    const auto names = split_paths(byte_view(paths, "paths"));
    read_files_into(names, int64_view(offsets, "offsets"), int64_view(sizes, "sizes"),
                    byte_view(arena, "arena"));
  });
}

std::int64_t writer_open(std::string path, bool overwrite, std::int64_t level,
                         std::int64_t is_training, std::int64_t num_classes,
                         std::int64_t num_blocks, std::int64_t block_size,
                         std::int64_t block_header_size, bool has_raw, bool resume,
                         std::int64_t num_volumes, std::int64_t volume_id) {
  return guarded([&] {
    Header header;
    if (has_raw) header.version = {3, 1, 0, 0};
    header.compress_level = narrow_u32(level, "level");
    header.is_training = narrow_u32(is_training, "is_training");
    header.num_classes = narrow_u32(num_classes, "num_classes");
    header.num_blocks = narrow_u32(num_blocks, "num_blocks");
    header.block_size = narrow_u32(block_size, "block_size");
    header.block_header_size = narrow_u32(block_header_size, "block_header_size");
    header.num_volumes = narrow_u32(num_volumes, "num_volumes");
    header.volume_id = narrow_u32(volume_id, "volume_id");
    return writers().add(std::make_shared<Writer>(unescape_path(path), overwrite, header, resume));
  });
}

void writer_write_block(std::int64_t writer, std::int64_t block_id, Tensor arena, std::int64_t crc,
                        Tensor sizes) {
  guarded([&] {
    writers().get(writer)->write_block(narrow_u32(block_id, "block_id"), byte_view(arena, "arena"),
                                       narrow_u32(crc, "crc"), int64_view(sizes, "sizes"));
  });
}

bool writer_adopt_block(std::int64_t writer, std::int64_t block_id, std::int64_t crc, Tensor sizes,
                        Tensor scratch) {
  return guarded([&] {
    return writers().get(writer)->adopt_block(narrow_u32(block_id, "block_id"),
                                              narrow_u32(crc, "crc"), int64_view(sizes, "sizes"),
                                              byte_view(scratch, "scratch"));
  });
}

void writer_add_section(std::int64_t writer, std::string tag, Tensor payload, std::int64_t flags,
                        std::int64_t raw_bytes) {
  guarded([&] {
    writers().get(writer)->add_section(tag, narrow_u32(flags, "flags"),
                                       copy_bytes(payload, "payload"),
                                       static_cast<std::uint64_t>(raw_bytes));
  });
}

void writer_set_normalization(std::int64_t writer, Tensor mean, Tensor std) {
  guarded([&] {
    writers().get(writer)->set_normalization(three_floats(mean, "mean"), three_floats(std, "std"));
  });
}

void writer_seal(std::int64_t writer, std::int64_t max_pic_area, std::int64_t source_bytes,
                 std::int64_t total_blocks) {
  guarded([&] {
    writers().get(writer)->seal(narrow_u32(max_pic_area, "max_pic_area"),
                                static_cast<std::uint64_t>(source_bytes),
                                narrow_u32(total_blocks, "total_blocks"));
  });
}

// The writer leaves the table when it is done; after a failure it stays, to be aborted.
void writer_publish(std::int64_t writer) {
  guarded([&] {
    writers().get(writer)->publish();
    writers().take(writer);
  });
}

void writer_abort(std::int64_t writer) { writers().take(writer); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "finish_block(Tensor(a!) arena, int level, int block_id, int block_header_size, "
      "Tensor sizes, Tensor labels) -> int");
  m.def("read_files_into(Tensor paths, Tensor offsets, Tensor sizes, Tensor(a!) arena) -> ()");
  m.def(
      "writer_open(str path, bool overwrite, int level, int is_training, int num_classes, "
      "int num_blocks, int block_size, int block_header_size, bool has_raw, bool resume, "
      "int num_volumes, int volume_id) -> int");
  m.def(
      "writer_write_block(int writer, int block_id, Tensor arena, int crc32, Tensor sizes) -> ()");
  m.def(
      "writer_adopt_block(int writer, int block_id, int crc32, Tensor sizes, Tensor(a!) scratch) "
      "-> bool");
  m.def("writer_add_section(int writer, str tag, Tensor payload, int flags, int raw_bytes) -> ()");
  m.def("writer_set_normalization(int writer, Tensor mean, Tensor std) -> ()");
  m.def("writer_seal(int writer, int max_pic_area, int source_bytes, int total_blocks) -> ()");
  m.def("writer_publish(int writer) -> ()");
  m.def("writer_abort(int writer) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("finish_block", DTS_BOX(&finish_block_op));
  m.impl("read_files_into", DTS_BOX(&read_files_into_op));
  m.impl("writer_open", DTS_BOX(&writer_open));
  m.impl("writer_write_block", DTS_BOX(&writer_write_block));
  m.impl("writer_adopt_block", DTS_BOX(&writer_adopt_block));
  m.impl("writer_add_section", DTS_BOX(&writer_add_section));
  m.impl("writer_set_normalization", DTS_BOX(&writer_set_normalization));
  m.impl("writer_seal", DTS_BOX(&writer_seal));
  m.impl("writer_publish", DTS_BOX(&writer_publish));
  m.impl("writer_abort", DTS_BOX(&writer_abort));
}

}  // namespace dts::ops
