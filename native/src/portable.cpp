// For every machine: plain C++, which a compiler makes the best of.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "linear.h"
#include "unroll.h"

constexpr int W = 4;
#include "vectors.h"

namespace prosector {
namespace {

constexpr int ROWS = 1, BLOCKS = 1, OFFSET = 0;
constexpr int STEP = BLOCKS * BLOCK * 4;  // bytes of weights of the same four inputs
constexpr const char* NAME = "portable";

// Sums of products of one row with 16 outputs.
__attribute__((noinline)) void sums_of(const std::uint8_t* x, const std::int8_t* w, int k4, std::int32_t* sums) {
    std::int32_t sum[BLOCK] = {};
    for (int k = 0; k < k4; ++k) {
        const auto* inputs = reinterpret_cast<const std::int8_t*>(x + k * 4);
        const std::int8_t* weights = w + std::size_t(k) * STEP;
        for (int column = 0; column < BLOCK; ++column)
            for (int i = 0; i < 4; ++i) sum[column] += std::int32_t(inputs[i]) * weights[column * 4 + i];
    }
    std::memcpy(sums, sum, sizeof sum);
}

template <int R, class Start, class Then>
void tile(const std::uint8_t* x, int stride, const std::int8_t* w, int k4, Start, Then then) {
    for (int row = 0; row < R; ++row) {
        std::int32_t sum[BLOCK];
        sums_of(x + std::size_t(row) * stride, w, k4, sum);
        for (int v = 0; v < BLOCK / W; ++v) {
            vi some;
            std::memcpy(&some, sum + v * W, sizeof some);
            then(row, v, some);
        }
    }
}

// Floats of 16 bits have an exponent whose 0 is 15, those of 32 one whose 0 is 127: moved 13 bits, the one is the other
// over 2^112. Rounding is to the nearest, of two the even.
inline std::uint32_t bits_of(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline vf widen(const std::uint16_t* p) {
    vf v;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t bits = std::uint32_t(p[i] & 0x7fff) << 13 | std::uint32_t(p[i] & 0x8000) << 16;
        float small;
        std::memcpy(&small, &bits, sizeof small);
        v[i] = small * 0x1p112f;
    }
    return v;
}
inline void narrow(std::uint16_t* p, vf v) {
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t bits = bits_of(v[i]), size = bits & 0x7fffffff;
        const std::uint32_t normal = (size - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
        // Below 2^-14 they lie 2^-24 apart, as floats of 32 bits do from 0.5 on.
        const std::uint32_t tiny = bits_of((v[i] < 0.0f ? -v[i] : v[i]) + 0.5f) - bits_of(0.5f);
        p[i] = std::uint16_t((size < bits_of(0x1p-14f) ? tiny : normal) | (bits >> 16 & 0x8000));
    }
}

// The low byte of each number.
inline void keep_low_bytes(std::uint8_t* p, vi v) {
    for (int i = 0; i < W; ++i) p[i] = std::uint8_t(v[i]);
}

}  // namespace
}  // namespace prosector

#include "body.h"

namespace prosector {
PROSECTOR_KERNELS(portable_kernels)
}
