// SPDX-License-Identifier: Apache-2.0
// A line of a plan's text taken apart: `name key=number[,number...] ...`. Every number is
// checked against a range when it is asked for, and finish() finds keys nobody asked for.
// Input: text of the caller, which must outlive the line. Output: numbers. All errors are
// InvalidArgument with the line's number and name, the key, what was found and what was
// expected. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dts {

// What a number may be.
struct Range {
  double low = 0.0;
  double high = 0.0;
  bool without_low = false;  // low itself is outside
};

class PlanLine {
 public:
  // `number` counts from 1.
  PlanLine(std::string_view text, int number);

  const std::string& name() const { return name_; }
  bool has(std::string_view key);

  double real(std::string_view key, const Range& range);
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  // As integer, `otherwise` where the key is not there.
  std::int64_t integer_or(std::string_view key, std::int64_t low, std::int64_t high,
                          std::int64_t otherwise);
  // `count` numbers.
  std::vector<double> reals(std::string_view key, std::size_t count, const Range& range);
  std::vector<std::int64_t> integers(std::string_view key, std::size_t count, std::int64_t low,
                                     std::int64_t high);
  // One number or `channels` of them; none where the key is not there.
  std::vector<double> per_channel(std::string_view key, std::int64_t channels, const Range& range,
                                  bool whole = false);

  // After the last key was asked for.
  void finish() const;

  [[noreturn]] void refuse(std::string_view key, const std::string& expected) const;
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  struct Entry {
    std::string_view key, value;
  };
  const Entry* find(std::string_view key);
  const Entry& need(std::string_view key);
  std::vector<double> numbers(const Entry& entry, const std::string& expected) const;
  void check(const Entry& entry, std::span<const double> values, const Range& range, bool whole,
             const std::string& expected) const;

  std::string name_;
  int number_;
  std::vector<Entry> entries_;
  std::vector<std::string_view> asked_;
};

// A finite decimal or hexadecimal number that fills all of `text`, whatever the locale.
std::optional<double> parse_number(std::string_view text);

}  // namespace dts
