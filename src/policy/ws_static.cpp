// Warped-Slicer, static: the sweet spot on scalability curves from isolated runs of each application. Source:
// dai18 section 2.5.
#include "policy/profiled_curves.hpp"
#include "policy/slicer.hpp"

namespace gpumux::policy {
namespace {

class StaticSlicer final : public Policy {
 public:
  StaticSlicer(ProfileRequest request, Slicer::Options options)
      : request_(std::move(request)),
        falls_back_(options.fallback.has_value()),
        slicer_("ws-static", options) {}

  [[nodiscard]] std::string_view needs_all_sms() const override {
    return falls_back_ ? "may give SMs to kernels (fallback=)" : "";
  }
  [[nodiscard]] ProfileRequest profile_request() const override { return request_; }
  void use_profiles(const std::vector<AppProfile>& profiles) override { curves_.use(profiles); }
  void kernel_arrived(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { divide(control); }

  [[nodiscard]] Report report(const Probes& control) const override {
    Report report;
    slicer_.report(control, report);
    curves_.report(report);
    return report;
  }

 private:
  void divide(Control& control) {
    const std::vector<RunningKernel> kernels = by_application(control.kernels());
    if (kernels.size() < 2) {
      slicer_.stop(control);
      if (!kernels.empty()) give_everything(control, kernels.front());
      return;
    }
    std::vector<ScalabilityCurve> curves;
    for (const RunningKernel& kernel : kernels) curves.push_back(curves_.of(kernel));
    slicer_.divide(control, kernels, curves);
  }

  ProfileRequest request_;
  bool falls_back_;
  Slicer slicer_;
  ProfiledCurves curves_;
};

std::unique_ptr<Policy> create_ws_static(const Settings& settings) {
  const SettingReader read("ws-static", settings);
  return std::make_unique<StaticSlicer>(profile_request(read, ProfileRequest::Depth::Curve),
                                        Slicer::read(read));
}

const bool registered_ws_static = register_policy(
    {"ws-static", "blocks of every SM at the sweet spot of isolated profiles (Warped-Slicer, dai18)",
     with_profile_settings(Slicer::settings()), create_ws_static});

}  // namespace
}  // namespace gpumux::policy
