// Compiled with the flags of avx512.cpp. AMX: products by tiles of 16 rows and 64 bytes; all else by AVX-512.
//
// The weights lie as for AVX-512: 16 groups of four inputs, 256 bytes apart, are a tile. Products of integers are
// exact, so that tiles give the bits of every other instruction set.
#include <immintrin.h>

#include "inline.h"
#include "kernels.h"

#if defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dragoman {
namespace {
#include "isa_avx512.h"

#include "kernels_impl.h"

#define WITH_TILES __attribute__((target("amx-tile,amx-int8")))
// GCC 12 does not know that loading a tile reads memory.
#define WRITTEN() __asm__ volatile("" ::: "memory")

constexpr int64_t HEIGHT = 16;      // rows of a tile
constexpr int64_t FEWEST_ROWS = 8;  // for which tiles are faster than AVX-512
constexpr int64_t TOKENS = 4 * HEIGHT;

// Shapes of the eight tiles while one is alive: 0 to 3 are sums and 4 a factor, of `height` rows; 5 to 7 are full.
class Shapes {
  public:
    WITH_TILES explicit Shapes(int64_t height) {
        for (int i = 0; i < 8; i++) {
            memory_.row_bytes[i] = 64;
            memory_.rows[i] = i < 5 ? (uint8_t)height : HEIGHT;
        }
        WRITTEN();
        _tile_loadconfig(&memory_);
    }
    WITH_TILES ~Shapes() { _tile_release(); } // the system need not keep the tiles of this thread any longer

  private:
    struct {
        uint8_t palette = 1, start_row = 0, reserved[14] = {};
        uint16_t row_bytes[16] = {};
        uint8_t rows[16] = {};
    } memory_;
};

WITH_TILES void multiply_by_tiles(const uint8_t *rows, int64_t num_rows, const Linear &linear,
                                  const Epilogue &epilogue, int16_t *scratch) {
    if (num_rows < FEWEST_ROWS) return multiply(rows, num_rows, linear, epilogue, scratch);
    const int64_t height = num_rows < HEIGHT ? num_rows : HEIGHT;
    const Shapes shapes(height);
    alignas(64) int32_t sums[4][HEIGHT * LANES];
    for (int64_t first = 0; first < linear.width; first += TILE_COLUMNS)
        for (int64_t done = 0; done < num_rows; done += height) {
            // The last tile may have rows of the one before it, which are not written again.
            const int64_t row = done + height <= num_rows ? done : num_rows - height;
            const uint8_t *a = rows + row * linear.depth;
            const int8_t *b = linear.weight + first * linear.depth;
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
            for (int64_t k = 0; k < linear.depth; k += 64, b += 64 * TILE_COLUMNS) {
                _tile_loadd(4, a + k, linear.depth);
                _tile_loadd(6, b, 256);
                _tile_loadd(7, b + 64, 256);
                _tile_dpbusd(0, 4, 6);
                _tile_dpbusd(1, 4, 7);
                _tile_loadd(6, b + 128, 256);
                _tile_loadd(7, b + 192, 256);
                _tile_dpbusd(2, 4, 6);
                _tile_dpbusd(3, 4, 7);
            }
            _tile_stored(0, sums[0], 64);
            _tile_stored(1, sums[1], 64);
            _tile_stored(2, sums[2], 64);
            _tile_stored(3, sums[3], 64);
            for (int64_t m = done - row; m < height; m++)
                for (int g = 0; g < 4; g++)
                    finish(load_ints(sums[g] + m * LANES), linear, epilogue, row + m, first + g * LANES);
        }
}

// Exchanges rows and columns of 16 x 16 numbers.
INLINE void transpose(__m512i *a) {
    __m512i b[16];
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; j++) {
            a[i + 2 * j] = _mm512_unpacklo_epi64(b[i + j], b[i + j + 2]);
            a[i + 2 * j + 1] = _mm512_unpackhi_epi64(b[i + j], b[i + j + 2]);
        }
    for (int j = 0; j < 4; j++) {
        b[j] = _mm512_shuffle_i32x4(a[j], a[j + 4], 0x88);
        b[j + 4] = _mm512_shuffle_i32x4(a[j], a[j + 4], 0xDD);
        b[j + 8] = _mm512_shuffle_i32x4(a[j + 8], a[j + 12], 0x88);
        b[j + 12] = _mm512_shuffle_i32x4(a[j + 8], a[j + 12], 0xDD);
    }
    for (int j = 0; j < 8; j++) {
        a[j] = _mm512_shuffle_i32x4(b[j], b[j + 8], 0x88);
        a[j + 8] = _mm512_shuffle_i32x4(b[j], b[j + 8], 0xDD);
    }
}

