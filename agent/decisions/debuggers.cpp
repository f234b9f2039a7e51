#include "agent/decisions/debuggers.hpp"

namespace ddprun {

void Debuggers::changed(const DebuggersChanged& event) {
  if (is_over(workers_)) return;
  told_ = Debugging{workers_.number(), event.ranks};
  agent_.tell(*told_);
}

void Debuggers::tell_again() {
  if (told_ && is_of(told_->round)) agent_.tell(*told_);
}

void Debuggers::heard(const RanksDebugged& all) {
  const bool any = !all.ranks.empty();
  if (!is_of(all.round) || any == (extended_in_ == all.round)) return;
  extended_in_ = any ? all.round : 0;
  agent_.act(ExtendTimeouts{any});
}

}  // namespace ddprun
