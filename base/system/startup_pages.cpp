#include "base/system/startup_pages.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace ddprun {

namespace {

/// Segments that can be written to hold what the linker and the program have changed.
int give_back(dl_phdr_info* object, std::size_t /*size*/, void* /*unused*/) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const std::uintptr_t end =
        (object->dlpi_addr + segment.p_vaddr + segment.p_memsz) / page * page;
    // The linker tells addresses as numbers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void give_back_startup_pages() { dl_iterate_phdr(&give_back, nullptr); }

}  // namespace ddprun
