// A program without a library, whose exact instructions recorder_test.cpp knows. Compiled with:
// g++ -O0 -static -nostdlib -ffreestanding -no-pie
asm(R"(
  .intel_syntax noprefix
  .globl _start
_start:
  mov ecx, 3
  lea rbx, [rip + words]
again:
  mov rax, [rbx + rcx * 8]
  add [rbx], rax
  push rax
  call leaf
  pop rdx
  dec ecx
  jnz again
  lock add [rbx + 64], rax
  mov eax, 60
  xor edi, edi
  syscall
leaf:
  movups xmm1, [rbx]
  movups [rbx + 128], xmm1
  ret
  .bss
  .balign 256
words:
  .skip 1024
  .att_syntax
)");
