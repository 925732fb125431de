// NEON: 16 floats are four registers. Included once, inside an unnamed namespace.
// With dot products, those of four bytes at once; without, of numbers widened to 16 bits, which are exact.
#pragma once

struct Floats {
    float32x4_t v[4];
};
struct Ints {
    int32x4_t v[4];
};

template <class Result, class Action> INLINE Result of_each(Action action) {
    return {{action(0), action(1), action(2), action(3)}};
}
INLINE Floats load(const float *p) {
    return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}
INLINE void store(float *p, Floats a) {
    for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, a.v[i]);
}
INLINE Floats all(float a) {
    const float32x4_t v = vdupq_n_f32(a);
    return {{v, v, v, v}};
}
INLINE Floats operator+(Floats a, Floats b) { return of_each<Floats>([&](int i) { return vaddq_f32(a.v[i], b.v[i]); }); }
INLINE Floats operator-(Floats a, Floats b) { return of_each<Floats>([&](int i) { return vsubq_f32(a.v[i], b.v[i]); }); }
INLINE Floats operator*(Floats a, Floats b) { return of_each<Floats>([&](int i) { return vmulq_f32(a.v[i], b.v[i]); }); }
INLINE Floats operator/(Floats a, Floats b) { return of_each<Floats>([&](int i) { return vdivq_f32(a.v[i], b.v[i]); }); }
INLINE Floats fused(Floats a, Floats b, Floats c) {
    return of_each<Floats>([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
}
INLINE Floats larger(Floats a, Floats b) { return of_each<Floats>([&](int i) { return vmaxq_f32(a.v[i], b.v[i]); }); }
INLINE Floats smaller(Floats a, Floats b) { return of_each<Floats>([&](int i) { return vminq_f32(a.v[i], b.v[i]); }); }
INLINE Ints rounded(Floats a) { return of_each<Ints>([&](int i) { return vcvtnq_s32_f32(a.v[i]); }); }
INLINE Floats to_floats(Ints a) { return of_each<Floats>([&](int i) { return vcvtq_f32_s32(a.v[i]); }); }
INLINE Ints load_ints(const int32_t *p) {
    return {{vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)}};
}
INLINE Ints operator-(Ints a, Ints b) { return of_each<Ints>([&](int i) { return vsubq_s32(a.v[i], b.v[i]); }); }
INLINE Ints operator+(Ints a, Ints b) { return of_each<Ints>([&](int i) { return vaddq_s32(a.v[i], b.v[i]); }); }
INLINE Ints all_ints(int32_t a) {
    const int32x4_t v = vdupq_n_s32(a);
    return {{v, v, v, v}};
}
INLINE Floats load_bytes(const int8_t *p) {
    const int8x16_t bytes = vld1q_s8(p);
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
}
INLINE int16x8_t shorts(Ints a, int first) { return vcombine_s16(vqmovn_s32(a.v[first]), vqmovn_s32(a.v[first + 1])); }
INLINE void store_unsigned(uint8_t *p, Ints a) { // saturated
    vst1q_u8(p, vcombine_u8(vqmovun_s16(shorts(a, 0)), vqmovun_s16(shorts(a, 2))));
}
INLINE void store_signed(int8_t *p, Ints a) {
    vst1q_s8(p, vcombine_s8(vqmovn_s16(shorts(a, 0)), vqmovn_s16(shorts(a, 2))));
}
INLINE Floats power_of_two(Ints n) { // 2^n for normal numbers
    return of_each<Floats>(
        [&](int i) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n.v[i], vdupq_n_s32(127)), 23)); });
}
// Lanes i and i + 8 first, then i and i + 4, and so on.
INLINE float sum(Floats a) {
    const float32x4_t four = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
INLINE float largest(Floats a) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.v[0], a.v[2]), vmaxq_f32(a.v[1], a.v[3])));
}
// Bit i is set if a > b in lane i.
INLINE uint32_t is_larger(Floats a, Floats b) {
    const uint32x4_t bits = {1, 2, 4, 8};
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) result |= vaddvq_u32(vandq_u32(vcgtq_f32(a.v[i], b.v[i]), bits)) << (4 * i);
    return result;
}
INLINE Floats first_lanes(Floats a, int count, Floats others) {
    const int32x4_t lanes = {0, 1, 2, 3};
    return of_each<Floats>([&](int i) {
        return vbslq_f32(vcgtq_s32(vdupq_n_s32(count - 4 * i), lanes), a.v[i], others.v[i]);
    });
}

// ---- products of integers
constexpr int TILE_COLUMNS = 16; // outputs of a tile
constexpr int TILE_ROWS = 6;
constexpr int DOT_TILE = 8; // dot products computed together

INLINE int32x4x2_t reduced(const int32x4_t *a) { // sums of eight registers, in their order
    return {{vpaddq_s32(vpaddq_s32(a[0], a[1]), vpaddq_s32(a[2], a[3])),
             vpaddq_s32(vpaddq_s32(a[4], a[5]), vpaddq_s32(a[6], a[7]))}};
}

