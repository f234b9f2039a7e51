#include "base/machine/nvml_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "base/machine/devices.hpp"

namespace ddprun {

namespace {

constexpr NvmlFunction<> kInit{"nvmlInit_v2"};
constexpr NvmlFunction<> kShutdown{"nvmlShutdown"};
constexpr char kErrorText[] = "nvmlErrorString";

}  // namespace

/// A library that could not be initialised takes a shutdown for a mistake, and no harm.
void NvmlLibrary::Unload::operator()(void* library) const {
  if (void* const address = ::dlsym(library, kShutdown.symbol)) {
    int (*shutdown)() = nullptr;
    std::memcpy(&shutdown, &address, sizeof shutdown);
    shutdown();
  }
  ::dlclose(library);
}

Result<NvmlLibrary> NvmlLibrary::open(const std::string& path) {
  NvmlLibrary library{::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)};
  if (!library.library_) return Error{Error::Kind::kNotFound, ::dlerror()};
  for (const char* symbol : {kInit.symbol, kShutdown.symbol, kErrorText, nvml::kGpuCount.symbol,
                             nvml::kGpuByIndex.symbol, nvml::kPciInfo.symbol, nvml::kName.symbol})
    if (library.address_of(symbol) == nullptr)
      return Error{Error::Kind::kNotFound, "NVML lacks a function: the driver is too old"};
  if (const int code = library.call(kInit); code != kSuccess)
    return Error{Error::Kind::kUnavailable, library.error_text(code)};
  return library;
}

std::string NvmlLibrary::error_text(int code) const {
  return find<const char* (*)(int)>(kErrorText)(code);
}

Result<std::vector<NvmlListed>> NvmlLibrary::gpus() const {
  unsigned count = 0;
  if (const int code = call(nvml::kGpuCount, &count); code != kSuccess)
    return Error{Error::Kind::kUnavailable, error_text(code)};
  std::vector<NvmlListed> listed;
  for (unsigned index = 0; index < std::min(count, kNvmlGpusMax); ++index) {
    NvmlListed one{.index = index};
    NvmlPciInfo info{};
    std::array<char, 96> name{};
    if (!ask(nvml::kGpuByIndex, index, &one.gpu)) continue;
    if (ask(nvml::kPciInfo, one.gpu, &info)) one.bus_id = bus_id_of(info);
    if (ask(nvml::kName, one.gpu, name.data(), static_cast<unsigned>(name.size())))
      one.model = text_in(name);
    listed.push_back(std::move(one));
  }
  return listed;
}

void* NvmlLibrary::address_of(const char* symbol) const { return ::dlsym(library_.get(), symbol); }

std::string bus_id_of(const NvmlPciInfo& info) {
  return plain_bus_id({info.bus_id, ::strnlen(info.bus_id, sizeof info.bus_id)});
}

}  // namespace ddprun
