// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_plan.h"

#include <random>

#include "support.h"

namespace {

using dts::Filter;
using dts::InvalidArgument;
using dts::parse_plan;
using dts::SamplePlan;
using dts::Step;
using dts::StepKind;
using dts::testing::check_message;

const std::string kSource = "source channels=3 max_pixels=0 pass_order=2\n";
const std::string kOutput = "output height=24 width=32 channels=3 dtype=1 layout=0 scale=1\n";

// Every operation with every key.
const std::string kEverything =
    "source channels=3 max_pixels=178956970 pass_order=1\n"
    "resized_crop op=0 height=224 width=192 scale=0x1.47ae147ae147bp-4,1 ratio=0.75,1.25 filter=3\n"
    "resize height=256 width=0 filter=2 max_size=300\n"
    "resize height=10 width=20 filter=5\n"
    "center_crop height=8 width=9\n"
    "random_crop op=1 height=5 width=6 padding=1,2,3,4 fill=7,8,9 pad_mode=3 pad_if_needed=1\n"
    "pad padding=4,-3,2,1 fill=255 pad_mode=2\n"
    "horizontal_flip op=2 p=0.5\n"
    "vertical_flip op=3 p=1\n"
    "color_jitter op=4 brightness=0.6,1.4 saturation=0,2 hue=-0.1,0.1\n"
    "random_grayscale op=5 p=0.1\n"
    "rotation op=6 degrees=-10,20 filter=2 expand=0 fill=1 center=3.5,4\n"
    "autocontrast op=7 p=0.25\n"
    "gaussian_blur op=8 kernel=3,5 sigma=0.1,2\n"
    "grayscale channels=1\n"
    "output height=24 width=32 channels=1 dtype=3 layout=1 scale=2 mean=0.5 std=0.25\n"
    "erasing op=9 p=0.5 scale=0.02,0.33 ratio=0.3,3.3 random=1\n";

std::string with(const std::string& step) { return kSource + step + "\n" + kOutput; }

Step only_step(const std::string& line) { return parse_plan(with(line)).steps.at(0); }

void check_refused(const std::string& text, const std::string& message) {
  CAPTURE(text);
  check_message<InvalidArgument>([&] { parse_plan(text); }, "plan, " + message);
}

}  // namespace

TEST_CASE("every operation and every key of it is read") {
  const SamplePlan plan = parse_plan(kEverything);
  CHECK(plan.source_channels == 3);
  CHECK(plan.max_pixels == 178956970);
  CHECK(plan.pass_order == dts::PassOrder::kVerticalIfVeryTall);
  CHECK((plan.reader == dts::JpegReader::kAuto));
  const auto other =
      dts::parse_plan("source channels=3 max_pixels=0 pass_order=0 reader=1\n" + kOutput);
  CHECK((other.reader == dts::JpegReader::kLibjpeg));
  CHECK(!other.is_fast);
  CHECK(
      dts::parse_plan("source channels=3 max_pixels=0 pass_order=0 decode=1\n" + kOutput).is_fast);
  REQUIRE(plan.steps.size() == 14);
  const auto& s = plan.steps;
  CHECK(s[0].kind == StepKind::kResizedCrop);
  CHECK(s[0].height == 224);
  CHECK(s[0].width == 192);
  CHECK(s[0].scale == std::array<double, 2>{0.08, 1.0});
  CHECK(s[0].ratio == std::array<double, 2>{0.75, 1.25});
  CHECK(s[0].filter == Filter::kBicubic);
  CHECK(s[1].kind == StepKind::kResize);
  CHECK(s[1].width == 0);
  CHECK(s[1].max_size == 300);
  CHECK(s[2].filter == Filter::kHamming);
  CHECK(s[3].kind == StepKind::kCenterCrop);
  CHECK(s[3].height == 8);
  CHECK(s[3].width == 9);
  CHECK(s[4].kind == StepKind::kRandomCrop);
  CHECK(s[4].op == 1);
  CHECK(s[4].padding == std::array<std::int64_t, 4>{1, 2, 3, 4});
  CHECK(s[4].fill == std::vector<std::uint8_t>{7, 8, 9});
  CHECK(s[4].pad_mode == dts::PadMode::kSymmetric);
  CHECK(s[4].pad_if_needed);
  CHECK(s[5].kind == StepKind::kPad);
  CHECK(s[5].padding == std::array<std::int64_t, 4>{4, -3, 2, 1});
  CHECK(s[5].fill == std::vector<std::uint8_t>{255});
  CHECK(s[6].kind == StepKind::kHorizontalFlip);
  CHECK(s[6].op == 2);
  CHECK(s[6].p == 0.5);
  CHECK(s[7].kind == StepKind::kVerticalFlip);
  CHECK(s[8].kind == StepKind::kColorJitter);
  CHECK(s[8].jitter[0] == std::array<double, 2>{0.6, 1.4});
  CHECK_FALSE(s[8].jitter[1].has_value());
  CHECK(s[8].jitter[3] == std::array<double, 2>{-0.1, 0.1});
  CHECK(s[9].kind == StepKind::kRandomGrayscale);
  CHECK(s[10].kind == StepKind::kRotation);
  CHECK(s[10].range == std::array<double, 2>{-10.0, 20.0});
  CHECK(s[10].maybe_center == std::array<double, 2>{3.5, 4.0});
  CHECK(s[10].fill == std::vector<std::uint8_t>{1});
  CHECK_FALSE(s[10].expand);
  CHECK(s[11].kind == StepKind::kAutocontrast);
  CHECK(s[12].kind == StepKind::kGaussianBlur);
  CHECK(s[12].kernel == std::array<std::int64_t, 2>{3, 5});
  CHECK(s[12].range == std::array<double, 2>{0.1, 2.0});
  CHECK(s[13].kind == StepKind::kGrayscale);
  CHECK(s[13].channels == 1);
  CHECK(plan.height == 24);
  CHECK(plan.width == 32);
  CHECK(plan.tail.channels == 1);
  CHECK(plan.tail.type == dts::PixelType::kBfloat16);
  CHECK(plan.tail.format == dts::MemoryFormat::kChannelsLast);
  CHECK(plan.tail.scale);
  CHECK(plan.tail.multiply);
  CHECK(plan.tail.mean == std::vector<float>{0.5f});
  CHECK(plan.tail.std == std::vector<float>{0.25f});
  REQUIRE(plan.maybe_erasing.has_value());
  CHECK(plan.maybe_erasing->op == 9);
  CHECK(plan.maybe_erasing->p == 0.5);
  CHECK(plan.maybe_erasing->scale == std::array<double, 2>{0.02, 0.33});
  CHECK(plan.maybe_erasing->ratio == std::array<double, 2>{0.3, 3.3});
  CHECK(plan.maybe_erasing->random_values);
  CHECK(plan.image_values() == 24 * 32);
  CHECK(plan.image_bytes() == 2 * 24 * 32);
}

