// A bundle as an application: the recorded program's calls in their order.
#pragma once

#include <memory>
#include <optional>

#include "bundle/reader.hpp"
#include "emulator/kernel_errors.hpp"
#include "runtime/application.hpp"

namespace gpumux::bundle {

/// Each run begins from empty memory. Its addresses are the recorded ones, since nobody can tell an address
/// from another number in what was copied. Streams run side by side, as the machine and its policy let them.
class BundleApplication final : public runtime::Application {
 public:
  /// `host_time`: of the time that the host computed between calls, the share that passes; 0: it takes none,
  /// as that of applications that are built in.
  BundleApplication(std::shared_ptr<const Bundle> bundle, double host_time)
      : bundle_(std::move(bundle)), host_time_(host_time) {}
  /// With `verify`, throws SimulationFault when a copy from the device brings other bytes than it did when
  /// the program was recorded.
  runtime::Task run(runtime::Host& host, bool verify) override;
  [[nodiscard]] std::optional<workload::AddressSpace> address_space() const override {
    return bundle_->addresses();
  }
  /// What the program was told when it was recorded, its bundle need not be told again.
  [[nodiscard]] emulator::KernelErrors* kernel_errors() override { return &errors_.emplace(); }

 private:
  struct Errors final : emulator::KernelErrors {
    void outside(const std::string& /*message*/) override {}
    void assertion(const std::string& /*line*/) override {}
    void has_ended(const std::string& /*message*/) override {}
  };
  std::shared_ptr<const Bundle> bundle_;
  std::optional<Errors> errors_;  // of the run
  double host_time_;
};

}  // namespace gpumux::bundle
