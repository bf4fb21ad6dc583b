/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections end when too many octets wait in the proxy. */
#include "controller/proxy/room.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

#define NOW 100000

static const char clients[] = "abcdefgh"; /* a client is a letter */

struct connection {
    char name, client;
    size_t octets;
    int64_t still_ms;
};

static const struct {
    const char *name;
    struct connection connections[6];
    size_t excess;
    const char *chosen; /* names, in the order of the alphabet */
} rows[] = {
    {"nothing is too much", {{'1', 'a', 10, 5000}}, 0, ""},
    {"no connection", {{0}}, 10, ""},
    {"the one that stands still the longest",
     {{'1', 'a', 10, 2000}, {'2', 'a', 10, 3000}, {'3', 'a', 10, 2500}},
     10,
     "2"},
    {"as many as are needed",
     {{'1', 'a', 10, 2000}, {'2', 'a', 10, 3000}, {'3', 'a', 10, 2500}},
     11,
     "23"},
    {"the client with the most octets, not the one that is the slowest",
     {{'1', 'a', 30, 50000}, {'2', 'b', 20, 2000}, {'3', 'b', 20, 1500}},
     5,
     "2"},
    {"until another client has the most",
     {{'1', 'a', 30, 50000}, {'2', 'b', 20, 2000}, {'3', 'b', 20, 1500}},
     25,
     "12"},
    {"who reads goes after who does not",
     {{'1', 'a', 90, 999}, {'2', 'a', 10, 0}, {'3', 'b', 20, 1000}},
     5,
     "3"},
    {"who reads goes where the others are not enough",
     {{'1', 'a', 90, 999}, {'2', 'a', 10, 0}, {'3', 'b', 20, 1000}},
     25,
     "13"},
    {"all", {{'1', 'a', 1, 0}, {'2', 'b', 1, 0}, {'3', 'c', 1, 9000}}, 1000, "123"},
    {"of equal ones the largest",
     {{'1', 'a', 10, 2000}, {'2', 'a', 30, 2000}, {'3', 'a', 20, 2000}},
     30,
     "2"},
};

START_TEST(chooses)
{
    struct ek_room_candidate table[6];
    char chosen[8] = "";
    size_t n = 0, octets = 0;

    for (const struct connection *c = rows[_i].connections; n < 6 && c->name; c++)
        table[n++] = (struct ek_room_candidate){.owner = (void *)(uintptr_t)c,
                                                .client = strchr(clients, c->client),
                                                .octets = c->octets,
                                                .moved_ms = NOW - c->still_ms};
    size_t got = ek_room_choose(table, n, rows[_i].excess, NOW);
    for (char name = '1'; name <= '6'; name++)
        for (size_t i = 0; i < n; i++) {
            const struct connection *c = table[i].owner;
            if (!table[i].chosen || c->name != name)
                continue;
            chosen[strlen(chosen)] = name;
            octets += c->octets;
        }
    ck_assert_msg(!strcmp(chosen, rows[_i].chosen), "%s: %s", rows[_i].name, chosen);
    ck_assert_uint_eq(got, octets);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("room");

    tcase_add_loop_test(tc, chooses, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("room", tc);
}
