/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/text/url.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

#define REFUSED "eval: URL parse error during conversion from string: parse "

/* Answers of a Kubernetes 1.36 API server. */
static const struct ek_celtest_row rows[] = {
    {"scheme", "url('HTTPS://a/').getScheme()", "\"https\" cost 2"},
    {"host with port", "url('http://u:p@a.b:80/').getHost()", "\"a.b:80\" cost 3"},
    {"hostname", "url('http://a.b:80/').getHostname()", "\"a.b\" cost 3"},
    {"port", "url('http://a.b:80/').getPort()", "\"80\" cost 3"},
    {"empty port", "url('http://a:/').getHost()", "\"a:\" cost 2"},
    {"address", "url('https://[::1]:8443/x').getHost()", "\"[::1]:8443\" cost 3"},
    {"address without brackets", "url('https://[::1]:8443/x').getHostname()", "\"::1\" cost 3"},
    {"address with a zone", "url('http://[fe80::1%25en0]/').getHostname()",
     "\"fe80::1%en0\" cost 4"},
    {"path", "url('http://a/%2f%41[]').getEscapedPath()", "\"/%2f%41[]\" cost 3"},
    {"path to be escaped", "url('http://a/ü \\\"').getEscapedPath()", "\"/%C3%BC%20%22\" cost 3"},
    {"no path", "url('https://a').getEscapedPath()", "\"\" cost 2"},
    {"path alone", "url('/p?q').getHost()", "\"\" cost 2"},
    {"rootless", "url('mailto:a@b').getEscapedPath()", "\"\" cost 2"},
    {"fragment", "url('http://a/p#f').getEscapedPath()", "\"/p\" cost 3"},
    {"query", "url('/?k=a+b&k=%20&z&=e').getQuery()",
     "{\"k\": [\"a b\", \" \"], \"z\": [\"\"], \"\": [\"e\"]} cost 3"},
    {"query with what is wrong", "url('/?a;b=1&%zz=1&c=%zz&&d=1').getQuery()",
     "{\"d\": [\"1\"]} cost 4"},
    {"no UTF-8", "url('http://%ff.x/').getHost()", "\"\uFFFD.x\" cost 3"},
    {"hosts of databases", "url('pg://a:1,b:2/').getHost()", "\"a:1,b:2\" cost 3"},
    {"equal", "url('HTTP://%C3%BC/%41') == url('http://ü/%41')", "true cost 5"},
    {"unequal", "url('http://a/%41') == url('http://a/A')", "false cost 4"},
    {"among", "url('http://a') in [url('http://a')]", "true cost 13"},
    {"not of another kind", "url('http://a') == dyn('http://a')", "eval: no such overload"},
    {"type", "string(type(url('/')))", "compile:"},
    {"is one", "isURL('http://a<b>\\\"/')", "true cost 1"},
    {"star", "isURL('*')", "true cost 1"},
    {"two slashes", "isURL('//')", "true cost 1"},
    {"empty", "isURL('')", "false cost 1"},
    {"relative", "url('a/b')", REFUSED "\"a/b\": invalid URI for request"},
    {"nothing", "url('')", REFUSED "\"\": empty url"},
    {"no scheme", "url('://a')", REFUSED "\"://a\": missing protocol scheme"},
    {"wrong port", "url('http://h:port/')",
     REFUSED "\"http://h:port/\": invalid port \":port\" after host"},
    {"two ports", "url('http://a:80:90/')",
     REFUSED "\"http://a:80:90/\": invalid port \":80:90\" after host"},
    {"wrong escape", "url('/%zz')", REFUSED "\"/%zz\": invalid URL escape \"%zz\""},
    {"cut escape", "url('/%4ü')", REFUSED "\"/%4ü\": invalid URL escape \"%4\\xc3\""},
    {"escape in a host", "url('http://%41/')",
     REFUSED "\"http://%41/\": invalid URL escape \"%41\""},
    {"space in a host", "url('http://a b/')",
     REFUSED "\"http://a b/\": invalid character \" \" in host name"},
    {"control", "url('http://a/\\u0001')",
     REFUSED "\"http://a/\\x01\": net/url: invalid control character in URL"},
    {"wrong user", "url('http://ü@a/')", REFUSED "\"http://ü@a/\": net/url: invalid userinfo"},
    {"open bracket", "url('http://[::1/')", REFUSED "\"http://[::1/\": missing ']' in host"},
    {"late bracket", "url('http://a[::1]/')", REFUSED "\"http://a[::1]/\": invalid IP-literal"},
    {"wrong fragment", "url('/#%zz')", REFUSED "\"/#%zz\": invalid URL escape \"%zz\""},
};

START_TEST(answers)
{
    ek_celtest_begins(EK_CEL_ENV_KUBERNETES, &rows[_i], NULL);
}
END_TEST

static const struct {
    const char *text;
    bool good;
} address_rows[] = {
    {"::", true},
    {"::1", true},
    {"1::", true},
    {"1:2:3:4:5:6:7:8", true},
    {"1:2:3:4:5:6:7::", true},
    {"::2:3:4:5:6:7:8", true},
    {"1:2:3:4:5:6:7:8::", false},
    {"1:2:3:4:5:6:7", false},
    {"1:2:3:4:5:6:7:8:9", false},
    {"1::2::3", false},
    {":1", false},
    {"1:", false},
    {"12345::", false},
    {"g::", false},
    {"::1.2.3.4", true},
    {"1:2:3:4:5:6:1.2.3.4", true},
    {"1:2:3:4:5:1.2.3.4", false},
    {"1:2:3:4:5:6:7:1.2.3.4", false},
    {"::01.2.3.4", false},
    {"::1.2.3", false},
    {"::1.2.3.256", false},
    {"::1.2.3.4:5", false},
    {"1.2.3.4", false},
    {"::1%eth0", true},
    {"::1%", false},
    {"%::1", false},
    {"", false},
};

START_TEST(addresses)
{
    struct ek_str text = ek_str_from(address_rows[_i].text);

    ck_assert_msg(ek_cel_url_is_ipv6(text) == address_rows[_i].good, "%s", text.p);
}
END_TEST

START_TEST(starved)
{
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "url('http://u:p@ü/%41?a=%20&a=b' + '#f').getQuery()");
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "url('http://%ff/é').getEscapedPath()");
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "url('http://%ff/é').getHost()");
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "url('http://é:port/')");
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "isURL('http://%ff' + '/é')");
}
END_TEST

/* Go reads a query of more than 10,000 settings as none. */
START_TEST(long_query)
{
    EK_AUTOFREE char *got = ek_celtest(
        EK_CEL_ENV_KUBERNETES,
        "[10000, 10001].map(n, url('/?' + lists.range(n).map(i, 'a').join('&')).getQuery().size())",
        NULL);

    ck_assert_msg(strncmp(got, "[1, 0]", 6) == 0, "%s", got);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, answers, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tcase, addresses, 0, sizeof address_rows / sizeof *address_rows);
    tcase_add_test(tcase, starved);
    tcase_add_test(tcase, long_query);
    return ek_test_run("cel_url", tcase);
}
