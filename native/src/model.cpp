#include "model.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace prosector {

void Norm::operator()(const Kernels& kernels, const float* x, float* y, int rows) const {
    const int d = int(weight.size());
    if (rms)
        kernels.rms_norm(x, y, rows, d, weight.data(), eps);
    else
        kernels.layer_norm(x, y, rows, d, weight.data(), bias.empty() ? nullptr : bias.data(), eps);
}

void Work::linear(const Linear& w, const float* x, int rows, float* y, const float* residual, Activation activation) {
    quantised_.resize(std::size_t(rows) * w.k_padded);
    scales_.resize(rows);
    for (int row = 0; row < rows; ++row)
        scales_[row] = kernels.quantise(x + std::size_t(row) * w.k, w.k, w.k_padded,
                                        quantised_.data() + std::size_t(row) * w.k_padded);
    kernels.linear(quantised_.data(), scales_.data(), rows, w, y, residual, activation);
}

namespace {

// table[id] · scale + position, then perhaps a norm.
void embed(const Model& model, const Stack& stack, Work& work, const float* table, const std::vector<int>& ids,
           const std::vector<int>& positions) {
    const int d = model.shape.d_model, rows = int(ids.size());
    work.x.resize(std::size_t(rows) * d);
    for (int row = 0; row < rows; ++row) {
        float* x = work.x.data() + std::size_t(row) * d;
        const float* word = table + std::size_t(ids[row]) * d;
        const float* place = stack.positions.added.empty() ? nullptr
                                                           : stack.positions.added.data() + std::size_t(positions[row]) * d;
        for (int i = 0; i < d; ++i) x[i] = word[i] * model.shape.embedding_scale + (place ? place[i] : 0.0f);
    }
    if (stack.first_norm) (*stack.first_norm)(work.kernels, work.x.data(), work.x.data(), rows);
}

// Turns the pairs of one head by the angles of a position.
void rotate(const Positions& positions, int position, float* head, int d_head) {
    const int pairs = d_head / 2;
    const float* cosine = positions.cosine.data() + std::size_t(position) * pairs;
    const float* sine = positions.sine.data() + std::size_t(position) * pairs;
    const int apart = positions.interleaved ? 1 : pairs, stride = positions.interleaved ? 2 : 1;
    for (int pair = 0; pair < pairs; ++pair) {
        float &a = head[pair * stride], &b = head[pair * stride + apart];
        const float before = a;
        a = a * cosine[pair] - b * sine[pair];
        b = before * sine[pair] + b * cosine[pair];
    }
}

void rotate_heads(const Positions& positions, int position, float* heads, int n, int d_head) {
    if (positions.cosine.empty()) return;
    for (int head = 0; head < n; ++head) rotate(positions, position, heads + head * d_head, d_head);
}

// A sublayer with its path around: x + f(norm(x)), or norm(x + f(x)). `f` reads its input, and writes input's residual
// and its own result to the place it is given.
template <class F>
void around(const Model& model, Work& work, const Norm& norm, int rows, F f) {
    const std::size_t size = std::size_t(rows) * model.shape.d_model;
    work.normed.resize(size);
    if (model.shape.pre_norm) {
        norm(work.kernels, work.x.data(), work.normed.data(), rows);
        f(work.normed.data(), work.x.data());
    } else {
        f(work.x.data(), work.x.data());
        norm(work.kernels, work.x.data(), work.x.data(), rows);
    }
}

void feed_forward(const Model& model, Work& work, const FeedForward& block, const Norm& norm, int rows) {
    around(model, work, norm, rows, [&](const float* in, float* x) {
        const Activation activation = model.shape.activation;
        work.hidden.resize(std::size_t(rows) * model.shape.d_ff);
        if (block.gate.n) {
            work.gate.resize(work.hidden.size());
            work.linear(block.gate, in, rows, work.gate.data(), nullptr, activation);
            work.linear(block.inner, in, rows, work.hidden.data());
            work.kernels.multiply(work.hidden.data(), work.gate.data(), work.hidden.size());
        } else {
            work.linear(block.inner, in, rows, work.hidden.data(), nullptr, activation);
        }
        work.linear(block.outer, work.hidden.data(), rows, x, x);
    });
}

// What a head adds to the scores of the keys 0, 1, ... as seen from a position; null if nothing.
const float* bias_of(const Positions& positions, int head, int position) {
    if (positions.bias.empty()) return nullptr;
    return positions.bias.data() + std::size_t(head) * (2 * positions.rows - 1) + positions.rows - 1 - position;
}

// One head's query over the keys at `work.places`.
void attend(const Model& model, Work& work, const float* query, int head, int length, std::ptrdiff_t to_value,
            const float* bias, float* out) {
    const Shape& shape = model.shape;
    work.kernels.attend(query + head * shape.d_head, {work.places.data(), length, to_value, bias}, shape.d_head,
                        shape.attention_scale, out + head * shape.d_head, work.scores.data());
}

// Keys and values of a source's tokens, [length, 2 · kv_width], as they are kept: those of a head together.
void by_heads(const Model& model, const Kernels& kernels, const float* from, std::size_t stride, int length, Half* to) {
    const int d = model.shape.d_head, heads = model.shape.n_kv_heads;
    for (int place = 0; place < length; ++place, from += stride)
        for (int which = 0; which < 2; ++which)
            for (int head = 0; head < heads; ++head)
                kernels.halve(from + (which * heads + head) * d, d, to + ((head * 2 + which) * std::size_t(length) + place) * d);
}

// The keys of a head in what `by_heads` wrote.
void places_of(Work& work, const Half* kept, int kv_head, int length, int d_head) {
    work.places.resize(length);
    work.scores.resize(length + 2 * BLOCK);
    const Half* next = kept + std::size_t(kv_head) * 2 * length * d_head;
    for (const Half*& place : work.places) {
        place = next;
        next += d_head;
    }
}

// Where sources begin among all tokens, and their lengths.
struct Spans {
    std::vector<int> start, length;
};

void encoder_layer(const Model& model, Work& work, const Layer& layer, const Spans& spans, int tokens) {
    const Shape& shape = model.shape;
    const Positions& positions = model.encoder.positions;
    const int q = shape.q_width(), width = q + 2 * shape.kv_width(), group = shape.n_heads / shape.n_kv_heads;
    around(model, work, layer.norms[0], tokens, [&](const float* in, float* x) {
        work.wide.resize(std::size_t(tokens) * width);
        work.heads.resize(std::size_t(tokens) * q);
        work.linear(layer.self.query, in, tokens, work.wide.data());
        for (std::size_t source = 0; source < spans.start.size(); ++source) {
            const int length = spans.length[source];
            float* rows = work.wide.data() + std::size_t(spans.start[source]) * width;
            float* heads = work.heads.data() + std::size_t(spans.start[source]) * q;
            for (int place = 0; place < length; ++place)
                rotate_heads(positions, place, rows + std::size_t(place) * width, shape.n_heads + shape.n_kv_heads, shape.d_head);
            work.halves.resize(std::size_t(length) * 2 * shape.kv_width());
            by_heads(model, work.kernels, rows + q, width, length, work.halves.data());
            for (int head = 0; head < shape.n_heads; ++head) {
                if (head % group == 0) places_of(work, work.halves.data(), head / group, length, shape.d_head);
                for (int place = 0; place < length; ++place)
                    attend(model, work, rows + std::size_t(place) * width, head, length, std::ptrdiff_t(length) * shape.d_head,
                           bias_of(positions, head, place), heads + std::size_t(place) * q);
            }
        }
        work.linear(layer.self.output, work.heads.data(), tokens, x, x);
    });
    feed_forward(model, work, layer.feed_forward, layer.norms[1], tokens);
}

// Each row's query over the tokens that were written before it, and itself.
void attend_to_written(const Model& model, Work& work, std::size_t number, const std::vector<const Row*>& rows) {
    const Shape& shape = model.shape;
    const Positions& positions = model.decoder.positions;
    const int q = shape.q_width(), kv = 2 * shape.kv_width(), group = shape.n_heads / shape.n_kv_heads;
    std::vector<const Half*> keys;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::vector<int>& all = rows[row]->places;
        const int now = int(all.size()) - 1;
        float* here = work.wide.data() + row * (q + kv);
        rotate_heads(positions, now, here, shape.n_heads + shape.n_kv_heads, shape.d_head);
        work.kernels.halve(here + q, kv, work.kept.at(number, all.back()));
        keys.clear();
        for (int place : all) keys.push_back(work.kept.at(number, place));
        work.places.resize(keys.size());
        work.scores.resize(keys.size() + 2 * BLOCK);
        for (int head = 0; head < shape.n_heads; ++head) {
            if (head % group == 0)
                for (std::size_t i = 0; i < keys.size(); ++i) work.places[i] = keys[i] + head / group * shape.d_head;
            attend(model, work, here, head, now + 1, shape.kv_width(), bias_of(positions, head, now), work.heads.data() + row * q);
        }
    }
}

