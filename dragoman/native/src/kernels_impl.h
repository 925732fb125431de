// The kernels in terms of an instruction set's Floats, Ints, tile and dots. Included once for each, inside an
// unnamed namespace; nothing here may use the standard library's templates, whose code the linker would share
// between instruction sets.
#pragma once

constexpr float IMPOSSIBLE = -__builtin_inff();

// e^x by the polynomial of Cephes (Moshier), to 1 ulp or so; at least e^-87.3.
INLINE Floats exponential(Floats x) {
    x = smaller(larger(x, all(-87.3f)), all(88.3f));
    const Ints n = rounded(x * all(1.44269504088896341f));
    const Floats whole = to_floats(n);
    Floats r = fused(whole, all(-0.693359375f), x);
    r = fused(whole, all(2.12194440e-4f), r);
    Floats p = all(1.9875691500e-4f);
    p = fused(p, r, all(1.3981999507e-3f));
    p = fused(p, r, all(8.3334519073e-3f));
    p = fused(p, r, all(4.1665795894e-2f));
    p = fused(p, r, all(1.6666665459e-1f));
    p = fused(p, r, all(5.0000001201e-1f));
    p = fused(p, r * r, r) + all(1.0f);
    return p * power_of_two(n);
}

INLINE Floats sigmoid(Floats x) { return all(1.0f) / (all(1.0f) + exponential(all(0.0f) - x)); }

// Abramowitz and Stegun 7.1.26: at most 1.5e-7 off.
INLINE Floats error_function(Floats x) {
    const Floats magnitude = larger(x, all(0.0f) - x);
    const Floats t = all(1.0f) / fused(all(0.3275911f), magnitude, all(1.0f));
    Floats p = all(1.061405429f);
    p = fused(p, t, all(-1.453152027f));
    p = fused(p, t, all(1.421413741f));
    p = fused(p, t, all(-0.284496736f));
    p = fused(p, t, all(0.254829592f)) * t;
    const Floats result = all(1.0f) - p * exponential(all(0.0f) - magnitude * magnitude);
    // The sign of x. Where |x| is below 1e-30 it is smaller than 1, but the result is then about 0 anyway.
    const Floats sign = smaller(larger(x * all(1e30f), all(-1.0f)), all(1.0f));
    return result * sign;
}

INLINE Floats activated(Floats x, const Epilogue &epilogue) {
    switch (epilogue.activation) {
    case Epilogue::NONE:
        return x;
    case Epilogue::RELU:
        return larger(x, all(0.0f));
    case Epilogue::GELU:
        return all(0.5f) * x * (all(1.0f) + error_function(x * all(0.70710678118654752f)));
    case Epilogue::GELU_TANH: {
        const Floats inner = all(0.79788456080286536f) * fused(all(0.044715f) * x * x, x, x);
        return x * sigmoid(inner + inner); // (1 + tanh u) / 2 is the sigmoid of 2 u
    }
    case Epilogue::QUICK_GELU:
        return x * sigmoid(x * all(epilogue.alpha));
    case Epilogue::SWISH:
        return x * sigmoid(x);
    }
    return x;
}

INLINE Ints quantised(Floats x, float step, int32_t zero) {
    return rounded(smaller(larger(x / all(step), all(-1e6f)), all(1e6f))) + all_ints(zero);
}

void pack(int8_t *packed, const int8_t *weight, int64_t inputs, int64_t outputs) {
    const int64_t depth = padded(inputs, WIDTH_MULTIPLE), width = padded(outputs, WIDTH_MULTIPLE);
    for (int64_t first = 0; first < width; first += TILE_COLUMNS)
        for (int64_t k = 0; k < depth; k += TILE_GROUP)
            for (int64_t n = first; n < first + TILE_COLUMNS; n++)
                for (int64_t j = k; j < k + TILE_GROUP; j++)
                    *packed++ = j < inputs && n < outputs ? weight[j * outputs + n] : 0;
}

int32_t correction(int32_t zero) { return zero - PRODUCT_ZERO; }

