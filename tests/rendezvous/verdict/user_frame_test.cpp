// Which frame of a stack is the user's.
#include <string>
#include <vector>

#include "rendezvous/verdict/crash.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

const std::string kPackages = "/v/lib/python3.11/site-packages/";
const std::string kDecoder = "/usr/lib/python3.11/json/decoder.py";

/// The file of the user's frame in a stack with these files, the innermost first; "" without one.
std::string file_of(const std::vector<std::string>& files) {
  std::vector<Frame> frames;
  for (const std::string& file : files) frames.push_back({"f", file, 1});
  const Frame* const frame = user_frame(frames);
  return frame == nullptr ? "" : frame->file;
}

TEST_CASE("the user's own file comes before all packages") {
  CHECK(file_of({kDecoder, kPackages + "x/y.py", "/me/t.py", kPackages + "launch/run.py"}) ==
        "/me/t.py");
  CHECK(file_of({}).empty());
}

TEST_CASE("of an installed program the innermost line of its own is named") {
  const std::string main = kPackages + "trainer/__main__.py";
  const std::string load = kPackages + "trainer/data/load.py";
  CHECK(file_of({kDecoder, load, main, "<frozen runpy>"}) == load);
  CHECK(file_of({kPackages + "numpy/core.py", load, kPackages + "numpy/core.py", main}) == load);
  CHECK(file_of({kDecoder, main, "<frozen runpy>"}) == main);
  CHECK(file_of({kDecoder, "/usr/lib/python3/dist-packages/trainer.py", "<frozen runpy>"}) ==
        "/usr/lib/python3/dist-packages/trainer.py");
}

TEST_CASE("torch is nobody's program, and neither is Python itself") {
  const std::string torch = kPackages + "torch/nn/modules/module.py";
  CHECK(file_of({kDecoder, kPackages + "trainer/net.py", torch}) == kPackages + "trainer/net.py");
  CHECK(file_of({torch, kDecoder}) == torch);
  CHECK(file_of({kDecoder, torch}) == kDecoder);
  CHECK(file_of({"", kPackages + "torch/lib/libtorch_cpu.so"}).empty());
}

TEST_CASE("ddprun's own module is a library, installed or in a clone of the sources") {
  const std::string trainer = kPackages + "trainer/net.py";
  for (const std::string& call : {kPackages + "ddprun/_call.py",
                                  std::string{"/src/ddprun/worker_sdk/python/ddprun/_call.py"}}) {
    CHECK(is_library_file(call));
    CHECK(file_of({call, "/me/t.py", call, "<frozen runpy>"}) == "/me/t.py");
    CHECK(file_of({kDecoder, trainer, call, "<frozen runpy>"}) == trainer);
    CHECK(file_of({call, "<frozen runpy>"}) == call);
  }
}

}  // namespace
}  // namespace ddprun
