// What Python calls through ctypes. Functions return 0, or a negative number whose meaning `library.py` knows.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>

#include "model.h"
#include "search.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace dragoman;

namespace {

constexpr int32_t NO_MEMORY = -1;
constexpr int32_t OUT_OF_RANGE = -2;
constexpr int32_t WRONG_PROGRAM = -3;
constexpr int32_t OTHER = -4;

template <class Action> int32_t guarded(Action action) {
    try {
        action();
        return 0;
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    } catch (const std::out_of_range &) {
        return OUT_OF_RANGE;
    } catch (const std::logic_error &) {
        return WRONG_PROGRAM;
    } catch (...) { // would end the process
        return OTHER;
    }
}

#if defined(__x86_64__)
bool has_avx_vnni() { // which older compilers cannot ask for by name
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
}
#endif

// Kernels whose instructions this processor has, the fastest first.
std::vector<const Kernels *> usable_kernels() {
    std::vector<const Kernels *> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw")) {
        if (may_use_amx()) usable.push_back(&AMX_KERNELS);
        usable.push_back(&AVX512_KERNELS);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (has_avx_vnni()) usable.push_back(&AVX_VNNI_KERNELS);
        usable.push_back(&AVX2_KERNELS);
    }
#elif defined(__aarch64__)
    if (has_dot_product()) usable.push_back(&DOTPROD_KERNELS);
    usable.push_back(&NEON_KERNELS);
#endif
    return usable;
}

const Kernels &kernels_of(const char *name) {
    for (const Kernels *each : usable_kernels())
        if (!std::strcmp(each->name, name)) return *each;
    throw std::logic_error("unknown kernels");
}

Program &program_of(Model *model, int32_t is_decoder) { return is_decoder ? model->decoder : model->encoder; }

// What a step is asked for.
struct Request {
    const int64_t *last_ids; // [R]
    int64_t num_best;        // K, may be 0
    int64_t num_wanted;      // W, may be 0
    const int64_t *wanted;   // [R][W]
    float *logprobs;         // [R][K + W]
    int64_t *ids;            // [R][K + W]
    AttentionRows attention; // null, or [R]
};

// Writes the best and the wanted tokens of each row.
class RequestedTokens : public LogitsReader {
  public:
    RequestedTokens(const Steps &steps, const Request &request) : steps_(steps), request_(request) {}

    void read(int64_t row, const Logits &logits) override {
        const int64_t num_best = request_.num_best, num_columns = num_best + request_.num_wanted;
        float *logprobs = request_.logprobs + row * num_columns;
        int64_t *ids = request_.ids + row * num_columns;
        find_best(*steps_.model().kernels, logits, num_best, logprobs, ids);
        for (int64_t i = 0; i < request_.num_wanted; i++) {
            const int64_t id = request_.wanted[row * request_.num_wanted + i];
            if (id < 0 || id >= logits.count) throw std::out_of_range("an id is outside the vocabulary");
            logprobs[num_best + i] = logits.values[id] - logits.normaliser;
            ids[num_best + i] = id;
        }
    }

  private:
    const Steps &steps_;
    const Request &request_;
};

// Copies rows of `width` numbers to rows of `padded_width`, the rest 0.
template <class T> T *padded_copy(Model *model, const T *rows, int64_t num_rows, int64_t width, int64_t padded_width) {
    T *copy = model->memory.take<T>(num_rows * padded_width);
    if (model->memory.is_mapped()) return copy;
    for (int64_t i = 0; i < num_rows; i++) std::memcpy(copy + i * padded_width, rows + i * width, width * sizeof(T));
    return copy;
}

} // namespace

