// For machines with AVX512 and its VNNI instructions: 64 products of bytes, summed by fours, in one.

#include <immintrin.h>

#include <cstdint>

namespace {

constexpr int W = 16, ROWS = 6, BLOCKS = 4;
constexpr int OFFSET = 128;  // the instruction multiplies unsigned by signed bytes, so 128 is added to inputs
constexpr const char* NAME = "avx512-vnni";

// Sums of products of R rows with 64 outputs: R x 4 registers of 16 sums.
template <int R>
inline void tile(const std::uint8_t* x, int stride, const std::int8_t* w, int k4, std::int32_t* sums) {
    __m512i sum[R][BLOCKS];
    for (int row = 0; row < R; ++row)
        for (int block = 0; block < BLOCKS; ++block) sum[row][block] = _mm512_setzero_si512();
    for (int k = 0; k < k4; ++k) {
        __m512i weights[BLOCKS];
        for (int block = 0; block < BLOCKS; ++block)
            weights[block] = _mm512_load_si512(w + (std::size_t(block) * k4 + k) * 64);
        for (int row = 0; row < R; ++row) {
            const __m512i inputs = _mm512_set1_epi32(*reinterpret_cast<const int*>(x + std::size_t(row) * stride + k * 4));
            for (int block = 0; block < BLOCKS; ++block)
                sum[row][block] = _mm512_dpbusd_epi32(sum[row][block], inputs, weights[block]);
        }
    }
    for (int row = 0; row < R; ++row)
        for (int block = 0; block < BLOCKS; ++block)
            _mm512_store_si512(sums + (row * BLOCKS + block) * 16, sum[row][block]);
}

}  // namespace

#include "body.h"

namespace prosector {
PROSECTOR_KERNELS(avx512_kernels)
}
