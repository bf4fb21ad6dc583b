/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/process.h"

#include <malloc.h>
#include <string.h>
#include <unistd.h>

void ek_process_begin(uv_loop_t *loop)
{
    /* Large blocks go back to the system at once, whatever came before: what is counted as free
     * must be free. glibc raises the threshold by itself otherwise. */
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    uv_loop_init(loop);
}

static void on_rest(void *ctx, const char *method, const char *code, const char *host,
                    double seconds)
{
    (void)seconds;
    ek_standard_metrics_rest(ctx, method, code, host);
}

int ek_process_client(uv_loop_t *loop, const struct ek_cluster_options *options, struct ek_log *log,
                      struct ek_standard_metrics *standard, struct ek_client_config **ret_config,
                      struct ek_client **ret_client, struct ek_err *err)
{
    const struct ek_cluster_options *o = options;
    int rc = ek_kubeconfig_load(*o->kubeconfig ? o->kubeconfig : NULL,
                                *o->context ? o->context : NULL, NULL, ret_config, err);
    if (rc)
        return rc;
    const struct ek_client_config *config = *ret_config;
    for (size_t i = 0; i < config->warnings.n; i++)
        ek_log_info(log, "Configuration warning", EK_S("warning", config->warnings.items[i]));
    rc = ek_client_new(loop, config, ek_user_agent(), ret_client, err);
    if (!rc)
        ek_client_set_observer(*ret_client, on_rest, standard);
    return rc;
}

const char *ek_process_namespace(const struct ek_client_config *config)
{
    return config->namespace && !strcmp(config->source, "in-cluster") ? config->namespace : NULL;
}

void ek_process_on_phase(void *log, enum ek_manager_phase phase)
{
    ek_log_info(log, "Manager", EK_S("phase", ek_manager_phase_name(phase)));
}

int ek_process_run(struct ek_manager *manager, uv_loop_t *loop, struct ek_log *log)
{
    int code = ek_manager_run(manager, loop);

    if (ek_manager_error(manager))
        ek_log_error(log, ek_manager_error(manager), "Stopped on an error");
    /* What still runs may use anything: nothing is released, the kernel does it. */
    if (ek_manager_is_abrupt(manager))
        _exit(code);
    ek_log_info(log, "Stopped", EK_I("exitCode", code));
    return code;
}

void ek_process_end(uv_loop_t *loop, struct ek_client *client)
{
    uv_run(loop, UV_RUN_DEFAULT);
    ek_client_close(client, NULL, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
}
