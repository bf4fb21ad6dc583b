/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

/* Answers of Kubernetes 1.36. */
static const struct ek_celtest_row rows[] = {
    {"label", "format.dns1123Label().validate('my-label-1')", "optional.none() cost 17"},
    {"label with capitals", "format.dns1123Label().validate('My')",
     "optional.of([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters "
     "or '-', and must start and end with an alphanumeric character (e.g. 'my-name',"},
    {"label with dots", "format.dns1123Label().validate('a.b')",
     "optional.of([\"must not contain dots\"]) cost 9"},
    {"label too long",
     "format.dns1123Label().validate('"
     "a123456789012345678901234567890123456789012345678901234567890123')",
     "optional.of([\"must be no more than 63 characters\"]) cost 57"},
    {"label wrong in two ways",
     "format.dns1123Label().validate('"
     "A123456789012345678901234567890123456789012345678901234567890123').value().size()",
     "2 cost 59"},
    {"label prefix", "format.dns1123LabelPrefix().validate('ab-')", "optional.none() cost 9"},
    {"label prefix of a dash", "format.dns1123LabelPrefix().validate('-').hasValue()",
     "true cost 10"},
    {"label prefix of two dashes", "format.dns1123LabelPrefix().validate('a--').hasValue()",
     "false cost 10"},
    {"subdomain", "format.dns1123Subdomain().validate('a.b-c.1')", "optional.none() cost 16"},
    {"subdomain with an empty part", "format.dns1123Subdomain().validate('a..b')",
     "optional.of([\"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
     "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. '"},
    {"subdomain prefix", "format.dns1123SubdomainPrefix().validate('a.b-')",
     "optional.none() cost 16"},
    {"DNS 1035 label", "format.dns1035Label().validate('1a')",
     "optional.of([\"a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
     "start with an alphabetic character, and end with an alphanumeric character (e.g."},
    {"DNS 1035 prefix", "format.dns1035LabelPrefix().validate('a-')", "optional.none() cost 9"},
    {"qualified name", "format.qualifiedName().validate('example.com/My_Name.1')",
     "optional.none() cost 46"},
    {"qualified name without a prefix", "format.qualifiedName().validate('/a')",
     "optional.of([\"prefix part must be non-empty\"]) cost 16"},
    {"qualified name of nothing", "format.qualifiedName().validate('a/')",
     "optional.of([\"name part must be non-empty\", \"name part must consist of alphanumeric "
     "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e."},
    {"qualified name with two slashes", "format.qualifiedName().validate('a/b/c')",
     "optional.of([\"a valid label key must consist of alphanumeric characters, '-', '_' or '.', "
     "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.na"},
    {"qualified name with a bad prefix",
     "format.qualifiedName().validate('A/b').value()[0].startsWith('prefix part a lowercase')",
     "true cost 47"},
    {"label value", "format.labelValue().validate('')", "optional.none() cost 11"},
    {"bad label value", "format.labelValue().validate('-a').hasValue()", "true cost 12"},
    {"label value too long",
     "format.labelValue().validate('"
     "a123456789012345678901234567890123456789012345678901234567890123')",
     "optional.of([\"must be no more than 63 bytes\"]) cost 71"},
    {"uri", "[format.uri().validate('/a#b'), format.uri().validate('http://[::1]:80/')]",
     "[optional.none(), optional.none()] cost 840"},
    {"no uri", "format.uri().validate('a b')",
     "optional.of([\"parse \\\"a b\\\": invalid URI for request\"]) cost 277"},
    {"bad uri", "format.uri().validate('http://a/%zz')",
     "optional.of([\"parse \\\"http://a/%zz\\\": invalid URL escape \\\"%zz\\\"\"]) cost 553"},
    {"uuid", "format.uuid().validate('123e4567-E89B-12d3-a456-426614174000')",
     "optional.none() cost 73"},
    {"uuid without dashes", "format.uuid().validate('123e4567e89b12d3a456-426614174000')",
     "optional.none() cost 73"},
    {"no uuid", "format.uuid().validate('123e4567-e89b-12d3-a456-42661417400')",
     "optional.of([\"does not match the UUID format\"]) cost 73"},
    {"uuid with a dash too many",
     "format.uuid().validate('123e4567--e89b-12d3-a456-426614174000').hasValue()", "true cost 74"},
    {"base64", "['aGVsbG8=', 'AA==', 'AAAA', '+/+/'].all(s, !format.byte().validate(s).hasValue())",
     "true cost 113"},
    {"no base64",
     "['', 'A', 'AA=', 'A===', '====', 'AA-_', 'AA=A'].all(s, "
     "format.byte().validate(s).hasValue())",
     "true cost 190"},
    {"byte says", "format.byte().validate('x')", "optional.of([\"invalid base64\"]) cost 22"},
    {"date",
     "['2024-02-29', '0000-01-01', '2000-02-29', '9999-12-31'].all(s, "
     "!format.date().validate(s).hasValue())",
     "true cost 173"},
    {"no date",
     "['2023-02-29', '1900-02-29', '2024-13-01', '2024-00-01', '2024-01-00', '2024-1-01', "
     "'24-01-01', '2024-04-31', '2024-01-01Z'].all(s, format.date().validate(s).hasValue())",
     "true cost 343"},
    {"date says", "format.date().validate('x')", "optional.of([\"invalid date\"]) cost 19"},
    {"datetime",
     "['2024-02-29T23:59:59Z', '2024-02-29t00:00:00z', '2024-02-29T00:00:00.123+25:61', "
     "'2024-02-29T00:00:00é1Z', '2024-02-29T00:00:00+05-01:00', '2024-02-29T00:00:00ZTx'].all(s, "
     "!format.datetime().validate(s).hasValue())",
     "true cost 367"},
    {"no datetime",
     "['2024-02-30T00:00:00Z', '2024-02-29T24:00:00Z', '2024-02-29T00:60:00Z', "
     "'2024-02-29T00:00:60Z', '2024-02-29 00:00:00Z', '2024-02-29T00:00:00', "
     "'2024-02-29T00:00:00.Z', '2024-02-29T00:00:00\\n1Z', '2024-02-29T00:00:00+0000', "
     "'2024-02-29'].all(s, format.datetime().validate(s).hasValue())",
     "true cost 565"},
    {"datetime says", "format.datetime().validate('x')",
     "optional.of([\"invalid datetime\"]) cost 19"},
    {"named", "format.named('date').value() == format.date()", "true cost 4"},
    {"named otherwise", "format.named('date').value() == format.datetime()", "false cost 4"},
    {"no such name", "format.named('nope').hasValue()", "false cost 2"},
    {"no text", "format.named('nope')", "optional.none() cost 1"},
    {"validate needs a format", "dyn(1).validate('a')",
     "eval: no such overload: validate(int, string)"},
    {"long text costs",
     "format.uri().validate('/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
     "optional.none() cost 1657"},
};

START_TEST(answers)
{
    ek_celtest_begins(EK_CEL_ENV_MUTATION, &rows[_i], NULL);
}
END_TEST

START_TEST(starved)
{
    ek_celtest_starve(EK_CEL_ENV_MUTATION, "format.qualifiedName().validate('a/')");
    ek_celtest_starve(EK_CEL_ENV_MUTATION, "format.dns1123LabelPrefix().validate('a-')");
    ek_celtest_starve(EK_CEL_ENV_MUTATION, "format.named('uri').value().validate('a b')");
    ek_celtest_starve(EK_CEL_ENV_MUTATION, "format.uuid().validate('')");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, starved);
    return ek_test_run("cel_format", tcase);
}
