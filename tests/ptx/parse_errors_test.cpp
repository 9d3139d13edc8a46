// Malformed input: the whole error line, with the place and a correct form.
#include <gtest/gtest.h>

#include "ptx/compile.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

constexpr const char* kHeader = ".version 9.0\n.target sm_75\n.address_size 64\n";

std::string parse_error(const std::string& text) {
  try {
    static_cast<void>(ptx::parse(text, "a.ptx"));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

/// The error of one statement, which stands in line 12 from column 1 on.
std::string error_in_kernel(const std::string& statement) {
  return parse_error(std::string(kHeader) +
                     ".global .b32 g;\n"
                     ".extern .func (.param .b32 r) callee(.param .b64 a);\n"
                     ".visible .entry k(.param .u64 in, .param .u32 n)\n{\n"
                     ".reg .pred %p<4>; .reg .b16 %rs<4>;\n.reg .b32 %r<4>; .reg .f32 %f<4>;\n"
                     ".reg .b64 %rd<4>; .reg .f64 %fd<4>; .shared .b32 s;\n.param .b32 slot; done:\n" +
                     statement + "\nret;\n}\n");
}

struct ErrorCase {
  const char* statement;
  const char* error;
};

TEST(ParseErrors, StatementsOfAKernel) {
  const ErrorCase cases[] = {
      {"addd.s32 %r1, %r2, %r3;", "a.ptx:12:1: error: unknown opcode 'addd'; did you mean 'add'?"},
      {"add.s33 %r1, %r2, %r3;",
       "a.ptx:12:4: error: unknown modifier '.s33' of 'add.s33'; did you mean '.s32'?"},
      {"add %r1, %r2, %r3;", "a.ptx:12:1: error: 'add' lacks a type"},
      {"add.s32 %r1, %r2;", "a.ptx:12:1: error: 'add.s32' takes 3 operands, 2 given"},
      {"add.s32.rn %r1, %r2, %r3;", "a.ptx:12:8: error: modifier '.rn' is not possible in 'add.s32.rn'"},
      {"add.s32 %r1, %r2, %f1;", "a.ptx:12:19: error: register '%f1' is .f32, but .s32 is wanted here"},
      {"add.f32 %f1, %f2, 1;", "a.ptx:12:19: error: expected a float for .f32, such as 0f3F800000 or 1.0"},
      {"add.s32 %r1, %r2, 0f3F800000;", "a.ptx:12:19: error: expected an integer for .s32"},
      {"add.s32 %r9, %r2, %r3;", "a.ptx:12:9: error: unknown register '%r9'; did you mean '%r3'?"},
      {"add.s32 %q1, %r2, %r3;", "a.ptx:12:9: error: unknown register '%q1'"},
      {"add.s32 5, %r2, %r3;", "a.ptx:12:9: error: a result goes to a register"},
      {"add.s32 %r1, %r2, g;", "a.ptx:12:19: error: 'g' is not a register; mov reads its address into one"},
      {"add.s64 %rd1, %rd2, %r3;", "a.ptx:12:21: error: register '%r3' is .b32, but .s64 is wanted here"},
      {"mul.s32 %r1, %r2, %r3;", "a.ptx:12:1: error: 'mul.s32' needs .lo, .hi or .wide"},
      {"mul.wide.s64 %rd1, %rd2, %rd3;",
       "a.ptx:12:1: error: 'mul.wide.s64': .wide takes 16 and 32 bit types"},
      {"mad.f32 %f1, %f2, %f3, %f1;", "a.ptx:12:1: error: 'mad.f32' needs a rounding such as .rn"},
      {"div.f32 %f1, %f2, %f3;", "a.ptx:12:1: error: 'div.f32' needs one rounding or .approx or .full"},
      {"sqrt.rn.approx.f32 %f1, %f2;",
       "a.ptx:12:1: error: 'sqrt.rn.approx.f32' needs one rounding or .approx"},
      {"cvt.s32.f32 %r1, %f1;", "a.ptx:12:1: error: 'cvt.s32.f32' needs .rni, .rzi, .rmi or .rpi"},
      {"cvt.rn.s32.f32 %r1, %f1;", "a.ptx:12:1: error: 'cvt.rn.s32.f32' needs .rni, .rzi, .rmi or .rpi"},
      {"cvt.f32.f64 %f1, %fd1;", "a.ptx:12:1: error: 'cvt.f32.f64' needs .rn, .rz, .rm or .rp"},
      {"mov.u32 %r1, %envreg32;",
       "a.ptx:12:14: error: unknown register '%envreg32'; did you mean '%envreg2'?"},
      {"mov.u64 %rd1, %tid.w;", "a.ptx:12:15: error: unknown register '%tid.w'; did you mean '%tid.x'?"},
      {"mov.u32 %r1, %tid.x+1;", "a.ptx:12:14: error: a number is not added to special register '%tid.x'"},
      {"setp.s32 %p1, %r1, %r2;", "a.ptx:12:1: error: 'setp.s32' lacks a comparison"},
      {"setp.lo.s32 %p1, %r1, %r2;",
       "a.ptx:12:1: error: this comparison is not possible for .s32 in 'setp.lo.s32'"},
      {"setp.ltu.u32 %p1, %r1, %r2;",
       "a.ptx:12:1: error: this comparison is not possible for .u32 in 'setp.ltu.u32'"},
      {"setp.lt.b32 %p1, %r1, %r2;",
       "a.ptx:12:1: error: this comparison is not possible for .b32 in 'setp.lt.b32'"},
      {"setp.eq.s32 %r1, %r1, %r2;", "a.ptx:12:13: error: register '%r1' is .b32, but .pred is wanted here"},
      {"selp.b32 %r1, %r2, %r3, %r1;",
       "a.ptx:12:25: error: register '%r1' is .b32, but .pred is wanted here"},
      {"shl.b32 %r1, %r2, %rd1;", "a.ptx:12:19: error: register '%rd1' is .b64, but .u32 is wanted here"},
      {"lop3.b32 %r1, %r2, %r3, %r1, 256;",
       "a.ptx:12:30: error: the table of lop3 is a number from 0 to 255"},
      {"ld.global.u32 %r1, %rd1;", "a.ptx:12:20: error: expected an address in [ ]"},
      {"ld.global.u32 %r1, [%r1];", "a.ptx:12:21: error: register '%r1' is .b32, but .u64 is wanted here"},
      {"ld.global.u32 %r1, [%rd1;", "a.ptx:12:25: error: expected ']' after the address, found ';'"},
      {"ld.global.u64 %r1, [%rd1];",
       "a.ptx:12:15: error: register '%r1' is .b32, but .u64 or wider is wanted here"},
      {"ld.global.v2.u32 %r1, [%rd1];",
       "a.ptx:12:18: error: 'ld.global.v2.u32' moves 2 values; expected them in { }"},
      {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];",
       "a.ptx:12:18: error: 'ld.global.v2.u32' moves 2 values, 3 given"},
      {"ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];",
       "a.ptx:12:10: error: unknown modifier '.v3' of 'ld.global.v3.u32'"},
      {"ld.shared.u32 %r1, [g];",
       "a.ptx:12:21: error: 'g' lies in .global, but 'ld.shared.u32' accesses .shared"},
      {"ld.param.u32 %r1, [n+4];",
       "a.ptx:12:20: error: access to bytes 4 to 7 of parameter 'n', which has 4"},
      {"ld.param.u32 %r1, [m];", "a.ptx:12:20: error: unknown register or variable 'm'"},
      {"ld.global.u32 %r1, [n];",
       "a.ptx:12:21: error: 'n' is a parameter; 'ld.global.u32' does not access .param"},
      {"ld.global.wb.u32 %r1, [%rd1];",
       "a.ptx:12:1: error: the cache operator is not possible in 'ld.global.wb.u32'"},
      {"st.const.u32 [%rd1], %r1;", "a.ptx:12:1: error: constant memory cannot be written"},
      {"st.param.u32 [n], %r1;", "a.ptx:12:1: error: a kernel's parameters cannot be written"},
      {"mov.u32 %r1, g;", "a.ptx:12:14: error: the address of 'g' has 64 bits, but .u32 is wanted here"},
      {"mov.u32 %r1, %tid.q;", "a.ptx:12:14: error: unknown register '%tid.q'; did you mean '%tid.x'?"},
      {"mov.u32 %r1, %clock64;",
       "a.ptx:12:14: error: special register '%clock64' has 64 bits, but .u32 is wanted here"},
      {"mov.u32 %r1, %laneidd;", "a.ptx:12:14: error: unknown register '%laneidd'; did you mean '%laneid'?"},
      {"mov.u32 %r1, %cluster_ctaid.x;",
       "a.ptx:12:14: error: '%cluster_ctaid.x': thread block clusters are not supported"},
      {"mov.b64 %rd1, {%r1, %r2, %r3};", "a.ptx:12:15: error: a vector of 3 elements does not make one .b64"},
      {"mov.b32 %r1, {%r2, %r3};", "a.ptx:12:15: error: register '%r2' is .b32, but .b16 is wanted here"},
      {"bra nowhere;", "a.ptx:12:5: error: unknown label 'nowhere'"},
      {"bra don;", "a.ptx:12:5: error: unknown label 'don'; did you mean 'done'?"},
      {"@%r1 bra done;", "a.ptx:12:2: error: register '%r1' is .b32, but .pred is wanted here"},
      {"@5 bra done;", "a.ptx:12:2: error: expected a predicate after '@'"},
      {"call.uni (slot), calle, (slot);",
       "a.ptx:12:18: error: unknown function 'calle'; did you mean 'callee'?"},
      {"call.uni (slot), callee, (slot);",
       "a.ptx:12:18: error: parameter 1 of 'callee' has 8 bytes, 4 given"},
      {"call.uni callee;", "a.ptx:12:10: error: 'callee' takes 1 parameter, 0 given"},
      {"call (slot), %r1, (slot);", "a.ptx:12:14: error: register '%r1' is .b32, but .u64 is wanted here"},
      {"call (slot), %rd1, (slot), proto;",
       "a.ptx:12:28: error: 'proto' is not a .callprototype that stands before"},
      {"brx.idx %r1, done;", "a.ptx:12:14: error: 'done' is not a list of .branchtargets that stands before"},
      {"bar.sync 16;", "a.ptx:12:10: error: barrier 16; a block has barriers 0 to 15"},
      {"bar.sync 0, 33;", "a.ptx:12:13: error: 33 threads at a barrier; the number is a multiple of 32"},
      {"bar %r1;", "a.ptx:12:1: error: 'bar' needs .sync, .arrive, .red or .warp.sync"},
      {"membar;", "a.ptx:12:1: error: 'membar' needs a scope: .cta, .gl or .sys"},
      {"shfl.up.b32 %r1, %r2, 1, 0;",
       "a.ptx:12:1: error: 'shfl.up.b32': use shfl.sync; targets from sm_70 on have no shfl without it since "
       "PTX "
       "6.4"},
      {"vote.ballot.b32 %r1, %p1;",
       "a.ptx:12:1: error: 'vote.ballot.b32': use vote.sync; targets from sm_70 on have no vote without it "
       "since "
       "PTX 6.4"},
      {"atom.global.mul.u32 %r1, [%rd1], %r2;",
       "a.ptx:12:12: error: unknown modifier '.mul' of 'atom.global.mul.u32'"},
      {"atom.global.add.b32 %r1, [%rd1], %r2;",
       "a.ptx:12:16: error: type .b32 is not possible in 'atom.global.add.b32'"},
      {"atom.local.add.u32 %r1, [%rd1], %r2;",
       "a.ptx:12:1: error: 'atom.local.add.u32': atomics work on .global, .shared and generic addresses"},
      {"red.global.cas.b32 [%rd1], %r1, %r2;",
       "a.ptx:12:1: error: 'red.global.cas.b32': red has no .exch and no .cas"},
      {"tex.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1}];",
       "a.ptx:12:1: error: 'tex.v4.f32.s32' needs .1d, .2d, .3d, .a1d, .a2d, .cube or .acube"},
      {"tex.cube.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1, %r2, %r1, %r1}];",
       "a.ptx:12:1: error: 'tex.cube.v4.f32.s32': cube maps are read by coordinates of type .f32"},
      {"tex.2dms.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1, %r2, %r2, %r2}];",
       "a.ptx:12:4: error: 'tex.2dms.v4.f32.s32': reading multi-sample textures is not supported"},
      {"tex.1d.v2.f16x2.f32 {%r1, %r2}, [%rd1, {%f1}];",
       "a.ptx:12:1: error: 'tex.1d.v2.f16x2.f32': results of other kinds than .v4 are not supported"},
      {"tex.1d.v4.f64.s32 {%fd1, %fd2, %fd3, %fd1}, [%rd1, {%r1}];",
       "a.ptx:12:10: error: type .f64 is not possible in 'tex.1d.v4.f64.s32'"},
      {"tex.1d.v4.f32.u32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1}];",
       "a.ptx:12:14: error: type .u32 is not possible in 'tex.1d.v4.f32.u32'"},
      {"tex.1d.v4.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1}];",
       "a.ptx:12:1: error: 'tex.1d.v4.f32' lacks a type"},
      {"tex.1d.v4.f32.s32 %f1, [%rd1, {%r1}];",
       "a.ptx:12:19: error: 'tex.1d.v4.f32.s32' has four results in { }"},
      {"tex.1d.v4.f32.s32 {%f1, %f2}, [%rd1, {%r1}];",
       "a.ptx:12:19: error: 'tex.1d.v4.f32.s32' has four results in { }"},
      {"tex.1d.v4.f32.s32 {%rd1, %f2, %f3, %f1}, [%rd1, {%r1}];",
       "a.ptx:12:20: error: register '%rd1' is .b64, but .f32 is wanted here"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%r1, {%r1}];",
       "a.ptx:12:42: error: register '%r1' is .b32, but .u64 is wanted here"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [g, {%r1}];",
       "a.ptx:12:42: error: 'g' is neither a 64-bit register nor a .texref"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [h, {%r1}];", "a.ptx:12:42: error: unknown texture 'h'"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [5, {%r1}];",
       "a.ptx:12:42: error: expected a texture: a 64-bit register that holds a texture object, or a .texref"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1+8, {%r1}];",
       "a.ptx:12:42: error: a texture has no offset"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1, %r2, %r3}];",
       "a.ptx:12:48: error: 'tex.1d.v4.f32.s32' takes 1 coordinate, 3 given"},
      {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1}];",
       "a.ptx:12:48: error: 'tex.2d.v4.f32.f32' takes 2 coordinates, 1 given"},
      {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1, %rd2}];",
       "a.ptx:12:54: error: register '%rd2' is .b64, but .f32 is wanted here"},
      {"tex.a1d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1, %f2}];",
       "a.ptx:12:50: error: register '%f1' is .f32, but .u32 is wanted here"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, %rd2, {%r1}];",
       "a.ptx:12:48: error: samplers of their own are not supported"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1];",
       "a.ptx:12:41: error: expected a texture and its coordinates in [ ]"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1}",
       "a.ptx:13:1: error: expected ']' after the coordinates, found 'ret'"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1}], {%r1};",
       "a.ptx:12:56: error: 'tex.1d.v4.f32.s32': offsets and depth comparison are not supported"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}|%p1, [%rd1, {%r1}];",
       "a.ptx:12:39: error: expected ';' after 'tex.1d.v4.f32.s32', found '|'"},
      {"tex.level.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1}];",
       "a.ptx:12:1: error: 'tex.level.1d.v4.f32.s32' takes 3 operands, 2 given"},
      {"tex.grad.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1}], %f1, %f2;",
       "a.ptx:12:1: error: 'tex.grad.1d.v4.f32.s32': gradients go with coordinates of type .f32"},
      {"tld4.2d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1, %f2}];",
       "a.ptx:12:1: error: 'tld4.2d.v4.f32.f32' needs .r, .g, .b or .a"},
      {"tld4.r.1d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1}];",
       "a.ptx:12:1: error: 'tld4.r.1d.v4.f32.f32': tld4 reads .2d and .a2d"},
      {"txq.b32 %r1, [%rd1];", "a.ptx:12:1: error: 'txq.b32' does not say what it asks, such as .width"},
      {"txq.num_samples.b32 %r1, [%rd1];",
       "a.ptx:12:4: error: modifier '.num_samples' of 'txq.num_samples.b32' is not supported"},
      {"tex.grad.2d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1, %f2}], {%f1, %f2}, {%f1};",
       "a.ptx:12:78: error: 'tex.grad.2d.v4.f32.f32' takes gradients of 2 coordinates, 1 given"},
      {"txq.level.array_size.b32 %r1, [%rd1], 0;",
       "a.ptx:12:1: error: 'txq.level.array_size.b32': a level has .width, .height and .depth"},
      {"txq.width.b32 %r1, %rd1;", "a.ptx:12:20: error: expected a texture in [ ]"},
      {"suld.b.1d.b32 {%r1}, [%rd1, {%r1}];",
       "a.ptx:12:1: error: 'suld.b.1d.b32' needs .trap, .clamp or .zero"},
      {"suld.p.1d.b32.trap {%r1}, [%rd1, {%r1}];", "a.ptx:12:1: error: 'suld.p.1d.b32.trap' needs .b"},
      {"suld.b.b32.trap {%r1}, [%rd1, {%r1}];",
       "a.ptx:12:1: error: 'suld.b.b32.trap' needs .1d, .2d, .3d, .a1d or .a2d"},
      {"suld.b.1d.v4.b64.trap {%rd1, %rd2, %rd1, %rd2}, [%rd1, {%r1}];",
       "a.ptx:12:1: error: 'suld.b.1d.v4.b64.trap' moves a vector that does not exist"},
      {"suld.b.cube.b32.trap {%r1}, [%rd1, {%r1, %r1, %r1, %r1}];",
       "a.ptx:12:1: error: 'suld.b.cube.b32.trap': surfaces of cube maps are read as .a2d, with six layers "
       "each"},
      {"sust.b.2d.b32.trap [%rd1, {%r1}], {%r1};",
       "a.ptx:12:27: error: 'sust.b.2d.b32.trap' takes 2 coordinates, 1 given"},
      {"sust.b.1d.b32.trap [%rd1, {%r1}], {_};", "a.ptx:12:36: error: a value that is stored is not '_'"},
      {"sust.b.1d.v2.b32.trap [%rd1, {%r1}], {%r1};",
       "a.ptx:12:38: error: 'sust.b.1d.v2.b32.trap' moves 2 values, 1 given"},
      {"sured.b.xor.1d.b32.trap [%rd1, {%r1}], %r1;",
       "a.ptx:12:1: error: 'sured.b.xor.1d.b32.trap' needs .add, .min, .max, .and or .or"},
      {"sured.p.add.1d.b32.trap [%rd1, {%r1}], %r1;",
       "a.ptx:12:1: error: 'sured.p.add.1d.b32.trap': reductions of other kinds than .b are not supported"},
      {"cp.async.ca.shared.global [%r1], [%rd1], 12;",
       "a.ptx:12:42: error: 'cp.async.ca.shared.global' copies 4, 8 or 16 bytes"},
      {"cp.async.cg.shared.global [%r1], [%rd1], 8;",
       "a.ptx:12:42: error: 'cp.async.cg.shared.global' copies 16 bytes"},
      {"cp.async.ca.shared.global [%r1], [%rd1], 8, 9;",
       "a.ptx:12:45: error: 'cp.async.ca.shared.global' reads at most the 8 bytes that it copies"},
      {"cp.async.shared.global [%r1], [%rd1], 16;",
       "a.ptx:12:1: error: 'cp.async.shared.global' needs .ca or .cg"},
      {"cp.async.ca.global.shared [%rd1], [%r1], 16;",
       "a.ptx:12:36: error: register '%r1' is .b32, but .u64 is wanted here"},
      {"cp.async.ca.shared [%r1], [%rd1], 16;",
       "a.ptx:12:1: error: 'cp.async.ca.shared' copies to .shared from .global"},
      {"cp.async.wait_group %r1;",
       "a.ptx:12:21: error: cp.async.wait_group takes a number of groups from 0 to 1048576"},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [%r2];",
       "a.ptx:12:9: error: 'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes': copying in "
       "bulk "
       "(sm_90) is not supported"},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 64;",
       "a.ptx:12:16: error: 'cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32': copying in bulk "
       "(sm_90) "
       "is not supported"},
      {"mbarrier.shared.b64 [%r1], 1;",
       "a.ptx:12:1: error: 'mbarrier.shared.b64' needs .init, .inval, .arrive, .arrive_drop, .expect_tx, "
       ".complete_tx, .test_wait, .try_wait or .pending_count"},
      {"mbarrier.init.global.b64 [%rd1], 1;",
       "a.ptx:12:1: error: 'mbarrier.init.global.b64': an mbarrier lies in .shared"},
      {"mbarrier.arrive.shared::cluster.b64 _, [%r1];",
       "a.ptx:12:16: error: thread block clusters (.shared::cluster) are not supported"},
      {"mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1];",
       "a.ptx:12:1: error: 'mbarrier.arrive.noComplete.shared.b64' takes 3 operands, 2 given"},
      {"mbarrier.test_wait.shared.b64 %p1, [%r1], %r2;",
       "a.ptx:12:43: error: register '%r2' is .b32, but .b64 is wanted here"},
      {"mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1, 5;",
       "a.ptx:12:1: error: 'mbarrier.test_wait.shared.b64' takes 3 operands, 4 given"},
      {"createpolicy.b64 %rd1, 1;",
       "a.ptx:12:1: error: 'createpolicy.b64' needs .fractional, .range or .cvt"},
      {"vadd.u32.u32.u32 %r1, %r2, %r3, %r1;",
       "a.ptx:12:1: error: 'vadd.u32.u32.u32' takes a third source with a part of the result, or with .add, "
       ".min or "
       ".max"},
      {"vadd.u32.u32.u32 %r1, %r2.b4, %r3;",
       "a.ptx:12:23: error: '.b4' is none of the parts .b0 to .b3, .h0 and .h1"},
      {"vmad.u32.u32.u32 %r1, -%r2, %r3, -%r1;",
       "a.ptx:12:1: error: 'vmad.u32.u32.u32' negates the product or what it adds, without .po"},
      {"vmad.u32.u32.u32.po %r1, -%r2, %r3, %r1;",
       "a.ptx:12:1: error: 'vmad.u32.u32.u32.po' negates the product or what it adds, without .po"},
      {"vmad.u32.u32.u32 %r1, %r2.h2, %r3, %r1;",
       "a.ptx:12:23: error: '.h2' is none of the parts .b0 to .b3, .h0 and .h1"},
      {"applypriority.global.L2 [%rd1], 128;",
       "a.ptx:12:1: error: 'applypriority.global.L2': applypriority takes .global and .L2::evict_normal"},
      {"discard.global.L2 [%rd1], 64;", "a.ptx:12:27: error: discard takes 128 bytes"},
      {"add.s32 %r1, -%r2, %r3;", "a.ptx:12:15: error: '-' goes with a number"},
      {"alloca.u64 %rd1, %rd1, 12;", "a.ptx:12:24: error: alignment 12 is not a power of two up to 4096"},
      {"alloca.b64 %rd1, %rd1;", "a.ptx:12:7: error: type .b64 is not possible in 'alloca.b64'"},
      {"add.s32 %r1, %r2, %r3", "a.ptx:13:1: error: expected ';' after 'add.s32', found 'ret'"},
      {"add.s32 %r1, %r2 %r3;", "a.ptx:12:18: error: expected ';' after 'add.s32', found '%r3'"},
      {"add.s32 %r1, , %r3;", "a.ptx:12:14: error: expected an operand, found ','"},
      {"%r1 = 5;", "a.ptx:12:1: error: expected an instruction, found '%r1'"},
      {".regg .b32 %x;", "a.ptx:12:1: error: unknown directive '.regg' in a function; did you mean '.reg'?"},
      {".reg .b256 %x;",
       "a.ptx:12:6: error: register type '.b256' is not supported; known: .pred, .b8 to .b128, .u8 to .u64, "
       ".s8 to .s64, .f16, .f16x2, .bf16, .bf16x2, .f32, .f64"},
      {".reg .v4 .f64 %x;",
       "a.ptx:12:10: error: registers of type .v4 .f64 do not exist; a vector has 128 bits at most and no "
       "predicates"},
      {".reg .v2 .pred %x;",
       "a.ptx:12:10: error: registers of type .v2 .pred do not exist; a vector has 128 bits at most and no "
       "predicates"},
      {".reg .v2 .u32 v; mov.u32 %r1, v.z;",
       "a.ptx:12:31: error: 'v' is a vector of 2 registers; it has no '.z'"},
      {".reg .v2 .u32 v; mov.u32 %r1, v+4;",
       "a.ptx:12:31: error: 'v' is a vector; its elements are v.x, v.y"},
      {".reg .v2 .u32 v; add.u32 %r1, %r2, v;", "a.ptx:12:36: error: expected a register or a number"},
      {".reg .v2 .u32 v; mov.v4.u32 v, %tid;",
       "a.ptx:12:29: error: 'mov.v4.u32' moves a vector of 4 elements"},
      {".reg .b128 q; atom.global.exch.b128 q, [%rd1], q;",
       "a.ptx:12:31: error: 'atom.global.exch.b128' is not supported: 128 bits are only loaded, stored and "
       "moved"},
      {"add.s32 %r1+1, %r2, %r3;", "a.ptx:12:9: error: a result goes to a register, without a number added"},
      {"add.f32 %f1, %f2+1, %f3;", "a.ptx:12:14: error: a number is added to a register of integers"},
      {"mov.u32 %r1, 1/0;", "a.ptx:12:15: error: division by zero in a constant expression"},
      {"mov.u32 %r1, 1+1.0;", "a.ptx:12:15: error: '+' of an integer and a float in a constant expression"},
      {"mov.u32 %r1, 1.0&2.0;", "a.ptx:12:17: error: '&' in a constant expression takes integers"},
      {"mov.u32 %r1, ~1.0;", "a.ptx:12:14: error: this operator of a constant expression takes integers"},
      {"mov.u32 %r1, (1+2;", "a.ptx:12:18: error: expected ')' after a constant expression, found ';'"},
      {"mov.u32 %r1, 1+%r2;", "a.ptx:12:16: error: expected a number in a constant expression"},
      {"mov.u32 %r1, 1?2;", "a.ptx:12:17: error: expected ':' after the first choice of '?', found ';'"},
      {"ld.global.u32 %r1, [%rd1+1.0*2.0];", "a.ptx:12:26: error: an offset is an integer"},
      {"call (%rd1), callee, (%rd1);", "a.ptx:12:7: error: register '%rd1' is .b64, but .b32 is wanted here"},
      {"call (%r1), callee, (%rd1, %rd2);", "a.ptx:12:13: error: 'callee' takes 1 parameter, 2 given"},
      {"call (%r1), callee, (g);",
       "a.ptx:12:22: error: 'g' is not a .param variable, register or number; a call passes those"},
      {"call (%r1), %rd1, (5);",
       "a.ptx:12:20: error: a call that passes this needs to know the function's parameters; a "
       ".callprototype gives "
       "them"},
      {"setmaxnreg.inc.sync.aligned.u32 20;",
       "a.ptx:12:33: error: setmaxnreg takes a multiple of 8 from 24 to 256"},
      {"setmaxnreg.inc.sync.u32 40;",
       "a.ptx:12:1: error: 'setmaxnreg.inc.sync.u32': expected setmaxnreg.inc.sync.aligned or "
       "setmaxnreg.dec.sync.aligned"},
      {".reg .b32 %r1x; .reg .b32 %r1x;", "a.ptx:12:27: error: '%r1x' is declared twice"},
      {".shared .b32 t = 5;", "a.ptx:12:14: error: only .global and .const variables have initial values"},
      {".shared .align 3 .b32 t;", "a.ptx:12:16: error: alignment 3 is not a power of two up to 65536"},
      {".shared .b8 big[1000000];", "a.ptx:12:13: error: .shared variable 'big' is larger than 262144 bytes"},
      {".local .b8 big[1000000];",
       "a.ptx:12:12: error: the .local variables of a function need more than 524288 bytes"},
      {"done: ret;", "a.ptx:12:1: error: label 'done' stands twice"},
      {"prmt.b32.xyz %r1, %r2, %r3, %r1;", "a.ptx:12:9: error: unknown modifier '.xyz' of 'prmt.b32.xyz'"},
      {"not.pred %p1, 2.0;", "a.ptx:12:15: error: a predicate is 0 or 1"},
      {"add.s32 %r1, !%r2, %r3;", "a.ptx:12:15: error: '!' goes with a predicate"},
      {"add.s32 %r1|%p1, %r2, %r3;", "a.ptx:12:9: error: a pair (a|b) is not possible here"},
      {"mov.u32 %r1, 0xfffffffffffffffff;", "a.ptx:12:14: error: number that does not fit 64 bits"},
      {"mov.f32 %f1, 0f3F80;", "a.ptx:12:14: error: a number that begins with 0f has 8 hexadecimal digits"},
      {"mov.u32 %r1, 12ab;", "a.ptx:12:14: error: 'a' does not belong into a number"},
      {"}", "a.ptx:13:1: error: expected a directive, found 'ret'"},
      {"{", "a.ptx:15:1: error: the body of 'k', begun in line 7, has no end; '}' is missing"},
      {"mov.u32 %r1, #;", "a.ptx:12:14: error: character '#' is not part of PTX"},
      {"add.cc.f32 %f1, %f2, %f3;", "a.ptx:12:4: error: modifier '.cc' is not possible in 'add.cc.f32'"},
      {"fence.sc;", "a.ptx:12:1: error: 'fence.sc' needs a scope: .cta, .gpu or .sys"},
      {"isspacep.global %p1, %r1;", "a.ptx:12:22: error: register '%r1' is .b32, but .u64 is wanted here"},
      {"cvta.u64 %rd1, %rd2;", "a.ptx:12:1: error: 'cvta.u64' needs a state space such as .global"},
      {"ld.shared.v8.b32 {%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1}, [%r1];",
       "a.ptx:12:1: error: 'ld.shared.v8.b32': vectors of 256 bits go with .global"},
      {"ld.global.v8.b64 {%rd1,%rd1,%rd1,%rd1,%rd1,%rd1,%rd1,%rd1}, [%rd1];",
       "a.ptx:12:1: error: 'ld.global.v8.b64' moves a vector that does not exist"},
      {"bar.cluster.sync 0;", "a.ptx:12:4: error: thread block clusters (barrier.cluster) are not supported"},
      {"\"text\";", "a.ptx:12:1: error: expected an instruction, found a string"},
      {"add.s32 %r1, %r2, 5 6;", "a.ptx:12:21: error: expected ';' after 'add.s32', found '6'"},
      {"atom.global.add.u32 %r1, [%rd1], %r2, %r3;",
       "a.ptx:12:1: error: 'atom.global.add.u32' takes 3 operands, 4 given"},
      {"fma.rn.scaled.f16 %rs1, %rs2, %rs3, %rs1;",
       "a.ptx:12:7: error: modifier '.scaled' of 'fma.rn.scaled.f16' is not supported"},
      {"min.xorsign.f32 %f1, %f2, %f3;", "a.ptx:12:1: error: 'min.xorsign.f32' needs .abs with .xorsign"},
      {"lop3.or.b32 %r1, %r2, %r3, %r1, 0x96, %p1;",
       "a.ptx:12:13: error: lop3 with .and, .or or .xor writes a pair: register|predicate"},
      {"cvt.pack.u16.s32 %r1, %r2, %r3;", "a.ptx:12:1: error: 'cvt.pack.u16.s32' needs .sat"},
      {"cvt.pack.sat.u32.s32 %r1, %r2, %r3;",
       "a.ptx:12:1: error: 'cvt.pack.sat.u32.s32' packs .s16, .u16, .s8, .u8, .s4, .u4, .s2 or .u2"},
      {"cvt.rn.satfinite.f32.f64 %f1, %fd2;",
       "a.ptx:12:7: error: modifier '.satfinite' is not possible in 'cvt.rn.satfinite.f32.f64'"},
  };
  for (const ErrorCase& c : cases) EXPECT_EQ(error_in_kernel(c.statement), c.error) << c.statement;
}

