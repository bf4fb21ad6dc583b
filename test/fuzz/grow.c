/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grows inputs that cost a fuzz target as much as possible: the fitness of an input is the number
 * of basic blocks that run for each byte. A target whose best input takes more than its bound
 * (bounds.txt) does work that grows faster than its input, and fails; the input is kept.
 *
 * Inputs of a few sizes evolve apart, from the corpus: members of objects and items of lists are
 * repeated under names of their own, values are nested, pieces are repeated, changed, and taken
 * from other inputs. The same seed gives the same inputs, unless the target draws random numbers.
 *
 * usage: <target>_grow CORPUS ROUNDS SEED BLOCKS_PER_BYTE ALLOWANCE FINDING
 *
 * ALLOWANCE is how many blocks an input of any size may take besides, for targets that bound their
 * work themselves. FINDING is the file that an input beyond the bound is written to.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "informers/client/file.h"
#include "informers/queue/backoff.h"
#include "test/fuzz/blocks.h"
#include "test/fuzz/fuzz.h"

#define SEEDS_MAX  64
#define POPULATION 12
#define SEED_MAX   ((size_t)4096) /* larger seeds are left out: growing is our work */

static const size_t sizes[] = {1024, 16 * 1024, 128 * 1024};

struct input {
    char *data;
    size_t len;
    double cost; /* blocks for each byte */
};

static struct {
    struct input seeds[SEEDS_MAX];
    size_t n_seeds;
    struct ek_rand random;
    double bound;
    uint64_t allowance;
    const char *finding;
    const struct input *running;
    size_t size; /* of the inputs that evolve */
} grow;

static size_t pick(size_t n)
{
    return n ? (size_t)(ek_rand_next(&grow.random) % n) : 0;
}

/* ---- What an input costs ---- */

static void on_exceeded(void)
{
    FILE *file = fopen(grow.finding, "wb");

    if (file) {
        fwrite(grow.running->data, 1, grow.running->len, file);
        fclose(file);
    }
    printf("an input of %zu bytes takes more than %.0f blocks a byte and %llu besides\n",
           grow.running->len, grow.bound, (unsigned long long)grow.allowance);
    fflush(stdout);
    _exit(1);
}

/* The bytes that are paid for: small inputs among large ones do not win by what each costs. */
static double paid(const struct input *input)
{
    return (double)(input->len > grow.size / 2 ? input->len : grow.size / 2);
}

static void measure(struct input *input)
{
    uint8_t *exact = ek_xalloc(input->len + !input->len);

    memcpy(exact, input->data, input->len);
    grow.running = input;
    blocks_begin(grow.allowance + (uint64_t)(grow.bound * paid(input)), on_exceeded);
    LLVMFuzzerTestOneInput(exact, input->len);
    uint64_t blocks = blocks_end();
    input->cost = (double)blocks / paid(input);
    ek_free(exact);
}

/* ---- Changing ---- */

