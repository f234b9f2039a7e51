#include "ddprun/device_prefetcher.hpp"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace ddprun::sdk {

struct CopyLane::Streams {
  explicit Streams(torch::Device device)
      : gpu{device.type()}, copying{gpu.getStreamFromGlobalPool(device)} {}
  c10::impl::VirtualGuardImpl gpu;
  c10::Stream copying;
};

struct CopyLane::Mark {
  explicit Mark(torch::DeviceType type) : event{type} {}
  c10::Event event;
};

CopyLane::CopyLane(torch::Device device) : device_{device} {
  if (device.is_cuda()) {
    if (!device.has_index()) device_ = c10::impl::VirtualGuardImpl{device.type()}.getDevice();
    streams_ = std::make_unique<Streams>(device_);
  }
}
CopyLane::~CopyLane() = default;

void CopyLane::copy(torch::Tensor& tensor) {
  if (!tensor.defined()) return;
  if (!streams_) {
    tensor = tensor.to(device_);
    return;
  }
  const c10::StreamGuard guard{streams_->copying};
  tensor = tensor.to(device_, /*non_blocking=*/true);
}

CopyLane::Marks CopyLane::mark() {
  if (!streams_) return nullptr;
  auto marks = std::make_shared<Mark>(device_.type());
  marks->event.record(streams_->copying);
  return marks;
}

void CopyLane::await(const Marks& marks) {
  if (marks) marks->event.block(streams_->gpu.getStream(device_));
}

void CopyLane::hand_over(const torch::Tensor& tensor) {
  if (streams_ && tensor.defined()) tensor.record_stream(streams_->gpu.getStream(device_));
}

}  // namespace ddprun::sdk
