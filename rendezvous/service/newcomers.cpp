#include "rendezvous/service/newcomers.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace ddprun {

Newcomers::Place::Place(const Newcomers& newcomers, const asio::any_io_executor& executor)
    : time_{executor, newcomers.time_}, all_{newcomers.all_} {
  // Those that have to go leave the list when their coroutines end, so the first ones may have been
  // asked already: this asks as many as there are too many.
  std::size_t too_many =
      all_->size() + 1 > newcomers.places_ ? all_->size() + 1 - newcomers.places_ : 0;
  for (auto oldest = all_->begin(); too_many > 0; ++oldest, --too_many)
    (*oldest)->time_.expires_at(asio::steady_timer::time_point::min());
  at_ = all_->insert(all_->end(), this);
}

asio::awaitable<void> Newcomers::Place::has_to_go() {
  co_await time_.async_wait(asio::as_tuple(asio::use_awaitable));
}

void Newcomers::clear() {
  for (Place* place : *all_) place->time_.expires_at(asio::steady_timer::time_point::min());
}

}  // namespace ddprun
