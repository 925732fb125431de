// AVX-512 on a processor without it: the intrinsics that the kernels use, emulated by SIMDe on AVX2 and FMA.
// Included before the kernels, with -include.
#pragma once

#include <immintrin.h>

#define SIMDE_X86_AVX512F_ENABLE_NATIVE_ALIASES
#define SIMDE_X86_AVX512VNNI_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define __m512 simde__m512
#define __m512i simde__m512i
#undef _mm512_load_si512
#define _mm512_load_si512(p) simde_mm512_load_si512(p)
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32 emulated_cvtps_epi32
#undef _mm512_cvtepi8_epi32
#define _mm512_cvtepi8_epi32 emulated_cvtepi8_epi32
#undef _mm512_cvtusepi32_epi8
#define _mm512_cvtusepi32_epi8 emulated_cvtusepi32_epi8

// What SIMDe lacks.
static inline simde__m512 emulated_cvtepi32_ps(simde__m512i a) {
    simde__m512i_private from = simde__m512i_to_private(a);
    simde__m512_private to;
    for (int i = 0; i < 2; i++) to.m256[i] = _mm256_cvtepi32_ps(from.m256i[i]);
    return simde__m512_from_private(to);
}
static inline simde__m512i emulated_cvtps_epi32(simde__m512 a) {
    simde__m512_private from = simde__m512_to_private(a);
    simde__m512i_private to;
    for (int i = 0; i < 2; i++) to.m256i[i] = _mm256_cvtps_epi32(from.m256[i]);
    return simde__m512i_from_private(to);
}
static inline simde__m512i emulated_cvtepi8_epi32(__m128i a) {
    simde__m512i_private to;
    to.m256i[0] = _mm256_cvtepi8_epi32(a);
    to.m256i[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(a, 8));
    return simde__m512i_from_private(to);
}
static inline __m128i emulated_cvtusepi32_epi8(simde__m512i a) { // unsigned numbers, saturated
    const simde__m512i_private from = simde__m512i_to_private(a);
    alignas(16) uint8_t bytes[16];
    for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(from.u32[i] < 255 ? from.u32[i] : 255);
    return _mm_load_si128((const __m128i *)bytes);
}
