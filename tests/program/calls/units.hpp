// The PTX of relocatable translation units, as nvcc -rdc=true makes it.
#pragma once

inline constexpr const char* kTotalUnit = R"(.version 9.0
.target sm_75
.address_size 64
.extern .func (.param .b32 func_retval0) twice (.param .b32 twice_param_0);
.extern .global .align 4 .u32 offset;
.global .align 4 .b8 $str[4] = {38};
.visible .entry total(.param .u64 total_param_0)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [total_param_0];
	cvta.to.global.u64 %rd2, %rd1;
	ld.global.u32 %r1, [offset];
	ld.global.u32 %r2, [$str];
	{
	.param .b32 param0;
	st.param.b32 [param0+0], %r2;
	.param .b32 retval0;
	call.uni (retval0), twice, (param0);
	ld.param.b32 %r3, [retval0+0];
	}
	add.s32 %r4, %r3, %r1;
	st.global.u32 [%rd2], %r4;
	ret;
}
)";

/// The second unit. Its `$str` (7) differs from the first unit's `$str` (38): the kernel computes 2 * 38 + 7
/// + 7.
inline constexpr const char* kTwiceUnit = R"(.version 9.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 offset = 1;
.visible .global .align 4 .u32 seen = 1;
.global .align 4 .b8 $str[4] = {7};
.visible .func (.param .b32 func_retval0) twice (.param .b32 twice_param_0)
{
	.reg .b32 %r<8>;
	ld.param.u32 %r1, [twice_param_0];
	ld.global.u32 %r2, [seen];
	add.s32 %r3, %r2, 1;
	st.global.u32 [seen], %r3;
	ld.global.u32 %r4, [$str];
	mad.lo.s32 %r5, %r1, 2, %r4;
	st.param.b32 [func_retval0+0], %r5;
	ret;
}
)";

inline constexpr const char* kTwiceUnitWithoutOffset = R"(.version 9.0
.target sm_75
.address_size 64
.visible .func (.param .b32 func_retval0) twice (.param .b32 twice_param_0)
{
	ret;
}
)";

inline constexpr const char* kDeviceRuntimeUnit = R"(.version 9.0
.target sm_121
.address_size 64
.visible .func _Z33_cuda_device_runtime_cu_something() { wgmma.fence.sync.aligned; }
)";
