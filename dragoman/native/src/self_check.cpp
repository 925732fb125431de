#include <vector>

#include "kernels.h"

namespace dragoman {

namespace {

constexpr int64_t INPUTS = 100, OUTPUTS = 70, ROWS = 25; // no multiples of anything
constexpr int32_t ZERO = 128;

// Numbers that look random, the same at every start.
class Numbers {
  public:
    uint8_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint8_t>(state_ >> 56);
    }

  private:
    uint64_t state_ = 1;
};

template <class T> struct Aligned {
    explicit Aligned(int64_t count) : storage(count + 64) {}
    T *data() {
        const auto address = reinterpret_cast<uintptr_t>(storage.data());
        return reinterpret_cast<T *>((address + 63) / 64 * 64);
    }
    std::vector<T> storage;
};

} // namespace

bool are_exact(const Kernels &kernels) {
    const int64_t depth = padded(INPUTS, WIDTH_MULTIPLE), width = padded(OUTPUTS, WIDTH_MULTIPLE);
    Numbers numbers;
    Aligned<uint8_t> rows(ROWS * depth);
    Aligned<int8_t> weight(INPUTS * OUTPUTS), table(OUTPUTS * depth), packed(depth * width);
    Aligned<float> scale(width), bias(width), out(ROWS * width);
    Aligned<int32_t> correction(width), products(ROWS * width);
    Aligned<int16_t> scratch(ROWS * depth);
    for (int64_t i = 0; i < ROWS * depth; i++) rows.data()[i] = numbers.next();
    for (int64_t n = 0; n < OUTPUTS; n++) {
        scale.data()[n] = 1.0f;
        for (int64_t k = 0; k < INPUTS; k++) {
            const auto number = static_cast<int8_t>(numbers.next());
            weight.data()[k * OUTPUTS + n] = table.data()[n * depth + k] = number;
            correction.data()[n] += number * kernels.correction(ZERO);
        }
    }
    kernels.pack(packed.data(), weight.data(), INPUTS, OUTPUTS);
    const Linear linear{depth, width, packed.data(), scale.data(), bias.data(), correction.data()};
    Epilogue epilogue{};
    epilogue.kind = Epilogue::STORE;
    epilogue.out = out.data();
    epilogue.out_stride = width;
    kernels.multiply(rows.data(), ROWS, linear, epilogue, scratch.data());
    kernels.score(rows.data(), ROWS, table.data(), depth, nullptr, OUTPUTS, products.data(), width, scratch.data());
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t n = 0; n < OUTPUTS; n++) {
            int32_t expected = 0;
            for (int64_t k = 0; k < INPUTS; k++)
                expected += (rows.data()[row * depth + k] - ZERO) * table.data()[n * depth + k];
            if (out.data()[row * width + n] != static_cast<float>(expected)) return false;
            if (products.data()[row * width + n] - correction.data()[n] != expected) return false;
        }
    return true;
}

} // namespace dragoman
