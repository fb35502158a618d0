// SPDX-License-Identifier: Apache-2.0
// Opening, closing and describing .dts files. All ops here are stateful (handles).
#include <algorithm>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/open_files.h"
#include "ops/paths.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

std::string json_number(const char* key, std::uint64_t value) {
  return "\"" + std::string(key) + "\":" + std::to_string(value);
}

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 ||
        static_cast<unsigned char>(c) >= 0x7F) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned char>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_float(float value) {
  char text[32];
  // A hostile header may hold NaN or infinity, which JSON has no word for.
  if (!(value - value == 0.0f)) return "null";
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  return text;
}

std::string describe_header(const Header& h) {
  std::string out = "{\"version\":[";
  for (int i = 0; i < 4; ++i) {
    out += (i ? "," : "") + std::to_string(h.version[static_cast<std::size_t>(i)]);
  }
  out += "],\"dataset_type\":" + json_text(h.dataset_type);
  out += ",\"color_type\":" + json_text(h.color_type);
  const std::pair<const char*, std::uint64_t> numbers[] = {
      {"is_training", h.is_training},
      {"compress_level", h.compress_level},
      {"val_set_prep", h.val_set_prep},
      {"num_classes", h.num_classes},
      {"image_width", h.image_width},
      {"image_height", h.image_height},
      {"num_channels", h.num_channels},
      {"num_samples", h.num_samples},
      {"num_volumes", h.num_volumes},
      {"volume_id", h.volume_id},
      {"total_blocks", h.total_blocks},
      {"num_blocks", h.num_blocks},
      {"total_bytes", h.total_bytes},
      {"header_bytes", h.header_bytes},
      {"block_bytes", h.block_bytes},
      {"block_size", h.block_size},
      {"block_header_size", h.block_header_size},
      {"pic_alignment", h.pic_alignment},
      {"max_pic_area", h.max_pic_area},
      {"max_pic_per_block", h.max_pic_per_block},
      {"crc_code", h.crc_code},
  };
  for (const auto& [key, value] : numbers) out += "," + json_number(key, value);
  out += ",\"compression_ratio\":" + json_float(h.compression_ratio);
  for (const auto& [key, values] : {std::pair{"normalize_mean", h.normalize_mean},
                                    std::pair{"normalize_std", h.normalize_std}}) {
    out += ",\"" + std::string(key) + "\":[" + json_float(values[0]) + "," + json_float(values[1]) +
           "," + json_float(values[2]) + "]";
  }
  return out + "}";
}

std::string describe_volume(const DtsFile& file) {
  std::string out = "{\"path\":" + json_text(escape_path(file.path()));
  out += ",\"header\":" + describe_header(file.header());
  out += "," + json_number("file_bytes", file.identity().size);
  out +=
      "," + json_number("index_room", file.header().has_blocks() ? file.header().index_room() : 0);
  out += ",\"sections\":[";
  bool is_first = true;
  for (const Section& section : file.sections().sections) {
    out += is_first ? "{" : ",{";
    is_first = false;
    out += "\"tag\":" + json_text(section.tag) + "," + json_number("flags", section.flags) + "," +
           json_number("offset", section.offset) + "," +
           json_number("stored_bytes", section.stored_bytes) + "," +
           json_number("raw_bytes", section.raw_bytes) + "," + json_number("crc", section.crc) +
           "}";
  }
  return out + "]}";
}

// `paths`: escaped, with '|' between two.
std::int64_t file_open(std::string paths, bool ignore_sections) {
  return guarded([&] {
    OpenOptions options;
    options.ignore_sections = ignore_sections;
    std::vector<std::string> names;
    for (std::size_t at = 0;;) {
      const std::size_t end = paths.find('|', at);
      names.push_back(unescape_path(paths.substr(at, end - at)));
      if (end == std::string::npos) break;
      at = end + 1;
    }
    return open_files().add(std::make_shared<OpenFile>(VolumeSet::open(std::move(names), options)));
  });
}

void file_close(std::int64_t handle) { open_files().take(handle); }

