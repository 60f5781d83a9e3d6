// Products with whole numbers, and what is done to each output before it is written. A file for a kind of machine defines
// OFFSET, ROWS, BLOCKS, `tile` and `keep_low_bytes`.

#include <algorithm>

#include "kernels.h"
#include "unroll.h"

namespace prosector {
namespace {

ALWAYS vf sigmoid(vf x) { return 1.0f / (1.0f + exponential(-x)); }

// erf, to 1.5e-7: Abramowitz and Stegun 7.1.26.
ALWAYS vf erf(vf x) {
    const vf a = absolute(x), t = 1.0f / (1.0f + 0.3275911f * a);
    const vf series = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    const vf y = 1.0f - series * exponential(-a * a);
    return x < 0.0f ? -y : y;
}

__attribute__((noinline)) vf activated(vf x, Activation activation) {
    switch (activation) {
        case Activation::none: return x;
        case Activation::relu: return larger(x, all(0.0f));
        case Activation::gelu: return 0.5f * x * (1.0f + erf(x * 0.70710678118654752f));
        case Activation::gelu_tanh: return x * sigmoid(1.5957691216057308f * (x + 0.044715f * x * x * x));
        case Activation::swish: return x * sigmoid(x);
    }
    return x;
}

ALWAYS vf some(const float* p, int n) { return n == W ? load(p) : load_some(p, n); }
ALWAYS void put(float* p, vf v, int n) {
    if (n == W)
        store(p, v);
    else
        store_some(p, v, n);
}

void activate(float* x, std::size_t n, Activation activation) {
    for (std::size_t i = 0; i < n; i += W) {
        const int there = int(std::min<std::size_t>(W, n - i));
        put(x + i, activated(some(x + i, there), activation), there);
    }
}

// The largest of |x|.
ALWAYS float size_of(const float* x, int n) {
    vf most[4] = {};  // so that none waits for the one before
    int i = 0;
    for (; i + 4 * W <= n; i += 4 * W)
        UNROLL for (int j = 0; j < 4; ++j) most[j] = larger(most[j], absolute(load(x + i + j * W)));
    for (; i < n; i += W) most[0] = larger(most[0], absolute(some(x + i, std::min(W, n - i))));
    return largest(larger(larger(most[0], most[1]), larger(most[2], most[3])));
}

float quantise(const float* x, int k, int k_padded, std::uint8_t* out) {
    const float scale = std::max(size_of(x, k), 1e-8f) / 127.0f, inverse = 1.0f / scale;
    const vf whole = all(ROUNDING + OFFSET);  // the low byte of a sum with it is the number as it is kept
    int i = 0;
    for (; i < k; i += W) keep_low_bytes(out + i, bits_of(some(x + i, std::min(W, k - i)) * inverse + whole));
    for (; i < k_padded; ++i) out[i] = OFFSET;
    return scale;
}

const float NO_RESIDUAL[BLOCKS * BLOCK] = {};

// R rows and the outputs of one tile, from `first` on.
template <int R>
void rows_of(const std::uint8_t* x, const float* scales, const Linear& w, int first, float* y, const float* residual,
             Activation activation) {
    constexpr int COLUMNS = BLOCKS * BLOCK;
    const int there = std::min(COLUMNS, w.n - first);
    const bool whole = there == COLUMNS;
    float room[R * COLUMNS];  // for the last columns, where fewer are there
    if (residual && !whole)
        for (int row = 0; row < R; ++row)
            std::memcpy(room + row * COLUMNS, residual + std::size_t(row) * w.n + first, there * sizeof(float));
    float* out = whole ? y + first : room;
    const float* before = !residual ? NO_RESIDUAL : whole ? residual + first : room;
    const std::ptrdiff_t stride = whole ? w.n : COLUMNS, stride_before = residual ? stride : 0;
    const vf least = all(activation == Activation::relu ? 0.0f : -INFINITE);
    const auto start = [&](int v) __attribute__((always_inline)) {  // less what the inputs' OFFSET adds
        vi weights;
        std::memcpy(&weights, w.sum.data() + first + v * W, sizeof weights);
        return weights * -OFFSET;
    };
    const auto then = [&](int row, int v, vi sum) __attribute__((always_inline)) {
        const vf scale = load(w.scale.data() + first + v * W), bias = load(w.bias.data() + first + v * W);
        const vf value = __builtin_convertvector(sum, vf) * (scale * scales[row]) + bias;
        store(out + row * stride + v * W, larger(value, least) + load(before + row * stride_before + v * W));
    };
    tile<R>(x, w.k_padded, w.weight.get() + w.place(first), w.k_padded / 4, start, then);
    if (activation != Activation::none && activation != Activation::relu)
        for (int row = 0; row < R; ++row) activate(out + row * stride, COLUMNS, activation);
    if (!whole)
        for (int row = 0; row < R; ++row)
            std::memcpy(y + std::size_t(row) * w.n + first, room + row * COLUMNS, there * sizeof(float));
}

template <int R>
void some_rows(int rows, const std::uint8_t* x, const float* scales, const Linear& w, int first, float* y,
               const float* residual, Activation activation) {
    if (rows == R)
        rows_of<R>(x, scales, w, first, y, residual, activation);
    else if constexpr (R > 1)
        some_rows<R - 1>(rows, x, scales, w, first, y, residual, activation);
}

std::atomic<std::uint64_t> calls{0};

void linear(const std::uint8_t* x, const float* scales, int rows, const Linear& w, float* y, const float* residual,
            Activation activation) {
    calls.fetch_add(1, std::memory_order_relaxed);
    for (int first = 0; first < w.n; first += BLOCKS * BLOCK)  // a tile of weights stays near while rows pass
        for (int row = 0, groups = (rows + ROWS - 1) / ROWS; groups > 0; --groups) {
            const int some = (rows - row + groups - 1) / groups;  // as even as can be: 16 are 6, 5 and 5
            const std::size_t before = std::size_t(row) * w.n;
            some_rows<ROWS>(some, x + std::size_t(row) * w.k_padded, scales + row, w, first, y + before,
                            residual ? residual + before : nullptr, activation);
            row += some;
        }
}

}  // namespace
}  // namespace prosector
