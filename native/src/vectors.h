// Vectors of W floats or whole numbers, by the compiler's own types, and what is done to them. A file for a kind of machine
// defines W and includes this; everything here is its own.
//
// Sums of integers are exact, so that all kinds give the same ones; floats differ in the last digit at most.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

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

ALWAYS vf load(const float* p) {
    vf v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS void store(float* p, vf v) { std::memcpy(p, &v, sizeof v); }
ALWAYS vf all(float x) { return vf{} + x; }
ALWAYS vf larger(vf a, vf b) { return a > b ? a : b; }
ALWAYS vf smaller(vf a, vf b) { return a < b ? a : b; }
ALWAYS vf absolute(vf v) { return larger(v, -v); }

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

ALWAYS vi bits_of(vf v) {
    vi bits;
    std::memcpy(&bits, &v, sizeof v);
    return bits;
}

// 1.5 · 2^23: what is added to it is rounded to a whole number, which are the low bits of the sum.
constexpr float ROUNDING = 12582912.0f;

// e^x for x ≤ 88, to 2 units of the last digit and x / 2^24: 2^n · 2^f, n the nearest whole number, 2^f by the polynomial
// that is 1 at 0 and elsewhere in [-1/2, 1/2] least far off, by 1e-7 (least squares, weighted anew by what is left).
ALWAYS vf exponential(vf x) {
    x = larger(smaller(x, all(88.0f)), all(-87.0f));
    const vf t = x * 1.44269504088896341f;
    const vf moved = t + (ROUNDING + 127.0f);
    const vf f = t - (moved - (ROUNDING + 127.0f));
    vf p = all(1.326471512e-3f);
    p = p * f + 9.671512775e-3f;
    p = p * f + 5.550733773e-2f;
    p = p * f + 2.402224208e-1f;
    p = p * f + 6.931469776e-1f;
    p = p * f + 1.0f;
    const vi bits = bits_of(moved) << 23;  // of 2^n: its exponent alone
    vf power;
    std::memcpy(&power, &bits, sizeof bits);
    return p * power;
}

}  // namespace
}  // namespace prosector