std::string file_describe(std::int64_t handle) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    const VolumeSet& set = open->set();
    std::string out = "{\"header\":" + describe_header(set.header()) + ",\"volumes\":[";
    for (std::size_t v = 0; v < set.num_volumes(); ++v) {
      out += (v == 0 ? "" : ",") + describe_volume(set.volume(v));
    }
    return out + "]}";
  });
}

Tensor file_head(std::int64_t handle, std::int64_t volume) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    const ConstByteSpan header = open->volume(volume).header_bytes();
    const auto& table = open->volume(volume).sections().bytes;
    std::vector<std::byte> head(header.begin(), header.end());
    head.insert(head.end(), table.begin(), table.end());
    return byte_tensor(head);
  });
}

Tensor file_section(std::int64_t handle, std::int64_t volume, std::string tag) {
  return guarded(
      [&] { return byte_tensor(open_files().get(handle)->volume(volume).section(tag)); });
}

std::tuple<Tensor, Tensor> file_block_table(std::int64_t handle) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    std::vector<std::int64_t> counts, crcs;
    for (const SampleTable* table : open->set().tables()) {
      for (std::size_t b = 0; b < table->block_crcs.size(); ++b) {
        counts.push_back(
            static_cast<std::int64_t>(table->first_sample[b + 1] - table->first_sample[b]));
        crcs.push_back(table->block_crcs[b]);
      }
    }
    return std::tuple{int64_tensor(counts), int64_tensor(crcs)};
  });
}

std::tuple<Tensor, Tensor, Tensor> file_sample_table(std::int64_t handle) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    const VolumeSet& set = open->set();
    const auto num_samples = static_cast<std::int64_t>(set.header().num_samples);
    Tensor offsets = new_int64(num_samples);
    Tensor sizes = new_int64(num_samples);
    auto* at_offset = static_cast<std::int64_t*>(offsets.data_ptr());
    auto* at_size = static_cast<std::int64_t*>(sizes.data_ptr());
    for (const SampleTable* table : set.tables()) {
      at_offset = std::copy(table->offsets.begin(), table->offsets.end(), at_offset);
      at_size = std::copy(table->sizes.begin(), table->sizes.end(), at_size);
    }
    return std::tuple{offsets, sizes, int64_tensor(set.source_order())};
  });
}

Tensor file_labels(std::int64_t handle) {
  return guarded([&] { return int64_tensor(open_files().get(handle)->set().labels()); });
}

void file_check_unchanged(std::int64_t handle) {
  guarded([&] {
    const auto open = open_files().get(handle);
    for (std::size_t v = 0; v < open->set().num_volumes(); ++v) {
      const DtsFile& file = open->set().volume(v);
      file.check_unchanged(file.handle());
    }
  });
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def("file_open(str paths, bool ignore_sections) -> int");
  m.def("file_close(int handle) -> ()");
  m.def("file_describe(int handle) -> str");
  m.def("file_head(int handle, int volume) -> Tensor");
  m.def("file_section(int handle, int volume, str tag) -> Tensor");
  m.def("file_block_table(int handle) -> (Tensor num_samples, Tensor crc32)");
  m.def("file_sample_table(int handle) -> (Tensor offsets, Tensor sizes, Tensor source_index)");
  m.def("file_labels(int handle) -> Tensor");
  m.def("file_check_unchanged(int handle) -> ()");
}

// Ops without tensor arguments have no backend to dispatch on; this key serves all.
STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("file_open", DTS_BOX(&file_open));
  m.impl("file_close", DTS_BOX(&file_close));
  m.impl("file_describe", DTS_BOX(&file_describe));
  m.impl("file_head", DTS_BOX(&file_head));
  m.impl("file_section", DTS_BOX(&file_section));
  m.impl("file_block_table", DTS_BOX(&file_block_table));
  m.impl("file_sample_table", DTS_BOX(&file_sample_table));
  m.impl("file_labels", DTS_BOX(&file_labels));
  m.impl("file_check_unchanged", DTS_BOX(&file_check_unchanged));
}

}  // namespace dts::ops
