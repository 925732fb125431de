// Compiled with -mavx512f -mavx512bw -mavx512vl -mavx512vnni -mfma.
#include <immintrin.h>

#include "inline.h"
#include "kernels.h"

namespace dragoman {
namespace {
#include "isa_avx512.h"

#include "kernels_impl.h"
} // namespace
extern const Kernels AVX512_KERNELS = kernels_named("avx512-vnni");
} // namespace dragoman
