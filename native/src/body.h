// The kernels, written once with vectors of W floats, by the compiler's own vector types. A file for a kind of machine
// defines W, NAME, OFFSET, ROWS, BLOCKS and `tile`, and includes this; everything here is its own.
//
// Sums of integers are exact, so that all kinds give the same ones; floats differ in the last digit at most.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels.h"
#include "unroll.h"

namespace prosector {
namespace {

// Small enough that a call would cost more; the compiler is not asked.
#define ALWAYS inline __attribute__((always_inline))

constexpr float INFINITE = std::numeric_limits<float>::infinity();

template <int N>
struct Lanes {
    typedef float floats __attribute__((vector_size(N * 4)));
};
using vf = Lanes<W>::floats;
typedef std::int32_t vi __attribute__((vector_size(W * 4)));
typedef std::uint8_t vb __attribute__((vector_size(W)));

ALWAYS vf load(const float* p) {
    vf v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS void store(float* p, vf v) { std::memcpy(p, &v, sizeof v); }
ALWAYS vf all(float x) { return vf{} + x; }
ALWAYS vf larger(vf a, vf b) { return a > b ? a : b; }
ALWAYS vf smaller(vf a, vf b) { return a < b ? a : b; }
ALWAYS vf absolute(vf v) {
    vi bits;
    std::memcpy(&bits, &v, sizeof v);
    bits &= 0x7fffffff;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

// The first n < W floats, and `other` in place of the rest.
ALWAYS vf load_some(const float* p, int n, float other = 0.0f) {
    vf v = all(other);
    std::memcpy(&v, p, n * sizeof(float));
    return v;
}
ALWAYS void store_some(float* p, vf v, int n) { std::memcpy(p, &v, n * sizeof(float)); }

template <int N, int... I>
ALWAYS typename Lanes<N / 2>::floats upper_half(typename Lanes<N>::floats v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (I + N / 2)...);
}
template <int N, int... I>
ALWAYS typename Lanes<N / 2>::floats lower_half(typename Lanes<N>::floats v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, I...);
}

// All lanes become M by halves: i and i + N/2, and so on.
template <int M, int N, class Two>
ALWAYS typename Lanes<M>::floats folded(typename Lanes<N>::floats v, Two two) {
    if constexpr (N == M) {
        return v;
    } else {
        using Half = std::make_integer_sequence<int, N / 2>;
        return folded<M, N / 2>(two(lower_half<N>(v, Half{}), upper_half<N>(v, Half{})), two);
    }
}
struct Sum {
    template <class V>
    ALWAYS V operator()(V a, V b) const { return a + b; }
};
struct Larger {
    template <class V>
    ALWAYS V operator()(V a, V b) const { return a > b ? a : b; }
};
template <class Two>
ALWAYS float across(vf v, Two two) {
    const auto four = folded<4, W>(v, two);
    const auto pairs = two(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
    const auto all = two(pairs, __builtin_shufflevector(pairs, pairs, 1, 0, 3, 2));
    return all[0];
}
ALWAYS float total(vf v) { return across(v, Sum{}); }
ALWAYS float largest(vf v) { return across(v, Larger{}); }

// The totals of four vectors at once, each summed in the order of `total`.
ALWAYS Lanes<4>::floats totals(vf a, vf b, vf c, vf d) {
    const auto p = folded<4, W>(a, Sum{}), q = folded<4, W>(b, Sum{}), r = folded<4, W>(c, Sum{}), s = folded<4, W>(d, Sum{});
    const auto pq = __builtin_shufflevector(p, q, 0, 1, 4, 5) + __builtin_shufflevector(p, q, 2, 3, 6, 7);
    const auto rs = __builtin_shufflevector(r, s, 0, 1, 4, 5) + __builtin_shufflevector(r, s, 2, 3, 6, 7);
    return __builtin_shufflevector(pq, rs, 0, 2, 4, 6) + __builtin_shufflevector(pq, rs, 1, 3, 5, 7);
}

// e^x for x ≤ 88, to 2 units of the last digit: 2^n · 2^f, n the nearest whole number, 2^f by its series.
ALWAYS vf exponential(vf x) {
    const vf magic = all(12582912.0f);  // 1.5 · 2^23: what is added to it is rounded to a whole number
    x = larger(smaller(x, all(88.0f)), all(-87.0f));
    const vf t = x * 1.44269504088896341f;
    const vf n = (t + magic) - magic;
    vf f = x - n * 0.693359375f;  // ln 2 in two parts, so that nothing is lost
    f = f + n * 2.12194440e-4f;
    vf p = all(1.9875691500e-4f);
    p = p * f + 1.3981999507e-3f;
    p = p * f + 8.3334519073e-3f;
    p = p * f + 4.1665795894e-2f;
    p = p * f + 1.6666665459e-1f;
    p = p * f + 5.0000001201e-1f;
    p = p * f * f + f + 1.0f;
    vi bits = (__builtin_convertvector(n, vi) + 127) << 23;
    vf power;
    std::memcpy(&power, &bits, sizeof bits);
    return p * power;
}

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

// --- linear ------------------------------------------------------------------------------------------------------

float quantise(const float* x, int k, int k_padded, std::uint8_t* out) {
    vf most = all(1e-8f);
    int i = 0;
    for (; i + W <= k; i += W) most = larger(most, absolute(load(x + i)));
    if (i < k) most = larger(most, absolute(load_some(x + i, k - i)));
    const float scale = largest(most) / 127.0f, inverse = 1.0f / scale;
    const vf magic = all(12582912.0f);
    for (i = 0; i < k; i += W) {
        const vf v = i + W <= k ? load(x + i) : load_some(x + i, k - i);
        const vi whole = __builtin_convertvector((v * inverse + magic) - magic, vi) + OFFSET;
        const vb bytes = __builtin_convertvector(whole, vb);
        std::memcpy(out + i, &bytes, sizeof bytes);  // a row has room to k_padded
    }
    for (; i < k_padded; ++i) out[i] = OFFSET;
    return scale;
}

template <int R>
void rows_of(const std::uint8_t* x, const float* scales, const Linear& w, int first, float* y, const float* residual,
             Activation activation) {
    alignas(ALIGN) std::int32_t sums[R * BLOCKS * BLOCK];
    tile<R>(x, w.k_padded, w.block(first), w.k_padded / 4, sums);
    for (int column = first * BLOCK, j = 0; j < BLOCKS * BLOCK && column < w.n; j += W, column += W) {
        const int there = std::min(W, w.n - column);
        const vf weight_scale = load(w.scale.data() + column), bias = load(w.bias.data() + column);
        vi offset;
        std::memcpy(&offset, w.sum.data() + column, sizeof offset);
        offset *= OFFSET;
        for (int row = 0; row < R; ++row) {
            vi sum;
            std::memcpy(&sum, sums + row * BLOCKS * BLOCK + j, sizeof sum);
            vf value = __builtin_convertvector(sum - offset, vf) * (weight_scale * scales[row]) + bias;
            if (activation == Activation::relu)
                value = larger(value, all(0.0f));
            else if (activation != Activation::none)
                value = activated(value, activation);
            float* out = y + std::size_t(row) * w.n + column;
            const float* before = residual ? residual + std::size_t(row) * w.n + column : nullptr;
            if (there == W) {
                store(out, before ? value + load(before) : value);
            } else {
                store_some(out, before ? value + load_some(before, there) : value, there);
            }
        }
    }
}

template <int R>
void last_rows(int rows, const std::uint8_t* x, const float* scales, const Linear& w, int first, float* y,
               const float* residual, Activation activation) {
    if constexpr (R > 0) {
        if (rows == R)
            rows_of<R>(x, scales, w, first, y, residual, activation);
        else
            last_rows<R - 1>(rows, x, scales, w, first, y, residual, activation);
    }
}

std::atomic<std::uint64_t> calls{0};

void linear(const std::uint8_t* x, const float* scales, int rows, const Linear& w, float* y, const float* residual,
            Activation activation) {
    calls.fetch_add(1, std::memory_order_relaxed);
    for (int first = 0; first * BLOCK < w.n; first += BLOCKS) {  // a few columns of weights stay near while rows pass
        int row = 0;
        for (; row + ROWS <= rows; row += ROWS)
            rows_of<ROWS>(x + std::size_t(row) * w.k_padded, scales + row, w, first, y + std::size_t(row) * w.n,
                          residual ? residual + std::size_t(row) * w.n : nullptr, activation);
        if (row < rows)
            last_rows<ROWS - 1>(rows - row, x + std::size_t(row) * w.k_padded, scales + row, w, first,
                                y + std::size_t(row) * w.n, residual ? residual + std::size_t(row) * w.n : nullptr,
                                activation);
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

ALWAYS vf some(const float* p, int n) { return n == W ? load(p) : load_some(p, n); }
ALWAYS void put(float* p, vf v, int n) {
    if (n == W)
        store(p, v);
    else
        store_some(p, v, n);
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

void activate(float* x, std::size_t n, Activation activation) {
    for (std::size_t i = 0; i < n; i += W) {
        const int there = int(std::min<std::size_t>(W, n - i));
        put(x + i, activated(some(x + i, there), activation), there);
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

template <int V>  // vectors a head
void attend_to(const float* query, const Keys& keys, float scale, float* out, float* scores) {
    vf q[V], sum[V];
    UNROLL for (int v = 0; v < V; ++v) {
        q[v] = load(query + v * W) * scale;
        sum[v] = all(0.0f);
    }
    const auto products = [&](int place) __attribute__((always_inline)) {
        const Half* key = keys.key[place];
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

float log_sum(const float* x, int n) {
    vf most = all(-INFINITE), sum = all(0.0f);
    int i = 0;
    for (; i + W <= n; i += W) most = larger(most, load(x + i));
    if (i < n) most = larger(most, load_some(x + i, n - i, -INFINITE));
    const float highest = largest(most);
    for (i = 0; i + W <= n; i += W) sum += exponential(load(x + i) - highest);
    if (i < n) sum += first_lanes(exponential(load_some(x + i, n - i) - highest), n - i);
    return highest + std::log(total(sum));
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
    const Kernels variable = {NAME, &calls, quantise, linear, layer_norm, rms_norm, activate, multiply, halve, attend, log_sum, top};

}  // namespace prosector
