#include "model.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace dragoman {

namespace {

constexpr size_t ALIGNMENT = 64;
constexpr size_t HUGE_PAGE = size_t{2} << 20;
constexpr int64_t MAX_ENCODED_ROWS = 256; // together: their vectors stay in a core's cache
constexpr int64_t MAX_UINT16_VOCAB = 1 << 16;

size_t aligned(size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

char *allocate(size_t size) {
    void *memory = nullptr;
    if (posix_memalign(&memory, ALIGNMENT, aligned(std::max<size_t>(size, 1)))) throw std::bad_alloc();
    return static_cast<char *>(memory);
}

} // namespace

std::unique_ptr<int8_t, void (*)(void *)> allocate_bytes(size_t size) {
    int8_t *memory = reinterpret_cast<int8_t *>(allocate(size));
    std::memset(memory, 0, size);
    return {memory, std::free};
}

Model::~Model() {
    for (std::atomic<Workspace *> &workspace : idle) delete workspace.load();
}

WeightMemory::~WeightMemory() {
    for (const Chunk &chunk : chunks_) munmap(chunk.start, chunk.size);
}

void WeightMemory::map(int file, size_t size) {
    void *start = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    chunks_.push_back({static_cast<char *>(start), size, 0});
    is_mapped_ = true;
}

void *WeightMemory::take_bytes(size_t size) {
    size = aligned(size);
    if (chunks_.empty() || chunks_.back().used + size > chunks_.back().size) {
        if (is_mapped_) throw std::out_of_range("the file ends before the weights do");
        const size_t length = (std::max(size, HUGE_PAGE) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        void *start = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        madvise(start, length, MADV_HUGEPAGE);
#endif
        chunks_.push_back({static_cast<char *>(start), length, 0});
    }
    Chunk &chunk = chunks_.back();
    chunk.used += size;
    return chunk.start + chunk.used - size;
}

void Workspace::fit(const Program &program, int64_t num_rows, int64_t num_scratch_floats) {
    if (num_rows <= num_rows_ && num_scratch_floats <= num_scratch_) return;
    const int64_t most_rows = num_rows > num_rows_ ? std::max(num_rows, num_rows_ + num_rows_ / 2) : num_rows_;
    const int64_t num_scratch = std::max(num_scratch_floats, num_scratch_);
    size_t size = aligned(num_scratch * sizeof(float)) + aligned(most_rows * program.max_depth * sizeof(int16_t));
    // Kernels load 16 floats at once, also where fewer are left at the end of the last row.
    auto float_bytes = [most_rows](int32_t width) { return most_rows * width * sizeof(float) + LANES * sizeof(float); };
    for (int32_t width : program.float_widths) size += aligned(float_bytes(width));
    for (int32_t width : program.byte_widths) size += aligned(most_rows * width);
    memory_.reset();
    num_rows_ = num_scratch_ = 0; // if there is no memory now
    memory_ = {allocate(size), std::free};
    char *next = memory_.get();
    std::memset(next, 0, size);
    auto take = [&next](size_t bytes) {
        char *start = next;
        next += aligned(bytes);
        return start;
    };
    floats_.clear();
    bytes_.clear();
    scratch_ = reinterpret_cast<float *>(take(num_scratch * sizeof(float)));
    prepared_ = reinterpret_cast<int16_t *>(take(most_rows * program.max_depth * sizeof(int16_t)));
    for (int32_t width : program.float_widths)
        floats_.push_back(reinterpret_cast<float *>(take(float_bytes(width))));
    for (int32_t width : program.byte_widths) bytes_.push_back(reinterpret_cast<uint8_t *>(take(most_rows * width)));
    num_rows_ = most_rows;
    num_scratch_ = num_scratch;
}

void release(Source *source) {
    if (source->references.fetch_sub(1) == 1) delete source;
}

void run_plain(const Model &model, const Program &program, const Instruction &instruction, Workspace &workspace,
               int64_t num_rows) {
    const Kernels &kernels = *model.kernels;
    const int64_t width = program.float_widths.empty() ? 0 : padded(model.sizes.width, WIDTH_MULTIPLE);
    switch (instruction.kind) {
    case Instruction::NORM: {
        const Norm &norm = model.norms[instruction.index];
        const float *source = workspace.floats(instruction.source);
        float *target = workspace.floats(instruction.target);
        for (int64_t row = 0; row < num_rows; row++)
            kernels.norm(target + row * width, source + row * width, norm.gain, norm.bias, model.sizes.width, width,
                         norm.epsilon);
        break;
    }
    case Instruction::QUANTISE:
        kernels.quantise(workspace.bytes(instruction.target), workspace.floats(instruction.source),
                         num_rows * program.float_widths[instruction.source], instruction.step, instruction.zero);
        break;
    case Instruction::LINEAR:
    case Instruction::LINEAR_ADD:
    case Instruction::LINEAR_QUANTISE: {
        const Linear &linear = model.linears[instruction.index];
        Epilogue epilogue{};
        epilogue.kind = instruction.kind == Instruction::LINEAR       ? Epilogue::STORE
                        : instruction.kind == Instruction::LINEAR_ADD ? Epilogue::ADD
                                                                      : Epilogue::QUANTISE;
        if (epilogue.kind == Epilogue::QUANTISE)
            epilogue.quantised = workspace.bytes(instruction.target);
        else
            epilogue.out = workspace.floats(instruction.target);
        if (epilogue.kind == Epilogue::ADD) epilogue.added = workspace.floats(instruction.other);
        epilogue.out_stride = epilogue.quantised_stride = linear.width;
        epilogue.activation = static_cast<Epilogue::Activation>(instruction.activation);
        epilogue.step = instruction.step;
        epilogue.zero = instruction.zero;
        epilogue.alpha = instruction.alpha;
        kernels.multiply(workspace.bytes(instruction.source), num_rows, linear, epilogue, workspace.prepared());
        break;
    }
    case Instruction::ADD:
        kernels.add(workspace.floats(instruction.target), workspace.floats(instruction.source),
                    workspace.floats(instruction.other), num_rows * width);
        break;
    case Instruction::ACTIVATE: {
        Epilogue epilogue{};
        epilogue.activation = static_cast<Epilogue::Activation>(instruction.activation);
        epilogue.alpha = instruction.alpha;
        const int64_t count = num_rows * program.float_widths[instruction.source];
        float *target = workspace.floats(instruction.target);
        if (instruction.target != instruction.source)
            std::memcpy(target, workspace.floats(instruction.source), count * sizeof(float));
        kernels.activate(target, count, epilogue);
        break;
    }
    default:
        throw std::logic_error("an instruction that this program cannot have");
    }
}

void embed_row(const Model &model, const Program &program, float *out, int64_t id, int64_t position) {
    const int64_t width = padded(model.sizes.width, WIDTH_MULTIPLE);
    if (id < 0 || id >= program.num_tokens) throw std::out_of_range("an id is outside the vocabulary");
    if (position >= program.num_positions) throw std::out_of_range("a row is longer than the table of positions");
    model.kernels->embed(out, program.embedding + id * width, program.embedding_step[id],
                         program.positions + position * width, width);
}

namespace {

// Sources encoded together, without padding: their tokens are rows one after another.
class EncoderRun {
  public:
    EncoderRun(Model &model, Workspace &workspace) : model_(model), workspace_(workspace) {}

    void run(const int64_t *ids, Source *const *sources, int64_t num_sources) {
        const Program &program = model_.encoder;
        int64_t num_rows = 0, longest = 0;
        for (int64_t i = 0; i < num_sources; i++) {
            num_rows += sources[i]->length;
            longest = std::max(longest, sources[i]->length);
        }
        workspace_.fit(program, num_rows, source_scratch(longest, model_.sizes.head_size));
        for (const Instruction &instruction : program.instructions) {
            switch (instruction.kind) {
            case Instruction::EMBED:
                embed(instruction, ids, sources, num_sources);
                break;
            case Instruction::SELF_ATTENTION:
                attend(instruction, sources, num_sources);
                break;
            case Instruction::WRITE_CROSS:
                write_cross(instruction, sources, num_sources);
                break;
            default:
                run_plain(model_, program, instruction, workspace_, num_rows);
            }
        }
    }

  private:
    void embed(const Instruction &instruction, const int64_t *ids, Source *const *sources, int64_t num_sources) {
        const int64_t width = padded(model_.sizes.width, WIDTH_MULTIPLE);
        float *out = workspace_.floats(instruction.target);
        for (int64_t i = 0; i < num_sources; i++)
            for (int64_t t = 0; t < sources[i]->length; t++, out += width)
                embed_row(model_, model_.encoder, out, *ids++, t);
    }

    void attend(const Instruction &instruction, Source *const *sources, int64_t num_sources) {
        const int64_t stride = model_.encoder.float_widths[instruction.source];
        const int64_t out_stride = model_.encoder.float_widths[instruction.target];
        const float *qkv = workspace_.floats(instruction.source);
        float *out = workspace_.floats(instruction.target);
        for (int64_t i = 0; i < num_sources; i++) {
            const int64_t length = sources[i]->length;
            model_.kernels->attend_source(qkv, stride, out, out_stride, length, model_.sizes.heads,
                                          model_.sizes.head_size, workspace_.scratch());
            qkv += length * stride;
            out += length * out_stride;
        }
    }

    void write_cross(const Instruction &instruction, Source *const *sources, int64_t num_sources) {
        const int64_t stride = model_.encoder.float_widths[instruction.source], width = model_.sizes.width;
        const float *row = workspace_.floats(instruction.source);
        for (int64_t i = 0; i < num_sources; i++) {
            Source &source = *sources[i];
            const int64_t num_blocks = padded(source.length, BLOCK_POSITIONS) / BLOCK_POSITIONS;
            for (int64_t t = 0; t < source.length; t++, row += stride) {
                const int64_t block = instruction.index * num_blocks + t / BLOCK_POSITIONS;
                model_.kernels->write_cache(const_cast<int8_t *>(source.blocks[block]), row, row + width,
                                            t % BLOCK_POSITIONS, model_.sizes.heads, model_.sizes.head_size);
            }
        }
    }

    Model &model_;
    Workspace &workspace_;
};

std::unique_ptr<Workspace> take_workspace(Model &model) {
    for (std::atomic<Workspace *> &idle : model.idle)
        if (idle.load())
            if (Workspace *workspace = idle.exchange(nullptr)) return std::unique_ptr<Workspace>(workspace);
    return std::make_unique<Workspace>();
}

void give_back(Model &model, std::unique_ptr<Workspace> workspace) {
    for (std::atomic<Workspace *> &idle : model.idle) {
        Workspace *none = nullptr;
        if (idle.compare_exchange_strong(none, workspace.get())) {
            workspace.release();
            return;
        }
    }
}

std::unique_ptr<Source> new_source(const Model &model, int64_t length) {
    if (length < 1) throw std::out_of_range("a source is empty");
    auto source = std::make_unique<Source>();
    source->length = length;
    const int64_t num_blocks = model.sizes.decoder_layers * padded(length, BLOCK_POSITIONS) / BLOCK_POSITIONS;
    source->keys_values = allocate_bytes(num_blocks * model.layer_bytes());
    for (int64_t block = 0; block < num_blocks; block++)
        source->blocks.push_back(source->keys_values.get() + block * model.layer_bytes());
    return source;
}

template <class Id> void mark(std::vector<uint64_t> &bits, const Id *tokens, const Id *end) {
    for (; tokens != end; tokens++) bits[*tokens / 64] |= uint64_t{1} << *tokens % 64;
}

// Returns a bit for each target token that a source can need.
std::vector<uint64_t> mark_candidates(const Shortlist &shortlist, const int64_t *ids, int64_t num_ids) {
    std::vector<uint64_t> bits = shortlist.always;
    const int64_t num_pieces = static_cast<int64_t>(shortlist.offsets.size()) - 1;
    const uint16_t *listed = shortlist.listed.data();
    const uint32_t *listed_in_large = shortlist.listed_in_large.data();
    for (int64_t i = 0; i < num_ids; i++) {
        if (ids[i] < 0 || ids[i] >= num_pieces) throw std::out_of_range("an id is outside the shortlist's vocabulary");
        const uint32_t begin = shortlist.offsets[ids[i]], end = shortlist.offsets[ids[i] + 1];
        if (shortlist.listed_in_large.empty())
            mark(bits, listed + begin, listed + end);
        else
            mark(bits, listed_in_large + begin, listed_in_large + end);
    }
    return bits;
}

void select_candidates(const Model &model, Source &source, const int64_t *ids) {
    const std::vector<uint64_t> bits = mark_candidates(model.shortlist, ids, source.length);
    for (uint64_t word : bits) source.num_listed += __builtin_popcountll(word);
    const int64_t space = padded(source.num_listed, LANES);
    source.ids.assign(space, 0);
    source.correction.assign(space, 0);
    source.scale.assign(space, 0.0f);
    source.bias.assign(space, -__builtin_inff());
    int64_t index = 0;
    for (size_t i = 0; i < bits.size(); i++) {
        for (uint64_t left = bits[i]; left; left &= left - 1, index++) {
            const int64_t token = i * 64 + __builtin_ctzll(left);
            source.ids[index] = static_cast<int32_t>(token);
            source.correction[index] = model.output_correction[token];
            source.scale[index] = model.output_scale[token];
            source.bias[index] = model.output_bias[token];
        }
    }
    const auto end = source.ids.begin() + source.num_listed;
    for (int32_t token : model.suppressed) {
        const auto found = std::lower_bound(source.ids.begin(), end, token);
        if (found != end && *found == token)
            source.suppressed_positions.push_back(static_cast<int32_t>(found - source.ids.begin()));
    }
}

} // namespace

void encode(Model &model, const int64_t *ids, const int32_t *lengths, int64_t num_sources, Source **sources) {
    std::vector<std::unique_ptr<Source>> made;
    const int64_t *next = ids;
    for (int64_t i = 0; i < num_sources; i++) {
        made.push_back(new_source(model, lengths[i]));
        if (!model.shortlist.offsets.empty()) select_candidates(model, *made.back(), next);
        next += lengths[i];
    }
    for (int64_t i = 0; i < num_sources; i++) sources[i] = made[i].get();
    std::unique_ptr<Workspace> workspace = take_workspace(model);
    EncoderRun run(model, *workspace);
    for (int64_t first = 0; first < num_sources;) {
        int64_t end = first, num_rows = 0;
        while (end < num_sources && (end == first || num_rows + lengths[end] <= MAX_ENCODED_ROWS))
            num_rows += lengths[end++];
        run.run(ids, sources + first, end - first);
        ids += num_rows;
        first = end;
    }
    give_back(model, std::move(workspace));
    for (auto &source : made) source.release();
}

void add_shortlist(Model &model, const uint32_t *always, int64_t num_always, const uint32_t *offsets,
                   int64_t num_pieces, const uint32_t *listed) {
    const uint32_t *end = listed + offsets[num_pieces];
    const auto is_outside = [&model](uint32_t token) { return token >= model.num_outputs; };
    if (std::any_of(always, always + num_always, is_outside) || std::any_of(listed, end, is_outside))
        throw std::out_of_range("an id is outside the vocabulary");
    Shortlist &shortlist = model.shortlist;
    shortlist.always.assign(padded(model.num_outputs, 64) / 64, 0);
    mark(shortlist.always, always, always + num_always);
    shortlist.offsets.assign(offsets, offsets + num_pieces + 1);
    if (model.num_outputs > MAX_UINT16_VOCAB)
        shortlist.listed_in_large.assign(listed, end);
    else
        shortlist.listed.assign(listed, end);
}

} // namespace dragoman
