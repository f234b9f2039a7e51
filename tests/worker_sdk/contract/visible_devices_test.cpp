#include "worker_sdk/contract/visible_devices.hpp"

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("a list of GPUs ends where CUDA ends it") {
  struct Row {
    const char* list;
    std::vector<std::string> visible;
  };
  const Row rows[] = {{"0,2", {"0", "2"}},
                      {"3", {"3"}},
                      {"", {}},
                      {" ", {}},
                      {"-1", {}},
                      {"NoDevFiles", {}},
                      {"void", {}},
                      {"0,1,-1,2", {"0", "1"}},
                      {"0,,1", {"0"}},
                      {"0,", {"0"}},
                      {",0", {}},
                      {"0,4,1", {"0"}},
                      {"0,99999999999,1", {"0"}},
                      {" 1 , 0 ", {"1", "0"}},
                      {"+1,2ampere", {"+1", "2ampere"}},
                      {"1,0,1", {}},
                      {"1,01", {}},
                      {"GPU-8932f937,GPU-b1", {"GPU-8932f937", "GPU-b1"}},
                      {"GPU-8932f937,GPU-8932f937", {}},
                      {"GPU-8932f937,0", {"GPU-8932f937"}},
                      {"0,GPU-8932f937", {"0"}},
                      {"MIG-GPU-8932f937/1/0,MIG-b1", {"MIG-GPU-8932f937/1/0", "MIG-b1"}},
                      {"MIG-b1,GPU-8932f937", {"MIG-b1"}}};
  for (const Row& row : rows) {
    INFO(row.list);
    CHECK(visible_devices(row.list, 4) == row.visible);
  }
}

TEST_CASE("where the number of GPUs is not known, any number may be one") {
  CHECK(visible_devices("0,9,-1") == std::vector<std::string>{"0", "9"});
}

TEST_CASE("the number of a GPU is what its entry begins with") {
  CHECK(device_index("12") == 12);
  CHECK(device_index("+2ampere") == 2);
  for (const char* name : {"", "-1", "-0", "+-1", "GPU-1", "99999999999"})
    CHECK_FALSE(device_index(name).has_value());
}

}  // namespace
}  // namespace ddprun::sdk