// What is done with the product of a row and 16 columns from `n` on.
INLINE void finish(Ints product, const Linear &linear, const Epilogue &epilogue, int64_t row, int64_t n) {
    Floats value = to_floats(product - load_ints(linear.correction + n));
    value = value * load(linear.scale + n) + load(linear.bias + n);
    const int64_t index = row * epilogue.out_stride + n;
    if (epilogue.kind == Epilogue::QUANTISE)
        store_unsigned(epilogue.quantised + row * epilogue.quantised_stride + n,
                       quantised(activated(value, epilogue), epilogue.step, epilogue.zero));
    else if (epilogue.kind == Epilogue::ADD)
        store(epilogue.out + index, load(epilogue.added + index) + value);
    else
        store(epilogue.out + index, value);
}

template <int M>
INLINE void multiply_tile(const Prepared *rows, const Linear &linear, int64_t first, const Epilogue &epilogue,
                          int64_t first_row) {
    constexpr int GROUPS = TILE_COLUMNS / LANES;
    Ints products[M * GROUPS];
    tile<M>(rows, linear.depth, linear.weight + first * linear.depth, products);
    for (int m = 0; m < M; m++)
        for (int g = 0; g < GROUPS; g++)
            finish(products[m * GROUPS + g], linear, epilogue, first_row + m, first + g * LANES);
}

void multiply(const uint8_t *rows, int64_t num_rows, const Linear &linear, const Epilogue &epilogue,
              int16_t *scratch) {
    const Prepared *prepared = prepare(rows, num_rows * linear.depth, scratch);
    const int64_t num_tiles = (num_rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int64_t first = 0; first < linear.width; first += TILE_COLUMNS) {
        int64_t row = 0;
        for (int64_t tiles = num_tiles; tiles; tiles--) { // of nearly equal heights
            const int64_t height = (num_rows - row + tiles - 1) / tiles;
            const Prepared *a = prepared + row * linear.depth;
            switch (height) {
            case 1: multiply_tile<1>(a, linear, first, epilogue, row); break;
            case 2: multiply_tile<2>(a, linear, first, epilogue, row); break;
            case 3: multiply_tile<3>(a, linear, first, epilogue, row); break;
            case 4: multiply_tile<4>(a, linear, first, epilogue, row); break;
            case 5: multiply_tile<5>(a, linear, first, epilogue, row); break;
            default: multiply_tile<6>(a, linear, first, epilogue, row); break;
            }
            row += height;
        }
    }
}

template <int M>
INLINE void score_rows(const Prepared *rows, const int8_t *table, int64_t depth, const int32_t *ids,
                       int64_t num_ids, int32_t *products, int64_t stride) {
    constexpr int T = DOT_TILE / M;
    for (int64_t i = 0; i < num_ids; i += T) {
        const int8_t *tokens[T];
        for (int t = 0; t < T; t++) {
            const int64_t index = i + t < num_ids ? i + t : num_ids - 1;
            tokens[t] = table + (ids ? ids[index] : index) * depth;
            if (ids && index + 2 * T < num_ids) __builtin_prefetch(table + ids[index + 2 * T] * depth);
        }
        int32_t sums[DOT_TILE];
        store_dots(sums, dots<M>(rows, depth, tokens));
        for (int m = 0; m < M; m++)
            for (int t = 0; t < T; t++) products[m * stride + i + t] = sums[m * T + t];
    }
}

void score(const uint8_t *rows, int64_t num_rows, const int8_t *table, int64_t depth, const int32_t *ids,
           int64_t num_ids, int32_t *products, int64_t stride, int16_t *scratch) {
    const Prepared *prepared = prepare(rows, num_rows * depth, scratch);
    while (num_rows) {
        const int height = num_rows >= 4 ? 4 : num_rows >= 2 ? 2 : 1;
        if (height == 4)
            score_rows<4>(prepared, table, depth, ids, num_ids, products, stride);
        else if (height == 2)
            score_rows<2>(prepared, table, depth, ids, num_ids, products, stride);
        else
            score_rows<1>(prepared, table, depth, ids, num_ids, products, stride);
        prepared += height * depth;
        products += height * stride;
        num_rows -= height;
    }
}

