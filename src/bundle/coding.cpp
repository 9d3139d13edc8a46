#include "bundle/coding.hpp"

#include <array>
#include <utility>

namespace gpumux::bundle {
namespace {

template <std::size_t Kind>
Record decode_as(Decoder& decoder) {
  std::variant_alternative_t<Kind, Record> record;
  fields(decoder, record);
  return record;
}

template <std::size_t... Kinds>
constexpr auto decoders(std::index_sequence<Kinds...>) {
  return std::array<Record (*)(Decoder&), sizeof...(Kinds)>{&decode_as<Kinds>...};
}

}  // namespace

void encode(CodingState& state, const Record& record, std::string& out) {
  out.push_back(static_cast<char>(record.index()));
  Encoder encoder(state, out);
  std::visit([&](const auto& r) { fields(encoder, r); }, record);
}

Record decode(CodingState& state, Bytes& in, std::uint64_t pieces) {
  static constexpr auto kDecoders = decoders(std::make_index_sequence<std::variant_size_v<Record>>());
  const std::uint64_t begin = in.position();
  const std::uint8_t kind = in.byte();
  if (kind >= kDecoders.size())
    Bytes::fail_at(begin, fmt::format("{} is no kind of record; the last is {}", kind, kDecoders.size() - 1));
  Decoder decoder(state, in, pieces);
  return kDecoders[kind](decoder);
}

}  // namespace gpumux::bundle