/* The end of the value or member that begins at: the comma or the bracket behind it. */
static size_t end_of(const struct input *in, size_t at)
{
    int depth = 0;
    bool quoted = false;

    for (; at < in->len; at++) {
        char c = in->data[at];
        if (quoted && c == '\\')
            at++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[' || c == '('))
            depth++;
        else if (!quoted && (c == '}' || c == ']' || c == ')') && depth-- == 0)
            return at;
        else if (!quoted && c == ',' && depth == 0)
            return at;
    }
    return in->len;
}

/* The begin of some member or item; in->len when there is none. */
static size_t any_begin(const struct input *in)
{
    size_t from = pick(in->len);

    for (size_t i = 0; i < in->len; i++) {
        size_t at = (from + i) % in->len;
        if (strchr("{[(,", in->data[at]) && in->data[at])
            return at + 1;
    }
    return in->len;
}

/* Puts more in place of the len bytes at. */
static void replace(struct input *in, size_t at, size_t len, const char *more, size_t n)
{
    char *data = ek_xalloc(in->len - len + n + 1);

    memcpy(data, in->data, at);
    memcpy(data + at, more, n);
    memcpy(data + at + n, in->data + at + len, in->len - at - len);
    ek_free(in->data);
    in->data = data;
    in->len += n - len;
}

static size_t room(const struct input *in)
{
    return grow.size > in->len ? grow.size - in->len : 0;
}

/* Repeats a member or an item until there is no room, with a number in one of its strings. */
static void repeat_member(struct input *in)
{
    size_t at = any_begin(in), len = end_of(in, at) - at, n = 0, quote = len;
    char *more = ek_xalloc(room(in) + 1);
    bool numbered = pick(4) > 0, first = pick(2);

    if (at >= in->len || len == 0) {
        ek_free(more);
        return;
    }
    for (size_t i = 0; i < len && quote == len; i++)
        if (in->data[at + i] == '"' && (first || i == 0 || in->data[at + i - 1] == ':'))
            quote = i + 1;
    for (unsigned k = 0; n + len + 12 < room(in); k++) {
        size_t head = numbered && quote < len ? quote : 0;
        memcpy(more + n, in->data + at, head);
        n += head;
        if (head)
            n += (size_t)snprintf(more + n, 10, "%u", k);
        memcpy(more + n, in->data + at + head, len - head);
        n += len - head;
        more[n++] = ',';
    }
    replace(in, at, 0, more, n);
    ek_free(more);
}

/* Wraps a value into containers. */
static void nest(struct input *in)
{
    static const char *const opens[] = {"{\"a\":", "[", "(", "!", "-"};
    static const char *const ends[] = {"}", "]", ")", "", ""};
    size_t at = any_begin(in), way = pick(5), open = strlen(opens[way]), end = strlen(ends[way]);

    if (at >= in->len)
        return;
    size_t stop = end_of(in, at);
    if (way == 0)
        for (size_t i = at; i < stop; i++)
            if (in->data[i] == ':') {
                at = i + 1;
                break;
            }
    size_t most = room(in) / (open + end), n = pick(2) ? most : pick(most < 250 ? most : 250);
    char *more = ek_xalloc(n * open + (stop - at) + n * end + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(more + i * open, opens[way], open);
    memcpy(more + n * open, in->data + at, stop - at);
    for (size_t i = 0; i < n; i++)
        memcpy(more + n * open + (stop - at) + i * end, ends[way], end);
    replace(in, at, stop - at, more, n * (open + end) + stop - at);
    ek_free(more);
}

/* Repeats a piece until there is no room, or a few times. */
static void repeat_piece(struct input *in)
{
    size_t at = pick(in->len), len = 1 + pick(pick(2) ? 4 : 64), most;

    len = at + len > in->len ? in->len - at : len;
    if (len == 0)
        return;
    most = room(in) / len;
    size_t n = pick(2) ? most : pick(most < 16 ? most : 16);
    char *more = ek_xalloc(n * len + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(more + i * len, in->data + at, len);
    replace(in, at, 0, more, n * len);
    ek_free(more);
}

static void change_byte(struct input *in)
{
    static const char bytes[] = "0123456789abz\"\\{}[]():,.*/+-'%\n \x80\xff";

    if (in->len > 0)
        in->data[pick(in->len)] = bytes[pick(sizeof bytes)];
}

static void take_piece(struct input *in)
{
    const struct input *other = &grow.seeds[pick(grow.n_seeds)];
    size_t from = pick(other->len), len = pick(other->len - from + 1);

    if (len > 0 && len <= room(in))
        replace(in, pick(in->len + 1), 0, other->data + from, len);
}

static void drop_piece(struct input *in)
{
    size_t at = pick(in->len), len = pick(in->len - at < 256 ? in->len - at : 256);

    replace(in, at, len, "", 0);
}

static void change(struct input *in)
{
    static void (*const ways[])(struct input * in) = {
        repeat_member, repeat_member, nest, repeat_piece, change_byte, take_piece, drop_piece};

    for (size_t i = 1 + pick(3); i > 0; i--)
        ways[pick(EK_ARRAY_SIZE(ways))](in);
}

/* ---- Evolving ---- */

static struct input copy(const struct input *in)
{
    struct input out = {.data = ek_xalloc(in->len + 1), .len = in->len};

    memcpy(out.data, in->data, in->len);
    return out;
}

static double evolve(size_t size, unsigned long rounds)
{
    struct input population[POPULATION];
    double best = 0;

    grow.size = size;
    for (size_t i = 0; i < POPULATION; i++) {
        population[i] = copy(&grow.seeds[i % grow.n_seeds]);
        measure(&population[i]);
    }
    for (unsigned long round = 0; round < rounds; round++) {
        size_t a = pick(POPULATION), b = pick(POPULATION);
        struct input *parent = &population[population[a].cost > population[b].cost ? a : b];
        struct input child =
            copy(pick(4) && parent->len < size ? parent : &grow.seeds[pick(grow.n_seeds)]);
        change(&child);
        measure(&child);
        struct input *worst = population;
        for (size_t i = 1; i < POPULATION; i++)
            worst = population[i].cost < worst->cost ? &population[i] : worst;
        struct input loser = child.cost > worst->cost ? *worst : child;
        if (child.cost > worst->cost)
            *worst = child;
        ek_free(loser.data);
    }
    for (size_t i = 0; i < POPULATION; i++) {
        best = population[i].cost > best ? population[i].cost : best;
        ek_free(population[i].data);
    }
    return best;
}

static int compare_names(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* Seeds in the order of their names, so that a run can be repeated. */
static void read_corpus(const char *folder)
{
    char *names[4 * SEEDS_MAX];
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    while (dir && (entry = readdir(dir)) != NULL && n < EK_ARRAY_SIZE(names))
        if (entry->d_name[0] != '.')
            names[n++] = ek_xasprintf("%s/%s", folder, entry->d_name);
    if (dir)
        closedir(dir);
    qsort(names, n, sizeof names[0], compare_names);
    for (size_t i = 0; i < n; i++) {
        struct input *seed = &grow.seeds[grow.n_seeds];
        if (grow.n_seeds < SEEDS_MAX &&
            !ek_file_read(names[i], SEED_MAX, &seed->data, &seed->len, NULL) && seed->len > 0)
            grow.n_seeds++;
        ek_free(names[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: %s CORPUS ROUNDS SEED BLOCKS_PER_BYTE ALLOWANCE FINDING\n",
                argv[0]);
        return 2;
    }
    read_corpus(argv[1]);
    if (grow.n_seeds == 0) {
        fprintf(stderr, "%s: no seeds in \"%s\"\n", argv[0], argv[1]);
        return 2;
    }
    grow.random.state = strtoull(argv[3], NULL, 10);
    grow.bound = strtod(argv[4], NULL);
    grow.allowance = strtoull(argv[5], NULL, 10);
    grow.finding = argv[6];
    printf("blocks a byte:");
    for (size_t i = 0; i < EK_ARRAY_SIZE(sizes); i++) {
        printf(" %.1f of %zu bytes%s", evolve(sizes[i], strtoul(argv[2], NULL, 10)), sizes[i],
               i + 1 < EK_ARRAY_SIZE(sizes) ? "," : "\n");
        fflush(stdout);
    }
    return 0;
}
