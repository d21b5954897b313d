/* SPDX-License-Identifier: MIT */
/*
 * The first bytes of a tunnel. Fed at once, in two pieces and byte by byte the answer is
 * the same, and so it is when the same hello is cut into the smallest records; a name is
 * printable, and a plain second reading of the hello (below) finds the same one. So it is with
 * the hellos that follow the first, and whatever is between two of them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "proxy/client/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

/* ---- A second, plain reading, over a whole hello ----------------------------------------- */

struct cursor {
	const uint8_t *p;
	size_t left;
	bool failed;
};

static unsigned number(struct cursor *c, unsigned bytes)
{
	unsigned n = 0;

	for (; bytes > 0; bytes--) {
		if (c->left == 0) {
			c->failed = true;
			return 0;
		}
		n = n << 8 | *c->p++;
		c->left--;
	}
	return n;
}

static struct cursor part(struct cursor *c, size_t bytes)
{
	struct cursor inner = { c->p, bytes, false };

	if (bytes > c->left) {
		c->failed = true;
		inner.left = 0;
		return inner;
	}
	c->p += bytes;
	c->left -= bytes;
	return inner;
}

/* The contents of the records up to the end of the first message. 0: not whole, or not right. */
static size_t join(struct cursor in, uint8_t *out, size_t room)
{
	size_t len = 0;

	for (;;) {
		unsigned kind = number(&in, 1), major = number(&in, 1);

		(void)number(&in, 1);
		size_t bytes = number(&in, 2);
		if (in.failed || kind != 22 || major != 3 || bytes == 0 || bytes > 16384)
			return 0;
		bytes = MIN_OF(bytes, in.left);
		struct cursor body = part(&in, bytes);
		for (size_t i = 0; i < bytes && len < room; i++)
			out[len++] = body.p[i];
		if (len >= 4) {
			size_t whole = 4U + ((size_t)out[1] << 16 | (size_t)out[2] << 8 | out[3]);

			if (whole > room)
				return 0;
			if (len >= whole)
				return whole;
		}
	}
}

static enum tls_hello_result read_name(struct cursor e, char *name)
{
	struct cursor list = part(&e, number(&e, 2));
	unsigned kind = number(&list, 1);
	struct cursor text = part(&list, number(&list, 2));

	if (e.failed || list.failed || e.left || list.left || kind != 0 || text.left == 0 ||
	    text.left >= TLS_HELLO_NAME_BYTES)
		return TLS_HELLO_BAD;
	for (size_t i = 0; i < text.left; i++) {
		if (text.p[i] <= ' ' || text.p[i] >= 0x7f)
			return TLS_HELLO_BAD;
		name[i] = (char)text.p[i];
	}
	name[text.left] = '\0';
	return TLS_HELLO_NAME;
}

static enum tls_hello_result read_hello(const uint8_t *hello, size_t len, char *name)
{
	struct cursor c = { hello + 4, len - 4, false };
	enum tls_hello_result result = TLS_HELLO_NO_NAME;
	struct cursor session, ciphers, compressions, extensions;

	(void)part(&c, 34);
	session = part(&c, number(&c, 1));
	ciphers = part(&c, number(&c, 2));
	compressions = part(&c, number(&c, 1));
	if (hello[0] != 1 || c.failed || session.left > 32 || ciphers.left == 0 ||
	    ciphers.left % 2 || compressions.left == 0)
		return TLS_HELLO_BAD;
	if (c.left == 0)
		return result;
	extensions = part(&c, number(&c, 2));
	if (c.failed || c.left)
		return TLS_HELLO_BAD;
	while (extensions.left) {
		unsigned kind = number(&extensions, 2);
		struct cursor e = part(&extensions, number(&extensions, 2));

		if (extensions.failed)
			return TLS_HELLO_BAD;
		if (kind != 0)
			continue;
		if (result == TLS_HELLO_NAME)
			return TLS_HELLO_BAD;
		result = read_name(e, name);
		if (result == TLS_HELLO_BAD)
			return result;
	}
	return result;
}

/* ---- Ways to feed it ----------------------------------------------------------------------- */

static enum tls_hello_result feed_pieces(struct tls_hello *h, struct str in, size_t piece)
{
	tls_hello_init(h);
	for (size_t i = 0; i < in.len; i += piece)
		(void)tls_hello_feed(h, str_first(str_from(in, i), piece));
	return h->result;
}

static bool is_whole(enum tls_hello_result result)
{
	return result == TLS_HELLO_NAME || result == TLS_HELLO_NO_NAME;
}

/* As a tunnel does: how many hellos are whole, and in `h` where that has led to. */
static unsigned feed_all(struct tls_hello *h, struct str in, size_t piece)
{
	unsigned count = 0;

	tls_hello_init(h);
	for (size_t i = 0; i < in.len; i += piece) {
		struct str bytes = str_first(str_from(in, i), piece);

		while (is_whole(tls_hello_feed(h, bytes))) {
			bytes = str_from(bytes, h->taken);
			tls_hello_next(h);
			count++;
		}
		demand(h->result != TLS_HELLO_MORE || h->taken == bytes.len);
	}
	return count;
}

static void check_all(struct str in)
{
	struct tls_hello once, bytewise, halves;
	unsigned count = feed_all(&once, in, in.len + 1);

	demand(count == feed_all(&bytewise, in, 1));
	demand(count == feed_all(&halves, in, in.len / 2 + 1));
	demand(once.result == bytewise.result && once.result == halves.result);
	demand(tls_hello_is_between(&once) == tls_hello_is_between(&bytewise));
	demand(tls_hello_is_between(&once) == tls_hello_is_between(&halves));
}

static void check_name(const struct tls_hello *h)
{
	demand(h->name_len > 0 && h->name_len < TLS_HELLO_NAME_BYTES);
	demand(strlen(h->name) == h->name_len);
	for (size_t i = 0; i < h->name_len; i++)
		demand(h->name[i] > ' ' && h->name[i] < 0x7f);
}

static void check_records(const uint8_t *hello, size_t len, const struct tls_hello *want)
{
	struct tls_hello h;

	tls_hello_init(&h);
	for (size_t i = 0; i < len && h.result == TLS_HELLO_MORE; i++) {
		const char record[] = { 22, 3, 1, 0, 1, (char)hello[i] };

		(void)tls_hello_feed(&h, (struct str){ record, sizeof(record) });
	}
	demand(h.result == want->result);
	demand(h.result != TLS_HELLO_NAME || strcmp(h.name, want->name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t hello[TLS_HELLO_MAX_BYTES + 4];
	struct str in = { (const char *)data, size };
	struct tls_hello once, bytewise, halves;
	size_t len = join((struct cursor){ data, size, false }, hello, sizeof(hello));
	char name[TLS_HELLO_NAME_BYTES] = "";

	(void)feed_pieces(&once, in, size ? size : 1);
	(void)feed_pieces(&bytewise, in, 1);
	(void)feed_pieces(&halves, in, size / 2 + 1);
	demand(once.result == bytewise.result && once.result == halves.result);
	demand(strcmp(once.name, bytewise.name) == 0 && strcmp(once.name, halves.name) == 0);
	if (once.result == TLS_HELLO_NAME)
		check_name(&once);
	if (len) {
		demand(once.result == read_hello(hello, len, name));
		demand(once.result != TLS_HELLO_NAME || strcmp(once.name, name) == 0);
		check_records(hello, len, &once);
	} else {
		demand(!is_whole(once.result));
	}
	check_all(in);
	return 0;
}