// Each row's query over its source; a beam's rows, which lie together, head by head.
void attend_to_sources(const Model& model, Work& work, std::size_t number, const std::vector<const Row*>& rows) {
    const Shape& shape = model.shape;
    const int q = shape.q_width(), group = shape.n_heads / shape.n_kv_heads;
    for (std::size_t first = 0, end; first < rows.size(); first = end) {
        const Memory& source = *rows[first]->source;
        for (end = first + 1; end < rows.size() && rows[end]->source == &source;) ++end;
        const std::ptrdiff_t to_value = std::ptrdiff_t(source.length) * shape.d_head;
        const Half* kept = source.key_value.data() + number * to_value * 2 * shape.n_kv_heads;
        for (int head = 0; head < shape.n_heads; ++head) {
            if (head % group == 0) places_of(work, kept, head / group, source.length, shape.d_head);
            for (std::size_t row = first; row < end; ++row)
                attend(model, work, work.wide.data() + row * q, head, source.length, to_value, nullptr,
                       work.heads.data() + row * q);
        }
    }
}

void decoder_layer(const Model& model, Work& work, std::size_t number, const std::vector<const Row*>& rows) {
    const Shape& shape = model.shape;
    const Layer& layer = model.decoder.layers[number];
    const int n = int(rows.size()), q = shape.q_width();
    work.heads.resize(std::size_t(n) * q);
    around(model, work, layer.norms[0], n, [&](const float* in, float* x) {
        work.wide.resize(std::size_t(n) * (q + 2 * shape.kv_width()));
        work.linear(layer.self.query, in, n, work.wide.data());
        attend_to_written(model, work, number, rows);
        work.linear(layer.self.output, work.heads.data(), n, x, x);
    });
    around(model, work, layer.norms[1], n, [&](const float* in, float* x) {
        work.wide.resize(std::size_t(n) * q);
        work.linear(layer.cross.query, in, n, work.wide.data());
        attend_to_sources(model, work, number, rows);
        work.linear(layer.cross.output, work.heads.data(), n, x, x);
    });
    feed_forward(model, work, layer.feed_forward, layer.norms[2], n);
}

}  // namespace