// Writes 16 rows, of which those from `num_rows` on are 0, as a tile's second factor: groups of four inputs,
// each of all rows.
void write_factor(uint8_t *out, const uint8_t *rows, int64_t num_rows, int64_t depth) {
    for (int64_t k = 0; k < depth; k += 64) {
        __m512i lines[16];
        for (int m = 0; m < 16; m++)
            lines[m] = m < num_rows ? _mm512_loadu_si512(rows + m * depth + k) : _mm512_setzero_si512();
        transpose(lines);
        for (int group = 0; group < 16; group++) _mm512_store_si512(out + (k / 4 + group) * 64, lines[group]);
    }
}

// Tokens are the rows of the first factor, as they lie in the table, and the states are the second factor. A list
// of tokens, which would have to be copied first, is for AVX-512.
WITH_TILES void score_by_tiles(const uint8_t *rows, int64_t num_rows, const int8_t *table, int64_t depth,
                               const int32_t *ids, int64_t num_ids, int32_t *products, int64_t stride,
                               int16_t *scratch) {
    if (ids || num_rows < FEWEST_ROWS || num_ids < TOKENS)
        return score(rows, num_rows, table, depth, ids, num_ids, products, stride, scratch);
    uint8_t *factors = (uint8_t *)scratch; // of all rows: at most twice as many, in numbers half as wide
    for (int64_t row = 0; row < num_rows; row += HEIGHT)
        write_factor(factors + row * depth, rows + row * depth, num_rows - row, depth);
    WRITTEN();
    const Shapes shapes(HEIGHT);
    alignas(64) int32_t sums[TOKENS * LANES];
    for (int64_t done = 0; done < num_ids; done += TOKENS) {
        const int64_t token = done + TOKENS <= num_ids ? done : num_ids - TOKENS;
        for (int64_t row = 0; row < num_rows; row += HEIGHT) {
            const int8_t *a = table + token * depth;
            const uint8_t *b = factors + row * depth;
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
            for (int64_t k = 0; k < depth; k += 64, a += 64, b += 64 * HEIGHT) {
                _tile_loadd(7, b, 64);
                _tile_loadd(5, a, depth);
                _tile_dpbsud(0, 5, 7);
                _tile_loadd(6, a + HEIGHT * depth, depth);
                _tile_dpbsud(1, 6, 7);
                _tile_loadd(5, a + 2 * HEIGHT * depth, depth);
                _tile_dpbsud(2, 5, 7);
                _tile_loadd(6, a + 3 * HEIGHT * depth, depth);
                _tile_dpbsud(3, 6, 7);
            }
            _tile_stored(0, sums, 64);
            _tile_stored(1, sums + HEIGHT * LANES, 64);
            _tile_stored(2, sums + 2 * HEIGHT * LANES, 64);
            _tile_stored(3, sums + 3 * HEIGHT * LANES, 64);
            for (int64_t first = 0; first < TOKENS; first += HEIGHT) {
                __m512i lines[16];
                for (int i = 0; i < 16; i++) lines[i] = _mm512_load_si512(sums + (first + i) * LANES);
                transpose(lines);
                for (int m = 0; m < 16 && row + m < num_rows; m++)
                    _mm512_storeu_si512(products + (row + m) * stride + token + first, lines[m]);
            }
        }
    }
}

constexpr Kernels with_tiles(Kernels kernels) {
    kernels.multiply = multiply_by_tiles;
    kernels.score = score_by_tiles;
    kernels.rows_scored_together = FEWEST_ROWS;
    return kernels;
}
} // namespace

extern const Kernels AMX_KERNELS = with_tiles(kernels_named("amx-int8"));

bool may_use_amx() {
    constexpr unsigned HAS_TILES = 1u << 24 | 1u << 25; // AMX-TILE, AMX-INT8
    constexpr long ASK_FOR_STATE = 0x1023, TILE_DATA = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & HAS_TILES) != HAS_TILES) return false;
    return !syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA); // for all threads of the process
}
} // namespace dragoman
#else // a compiler or a system that does not know AMX
namespace dragoman {
extern const Kernels AMX_KERNELS{};
bool may_use_amx() { return false; }
} // namespace dragoman
#endif
