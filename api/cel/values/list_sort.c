/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which equal keys come out of sortBy is visible, so the algorithm has to be the
 * reference's: pattern-defeating quicksort (Orson Peters) with the choices of Go's sort.Slice.
 */
#include "api/cel/values/list.h"

#define INSERTION_MAX 12 /* shorter runs are sorted by insertion */
#define NINTHER_MIN   50 /* from here the pivot is a median of medians, and shifts may pay */
#define SHIFTS_MAX    5
#define MEDIAN_SWAPS  12 /* of a range that is sorted the wrong way round */

struct sorter {
    const struct ek_cel_val *keys;
    uint32_t *order;
    bool mixed; /* two kinds of keys were met */
};

/* Places are signed: the algorithm steps below its range's start. */
static bool less(struct sorter *s, int64_t i, int64_t j)
{
    const struct ek_cel_val *a = &s->keys[s->order[i]], *b = &s->keys[s->order[j]];

    if (a->kind != s->keys[0].kind || b->kind != s->keys[0].kind) {
        s->mixed = true;
        return false;
    }
    return ek_cel_order(a, b) == -1;
}

static void swap(struct sorter *s, int64_t i, int64_t j)
{
    uint32_t keep = s->order[i];
    s->order[i] = s->order[j];
    s->order[j] = keep;
}

/* Moves the element at i down until its lower neighbour is not greater. */
static void sink(struct sorter *s, int64_t i, int64_t lowest)
{
    for (; i > lowest && less(s, i, i - 1); i--)
        swap(s, i, i - 1);
}

static void insertion_sort(struct sorter *s, int64_t a, int64_t b)
{
    for (int64_t i = a + 1; i < b; i++)
        sink(s, i, a);
}

static void sift_down(struct sorter *s, int64_t first, int64_t root, int64_t n)
{
    for (int64_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && less(s, first + child, first + child + 1))
            child++;
        if (!less(s, first + root, first + child))
            return;
        swap(s, first + root, first + child);
    }
}

static void heap_sort(struct sorter *s, int64_t a, int64_t b)
{
    int64_t n = b - a;

    for (int64_t i = (n - 1) / 2; i >= 0; i--)
        sift_down(s, a, i, n);
    for (int64_t i = n - 1; i >= 0; i--) {
        swap(s, a, a + i);
        sift_down(s, a, 0, i);
    }
}

static int64_t median(struct sorter *s, int64_t a, int64_t b, int64_t c, int *swaps)
{
    int64_t keep;

    if (less(s, b, a)) {
        (*swaps)++;
        keep = a, a = b, b = keep;
    }
    if (less(s, c, b)) {
        (*swaps)++;
        b = c; /* c itself is not looked at again */
    }
    if (less(s, b, a)) {
        (*swaps)++;
        b = a;
    }
    return b;
}

/* Chooses a pivot in [a, b), which has more than INSERTION_MAX elements; *ret_swaps is the order
 * found: 0 upwards as far as seen, MEDIAN_SWAPS downwards. */
static int64_t choose_pivot(struct sorter *s, int64_t a, int64_t b, int *ret_swaps)
{
    int64_t quarter = (b - a) / 4;
    int64_t i = a + quarter, j = i + quarter, k = j + quarter;

    *ret_swaps = 0;
    if (b - a >= NINTHER_MIN) {
        i = median(s, i - 1, i, i + 1, ret_swaps);
        j = median(s, j - 1, j, j + 1, ret_swaps);
        k = median(s, k - 1, k, k + 1, ret_swaps);
    }
    return median(s, i, j, k, ret_swaps);
}

static void reverse_range(struct sorter *s, int64_t a, int64_t b)
{
    for (b--; a < b; a++, b--)
        swap(s, a, b);
}

