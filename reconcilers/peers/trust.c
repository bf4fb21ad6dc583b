/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/trust.h"

#include <string.h>

#include "reconcilers/peers/address.h"

/* Loopback is for those who name it themselves: the spec's author and the kubeconfig's. */
static bool may_be_called(const struct ek_trust_input *input)
{
    char text[EK_ADDRESS_SIZE], ip[EK_ADDRESS_SIZE];
    bool named = input->source == EK_ADDRESS_SPEC || input->source == EK_ADDRESS_CONFIGURED;

    return ek_address_parse(input->address, text, ip) &&
           (ek_address_is_routable(ip) || (named && ek_address_is_loopback(ip)));
}

static bool is_one_of(const char *component, const char *a, const char *b)
{
    return !strcmp(component, a) || !strcmp(component, b);
}

enum ek_probe_credential ek_trust_decide(const struct ek_trust_input *input)
{
    if (!may_be_called(input))
        return EK_PROBE_NOT_CONTACTED;
    if (!strcmp(input->component, "kube-apiserver"))
        return input->source == EK_ADDRESS_SLICE || input->source == EK_ADDRESS_SPEC ||
                       input->source == EK_ADDRESS_CONFIGURED
                   ? EK_PROBE_OWN
                   : EK_PROBE_NOT_CONTACTED;
    if (is_one_of(input->component, "kube-scheduler", "kube-controller-manager") &&
        (input->ip_proven || input->ip_in_spec))
        return EK_PROBE_METRICS;
    return EK_PROBE_NOT_CONTACTED;
}

bool ek_trust_is_proven(const struct ek_trust_server *servers, size_t n, const char *ip)
{
    char text[EK_ADDRESS_SIZE], at[EK_ADDRESS_SIZE];

    for (size_t i = 0; i < n; i++) {
        const struct ek_trust_server *server = &servers[i];
        if ((server->source == EK_ADDRESS_SLICE || server->source == EK_ADDRESS_SPEC) &&
            server->probe && server->probe->proven && ek_address_parse(server->address, text, at) &&
            !strcmp(at, ip))
            return true;
    }
    return false;
}

bool ek_trust_names_ip(const char *const *addresses, size_t n, const char *ip)
{
    char text[EK_ADDRESS_SIZE], at[EK_ADDRESS_SIZE];

    for (size_t i = 0; i < n; i++)
        if (ek_address_parse(addresses[i], text, at) && !strcmp(at, ip))
            return true;
    return false;
}
