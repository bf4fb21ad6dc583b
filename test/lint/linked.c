/* SPDX-License-Identifier: Apache-2.0 */
/* A program of nothing, which a whole library is linked into (test/CMakeLists.txt). */

int main(void)
{
    return 0;
}