/* Tries to finish a range that is nearly sorted. */
static bool finish_sorted(struct sorter *s, int64_t a, int64_t b)
{
    int64_t i = a + 1;

    for (int shifts = 0; shifts < SHIFTS_MAX; shifts++) {
        while (i < b && !less(s, i, i - 1))
            i++;
        if (i == b)
            return true;
        if (b - a < NINTHER_MIN)
            return false;
        swap(s, i, i - 1);
        if (i - a >= 2)
            sink(s, i - 1, 0);
        for (int64_t j = i + 1; b - i >= 2 && j < b && less(s, j, j - 1); j++)
            swap(s, j, j - 1);
    }
    return false;
}

/* Swaps three elements about the middle with others, by a generator seeded with the length. */
static void break_patterns(struct sorter *s, int64_t a, int64_t b)
{
    uint64_t length = (uint64_t)(b - a), random = length, mask = 1;
    int64_t middle = a + (b - a) / 4 * 2;

    while (mask <= length)
        mask <<= 1;
    for (int64_t i = -1; i <= 1; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t other = random & (mask - 1);
        if (other >= length)
            other -= length;
        swap(s, middle + i, a + (int64_t)other);
    }
}

/* Moves elements below the pivot before it and all others behind it; returns its place, and
 * whether nothing had to be swapped for that. */
static int64_t partition(struct sorter *s, int64_t a, int64_t b, int64_t pivot, bool *ret_was)
{
    int64_t i = a + 1, j = b - 1;

    *ret_was = true;
    swap(s, a, pivot);
    for (;;) {
        while (i <= j && less(s, i, a))
            i++;
        while (i <= j && !less(s, j, a))
            j--;
        if (i > j)
            break;
        *ret_was = false;
        swap(s, i++, j--);
    }
    swap(s, j, a);
    return j;
}

/* Moves elements equal to the pivot, which is the least, to the front; returns where they end. */
static int64_t partition_equal(struct sorter *s, int64_t a, int64_t b, int64_t pivot)
{
    int64_t i = a + 1, j = b - 1;

    swap(s, a, pivot);
    for (;;) {
        while (i <= j && !less(s, a, i))
            i++;
        while (i <= j && less(s, a, j))
            j--;
        if (i > j)
            return i;
        swap(s, i++, j--);
    }
}

static int64_t pivot_of(struct sorter *s, int64_t a, int64_t b, bool *ret_sorted)
{
    int swaps;
    int64_t pivot = choose_pivot(s, a, b, &swaps);

    *ret_sorted = swaps == 0 || (swaps == MEDIAN_SWAPS && b - a >= NINTHER_MIN);
    if (*ret_sorted && swaps) {
        reverse_range(s, a, b);
        pivot = b - 1 - (pivot - a);
    }
    return pivot;
}

/* Recursion is into the shorter side, so it is at most log2(n) deep. */
static void quick_sort(struct sorter *s, int64_t a, int64_t b, int limit)
{
    bool balanced = true, partitioned = true;

    while (b - a > INSERTION_MAX) {
        int64_t length = b - a;
        bool sorted;
        if (limit == 0) {
            heap_sort(s, a, b);
            return;
        }
        if (!balanced) {
            break_patterns(s, a, b);
            limit--;
        }
        int64_t pivot = pivot_of(s, a, b, &sorted);
        if (balanced && partitioned && sorted && finish_sorted(s, a, b))
            return;
        if (a > 0 && !less(s, a - 1, pivot)) {
            a = partition_equal(s, a, b, pivot);
            continue;
        }
        int64_t middle = partition(s, a, b, pivot, &partitioned);
        int64_t shorter = middle - a < b - middle ? middle - a : b - middle;
        balanced = shorter >= length / 8;
        if (middle - a < b - middle) {
            quick_sort(s, a, middle, limit);
            a = middle + 1;
        } else {
            quick_sort(s, middle + 1, b, limit);
            b = middle;
        }
    }
    insertion_sort(s, a, b);
}

bool ek_cel_sort_order(const struct ek_cel_val *keys, uint32_t n, uint32_t *order)
{
    struct sorter s = {.keys = keys, .order = order};
    int limit = 0;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t rest = n; rest; rest >>= 1)
        limit++;
    quick_sort(&s, 0, n, limit);
    return !s.mixed;
}
