// The kernels, written once with the vectors of `vectors.h`. A file for a kind of machine defines NAME, OFFSET, ROWS,
// BLOCKS, `tile`, `widen` and `narrow`, and includes this.

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

// --- linear ------------------------------------------------------------------------------------------------------

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

// --- norms and what is element by element ------------------------------------------------------------------------

template <class F>
ALWAYS float summed(int d, F f) {  // Σ f(i) over whole vectors, then over what is left
    vf sum = all(0.0f);
    int i = 0;
    for (; i + W <= d; i += W) sum += f(i, W);
    if (i < d) sum += f(i, d - i);
    return total(sum);
}

ALWAYS vf first_lanes(vf v, int n) {  // 0 beyond the first n
    if (n == W) return v;
    for (int i = n; i < W; ++i) v[i] = 0.0f;
    return v;
}

void layer_norm(const float* x, float* y, int rows, int d, const float* weight, const float* bias, float eps) {
    for (int row = 0; row < rows; ++row, x += d, y += d) {
        const float mean = summed(d, [&](int i, int n) { return some(x + i, n); }) / d;
        const float variance = summed(d, [&](int i, int n) {
            const vf apart = first_lanes(some(x + i, n) - mean, n);
            return apart * apart;
        }) / d;
        const float scale = 1.0f / std::sqrt(variance + eps);
        for (int i = 0; i < d; i += W) {
            const int n = std::min(W, d - i);
            const vf shift = bias ? some(bias + i, n) : all(0.0f);
            put(y + i, (some(x + i, n) - mean) * scale * some(weight + i, n) + shift, n);
        }
    }
}

void rms_norm(const float* x, float* y, int rows, int d, const float* weight, float eps) {
    for (int row = 0; row < rows; ++row, x += d, y += d) {
        const float square = summed(d, [&](int i, int n) {
            const vf v = some(x + i, n);
            return v * v;
        });
        const float scale = 1.0f / std::sqrt(square / d + eps);
        for (int i = 0; i < d; i += W) {
            const int n = std::min(W, d - i);
            put(y + i, some(x + i, n) * scale * some(weight + i, n), n);
        }
    }
}

void multiply(float* x, const float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; i += W) {
        const int there = int(std::min<std::size_t>(W, n - i));
        put(x + i, some(x + i, there) * some(y + i, there), there);
    }
}

// --- attention ---------------------------------------------------------------------------------------------------

ALWAYS void softmax(float* scores, int n) {  // in place, not yet divided by the sum, which it returns behind them
    for (int i = n; i < n + W; ++i) scores[i] = -INFINITE;
    vf most = all(-INFINITE);
    for (int i = 0; i < n; i += W) most = larger(most, load(scores + i));
    const float highest = largest(most);
    vf sum = all(0.0f);
    for (int i = 0; i < n; i += W) {
        const int there = std::min(W, n - i);
        const vf e = first_lanes(exponential(load(scores + i) - highest), there);
        store(scores + i, e);
        sum += e;
    }
    const float inverse = 1.0f / total(sum);
    for (int i = 0; i < n; i += W) store(scores + i, load(scores + i) * inverse);
}

void halve(const float* x, std::size_t n, Half* out) {
    const vf most = all(65504.0f);
    std::size_t i = 0;
    for (; i + W <= n; i += W) narrow(out + i, larger(smaller(load(x + i), most), -most));
    if (i == n) return;
    Half rest[W];
    narrow(rest, larger(smaller(load_some(x + i, int(n - i)), most), -most));
    std::memcpy(out + i, rest, (n - i) * sizeof(Half));
}

ALWAYS vf widen_some(const Half* p, int n) {
    Half rest[W] = {};
    std::memcpy(rest, p, n * sizeof(Half));
    return widen(n == W ? p : rest);
}

// N numbers that are soon asked for: of the next head, where those of a token lie together.
template <int N>
ALWAYS void fetch(const Half* p) {
    UNROLL for (int i = 0; i < N; i += ALIGN / int(sizeof(Half))) __builtin_prefetch(p + i);
}

