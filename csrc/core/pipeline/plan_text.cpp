// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace dts {
namespace {

// No list of a plan is longer.
constexpr std::size_t kMaxNumbers = 16;
// Found text in messages is cut here.
constexpr std::size_t kMaxQuoted = 60;

std::string number_text(double value) {
  char text[32];
  const auto result = std::to_chars(text, text + sizeof(text), value);
  return {text, result.ptr};
}

std::string range_text(const Range& range, bool whole) {
  if (range.without_low) {
    return "above " + number_text(range.low) + " and at most " + number_text(range.high);
  }
  return std::string(whole ? "a whole number from " : "") + number_text(range.low) + " to " +
         number_text(range.high);
}

// Plans are ASCII; anything else must not reach a message as it is.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, kMaxQuoted)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > kMaxQuoted ? "...'" : "'");
}

Range whole_range(std::int64_t low, std::int64_t high) {
  return {static_cast<double>(low), static_cast<double>(high)};
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  auto format = std::chars_format::general;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    format = std::chars_format::hex;
    text.remove_prefix(2);
  }
  if (text.starts_with('-')) return std::nullopt;
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, format);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) return std::nullopt;
  return is_negative ? -value : value;
}

PlanLine::PlanLine(std::string_view text, int number) : number_(number) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (name_.empty()) {
      const std::string printable = quoted(word);
      name_ = printable.substr(1, printable.size() - 2);
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      fail("found " + quoted(word) + ", expected key=number");
    }
    const std::string_view key = word.substr(0, equals);
    for (const Entry& entry : entries_) {
      if (entry.key == key) fail("the key " + quoted(key) + " stands there twice, expected once");
    }
    entries_.push_back({key, word.substr(equals + 1)});
  }
}

void PlanLine::fail(const std::string& problem) const {
  throw InvalidArgument("plan, line " + std::to_string(number_) + " (" + name_ + "): " + problem);
}

void PlanLine::refuse(std::string_view key, const std::string& expected) const {
  std::string_view value;
  for (const Entry& entry : entries_) {
    if (entry.key == key) value = entry.value;
  }
  fail(std::string(key) + " is " + quoted(value) + ", expected " + expected);
}

const PlanLine::Entry* PlanLine::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.push_back(key);
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const PlanLine::Entry& PlanLine::need(std::string_view key) {
  const Entry* const entry = find(key);
  if (entry == nullptr)
    fail("found no " + std::string(key) + ", expected " + std::string(key) + "=...");
  return *entry;
}

bool PlanLine::has(std::string_view key) { return find(key) != nullptr; }

std::vector<double> PlanLine::numbers(const Entry& entry, const std::string& expected) const {
  std::vector<double> values;
  std::string_view rest = entry.value;
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::optional<double> value = parse_number(rest.substr(0, end));
    if (!value || values.size() == kMaxNumbers) refuse(entry.key, expected);
    values.push_back(*value);
    if (end == rest.size()) return values;
    rest.remove_prefix(end + 1);
  }
}

void PlanLine::check(const Entry& entry, std::span<const double> values, const Range& range,
                     bool whole, const std::string& expected) const {
  for (const double value : values) {
    const bool is_inside =
        (range.without_low ? value > range.low : value >= range.low) && value <= range.high;
    if (!is_inside || (whole && value != std::floor(value))) refuse(entry.key, expected);
  }
}

double PlanLine::real(std::string_view key, const Range& range) {
  return reals(key, 1, range).front();
}

std::vector<double> PlanLine::reals(std::string_view key, std::size_t count, const Range& range) {
  const Entry& entry = need(key);
  const std::string expected =
      (count == 1 ? "" : std::to_string(count) + " numbers, each ") + range_text(range, false);
  std::vector<double> values = numbers(entry, expected);
  if (values.size() != count) refuse(key, expected);
  check(entry, values, range, false, expected);
  return values;
}

std::int64_t PlanLine::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  return integers(key, 1, low, high).front();
}

std::int64_t PlanLine::integer_or(std::string_view key, std::int64_t low, std::int64_t high,
                                  std::int64_t otherwise) {
  return has(key) ? integer(key, low, high) : otherwise;
}

std::vector<std::int64_t> PlanLine::integers(std::string_view key, std::size_t count,
                                             std::int64_t low, std::int64_t high) {
  const Entry& entry = need(key);
  const Range range = whole_range(low, high);
  const std::string expected =
      (count == 1 ? "" : std::to_string(count) + " numbers, each ") + range_text(range, true);
  const std::vector<double> values = numbers(entry, expected);
  if (values.size() != count) refuse(key, expected);
  check(entry, values, range, true, expected);
  std::vector<std::int64_t> result;
  for (const double value : values) result.push_back(static_cast<std::int64_t>(value));
  return result;
}

std::vector<double> PlanLine::per_channel(std::string_view key, std::int64_t channels,
                                          const Range& range, bool whole) {
  const Entry* const entry = find(key);
  if (entry == nullptr) return {};
  const std::string expected =
      (channels == 1 ? std::string("1 number") : "1 or " + std::to_string(channels) + " numbers") +
      ", each " + range_text(range, whole);
  std::vector<double> values = numbers(*entry, expected);
  if (values.size() != 1 && values.size() != static_cast<std::size_t>(channels)) {
    refuse(key, expected);
  }
  check(*entry, values, range, whole, expected);
  return values;
}

void PlanLine::finish() const {
  for (const Entry& entry : entries_) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) != asked_.end()) continue;
    std::string known;
    for (const std::string_view key : asked_)
      known += (known.empty() ? "" : ", ") + std::string(key);
    fail("unknown key " + quoted(entry.key) + ", expected one of: " + known);
  }
}

}  // namespace dts
