// SPDX-License-Identifier: Apache-2.0
#include "format/tar.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_corrupt;
using testing::patch;
using testing::TempDir;

std::string octal(std::uint64_t value, int width) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llo", width, static_cast<unsigned long long>(value));
  return text;
}

void seal(std::string& header) {
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header.substr(0, 512)) sum += static_cast<unsigned char>(c);
  header.replace(148, 7, octal(sum, 6) + '\0');
}

// A header of 512 bytes with a right checksum.
std::string header(const std::string& name, std::uint64_t size, char type = '0',
                   const std::string& link = "", const std::string& magic = "ustar  ") {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, 11, octal(size, 11));
  block[156] = type;
  block.replace(157, link.size(), link);
  block.replace(257, magic.size(), magic);
  seal(block);
  return block;
}

std::string padded(std::string content) {
  content.resize((content.size() + 511) / 512 * 512);
  return content;
}

std::string member(const std::string& name, const std::string& content, char type = '0') {
  return header(name, content.size(), type) + padded(content);
}

std::string pax(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return member("pax", std::to_string(length) + rest, 'x');
}

// A member of GNU's old sparse kind: header, more of its map, bytes.
std::string sparse(const std::string& name, int num_maps, const std::string& content) {
  std::string block = header(name, content.size(), 'S');
  block[482] = num_maps != 0 ? 1 : 0;
  seal(block);
  for (int i = 1; i <= num_maps; ++i) {
    std::string map(512, '7');
    map[504] = i < num_maps ? 1 : 0;
    block += map;
  }
  return block + padded(content);
}

const std::string kEnd(1024, '\0');

struct Archive {
  explicit Archive(const std::string& content) : size(content.size()) {
    patch(dir / "x.tar", 0, bytes_of(content));
  }
  TarListing list(std::size_t max_members = 1000, std::uint64_t position = 0) const {
    return list_tar(InputFile(dir / "x.tar"), 0, size, position, max_members);
  }
  TempDir dir;
  std::uint64_t size;
};

std::vector<std::string> split(const std::string& joined) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < joined.size();) {
    const std::size_t stop = joined.find('\0', at);
    parts.push_back(joined.substr(at, stop - at));
    at = stop + 1;
  }
  return parts;
}

using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

TEST_CASE("list_tar: files, folders and links") {
  const Archive archive(header("a", 0, '5') + member("a/1", std::string(700, 'x')) +
                        member("a/0", "") + header("h", 99, '1', "a/1") +
                        header("s", 0, '2', "../t") + header("fifo", 0, '6') +
                        member("old", "abc", '\0') + header("old/", 0, '\0') + kEnd);
  const TarListing found = archive.list();
  CHECK(split(found.names) == Names{"a", "a/1", "a/0", "h", "s", "old", "old/"});
  CHECK(split(found.targets) == Names{"a/1", "../t"});
  CHECK(found.members == Numbers{1, 512, 0,    0, 1024, 700,  0, 2560, 0,    2, 3072,
                                 0, 3,   3584, 0, 0,    4608, 3, 1,    5632, 0});
  CHECK(found.next == -1);
}

TEST_CASE("list_tar: in pieces, and inside of another file") {
  const std::string inner = member("a", "1") + member("b", "22") + member("c", "333") + kEnd;
  const Archive archive(inner);
  TarListing part = archive.list(2);
  CHECK(split(part.names) == Names{"a", "b"});
  CHECK(part.next == 2048);
  part = archive.list(2, static_cast<std::uint64_t>(part.next));
  CHECK(split(part.names) == Names{"c"});
  CHECK(part.members == Numbers{0, 2560, 3});
  CHECK(part.next == -1);

  const Archive outer(member("x.tar", inner) + member("d", "4") + kEnd);
  part = list_tar(InputFile(outer.dir / "x.tar"), 512, 512 + inner.size(), 512, 10);
  CHECK(split(part.names) == Names{"a", "b", "c"});
  CHECK(part.members == Numbers{0, 1024, 1, 0, 2048, 2, 0, 3072, 3});
}

TEST_CASE("list_tar: long names, prefixes and large sizes") {
  const std::string deep(300, 'n');
  std::string ustar = header("base", 0, '0', "", std::string("ustar\0", 6));
  ustar.replace(345, 3, "dir");
  seal(ustar);
  std::string big = header("big", 0);
  big.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\x05", 12));
  seal(big);
  std::string link = member("link", deep, 'K') + header("l", 0, '2', "short");
  const Archive archive(
      member("long", deep + '\0', 'L') + member("short", "1") + ustar + big + padded("12345") +
      link + pax("path", "pax name") + member("p", "22") + pax("size", "3") + header("q", 0) +
      padded("333") + pax("linkpath", "there") + header("r", 0, '2') +
      member("g", "25 comment=for all files\n", 'g') + member("last", "4") + kEnd);
  const TarListing found = archive.list();
  CHECK(split(found.names) == Names{deep, "dir/base", "big", "l", "pax name", "q", "r", "last"});
  CHECK(split(found.targets) == Names{deep, "there"});
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 2; i < found.members.size(); i += 3) sizes.push_back(found.members[i]);
  CHECK(sizes == Numbers{1, 0, 5, 0, 2, 3, 0, 1});
}