void scale_scores(float *out, const int32_t *products, const int32_t *correction, const float *scale,
                  const float *bias, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES)
        store(out + i, to_floats(load_ints(products + i) - load_ints(correction + i)) * load(scale + i) +
                           load(bias + i));
}

void embed(float *out, const int8_t *row, float step, const float *position, int64_t width) {
    for (int64_t i = 0; i < width; i += LANES)
        store(out + i, load_bytes(row + i) * all(step) + load(position + i));
}

// Layer normalisation (Ba et al. 2016, equation 4) over the real width; what is beyond it is 0 and stays 0.
void norm(float *out, const float *row, const float *gain, const float *bias, int64_t real_width, int64_t width,
          float epsilon) {
    Floats total = all(0.0f), squares = all(0.0f);
    for (int64_t i = 0; i < width; i += LANES) {
        const Floats x = load(row + i);
        total = total + x;
        squares = fused(x, x, squares);
    }
    const float mean = sum(total) / (float)real_width;
    const float variance = sum(squares) / (float)real_width - mean * mean;
    const float inverse = 1.0f / __builtin_sqrtf((variance > 0 ? variance : 0.0f) + epsilon);
    for (int64_t i = 0; i < width; i += LANES)
        store(out + i, fused((load(row + i) - all(mean)) * all(inverse), load(gain + i), load(bias + i)));
}

void quantise(uint8_t *out, const float *row, int64_t width, float step, int32_t zero) {
    for (int64_t i = 0; i < width; i += LANES) store_unsigned(out + i, quantised(load(row + i), step, zero));
}

void add(float *out, const float *a, const float *b, int64_t width) {
    for (int64_t i = 0; i < width; i += LANES) store(out + i, load(a + i) + load(b + i));
}

void activate(float *row, int64_t width, const Epilogue &epilogue) {
    for (int64_t i = 0; i < width; i += LANES) store(row + i, activated(load(row + i), epilogue));
}

// Weights of a softmax, without dividing by their sum, which is returned. scores [count padded to LANES].
INLINE float weigh(float *scores, int64_t count) {
    const int64_t last = (count - 1) / LANES * LANES;
    const int rest = (int)(count - last);
    Floats most = first_lanes(load(scores + last), rest, all(IMPOSSIBLE));
    for (int64_t i = 0; i < last; i += LANES) most = larger(most, load(scores + i));
    const Floats highest = all(largest(most));
    Floats total = all(0.0f);
    for (int64_t i = 0; i <= last; i += LANES) {
        Floats weight = exponential(load(scores + i) - highest);
        if (i == last) weight = first_lanes(weight, rest, all(0.0f));
        store(scores + i, weight);
        total = total + weight;
    }
    return sum(total);
}

template <int G>
INLINE void mix(const float *weights, const int8_t *const *blocks, int64_t offset, int64_t row_size, int64_t count,
                float factor, float *out) {
    Floats even[G], odd[G];
    for (int g = 0; g < G; g++) even[g] = odd[g] = all(0.0f);
    for (int64_t t = 0; t < count; t += 2) {
        const int8_t *row = blocks[t / BLOCK_POSITIONS] + offset + t % BLOCK_POSITIONS * row_size;
        const Floats first = all(weights[t]);
        for (int g = 0; g < G; g++) even[g] = fused(first, load_bytes(row + g * LANES), even[g]);
        if (t + 1 == count) break;
        const Floats second = all(weights[t + 1]);
        for (int g = 0; g < G; g++) odd[g] = fused(second, load_bytes(row + row_size + g * LANES), odd[g]);
    }
    for (int g = 0; g < G; g++) store(out + g * LANES, (even[g] + odd[g]) * all(factor));
}

