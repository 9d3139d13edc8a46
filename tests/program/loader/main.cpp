// A program without CUDA that calls `main` of the shared object argv[1]. The build links the program with
// this object, or the program loads it.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  void* const object = argc > 1 ? ::dlopen(argv[1], RTLD_NOW) : nullptr;
  void* const entry = object != nullptr ? ::dlsym(object, "main") : nullptr;
  if (entry == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  return reinterpret_cast<int (*)(int, char**)>(entry)(argc - 1, argv + 1);
}