std::vector<Memory> encode(const Model& model, Work& work, const std::vector<const std::vector<int>*>& sources) {
    Spans spans;
    std::vector<int> ids, positions;
    for (const std::vector<int>* source : sources) {
        spans.start.push_back(int(ids.size()));
        spans.length.push_back(int(source->size()));
        ids.insert(ids.end(), source->begin(), source->end());
        for (std::size_t i = 0; i < source->size(); ++i) positions.push_back(int(i));
    }
    const int tokens = int(ids.size());
    embed(model, model.encoder, work, model.source_table.data(), ids, positions);
    for (const Layer& layer : model.encoder.layers) encoder_layer(model, work, layer, spans, tokens);
    if (model.encoder.final_norm) (*model.encoder.final_norm)(work.kernels, work.x.data(), work.x.data(), tokens);

    const std::size_t kv = 2 * model.shape.kv_width(), n_layers = model.decoder.layers.size();
    std::vector<Memory> memories(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
        memories[i].length = spans.length[i];
        if (!work.spare.empty()) {
            memories[i].key_value = std::move(work.spare.back());
            work.spare.pop_back();
        }
        memories[i].key_value.resize(n_layers * spans.length[i] * kv);
    }
    work.wide.resize(tokens * kv);
    for (std::size_t number = 0; number < n_layers; ++number) {
        work.linear(model.decoder.layers[number].cross.key_value, work.x.data(), tokens, work.wide.data());
        for (std::size_t i = 0; i < sources.size(); ++i)
            by_heads(model, work.kernels, work.wide.data() + spans.start[i] * kv, kv, spans.length[i],
                     memories[i].key_value.data() + number * spans.length[i] * kv);
    }
    return memories;
}

int Kept::take() {
    if (free_.empty()) {
        const int first = int(chunks_.size()) * CHUNK;
        chunks_.push_back(pages_.take(n_layers_ * CHUNK * width_ * sizeof(Half)));
        for (int place = first + CHUNK - 1; place >= first; --place) free_.push_back(place);
    }
    const int place = free_.back();
    free_.pop_back();
    return place;
}

const float* step(const Model& model, Work& work, const std::vector<const Row*>& rows) {
    const int n = int(rows.size());
    std::vector<int> tokens, positions;
    for (const Row* row : rows) {
        tokens.push_back(row->token);
        positions.push_back(int(row->places.size()) - 1);
    }
    embed(model, model.decoder, work, model.target_row(0), tokens, positions);
    for (std::size_t number = 0; number < model.decoder.layers.size(); ++number)
        decoder_layer(model, work, number, rows);
    if (model.decoder.final_norm) (*model.decoder.final_norm)(work.kernels, work.x.data(), work.x.data(), n);
    if (model.shape.output_scale != 1.0f)
        for (float& value : work.x) value *= model.shape.output_scale;
    return work.x.data();
}

}  // namespace prosector
