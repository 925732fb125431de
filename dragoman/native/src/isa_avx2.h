// AVX2 and FMA: 16 floats are two registers. Included once, inside an unnamed namespace.
// With AVX-VNNI, products of four bytes at once; without, of two numbers widened to 16 bits, which are exact.
#pragma once

struct Floats {
    __m256 low, high;
};
struct Ints {
    __m256i low, high;
};

INLINE Floats load(const float *p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INLINE void store(float *p, Floats a) {
    _mm256_storeu_ps(p, a.low);
    _mm256_storeu_ps(p + 8, a.high);
}
INLINE Floats all(float a) { return {_mm256_set1_ps(a), _mm256_set1_ps(a)}; }
INLINE Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
INLINE Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
INLINE Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
INLINE Floats operator/(Floats a, Floats b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
INLINE Floats fused(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
INLINE Floats larger(Floats a, Floats b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
INLINE Floats smaller(Floats a, Floats b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
INLINE Ints rounded(Floats a) { return {_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)}; }
INLINE Floats to_floats(Ints a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
INLINE Ints load_ints(const int32_t *p) {
    return {_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 8))};
}
INLINE void store_ints(int32_t *p, Ints a) {
    _mm256_storeu_si256((__m256i *)p, a.low);
    _mm256_storeu_si256((__m256i *)(p + 8), a.high);
}
INLINE Ints operator-(Ints a, Ints b) { return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)}; }
INLINE Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }
INLINE Ints all_ints(int32_t a) { return {_mm256_set1_epi32(a), _mm256_set1_epi32(a)}; }
INLINE Floats load_bytes(const int8_t *p) { // int8 as floats
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p))),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p + 8))))};
}
INLINE __m128i narrowed(Ints a, bool is_signed) { // saturated
    __m256i shorts = _mm256_packs_epi32(a.low, a.high);
    shorts = _mm256_permute4x64_epi64(shorts, 0xD8);
    const __m128i low = _mm256_castsi256_si128(shorts), high = _mm256_extracti128_si256(shorts, 1);
    return is_signed ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high);
}
INLINE void store_unsigned(uint8_t *p, Ints a) { _mm_storeu_si128((__m128i *)p, narrowed(a, false)); }
INLINE void store_signed(int8_t *p, Ints a) { _mm_storeu_si128((__m128i *)p, narrowed(a, true)); }
INLINE Floats power_of_two(Ints n) { // 2^n for normal numbers
    const __m256i bias = _mm256_set1_epi32(127);
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.low, bias), 23)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.high, bias), 23))};
}
// Lanes i and i + 8 first, then i and i + 4, and so on.
INLINE float sum(Floats a) {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float largest(Floats a) {
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
// Bit i is set if a > b in lane i.
INLINE uint32_t is_larger(Floats a, Floats b) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ)) |
           (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ)) << 8;
}
INLINE Floats first_lanes(Floats a, int count, Floats others) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 low = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes));
    const __m256 high = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count - 8), lanes));
    return {_mm256_blendv_ps(others.low, a.low, low), _mm256_blendv_ps(others.high, a.high, high)};
}

// ---- products of integers
constexpr int TILE_COLUMNS = 16; // outputs of a tile
constexpr int TILE_ROWS = 6;
constexpr int DOT_TILE = 8; // dot products computed together

INLINE __m256i reduced(const __m256i *a) { // sums of eight registers, in their order
    const __m256i ab = _mm256_hadd_epi32(a[0], a[1]), cd = _mm256_hadd_epi32(a[2], a[3]);
    const __m256i ef = _mm256_hadd_epi32(a[4], a[5]), gh = _mm256_hadd_epi32(a[6], a[7]);
    const __m256i abcd = _mm256_hadd_epi32(ab, cd), efgh = _mm256_hadd_epi32(ef, gh);
    return _mm256_add_epi32(_mm256_permute2x128_si256(abcd, efgh, 0x20), _mm256_permute2x128_si256(abcd, efgh, 0x31));
}

#ifdef __AVXVNNI__
constexpr int TILE_GROUP = 4; // inputs multiplied at once
constexpr int32_t PRODUCT_ZERO = 0;
using Prepared = uint8_t;
INLINE const Prepared *prepare(const uint8_t *rows, int64_t, int16_t *) { return rows; }

