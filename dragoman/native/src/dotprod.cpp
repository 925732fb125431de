// Compiled with -march=armv8.2-a+dotprod.
#include <arm_neon.h>

#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "inline.h"
#include "kernels.h"

namespace dragoman {
namespace {
#include "isa_neon.h"

#include "kernels_impl.h"
} // namespace
extern const Kernels DOTPROD_KERNELS = kernels_named("neon-dotprod");

bool has_dot_product() {
#if defined(__linux__)
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
#else
    return true; // every Apple processor with these instructions
#endif
}
} // namespace dragoman
