// Every application gives right results on the whole machine: alone on three machines, and with each other
// application.
#include <gtest/gtest.h>

#include <array>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"

namespace gpumux {
namespace {

// Small sizes, odd where the algorithm allows it, so that edges are covered.
constexpr std::array<const char*, 14> kSmall = {"add:loops=2,blocks=40",
                                                "atax:nx=300,ny=270",
                                                "backprop:inputs=512",
                                                "bfs:nodes=2000",
                                                "cutcp:regions_x=2,regions_y=2,regions_z=2",
                                                "hotspot:size=61,steps=5",
                                                "kmeans:points=1000,features=9",
                                                "lud:size=64",
                                                "3mm:ni=64,nj=40,nk=36,nl=70,nm=33",
                                                "pathfinder:columns=2000,rows=11,pyramid=4",
                                                "sgemm:m=128,n=64,k=16",
                                                "spmv:rows=2000,nonzeros=9",
                                                "stencil:nx=35,ny=34,nz=9,steps=3",
                                                "stream:blocks=40"};

// Those of dai18's Table 2.
constexpr std::array<const char*, 13> kDai18Small = {"dai18/cp:regions_x=2,regions_y=2,regions_z=1,cutoff=4",
                                                     "dai18/hs:size=61",
                                                     "dai18/dc:width=16,height=12",
                                                     "dai18/pf:columns=2000,rows=31",
                                                     "dai18/bp:inputs=512",
                                                     "dai18/bs:nodes=3000,degree=4,level=2,repeats=2",
                                                     "dai18/st:nx=35,ny=34,nz=9,steps=3",
                                                     "dai18/3m:ni=64,nj=40,nk=36",
                                                     "dai18/sv:rows=2000,nonzeros=9",
                                                     "dai18/cd:side=12,height=9",
                                                     "dai18/s2:width=3,height=2",
                                                     "dai18/ks:points=1000,features=9",
                                                     "dai18/ax:nx=600,ny=70"};

// Of awatramani17.
constexpr const char* kAwatramani17Small[] = {"awatramani17/bp-k1:inputs=512",
                                              "awatramani17/bp-k2:inputs=512",
                                              "awatramani17/bt-k1:keys=9001,queries=70,range=500",
                                              "awatramani17/bt-k2:keys=9001,queries=90",
                                              "awatramani17/btree:keys=9001,ranges=70,range=500,queries=90",
                                              "awatramani17/cfd:side=12,height=9",
                                              "awatramani17/cvsep:width=256,height=64",
                                              "awatramani17/cvt-k1:width=100,height=50",
                                              "awatramani17/cvt-k2:width=100,height=50",
                                              "awatramani17/dct-k1:width=64,height=32",
                                              "awatramani17/dct-k2:width=64,height=32",
                                              "awatramani17/dxtc:width=16,height=12",
                                              "awatramani17/fwt:blocks=20",
                                              "awatramani17/gaussian:size=33",
                                              "awatramani17/heartwall:width=96,height=96,points=2",
                                              "awatramani17/hotspot:size=61",
                                              "awatramani17/km:points=3000,features=9",
                                              "awatramani17/lud:size=96",
                                              "awatramani17/ms:pairs=4",
                                              "awatramani17/nn:records=5000",
                                              "awatramani17/pathfinder:columns=2000",
                                              "awatramani17/srad:width=61,height=47",
                                              "awatramani17/srad-1:width=61,height=47",
                                              "awatramani17/srad-2:width=61,height=47",
                                              "awatramani17/srad-3:width=61,height=47",
                                              "awatramani17/srad-4:width=61,height=47",
                                              "awatramani17/srad-5:width=61,height=47",
                                              "awatramani17/srad-6:width=61,height=47",
                                              "awatramani17/tp-k1:width=64,height=48",
                                              "awatramani17/tp-k2:width=64,height=48"};

// Of chimera15's Table 2 and the applications they are made from: trees and motion estimation.
constexpr std::array<const char*, 2> kTreesSmall = {"btree:keys=3001,order=37,ranges=20,range=33,queries=40",
                                                    "chimera15/BT:keys=9001,ranges=70,range=500,queries=90"};

// The rest of them.
constexpr std::array<const char*, 14> kChimera15Small = {
    "chimera15/BS:options=20000,blocks=40",
    "chimera15/BP:inputs=512",
    "chimera15/CP:width=128,height=16,atoms=100",
    "chimera15/FWT:bits=13",
    "chimera15/HS:size=61,steps=4",
    "chimera15/HW:width=96,height=96,points=2",
    "chimera15/KM:points=1000,features=9",
    "chimera15/LC:width=96,height=64,cells=2,iterations=5",
    "chimera15/LUD:size=64",
    "chimera15/MUM:reference=3000,queries=300",
    "chimera15/NW:size=64",
    "chimera15/RT:blocks=3,steps=800",
    "chimera15/SAD:width=32,height=16",
    "chimera15/ST:nx=70,ny=35,nz=9,steps=3"};

// Of the CUDA SDK.
constexpr const char* kSdkSmall[] = {
    "convsep:width=256,height=64",     "convtex:width=100,height=50",    "dcttex:width=64,height=32",
    "transpose:width=64,height=48",    "histogram:bytes=20000,blocks=5", "dwt:bits=12",
    "montecarlo:options=4,paths=1000", "dct:width=64,height=32",         "mergesort:bits=12"};

// Of kayiran14's Table II.
constexpr const char* kKayiran14Small[] = {"kayiran14/bp:inputs=512",
                                           "kayiran14/hot:size=61",
                                           "kayiran14/path:columns=2000,rows=31",
                                           "kayiran14/mm:m=128,n=64,k=16",
                                           "kayiran14/blk:options=20000,blocks=40",
                                           "kayiran14/mum:reference=3000,queries=300",
                                           "kayiran14/bfs:bits=12",
                                           "kayiran14/sssp:bits=12",
                                           "kayiran14/mst:width=70,height=33",
                                           "kayiran14/sp:variables=700,clauses=2900",
                                           "kayiran14/pvc:lines=3000,urls=300",
                                           "kayiran14/pvr:lines=3000",
                                           "kayiran14/iix:pages=900,urls=300"};

experiment::RunSpec verified(const std::string& machine, const std::vector<std::string>& apps,
                             const char* policy) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(machine);
  spec.policy = policy::parse_choice(policy);
  spec.verify = true;
  for (const std::string& app : apps) spec.apps.push_back(experiment::builtin_app(app));
  return spec;
}

std::string plain(std::string name) {
  name = name.substr(0, name.find(':'));
  for (char& c : name) {
    if (c == '-' || c == '/') c = '_';
  }
  return name;
}

class OnThreeMachines : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(OnThreeMachines, ResultsAreRight) {
  const auto& [app, machine] = GetParam();
  const experiment::RunResult result = experiment::simulate(verified(machine, {app}, "leftover"));
  EXPECT_EQ(result.apps[0].completions, 1U);
  EXPECT_GT(result.apps[0].counters.warp_instructions, 0U);
}

INSTANTIATE_TEST_SUITE_P(Apps, OnThreeMachines,
                         testing::Combine(testing::ValuesIn(kSmall),
                                          testing::Values("dai18-maxwell", "chimera15-fermi30", "v100")),
                         [](const auto& param) {
                           return plain(std::get<0>(param.param)) + "_on_" + plain(std::get<1>(param.param));
                         });

INSTANTIATE_TEST_SUITE_P(Dai18, OnThreeMachines,
                         testing::Combine(testing::ValuesIn(kDai18Small),
                                          testing::Values("dai18-maxwell", "chimera15-fermi30", "v100")),
                         [](const auto& param) {
                           return plain(std::get<0>(param.param)) + "_on_" + plain(std::get<1>(param.param));
                         });

INSTANTIATE_TEST_SUITE_P(Chimera15, OnThreeMachines,
                         testing::Combine(testing::ValuesIn(kChimera15Small),
                                          testing::Values("dai18-maxwell", "chimera15-fermi30", "v100")),
                         [](const auto& param) {
                           return plain(std::get<0>(param.param)) + "_on_" + plain(std::get<1>(param.param));
                         });

INSTANTIATE_TEST_SUITE_P(Awatramani17, OnThreeMachines,
                         testing::Combine(testing::ValuesIn(kAwatramani17Small),
                                          testing::Values("dai18-maxwell", "awatramani17-m2090", "v100")),
                         [](const auto& param) {
                           return plain(std::get<0>(param.param)) + "_on_" + plain(std::get<1>(param.param));
                         });

INSTANTIATE_TEST_SUITE_P(Kayiran14, OnThreeMachines,
                         testing::Combine(testing::ValuesIn(kKayiran14Small),
                                          testing::Values("dai18-maxwell", "awatramani17-m2090", "v100")),
                         [](const auto& param) {
                           return plain(std::get<0>(param.param)) + "_on_" + plain(std::get<1>(param.param));
                         });

INSTANTIATE_TEST_SUITE_P(Trees, OnThreeMachines,
                         testing::Combine(testing::ValuesIn(kTreesSmall),
                                          testing::Values("dai18-maxwell", "chimera15-fermi30", "v100")),
                         [](const auto& param) {
                           return plain(std::get<0>(param.param)) + "_on_" + plain(std::get<1>(param.param));
                         });

INSTANTIATE_TEST_SUITE_P(Sdk, OnThreeMachines,
                         testing::Combine(testing::ValuesIn(kSdkSmall),
                                          testing::Values("dai18-maxwell", "awatramani17-m2090", "v100")),
                         [](const auto& param) {
                           return plain(std::get<0>(param.param)) + "_on_" + plain(std::get<1>(param.param));
                         });

// Each with the next in the table, under a policy that puts both on every SM.
TEST(TogetherDai18, ResultsOfNeighboursAreRight) {
  for (std::size_t i = 0; i < kDai18Small.size(); ++i) {
    const char* other = kDai18Small[(i + 1) % kDai18Small.size()];
    SCOPED_TRACE(std::string(kDai18Small[i]) + " with " + other);
    const experiment::RunResult result =
        experiment::simulate(verified("dai18-maxwell", {kDai18Small[i], other}, "even"));
    for (const experiment::AppResult& app : result.apps) EXPECT_GE(app.completions, 1U);
  }
}

class Together : public testing::TestWithParam<std::size_t> {};

// With each application that follows it in the table, itself included.
TEST_P(Together, ResultsOfPairsAreRight) {
  constexpr std::array<const char*, 4> kPolicies = {"even", "spatial", "leftover", "sequential"};
  for (std::size_t other = GetParam(); other < kSmall.size(); ++other) {
    const char* policy = kPolicies[(GetParam() + other) % kPolicies.size()];
    SCOPED_TRACE(std::string(kSmall[GetParam()]) + " with " + kSmall[other] + " under " + policy);
    const experiment::RunResult result =
        experiment::simulate(verified("dai18-maxwell", {kSmall[GetParam()], kSmall[other]}, policy));
    for (const experiment::AppResult& app : result.apps) EXPECT_GE(app.completions, 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, Together, testing::Range(std::size_t{0}, kSmall.size()),
                         [](const auto& param) { return plain(kSmall[param.param]); });

}  // namespace
}  // namespace gpumux
