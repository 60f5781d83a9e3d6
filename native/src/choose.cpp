#include <stdexcept>

#include "kernels.h"

namespace prosector {

#if defined(PROSECTOR_X86)
extern const Kernels avx512_kernels, avx2_kernels;
#endif
extern const Kernels portable_kernels;

const std::vector<const Kernels*>& all_kernels() {
    static const std::vector<const Kernels*> all = {
#if defined(PROSECTOR_X86)
        &avx512_kernels, &avx2_kernels,
#endif
        &portable_kernels,
    };
    return all;
}

bool runs_here([[maybe_unused]] const Kernels& kernels) {
#if defined(PROSECTOR_X86)
    __builtin_cpu_init();
    if (&kernels == &avx512_kernels) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vnni");
    }
    if (&kernels == &avx2_kernels) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    }
#endif
    return true;
}

const Kernels& choose(const std::string& name) {
    std::string known;
    for (const Kernels* kernels : all_kernels()) {
        const bool fits = name.empty() || name == kernels->name;
        if (fits && runs_here(*kernels)) return *kernels;
        if (fits) throw std::invalid_argument("this machine cannot run the kernels " + name);
        known += (known.empty() ? "" : ", ") + std::string(kernels->name);
    }
    throw std::invalid_argument("there are no kernels called " + name + "; there are " + known);
}

}  // namespace prosector
