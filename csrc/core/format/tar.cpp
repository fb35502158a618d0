// SPDX-License-Identifier: Apache-2.0
#include "format/tar.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

constexpr std::uint64_t kUnit = 512;
// A page: a header, and what follows of short extended headers and small files.
constexpr std::size_t kWindowBytes = 4096;
// Names and pax records are small; more is no name but an attack on our memory.
constexpr std::uint64_t kMaxExtendedBytes = std::uint64_t{1} << 20;
// How far behind the end mark another archive is looked for.
constexpr std::uint64_t kMaxTailBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;

struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kSize{124, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kLink{157, 100};
constexpr Field kMagic{257, 8};
constexpr Field kPrefix{345, 155};
// Where GNU's sparse headers say that a unit with more of the map follows: in the member's own
// header, and in such a unit.
constexpr std::size_t kMoreMap = 482;
constexpr std::size_t kStillMoreMap = 504;

// What extended headers say of the member behind them.
struct Extended {
  std::optional<std::string> name;
  std::optional<std::string> sparse_name;  // the true one: "path" is made up then
  std::optional<std::string> target;
  std::optional<std::uint64_t> size;
  bool is_sparse = false;
};

class Walker {
 public:
  Walker(const InputFile& file, std::uint64_t begin, std::uint64_t end)
      : file_(file), begin_(begin), end_(end), window_(kWindowBytes) {}

  TarListing list(std::uint64_t position, std::size_t max_members) {
    TarListing found;
    while (found.members.size() / 3 < max_members) {
      if (!read_member(position, found)) return found;
    }
    found.next = static_cast<std::int64_t>(position);
    return found;
  }

 private:
  [[noreturn]] void fail(std::uint64_t at, const std::string& problem) const {
    throw CorruptFile(file_.path(), static_cast<std::int64_t>(at), problem);
  }

  // The 512 bytes at `position`; empty behind the last whole unit.
  ConstByteSpan unit(std::uint64_t position) {
    if (position > end_ || end_ - position < kUnit) return {};
    if (position < window_start_ || position + kUnit > window_start_ + window_bytes_) {
      const auto wanted = std::min<std::uint64_t>(kWindowBytes, end_ - position);
      window_bytes_ = file_.read_some(position, ByteSpan(window_).first(wanted));
      window_start_ = position;
      if (window_bytes_ < kUnit) fail(position + window_bytes_, "the file became shorter");
    }
    return ConstByteSpan(window_).subspan(position - window_start_, kUnit);
  }

  static bool is_zero(ConstByteSpan bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  }

  static std::string_view text_at(ConstByteSpan header, Field field) {
    const std::string_view text = as_text(header.subspan(field.offset, field.size));
    return text.substr(0, text.find('\0'));
  }

  static std::optional<std::uint64_t> octal(std::string_view text) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) return 0;
    text = text.substr(start);
    text = text.substr(0, text.find_first_of(std::string_view(" \0", 2)));
    std::uint64_t value = 0;
    if (text.empty()) return value;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
    if (problem != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return value;
  }

  std::uint64_t size_of(ConstByteSpan header, std::uint64_t position) const {
    const auto bytes = header.subspan(kSize.offset, kSize.size);
    std::optional<std::uint64_t> value;
    if ((bytes[0] & std::byte{0x80}) == std::byte{0}) {
      value = octal(as_text(bytes));
    } else if (bytes[0] == std::byte{0x80}) {
      // Big-endian binary; 2^62 bytes would need the upper bytes, which must be zero.
      std::uint64_t number = 0;
      for (const std::byte b : bytes.last(8)) number = number << 8 | std::to_integer<unsigned>(b);
      if (is_zero(bytes.subspan(1, 3))) value = number;
    }
    if (!value || *value > kMaxSize) {
      fail(position + kSize.offset, "a member's size field is " + in_quotes(as_text(bytes)) +
                                        ", expected an octal or base-256 number");
    }
    return *value;
  }

  static bool has_right_checksum(ConstByteSpan header) {
    const auto stored = octal(as_text(header.subspan(kChecksum.offset, kChecksum.size)));
    if (!stored) return false;
    std::uint64_t sum = 0;
    std::int64_t signed_sum = 0;  // as some old programs summed
    for (std::size_t i = 0; i < kUnit; ++i) {
      const bool is_sum = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size;
      const unsigned value = is_sum ? ' ' : std::to_integer<unsigned>(header[i]);
      sum += value;
      signed_sum += static_cast<signed char>(value);
    }
    return *stored == sum || static_cast<std::int64_t>(*stored) == signed_sum;
  }

  static std::string name_of(ConstByteSpan header) {
    std::string name(text_at(header, kName));
    // GNU's magic is "ustar  \0" and uses the place of the prefix for other things.
    const bool is_ustar = as_text(header.subspan(kMagic.offset, 6)) == std::string_view("ustar", 6);
    const std::string_view prefix = is_ustar ? text_at(header, kPrefix) : std::string_view();
    return prefix.empty() ? name : std::string(prefix) + "/" + name;
  }

  // Content of an extended header, `size` bytes behind the unit at `position`.
  std::string read_extended(std::uint64_t position, std::uint64_t size) {
    if (size > kMaxExtendedBytes) {
      fail(position, "an extended header of " + std::to_string(size) + " bytes, expected at most " +
                         std::to_string(kMaxExtendedBytes));
    }
    check_fits("an extended header", position + kUnit, size);
    std::string content(size, '\0');
    const auto bytes = std::as_writable_bytes(std::span(content));
    if (file_.read_some(position + kUnit, bytes) != size) fail(position, "the file became shorter");
    return content;
  }

  void check_fits(const std::string& what, std::uint64_t start, std::uint64_t size) const {
    if (size <= end_ - start) return;
    fail(end_, "the archive is cut off: " + what + " has " + std::to_string(size) +
                   " bytes from byte " + std::to_string(start) +
                   " on, but the archive ends at byte " + std::to_string(end_) + "; get it again");
  }

  // pax records: "<length> <key>=<value>\n", the length counts all of it.
  void read_pax(std::uint64_t position, const std::string& content, Extended& extended) const {
    std::string_view rest = content;
    const auto bad = [&] {
      fail(position + kUnit, "a pax record that is no '<length> <key>=<value>'");
    };
    while (!rest.empty() && rest[0] != '\0') {
      std::uint64_t length = 0;
      const auto [stop, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
      const auto digits = static_cast<std::size_t>(stop - rest.data());
      if (problem != std::errc{} || length > rest.size() || length < digits + 3) bad();
      std::string_view record = rest.substr(digits, length - digits);
      const std::size_t equals = record.find('=');
      if (record.front() != ' ' || record.back() != '\n' || equals == std::string_view::npos) bad();
      const std::string_view key = record.substr(1, equals - 1);
      const std::string_view value = record.substr(equals + 1, record.size() - equals - 2);
      if (key == "path" || key == "linkpath" || key == "GNU.sparse.name") {
        if (value.find('\0') != std::string_view::npos) bad();
        extended.is_sparse |= key == "GNU.sparse.name";
        (key == "path"       ? extended.name
         : key == "linkpath" ? extended.target
                             : extended.sparse_name) = std::string(value);
      } else if (key == "size") {
        std::uint64_t size = 0;
        const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), size);
        if (wrong != std::errc{} || end != value.data() + value.size() || size > kMaxSize) bad();
        extended.size = size;
      } else if (key.starts_with("GNU.sparse.")) {
        extended.is_sparse = true;
      }
      rest = rest.substr(length);
    }
  }

  // Behind the end mark lies padding, or an archive that was appended without taking the mark
  // off: unpacking would leave its files out without a word.
  void check_tail(std::uint64_t position) {
    const std::uint64_t stop = std::min(end_, position + kMaxTailBytes);
    for (; position < stop; position += kUnit) {
      const ConstByteSpan next = unit(position);
      if (next.empty()) return;
      if (is_zero(next)) continue;
      if (has_right_checksum(next)) {
        fail(position,
             "another archive starts behind the end mark: join archives with "
             "'tar --concatenate', or pass each one by its name");
      }
      return;
    }
  }

  // One member with its extended headers; false at the end mark.
  bool read_member(std::uint64_t& position, TarListing& found) {
    Extended extended;
    for (;;) {
      const ConstByteSpan header = unit(position);
      if (header.empty()) {
        fail(position, position == begin_
                           ? "no tar archive: it is shorter than one header of 512 bytes"
                           : "the archive has no end mark, so it was cut off: get it again; if "
                             "nothing is missing, 'truncate -s +1024 FILE' adds the mark");
      }
      if (is_zero(header)) {
        check_tail(position + kUnit);
        return false;
      }
      if (!has_right_checksum(header)) {
        fail(position, position == begin_
                           ? "no tar archive: its first 512 bytes are no header"
                           : "the header of a member has a wrong checksum: the archive is damaged");
      }
      const char type = static_cast<char>(header[kType.offset]);
      const std::uint64_t size = size_of(header, position);
      if (type != 'L' && type != 'K' && type != 'x' && type != 'X' && type != 'g') {
        add_member(header, type, extended.size.value_or(size), extended, position, found);
        return true;
      }
      // The header lies in the window, which the next read may replace.
      std::string content = read_extended(position, size);
      if (type == 'L' || type == 'K') {
        content.resize(std::min(content.size(), content.find('\0')));
        (type == 'L' ? extended.name : extended.target) = std::move(content);
      } else if (type != 'g') {
        read_pax(position, content, extended);
      }
      position += kUnit + align_up(size, kUnit);
    }
  }

  void add_member(ConstByteSpan header, char type, std::uint64_t size, Extended& extended,
                  std::uint64_t& position, TarListing& found) {
    const bool is_sparse = type == 'S' || extended.is_sparse;
    if (extended.sparse_name) extended.name = std::move(extended.sparse_name);
    const std::string name = extended.name ? *std::move(extended.name) : name_of(header);
    if (type == 'M') {
      fail(position, "member " + in_quotes(name) +
                         " is a part of a multi-volume archive, which is not supported: unpack the "
                         "archive and convert the folder");
    }
    const std::string target =
        extended.target ? *std::move(extended.target) : std::string(text_at(header, kLink));
    // The rest of a sparse member's map lies between header and bytes. `header` ends here.
    std::uint64_t start = position + kUnit;
    bool has_more = type == 'S' && header[kMoreMap] != std::byte{0};
    for (; has_more; start += kUnit) {
      const ConstByteSpan map = unit(start);
      if (map.empty()) check_fits("the map of sparse member " + in_quotes(name), start, kUnit);
      has_more = map[kStillMoreMap] != std::byte{0};
    }
    const bool is_link = type == '1' || type == '2';
    const bool is_folder = type == '5' || (type == '\0' && name.ends_with('/'));
    // Links and folders have no bytes, whatever their size field says; devices neither.
    if (is_link || is_folder || type == '3' || type == '4' || type == '6') size = 0;
    check_fits("member " + in_quotes(name), start, size);
    position = start + align_up(size, kUnit);
    // A file is listed, and so is a type of nobody's; capitals are extensions with other content.
    if (type == '3' || type == '4' || type == '6') return;
    if (type >= 'A' && type <= 'Z' && !is_sparse) return;
    const TarKind kind = type == '1'   ? TarKind::kHardLink
                         : type == '2' ? TarKind::kSymlink
                         : is_folder   ? TarKind::kFolder
                         : is_sparse   ? TarKind::kSparse
                                       : TarKind::kFile;
    (found.names += name) += '\0';
    if (is_link) (found.targets += target) += '\0';
    found.members.insert(found.members.end(),
                         {static_cast<std::int64_t>(kind), static_cast<std::int64_t>(start),
                          static_cast<std::int64_t>(size)});
  }

  const InputFile& file_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  std::vector<std::byte> window_;
  std::uint64_t window_start_ = 0;
  std::uint64_t window_bytes_ = 0;
};

}  // namespace

TarListing list_tar(const InputFile& file, std::uint64_t begin, std::uint64_t end,
                    std::uint64_t position, std::size_t max_members) {
  if (end > kMaxSize || begin > end || position < begin || position > end) {
    throw InvalidArgument("position " + std::to_string(position) + " in an archive from byte " +
                          std::to_string(begin) + " to " + std::to_string(end));
  }
  return Walker(file, begin, end).list(position, max_members);
}

}  // namespace dts