#ifdef __ARM_FEATURE_DOTPROD
constexpr int TILE_GROUP = 4; // inputs multiplied at once
constexpr int32_t PRODUCT_ZERO = 128; // bytes are made signed, since the instruction multiplies signed ones
using Prepared = int8_t;
INLINE const Prepared *prepare(const uint8_t *rows, int64_t count, int16_t *scratch) {
    int8_t *out = (int8_t *)scratch;
    for (int64_t i = 0; i < count; i += 16)
        vst1q_s8(out + i, vreinterpretq_s8_u8(veorq_u8(vld1q_u8(rows + i), vdupq_n_u8(128))));
    return out;
}

template <int M>
INLINE void tile(const Prepared *rows, int64_t depth, const int8_t *weight, Ints *out) {
    int32x4_t sums[M][4];
    for (int m = 0; m < M; m++)
        for (int g = 0; g < 4; g++) sums[m][g] = vdupq_n_s32(0);
    for (int64_t k = 0; k < depth; k += 4, weight += 64) {
        const int8x16_t w0 = vld1q_s8(weight), w1 = vld1q_s8(weight + 16);
        const int8x16_t w2 = vld1q_s8(weight + 32), w3 = vld1q_s8(weight + 48);
        UNROLL for (int m = 0; m < M; m++) {
            const int8x16_t a = vreinterpretq_s8_s32(vld1q_dup_s32((const int32_t *)(rows + m * depth + k)));
            sums[m][0] = vdotq_s32(sums[m][0], w0, a);
            sums[m][1] = vdotq_s32(sums[m][1], w1, a);
            sums[m][2] = vdotq_s32(sums[m][2], w2, a);
            sums[m][3] = vdotq_s32(sums[m][3], w3, a);
        }
    }
    for (int m = 0; m < M; m++)
        for (int g = 0; g < 4; g++) out[m].v[g] = sums[m][g];
}

template <int M> INLINE int32x4x2_t dots(const Prepared *rows, int64_t depth, const int8_t *const *tokens) {
    constexpr int T = DOT_TILE / M;
    int32x4_t sums[DOT_TILE];
    for (int i = 0; i < DOT_TILE; i++) sums[i] = vdupq_n_s32(0);
    for (int64_t k = 0; k < depth; k += 16) {
        int8x16_t a[M];
        for (int m = 0; m < M; m++) a[m] = vld1q_s8(rows + m * depth + k);
        for (int t = 0; t < T; t++) {
            const int8x16_t w = vld1q_s8(tokens[t] + k);
            for (int m = 0; m < M; m++) sums[m * T + t] = vdotq_s32(sums[m * T + t], a[m], w);
        }
    }
    return reduced(sums);
}
#else
constexpr int TILE_GROUP = 1;
constexpr int32_t PRODUCT_ZERO = 0;
using Prepared = int16_t;
INLINE const Prepared *prepare(const uint8_t *rows, int64_t count, int16_t *scratch) {
    for (int64_t i = 0; i < count; i += 8) vst1q_s16(scratch + i, vreinterpretq_s16_u16(vmovl_u8(vld1_u8(rows + i))));
    return scratch;
}

template <int M>
INLINE void tile(const Prepared *rows, int64_t depth, const int8_t *weight, Ints *out) {
    int32x4_t sums[M][4];
    for (int m = 0; m < M; m++)
        for (int g = 0; g < 4; g++) sums[m][g] = vdupq_n_s32(0);
    for (int64_t k = 0; k < depth; k++, weight += 16) {
        const int8x16_t w = vld1q_s8(weight);
        const int16x8_t low = vmovl_s8(vget_low_s8(w)), high = vmovl_high_s8(w);
        UNROLL for (int m = 0; m < M; m++) {
            const int16_t a = rows[m * depth + k];
            sums[m][0] = vmlal_n_s16(sums[m][0], vget_low_s16(low), a);
            sums[m][1] = vmlal_high_n_s16(sums[m][1], low, a);
            sums[m][2] = vmlal_n_s16(sums[m][2], vget_low_s16(high), a);
            sums[m][3] = vmlal_high_n_s16(sums[m][3], high, a);
        }
    }
    for (int m = 0; m < M; m++)
        for (int g = 0; g < 4; g++) out[m].v[g] = sums[m][g];
}

template <int M> INLINE int32x4x2_t dots(const Prepared *rows, int64_t depth, const int8_t *const *tokens) {
    constexpr int T = DOT_TILE / M;
    int32x4_t sums[DOT_TILE];
    for (int i = 0; i < DOT_TILE; i++) sums[i] = vdupq_n_s32(0);
    for (int64_t k = 0; k < depth; k += 8) {
        int16x8_t a[M];
        for (int m = 0; m < M; m++) a[m] = vld1q_s16(rows + m * depth + k);
        for (int t = 0; t < T; t++) {
            const int16x8_t w = vmovl_s8(vld1_s8(tokens[t] + k));
            for (int m = 0; m < M; m++) {
                int32x4_t &total = sums[m * T + t];
                total = vmlal_high_s16(vmlal_s16(total, vget_low_s16(w), vget_low_s16(a[m])), w, a[m]);
            }
        }
    }
    return reduced(sums);
}
#endif
INLINE void store_dots(int32_t *out, int32x4x2_t sums) {
    vst1q_s32(out, sums.val[0]);
    vst1q_s32(out + 4, sums.val[1]);
}
