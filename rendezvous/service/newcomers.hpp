// Newcomers: the peers of a coordinator that have not joined a job yet. Each has some time for it;
// when there are too many of them, the one that came first has to go.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>

#include "base/asio.hpp"

namespace ddprun {

class Newcomers {
 public:
  Newcomers(std::chrono::milliseconds time, std::size_t places)
      : time_{time}, places_{places}, all_{std::make_shared<OldestFirst>()} {}

  /// One newcomer's place, which it has as long as this lives, though go() may ask it to leave.
  class Place {
   public:
    Place(const Newcomers& newcomers, const asio::any_io_executor& executor);
    ~Place() { all_->erase(at_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Resolves when the newcomer has to go: its time is over, or there are too many.
    asio::awaitable<void> has_to_go();

   private:
    friend class Newcomers;
    asio::steady_timer time_;
    std::shared_ptr<std::list<Place*>> all_;
    std::list<Place*>::iterator at_;
  };

  /// How many there are.
  std::size_t size() const { return all_->size(); }

  /// Tells all of them to go.
  void clear();

 private:
  using OldestFirst = std::list<Place*>;

  std::chrono::milliseconds time_;
  std::size_t places_;
  std::shared_ptr<OldestFirst> all_;  // places may outlive the server, in their coroutines
};

}  // namespace ddprun
