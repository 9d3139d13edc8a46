// Applications against their CPU references, run by the emulator alone, with virtual and with final code. A
// failure here is an error of the kernel, the front end, the back end or the emulator, not of the timing
// model.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>

#include "benchmarks/functional_host.hpp"
#include "runtime/application.hpp"

namespace gpumux {
namespace {

// Sizes at edges: one tile, no full warp, no interior beyond one point, an odd number of everything.
constexpr std::array<const char*, 49> kCases = {"add:loops=1,blocks=1",
                                                "add:loops=3,blocks=5",
                                                "stream:words=1,blocks=1",
                                                "stream:words=8,blocks=3",
                                                "hotspot:size=16,steps=1,pyramid=1",
                                                "hotspot:size=61,steps=5,pyramid=2",
                                                "hotspot:size=64,steps=3,pyramid=7",
                                                "backprop:inputs=16",
                                                "backprop:inputs=528",
                                                "bfs:nodes=1,degree=1",
                                                "bfs:nodes=3001,degree=3",
                                                "kmeans:points=700,iterations=20",
                                                "kmeans:points=301,features=7,clusters=9",
                                                "pathfinder:columns=16,rows=2,pyramid=1",
                                                "pathfinder:columns=701,rows=50,pyramid=120",
                                                "lud:size=16",
                                                "lud:size=80",
                                                "spmv:rows=1,nonzeros=1",
                                                "spmv:rows=1001,nonzeros=13,repeats=2",
                                                "stencil:nx=3,ny=3,nz=3,steps=1",
                                                "stencil:nx=37,ny=11,nz=6,steps=3",
                                                "sgemm:m=128,n=16,k=8",
                                                "sgemm:m=256,n=48,k=40",
                                                "atax:nx=1,ny=1",
                                                "atax:nx=261,ny=70",
                                                "3mm:ni=1,nj=1,nk=1,nl=1,nm=1",
                                                "3mm:ni=33,nj=17,nk=10,nl=41,nm=7",
                                                "cutcp:regions_x=1,regions_y=1,regions_z=1,atoms_per_bin=1",
                                                "cutcp:regions_x=2,regions_y=1,regions_z=2,cutoff=7",
                                                "cutcp:regions_x=2,regions_y=2,regions_z=1,atoms_per_bin=8",
                                                "cutcp:regions_x=1,regions_y=1,regions_z=1,cutoff=12",
                                                "dai18/cp:regions_x=3,regions_y=2,regions_z=2,cutoff=5",
                                                "dai18/hs:size=21,steps=3",
                                                "dai18/dc:width=4,height=4",
                                                "dai18/dc:width=12,height=8",
                                                "dai18/pf:columns=300,rows=30",
                                                "dai18/bp:inputs=48",
                                                "dai18/bs:nodes=1,degree=1,repeats=2",
                                                "dai18/bs:nodes=3001,degree=3,level=3,repeats=2",
                                                "dai18/st:nx=3,ny=3,nz=3,steps=1",
                                                "dai18/st:nx=35,ny=19,nz=5,steps=2",
                                                "dai18/3m:ni=9,nj=33,nk=7",
                                                "dai18/sv:rows=501,nonzeros=5",
                                                "dai18/cd:side=2,height=1",
                                                "dai18/cd:side=7,height=5,window=20",
                                                "dai18/s2:width=1,height=1",
                                                "dai18/s2:width=2,height=3",
                                                "dai18/ks:points=301,features=7",
                                                "dai18/ax:nx=261,ny=9"};

// Trees and motion estimation of chimera15's Table 2.
constexpr std::array<const char*, 4> kTreesCases = {"btree:keys=1,order=16,ranges=1,range=1,queries=1",
                                                    "btree:keys=15,order=16,ranges=9,range=15,queries=40",
                                                    "btree:keys=5001,order=33,ranges=30,range=77,queries=60",
                                                    "chimera15/BT:keys=2000,ranges=30,range=9,queries=50"};

// The others that its Table 2 is made from.
constexpr std::array<const char*, 9> kChimera15Cases = {"blackscholes:options=5000,blocks=20",
                                                        "cp:width=128,height=8,atoms=50",
                                                        "fwt:bits=10",
                                                        "fwt:bits=12",
                                                        "heartwall:width=80,height=70,points=2",
                                                        "leukocyte:width=96,height=60,cells=3,iterations=8",
                                                        "mummer:reference=300,queries=300,least=3",
                                                        "needle:size=48",
                                                        "sad:width=16,height=32"};

// wang17's, from Parboil.
constexpr std::array<const char*, 14> kWang17Cases = {
    "wang17/cutcp:regions_x=2,regions_y=1,regions_z=3,cutoff=5",
    "wang17/stencil:nx=67,ny=9,nz=5,steps=3",
    "wang17/sgemm:m=128,n=16,k=24",
    "histo:samples=2,bins=4096,blocks=1",
    "histo:samples=5000,bins=12288,blocks=7,rounds=2",
    "histo:samples=200000,bins=4096,spread=600,blocks=1,background=0",
    "histo:samples=50000,bins=131072,spread=64,rounds=2",
    "lbm:nx=2,ny=2,nz=2,steps=1",
    "lbm:nx=37,ny=5,nz=4,steps=3",
    "mri-gridding:size=8,samples=1",
    "mri-gridding:size=16,samples=900",
    "mri-q:voxels=256,samples=1030",
    "tpacf:sets=1,points=2",
    "tpacf:sets=3,points=301"};

// awatramani17's, from Rodinia.
constexpr const char* kAwatramani17Cases[] = {"gaussian:size=2",
                                              "gaussian:size=37",
                                              "nn:records=1,k=1",
                                              "nn:records=1001,k=7",
                                              "srad:width=2,height=2,iterations=1",
                                              "srad:width=37,height=19,iterations=3",
                                              "srad:width=300,height=220,iterations=1",
                                              "awatramani17/bp-k1:inputs=48",
                                              "awatramani17/bp-k2:inputs=48",
                                              "awatramani17/bt-k1:keys=1,order=16,queries=1,range=1",
                                              "awatramani17/bt-k1:keys=5001,order=33,queries=30,range=77",
                                              "awatramani17/bt-k2:keys=15,order=16,queries=40",
                                              "awatramani17/bt-k2:keys=5001,order=33,queries=60",
                                              "awatramani17/btree:keys=2000,ranges=30,range=9,queries=50",
                                              "awatramani17/cfd:side=7,height=5,window=20",
                                              "awatramani17/dxtc:width=16,height=8",
                                              "awatramani17/heartwall:width=80,height=70,points=2",
                                              "awatramani17/hotspot:size=21,steps=3",
                                              "awatramani17/km:points=1,features=1,clusters=1",
                                              "awatramani17/km:points=701,features=7,clusters=9",
                                              "awatramani17/lud:size=32",
                                              "awatramani17/lud:size=80",
                                              "awatramani17/pathfinder:columns=300,rows=21",
                                              "awatramani17/srad-1:width=2,height=2",
                                              "awatramani17/srad-1:width=37,height=19",
                                              "awatramani17/srad-2:width=37,height=19",
                                              "awatramani17/srad-3:width=2,height=2",
                                              "awatramani17/srad-3:width=37,height=19",
                                              "awatramani17/srad-4:width=2,height=2",
                                              "awatramani17/srad-4:width=37,height=19",
                                              "awatramani17/srad-5:width=2,height=2",
                                              "awatramani17/srad-5:width=37,height=19",
                                              "awatramani17/srad-6:width=37,height=19"};
// Of the CUDA SDK.
constexpr const char* kSdkCases[] = {"convsep:width=128,height=64",
                                     "convsep:width=256,height=128,repeats=2",
                                     "convtex:width=1,height=1",
                                     "convtex:width=37,height=29,repeats=2",
                                     "dcttex:width=8,height=8,repeats=1",
                                     "dcttex:width=72,height=40",
                                     "transpose:width=16,height=16,repeats=1",
                                     "transpose:width=48,height=80",
                                     "histogram:bytes=4,blocks=1",
                                     "histogram:bytes=50000,blocks=7",
                                     "dwt:bits=1",
                                     "dwt:bits=7",
                                     "dwt:bits=12",
                                     "montecarlo:options=1,paths=1",
                                     "montecarlo:options=3,paths=1000",
                                     "dct:width=32,height=16,repeats=1",
                                     "dct:width=96,height=48",
                                     "mergesort:bits=10",
                                     "mergesort:bits=13",
                                     "awatramani17/cvsep:width=128,height=64",
                                     "awatramani17/cvsep:width=256,height=128,repeats=2",
                                     "awatramani17/cvt-k1:width=1,height=1",
                                     "awatramani17/cvt-k1:width=37,height=29",
                                     "awatramani17/cvt-k2:width=1,height=1",
                                     "awatramani17/cvt-k2:width=37,height=29",
                                     "awatramani17/dct-k1:width=72,height=40",
                                     "awatramani17/dct-k2:width=96,height=48",
                                     "awatramani17/fwt:blocks=1",
                                     "awatramani17/fwt:blocks=3",
                                     "awatramani17/ms:pairs=1",
                                     "awatramani17/ms:pairs=3",
                                     "awatramani17/tp-k1:width=48,height=80",
                                     "awatramani17/tp-k2:width=48,height=80"};

// kayiran14's.
constexpr const char* kKayiran14Cases[] = {
    "kayiran14/bp:inputs=48",
    "kayiran14/hot:size=21,steps=3",
    "kayiran14/path:columns=300,rows=30",
    "kayiran14/mm:m=128,n=48,k=16",
    "kayiran14/blk:options=3000,blocks=7",
    "kayiran14/mum:reference=300,queries=300,least=3",
    "kayiran14/bfs:bits=1,degree=1",
    "kayiran14/bfs:bits=11,degree=7",
    "kayiran14/sssp:bits=1,degree=1",
    "kayiran14/sssp:bits=11,degree=7",
    "kayiran14/mst:width=1,height=2",
    "kayiran14/mst:width=61,height=37",
    "kayiran14/sp:variables=3,clauses=1",
    "kayiran14/sp:variables=3,clauses=40",
    "kayiran14/sp:variables=120,clauses=500,decimations=6,iterations=30",
    "kayiran14/pvc:lines=1,urls=1",
    "kayiran14/pvc:lines=700,urls=50",
    "kayiran14/pvc:lines=3000,urls=300,hash=3",
    "kayiran14/pvr:lines=1",
    "kayiran14/pvr:lines=3001,most=70",
    "kayiran14/iix:pages=1,words=1",
    "kayiran14/iix:pages=601,words=9,links=300,hash=4"};

class Functional : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Functional, ResultsAreRightTwiceAndMemoryIsFreed) {
  const std::string text = std::get<0>(GetParam());
  const std::size_t colon = text.find(':');
  const runtime::AppInfo* info = runtime::find_app(text.substr(0, colon));
  ASSERT_NE(info, nullptr);
  const auto app = info->create(runtime::parse_params(*info, text.substr(colon + 1)), 7);
  std::uint64_t first = 0;
  for (int run = 0; run < 2; ++run) {
    testing_support::FunctionalHost host(std::get<1>(GetParam()));
    runtime::Task task = app->run(host, true);
    while (!task.done()) task.resume();
    std::uint64_t instructions = 0;
    for (const auto& [kernel, count] : host.warp_instructions()) instructions += count;
    EXPECT_GT(instructions, 0U);
    if (run == 0) first = instructions;
    EXPECT_EQ(instructions, first);
    EXPECT_EQ(host.leaked_bytes(), 0U);
  }
}

std::string case_name(const testing::TestParamInfo<std::tuple<const char*, int>>& param) {
  std::string name = std::get<0>(param.param);
  for (char& c : name) {
    if (std::string(":=,/-").find(c) != std::string::npos) c = '_';
  }
  return name + (std::get<1>(param.param) == 0 ? "_virtual" : "_final");
}

INSTANTIATE_TEST_SUITE_P(Apps, Functional, testing::Combine(testing::ValuesIn(kCases), testing::Values(0, 1)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Chimera15, Functional,
                         testing::Combine(testing::ValuesIn(kChimera15Cases), testing::Values(0, 1)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Wang17, Functional,
                         testing::Combine(testing::ValuesIn(kWang17Cases), testing::Values(0, 1)), case_name);
INSTANTIATE_TEST_SUITE_P(Awatramani17, Functional,
                         testing::Combine(testing::ValuesIn(kAwatramani17Cases), testing::Values(0, 1)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Kayiran14, Functional,
                         testing::Combine(testing::ValuesIn(kKayiran14Cases), testing::Values(0, 1)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Sdk, Functional,
                         testing::Combine(testing::ValuesIn(kSdkCases), testing::Values(0, 1)), case_name);
INSTANTIATE_TEST_SUITE_P(Trees, Functional,
                         testing::Combine(testing::ValuesIn(kTreesCases), testing::Values(0, 1)), case_name);

}  // namespace
}  // namespace gpumux
