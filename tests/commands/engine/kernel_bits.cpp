// Runs every kernel of one instruction set on random input, and prints a line for each case: what ran, and a
// hash of the bits that came out. Instruction sets agree if they print the same lines.
//
// Compiled with -DKERNELS=AVX2_KERNELS -DMAY_RUN=true, and linked with the source of these kernels alone.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "kernels.h"

using namespace dragoman;

namespace {

const Kernels &kernels = KERNELS;
constexpr float INFINITE = std::numeric_limits<float>::infinity();

// SplitMix64 (Steele et al. 2014)
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t bits() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    int64_t below(int64_t end) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(end)); }
    float between(float low, float high) { return low + (high - low) * static_cast<float>(below(1 << 24)) / (1 << 24); }

  private:
    uint64_t state_;
};

// Memory as the library has it: on a boundary of 64 bytes, 0, and with 16 floats behind it that may be read.
template <class T> class Array {
  public:
    explicit Array(int64_t size) : size_(size) {
        void *memory = nullptr;
        const size_t bytes = size * sizeof(T) + LANES * sizeof(float);
        if (posix_memalign(&memory, 64, bytes)) std::abort();
        std::memset(memory, 0, bytes);
        data_ = static_cast<T *>(memory);
    }
    ~Array() { std::free(data_); }
    Array(const Array &) = delete;
    operator T *() { return data_; }
    int64_t size() const { return size_; }

  private:
    T *data_;
    int64_t size_;
};

void fill(Random &random, Array<float> &floats, float magnitude = 4.0f) {
    for (int64_t i = 0; i < floats.size(); i++) floats[i] = random.between(-magnitude, magnitude);
}

template <class T> void fill_bits(Random &random, Array<T> &numbers) {
    for (int64_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<T>(random.bits());
}

class Hash {
  public:
    void add(const void *memory, size_t size) { // FNV-1a
        const auto *bytes = static_cast<const unsigned char *>(memory);
        for (size_t i = 0; i < size; i++) value_ = (value_ ^ bytes[i]) * 0x100000001b3;
    }
    template <class T> void add(Array<T> &array) { add(static_cast<T *>(array), array.size() * sizeof(T)); }
    void print(const std::string &name) const {
        std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(value_));
    }

  private:
    uint64_t value_ = 0xcbf29ce484222325;
};

std::string described(const char *name, std::initializer_list<int64_t> numbers) {
    std::string text = name;
    for (int64_t number : numbers) text += " " + std::to_string(number);
    return text;
}

void run_multiply(int64_t num_rows, int64_t inputs, int64_t outputs, int32_t zero) {
    Random random(num_rows * 1000003 + inputs * 1009 + outputs + zero);
    const int64_t depth = padded(inputs, WIDTH_MULTIPLE), width = padded(outputs, WIDTH_MULTIPLE);
    Array<int8_t> weight(inputs * outputs), packed(depth * width);
    Array<float> scale(width), bias(width), added(num_rows * width), out(num_rows * width);
    Array<int32_t> correction(width);
    Array<uint8_t> rows(num_rows * depth), quantised(num_rows * width);
    Array<int16_t> scratch(num_rows * depth);
    fill_bits(random, weight);
    fill_bits(random, rows);
    fill(random, added);
    for (int64_t n = 0; n < outputs; n++) {
        scale[n] = random.between(0.00001f, 0.0001f);
        bias[n] = random.between(-1.0f, 1.0f);
        for (int64_t k = 0; k < inputs; k++) correction[n] += weight[k * outputs + n] * kernels.correction(zero);
    }
    kernels.pack(packed, weight, inputs, outputs);
    const Linear linear{depth, width, packed, scale, bias, correction};
    for (int kind = Epilogue::STORE; kind <= Epilogue::QUANTISE; kind++)
        for (int activation = Epilogue::NONE; activation <= Epilogue::SWISH; activation++) {
            Epilogue epilogue{static_cast<Epilogue::Kind>(kind), static_cast<Epilogue::Activation>(activation)};
            epilogue.out = out;
            epilogue.added = added;
            epilogue.quantised = quantised;
            epilogue.out_stride = epilogue.quantised_stride = width;
            epilogue.step = 0.02f;
            epilogue.zero = zero;
            epilogue.alpha = 1.702f;
            kernels.multiply(rows, num_rows, linear, epilogue, scratch);
            Hash hash;
            hash.add(out);
            hash.add(quantised);
            hash.print(described("multiply", {num_rows, inputs, outputs, zero, kind, activation}));
        }
}

