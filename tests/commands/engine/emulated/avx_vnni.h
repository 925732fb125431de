// AVX-VNNI on a processor without it: its one intrinsic that the kernels use, emulated by SIMDe on AVX2.
// Included before the kernels, with -include and -D__AVXVNNI__.
#pragma once

#include <immintrin.h>

#include <simde/x86/avx512.h>

#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32(sums, a, b) simde_mm256_dpbusd_epi32(sums, a, b)
