#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "model.h"

namespace dragoman {

namespace {

constexpr int64_t MAX_INSERTED = 32; // candidates up to which inserting is faster than sorting
constexpr int64_t TOKENS_AT_ONCE = 1024; // of the whole vocabulary: their rows stay in a core's cache
constexpr int64_t BLOCKS_AT_ONCE = 16;

} // namespace

Steps::Steps(const Model &model, int64_t beam_size, bool is_shortlisted)
    : model_(model), beam_size_(beam_size), is_shortlisted_(is_shortlisted) {}

Steps::~Steps() {
    for (Row &row : rows_) release(row.source);
}

Block *Steps::new_block() {
    const int64_t size = model_.sizes.decoder_layers * model_.layer_bytes();
    if (!unused_) {
        block_memory_.push_back(allocate_bytes(size * BLOCKS_AT_ONCE));
        for (int64_t i = 0; i < BLOCKS_AT_ONCE; i++) {
            all_blocks_.push_back(std::make_unique<Block>(Block{0, unused_, block_memory_.back().get() + i * size}));
            unused_ = all_blocks_.back().get();
        }
    }
    Block *block = unused_;
    unused_ = block->next;
    block->references = 1;
    return block;
}

void Steps::drop(Row &row) {
    release(row.source);
    for (Block *block : row.blocks)
        if (!--block->references) {
            block->next = unused_;
            unused_ = block;
        }
}

void Steps::join(Source *const *sources, int64_t num_sources) {
    for (int64_t i = 0; i < num_sources; i++)
        for (int64_t beam = 0; beam < beam_size_; beam++) {
            sources[i]->references.fetch_add(1);
            Row row{sources[i], 0, nullptr, {}, {}};
            row.cells.assign(model_.sizes.num_cells * padded(model_.sizes.width, WIDTH_MULTIPLE), 0.0f);
            rows_.push_back(std::move(row));
        }
}

void Steps::select(const int64_t *rows, int64_t num_rows) {
    std::vector<Row> kept;
    kept.reserve(num_rows);
    std::vector<int64_t> first_copy(rows_.size(), -1);
    for (int64_t i = 0; i < num_rows; i++) {
        if (rows[i] < 0 || rows[i] >= this->num_rows()) throw std::out_of_range("there is no such row");
        int64_t &first = first_copy[rows[i]];
        if (first < 0) {
            first = i;
            kept.push_back(std::move(rows_[rows[i]]));
            continue;
        }
        kept.push_back(kept[first]);
        kept.back().source->references.fetch_add(1);
        for (Block *block : kept.back().blocks) block->references++;
    }
    for (size_t i = 0; i < rows_.size(); i++)
        if (first_copy[i] < 0) drop(rows_[i]);
    rows_.swap(kept);
    if (rows_.empty()) { // memory of one long target is not kept
        unused_ = nullptr;
        all_blocks_.clear();
        block_memory_.clear();
        joined_lists_ = JoinedLists();
        most_joined_ = 0;
    }
}

// Makes the row's next position writable: a new block, or a copy of one that other rows read.
void Steps::prepare_cache(Row &row) {
    const int64_t used = row.length % BLOCK_POSITIONS;
    if (!used) {
        row.blocks.push_back(new_block());
        return;
    }
    Block *&last = row.blocks.back();
    if (last->references == 1) return;
    Block *copy = new_block();
    std::memcpy(copy->data, last->data, model_.sizes.decoder_layers * model_.layer_bytes());
    last->references--;
    last = copy;
}

void Steps::step(const int64_t *last_ids, LogitsReader *reader, bool scores_all, AttentionRows attention) {
    if (rows_.empty()) return;
    run(last_ids, attention);
    if (reader) {
        if (is_shortlisted_ && !scores_all)
            score_shortlists(*reader);
        else
            score_all(*reader);
    }
    for (Row &row : rows_) row.length++;
}

void Steps::run(const int64_t *last_ids, AttentionRows attention) {
    const Program &program = model_.decoder;
    const int64_t width = padded(model_.sizes.width, WIDTH_MULTIPLE);
    int64_t longest = 0;
    for (const Row &row : rows_) longest = std::max({longest, row.length + 1, row.source->length});
    workspace_.fit(program, num_rows(), padded(longest, LANES));
    for (const Instruction &instruction : program.instructions) {
        switch (instruction.kind) {
        case Instruction::EMBED:
            for (int64_t i = 0; i < num_rows(); i++)
                embed_row(model_, program, workspace_.floats(instruction.target) + i * width, last_ids[i],
                          rows_[i].length);
            break;
        case Instruction::SELF_ATTENTION:
            attend_self(instruction);
            break;
        case Instruction::CROSS_ATTENTION:
            attend_cross(instruction, attention);
            break;
        case Instruction::RECUR:
            for (int64_t i = 0; i < num_rows(); i++)
                model_.kernels->recur(workspace_.floats(instruction.target) + i * width,
                                      rows_[i].cells.data() + instruction.index * width,
                                      workspace_.floats(instruction.source) +
                                          i * program.float_widths[instruction.source],
                                      model_.sizes.width);
            break;
        default:
            run_plain(model_, program, instruction, workspace_, num_rows());
        }
    }
}

void Steps::attend_self(const Instruction &instruction) {
    const int64_t stride = model_.decoder.float_widths[instruction.source];
    const int64_t out_stride = model_.decoder.float_widths[instruction.target];
    const ModelSizes &sizes = model_.sizes;
    const int64_t offset = instruction.index * model_.layer_bytes();
    for (int64_t i = 0; i < num_rows(); i++) {
        Row &row = rows_[i];
        if (!instruction.index) prepare_cache(row);
        const float *qkv = workspace_.floats(instruction.source) + i * stride;
        model_.kernels->write_cache(row.blocks.back()->data + offset, qkv + sizes.width, qkv + 2 * sizes.width,
                                    row.length % BLOCK_POSITIONS, sizes.heads, sizes.head_size);
        block_pointers_.clear();
        for (const Block *block : row.blocks) block_pointers_.push_back(block->data);
        const Attention attention{sizes.heads,    sizes.head_size,      block_pointers_.data(), offset,
                                  row.length + 1, workspace_.scratch(), nullptr,                nullptr,
                                  0.0f};
        model_.kernels->attend(qkv, workspace_.floats(instruction.target) + i * out_stride, attention);
    }
}

void Steps::attend_cross(const Instruction &instruction, AttentionRows wanted) {
    const int64_t stride = model_.decoder.float_widths[instruction.source];
    const int64_t out_stride = model_.decoder.float_widths[instruction.target];
    const ModelSizes &sizes = model_.sizes;
    if (instruction.index != sizes.alignment_layer) wanted = nullptr;
    for (int64_t i = 0; i < num_rows(); i++) {
        const Source &source = *rows_[i].source;
        const int64_t num_blocks = padded(source.length, BLOCK_POSITIONS) / BLOCK_POSITIONS;
        float *weights = wanted ? wanted[i] : nullptr;
        if (weights) std::fill_n(weights, source.length, 0.0f);
        const Attention attention{sizes.heads,
                                  sizes.head_size,
                                  source.blocks.data() + instruction.index * num_blocks,
                                  0,
                                  source.length,
                                  workspace_.scratch(),
                                  weights,
                                  model_.is_alignment_head.data(),
                                  model_.alignment_factor};
        model_.kernels->attend(workspace_.floats(instruction.source) + i * stride,
                               workspace_.floats(instruction.target) + i * out_stride, attention);
    }
}

JoinedLists::Positions JoinedLists::add(const Model &model, const Source &source) {
    positions_.resize(model.num_outputs, -1);
    auto positions = std::make_shared<std::vector<int32_t>>(source.ids.size(), 0);
    for (int64_t i = 0; i < source.num_listed; i++) {
        const int32_t token = source.ids[i];
        if (positions_[token] < 0) positions_[token] = append(model, token);
        (*positions)[i] = positions_[token];
    }
    return positions;
}

int32_t JoinedLists::append(const Model &model, int32_t token) {
    const int64_t depth = model.output_depth;
    if (size() == space_) {
        space_ = std::max<int64_t>(1024, 2 * space_);
        auto rows = allocate_bytes(space_ * depth);
        if (rows_) std::memcpy(rows.get(), rows_.get(), size() * depth);
        rows_.swap(rows);
    }
    std::memcpy(rows_.get() + size() * depth, model.output_rows + token * depth, depth);
    tokens_.push_back(token);
    return static_cast<int32_t>(size() - 1);
}

void JoinedLists::clear() {
    for (int32_t token : tokens_) positions_[token] = -1;
    tokens_.clear();
}

// Joins the lists of rows that are new, or of all rows if many tokens may be of sources that have left.
void Steps::join_lists() {
    const bool any_is_new = std::any_of(rows_.begin(), rows_.end(), [](const Row &row) { return !row.positions; });
    if (!any_is_new) return;
    const bool is_anew = joined_lists_.size() >= most_joined_;
    if (is_anew) {
        joined_lists_.clear();
        for (Row &row : rows_) row.positions = nullptr;
    }
    for (size_t i = 0; i < rows_.size(); i++) {
        if (rows_[i].positions) continue;
        const bool is_alike = i && rows_[i - 1].source == rows_[i].source;
        rows_[i].positions = is_alike ? rows_[i - 1].positions : joined_lists_.add(model_, *rows_[i].source);
    }
    if (is_anew) most_joined_ = 2 * joined_lists_.size();
}

void Steps::score_shortlists(LogitsReader &reader) {
    const uint8_t *states = workspace_.bytes(model_.output_register);
    const Kernels &kernels = *model_.kernels;
    const bool is_joined = kernels.rows_scored_together && num_rows() >= kernels.rows_scored_together;
    int64_t joined_stride = 0;
    if (is_joined) {
        join_lists();
        joined_stride = padded(joined_lists_.size(), LANES);
        joined_products_.resize(num_rows() * joined_stride);
        kernels.score(states, num_rows(), joined_lists_.rows(), model_.output_depth, nullptr, joined_lists_.size(),
                      joined_products_.data(), joined_stride, workspace_.prepared());
    }
    for (int64_t first = 0, end; first < num_rows(); first = end) {
        const Source &source = *rows_[first].source;
        end = first;
        while (end < num_rows() && rows_[end].source == &source) end++;
        const int64_t stride = padded(source.num_listed, LANES);
        products_.resize((end - first) * stride);
        if (is_joined) {
            for (int64_t row = first; row < end; row++) {
                const int32_t *joined = joined_products_.data() + row * joined_stride, *positions = rows_[row].positions->data();
                int32_t *products = products_.data() + (row - first) * stride;
                for (int64_t i = 0; i < stride; i++) products[i] = joined[positions[i]];
            }
        } else {
            kernels.score(states + first * model_.output_depth, end - first, model_.output_rows,
                          model_.output_depth, source.ids.data(), source.num_listed, products_.data(), stride,
                          workspace_.prepared());
        }
        for (int64_t row = first; row < end; row++) {
            int32_t *products = products_.data() + (row - first) * stride;
            float *values = reinterpret_cast<float *>(products);
            kernels.scale_scores(values, products, source.correction.data(), source.scale.data(),
                                 source.bias.data(), stride);
            const Logits logits{values, source.num_listed, source.ids.data(),
                                kernels.log_sum_exp(values, source.num_listed)};
            for (int32_t position : source.suppressed_positions) values[position] = -__builtin_inff();
            reader.read(row, logits);
        }
    }
}

void Steps::score_all(LogitsReader &reader) {
    const uint8_t *states = workspace_.bytes(model_.output_register);
    const Kernels &kernels = *model_.kernels;
    const int64_t stride = padded(model_.num_outputs, LANES);
    products_.resize(num_rows() * stride);
    for (int64_t first = 0; first < model_.num_outputs; first += TOKENS_AT_ONCE)
        kernels.score(states, num_rows(), model_.output_rows + first * model_.output_depth, model_.output_depth,
                      nullptr, std::min(TOKENS_AT_ONCE, model_.num_outputs - first), products_.data() + first,
                      stride, workspace_.prepared());
    for (int64_t row = 0; row < num_rows(); row++) {
        int32_t *products = products_.data() + row * stride;
        float *values = reinterpret_cast<float *>(products);
        kernels.scale_scores(values, products, model_.output_correction, model_.output_scale, model_.output_bias,
                             stride);
        const Logits logits{values, model_.num_outputs, nullptr, kernels.log_sum_exp(values, model_.num_outputs)};
        for (int32_t token : model_.suppressed) values[token] = -__builtin_inff();
        reader.read(row, logits);
    }
}

void find_best(const Kernels &kernels, const Logits &logits, int64_t num_best, float *logprobs, int64_t *ids) {
    int64_t found = std::min(num_best, logits.count);
    if (num_best <= MAX_INSERTED) {
        found = kernels.find_best(logits.values, logits.count, num_best, logprobs, ids);
    } else {
        const auto value = [&logits](int32_t position) { // NaN has no order
            return std::isnan(logits.values[position]) ? -__builtin_inff() : logits.values[position];
        };
        std::vector<int32_t> positions(logits.count);
        std::iota(positions.begin(), positions.end(), 0);
        std::partial_sort(positions.begin(), positions.begin() + found, positions.end(), [value](int32_t a, int32_t b) {
            return value(a) > value(b) || (value(a) == value(b) && a < b);
        });
        for (int64_t i = 0; i < found; i++) {
            logprobs[i] = logits.values[positions[i]];
            ids[i] = positions[i];
        }
    }
    for (int64_t i = 0; i < found; i++) {
        logprobs[i] -= logits.normaliser;
        ids[i] = logits.id(ids[i]);
    }
    for (int64_t i = found; i < num_best; i++) {
        logprobs[i] = -__builtin_inff();
        ids[i] = logits.id(0);
    }
}

} // namespace dragoman
