// SPDX-License-Identifier: Apache-2.0
// Pillow's resize by its definition: whole image, one pass after the other, one value at a
// time. Shares nothing with the code under test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "image/pictures.h"
#include "image/resample.h"

namespace dts::testing {

inline double filter_support(Filter filter) {
  switch (filter) {
    case Filter::kBox:
      return 0.5;
    case Filter::kBicubic:
      return 2.0;
    case Filter::kLanczos:
      return 3.0;
    default:
      return 1.0;
  }
}

inline double filter_value(Filter filter, double x) {
  const double pi = 3.141592653589793238462643;
  const double d = x < 0 ? -x : x;
  switch (filter) {
    case Filter::kBox:
      return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case Filter::kBilinear:
      return d < 1.0 ? 1.0 - d : 0.0;
    case Filter::kHamming:
      if (d == 0.0) return 1.0;
      if (d >= 1.0) return 0.0;
      return std::sin(d * pi) / (d * pi) *
             (static_cast<double>(0.54f) + static_cast<double>(0.46f) * std::cos(d * pi));
    case Filter::kBicubic:
      if (d < 1.0) return (1.5 * d - 2.5) * d * d + 1.0;
      if (d < 2.0) return (((d - 5.0) * d + 8.0) * d - 4.0) * -0.5;
      return 0.0;
    default: {
      if (x < -3.0 || x >= 3.0) return 0.0;
      if (x == 0.0) return 1.0;
      const double a = x * pi, b = x / 3 * pi;
      return std::sin(a) / a * (std::sin(b) / b);
    }
  }
}

struct Taps {
  std::int64_t first = 0;
  std::vector<std::int64_t> weights;  // of 2^22
};

inline Taps taps_of(Filter filter, std::int64_t in_size, std::int64_t out_size, std::int64_t i) {
  const double scale = static_cast<double>(in_size) / static_cast<double>(out_size);
  const double stretch = scale < 1.0 ? 1.0 : scale;
  const double inverse = 1.0 / stretch;
  const double support = filter_support(filter) * stretch;
  const double center = (static_cast<double>(i) + 0.5) * scale;
  Taps taps;
  taps.first = std::max(static_cast<std::int64_t>(center - support + 0.5), std::int64_t{0});
  const std::int64_t end = std::min(static_cast<std::int64_t>(center + support + 0.5), in_size);
  std::vector<double> exact;
  double sum = 0.0;
  for (std::int64_t p = taps.first; p < end; ++p) {
    exact.push_back(filter_value(filter, (static_cast<double>(p) - center + 0.5) * inverse));
    sum += exact.back();
  }
  for (double value : exact) {
    if (sum != 0.0) value /= sum;
    const double scaled = value * 4194304.0;
    taps.weights.push_back(static_cast<std::int64_t>(value < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  return taps;
}

inline std::uint8_t rounded(std::int64_t sum) {
  const std::int64_t value = (sum + (1 << 21)) >> 22;
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

inline Picture resize_columns(const Picture& in, Filter filter, std::int64_t width) {
  Picture out(in.height, width, in.channels);
  for (std::int64_t x = 0; x < width; ++x) {
    const Taps taps = taps_of(filter, in.width, width, x);
    for (std::int64_t y = 0; y < in.height; ++y) {
      for (std::int64_t c = 0; c < in.channels; ++c) {
        std::int64_t sum = 0;
        for (std::size_t t = 0; t < taps.weights.size(); ++t) {
          sum += in.at(y, taps.first + static_cast<std::int64_t>(t))[c] * taps.weights[t];
        }
        out.at(y, x)[c] = rounded(sum);
      }
    }
  }
  return out;
}

inline Picture resize_rows(const Picture& in, Filter filter, std::int64_t height) {
  Picture out(height, in.width, in.channels);
  for (std::int64_t y = 0; y < height; ++y) {
    const Taps taps = taps_of(filter, in.height, height, y);
    for (std::int64_t i = 0; i < in.width * in.channels; ++i) {
      std::int64_t sum = 0;
      for (std::size_t t = 0; t < taps.weights.size(); ++t) {
        sum += in.at(taps.first + static_cast<std::int64_t>(t), 0)[i] * taps.weights[t];
      }
      out.at(y, 0)[i] = rounded(sum);
    }
  }
  return out;
}

inline Picture resize_nearest(const Picture& in, std::int64_t width, std::int64_t height) {
  const auto positions = [](std::int64_t in_size, std::int64_t out_size) {
    const double step = static_cast<double>(in_size) / static_cast<double>(out_size);
    std::vector<std::int64_t> all;
    for (double at = step * 0.5; static_cast<std::int64_t>(all.size()) < out_size; at += step) {
      all.push_back(static_cast<std::int64_t>(at));
    }
    return all;
  };
  const auto columns = positions(in.width, width), rows = positions(in.height, height);
  Picture out(height, width, in.channels);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const std::uint8_t* from =
          in.at(rows[static_cast<std::size_t>(y)], columns[static_cast<std::size_t>(x)]);
      std::copy(from, from + in.channels, out.at(y, x));
    }
  }
  return out;
}

inline Picture reference_resize(const Picture& in, Filter filter, std::int64_t width,
                                std::int64_t height,
                                PassOrder order = PassOrder::kVerticalIfShrunkMore) {
  if (width == in.width && height == in.height) return cut(in, {0, 0, height, width});
  if (filter == Filter::kNearest) return resize_nearest(in, width, height);
  const auto columns = [&](const Picture& picture) {
    return width == in.width ? picture : resize_columns(picture, filter, width);
  };
  const auto rows = [&](const Picture& picture) {
    return height == in.height ? picture : resize_rows(picture, filter, height);
  };
  const bool shrinks = height < in.height;
  bool rows_first = false;
  if (order == PassOrder::kVerticalIfVeryTall) rows_first = shrinks && in.height > 100 * in.width;
  if (order == PassOrder::kVerticalIfShrunkMore) {
    rows_first = shrinks && in.height - height > 2 * (in.width - width);
  }
  return rows_first ? columns(rows(in)) : rows(columns(in));
}

}  // namespace dts::testing
