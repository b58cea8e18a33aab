// What torch's autograd asks of "cuda" in a build without CUDA: one device, on which nothing ever has to wait.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

using c10::Device, c10::DeviceIndex, c10::DeviceType, c10::Stream;

struct Guard final : public c10::impl::NoOpDeviceGuardImpl<DeviceType::CUDA> {
  Device here{DeviceType::CUDA, 0};
  Stream stream{Stream::DEFAULT, here};
  Device exchangeDevice(Device) const override { return here; }
  Device getDevice() const override { return here; }
  Stream getStream(Device) const noexcept override { return stream; }
  Stream getDefaultStream(Device) const override { return stream; }
  Stream exchangeStream(Stream) const noexcept override { return stream; }
  void record(void**, const Stream&, DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
};
static const c10::impl::DeviceGuardImplRegistrar registrar(DeviceType::CUDA, new Guard);

namespace at {
struct Hooks final : CUDAHooksInterface {
  explicit Hooks(CUDAHooksArgs) {}
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
};
C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, Hooks)

namespace accelerator {  // replaces torch's own, which knows CUDA only if built with it
std::optional<DeviceType> getAccelerator(bool) { return DeviceType::CUDA; }
}  // namespace accelerator
}  // namespace at
