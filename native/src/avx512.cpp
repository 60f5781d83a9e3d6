// For machines with AVX512 and its VNNI instructions: 64 products of bytes, summed by fours, in one.

#include <immintrin.h>

#include <cstdint>

#include "linear.h"
#include "unroll.h"

constexpr int W = 16;
#include "vectors.h"

namespace prosector {
namespace {

constexpr int ROWS = 6, BLOCKS = 4;
constexpr int STEP = BLOCKS * BLOCK * 4;  // bytes of weights of the same four inputs
constexpr int OFFSET = 128;  // the instruction multiplies unsigned by signed bytes, so 128 is added to inputs
constexpr const char* NAME = "avx512-vnni";

// Sums of products of R rows with 64 outputs: R x 4 registers of 16 sums. Of a single row each sum is kept in four parts,
// so that none waits for the one before: then weights come as fast as memory gives them, 1.4 times as fast as without.
template <int R, class Start, class Then>
ALWAYS void tile(const std::uint8_t* x, int stride, const std::int8_t* w, int k4, Start start, Then then) {
    constexpr int PARTS = R == 1 ? 4 : 1;
    __m512i sum[PARTS][R][BLOCKS];
    UNROLL for (int part = 0; part < PARTS; ++part)
        UNROLL for (int row = 0; row < R; ++row)
            UNROLL for (int block = 0; block < BLOCKS; ++block)
                sum[part][row][block] = part ? _mm512_setzero_si512() : __m512i(start(block));
    const std::ptrdiff_t all = std::ptrdiff_t(k4) * STEP;  // bytes; the next tile lies behind them
    for (const std::int8_t* end = w + all; w != end; w += PARTS * STEP, x += PARTS * 4) {
        UNROLL for (int part = 0; part < PARTS; ++part) {
            __m512i weights[BLOCKS];
            UNROLL for (int block = 0; block < BLOCKS; ++block)
                weights[block] = _mm512_load_si512(w + part * STEP + block * 64);
            if (R > 1)  // several rows give time to fetch
                UNROLL for (int block = 0; block < BLOCKS; ++block) __builtin_prefetch(w + all + block * 64, 0, 2);
            UNROLL for (int row = 0; row < R; ++row) {
                const std::uint8_t* four = x + std::size_t(row) * stride + part * 4;
                const __m512i inputs = _mm512_set1_epi32(*reinterpret_cast<const int*>(four));
                UNROLL for (int block = 0; block < BLOCKS; ++block)
                    sum[part][row][block] = _mm512_dpbusd_epi32(sum[part][row][block], inputs, weights[block]);
            }
        }
    }
    UNROLL for (int block = 0; block < BLOCKS; ++block)
        UNROLL for (int row = 0; row < R; ++row) {
            __m512i whole = sum[0][row][block];
            UNROLL for (int part = 1; part < PARTS; ++part) whole = _mm512_add_epi32(whole, sum[part][row][block]);
            then(row, block, vi(whole));
        }
}

// Floats of 16 bits, and of 32.
inline __m512 widen(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline void narrow(std::uint16_t* p, __m512 v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

// The low byte of each number.
ALWAYS void keep_low_bytes(std::uint8_t* p, vi v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(__m512i(v)));
}

}  // namespace
}  // namespace prosector

#include "body.h"

namespace prosector {
PROSECTOR_KERNELS(avx512_kernels)
}
