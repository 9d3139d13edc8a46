// A bundle as an application: the recorded program's calls in their order.
#pragma once

#include <memory>
#include <optional>

#include "bundle/reader.hpp"
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

 private:
  std::shared_ptr<const Bundle> bundle_;
  double host_time_;
};

}  // namespace gpumux::bundle