TEST_CASE("keys that are left out have their values") {
  const Step crop = only_step("random_crop op=0 height=5 width=6");
  CHECK(crop.padding == std::array<std::int64_t, 4>{});
  CHECK(crop.fill.empty());
  CHECK(crop.pad_mode == dts::PadMode::kConstant);
  CHECK_FALSE(crop.pad_if_needed);
  CHECK(only_step("resize height=5 width=0 filter=0 max_size=0").max_size == 0);
  CHECK_FALSE(only_step("rotation op=1 degrees=0,0 filter=0").maybe_center.has_value());
  const SamplePlan plan = parse_plan(kSource + kOutput);
  CHECK(plan.steps.empty());
  CHECK(plan.tail.mean.empty());
  CHECK_FALSE(plan.tail.multiply);
  CHECK_FALSE(plan.maybe_erasing.has_value());
}

TEST_CASE("erasing by values") {
  const std::string erasing = "erasing op=0 p=1 scale=0,1 ratio=1,1 value=";
  CHECK(parse_plan(kSource + kOutput + erasing + "0").maybe_erasing->values ==
        std::vector<float>{0.0f});
  CHECK(parse_plan(kSource + kOutput + erasing + "-1,0.5,300").maybe_erasing->values ==
        std::vector<float>{-1.0f, 0.5f, 300.0f});
  const std::string bytes = "output height=2 width=3 channels=3 dtype=0 layout=0 scale=0\n";
  check_refused(kSource + bytes + erasing + "256",
                "line 3 (erasing): value is '256', expected 1 or 3 numbers, each 0 to 255");
  check_refused(kSource + bytes + "erasing op=0 p=1 scale=0,1 ratio=1,1 random=1",
                "line 3 (erasing): random is '1', expected 0 for uint8 output");
  check_refused(kSource + kOutput + "erasing op=0 p=1 scale=0,1 ratio=1,1",
                "line 3 (erasing): found both or neither of value and random=1, expected one");
  check_refused(kSource + kOutput + "erasing op=0 p=1 scale=0,1.5 ratio=1,1 value=0",
                "line 3 (erasing): scale is '0,1.5', expected 2 numbers, each 0 to 1");
}

TEST_CASE("erasing that is left to others has a box and no values") {
  const std::string head =
      "source channels=3 max_pixels=0 pass_order=2\n"
      "output height=4 width=4 channels=3 dtype=0 layout=1 scale=0\n";
  const std::string line = "erasing op=2 p=0.5 scale=0.02,0.3 ratio=0.3,3.3 deferred=1";
  const auto plan = dts::parse_plan(head + line + "\n");
  REQUIRE(plan.maybe_erasing);
  CHECK(plan.maybe_erasing->deferred);
  CHECK(plan.maybe_erasing->values.empty());
  CHECK_THROWS_AS(dts::parse_plan(head + line + " value=0\n"), dts::InvalidArgument);
}