TEST(ParseErrors, ModuleLevel) {
  const auto after_header = [](const std::string& text) { return parse_error(kHeader + text); };
  EXPECT_EQ(parse_error(""), "a.ptx:1:1: error: no PTX found: the text has no .version");
  EXPECT_EQ(parse_error("\x7f"
                        "ELF"),
            "a.ptx:1:1: error: character 0x7f is not part of PTX");
  EXPECT_EQ(parse_error(".target sm_75"), "a.ptx:1:1: error: PTX begins with .version");
  EXPECT_EQ(parse_error(".version 9"),
            "a.ptx:1:10: error: expected a version such as 9.0 after .version, found '9'");
  EXPECT_EQ(parse_error(".version 9.0\n.target compute_75\n"),
            "a.ptx:2:9: error: unknown target 'compute_75'; known: sm_NN such as sm_75");
  EXPECT_EQ(parse_error(".version 9.0\n.target sm_75\n.address_size 32\n"),
            "a.ptx:3:15: error: only .address_size 64 is supported");
  EXPECT_EQ(parse_error(".version 9.0\n.global .b32 x;"),
            "a.ptx:2:1: error: expected .target before the first declaration");
  EXPECT_EQ(after_header(".visble .entry k() { ret; }"),
            "a.ptx:4:1: error: unknown directive '.visble'; did you mean '.visible'?");
  EXPECT_EQ(
      after_header(".global .samplerref t;"),
      "a.ptx:4:9: error: samplers of their own (.samplerref) are not supported; a texture object has its "
      "sampler");
  EXPECT_EQ(after_header(".const .texref t;"),
            "a.ptx:4:8: error: '.texref' is the type of .global variables and of kernels' parameters");
  EXPECT_EQ(after_header(".global .surfref s; .entry k() { .reg .f32 f; .reg .b32 r;\n"
                         "tex.1d.v4.f32.s32 {f, f, f, f}, [s, {r}]; }"),
            "a.ptx:5:34: error: 's' is a .surfref; a .texref is wanted here");
  EXPECT_EQ(after_header(".global .texref t[2];"),
            "a.ptx:4:18: error: arrays of .texref and .surfref are not supported");
  EXPECT_EQ(
      after_header(".global .texref t = { width = 4 };"),
      "a.ptx:4:19: error: initial values of a .texref or .surfref are not supported; the host binds it");
  EXPECT_EQ(after_header(".global .texref t; .global .texref t;"),
            "a.ptx:4:36: error: 't' is declared twice");
  EXPECT_EQ(after_header(".tex .u32 t;"), "a.ptx:4:1: error: .tex is not supported; .global .texref is");
  EXPECT_EQ(after_header(".global .texref t; .entry k() { .reg .b32 %a; mov.u32 %a, t; }"),
            "a.ptx:4:59: error: 't' is a texture or surface, whose object has 64 bits");
  EXPECT_EQ(after_header(".global .v2 .u32 g = 5;"),
            "a.ptx:4:22: error: the initial value of an array or vector is a list in { }");
  EXPECT_EQ(after_header(".global .v4 .f64 g;"),
            "a.ptx:4:13: error: vectors of type .v4 .f64 do not exist; they have 128 bits at most");
  EXPECT_EQ(
      after_header(".func f(.param .v2 .u32 a) { ret; }"),
      "a.ptx:4:16: error: parameters of vector type '.v2' do not exist; an array of .b8 with .align holds a "
      "vector");
  EXPECT_EQ(after_header(".entry k(.param .b8 a[]) { ret; }"),
            "a.ptx:4:21: error: an array of open size is no parameter of a kernel");
  EXPECT_EQ(after_header(".entry k() .entry k() { ret; }"),
            "a.ptx:4:12: error: unknown directive '.entry' of a function");
  EXPECT_EQ(after_header(".func f(.reg .u32 a); .func f(.param .u32 a) { ret; }"),
            "a.ptx:4:29: error: 'f' was declared before with other parameters");
  EXPECT_EQ(after_header(".global .b32 x; .global .b32 x;"), "a.ptx:4:30: error: 'x' is declared twice");
  EXPECT_EQ(after_header(".global .b32 x[2] = {1, 2, 3};"),
            "a.ptx:4:14: error: 'x' has 8 bytes, its initial value 12");
  EXPECT_EQ(after_header(".global .u32 x = y;"), "a.ptx:4:18: error: unknown variable 'y'");
  EXPECT_EQ(after_header(".global .b32 y; .global .u32 x = y;"),
            "a.ptx:4:34: error: an address needs 64 bits; .u32 is too narrow");
  EXPECT_EQ(after_header(".const .b8 x[65537];"),
            "a.ptx:4:12: error: the .const variables need more than 65536 bytes");
  EXPECT_EQ(after_header(".global .b64 x[0xffffffffffffffff];"),
            "a.ptx:4:16: error: array of more than 2^40 elements");
  EXPECT_EQ(after_header(".entry k(.param .b8 p[40000]) { ret; }"),
            "a.ptx:4:21: error: parameter 'p' is larger than 32764 bytes");
  EXPECT_EQ(after_header(".entry k() .maxntid 32, 0 { ret; }"),
            "a.ptx:4:21: error: a block of 0 threads; a block has 1 to 1024");
  EXPECT_EQ(after_header(".entry k() { ret; } .entry k() { ret; }"),
            "a.ptx:4:28: error: function 'k' has two bodies");
  EXPECT_EQ(after_header(".func f(.param .b32 a); .func f(.param .b64 a) { ret; }"),
            "a.ptx:4:31: error: 'f' was declared before with other parameters");
  EXPECT_EQ(after_header(".extern .global .b32 x;\n.entry k() { .reg .b64 a; mov.u64 a, x; ret; }"),
            "a.ptx:4:22: error: external variable 'x' has no definition in this file");
  EXPECT_EQ(after_header(".func f();\n.entry k() { .reg .b64 a; mov.u64 a, f; ret; }"),
            "a.ptx:5:38: error: function 'f' has no body in this file");
  EXPECT_EQ(after_header(".entry k(.reg .b32 a) { ret; }"),
            "a.ptx:4:20: error: the parameters of a kernel lie in .param");
  EXPECT_EQ(after_header("/* no end"), "a.ptx:4:1: error: comment without an end; '*/' is missing");
  EXPECT_EQ(after_header(".file 1 \"no end\n"), "a.ptx:4:9: error: string without an end; '\"' is missing");
  EXPECT_EQ(after_header(".section .debug_info {"),
            "a.ptx:4:23: error: section without an end; '}' is missing");
  EXPECT_EQ(after_header(".entry k() .reqnctapercluster 2 { ret; }"),
            "a.ptx:4:12: error: thread block clusters (.reqnctapercluster) are not supported");
}

