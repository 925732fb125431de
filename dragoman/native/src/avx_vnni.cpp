// Compiled with -mavx2 -mfma -mavxvnni.
#include <immintrin.h>

#include "inline.h"
#include "kernels.h"

namespace dragoman {
namespace {
#include "isa_avx2.h"

#include "kernels_impl.h"
} // namespace
extern const Kernels AVX_VNNI_KERNELS = kernels_named("avx-vnni");
} // namespace dragoman
