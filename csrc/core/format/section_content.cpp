// SPDX-License-Identifier: Apache-2.0
// read_section of format/sections.h: a section's bytes, checked and inflated.
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/crc32.h"
#include "base/error.h"
#include "format/sections.h"
#include "format/text.h"

namespace dts {
namespace {

// Ends the stream however its function is left.
struct Inflater {
  z_stream stream{};
  bool ready = false;
  Inflater() { ready = inflateInit(&stream) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

class SectionReader {
 public:
  SectionReader(const InputFile& file, const Section& section) : file_(file), section_(section) {}

  // Not compressed: straight into the result.
  std::vector<std::byte> read_plain() const {
    std::vector<std::byte> content(section_.stored_bytes);
    file_.read_exact(section_.offset, content);
    check_crc(crc32(0, content));
    return content;
  }

  // Two passes in pieces: the CRC of the stored bytes is known to be right before memory
  // for the raw ones is taken, and stored bytes never lie in memory as a whole.
  std::vector<std::byte> read_inflated() const {
    std::vector<std::byte> piece(std::min<std::uint64_t>(section_.stored_bytes, kPieceBytes));
    std::uint32_t crc = 0;
    for (std::uint64_t done = 0; done < section_.stored_bytes;) {
      crc = crc32(crc, next_piece(piece, done));
    }
    check_crc(crc);

    Inflater inflater;
    if (!inflater.ready) throw std::bad_alloc();
    z_stream& stream = inflater.stream;
    std::vector<std::byte> content(section_.raw_bytes);
    std::size_t filled = 0;
    std::byte beyond;  // a stream that is too long shows by filling this byte
    int status = Z_OK;
    for (std::uint64_t done = 0; status != Z_STREAM_END && done < section_.stored_bytes;) {
      const ByteSpan input = next_piece(piece, done);
      stream.next_in = reinterpret_cast<Bytef*>(input.data());
      stream.avail_in = static_cast<uInt>(input.size());
      while (status != Z_STREAM_END && stream.avail_in > 0) {
        const bool full = filled == content.size();
        const std::size_t room =
            full ? 1 : std::min<std::size_t>(content.size() - filled, kMaxStep);
        stream.next_out = reinterpret_cast<Bytef*>(full ? &beyond : content.data() + filled);
        stream.avail_out = static_cast<uInt>(room);
        status = ::inflate(&stream, Z_NO_FLUSH);
        const std::size_t gained = room - stream.avail_out;
        if (full && gained > 0) {
          fail("its zlib stream gives more than the " + std::to_string(section_.raw_bytes) +
               " raw bytes the table states");
        }
        filled += gained;
        if (status == Z_MEM_ERROR) throw std::bad_alloc();
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
          fail(std::string("its zlib stream is damaged (") +
               (stream.msg != nullptr ? stream.msg : "unexpected preset dictionary") + ")");
        }
      }
      if (status == Z_STREAM_END && (stream.avail_in > 0 || done < section_.stored_bytes)) {
        fail("its zlib stream ends " +
             std::to_string(section_.stored_bytes - done + stream.avail_in) +
             " bytes before the section does");
      }
    }
    if (status != Z_STREAM_END) fail("its zlib stream has no end");
    if (filled != content.size()) {
      fail("its zlib stream gives " + std::to_string(filled) + " bytes, expected " +
           std::to_string(section_.raw_bytes));
    }
    return content;
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMaxStep = std::numeric_limits<uInt>::max();

  ByteSpan next_piece(std::vector<std::byte>& piece, std::uint64_t& done) const {
    const ByteSpan part =
        ByteSpan(piece).first(std::min<std::uint64_t>(piece.size(), section_.stored_bytes - done));
    file_.read_exact(section_.offset + done, part);
    done += part.size();
    return part;
  }

  void check_crc(std::uint32_t crc) const {
    if (crc != section_.crc) {
      fail("CRC-32 is " + hex32(crc) + ", expected " + hex32(section_.crc));
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw CorruptFile(file_.path(), static_cast<std::int64_t>(section_.offset),
                      "section " + in_quotes(section_.tag) + ": " + problem);
  }

  const InputFile& file_;
  const Section& section_;
};

}  // namespace

std::vector<std::byte> read_section(const InputFile& file, const Section& section) {
  const SectionReader reader(file, section);
  return (section.flags & kSectionZlib) != 0 ? reader.read_inflated() : reader.read_plain();
}

}  // namespace dts
