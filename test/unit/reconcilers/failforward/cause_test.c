/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/cause.h"

#include "api/base/mem.h"
#include "test/support/suite.h"

/* Messages as recorded (test/data/failforward), and as the API server of 1.36 writes them. */
static const struct {
    const char *message;
    enum ek_ff_cause cause;
} rows[] = {
    {NULL, EK_FF_UNKNOWN},
    {"", EK_FF_UNKNOWN},
    {"something else", EK_FF_UNKNOWN},
    {"error validating existing CRs against new CRD's schema for \"w.example.org\": error "
     "validating "
     "example.org/v1, Kind=Widget \"ns/old\": updated validation is too restrictive: [].spec.size: "
     "Required value",
     EK_FF_REPAIRABLE},
    {"risk of data loss updating \"w.example.org\": new CRD removes version v1 that is listed as a "
     "stored version on the existing CRD",
     EK_FF_REPAIRABLE},
    {"CustomResourceDefinition.apiextensions.k8s.io \"w\" is invalid: spec.versions[1]: "
     "Unsupported "
     "value: \"integr\"",
     EK_FF_PERMANENT},
    {"the InstallPlan contains invalid data", EK_FF_PERMANENT},
    {"error updating service: m: Internal error occurred: failed calling webhook \"d\": failed to "
     "call "
     "webhook: Post \"https://127.0.0.1:9/?timeout=2s\": dial tcp 127.0.0.1:9: connect: connection "
     "refused",
     EK_FF_TRANSIENT},
    {"error updating service: m: services is forbidden: User \"system:serviceaccount:ns:i\" cannot "
     "create resource \"services\" in API group \"\" in the namespace \"ns\"",
     EK_FF_ADMIN},
    {"install strategy failed: deployments.apps \"w\" is forbidden: exceeded quota: few, "
     "requested: "
     "count/deployments.apps=1",
     EK_FF_SLOW},
    {"installing: waiting for deployment m to become ready: deployment \"m\" not available: "
     "Deployment "
     "does not have minimum availability.",
     EK_FF_SLOW},
    {"install timeout", EK_FF_SLOW},
    {"CSV version requirement not met: minKubeVersion (99.0.0) > server version (1.36.2)",
     EK_FF_PERMANENT},
    {"CSV contains repeated WebhookDescription name", EK_FF_PERMANENT},
    {"api-server resource not found installing PrometheusRule rules: GroupVersionKind "
     "monitoring.coreos.com/v1, Kind=PrometheusRule not found on the cluster. This API may have "
     "been deprecated and removed, see "
     "https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information.",
     EK_FF_PERMANENT},
    {"no matches for kind \"PrometheusRule\" in version \"monitoring.coreos.com/v1\"",
     EK_FF_PERMANENT},
    {"no kind \"Rule\" is registered for version \"example.org/v1\" in scheme \"x\"",
     EK_FF_PERMANENT},
    {"error creating x: the server could not find the requested resource", EK_FF_PERMANENT},
    {"unable to decode manifest: yaml: line 3: mapping values are not allowed", EK_FF_PERMANENT},
    {"error decoding manifest: unexpected end of JSON input", EK_FF_PERMANENT},
    {"strict decoding error: unknown field \"spec.x\"", EK_FF_PERMANENT},
    {"PodDisruptionBudget.policy \"x\" is invalid", EK_FF_PERMANENT},
    /* too large is not a failure of etcd that passes */
    {"error creating service: widget: etcdserver: request is too large", EK_FF_PERMANENT},
    {"Request entity too large: limit is 3145728", EK_FF_PERMANENT},
    {"no operator group found that is managing this namespace", EK_FF_ADMIN},
    {"more than one operator group(s) are managing this namespace count=2", EK_FF_ADMIN},
    {"please make sure the service account exists. sa=x operatorgroup=ns/og", EK_FF_ADMIN},
    {"attenuated service account query failed - x", EK_FF_ADMIN},
    {"Operation cannot be fulfilled on x \"y\": the object has been modified; please apply your "
     "changes",
     EK_FF_TRANSIENT},
    {"etcdserver: leader changed", EK_FF_TRANSIENT},
    {"error generating ownerrefs for service: m: clusterserviceversions \"w\" not found",
     EK_FF_TRANSIENT},
    /* a webhook that is down decides before the text that wraps it */
    {"Service \"m\" is invalid: failed calling webhook \"d\"", EK_FF_TRANSIENT},
};

START_TEST(causes)
{
    ck_assert_msg(ek_ff_cause_of(rows[_i].message) == rows[_i].cause, "%s: %s", rows[_i].message,
                  ek_ff_cause_name(ek_ff_cause_of(rows[_i].message)));
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(ek_ff_cause_name(EK_FF_TRANSIENT), "transient");
    ck_assert_str_eq(ek_ff_cause_name(EK_FF_ADMIN), "needs admin");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, causes, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, names);
    return ek_test_run("cause", tc);
}
