/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/proxy/identity_names.h"
#include "test/support/suite.h"

#define U "requestheader-username-headers"
#define I "requestheader-uid-headers"
#define G "requestheader-group-headers"
#define E "requestheader-extra-headers-prefix"

/* Members of data with ' for the quotes of JSON and ` for those of the text within. */
static const struct {
    const char *label, *data;
    const char *names, *prefixes; /* joined by blanks; NULL: refused, and names is in the error */
    bool takes_user;
} rows[] = {
    {"the flags of kubeadm",
     "'" U "':'[`X-Remote-User`]','" G "':'[`X-Remote-Group`]','" E "':'[`X-Remote-Extra-`]'",
     "X-Remote-User X-Remote-Group", "X-Remote-Extra-", true},
    {"UIDs, and several of each",
     "'" U "':'[`A`,`x-remote-USER`]','" I "':'[`B`]','" G "':'[`C`,`D`]','" E "':'[`E-`,`F`]'",
     "A x-remote-USER B C D", "E- F", true},
    {"blanks around a name, which API servers trim", "'" U "':'[` X-Remote-User `,`A\\\\t`]'",
     "X-Remote-User A", "", true},
    {"no front-proxy", "'client-ca-file':'x'", "", "", false},
    {"the user is taken from another header", "'" U "':'[`A`]','" G "':'[`X-Remote-User`]'",
     "A X-Remote-User", "", false},
    {"no user header", "'" U "':'[]'", "", "", false},
    {"no list", "'" G "':'X-Remote-Group'", G, NULL, false},
    {"a list of others", "'" G "':'[1]'", G, NULL, false},
    {"an object", "'" U "':'{}'", U, NULL, false},
    {"an empty name", "'" I "':'[``]'", I, NULL, false},
    {"an empty prefix", "'" E "':'[` `]'", E, NULL, false},
    {"no name", "'" E "':'[`a b`]'", E, NULL, false},
};

static void join(char *const *list, size_t n, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? " " : "", list[i]);
}

static struct ek_obj *object_of(const char *data)
{
    char json[1024];
    size_t n = 0;
    struct ek_obj *object = NULL;

    memcpy(json, "{\"data\":{", 9);
    n = 9;
    for (; *data; data++) {
        if (*data == '`')
            json[n++] = '\\';
        json[n++] = (char)(*data == '\'' || *data == '`' ? '"' : *data);
    }
    memcpy(json + n, "}}", 2);
    ck_assert_int_eq(ek_obj_parse(json, n + 2, &object, NULL), 0);
    return object;
}

START_TEST(reads)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = object_of(rows[_i].data);
    struct ek_err err = {0};
    char names[256], prefixes[256];
    struct ek_identity_names *read = ek_identity_names_read(object, &err);

    if (!rows[_i].prefixes) {
        ck_assert_ptr_null(read);
        ck_assert_int_eq(err.code, EK_E_PARSE);
        ck_assert_msg(!strncmp(err.message, rows[_i].names, strlen(rows[_i].names)), "%s: %s",
                      rows[_i].label, err.message);
        return;
    }
    ck_assert_msg(read != NULL, "%s: %s", rows[_i].label, err.message);
    join(read->names, read->n_names, names, sizeof names);
    join(read->prefixes, read->n_prefixes, prefixes, sizeof prefixes);
    ck_assert_str_eq(names, rows[_i].names);
    ck_assert_str_eq(prefixes, rows[_i].prefixes);
    ck_assert_int_eq(read->takes_user, rows[_i].takes_user);
    struct ek_identity_names *again = ek_identity_names_ref(read);
    ek_identity_names_unref(read);
    for (size_t i = 0; i < again->n_names; i++)
        ck_assert(ek_identity_names_have(again, again->names[i]));
    ck_assert(!ek_identity_names_have(again, "Accept"));
    ek_identity_names_unref(again);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("identity_names");

    tcase_add_loop_test(tcase, reads, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("identity_names", tcase);
}
