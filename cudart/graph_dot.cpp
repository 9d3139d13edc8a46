// cudaGraphDebugDotPrint: a graph as text for Graphviz.
#include <algorithm>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>

#include "graph.hpp"
#include "modules.hpp"

namespace gpumux::cudart {
namespace {

template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

constexpr unsigned kVerbose = 1;
constexpr unsigned kKernels = 1U << 2U;
constexpr unsigned kCopies = 1U << 3U;
constexpr unsigned kFills = 1U << 4U;
constexpr unsigned kHandles = 1U << 10U;

class DotWriter {
 public:
  DotWriter(std::ostream& out, unsigned flags) : out_(out), flags_(flags) {}

  void write(const Graph& graph) {
    out_ << "digraph dot {\n";
    cluster(graph);
    out_ << "}\n";
  }

 private:
  [[nodiscard]] bool says(unsigned flag) const { return (flags_ & (kVerbose | flag)) != 0; }

  static std::string name_of(const Graph& graph, std::size_t node) {
    return text_of("\"graph_", graph.number, "_node_", node, "\"");
  }

  void cluster(const Graph& graph) {
    out_ << "subgraph cluster_" << graph.number << " {\nlabel=\"graph_" << graph.number
         << "\" graph[style=\"dashed\"];\n";
    std::map<const Node*, std::size_t> numbers;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) numbers[graph.nodes[i].get()] = i;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      out_ << name_of(graph, i) << "[style=\"bold\" shape=\"" << shape(graph.nodes[i]->of.type)
           << "\" label=\"" << i << "\\n"
           << label(*graph.nodes[i]) << "\"];\n";
    for (const auto& node : graph.nodes)
      for (const Node* const before : node->after)
        out_ << name_of(graph, numbers[before]) << " -> " << name_of(graph, numbers[node.get()]) << ";\n";
    for (const auto& node : graph.nodes) {
      if (const auto* const child = std::get_if<ChildContent>(&node->of.content)) cluster(*child->graph);
      if (const auto* const condition = std::get_if<ConditionContent>(&node->of.content))
        for (const auto& body : condition->bodies) cluster(*body);
    }
    out_ << "}\n";
  }

  static const char* shape(NodeType type) {
    switch (type) {
      case NodeType::Kernel: return "octagon";
      case NodeType::Memcpy:
      case NodeType::Memset: return "invtrapezium";
      default: return "rectangle";
    }
  }

  [[nodiscard]] std::string label(const Node& node) const {
    std::string text = what(node.of);
    if (says(kHandles)) text += text_of("\\nnode handle ", hex(&node));
    return text;
  }

  static std::string hex(const void* pointer) {
    return text_of("0x", std::hex, std::uppercase, reinterpret_cast<std::uintptr_t>(pointer));
  }

  [[nodiscard]] std::string what(const NodeWork& of) const {
    switch (of.type) {
      case NodeType::Kernel: {
        const auto& kernel = std::get<KernelContent>(of.content);
        Error error = Error::Success;
        const Kernel* const found = find_kernel(kernel.node.function, error);
        std::string text = found == nullptr ? "kernel" : found->name;
        const auto extent = [](const Dim3& d) { return text_of("{", d.x, ",", d.y, ",", d.z, "}"); };
        if (says(kKernels))
          text += text_of("\\ngrid ", extent(kernel.node.grid), " block ", extent(kernel.node.block),
                          " shared ", kernel.node.shared_bytes);
        return text;
      }
      case NodeType::Memcpy: {
        const auto* const copy = std::get_if<Copy3D>(&of.content);
        if (copy == nullptr || !says(kCopies)) return "MEMCPY";
        const Extent& of_copy = copy->extent;
        return text_of("MEMCPY\\n", of_copy.width, " x ", of_copy.height, " x ", of_copy.depth, " from ",
                       hex(copy->from.pointer), " to ", hex(copy->to.pointer));
      }
      case NodeType::Memset: {
        const auto* const fill = std::get_if<MemsetNode>(&of.content);
        if (fill == nullptr || !says(kFills)) return "MEMSET";
        return text_of("MEMSET\\n", fill->width, " x ", fill->height, " of ", fill->element_bytes,
                       " bytes, value ", fill->value, ", at ", hex(fill->to));
      }
      case NodeType::Host: return "HOST";
      case NodeType::Graph: return "CHILD GRAPH";
      case NodeType::Empty: return "EMPTY";
      case NodeType::EventWait: return "EVENT WAIT";
      case NodeType::EventRecord: return "EVENT RECORD";
      case NodeType::MemAlloc: return "MEM ALLOC";
      case NodeType::MemFree: return "MEM FREE";
      case NodeType::Conditional: return "CONDITIONAL";
    }
    return {};
  }

  std::ostream& out_;
  unsigned flags_;
};

}  // namespace

GPUMUX_CUDART_API Error cudaGraphDebugDotPrint(void* handle, const char* path, unsigned flags) {
  constexpr auto kOperatingSystem = static_cast<Error>(304);
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || path == nullptr) return returned(Error::InvalidValue);
  std::ofstream out(path);
  DotWriter(out, flags).write(*graph);
  return out.flush() ? Error::Success : returned(kOperatingSystem);
}

}  // namespace gpumux::cudart
