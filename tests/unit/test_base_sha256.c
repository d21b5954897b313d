/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"
#include "test.h"

/* The digest of `count` times the letter a. */
static const char *digest_of_a(size_t count)
{
	static char text[1000000];
	static char hex[SHA256_HEX_BYTES];

	memset(text, 'a', count);
	sha256_hex((struct str){ text, count }, hex);
	return hex;
}

TEST(the_vectors_of_the_standard_agree)
{
	char hex[SHA256_HEX_BYTES];

	sha256_hex(STR("abc"), hex);
	CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_hex(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hex);
	CHECK_STR(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(lengths_around_the_padding_agree)
{
	CHECK_STR(digest_of_a(0),
		  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	CHECK_STR(digest_of_a(1),
		  "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
	CHECK_STR(digest_of_a(54),
		  "a3f01b6939256127582ac8ae9fb47a382a244680806a3f613a118851c1ca1d47");
	CHECK_STR(digest_of_a(55),
		  "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	CHECK_STR(digest_of_a(56),
		  "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
	CHECK_STR(digest_of_a(57),
		  "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6");
	CHECK_STR(digest_of_a(63),
		  "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
	CHECK_STR(digest_of_a(64),
		  "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	CHECK_STR(digest_of_a(65),
		  "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
	CHECK_STR(digest_of_a(119),
		  "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
	CHECK_STR(digest_of_a(120),
		  "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c");
	CHECK_STR(digest_of_a(128),
		  "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e");
	CHECK_STR(digest_of_a(1000000),
		  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(an_empty_string_may_have_no_pointer)
{
	char hex[SHA256_HEX_BYTES];

	sha256_hex((struct str){ NULL, 0 }, hex);
	CHECK_STR(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* Python: hmac.new(key, sha256(text).digest(), sha256) */
TEST(the_mac_is_that_of_rfc_2104_and_depends_on_the_key)
{
	const unsigned char key[SHA256_BYTES] = "a key", other[SHA256_BYTES] = "b key";
	unsigned char mac[SHA256_BYTES];
	char hex[SHA256_HEX_BYTES];

	sha256_mac(key, STR("some bytes"), mac);
	sha256_print(mac, hex);
	CHECK_STR(hex, "bac30699d86e77eeeaa37eee369b94a551b5c5025c5882fdeb43a3ee739f40ed");
	sha256_mac(other, STR("some bytes"), mac);
	sha256_print(mac, hex);
	CHECK(strcmp(hex, "bac30699d86e77eeeaa37eee369b94a551b5c5025c5882fdeb43a3ee739f40ed") != 0);
}
