#include "base/system/fresh_id.hpp"

#include <fstream>

namespace ddprun {

std::string fresh_id() {
  std::ifstream uuid{"/proc/sys/kernel/random/uuid"};
  std::string id;
  std::getline(uuid, id);
  return id;
}

}  // namespace ddprun