// Scaled dot-product attention (Vaswani et al. 2017, equation 1) to int8 keys and values.
void attend(const float *query, float *out, const Attention &attention) {
    const int64_t heads = attention.heads, size = attention.head_size, count = attention.num_positions;
    const int64_t wide = padded(size, LANES);
    const float scale = 1.0f / __builtin_sqrtf((float)size);
    float *scores = attention.scratch;
    for (int64_t h = 0; h < heads; h++, query += size) {
        for (int64_t first = 0; first < count; first += BLOCK_POSITIONS) {
            const int8_t *keys = attention.blocks[first / BLOCK_POSITIONS] + attention.offset + h * size * BLOCK_POSITIONS;
            Floats even = all(0.0f), odd = all(0.0f);
            for (int64_t d = 0; d < size; d += 2) {
                even = fused(all(query[d]), load_bytes(keys + d * BLOCK_POSITIONS), even);
                if (d + 1 < size) odd = fused(all(query[d + 1]), load_bytes(keys + (d + 1) * BLOCK_POSITIONS), odd);
            }
            store(scores + first, (even + odd) * all(scale));
        }
        const float factor = 1.0f / weigh(scores, count);
        if (attention.mean_weights && attention.is_mean_head[h])
            for (int64_t t = 0; t < count; t++)
                attention.mean_weights[t] += scores[t] * factor * attention.mean_factor;
        const int64_t values = attention.offset + heads * size * BLOCK_POSITIONS + h * BLOCK_POSITIONS * wide;
        float mixed[4 * LANES];
        for (int64_t d = 0; d < size; d += 4 * LANES) {
            const int64_t left = size - d;
            if (left > 3 * LANES)
                mix<4>(scores, attention.blocks, values + d, wide, count, factor, mixed);
            else if (left > 2 * LANES)
                mix<3>(scores, attention.blocks, values + d, wide, count, factor, mixed);
            else if (left > LANES)
                mix<2>(scores, attention.blocks, values + d, wide, count, factor, mixed);
            else
                mix<1>(scores, attention.blocks, values + d, wide, count, factor, mixed);
            __builtin_memcpy(out + h * size + d, mixed, sizeof(float) * (left < 4 * LANES ? left : 4 * LANES));
        }
    }
}

template <int G>
INLINE void mix_source(const float *const *weights, const float *values, int64_t stride, int64_t count,
                       float *const *out, const float *factors) {
    Floats sums[4][G];
    for (int i = 0; i < 4; i++)
        for (int g = 0; g < G; g++) sums[i][g] = all(0.0f);
    for (int64_t t = 0; t < count; t++, values += stride) {
        Floats row[G];
        for (int g = 0; g < G; g++) row[g] = load(values + g * LANES);
        UNROLL for (int i = 0; i < 4; i++) {
            const Floats weight = all(weights[i][t]);
            for (int g = 0; g < G; g++) sums[i][g] = fused(weight, row[g], sums[i][g]);
        }
    }
    for (int i = 0; i < 4; i++)
        for (int g = 0; g < G; g++) store(out[i] + g * LANES, sums[i][g] * all(factors[i]));
}

// Four queries at a time, so that a key or value is loaded once for them.
void attend_source(const float *qkv, int64_t stride, float *out, int64_t out_stride, int64_t count, int64_t heads,
                   int64_t size, float *scratch) {
    const int64_t wide = padded(count, LANES), width = heads * size;
    float *keys = scratch, *scores = scratch + wide * size;
    const float scale = 1.0f / __builtin_sqrtf((float)size);
    for (int64_t h = 0; h < heads; h++) {
        const float *head = qkv + h * size;
        for (int64_t d = 0; d < size; d++)
            for (int64_t t = 0; t < wide; t++) keys[d * wide + t] = t < count ? head[t * stride + width + d] : 0.0f;
        for (int64_t first = 0; first < count; first += 4) {
            const float *queries[4], *weights[4];
            float factors[4];
            for (int i = 0; i < 4; i++) {
                queries[i] = head + (first + i < count ? first + i : count - 1) * stride;
                weights[i] = scores + i * wide;
            }
            for (int64_t t = 0; t < wide; t += LANES) {
                Floats sums[4];
                for (int i = 0; i < 4; i++) sums[i] = all(0.0f);
                for (int64_t d = 0; d < size; d++) {
                    const Floats key = load(keys + d * wide + t);
                    UNROLL for (int i = 0; i < 4; i++) sums[i] = fused(all(queries[i][d]), key, sums[i]);
                }
                for (int i = 0; i < 4; i++) store(scores + i * wide + t, sums[i] * all(scale));
            }
            for (int i = 0; i < 4; i++) factors[i] = 1.0f / weigh(scores + i * wide, count);
            for (int64_t d = 0; d < size; d += 2 * LANES) {
                float mixed[4][2 * LANES];
                float *const targets[4] = {mixed[0], mixed[1], mixed[2], mixed[3]};
                const float *values = head + 2 * width + d;
                if (size - d > LANES)
                    mix_source<2>(weights, values, stride, count, targets, factors);
                else
                    mix_source<1>(weights, values, stride, count, targets, factors);
                const int64_t left = size - d < 2 * LANES ? size - d : 2 * LANES;
                for (int i = 0; i < 4 && first + i < count; i++)
                    __builtin_memcpy(out + (first + i) * out_stride + h * size + d, mixed[i], sizeof(float) * left);
            }
        }
    }
}

