// For machines with AVX2. |x| · sign(x) w: products of an unsigned and a signed byte that are 127 at most, so that a sum
// of two fits into 16 bits.

#include <immintrin.h>

#include <cstdint>

#include "linear.h"
#include "unroll.h"

constexpr int W = 8;
#include "vectors.h"

namespace prosector {
namespace {

constexpr int ROWS = 4, BLOCKS = 1, OFFSET = 0;
constexpr int STEP = BLOCKS * BLOCK * 4;  // bytes of weights of the same four inputs
constexpr const char* NAME = "avx2";

// Sums of products of R rows with 16 outputs: R x 2 registers of 8 sums.
template <int R, class Start, class Then>
ALWAYS void tile(const std::uint8_t* x, int stride, const std::int8_t* w, int k4, Start start, Then then) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum[R][2];
    UNROLL for (int row = 0; row < R; ++row)
        UNROLL for (int half = 0; half < 2; ++half) sum[row][half] = __m256i(start(half));
    for (int k = 0; k < k4; ++k) {
        const auto* at = reinterpret_cast<const __m256i*>(w + std::size_t(k) * STEP);
        const __m256i weights[2] = {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
        UNROLL for (int row = 0; row < R; ++row) {
            const __m256i inputs = _mm256_set1_epi32(*reinterpret_cast<const int*>(x + std::size_t(row) * stride + k * 4));
            const __m256i size = _mm256_abs_epi8(inputs);
            UNROLL for (int half = 0; half < 2; ++half) {
                const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(weights[half], inputs));
                sum[row][half] = _mm256_add_epi32(sum[row][half], _mm256_madd_epi16(pairs, ones));
            }
        }
    }
    UNROLL for (int half = 0; half < 2; ++half)
        UNROLL for (int row = 0; row < R; ++row) then(row, half, vi(sum[row][half]));
}

// Floats of 16 bits, and of 32.
inline __m256 widen(const std::uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void narrow(std::uint16_t* p, __m256 v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

// The low byte of each number.
ALWAYS void keep_low_bytes(std::uint8_t* p, vi v) {
    const __m256i first = _mm256_shuffle_epi8(__m256i(v), _mm256_set1_epi32(0x0c080400));
    const std::int32_t halves[2] = {_mm256_extract_epi32(first, 0), _mm256_extract_epi32(first, 4)};
    std::memcpy(p, halves, sizeof halves);
}

}  // namespace
}  // namespace prosector

#include "body.h"

namespace prosector {
PROSECTOR_KERNELS(avx2_kernels)
}
