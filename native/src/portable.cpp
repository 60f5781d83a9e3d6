// For every machine: plain C++, which a compiler makes the best of.

#include <cstddef>
#include <cstdint>

namespace {

constexpr int W = 4, ROWS = 1, BLOCKS = 1, OFFSET = 0;
constexpr const char* NAME = "portable";

// Sums of products of one row with 16 outputs.
template <int R>
inline void tile(const std::uint8_t* x, int stride, const std::int8_t* w, int k4, std::int32_t* sums) {
    for (int row = 0; row < R; ++row) {
        std::int32_t sum[16] = {};
        for (int k = 0; k < k4; ++k) {
            const auto* inputs = reinterpret_cast<const std::int8_t*>(x + std::size_t(row) * stride + k * 4);
            const std::int8_t* weights = w + std::size_t(k) * 64;
            for (int column = 0; column < 16; ++column)
                for (int i = 0; i < 4; ++i) sum[column] += std::int32_t(inputs[i]) * weights[column * 4 + i];
        }
        for (int column = 0; column < 16; ++column) sums[row * 16 + column] = sum[column];
    }
}

}  // namespace

#include "body.h"

namespace prosector {
PROSECTOR_KERNELS(portable_kernels)
}