extern "C" {

// Writes the name of the best kernels of this processor, or "".
int32_t dragoman_best_kernels(const char **name) {
    return guarded([&] {
        const std::vector<const Kernels *> usable = usable_kernels();
        const auto best = std::find_if(usable.begin(), usable.end(), [](auto each) { return are_exact(*each); });
        *name = best == usable.end() ? "" : (*best)->name;
    });
}

// file: of weights that `dragoman_weights` returned, or -1
int32_t dragoman_new_model(const char *kernels, const ModelSizes *sizes, int32_t file, int64_t file_bytes,
                           Model **model) {
    return guarded([&] {
        const Kernels &chosen = kernels_of(kernels);
        auto made = std::make_unique<Model>();
        if (file >= 0) made->memory.map(file, file_bytes);
        made->kernels = &chosen;
        made->sizes = *sizes;
        made->is_alignment_head.assign(sizes->heads, 0);
        *model = made.release();
    });
}

void dragoman_free_model(Model *model) { delete model; }

// Writes the next part of the weights' memory, and its size: 0 after the last one.
int32_t dragoman_weights(const Model *model, int64_t index, const char **start, int64_t *num_bytes) {
    return guarded([&] {
        const auto &chunks = model->memory.chunks();
        const bool is_part = index < static_cast<int64_t>(chunks.size());
        *start = is_part ? chunks[index].start : nullptr;
        *num_bytes = is_part ? static_cast<int64_t>(chunks[index].used) : 0;
    });
}

// weight int8 [inputs][outputs]; scale of each output or one for all
int32_t dragoman_add_linear(Model *model, const int8_t *weight, int64_t inputs, int64_t outputs, const float *scale,
                            int64_t num_scales, const float *bias, float step, int32_t zero) {
    return guarded([&] {
        Linear linear;
        linear.depth = padded(inputs, WIDTH_MULTIPLE);
        linear.width = padded(outputs, WIDTH_MULTIPLE);
        linear.weight = model->memory.take<int8_t>(linear.depth * linear.width);
        linear.scale = model->memory.take<float>(linear.width);
        linear.bias = padded_copy(model, bias, 1, outputs, linear.width);
        linear.correction = model->memory.take<int32_t>(linear.width);
        if (!model->memory.is_mapped()) {
            model->kernels->pack(linear.weight, weight, inputs, outputs);
            for (int64_t k = 0; k < inputs; k++)
                for (int64_t n = 0; n < outputs; n++) linear.correction[n] += weight[k * outputs + n];
            for (int64_t n = 0; n < outputs; n++) {
                linear.scale[n] = step * scale[num_scales == 1 ? 0 : n];
                linear.correction[n] *= model->kernels->correction(zero);
            }
        }
        model->linears.push_back(linear);
    });
}

int32_t dragoman_add_norm(Model *model, const float *gain, const float *bias, float epsilon) {
    return guarded([&] {
        const int64_t real = model->sizes.width, width = padded(real, WIDTH_MULTIPLE);
        model->norms.push_back({padded_copy(model, gain, 1, real, width), padded_copy(model, bias, 1, real, width),
                                epsilon});
    });
}

int32_t dragoman_add_register(Model *model, int32_t is_decoder, int32_t is_bytes, int64_t width) {
    return guarded([&] {
        Program &program = program_of(model, is_decoder);
        auto &widths = is_bytes ? program.byte_widths : program.float_widths;
        widths.push_back(static_cast<int32_t>(padded(width, WIDTH_MULTIPLE)));
    });
}

// table int8 [num_tokens][width], or null for the encoder's; steps [num_tokens], positions [num_positions][width]
int32_t dragoman_set_embedding(Model *model, int32_t is_decoder, const int8_t *table, const float *steps,
                               int64_t num_tokens, const float *positions, int64_t num_positions) {
    return guarded([&] {
        const int64_t real = model->sizes.width, width = padded(real, WIDTH_MULTIPLE);
        Program &program = program_of(model, is_decoder);
        program.embedding = table ? padded_copy(model, table, num_tokens, real, width) : model->encoder.embedding;
        program.embedding_step = padded_copy(model, steps, 1, num_tokens, num_tokens);
        program.positions = padded_copy(model, positions, num_positions, real, width);
        program.num_tokens = num_tokens;
        program.num_positions = num_positions;
    });
}

// table int8 [num_tokens][width], or null for the decoder's embedding; scale and bias [num_tokens]
int32_t dragoman_set_output(Model *model, const int8_t *table, int64_t num_tokens, const float *scale,
                            const float *bias, int32_t zero, int32_t source_register) {
    return guarded([&] {
        const int64_t real = model->sizes.width, width = padded(real, WIDTH_MULTIPLE);
        const int64_t space = padded(num_tokens, LANES);
        model->output_rows = table ? padded_copy(model, table, num_tokens, real, width) : model->decoder.embedding;
        model->output_depth = width;
        model->num_outputs = num_tokens;
        model->output_register = source_register;
        model->output_scale = padded_copy(model, scale, 1, num_tokens, space);
        model->output_bias = padded_copy(model, bias, 1, num_tokens, space);
        model->output_correction = model->memory.take<int32_t>(space);
        model->decoder.max_depth = std::max(model->decoder.max_depth, width);
        if (model->memory.is_mapped()) return;
        for (int64_t token = num_tokens; token < space; token++) model->output_bias[token] = -__builtin_inff();
        const int32_t factor = model->kernels->correction(zero);
        for (int64_t token = 0; token < num_tokens; token++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < real; k++) sum += model->output_rows[token * width + k];
            model->output_correction[token] = sum * factor;
        }
    });
}

