/* SPDX-License-Identifier: MIT */
/* Tests of src/base/base64.c. */
#include "base/base64.h"

#include <string.h>

#include "test.h"

TEST(what_is_encoded_comes_back)
{
	unsigned char bytes[200];
	char out[200], text[300];
	size_t len;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 37);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct buf b = BUF_OVER(text);

		base64_add(&b, (struct str){ (const char *)bytes, n });
		CHECK_INT(b.failed, ERR_OK);
		CHECK_INT(b.len, (n + 2) / 3 * 4);
		CHECK(base64_decode(buf_str(&b), out, sizeof(out), &len));
		CHECK_INT(len, n);
		CHECK(memcmp(out, bytes, n) == 0);
	}
}

TEST(the_examples_of_the_rfc)
{
	static const char *const pairs[][2] = {
		{ "", "" },	   { "f", "Zg==" },	   { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "foobar", "Zm9vYmFy" }
	};

	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		char text[32];
		struct buf b = BUF_OVER(text);

		base64_add(&b, str_of(pairs[i][0]));
		CHECK(str_is(buf_str(&b), pairs[i][1]));
	}
}

TEST(what_is_none_is_refused)
{
	static const char *const bad[] = { "Zm9v!", "Zm 9v", "=Zg", "Zm9v\n", "Z-_v" };
	char out[32];
	size_t len;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(!base64_decode(str_of(bad[i]), out, sizeof(out), &len));
	CHECK(!base64_decode(str_of("Zm9vYmFy"), out, 5, &len));
	CHECK(base64_decode(str_of("Zm9vYmFy"), out, 6, &len));
}