void run_score(int64_t num_rows, int64_t depth, int64_t num_ids, bool is_listed) {
    Random random(num_rows * 1000003 + depth * 1009 + num_ids);
    const int64_t num_tokens = num_ids + 50, stride = padded(num_ids, LANES);
    Array<uint8_t> rows(num_rows * depth);
    Array<int8_t> table(num_tokens * depth);
    Array<int32_t> ids(stride), products(num_rows * stride), correction(stride);
    Array<float> scale(stride), bias(stride), scores(stride);
    Array<int16_t> scratch(num_rows * depth);
    fill_bits(random, rows);
    fill_bits(random, table);
    fill(random, scale, 0.001f);
    fill(random, bias);
    for (int64_t i = 0; i < num_ids; i++) {
        ids[i] = static_cast<int32_t>(random.below(num_tokens));
        const int8_t *row = table + (is_listed ? ids[i] : i) * depth;
        for (int64_t k = 0; k < depth; k++) correction[i] += row[k] * kernels.correction(128);
    }
    const int32_t *listed = is_listed ? static_cast<int32_t *>(ids) : nullptr;
    kernels.score(rows, num_rows, table, depth, listed, num_ids, products, stride, scratch);
    Hash hash;
    for (int64_t row = 0; row < num_rows; row++) {
        kernels.scale_scores(scores, products + row * stride, correction, scale, bias, stride);
        hash.add(scores, num_ids * sizeof(float));
    }
    hash.print(described("score", {num_rows, depth, num_ids, is_listed}));
}

void run_rows(int64_t real_width) {
    Random random(real_width);
    const int64_t width = padded(real_width, WIDTH_MULTIPLE);
    Array<float> row(width), gain(width), bias(width), out(width), joined(2 * width), cell(width);
    Array<int8_t> bytes(width);
    Array<uint8_t> quantised(width);
    for (int64_t i = 0; i < real_width; i++) {
        row[i] = random.between(-9.0f, 9.0f);
        gain[i] = random.between(0.5f, 1.5f);
        bias[i] = random.between(-1.0f, 1.0f);
    }
    fill_bits(random, bytes);
    fill(random, joined, 8.0f);
    fill(random, cell);
    Hash hash;
    kernels.norm(out, row, gain, bias, real_width, width, 1e-6f);
    hash.add(out);
    kernels.embed(out, bytes, 0.013f, row, width);
    hash.add(out);
    kernels.add(out, row, gain, width);
    hash.add(out);
    for (float step : {0.0001f, 0.03f, 0.5f}) // of which the first needs more than a byte
        for (int32_t zero : {0, 128, 255}) {
            kernels.quantise(quantised, row, width, step, zero);
            hash.add(quantised);
        }
    kernels.recur(out, cell, joined, real_width);
    hash.add(static_cast<float *>(out), real_width * sizeof(float));
    hash.add(static_cast<float *>(cell), real_width * sizeof(float));
    hash.print(described("rows", {real_width}));
}

void run_activations() {
    Random random(1);
    Array<float> row(4096), result(4096);
    fill(random, row, 20.0f);
    const float special[] = {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-45f, 80.0f, -80.0f, 200.0f, -200.0f, 1e30f, -1e30f};
    std::memcpy(row, special, sizeof(special));
    for (int activation = Epilogue::NONE; activation <= Epilogue::SWISH; activation++) {
        Epilogue epilogue{Epilogue::STORE, static_cast<Epilogue::Activation>(activation)};
        epilogue.alpha = 1.702f;
        std::memcpy(result, row, row.size() * sizeof(float));
        kernels.activate(result, result.size(), epilogue);
        Hash hash;
        hash.add(result);
        hash.print(described("activate", {activation}));
    }
}

