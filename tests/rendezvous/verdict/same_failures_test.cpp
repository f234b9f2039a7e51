// Inquest counts how often rounds in a row fail alike and gain no step.
#include "rendezvous/verdict/inquest.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// A job of one rank, which fails in round after round.
class FailingRank {
 public:
  /// The rank has done that step, and raises that exception. Returns how often it did so in a row.
  int fails_at(std::int64_t step, const std::string& type) {
    inquest_.begin_round(++round_);
    inquest_.seat("n0", "h0", 0, 1);
    WorkerEnd end{.ranks = "0", .kind = FailureKind::kException, .blame = Blame::kOwn};
    end.fault = {type, "message", "train.py", 88, "step"};
    inquest_.ended("n0", WorkersEnded{round_, step, {end}});
    REQUIRE(inquest_.decide());
    return inquest_.same_in_a_row();
  }

 private:
  Inquest inquest_;
  int round_ = 0;
};

TEST_CASE("failures of the same root count in a row until a further step is done") {
  FailingRank rank;
  CHECK(rank.fails_at(120, "KeyError") == 1);
  CHECK(rank.fails_at(110, "KeyError") == 2);
  CHECK(rank.fails_at(120, "KeyError") == 3);
  CHECK(rank.fails_at(121, "KeyError") == 1);
  CHECK(rank.fails_at(121, "KeyError") == 2);
  CHECK(rank.fails_at(121, "OSError") == 1);
}

TEST_CASE("failures of a program that tells no steps count in a row") {
  FailingRank rank;
  CHECK(rank.fails_at(-1, "KeyError") == 1);
  CHECK(rank.fails_at(-1, "KeyError") == 2);
  CHECK(rank.fails_at(-1, "OSError") == 1);
}

}  // namespace
}  // namespace ddprun
