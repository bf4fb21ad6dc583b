/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cli/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "controller/cli/commands.h"

#define ANSWER_MAX ((size_t)64 << 20)

static int write_json(yyjson_val *root, struct ek_buf *out)
{
    size_t len = 0;
    char *json =
        yyjson_val_write_opts(root, YYJSON_WRITE_PRETTY_TWO_SPACES, &ek_json_alc, &len, NULL);

    if (!json)
        return EK_E_NOMEM;
    ek_buf_append(out, json, len);
    ek_buf_puts(out, "\n");
    ek_free(json);
    return out->failed;
}

int ek_print_render(const char *format, yyjson_val *root, bool color, ek_print_table_fn table,
                    void *ctx, struct ek_buf *out)
{
    if (!strcmp(format, "json"))
        return write_json(root, out);
    if (!strcmp(format, "yaml"))
        return ek_yaml_write(out, root, NULL);
    return table(ctx, root, color, out);
}

bool ek_print_wants_color(const char *when)
{
    if (strcmp(when, "auto") != 0)
        return !strcmp(when, "always");
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

void ek_print_stderr(const char *head, const char *fmt, ...)
{
    EK_AUTOFREE char *text = NULL;
    EK_AUTO(ek_buf) out;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    ek_buf_init(&out, ANSWER_MAX);
    ek_buf_puts(&out, head);
    ek_quote_lines(&out, ek_str_from(text ? text : "out of memory"), "  ");
    fprintf(stderr, "%s\n", ek_buf_str(&out));
}

int ek_print_bytes(const char *data, size_t len)
{
    bool written = fwrite(data, 1, len, stdout) == len;

    if (fflush(stdout) || !written) {
        perror("evenkeel: the answer could not be written");
        return EK_EXIT_FAILED;
    }
    return EK_EXIT_OK;
}

int ek_print(const struct ek_print_options *options, yyjson_val *root, ek_print_table_fn table,
             void *ctx)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, ANSWER_MAX);
    int rc = ek_print_render(options->output, root, ek_print_wants_color(options->color), table,
                             ctx, &out);
    if (rc) {
        fprintf(stderr, "evenkeel: the answer cannot be written: %s\n", ek_strerror(rc));
        return EK_EXIT_FAILED;
    }
    return ek_print_bytes(ek_buf_str(&out), out.len);
}
