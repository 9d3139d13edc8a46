// The built-in applications with small inputs. A run takes some tens of milliseconds; heartwall and
// leukocyte, whose blocks are long, take some tenths of a second. Leukocyte is the application of chimera15,
// because some machines' SMs cannot hold the blocks of the plain one.
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace gpumux::test {

inline constexpr const char* kSmallApps[] = {"3mm:ni=64,nj=40,nk=36,nl=70,nm=33",
                                             "add:loops=2,blocks=40",
                                             "atax:nx=300,ny=270",
                                             "backprop:inputs=512",
                                             "bfs:nodes=2000",
                                             "convsep:width=256,height=64",
                                             "convtex:width=100,height=50",
                                             "cutcp:regions_x=2,regions_y=2,regions_z=2",
                                             "dcttex:width=64,height=32",
                                             "gaussian:size=40",
                                             "dct:width=64,height=32",
                                             "dwt:bits=12",
                                             "heartwall:width=64,height=64,points=2,frames=2",
                                             "histo:samples=20000,bins=8192,blocks=5",
                                             "histogram:bytes=20000,blocks=5",
                                             "hotspot:size=61,steps=5",
                                             "kmeans:points=1000,features=9",
                                             "lbm:nx=40,ny=9,nz=7",
                                             "lud:size=64",
                                             "mergesort:bits=12",
                                             "montecarlo:options=4,paths=1000",
                                             "mri-gridding:size=16,samples=200",
                                             "mri-q:voxels=3072,samples=40",
                                             "nn:records=3000",
                                             "pathfinder:columns=2000,rows=11,pyramid=4",
                                             "sgemm:m=128,n=64,k=16",
                                             "spmv:rows=2000,nonzeros=9",
                                             "srad:width=35,height=33,iterations=2",
                                             "stencil:nx=35,ny=34,nz=9,steps=3",
                                             "stream:blocks=40",
                                             "tpacf:sets=15,points=70",
                                             "transpose:width=64,height=48",
                                             "dai18/3m:ni=64,nj=40,nk=36",
                                             "dai18/ax:nx=600,ny=70",
                                             "dai18/bp:inputs=512",
                                             "awatramani17/bp-k1:inputs=512",
                                             "awatramani17/bp-k2:inputs=512",
                                             "awatramani17/bt-k1:keys=3001,queries=20,range=33",
                                             "awatramani17/bt-k2:keys=3001,queries=40",
                                             "awatramani17/cvsep:width=256,height=64",
                                             "awatramani17/cvt-k1:width=100,height=50",
                                             "awatramani17/cvt-k2:width=100,height=50",
                                             "awatramani17/fwt:blocks=20",
                                             "awatramani17/km:points=1000,features=9",
                                             "awatramani17/lud:size=64",
                                             "awatramani17/ms:pairs=2",
                                             "awatramani17/srad-1:width=35,height=33",
                                             "awatramani17/srad-2:width=35,height=33",
                                             "awatramani17/srad-3:width=35,height=33",
                                             "awatramani17/srad-4:width=35,height=33",
                                             "awatramani17/srad-5:width=35,height=33",
                                             "awatramani17/srad-6:width=35,height=33",
                                             "awatramani17/tp-k1:width=64,height=48",
                                             "awatramani17/tp-k2:width=64,height=48",
                                             "kayiran14/bfs:bits=11",
                                             "kayiran14/sssp:bits=11",
                                             "kayiran14/mst:width=70,height=33",
                                             "kayiran14/sp:variables=9200,clauses=4600,iterations=1",
                                             "kayiran14/pvc:lines=500,urls=100",
                                             "kayiran14/pvr:lines=3000",
                                             "kayiran14/iix:pages=300,urls=100",
                                             "dai18/bs:nodes=3000,degree=4,level=2,repeats=2",
                                             "dai18/cd:side=12,height=9",
                                             "dai18/cp:regions_x=2,regions_y=2,regions_z=1,cutoff=4",
                                             "dai18/dc:width=16,height=12",
                                             "dai18/hs:size=61",
                                             "dai18/ks:points=1000,features=9",
                                             "dai18/pf:columns=2000,rows=31",
                                             "dai18/s2:width=3,height=2",
                                             "dai18/st:nx=35,ny=34,nz=9,steps=3",
                                             "dai18/sv:rows=2000,nonzeros=9",
                                             "chimera15/BS:options=20000,blocks=40",
                                             "chimera15/BT:keys=3001,ranges=20,range=33,queries=40",
                                             "chimera15/BP:inputs=512",
                                             "chimera15/CP:width=128,height=16,atoms=100",
                                             "chimera15/FWT:bits=13",
                                             "chimera15/HS:size=61,steps=4",
                                             "chimera15/KM:points=1000,features=9",
                                             "chimera15/LC:width=96,height=56,cells=1,iterations=3,frames=1",
                                             "chimera15/LUD:size=64",
                                             "chimera15/MUM:reference=3000,queries=300",
                                             "chimera15/NW:size=64",
                                             "chimera15/RT:blocks=3,steps=800",
                                             "chimera15/SAD:width=32,height=16",
                                             "chimera15/ST:nx=70,ny=35,nz=9,steps=3"};

/// Name of a test that is parameterized over these applications.
inline std::string app_test_name(const testing::TestParamInfo<const char*>& test) {
  std::string name = std::string(test.param).substr(0, std::string(test.param).find(':'));
  for (char& c : name)
    if (c == '/' || c == '-') c = '_';
  return name;
}

}  // namespace gpumux::test