int32_t dragoman_set_program(Model *model, int32_t is_decoder, const Instruction *instructions, int64_t count) {
    return guarded([&] {
        Program &program = program_of(model, is_decoder);
        program.instructions.assign(instructions, instructions + count);
        for (const Instruction &each : program.instructions)
            if (each.kind >= Instruction::LINEAR && each.kind <= Instruction::LINEAR_QUANTISE)
                program.max_depth = std::max(program.max_depth, model->linears.at(each.index).depth);
    });
}

int32_t dragoman_set_lists(Model *model, const int32_t *suppressed, int64_t num_suppressed, const int32_t *heads,
                           int64_t num_heads) {
    return guarded([&] {
        model->suppressed.assign(suppressed, suppressed + num_suppressed);
        for (int64_t i = 0; i < num_heads; i++) model->is_alignment_head.at(heads[i]) = 1;
        model->alignment_factor = num_heads ? 1.0f / static_cast<float>(num_heads) : 0.0f;
    });
}

// always [num_always], offsets [num_pieces + 1], listed [offsets[num_pieces]]: see `shortlist.py`; after the output
int32_t dragoman_add_shortlist(Model *model, const uint32_t *always, int64_t num_always, const uint32_t *offsets,
                               int64_t num_pieces, const uint32_t *listed) {
    return guarded([&] { add_shortlist(*model, always, num_always, offsets, num_pieces, listed); });
}

int32_t dragoman_encode(Model *model, const int64_t *ids, const int32_t *lengths, int64_t num_sources,
                        Source **sources) {
    return guarded([&] { encode(*model, ids, lengths, num_sources, sources); });
}

void dragoman_release(Source *source) { release(source); }

int32_t dragoman_new_steps(const Model *model, int64_t beam_size, int32_t is_shortlisted, Steps **steps) {
    return guarded([&] { *steps = new Steps(*model, beam_size, is_shortlisted); });
}

void dragoman_free_steps(Steps *steps) { delete steps; }

int32_t dragoman_join(Steps *steps, Source *const *sources, int64_t num_sources) {
    return guarded([&] { steps->join(sources, num_sources); });
}

int32_t dragoman_step(Steps *steps, const Request *request) {
    return guarded([&] {
        RequestedTokens tokens(*steps, *request);
        steps->step(request->last_ids, request->num_best + request->num_wanted ? &tokens : nullptr,
                    request->num_wanted > 0, request->attention);
    });
}

int32_t dragoman_select(Steps *steps, const int64_t *rows, int64_t num_rows) {
    return guarded([&] { steps->select(rows, num_rows); });
}

