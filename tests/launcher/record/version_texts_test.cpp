#include "launcher/record/version_texts.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a virtual environment has the version of its Python, whichever tool made it") {
  CHECK(python_version_of_venv("home = /usr/bin\nversion = 3.11.2\n") == "3.11.2");
  CHECK(python_version_of_venv("version_info = 3.12.1.final.0\n") == "3.12.1");
  CHECK(python_version_of_venv("home = /usr/bin\r\nversion_info=3.12.1\r\n") == "3.12.1");
  CHECK(python_version_of_venv("") == "");
  CHECK(venv_value("home = /usr/bin\n", "home") == "/usr/bin");
}

TEST_CASE("the names of Python and of its folder tell its version") {
  CHECK(python_version_in_name("python3.11") == "3.11");
  for (const char* name : {"python3", "python", "python3.", "python.3", "python3.x", "perl5.3", ""})
    CHECK(python_version_in_name(name) == "");
  CHECK(python_version_of_folder("3.11", "cpython-3.11.4-linux") == "3.11.4");
  CHECK(python_version_of_folder("3.11", "3.11.9") == "3.11.9");
  CHECK(python_version_of_folder("3.11", "usr") == "3.11");
  CHECK(python_version_of_folder("", ".1") == "");
}

TEST_CASE("torch's version is found in its file") {
  CHECK(torch_version_in("__all__ = ['__version__']\n__version__ = '2.11.0+cpu'\n") ==
        "2.11.0+cpu");
  CHECK(torch_version_in("__version__: str = \"2.4.1\"") == "2.4.1");
  CHECK(torch_version_in("__version__ = 'open") == "");
  CHECK(torch_version_in("") == "");
}

TEST_CASE("the driver's version is the first number with points") {
  CHECK(driver_version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n"
                          "GCC version:  gcc version 12.2.0\n") == "535.104.05");
  CHECK(
      driver_version_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  R") ==
      "560.35.03");
  CHECK(driver_version_in("GCC\n1.2.3") == "");
}

}  // namespace
}  // namespace ddprun
