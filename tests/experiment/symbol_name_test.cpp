// Search for kernels and variables by their C++ names.
#include "experiment/symbol_name.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"

namespace gpumux::experiment {
namespace {

const std::vector<std::string> kSymbols = {
    "plain",                        // extern "C"
    "_Z5scalePfi",                  // scale(float*, int)
    "_Z7stridedIfLi1EEvPT_PKS0_",   // void strided<float, 1>(float*, float const*)
    "_Z7stridedIfLi2EEvPT_PKS0_",   //
    "_Z6reduceIdLj256ELb1EEvPT_j",  // void reduce<double, 256u, true>(double*, unsigned int)
    "_Z5twicePf",                   // overloads
    "_Z5twicePi",                   //
    "_ZN4deep5weighEPfPKfi",        // deep::weigh(float*, float const*, int)
    "_ZN5other5weighEPf",           // other::weigh(float*)
    "_ZN4deep4onlyI4int2EEvPT_",    // void deep::only<int2>(int2*)
    "_ZN12_GLOBAL__N_16hiddenEv",   // (anonymous namespace)::hidden()
    "_Z5applyPFffEPf",              // apply(float (*)(float), float*)
};

std::string find(const std::string& typed) { return find_symbol("kernel", typed, kSymbols, "k.ptx"); }

std::string message_of(const std::string& typed) {
  try {
    (void)find(typed);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(SymbolName, DemanglesWithoutTheReturnType) {
  EXPECT_EQ(cpp_name("plain"), "plain");
  EXPECT_EQ(cpp_name("_Z5scalePfi"), "scale(float*, int)");
  EXPECT_EQ(cpp_name("_Z6reduceIdLj256ELb1EEvPT_j"), "reduce<double, 256u, true>(double*, unsigned int)");
  EXPECT_EQ(cpp_name("_Znonsense"), "_Znonsense");
}

TEST(SymbolName, IsFoundInEveryPrecision) {
  EXPECT_EQ(find("plain"), "plain");
  EXPECT_EQ(find("_Z5scalePfi"), "_Z5scalePfi");
  EXPECT_EQ(find("scale"), "_Z5scalePfi");
  EXPECT_EQ(find("scale(float*, int)"), "_Z5scalePfi");
  EXPECT_EQ(find("scale(float *,int)"), "_Z5scalePfi");
  EXPECT_EQ(find("reduce"), "_Z6reduceIdLj256ELb1EEvPT_j");
  EXPECT_EQ(find("reduce<double,256,true>"), "_Z6reduceIdLj256ELb1EEvPT_j");
  EXPECT_EQ(find("strided<float, 2>"), "_Z7stridedIfLi2EEvPT_PKS0_");
  EXPECT_EQ(find("twice(int*)"), "_Z5twicePi");
  EXPECT_EQ(find("deep::weigh"), "_ZN4deep5weighEPfPKfi");
  EXPECT_EQ(find("only"), "_ZN4deep4onlyI4int2EEvPT_");
  EXPECT_EQ(find("deep::only"), "_ZN4deep4onlyI4int2EEvPT_");
  EXPECT_EQ(find("only<int2>"), "_ZN4deep4onlyI4int2EEvPT_");
  EXPECT_EQ(find("hidden"), "_ZN12_GLOBAL__N_16hiddenEv");
  EXPECT_EQ(find("apply"), "_Z5applyPFffEPf");
}

TEST(SymbolName, SaysWhichOnesANameCouldMean) {
  EXPECT_EQ(message_of("twice"), "k.ptx: error: kernel 'twice' could be any of: twice(float*); twice(int*)");
  EXPECT_NE(message_of("strided").find("strided<float, 1>(float*, float const*); strided<float, 2>("),
            std::string::npos);
  EXPECT_NE(message_of("weigh").find("deep::weigh(float*, float const*, int); other::weigh(float*)"),
            std::string::npos);
  EXPECT_NE(message_of("scal").find("unknown kernel 'scal'; did you mean 'scale'?; known: plain, scale, "),
            std::string::npos)
      << message_of("scal");
  EXPECT_NE(message_of("strided<float, 3>").find("unknown kernel"), std::string::npos);
  EXPECT_NE(message_of("scale(int*)").find("unknown kernel"), std::string::npos);
  EXPECT_NE(message_of("").find("unknown kernel"), std::string::npos);
}

}  // namespace
}  // namespace gpumux::experiment