void run_attention(int64_t heads, int64_t size, int64_t positions) {
    Random random(heads * 1000003 + size * 1009 + positions);
    const int64_t width = heads * size, num_blocks = padded(positions, BLOCK_POSITIONS) / BLOCK_POSITIONS;
    const int64_t bytes = cache_bytes(heads, size), offset = bytes; // of the second of two layers
    Array<int8_t> memory(2 * bytes * num_blocks);
    Array<const int8_t *> blocks(num_blocks);
    Array<float> key(width), value(width), query(width), out(width), scratch(padded(positions, LANES));
    Array<float> weights(positions);
    Array<uint8_t> is_mean_head(heads);
    for (int64_t t = 0; t < positions; t++) {
        int8_t *block = memory + t / BLOCK_POSITIONS * 2 * bytes;
        blocks[t / BLOCK_POSITIONS] = block;
        fill(random, key, 200.0f); // some beyond a byte
        fill(random, value, 127.0f);
        kernels.write_cache(block + offset, key, value, t % BLOCK_POSITIONS, heads, size);
    }
    fill(random, query, 0.05f);
    is_mean_head[heads - 1] = is_mean_head[0] = 1;
    const Attention attention{heads, size, blocks, offset, positions, scratch, weights, is_mean_head, 0.5f};
    kernels.attend(query, out, attention);
    Hash hash;
    hash.add(memory);
    hash.add(out);
    hash.add(weights);
    hash.print(described("attend", {heads, size, positions}));
}

void run_source_attention(int64_t heads, int64_t size, int64_t positions) {
    Random random(heads * 1000003 + size * 1009 + positions);
    const int64_t width = heads * size, stride = padded(3 * width, WIDTH_MULTIPLE);
    const int64_t out_stride = padded(width, WIDTH_MULTIPLE);
    Array<float> qkv(positions * stride), out(positions * out_stride), scratch(source_scratch(positions, size));
    fill(random, qkv, 2.0f);
    kernels.attend_source(qkv, stride, out, out_stride, positions, heads, size, scratch);
    Hash hash;
    hash.add(out);
    hash.print(described("attend_source", {heads, size, positions}));
}

void run_picking(int64_t count, int64_t wanted) {
    Random random(count * 1009 + wanted);
    Array<float> values(padded(count, LANES)), best(wanted);
    Array<int64_t> positions(wanted);
    for (int64_t i = 0; i < values.size(); i++) // of few different numbers, so that some are equal
        values[i] = i < count ? static_cast<float>(random.below(40)) * 0.25f : -INFINITE;
    const int64_t found = kernels.find_best(values, count, wanted, best, positions);
    fill(random, values, 12.0f);
    for (int64_t i = count; i < values.size(); i++) values[i] = -INFINITE;
    const float normaliser = kernels.log_sum_exp(values, count);
    Hash hash;
    hash.add(&found, sizeof(found));
    hash.add(static_cast<float *>(best), found * sizeof(float));
    hash.add(static_cast<int64_t *>(positions), found * sizeof(int64_t));
    hash.add(&normaliser, sizeof(normaliser));
    hash.print(described("pick", {count, wanted}));
}

} // namespace

int main() {
    if (!(MAY_RUN)) return 1;
    for (int64_t num_rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 24, 33}) run_multiply(num_rows, 64, 64, 128);
    for (int32_t zero : {0, 17, 128, 255}) run_multiply(7, 192, 128, zero);
    for (int64_t inputs : {24, 40, 100, 320})
        for (int64_t outputs : {24, 72, 130}) for (int64_t num_rows : {3, 19}) run_multiply(num_rows, inputs, outputs, 128);
    for (int64_t num_rows : {1, 2, 3, 4, 5, 7, 8, 16, 21, 40})
        for (int64_t num_ids : {1, 7, 8, 9, 16, 17, 64, 100, 130})
            for (bool is_listed : {false, true}) run_score(num_rows, num_ids % 2 ? 64 : 192, num_ids, is_listed);
    for (int64_t width : {16, 24, 64, 72, 100, 128, 512, 520}) run_rows(width);
    run_activations();
    for (int64_t size : {1, 7, 8, 16, 24, 32, 40, 64, 72, 80, 128, 136})
        for (int64_t positions : {1, 2, 3, 4, 15, 16, 17, 33, 100}) {
            run_attention(3, size, positions);
            run_source_attention(3, size, positions);
        }
    for (int64_t count : {1, 2, 15, 16, 17, 100, 1000})
        for (int64_t wanted : {0, 1, 4, 8, 32}) run_picking(count, wanted);
    return 0;
}