TEST_CASE("every number has its bounds") {
  check_refused(with("resize height=65536 width=1 filter=2"),
                "line 2 (resize): height is '65536', expected a whole number from 1 to 65535");
  check_refused(with("resize height=0 width=1 filter=2"),
                "line 2 (resize): height is '0', expected a whole number from 1 to 65535");
  check_refused(with("resize height=9 width=1 filter=6"),
                "line 2 (resize): filter is '6', expected a whole number from 0 to 5");
  check_refused(with("resize height=9 width=9 filter=2 max_size=10"),
                "line 2 (resize): max_size is '10', expected 0 beside a width");
  check_refused(with("resize height=9 width=0 filter=2 max_size=9"),
                "line 2 (resize): max_size is '9', expected 0, or more than the height");
  check_refused(with("horizontal_flip op=32767 p=0.5"),
                "line 2 (horizontal_flip): op is '32767', expected a whole number from 0 to 32766");
  check_refused(with("vertical_flip op=0 p=1.5"),
                "line 2 (vertical_flip): p is '1.5', expected 0 to 1");
  check_refused(with("gaussian_blur op=0 kernel=3,4 sigma=1,1"),
                "line 2 (gaussian_blur): kernel is '3,4', expected odd numbers");
  check_refused(
      with("gaussian_blur op=0 kernel=3,1025 sigma=1,1"),
      "line 2 (gaussian_blur): kernel is '3,1025', expected 2 numbers, each a whole number "
      "from 1 to 1023");
  check_refused(with("gaussian_blur op=0 kernel=3,3 sigma=0,1"),
                "line 2 (gaussian_blur): sigma is '0,1', expected 2 numbers, each above 0 and at "
                "most 1e+06");
  check_refused(with("gaussian_blur op=0 kernel=3,3 sigma=2,1"),
                "line 2 (gaussian_blur): sigma is '2,1', expected the lower bound first");
  check_refused(with("rotation op=0 degrees=0,1 filter=3"),
                "line 2 (rotation): filter is '3', expected 0 (nearest) or 2 (bilinear)");
  check_refused(with("rotation op=0 degrees=0,1 filter=2 expand=1"),
                "line 2 (rotation): expand is '1', expected a whole number from 0 to 0");
  check_refused(with("color_jitter op=0 hue=-0.6,0.1"),
                "line 2 (color_jitter): hue is '-0.6,0.1', expected 2 numbers, each -0.5 to 0.5");
  check_refused(with("color_jitter op=0 contrast=-1,0.1"),
                "line 2 (color_jitter): contrast is '-1,0.1', expected 2 numbers, each 0 to 1e+06");
  check_refused(with("resized_crop op=0 height=1 width=1 scale=0,1 ratio=0,1 filter=2"),
                "line 2 (resized_crop): ratio is '0,1', expected 2 numbers, each above 0 and at "
                "most 1e+06");
  check_refused(with("pad padding=1,2,3,70000"),
                "line 2 (pad): padding is '1,2,3,70000', expected 4 numbers, each a whole number "
                "from -65535 to 65535");
  check_refused(with("pad padding=1,2,3,4 fill=1.5"),
                "line 2 (pad): fill is '1.5', expected 1 or 3 numbers, each a whole number from 0 "
                "to 255");
  check_refused(with("pad fill=1"), "line 2 (pad): found no padding, expected padding=...");
  check_refused(with("grayscale channels=2"),
                "line 2 (grayscale): channels is '2', expected 1 or 3");
}

TEST_CASE("the source and the output have their bounds") {
  check_refused("source channels=2 max_pixels=0 pass_order=0\n" + kOutput,
                "line 1 (source): channels is '2', expected 1 or 3");
  check_refused("source channels=1 max_pixels=-1 pass_order=0\n" + kOutput,
                "line 1 (source): max_pixels is '-1', expected a whole number from 0 to "
                "9007199254740992");
  check_refused("source channels=1 max_pixels=0 pass_order=0 reader=2\n" + kOutput,
                "line 1 (source): reader is '2', expected a whole number from 0 to 1");
  check_refused("source channels=1 max_pixels=0 pass_order=3\n" + kOutput,
                "line 1 (source): pass_order is '3', expected a whole number from 0 to 2");
  check_refused(kSource + "output height=2 width=2 channels=3 dtype=4 layout=0 scale=0",
                "line 2 (output): dtype is '4', expected a whole number from 0 to 3");
  check_refused(kSource + "output height=2 width=2 channels=3 dtype=1 layout=0 scale=0 mean=0.5",
                "line 2 (output): found one of mean and std, expected both");
  check_refused(
      kSource + "output height=2 width=2 channels=3 dtype=1 layout=0 scale=0 mean=0,0 std=1",
      "line 2 (output): mean is '0,0', expected 1 or 3 numbers, each -3.4028234663852886e+38 to "
      "3.4028234663852886e+38");
  // Not zero, but zero as a float32.
  check_refused(
      kSource + "output height=2 width=2 channels=3 dtype=1 layout=0 scale=0 mean=0 std=1e-60",
      "line 2 (output): std is '1e-60', expected no 0, which would divide by zero");
  check_refused(
      kSource + "output height=2 width=2 channels=3 dtype=0 layout=0 scale=0 mean=0 std=1",
      "line 2 (output): dtype is '0', expected 1, 2 or 3 beside mean and std");
}

