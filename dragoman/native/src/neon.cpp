// Every 64-bit ARM processor runs these.
#include <arm_neon.h>

#include "inline.h"
#include "kernels.h"

namespace dragoman {
namespace {
#include "isa_neon.h"

#include "kernels_impl.h"
} // namespace
extern const Kernels NEON_KERNELS = kernels_named("neon");
} // namespace dragoman
