// The arithmetic that takes the time, once for each kind of machine; `choose` takes the best that this one has.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "linear.h"

namespace prosector {

enum class Activation { none, relu, gelu, gelu_tanh, swish };

// Keys and values are kept as floats of 16 bits (IEEE's half, these are its bits): each step reads them all, and so half
// as many bytes.
using Half = std::uint16_t;

// Keys and values of one head, at places that need not lie together; a value lies `to_value` numbers behind its key.
struct Keys {
    const Half* const* key;  // of `length` places
    int length;
    std::ptrdiff_t to_value;
    const float* bias;        // what is added to each score, or null
};

struct Kernels {
    const char* name;
    int blocks;  // of weights that it reads together
    std::atomic<std::uint64_t>* calls;  // how often `linear` was called, which proves which kernels ran

    // One row of K floats as integers, in the kernel's own form, k_padded bytes; returns the scale.
    float (*quantise)(const float* x, int k, int k_padded, std::uint8_t* out);

    // y = activation(W x + b), or W x + b + residual, for `rows` quantised rows; y and residual [rows, W.n], residual null
    // or the activation none.
    void (*linear)(const std::uint8_t* x, const float* scales, int rows, const Linear& w, float* y,
                   const float* residual, Activation activation);

    void (*layer_norm)(const float* x, float* y, int rows, int d, const float* weight, const float* bias, float eps);
    void (*rms_norm)(const float* x, float* y, int rows, int d, const float* weight, float eps);

    void (*activate)(float* x, std::size_t n, Activation activation);
    void (*multiply)(float* x, const float* y, std::size_t n);

    // The nearest 16-bit floats; what is too large becomes the largest.
    void (*halve)(const float* x, std::size_t n, Half* out);

    // out = Σ softmax(query · key · scale + bias) value, over the places of `keys`; `scores` has room for length + 16.
    void (*attend)(const float* query, const Keys& keys, int d_head, float scale, float* out, float* scores);

    // ln Σ exp(x): what a logit lies above its log p.
    float (*log_sum)(const float* x, int n);

    // The k likeliest of n, the best first and of equal ones the lower index; -∞ is none. Returns how many.
    int (*top)(const float* x, int n, int k, int* index);
};

// Of every machine that this was compiled for; the last one runs everywhere.
const std::vector<const Kernels*>& all_kernels();

// Whether this machine can run them.
bool runs_here(const Kernels& kernels);

// The best that runs here, or the one of this name; throws std::invalid_argument.
const Kernels& choose(const std::string& name = "");

}  // namespace prosector
