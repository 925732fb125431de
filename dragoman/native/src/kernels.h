// Numeric kernels of one instruction set, behind plain function pointers.
//
// Products of integers are exact. Floating-point work of a row is done in one fixed order of 16 lanes, with
// fused multiply-add, whatever the width of the processor's registers: every instruction set gives the same
// bits, and no row depends on the rows beside it.
//
// Shapes: M rows, K inputs and N outputs of a linear layer, both padded to multiples of 64; H heads, D head
// size, P positions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dragoman {

constexpr int LANES = 16;           // floats worked on together
constexpr int BLOCK_POSITIONS = 16; // positions in a block of K/V
constexpr int WIDTH_MULTIPLE = 64;  // padding of rows of weights and activations

inline constexpr int64_t padded(int64_t size, int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

// y[n] = (sum over k of (a[k] - zero) w[k][n]) * scale[n] + bias[n]
struct Linear {
    int64_t depth = 0;           // K, padded
    int64_t width = 0;           // N, padded; padded outputs are 0
    int8_t *weight = nullptr;    // in the order of Kernels::pack
    float *scale = nullptr;      // [N]
    float *bias = nullptr;       // [N]
    int32_t *correction = nullptr; // [N]: what the kernel's products have too much
};

// What is done with a product.
struct Epilogue {
    enum Kind { STORE, ADD, QUANTISE } kind;
    enum Activation { NONE, RELU, GELU, GELU_TANH, QUICK_GELU, SWISH } activation = NONE;
    float *out = nullptr;          // STORE, ADD: [M][out_stride]
    const float *added = nullptr;  // ADD: [M][out_stride]
    uint8_t *quantised = nullptr;  // QUANTISE, after the activation: [M][quantised_stride]
    int64_t out_stride = 0;
    int64_t quantised_stride = 0;
    float step = 1.0f;             // of the quantised numbers
    int32_t zero = 0;
    float alpha = 1.0f;            // of QUICK_GELU
};

// One query for each head, against positions in blocks.
struct Attention {
    int64_t heads, head_size;
    const int8_t *const *blocks;  // at `offset` K [H][D][16], then V [H][16][D padded to 16]
    int64_t offset;
    int64_t num_positions;
    float *scratch;               // [positions padded to 16]
    float *mean_weights;          // null, or [P]: mean over some heads of the attention's weights
    const uint8_t *is_mean_head;  // [H]
    float mean_factor;            // 1 / number of these heads
};

struct Kernels {
    const char *name;
    void (*pack)(int8_t *packed, const int8_t *weight, int64_t inputs, int64_t outputs);
    // Value of `correction` per unit of a column's sum of weights, for activations with this zero.
    int32_t (*correction)(int32_t zero);
    // rows [M][K], adjacent; scratch [M][K].
    void (*multiply)(const uint8_t *rows, int64_t num_rows, const Linear &, const Epilogue &, int16_t *scratch);
    // products[m][i] = row m times row ids[i] of the table, or row i if ids is null. The products have as much
    // too much as those of `multiply`. ids and products have space for a multiple of LANES.
    void (*score)(const uint8_t *rows, int64_t num_rows, const int8_t *table, int64_t depth, const int32_t *ids,
                  int64_t num_ids, int32_t *products, int64_t stride, int16_t *scratch);
    // out[i] = (products[i] - correction[i]) * scale[i] + bias[i]; out may be where the products are.
    void (*scale_scores)(float *out, const int32_t *products, const int32_t *correction, const float *scale,
                         const float *bias, int64_t count);
    void (*embed)(float *out, const int8_t *row, float step, const float *position, int64_t width);
    void (*norm)(float *out, const float *row, const float *gain, const float *bias, int64_t real_width,
                 int64_t width, float epsilon);
    void (*quantise)(uint8_t *out, const float *row, int64_t width, float step, int32_t zero);
    void (*add)(float *out, const float *a, const float *b, int64_t width);
    void (*activate)(float *row, int64_t width, const Epilogue &);
    void (*attend)(const float *query, float *out, const Attention &);
    // Self-attention of a whole source: qkv [P][stride] with K at +d and V at +2d.
    void (*attend_source)(const float *qkv, int64_t stride, float *out, int64_t out_stride, int64_t positions,
                          int64_t heads, int64_t head_size, float *scratch);
    // Rounds a key and a value [H x D] to int8, and writes them to a position of a block.
    void (*write_cache)(int8_t *block, const float *key, const float *value, int64_t position, int64_t heads,
                        int64_t head_size);
    void (*recur)(float *out, float *cell, const float *joined, int64_t width);
    // values [count padded to LANES], -inf beyond count
    float (*log_sum_exp)(const float *values, int64_t count);
    // Writes at most `wanted` best values, best first, of equal ones the first; returns how many.
    int64_t (*find_best)(const float *values, int64_t count, int64_t wanted, float *best, int64_t *positions);
    // From so many rows on, `score` is faster for all their lists together than list by list; 0: never.
    int64_t rows_scored_together;
};

// Bytes of K and V of one layer in a block.
inline int64_t cache_bytes(int64_t heads, int64_t head_size) {
    return heads * BLOCK_POSITIONS * (head_size + padded(head_size, LANES));
}

// Floats of scratch that `attend_source` needs.
inline int64_t source_scratch(int64_t positions, int64_t head_size) {
    const int64_t wide = padded(positions, LANES);
    return wide * (head_size + 4);
}

// Whether the products of some kernels are right on this processor, by plain arithmetic on a few numbers.
bool are_exact(const Kernels &kernels);

extern const Kernels AVX2_KERNELS;
extern const Kernels AVX_VNNI_KERNELS;
extern const Kernels AVX512_KERNELS;
extern const Kernels AMX_KERNELS;
// Whether the processor has AMX, and the system lets this process use it.
bool may_use_amx();
extern const Kernels NEON_KERNELS;
extern const Kernels DOTPROD_KERNELS;
bool has_dot_product();

} // namespace dragoman
