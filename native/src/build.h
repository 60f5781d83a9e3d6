// A model from its weights by their names, as `model.safetensors` has them, in float32.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model.h"

namespace prosector {

struct Array {
    const float* data = nullptr;
    std::vector<std::size_t> shape;
    std::size_t size() const;
};

using Arrays = std::map<std::string, Array>;

struct Settings {
    Shape shape;
    int encoder_layers = 0, decoder_layers = 0;
    bool rms = false, interleaved = false;
    float norm_eps = 1e-5f;
};

// Takes copies of everything. Beside the weights, `positions.encoder.added`, `.cosine`, `.sine` and `.bias`, and the
// decoder's, where the model has them. Throws std::invalid_argument if one is missing or has another shape.
Model build(const Settings& settings, const Arrays& arrays, const Kernels& kernels);

}  // namespace prosector
