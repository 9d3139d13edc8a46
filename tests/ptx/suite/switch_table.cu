// A small interpreter: a dense switch in a loop, each thread with its own program counter.
extern "C" __global__ void interpret(const unsigned char* code, const int* input, int* out, int length, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int a = input[i];
  int b = i;
  int steps = 0;
  for (int pc = i % length; steps < 40; ++steps) {
    switch (code[pc]) {
      case 0: a += b; break;
      case 1: b -= a; break;
      case 2: a ^= b << 3; break;
      case 3: b *= 7; break;
      case 4: a = max(a, b); break;
      case 5: b = a & 0xff; break;
      case 6: a = ~a; break;
      case 7: { const int t = a; a = b; b = t; break; }
      case 8: if (a & 1) ++pc; break;
      case 9: a = (int)((unsigned)a >> 2); break;
      case 10: b = __popc(a); break;
      case 11: pc = (pc + (b & 3)) % length; break;
      default: steps = 100; break;
    }
    pc = pc + 1 >= length ? 0 : pc + 1;
  }
  out[i] = a + 31 * b + steps;
}