template <int V>  // vectors a head
void attend_to(const float* query, const Keys& keys, float scale, float* out, float* scores) {
    vf q[V], sum[V];
    UNROLL for (int v = 0; v < V; ++v) {
        q[v] = load(query + v * W) * scale;
        sum[v] = all(0.0f);
    }
    const auto products = [&](int place) __attribute__((always_inline)) {
        const Half* key = keys.key[place];
        fetch<V * W>(key + V * W);
        vf product = widen(key) * q[0];
        UNROLL for (int v = 1; v < V; ++v) product += widen(key + v * W) * q[v];
        return product;
    };
    int place = 0;
    for (; place + 4 <= keys.length; place += 4) {
        const auto four = totals(products(place), products(place + 1), products(place + 2), products(place + 3));
        std::memcpy(scores + place, &four, sizeof four);
    }
    for (; place < keys.length; ++place) scores[place] = total(products(place));
    if (keys.bias)
        for (place = 0; place < keys.length; ++place) scores[place] += keys.bias[place];
    softmax(scores, keys.length);
    for (place = 0; place < keys.length; ++place) {
        const Half* value = keys.key[place] + keys.to_value;
        fetch<V * W>(value + V * W);
        UNROLL for (int v = 0; v < V; ++v) sum[v] += widen(value + v * W) * scores[place];
    }
    UNROLL for (int v = 0; v < V; ++v) store(out + v * W, sum[v]);
}

void attend_to_any(const float* query, const Keys& keys, int d, float scale, float* out, float* scores) {
    for (int place = 0; place < keys.length; ++place) {
        const Half* key = keys.key[place];
        const float product = summed(d, [&](int i, int n) { return some(query + i, n) * widen_some(key + i, n); });
        scores[place] = product * scale + (keys.bias ? keys.bias[place] : 0.0f);
    }
    softmax(scores, keys.length);
    for (int i = 0; i < d; i += W) {
        const int n = std::min(W, d - i);
        vf sum = all(0.0f);
        for (int place = 0; place < keys.length; ++place)
            sum += widen_some(keys.key[place] + keys.to_value + i, n) * scores[place];
        put(out + i, sum, n);
    }
}

void attend(const float* query, const Keys& keys, int d_head, float scale, float* out, float* scores) {
    switch (d_head % W ? 0 : d_head / W) {
        case 1: return attend_to<1>(query, keys, scale, out, scores);
        case 2: return attend_to<2>(query, keys, scale, out, scores);
        case 4: return attend_to<4>(query, keys, scale, out, scores);
        case 8: return attend_to<8>(query, keys, scale, out, scores);
        default: return attend_to_any(query, keys, d_head, scale, out, scores);
    }
}

// --- words -------------------------------------------------------------------------------------------------------

// By pieces that stay near: of each its largest first, then what the others are beside it.
float log_sum(const float* x, int n) {
    constexpr int PIECE = 64 * W;
    float highest = -INFINITE, sum = 0.0f;
    for (int first = 0; first < n; first += PIECE) {
        const int end = std::min(n, first + PIECE);
        vf most = all(-INFINITE), part = all(0.0f);
        int i = first;
        for (; i + W <= end; i += W) most = larger(most, load(x + i));
        if (i < end) most = larger(most, load_some(x + i, end - i, -INFINITE));
        const float before = highest;
        highest = std::max(highest, largest(most));
        for (i = first; i + W <= end; i += W) part += exponential(load(x + i) - highest);
        if (i < end) part += first_lanes(exponential(load_some(x + i, end - i) - highest), end - i);
        sum = sum * std::exp(before - highest) + total(part);
    }
    return highest + std::log(sum);
}

int top(const float* x, int n, int k, int* index) {
    int found = 0;
    float bound = -INFINITE;  // what has to be passed
    const auto consider = [&](int i) __attribute__((always_inline)) {
        if (!(x[i] > bound)) return;
        int place = found < k ? found++ : k - 1;
        for (; place > 0 && x[index[place - 1]] < x[i]; --place) index[place] = index[place - 1];
        index[place] = i;
        if (found == k) bound = x[index[k - 1]];
    };
    int i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        const vf four = larger(larger(load(x + i), load(x + i + W)), larger(load(x + i + 2 * W), load(x + i + 3 * W)));
        if (!(largest(four) > bound)) continue;
        for (int j = i; j < i + 4 * W; ++j) consider(j);
    }
    for (; i < n; ++i) consider(i);
    return found;
}

}  // namespace

#define PROSECTOR_KERNELS(variable) \
    extern const Kernels variable;  \
    const Kernels variable = {NAME, BLOCKS, &calls, quantise, linear, layer_norm, rms_norm, activate, multiply, halve, attend, log_sum, top};

}  // namespace prosector