/// A module of three kernels and two functions, of which `bad`, `bad_function` and `bad_call` have faults.
const std::string kMixed = std::string(kHeader) + R"(.visible .func bad_function()
{
  setmaxnreg.inc.sync.aligned.u32 8;
  ret;
}
.visible .func takes(.param .b64 a)
{
  ret;
}
.visible .entry good()
{
  ret;
}
.visible .entry bad()
{
  {
    frobnicate;
  }
  ret;
}
.visible .entry bad_call()
{
  .param .b32 slot;
  call.uni takes, (slot);
  ret;
}
.visible .entry calls_bad()
{
  call.uni bad_function;
  ret;
}
.visible .entry clustered() .explicitcluster .reqnctapercluster 2, 1, 1 .maxntid 64
{
  ret;
}
)";

TEST(ParseByFunction, KeepsWhatIsWrongWithEachFunction) {
  const isa::Module module = ptx::parse_by_function(kMixed, "a.ptx");
  const auto error = [&](const std::string& name) {
    for (const isa::Function& f : module.functions) {
      if (f.name == name) return f.error;
    }
    return std::string("there is none");
  };
  EXPECT_EQ(error("good"), "");
  EXPECT_EQ(error("takes"), "");
  EXPECT_EQ(error("calls_bad"), "");
  EXPECT_EQ(error("bad_function"), "a.ptx:6:35: error: setmaxnreg takes a multiple of 8 from 24 to 256");
  EXPECT_EQ(error("bad"), "a.ptx:20:5: error: expected an instruction, found 'frobnicate'");
  EXPECT_EQ(error("clustered"),
            "a.ptx:35:29: error: thread block clusters (.explicitcluster) are not supported");
  EXPECT_EQ(error("bad_call"), "a.ptx:27:12: error: parameter 1 of 'takes' has 8 bytes, 4 given");
  for (const isa::Function& f : module.functions) EXPECT_EQ(f.code.empty(), !f.error.empty()) << f.name;
  // The whole module fails at its first fault.
  EXPECT_EQ(parse_error(kMixed), error("bad_function"));
}

