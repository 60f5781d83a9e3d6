// The kernels, written once with the vectors of `vectors.h`. A file for a kind of machine defines what `products.h` asks
// for, NAME, `widen` and `narrow`, and includes this.

#include <algorithm>

#include "products.h"

namespace prosector {
namespace {

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
