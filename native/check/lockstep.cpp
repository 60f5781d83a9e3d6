#include "lockstep.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace prosector {

namespace {

struct Rounded {  // one row
    std::vector<float> before;
    std::vector<Half> after;  // bytes without the kernels' own offset, or halves
};

// A table of kernels holds plain functions, so what they write down, and go by, lies beside them.
struct Watch {
    const Kernels* kernels = nullptr;
    std::vector<Rounded> rows;           // what the first rounded
    std::size_t at = 0;                  // which of them the second has come to
    Agreement* agreement = nullptr;      // of the second; null while the first runs
};
thread_local Watch watch;

// The second's row beside the first's, whose roundings it gets.
void hold_beside(const Rounded& mine, Rounded& yours) {
    if (mine.before.size() != yours.before.size()) throw std::logic_error("two kinds of kernels do not take the same steps");
    double largest = 1e-30, apart = 0;
    for (std::size_t i = 0; i < mine.before.size(); ++i) {
        largest = std::max(largest, std::fabs(double(mine.before[i])));
        apart = std::max(apart, std::fabs(double(mine.before[i]) - double(yours.before[i])));
        watch.agreement->turned += mine.after[i] != yours.after[i];
    }
    watch.agreement->before = std::max(watch.agreement->before, apart / largest);
    watch.agreement->numbers += mine.before.size();
    yours.after = mine.after;
}

void note(Rounded& row) {
    if (!watch.agreement)
        watch.rows.push_back(row);
    else
        hold_beside(watch.rows.at(watch.at++), row);
}

float quantise(const float* x, int k, int k_padded, std::uint8_t* out) {
    const float scale = watch.kernels->quantise(x, k, k_padded, out), nothing = 0.0f;
    std::uint8_t zero[ALIGN];
    watch.kernels->quantise(&nothing, 1, ALIGN, zero);  // which byte stands for 0
    Rounded row;
    for (int i = 0; i < k; ++i) {
        row.before.push_back(x[i] / scale);
        row.after.push_back(std::uint8_t(out[i] - zero[0]));
    }
    note(row);
    for (int i = 0; i < k; ++i) out[i] = std::uint8_t(row.after[i] + zero[0]);
    return scale;
}

void halve(const float* x, std::size_t n, Half* out) {
    watch.kernels->halve(x, n, out);
    Rounded row{{x, x + n}, {out, out + n}};
    note(row);
    std::copy(row.after.begin(), row.after.end(), out);
}

// All logits of a target.
std::vector<float> logits_of(const Side& side, const std::vector<int>& source, const std::vector<int>& target,
                             int first_token) {
    const Model& model = side.model;
    watch.kernels = &side.kernels;
    Kernels watched = side.kernels;
    watched.quantise = quantise;
    watched.halve = halve;
    Work work(watched, model);
    const std::vector<Memory> memories = encode(model, work, {&source});
    Row row{first_token, &memories[0], {}};
    std::vector<float> all((target.size() + 1) * std::size_t(model.output.n));
    for (std::size_t i = 0; i <= target.size(); ++i) {
        if (i) row.token = target[i - 1];
        row.places.push_back(work.kept.take());
        work.linear(model.output, step(model, work, {&row}), 1, all.data() + i * model.output.n);
    }
    return all;
}

}  // namespace

void Agreement::add(const Agreement& other) {
    numbers += other.numbers;
    turned += other.turned;
    before = std::max(before, other.before);
    logits = std::max(logits, other.logits);
}

Agreement in_step(const Side& one, const Side& other, const std::vector<int>& source, const std::vector<int>& target,
                  int first_token) {
    Agreement agreement;
    watch = Watch{};
    const auto mine = logits_of(one, source, target, first_token);
    watch.agreement = &agreement;
    const auto yours = logits_of(other, source, target, first_token);
    for (std::size_t i = 0; i < mine.size(); ++i)
        agreement.logits = std::max(agreement.logits, std::fabs(double(mine[i]) - double(yours[i])));
    return agreement;
}

}  // namespace prosector
