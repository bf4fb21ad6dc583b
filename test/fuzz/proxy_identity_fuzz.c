/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a client on their way to an API server: "Name: value" in each line, a first octet
 * for mode and user. Whatever they are, no header of the client that carries an identity arrives,
 * the proxy's own do, and the framing is of one kind.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "reconcilers/proxy/identity.h"
#include "test/fuzz/fuzz.h"

#define FIELDS_MAX 64

static const char *const names[] = {"X-Auth-User"};
static const char *const groups[] = {"system:masters"};

static size_t split(char *text, struct ek_identity_pair *ret)
{
    size_t n = 0;

    for (char *line = text; line && n < FIELDS_MAX;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *colon = strchr(line, ':');
        if (colon) {
            *colon = '\0';
            ret[n++] = (struct ek_identity_pair){line, colon + 1};
        }
        line = next;
    }
    return n;
}

struct seen {
    size_t hosts, lengths, codings, upgrades, connections, users, impersonated, markers, tokens;
};

static void count(const char *line, size_t len, struct seen *seen)
{
    const struct {
        const char *name;
        size_t *n;
    } counted[] = {{"Host:", &seen->hosts},
                   {"Content-Length:", &seen->lengths},
                   {"Transfer-Encoding:", &seen->codings},
                   {"Upgrade:", &seen->upgrades},
                   {"Connection:", &seen->connections},
                   {"X-Remote-", &seen->users},
                   {"X_Remote_", &seen->users},
                   {"X-Auth-User:", &seen->users},
                   {"X-Custom-", &seen->users},
                   {"Impersonate-", &seen->impersonated},
                   {"X-Kubernetes-Peer-Proxied:", &seen->markers},
                   {"Authorization:", &seen->tokens}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(counted); i++)
        if (len >= strlen(counted[i].name) &&
            !strncasecmp(line, counted[i].name, strlen(counted[i].name)))
            ++*counted[i].n;
}

static void check(const struct ek_identity_policy *policy, const struct ek_identity_result *ret,
                  const char *out)
{
    struct seen seen = {0};

    for (const char *s = out; *s;) {
        size_t len = strcspn(s, "\r\n");
        fuzz_require(len > 0 && s[len] == '\r' && s[len + 1] == '\n');
        count(s, len, &seen);
        s += len + 2;
    }
    fuzz_require(seen.hosts == 1 && seen.markers == 1 && seen.lengths + seen.codings <= 1);
    fuzz_require((seen.lengths == 1) == (ret->body == EK_IDENTITY_LENGTH));
    fuzz_require((seen.codings == 1) == (ret->body == EK_IDENTITY_CHUNKED));
    fuzz_require(seen.upgrades == (ret->upgrade != NULL) && seen.connections == seen.upgrades);
    fuzz_require(seen.tokens <= !ret->ours);
    fuzz_require(seen.users == (ret->ours && policy->mode == EK_IDENTITY_FRONT_PROXY ? 2 : 0));
    if (ret->ours && policy->mode == EK_IDENTITY_IMPERSONATE)
        fuzz_require(seen.impersonated == 2);
}

/* What the API servers take an identity from. */
static struct ek_identity_names *make_servers(void)
{
    static const char json[] =
        "{\"data\":{\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\","
        "\"requestheader-group-headers\":\"[\\\"X-Custom-Group\\\"]\","
        "\"requestheader-extra-headers-prefix\":\"[\\\"X-Custom-\\\"]\"}}";
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;

    fuzz_require(ek_obj_parse(json, sizeof json - 1, &object, NULL) == 0);
    return ek_identity_names_read(object, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ek_identity_user user = {
        .name = "jane", .uid = "", .groups = groups, .n_groups = 1};
    struct ek_identity_pair pairs[FIELDS_MAX];
    struct ek_identity_result ret;
    EK_AUTO(ek_buf) out = {0};
    static struct ek_identity_names *servers;

    if (size < 1)
        return 0;
    if (!servers)
        servers = make_servers();
    EK_AUTOFREE char *text = ek_xstrndup((const char *)data + 1, size - 1);
    const struct ek_identity_policy policy = {.mode = (enum ek_identity_mode)(data[0] % 3),
                                              .names = names,
                                              .n_names = 1,
                                              .servers = servers};
    const struct ek_identity_request request = {.version = data[0] & 8    ? 20
                                                           : data[0] & 16 ? 10
                                                                          : 11,
                                                .method = "POST",
                                                .authority = data[0] & 8 ? "api" : "",
                                                .ended = data[0] & 32,
                                                .headers = pairs,
                                                .n_headers = split(text, pairs),
                                                .user = data[0] & 4 ? &user : NULL,
                                                .unverified = (data[0] & 68) == 64,
                                                .host = "10.0.0.1:6443",
                                                .remote_ip = "192.0.2.1"};
    ek_buf_init(&out, 1 << 20);
    fuzz_require(ek_identity_forward(&policy, &request, &ret, &out) == out.failed);
    if (!ret.refusal.code && !out.failed)
        check(&policy, &ret, ek_buf_str(&out));
    return 0;
}