TEST_CASE("list_tar: sparse members of every kind, under their true names") {
  const std::string made_up = pax("path", "a/GNUSparseFile.0/p");
  const Archive archive(sparse("s0", 0, "123") + sparse("s1", 1, "12") + sparse("s9", 9, "1") +
                        pax("GNU.sparse.numblocks", "1") + member("p00", "1234") +
                        pax("GNU.sparse.name", "p01") + made_up + member("x", "12345") + made_up +
                        pax("GNU.sparse.major", "1") + pax("GNU.sparse.name", "p10") +
                        member("x", std::string(600, '1')) + member("last", "1234567") + kEnd);
  const TarListing found = archive.list();
  CHECK(split(found.names) == Names{"s0", "s1", "s9", "p00", "p01", "p10", "last"});
  CHECK(found.targets.empty());
  std::vector<std::int64_t> kinds;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < found.members.size(); i += 3) {
    kinds.push_back(found.members[i]);
    sizes.push_back(found.members[i + 2]);
  }
  CHECK(kinds == Numbers{4, 4, 4, 4, 4, 4, 0});
  CHECK(sizes == Numbers{3, 2, 1, 4, 5, 600, 7});
  CHECK(found.members[4] == 512 + 512 + 512 + 512);
}

TEST_CASE("list_tar: what is damaged or cut off") {
  const std::string good = member("a", "1");
  const auto fails = [](const std::string& content, std::int64_t offset, const std::string& text) {
    const Archive archive(content);
    const auto error = testing::thrown<CorruptFile>([&] { archive.list(); });
    CHECK(error.offset == offset);
    CHECK_MESSAGE(std::string(error.what()).find(text) != std::string::npos,
                  std::string(error.what()));
    CHECK(error.path == archive.dir / "x.tar");
  };
  fails("", 0, "no tar archive: it is shorter than one header");
  fails(std::string(600, 'x'), 0, "no tar archive: its first 512 bytes are no header");
  fails(good, 1024, "no end mark");
  fails(good + header("b", 2000) + padded("2"), 2048,
        "cut off: member 'b' has 2000 bytes from byte 1536 on, but the archive ends at byte 2048");
  std::string flipped = good + good + kEnd;
  flipped[1030] ^= 1;
  fails(flipped, 1024, "wrong checksum");
  fails(good + kEnd + good + kEnd, 2048, "another archive starts behind the end mark");
  fails(good + member("m", "", 'M') + kEnd, 1024, "part of a multi-volume archive");
  fails(good + sparse("s", 2, "").substr(0, 1024), 2048,
        "cut off: the map of sparse member 's' has 512 bytes");
  for (const char* record :
       {"x", "8 path=a\n", "99 path=abc\n", "8 pathab\n", "7path=a\n", "0 \n"}) {
    fails(member("pax", record, 'x') + good + kEnd, 512, "pax record");
  }
  fails(pax("size", "-1") + good + kEnd, 512, "pax record");
  fails(pax("size", "99999999999999999999") + good + kEnd, 512, "pax record");
  fails(header("long", std::uint64_t{1} << 30, 'L') + kEnd, 0, "an extended header of 1073741824");
  fails(header("long", 9999, 'L') + kEnd, 1536, "cut off: an extended header has 9999 bytes");
  std::string bad_size = good;
  bad_size.replace(124, 3, "9zz");
  seal(bad_size);
  fails(bad_size + kEnd, 124, "size field is '9zz");
  bad_size.replace(124, 12, std::string(12, '\xff'));
  seal(bad_size);
  fails(bad_size + kEnd, 124, "expected an octal or base-256 number");
}

TEST_CASE("list_tar: padding and rubbish behind the end mark are fine, and so is one zero unit") {
  const std::string good = member("a", "1");
  for (const std::string& tail : {kEnd + std::string(20480, '\0'), kEnd + std::string(700, 'x'),
                                  std::string(512, '\0'), std::string(600, '\0')}) {
    CHECK(split(Archive(good + tail).list().names) == Names{"a"});
  }
  CHECK(Archive(kEnd).list().names.empty());
}

TEST_CASE("list_tar: any byte of a header changed is no crash and no read outside") {
  const std::string good = pax("path", "name") + member("a", "12") + kEnd;
  const Archive archive(good);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char value : {'\0', '9', '\xff'}) {
      std::string changed = good;
      changed[at] = value;
      patch(archive.dir / "x.tar", 0, bytes_of(changed));
      try {
        const TarListing found = archive.list();
        for (std::size_t i = 0; i < found.members.size(); i += 3) {
          CHECK(found.members[i + 1] + found.members[i + 2] <=
                static_cast<std::int64_t>(archive.size));
        }
      } catch (const CorruptFile& error) {
        CHECK(error.offset >= 0);
      }
    }
  }
}

TEST_CASE("list_tar: positions outside") {
  const Archive archive(kEnd);
  const InputFile file(archive.dir / "x.tar");
  CHECK_THROWS_AS(list_tar(file, 0, 1024, 2000, 1), InvalidArgument);
  CHECK_THROWS_AS(list_tar(file, 1024, 0, 0, 1), InvalidArgument);
  CHECK_THROWS_AS(list_tar(file, 0, ~std::uint64_t{0}, 0, 1), InvalidArgument);
}

}  // namespace
}  // namespace dts