// bytes [num_tokens] and the tables [num_states][257] of `decoding/utf8.py`; bytes is null without byte pieces
int32_t dragoman_new_search(const Model *model, int64_t beam_size, int32_t is_shortlisted, int64_t eos_id,
                            const int16_t *bytes, const uint8_t *legal, const uint8_t *next, int64_t num_states,
                            int32_t may_end, int32_t may_replace, Search **search) {
    return guarded([&] {
        Utf8Tables tables;
        if (bytes) tables.bytes.assign(bytes, bytes + model->num_outputs);
        tables.legal.assign(legal, legal + num_states * 257);
        tables.next.assign(next, next + num_states * 257);
        tables.may_end = static_cast<uint8_t>(may_end);
        tables.may_replace = static_cast<uint8_t>(may_replace);
        *search = new Search(*model, beam_size, is_shortlisted, eos_id, std::move(tables));
    });
}

void dragoman_free_search(Search *search) { delete search; }

int32_t dragoman_search_join(Search *search, Source *const *sources, const SearchOptions *options,
                             int64_t num_sources) {
    return guarded([&] { search->join(sources, options, num_sources); });
}

// Makes steps until a source is done: so many, or, with a counter, until another thread changes it or time is up.
// Writes how many it made, and how many sources are done.
int32_t dragoman_search_steps(Search *search, int64_t max_steps, const int64_t *counter, int64_t count, double limit_s,
                             int64_t *num_steps, int64_t *num_found) {
    return guarded([&] {
        using Clock = std::chrono::steady_clock;
        const auto began = Clock::now();
        const auto may_go_on = [&] {
            if (*num_steps < max_steps) return true;
            return counter && __atomic_load_n(counter, __ATOMIC_RELAXED) == count &&
                   std::chrono::duration<double>(Clock::now() - began).count() < limit_s;
        };
        *num_steps = *num_found = 0;
        while (!*num_found && may_go_on()) {
            search->step();
            ++*num_steps;
            *num_found = static_cast<int64_t>(search->found().size());
        }
    });
}

// Slot of a source that is done, whether it failed, and its number of hypotheses.
void dragoman_found_source(const Search *search, int64_t index, int64_t *slot, int64_t *is_faulty,
                           int64_t *num_hypotheses) {
    const FoundSource &found = search->found()[index];
    *slot = found.slot;
    *is_faulty = found.is_faulty;
    *num_hypotheses = static_cast<int64_t>(found.hypotheses.size());
}

struct HypothesisRecord {
    double logprob, score;
    int64_t num_tokens, is_stopped, num_ids;
    const int32_t *ids;     // [num_ids], valid until the next step
    const float *attention; // null, or [num_ids + is_stopped][S], valid until the next step
};

void dragoman_read_hypothesis(const Search *search, int64_t index, int64_t rank, HypothesisRecord *record) {
    const FoundHypothesis &found = search->found()[index].hypotheses[rank];
    *record = {found.logprob,    found.score,
               found.num_tokens, found.is_stopped,
               static_cast<int64_t>(found.ids.size()), found.ids.data(),
               found.attention.empty() ? nullptr : found.attention.data()};
}

// is_leaving [num_sources]
int32_t dragoman_search_remove(Search *search, const char *is_leaving) {
    return guarded([&] { search->remove(std::vector<char>(is_leaving, is_leaving + search->num_sources())); });
}

// Writes at most `space` ids, and how many there are.
int32_t dragoman_search_best_ids(const Search *search, int64_t slot, int32_t *ids, int64_t space, int64_t *num_ids) {
    return guarded([&] {
        if (slot < 0 || slot >= search->num_sources()) throw std::out_of_range("there is no such slot");
        const std::vector<int32_t> found = search->best_ids(slot);
        *num_ids = static_cast<int64_t>(found.size());
        std::copy_n(found.begin(), std::min<int64_t>(space, *num_ids), ids);
    });
}

} // extern "C"
