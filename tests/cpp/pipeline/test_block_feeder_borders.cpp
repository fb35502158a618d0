// SPDX-License-Identifier: Apache-2.0
// Units of whole blocks with single samples of further ones, as at the borders of a rank's share.
#include "base/error.h"
#include "fake_source.h"
#include "pipeline/block_feeder.h"

namespace dts {
namespace {

using testing::check_views;
using testing::FakeSource;

using Numbers = std::vector<std::int64_t>;

FeederOptions options_of(int readers) {
  FeederOptions options;
  options.reader_threads = readers;
  return options;
}

void run_unit(BlockFeeder& feeder, const ReadUnit& unit) {
  feeder.start();
  feeder.append(unit);
  check_views(feeder.wait(0), unit.samples);
  feeder.release(0, static_cast<std::int64_t>(unit.samples.size()));
  feeder.stop();
}

TEST_CASE("feeder: of a block at the border of a unit only the samples are read") {
  for (const int readers : {1, 2, 3}) {
    CAPTURE(readers);
    const auto source = std::make_shared<FakeSource>(Numbers{4, 4, 4});
    BlockFeeder feeder(source, options_of(readers));
    run_unit(feeder, {{9, 4, 3, 7, 2, 5, 6}, {1}});
    CHECK(feeder.stats().blocks_read == 1);
    CHECK(feeder.stats().bytes_read ==
          static_cast<std::int64_t>(FakeSource::kBlockBytes + FakeSource::size_of(9) +
                                    FakeSource::size_of(3) + FakeSource::size_of(2)));
    CHECK(source->block_reads(0) + source->block_reads(2) == 0);
    CHECK(source->sample_reads(4) + source->sample_reads(8) == 0);
  }
}

TEST_CASE("feeder: an error of single samples beside blocks is the unit's") {
  const auto source = std::make_shared<FakeSource>(Numbers{4, 4});
  source->on_samples = [](std::span<const std::int64_t>) {
    throw InvalidArgument("the disk is gone");
  };
  BlockFeeder feeder(source, options_of(2));
  feeder.start();
  feeder.append({{1, 4, 5}, {1}});
  CHECK_THROWS_WITH_AS(feeder.wait(0), "the disk is gone", InvalidArgument);
  feeder.release(0, 3);
  source->on_samples = nullptr;
  feeder.stop();
  run_unit(feeder, {{1, 4, 5}, {1}});
}

}  // namespace
}  // namespace dts
