/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as Markdown for a pull request, and as SARIF for a code scanner. */
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"
#include "controller/cli/sarif.h"
#include "controller/commands/plan-internal.h"

/* What the rules report. */
static const struct {
    const char *id, *text;
} rules[] = {
    {"api-removed", "The target does not serve the API version any more"},
    {"api-deprecated", "The API version is deprecated"},
    {"api-not-served", "The target does not serve the API version yet"},
    {"api-rollback", "The version before the upgrade does not serve the API version"},
    {"api-unknown", "No record of the kind"},
    {"field-unknown", "The target does not know the field yet"},
    {"field-gone", "The target does not know the field any more"},
    {"field-rollback", "The version before the upgrade does not know the field"},
    {"expression", "The target refuses the CEL expression"},
    {"expression-rollback", "The version before the upgrade refuses the CEL expression"},
    {"expression-broken", "No version compiles the CEL expression"},
    {"flag", "A component of the target does not start with the flag"},
    {"flag-rollback", "The version before the upgrade does not start with the flag"},
    {"beyond-data", "The data does not cover the version"},
    {"steps", "No order of steps was found"},
    {"not-enumerated", "The list of API servers is not known"},
    {"version-unknown", "The version of a component is not known"},
    {"version-assumed", "The emulation version of a component is not proven"},
    {"flags-unread", "The flags of a component cannot be read"},
    {"alpha-emulated", "Alpha features are on while an older version is emulated"},
    {"kind-unknown", "The kind is not known, and its objects are not checked"},
    {"not-planned", "The plan has no step for the component"},
    {"api-use", "An API version goes that clients may still use"},
    {"api-requested", "Clients requested an API version that goes"},
    {"api-called", "A client called an API version that is removed or deprecated"},
    {"api-written", "A client wrote objects with an API version that goes"},
    {"api-applied", "A manifest that was applied has an API version that goes"},
    {"audit-unread", "Lines of an audit log are no Event"},
    {"owner-version", "An owner reference names an API version that goes"},
    {"scale-target", "The target of an autoscaler names an API version that goes"},
    {"rbac-rule", "A rule names a resource that its group does not serve any more"},
    {"apiservice", "An APIService stands for a version that goes or becomes built-in"},
    {"conversion", "A conversion webhook cannot be called"},
    {"review-version", "A webhook reads only a version of reviews that goes"},
    {"rule-version", "A rule or a parameter names an API version that goes"},
    {"stored-version", "A stored version of a CustomResourceDefinition is not served"},
    {"objects-unread", "Objects of the cluster cannot be read"},
};

/* ---- Markdown ---- */

/* Text of a manifest is shown as it is: no character of it is markup, and what changes the
 * direction or cannot be seen becomes an escape. */
static void put_escaped(struct ek_buf *out, const char *text)
{
    char escaped[EK_QUOTE_ESCAPE_SIZE];
    size_t taken, n, len = strlen(text);

    for (const char *p = text, *end = text + len; p < end; p += taken) {
        taken = 1;
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            ek_buf_puts(out, " ");
        } else if ((unsigned char)*p < 0x80) {
            if (strchr("\\`*_[]<>|&#~!", *p))
                ek_buf_puts(out, "\\");
            ek_buf_append(out, p, 1);
        } else {
            n = ek_quote_escape((struct ek_str){p, (size_t)(end - p)}, escaped, &taken);
            ek_buf_puts(out, n ? "\\" : ""); /* the backslash of the escape is text */
            ek_buf_append(out, n ? escaped : p, n ? n : taken);
        }
    }
}

static void put_row(struct ek_buf *out, const char *const *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ek_buf_puts(out, "| ");
        put_escaped(out, cells[i]);
        ek_buf_puts(out, " ");
    }
    ek_buf_puts(out, "|\n");
}

static void put_headers(struct ek_buf *out, const char *const *cells, size_t n)
{
    ek_buf_puts(out, "\n");
    put_row(out, cells, n);
    for (size_t i = 0; i < n; i++)
        ek_buf_puts(out, "| --- ");
    ek_buf_puts(out, "|\n");
}