void write_cache(int8_t *block, const float *key, const float *value, int64_t position, int64_t heads,
                 int64_t size) {
    const int64_t wide = padded(size, LANES);
    int8_t *values = block + heads * size * BLOCK_POSITIONS + position * wide;
    for (int64_t h = 0; h < heads; h++, key += size, value += size, values += BLOCK_POSITIONS * wide)
        for (int64_t d = 0; d < size; d += LANES) {
            int8_t rounded_keys[LANES], rounded_values[LANES];
            store_signed(rounded_keys, quantised(load(key + d), 1.0f, 0));
            store_signed(rounded_values, quantised(load(value + d), 1.0f, 0));
            const int64_t left = size - d < LANES ? size - d : LANES;
            for (int64_t j = 0; j < left; j++)
                block[(h * size + d + j) * BLOCK_POSITIONS + position] = rounded_keys[j];
            __builtin_memcpy(values + d, rounded_values, left);
        }
}

// A cell of SSRU (Kim et al. 2019, equations 1 to 3): joined is the new value, then the forget gate.
void recur(float *out, float *cell, const float *joined, int64_t width) {
    for (int64_t i = 0; i < width; i += LANES) {
        const Floats fresh = load(joined + i);
        const Floats next = fresh + sigmoid(load(joined + width + i)) * (load(cell + i) - fresh);
        const int rest = width - i < LANES ? (int)(width - i) : LANES;
        store(cell + i, first_lanes(next, rest, all(0.0f)));
        store(out + i, first_lanes(larger(next, all(0.0f)), rest, all(0.0f)));
    }
}

float log_sum_exp(const float *values, int64_t count) {
    Floats most = all(IMPOSSIBLE);
    for (int64_t i = 0; i < count; i += LANES) most = larger(most, load(values + i));
    const float highest = largest(most);
    Floats total = all(0.0f);
    for (int64_t i = 0; i < count; i += LANES) total = total + exponential(load(values + i) - all(highest));
    return highest + (float)__builtin_log((double)sum(total));
}

int64_t find_best(const float *values, int64_t count, int64_t wanted, float *best, int64_t *positions) {
    int64_t found = 0;
    for (int64_t first = 0; wanted && first < count; first += LANES) {
        const Floats group = load(values + first);
        uint32_t better = found < wanted ? 0xffff : is_larger(group, all(best[found - 1]));
        for (; better; better &= better - 1) {
            const int64_t position = first + __builtin_ctz(better);
            if (position >= count) break;
            const float value = values[position];
            if (found == wanted && !(value > best[found - 1])) continue;
            int64_t rank = found < wanted ? found++ : wanted - 1;
            for (; rank && best[rank - 1] < value; rank--) {
                best[rank] = best[rank - 1];
                positions[rank] = positions[rank - 1];
            }
            best[rank] = value;
            positions[rank] = position;
        }
    }
    return found;
}

constexpr Kernels kernels_named(const char *name) {
    return {name,  pack, correction, multiply, score,    scale_scores,  embed,       norm,  quantise,
            add,   activate, attend, attend_source, write_cache, recur, log_sum_exp, find_best, 0};
}