TEST_CASE("the number of channels is followed through the operations") {
  const std::string gray = "output height=2 width=2 channels=1 dtype=1 layout=0 scale=0\n";
  check_refused(kSource + gray,
                "line 2 (output): channels is '1', expected 3, which the operations give");
  CHECK(parse_plan(kSource + "grayscale channels=1\n" + gray).tail.channels == 1);
  CHECK(parse_plan(with("grayscale channels=3")).tail.channels == 3);
  check_refused(kSource + "grayscale channels=1\npad padding=1,1,1,1 fill=1,2,3\n" + gray,
                "line 3 (pad): fill is '1,2,3', expected 1 number, each a whole number from 0 to "
                "255");
  const std::string one = "source channels=1 max_pixels=0 pass_order=2\n";
  CHECK(parse_plan(one + gray).source_channels == 1);
  CHECK(parse_plan(one + "grayscale channels=3\n" + kOutput).tail.channels == 3);
}

TEST_CASE("lines have their order") {
  check_message<InvalidArgument>([] { parse_plan(""); },
                                 "plan: found no line 'output', expected one");
  check_message<InvalidArgument>([] { parse_plan(kSource); },
                                 "plan: found no line 'output', expected one");
  check_refused(kOutput, "line 1 (output): expected the line 'source' first");
  check_refused(kSource + kSource + kOutput,
                "line 2 (source): unknown operation, expected one of: resized_crop, resize, "
                "center_crop, random_crop, pad, horizontal_flip, vertical_flip, color_jitter, "
                "grayscale, random_grayscale, rotation, autocontrast, gaussian_blur, output");
  check_refused(kSource + kOutput + kOutput,
                "line 3 (output): expected nothing behind 'output' but one 'erasing'");
  const std::string erasing = "erasing op=0 p=1 scale=0,1 ratio=1,1 value=0\n";
  check_refused(kSource + kOutput + erasing + erasing,
                "line 4 (erasing): expected nothing behind 'output' but one 'erasing'");
  check_refused(kSource + kOutput.substr(0, kOutput.size() - 1) + " more=1",
                "line 2 (output): unknown key 'more', expected one of: height, width, channels, "
                "dtype, layout, scale, mean, std");
}

TEST_CASE("a plan is not endless") {
  std::string steps;
  for (int i = 0; i < 64; ++i) steps += "horizontal_flip op=1 p=1\n";
  CHECK(parse_plan(kSource + steps + kOutput).steps.size() == 64);
  check_refused(kSource + steps + steps + kOutput,
                "line 66 (horizontal_flip): found more operations, expected at most 64");
  check_message<InvalidArgument>([] { parse_plan(std::string(65537, ' ')); },
                                 "plan: the text has 65537 bytes, expected at most 65536");
}

TEST_CASE("text that was tampered with is read or refused, never more") {
  std::mt19937 random(5);
  const std::string bytes = "0123456789.,=- xpe\n\0\xFF-+_abcfilr";
  int num_read = 0, num_refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = kEverything;
    for (std::uint32_t k = 1 + random() % 3; k > 0; --k) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, 1, bytes[random() % bytes.size()]);
          break;
        case 2:
          text[at] = bytes[random() % bytes.size()];
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 60));
      }
    }
    try {
      const SamplePlan plan = parse_plan(text);
      ++num_read;
      CHECK(plan.steps.size() <= 64);
      CHECK(plan.height >= 1);
      CHECK(plan.height <= 65535);
      CHECK((plan.tail.channels == 1 || plan.tail.channels == 3));
      for (const Step& step : plan.steps) CHECK(step.op < 32767);
    } catch (const InvalidArgument& error) {
      ++num_refused;
      CHECK(std::string(error.what()).starts_with("plan"));
    }
  }
  CHECK(num_read > 20);
  CHECK(num_refused > 100);
}