static void put_steps(struct ek_buf *out, yyjson_val *steps)
{
    static const char *const headers[] = {"step",    "component", "change",
                                          "from",    "to",        "ends the way back to",
                                          "changes", "findings",  "first"};
    char changes[128], blocks[64], first[512];
    size_t i, n;
    yyjson_val *step;

    if (!yyjson_arr_size(steps))
        return;
    put_headers(out, headers, EK_ARRAY_SIZE(headers));
    yyjson_arr_foreach(steps, i, n, step)
    {
        EK_AUTOFREE char *number = ek_xasprintf("%zu", i + 1);
        const char *cells[] = {number,
                               ek_json_text(step, "component"),
                               ek_json_text(step, "change"),
                               ek_json_text(step, "from"),
                               ek_json_text(step, "to"),
                               ek_json_text(step, "endsWayBackTo"),
                               ek_plan_changes_of(step, changes, sizeof changes),
                               ek_plan_blocks_of(step, blocks, sizeof blocks),
                               ek_plan_first_of(step, first, sizeof first)};
        put_row(out, cells, EK_ARRAY_SIZE(cells));
    }
}

static void put_findings(struct ek_buf *out, yyjson_val *findings)
{
    static const char *const headers[] = {"severity", "place",   "object",
                                          "field",    "message", "remedy"};
    size_t i, n;
    yyjson_val *finding;

    if (!yyjson_arr_size(findings))
        return;
    put_headers(out, headers, EK_ARRAY_SIZE(headers));
    yyjson_arr_foreach(findings, i, n, finding)
    {
        EK_AUTOFREE char *place = ek_plan_place(finding);
        const char *cells[] = {ek_json_text(finding, "severity"), place,
                               ek_json_text(finding, "object"),   ek_json_text(finding, "field"),
                               ek_json_text(finding, "message"),  ek_json_text(finding, "remedy")};
        put_row(out, cells, EK_ARRAY_SIZE(cells));
    }
}

int ek_plan_markdown(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    const char *from = ek_json_text(root, "from");

    (void)ctx;
    (void)color;
    ek_buf_printf(out, "## %s: Kubernetes %s%s%s\n\n", ek_json_text(root, "verdict"), from,
                  *from ? " to " : "to ", ek_json_text(root, "to"));
    ek_plan_put_summary(out, root);
    put_steps(out, yyjson_obj_get(root, "steps"));
    ek_buf_puts(out, "\n");
    ek_plan_put_way_back(out, root);
    put_findings(out, yyjson_obj_get(root, "findings"));
    ek_buf_puts(out, "\n");
    ek_plan_put_limits(out, root);
    ek_buf_puts(out, "\n");
    return out->failed;
}

/* ---- SARIF ---- */

static void add_result(struct ek_sarif *sarif, yyjson_val *finding)
{
    const char *severity = ek_json_text(finding, "severity");
    const char *object = ek_json_text(finding, "object"), *remedy = ek_json_text(finding, "remedy");
    EK_AUTOFREE char *text =
        ek_xasprintf("%s%s%s%s%s", object, *object ? ": " : "", ek_json_text(finding, "message"),
                     *remedy ? "; " : "", remedy);

    ek_sarif_add(sarif,
                 &(struct ek_sarif_result){.rule = ek_json_text(finding, "rule"),
                                           .level = !strcmp(severity, "error")   ? "error"
                                                    : !strcmp(severity, "fixed") ? "note"
                                                                                 : "warning",
                                           .severity = severity,
                                           .message = text,
                                           .source = ek_json_text(finding, "source"),
                                           .line = yyjson_get_uint(yyjson_obj_get(finding, "line")),
                                           .object = object,
                                           .field = ek_json_text(finding, "field")});
}

yyjson_doc *ek_plan_sarif(yyjson_val *root)
{
    struct ek_sarif *sarif = ek_sarif_new();
    EK_AUTO(ek_buf) limits;
    yyjson_val *finding;
    size_t i, n;

    for (i = 0; i < EK_ARRAY_SIZE(rules); i++)
        ek_sarif_rule(sarif, rules[i].id, rules[i].text);
    yyjson_arr_foreach(yyjson_obj_get(root, "findings"), i, n, finding) add_result(sarif, finding);
    ek_buf_init(&limits, EK_BUF_SMALL_MAX);
    ek_plan_put_limits(&limits, root);
    ek_sarif_property(sarif, "notChecked", ek_buf_str(&limits));
    return ek_sarif_end(sarif);
}
