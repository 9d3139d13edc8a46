// A bundle as an application: repeats the recorded program's calls in their order.
#pragma once

#include <memory>
#include <optional>

#include "bundle/reader.hpp"
#include "emulator/kernel_errors.hpp"
#include "runtime/application.hpp"

namespace gpumux::bundle {

/// An application that replays a bundle. Each run starts with empty memory. Memory has the recorded
/// addresses, since addresses in copied data cannot be distinguished from other numbers. Streams run
/// concurrently, as the machine and its policy allow.
class BundleApplication final : public runtime::Application {
 public:
  /// `host_time`: the fraction of the recorded host time between calls that passes in the simulation. 0: the
  /// host takes no time, as in built-in applications.
  BundleApplication(std::shared_ptr<const Bundle> bundle, double host_time)
      : bundle_(std::move(bundle)), host_time_(host_time) {}
  /// With `verify`, throws SimulationFault when a copy from the device yields other bytes than in the
  /// recorded run.
  runtime::Task run(runtime::Host& host, bool verify) override;
  [[nodiscard]] std::optional<workload::AddressSpace> address_space() const override {
    return bundle_->addresses();
  }
  /// Discards messages about kernel errors, since they were shown when the program was recorded.
  [[nodiscard]] emulator::KernelErrors* kernel_errors() override { return &errors_.emplace(); }

 private:
  struct Errors final : emulator::KernelErrors {
    void outside(const std::string& /*message*/) override {}
    void assertion(const std::string& /*line*/) override {}
    void has_ended(const std::string& /*message*/) override {}
  };
  std::shared_ptr<const Bundle> bundle_;
  std::optional<Errors> errors_;  // for the current run
  double host_time_;
};

}  // namespace gpumux::bundle
