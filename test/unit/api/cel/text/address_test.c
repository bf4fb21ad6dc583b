/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

/* Answers of Kubernetes 1.36. */
static const struct ek_celtest_row rows[] = {
    {"v4", "ip('10.1.2.3')", "net.IP(10.1.2.3) cost 1"},
    {"v6 in canonical form", "ip('2001:DB8:0:0:1:0:0:1')", "net.IP(2001:db8::1:0:0:1) cost 2"},
    {"longest run of zeros", "ip('1:0:0:2:0:0:0:3')", "net.IP(1:0:0:2::3) cost 2"},
    {"one zero is no run", "ip('1:0:2:3:4:5:6:7')", "net.IP(1:0:2:3:4:5:6:7) cost 2"},
    {"zeros at the end", "ip('1::')", "net.IP(1::) cost 1"},
    {"all zeros", "ip('0:0:0:0:0:0:0:0')", "net.IP(::) cost 2"},
    {"embedded v4", "ip('64:ff9b::1.2.3.4')", "net.IP(64:ff9b::102:304) cost 2"},
    {"mapped", "ip('::ffff:1.2.3.4')",
     "eval: IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed"},
    {"zone", "ip('fe80::1%eth0')",
     "eval: IP address \"fe80::1%eth0\" with zone value is not allowed"},
    {"no address", "ip('localhost')",
     "eval: IP Address \"localhost\" parse error during conversion from string: "
     "ParseAddr(\"localhost\"): unable to parse IP"},
    {"short", "ip('1.2.3')",
     "eval: IP Address \"1.2.3\" parse error during conversion from string: ParseAddr(\"1.2.3\"): "
     "IPv4 address too short"},
    {"long", "ip('1.2.3.4.5')",
     "eval: IP Address \"1.2.3.4.5\" parse error during conversion from string: "
     "ParseAddr(\"1.2.3.4.5\"): IPv4 address too long"},
    {"leading zero", "ip('01.2.3.4')",
     "eval: IP Address \"01.2.3.4\" parse error during conversion from string: "
     "ParseAddr(\"01.2.3.4\"): IPv4 field has octet with leading zero"},
    {"large", "ip('1.2.3.256')",
     "eval: IP Address \"1.2.3.256\" parse error during conversion from string: "
     "ParseAddr(\"1.2.3.256\"): IPv4 field has value >255"},
    {"missing field", "ip('1..2.3')",
     "eval: IP Address \"1..2.3\" parse error during conversion from string: "
     "ParseAddr(\"1..2.3\"): IPv4 field must have at least one digit (at \".2.3\")"},
    {"letter", "ip('1.2.x.3')",
     "eval: IP Address \"1.2.x.3\" parse error during conversion from string: "
     "ParseAddr(\"1.2.x.3\"): unexpected character (at \"x.3\")"},
    {"two gaps", "ip('1::2::3')",
     "eval: IP Address \"1::2::3\" parse error during conversion from string: "
     "ParseAddr(\"1::2::3\"): multiple :: in address (at \":3\")"},
    {"gap of nothing", "ip('1:2:3:4::5:6:7:8')",
     "eval: IP Address \"1:2:3:4::5:6:7:8\" parse error during conversion from string: "
     "ParseAddr(\"1:2:3:4::5:6:7:8\"): the :: must expand to at least one field of zeros"},
    {"five digits", "ip('12345::')",
     "eval: IP Address \"12345::\" parse error during conversion from string: "
     "ParseAddr(\"12345::\"): each group must have 4 or less digits (at \"12345::\")"},
    {"no digits", "ip('g::1')",
     "eval: IP Address \"g::1\" parse error during conversion from string: ParseAddr(\"g::1\"): "
     "each colon-separated field must have at least one digit (at \"g::1\")"},
    {"colon at the end", "ip('1:2:')",
     "eval: IP Address \"1:2:\" parse error during conversion from string: ParseAddr(\"1:2:\"): "
     "colon must be followed by more characters (at \":\")"},
    {"no colon", "ip('1:2g::')",
     "eval: IP Address \"1:2g::\" parse error during conversion from string: "
     "ParseAddr(\"1:2g::\"): unexpected character, want colon (at \"g::\")"},
    {"too many groups", "ip('1:2:3:4:5:6:7:8:9')",
     "eval: IP Address \"1:2:3:4:5:6:7:8:9\" parse error during conversion from string: "
     "ParseAddr(\"1:2:3:4:5:6:7:8:9\"): trailing garbage after address (at \"9\")"},
    {"too few groups", "ip('1:2:3')",
     "eval: IP Address \"1:2:3\" parse error during conversion from string: ParseAddr(\"1:2:3\"): "
     "address string too short"},
    {"v4 in the wrong place", "ip('1:2:1.2.3.4')",
     "eval: IP Address \"1:2:1.2.3.4\" parse error during conversion from string: "
     "ParseAddr(\"1:2:1.2.3.4\"): embedded IPv4 address must replace the final 2 fields of the "
     "address (at \"1.2.3.4\")"},
    {"no room for v4", "ip('::1:2:3:4:5:6:7:1.2.3.4')",
     "eval: IP Address \"::1:2:3:4:5:6:7:1.2.3.4\" parse error during conversion from string: "
     "ParseAddr(\"::1:2:3:4:5:6:7:1.2.3.4\"): too many hex fields to fit an embedded IPv4 at the "
     "end of the address (at \"1.2.3.4\")"},
    {"zone of nothing", "ip('::1%')",
     "eval: IP Address \"::1%\" parse error during conversion from string: ParseAddr(\"::1%\"): "
     "zone must be a non-empty string"},
    {"zone alone", "ip('%eth0')",
     "eval: IP Address \"%eth0\" parse error during conversion from string: ParseAddr(\"%eth0\"): "
     "missing IPv6 address"},
    {"unprintable", "ip('a\\n')",
     "eval: IP Address \"a\\n\" parse error during conversion from string: ParseAddr(\"a\\n\"): "
     "unable to parse IP"},
    {"is one", "isIP('::1')", "true cost 1"},
    {"is none", "[isIP('::1%1'), isIP('::ffff:1.2.3.4'), isIP('1')]",
     "[false, false, false] cost 14"},
    {"canonical", "[ip.isCanonical('::1'), ip.isCanonical('0::1'), ip.isCanonical('::A')]",
     "[true, false, false] cost 13"},
    {"canonical of none", "ip.isCanonical('1')",
     "eval: IP Address \"1\" parse error during conversion from string: ParseAddr(\"1\"): unable "
     "to parse IP"},
    {"family", "[ip('1.2.3.4').family(), ip('::').family()]", "[4, 6] cost 14"},
    {"unspecified",
     "[ip('0.0.0.0').isUnspecified(), ip('::').isUnspecified(), ip('::1').isUnspecified()]",
     "[true, true, false] cost 16"},
    {"loopback",
     "[ip('127.255.0.1').isLoopback(), ip('::1').isLoopback(), ip('128.0.0.1').isLoopback()]",
     "[true, true, false] cost 17"},
    {"link-local multicast",
     "[ip('224.0.0.255').isLinkLocalMulticast(), ip('224.0.1.1').isLinkLocalMulticast(), "
     "ip('ff12::1').isLinkLocalMulticast(), ip('ff01::').isLinkLocalMulticast()]",
     "[true, false, true, false] cost 19"},
    {"link-local unicast",
     "[ip('169.254.0.1').isLinkLocalUnicast(), ip('febf::1').isLinkLocalUnicast(), "
     "ip('fec0::1').isLinkLocalUnicast()]",
     "[true, true, false] cost 17"},
    {"global unicast",
     "['10.0.0.1', '255.255.255.255', '0.0.0.0', '224.0.0.1', '2001:db8::1', 'fe80::1', "
     "'ff00::'].map(s, ip(s).isGlobalUnicast())",
     "[true, false, false, false, true, false, false] cost 108"},
    {"string", "string(ip('2001:DB8::1')) + string(cidr('10.0.0.1/8'))",
     "\"2001:db8::110.0.0.1/8\" cost 8"},
    {"string of what it is not known", "string(dyn(ip('1.2.3.4')))", "\"1.2.3.4\" cost 3"},
    {"type has a name", "type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR",
     "true cost 6"},
    {"equal", "ip('::1') == ip('0::1')", "true cost 3"},
    {"unequal costs by octets", "ip('::1') != ip('::2')", "true cost 4"},
    {"equal to no text", "dyn(ip('::1')) == '::1'", "eval: no such overload"},
    {"key of a map", "ip('::1') in {ip('0::1'): 1}", "true cost 33"},
    {"host bits stay", "cidr('10.1.2.3/8')", "net.CIDR(10.1.2.3/8) cost 1"},
    {"masked", "cidr('10.1.2.3/12').masked()", "net.CIDR(10.0.0.0/12) cost 3"},
    {"masked to nothing", "cidr('ffff::1/0').masked()", "net.CIDR(::/0) cost 2"},
    {"masked to all", "cidr('ffff::1/128').masked()", "net.CIDR(ffff::1/128) cost 3"},
    {"masked inside an octet", "cidr('ffff:ffff::/21').masked()",
     "net.CIDR(ffff:f800::/21) cost 3"},
    {"address", "cidr('10.1.2.3/8').ip()", "net.IP(10.1.2.3) cost 2"},
    {"prefix length", "cidr('::/10').prefixLength()", "10 cost 2"},
    {"no slash", "cidr('10.0.0.1')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0.1\"): no '/'"},
    {"length too large", "cidr('10.0.0.1/33')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0.1/33\"): prefix length out of "
     "range"},
    {"length with a zero", "cidr('10.0.0.1/08')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0.1/08\"): bad bits after slash: "
     "\"08\""},
    {"length with a sign", "cidr('10.0.0.1/+8')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0.1/+8\"): bad bits after slash: "
     "\"+8\""},
    {"no length", "cidr('10.0.0.1/')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0.1/\"): bad bits after slash: \"\""},
    {"length beyond int64", "cidr('10.0.0.1/9223372036854775808')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0.1/9223372036854775808\"): bad bits "
     "after slash: \"9223372036854775808\""},
    {"address of a CIDR wrong", "cidr('10.0.0/8')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0/8\"): ParseAddr(\"10.0.0\"): IPv4 "
     "address too short"},
    {"zone in a CIDR", "cidr('fe80::1%eth0/64')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"fe80::1%eth0/64\"): IPv6 zones cannot be "
     "present in a prefix"},
    {"mapped in a CIDR", "cidr('::ffff:1.2.3.4/100')",
     "eval: network address parse error during conversion from string: IPv4-mapped IPv6 address "
     "\"::ffff:1.2.3.4/100\" is not allowed"},
    {"is a CIDR", "[isCIDR('::/0'), isCIDR('::'), isCIDR('::ffff:1.2.3.4/100')]",
     "[true, false, false] cost 14"},
    {"holds", "cidr('10.0.0.0/8').containsIP('10.255.0.1')", "true cost 3"},
    {"holds not", "cidr('10.0.0.0/9').containsIP(ip('10.255.0.1'))", "false cost 3"},
    {"holds no other family", "cidr('::/0').containsIP('10.0.0.1')", "false cost 2"},
    {"holds no nonsense", "cidr('::/0').containsIP('nonsense')", "eval: no such overload"},
    {"holds what", "cidr('10.0.0.0/8').containsIP(dyn('10.0.0.1'))", "true cost 2"},
    {"holds a CIDR", "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true cost 6"},
    {"holds itself", "cidr('10.0.0.0/8').containsCIDR(cidr('10.9.9.9/8'))", "true cost 5"},
    {"holds no larger one", "cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/7'))", "false cost 5"},
    {"holds no nonsensical CIDR", "cidr('10.0.0.0/8').containsCIDR('10.0.0.0')",
     "eval: network address parse error during conversion from string: network address parse error "
     "during conversion from string: netip.ParsePrefix(\"10.0.0.0\"): no '/'"},
    {"everything holds everything", "cidr('0.0.0.0/0').containsCIDR('1.2.3.4/0')", "true cost 3"},
    {"escaped key", "jsonpatch.escapeKey('example.com/a~b')", "\"example.com~1a~0b\" cost 2"},
    {"nothing to escape", "jsonpatch.escapeKey('plain')", "\"plain\" cost 1"},
};

START_TEST(answers)
{
    ek_celtest_begins(EK_CEL_ENV_MUTATION, &rows[_i], NULL);
}
END_TEST

START_TEST(starved)
{
    ek_celtest_starve(EK_CEL_ENV_MUTATION,
                      "string(cidr('10.1.2.3/8').masked().ip()) + string(ip('::1'))");
    ek_celtest_starve(EK_CEL_ENV_MUTATION, "cidr('10.0.0.0/8').containsCIDR('10.0.0.0/9')");
    ek_celtest_starve(EK_CEL_ENV_MUTATION, "jsonpatch.escapeKey('a/b')");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, starved);
    return ek_test_run("cel_address", tcase);
}
