#include "halves.h"

#include <cmath>
#include <limits>
#include <vector>

namespace prosector {

namespace {

constexpr int LARGEST = 0x7bff;  // 65504, the last finite one

// What the kernels make of a number, alone and in the midst of others.
bool rounds_to(const Kernels& kernels, float x, int bits) {
    constexpr int N = 19;  // a whole vector of any width, and a rest
    float many[N];
    Half out[N];
    for (float& each : many) each = x;
    kernels.halve(many, N, out);
    for (Half half : out)
        if (half != bits) return false;
    kernels.halve(&x, 1, out);
    return out[0] == bits;
}

// A head that looks at one place alone gets its value as it is, times a weight of 1.
bool widened(const Kernels& kernels, Half bits, int d_head) {
    std::vector<Half> kept(2 * std::size_t(d_head), bits);
    for (int i = 0; i < d_head; ++i) kept[i] = 0;  // the key
    const Half* place = kept.data();
    std::vector<float> query(d_head, 1.0f), out(d_head), scores(1 + 2 * BLOCK);
    kernels.attend(query.data(), {&place, 1, d_head, nullptr}, d_head, 1.0f, out.data(), scores.data());
    for (float each : out)
        if (each != value_of_half(bits)) return false;
    return true;
}

}  // namespace

float value_of_half(Half bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    return float(bits & 0x8000 ? -size : size);
}

int wrong_halves(const Kernels& kernels) {
    constexpr float FAR = std::numeric_limits<float>::infinity();
    int wrong = 0;
    for (int sign : {0, 0x8000})
        for (int size = 0; size <= LARGEST; ++size) {
            const Half bits = Half(sign | size);
            const float x = value_of_half(bits), outwards = sign ? -FAR : FAR;
            bool right = rounds_to(kernels, x, bits) && widened(kernels, bits, 64) && widened(kernels, bits, 10);
            if (size < LARGEST) {
                const float middle = (x + value_of_half(Half(bits + 1))) / 2;  // exact in 32 bits
                right = right && rounds_to(kernels, middle, bits + size % 2) &&
                        rounds_to(kernels, std::nextafter(middle, 0.0f), bits) &&
                        rounds_to(kernels, std::nextafter(middle, outwards), bits + 1);
            } else {
                right = right && rounds_to(kernels, x * 1.5f, bits) && rounds_to(kernels, outwards, bits);
            }
            wrong += !right;
        }
    return wrong;
}

}  // namespace prosector