template <int M>
INLINE void tile(const Prepared *rows, int64_t depth, const int8_t *weight, Ints *out) {
    __m256i sums[M][2];
    for (int m = 0; m < M; m++) sums[m][0] = sums[m][1] = _mm256_setzero_si256();
    for (int64_t k = 0; k < depth; k += 4, weight += 64) {
        const __m256i w0 = _mm256_load_si256((const __m256i *)weight), w1 = _mm256_load_si256((const __m256i *)(weight + 32));
        UNROLL for (int m = 0; m < M; m++) {
            const __m256i a = _mm256_set1_epi32(*(const int32_t *)(rows + m * depth + k));
            sums[m][0] = _mm256_dpbusd_avx_epi32(sums[m][0], a, w0);
            sums[m][1] = _mm256_dpbusd_avx_epi32(sums[m][1], a, w1);
        }
    }
    for (int m = 0; m < M; m++) out[m] = {sums[m][0], sums[m][1]}; // one group of 16 columns
}

template <int M> INLINE __m256i dots(const Prepared *rows, int64_t depth, const int8_t *const *tokens) {
    constexpr int T = DOT_TILE / M;
    __m256i sums[DOT_TILE];
    for (int i = 0; i < DOT_TILE; i++) sums[i] = _mm256_setzero_si256();
    for (int64_t k = 0; k < depth; k += 32) {
        __m256i a[M];
        for (int m = 0; m < M; m++) a[m] = _mm256_loadu_si256((const __m256i *)(rows + m * depth + k));
        for (int t = 0; t < T; t++) {
            const __m256i w = _mm256_loadu_si256((const __m256i *)(tokens[t] + k));
            for (int m = 0; m < M; m++) sums[m * T + t] = _mm256_dpbusd_avx_epi32(sums[m * T + t], a[m], w);
        }
    }
    return reduced(sums);
}
#else
constexpr int TILE_GROUP = 2;
constexpr int32_t PRODUCT_ZERO = 0;
using Prepared = int16_t;
INLINE const Prepared *prepare(const uint8_t *rows, int64_t count, int16_t *scratch) {
    for (int64_t i = 0; i < count; i += 16)
        _mm256_store_si256((__m256i *)(scratch + i), _mm256_cvtepu8_epi16(_mm_load_si128((const __m128i *)(rows + i))));
    return scratch;
}

template <int M>
INLINE void tile(const Prepared *rows, int64_t depth, const int8_t *weight, Ints *out) {
    __m256i sums[M][2];
    for (int m = 0; m < M; m++) sums[m][0] = sums[m][1] = _mm256_setzero_si256();
    for (int64_t k = 0; k < depth; k += 2, weight += 32) {
        const __m256i w0 = _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)weight));
        const __m256i w1 = _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)(weight + 16)));
        UNROLL for (int m = 0; m < M; m++) {
            const __m256i a = _mm256_set1_epi32(*(const int32_t *)(rows + m * depth + k));
            sums[m][0] = _mm256_add_epi32(sums[m][0], _mm256_madd_epi16(a, w0));
            sums[m][1] = _mm256_add_epi32(sums[m][1], _mm256_madd_epi16(a, w1));
        }
    }
    for (int m = 0; m < M; m++) out[m] = {sums[m][0], sums[m][1]}; // one group of 16 columns
}

template <int M> INLINE __m256i dots(const Prepared *rows, int64_t depth, const int8_t *const *tokens) {
    constexpr int T = DOT_TILE / M;
    __m256i sums[DOT_TILE];
    for (int i = 0; i < DOT_TILE; i++) sums[i] = _mm256_setzero_si256();
    for (int64_t k = 0; k < depth; k += 16) {
        __m256i a[M];
        for (int m = 0; m < M; m++) a[m] = _mm256_load_si256((const __m256i *)(rows + m * depth + k));
        for (int t = 0; t < T; t++) {
            const __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(tokens[t] + k)));
            for (int m = 0; m < M; m++)
                sums[m * T + t] = _mm256_add_epi32(sums[m * T + t], _mm256_madd_epi16(a[m], w));
        }
    }
    return reduced(sums);
}
#endif
INLINE void store_dots(int32_t *out, __m256i sums) { _mm256_storeu_si256((__m256i *)out, sums); }
