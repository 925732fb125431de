// AVX-512 with VNNI: 16 floats are one register. Included once, inside an unnamed namespace.
#pragma once

struct Floats {
    __m512 v;
};
struct Ints {
    __m512i v;
};

INLINE Floats load(const float *p) { return {_mm512_loadu_ps(p)}; }
INLINE void store(float *p, Floats a) { _mm512_storeu_ps(p, a.v); }
INLINE Floats all(float a) { return {_mm512_set1_ps(a)}; }
INLINE Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
INLINE Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
INLINE Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
INLINE Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
INLINE Floats fused(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
INLINE Floats larger(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
INLINE Floats smaller(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
INLINE Ints rounded(Floats a) { return {_mm512_cvtps_epi32(a.v)}; }
INLINE Floats to_floats(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
INLINE Ints load_ints(const int32_t *p) { return {_mm512_loadu_si512(p)}; }
INLINE Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
INLINE Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
INLINE Ints all_ints(int32_t a) { return {_mm512_set1_epi32(a)}; }
INLINE Floats load_bytes(const int8_t *p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)))};
}
INLINE void store_unsigned(uint8_t *p, Ints a) { // saturated
    _mm_storeu_si128((__m128i *)p, _mm512_cvtusepi32_epi8(_mm512_max_epi32(a.v, _mm512_setzero_si512())));
}
INLINE void store_signed(int8_t *p, Ints a) { _mm_storeu_si128((__m128i *)p, _mm512_cvtsepi32_epi8(a.v)); }
INLINE Floats power_of_two(Ints n) { // 2^n for normal numbers
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n.v, _mm512_set1_epi32(127)), 23))};
}
INLINE __m256 upper(__m512 a) { return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)); }
// Lanes i and i + 8 first, then i and i + 4, and so on.
INLINE float sum(Floats a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), upper(a.v));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float largest(Floats a) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), upper(a.v));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
// Bit i is set if a > b in lane i.
INLINE uint32_t is_larger(Floats a, Floats b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ); }
INLINE Floats first_lanes(Floats a, int count, Floats others) {
    return {_mm512_mask_blend_ps((__mmask16)((1u << count) - 1), others.v, a.v)};
}

// ---- products of integers
constexpr int TILE_COLUMNS = 64; // outputs of a tile
constexpr int TILE_ROWS = 6;
constexpr int TILE_GROUP = 4; // inputs multiplied at once
constexpr int DOT_TILE = 16;  // dot products computed together
constexpr int32_t PRODUCT_ZERO = 0;
using Prepared = uint8_t;
INLINE const Prepared *prepare(const uint8_t *rows, int64_t, int16_t *) { return rows; }

template <int M>
INLINE void tile(const Prepared *rows, int64_t depth, const int8_t *weight, Ints *out) {
    __m512i sums[M][4];
    for (int m = 0; m < M; m++)
        for (int g = 0; g < 4; g++) sums[m][g] = _mm512_setzero_si512();
    for (int64_t k = 0; k < depth; k += 4, weight += 256) {
        const __m512i w0 = _mm512_load_si512(weight), w1 = _mm512_load_si512(weight + 64);
        const __m512i w2 = _mm512_load_si512(weight + 128), w3 = _mm512_load_si512(weight + 192);
        UNROLL for (int m = 0; m < M; m++) {
            const __m512i a = _mm512_set1_epi32(*(const int32_t *)(rows + m * depth + k));
            sums[m][0] = _mm512_dpbusd_epi32(sums[m][0], a, w0);
            sums[m][1] = _mm512_dpbusd_epi32(sums[m][1], a, w1);
            sums[m][2] = _mm512_dpbusd_epi32(sums[m][2], a, w2);
            sums[m][3] = _mm512_dpbusd_epi32(sums[m][3], a, w3);
        }
    }
    for (int m = 0; m < M; m++)
        for (int g = 0; g < 4; g++) out[m * 4 + g] = {sums[m][g]};
}

INLINE __m512i pairs(__m512i a, __m512i b) { // of each 128 bits: a0 + a2, b0 + b2, a1 + a3, b1 + b3
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
INLINE __m512i quads(const __m512i *a) { // of each 128 bits: the sums of a[0], a[1], a[2], a[3]
    const __m512i ab = pairs(a[0], a[1]), cd = pairs(a[2], a[3]);
    return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}
INLINE __m512i halves(__m512i a, __m512i b) { // 128 bits each: a0 + a1, a2 + a3, b0 + b1, b2 + b3
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}

template <int M> INLINE __m512i dots(const Prepared *rows, int64_t depth, const int8_t *const *tokens) {
    constexpr int T = DOT_TILE / M;
    __m512i sums[DOT_TILE];
    for (int i = 0; i < DOT_TILE; i++) sums[i] = _mm512_setzero_si512();
    for (int64_t k = 0; k < depth; k += 64) {
        __m512i a[M];
        for (int m = 0; m < M; m++) a[m] = _mm512_loadu_si512(rows + m * depth + k);
        for (int t = 0; t < T; t++) {
            const __m512i w = _mm512_loadu_si512(tokens[t] + k);
            for (int m = 0; m < M; m++) sums[m * T + t] = _mm512_dpbusd_epi32(sums[m * T + t], a[m], w);
        }
    }
    const __m512i low = halves(quads(sums), quads(sums + 4)), high = halves(quads(sums + 8), quads(sums + 12));
    return halves(low, high);
}
INLINE void store_dots(int32_t *out, __m512i sums) { _mm512_storeu_si512(out, sums); }