TEST(ParseByFunction, CompilesWhatDoesNotNeedTheFaulty) {
  const isa::Module module = ptx::parse_by_function(kMixed, "a.ptx");
  for (const isa::Function& f : module.functions) {
    if (!f.is_kernel) continue;
    std::string error;
    try {
      EXPECT_FALSE(ptx::compile(module, f, {}).code.empty());
    } catch (const UserError& e) {
      error = e.what();
    }
    const std::string expected = f.name == "calls_bad"
                                     ? "a.ptx:6:35: error: setmaxnreg takes a multiple of 8 from 24 to 256"
                                     : f.error;
    EXPECT_EQ(error, expected) << f.name;
  }
}

TEST(ParseByFunction, WhatEndsTheFileEndsTheParse) {
  for (const char* text :
       {".entry k() { frobnicate; ", ".entry k() { frobnicate; } }", ".entry k( { ret; }"}) {
    EXPECT_THROW(static_cast<void>(ptx::parse_by_function(std::string(kHeader) + text, "a.ptx")), UserError)
        << text;
  }
}

/// Parses, or refuses with a place; whatever else comes is a failure of the parser.
void survive(const std::string& text) {
  try {
    static_cast<void>(ptx::parse(text, "a.ptx"));
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("a.ptx:"), std::string::npos) << text;
  }
}

TEST(ParseHostile, TextureInstructionsCutOffAndGarbled) {
  const std::string text = std::string(kHeader) + R"(.global .texref t;
.visible .entry k(.param .u64 h)
{
  .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [h];
  tex.a2d.v4.f32.f32 {%f1, %f2, _, %f4}, [%rd1, {%r1, %f5, %f6, %f6}];
  tex.grad.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [t, {%f5, %f6}], {%f1, %f2}, {%f3, %f4};
  tld4.g.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f5, %f6}];
  txq.width.b32 %r1, [t];
  ret;
}
)";
  EXPECT_EQ(parse_error(text), "no error");
  for (std::size_t length = 0; length < text.size(); ++length) survive(text.substr(0, length));
  constexpr std::string_view kBytes = "{}[],;.%+-|@ 0\n\xff_";
  const std::size_t begin = text.find("tex.a2d");
  for (std::size_t at = begin; at < text.size(); ++at) {
    std::string without = text;
    without.erase(at, 1);
    survive(without);
    for (const char byte : kBytes) {
      std::string other = text;
      other[at] = byte;
      survive(other);
      other = text;
      other.insert(at, 1, byte);
      survive(other);
    }
  }
}

}  // namespace
}  // namespace gpumux
