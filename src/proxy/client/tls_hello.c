/* SPDX-License-Identifier: MIT */
/*
 * See tls_hello.h. Two state machines take one byte at a time: the outer one splits the stream into
 * TLS records, the inner one parses the ClientHello that the records contain.
 */
#include "proxy/client/tls_hello.h"

enum {
	RECORD_KIND_FIRST = 20,
	RECORD_CCS = 20,
	RECORD_ALERT = 21,
	RECORD_HANDSHAKE = 22,
	RECORD_DATA = 23,
	RECORD_KIND_LAST = 24,
	VERSION_END = 0x10, /* versions from here on do not exist */
	RECORD_MAX = 16384,
	RECORD_MAX_ENCRYPTED = RECORD_MAX + 2048, /* RFC 5246, 6.2.3; TLS 1.3 allows less */
	CLIENT_HELLO = 1,
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_EARLY_DATA = 42,
};

enum record_state {
	RECORD_KIND,
	RECORD_MAJOR,
	RECORD_MINOR,
	RECORD_LENGTH,
	RECORD_LENGTH_2,
	RECORD_BODY
};

/* A field of two bytes has two states, one directly after the other. */
enum state {
	HELLO_KIND,
	HELLO_LENGTH,
	HELLO_LENGTH_2,
	HELLO_LENGTH_3,
	SESSION,
	CIPHERS,
	CIPHERS_2,
	COMPRESSIONS,
	EXTENSIONS,
	EXTENSIONS_2,
	EXTENSION_KIND,
	EXTENSION_KIND_2,
	EXTENSION_LENGTH,
	EXTENSION_LENGTH_2,
	LIST,
	LIST_2,
	NAME_KIND,
	NAME_LENGTH,
	NAME_LENGTH_2,
	NAME,
};

enum { FIXED_BYTES = 2 + 32, SESSION_MAX = 32 };

void tls_hello_init(struct tls_hello *h)
{
	*h = (struct tls_hello){ .result = TLS_HELLO_MORE };
}

static void fail(struct tls_hello *h)
{
	h->result = TLS_HELLO_BAD;
}

/* ---- The hello ----------------------------------------------------------------------- */

/* Skips `bytes`, all of which must belong to the hello, and then reads `next`. */
static void skip_to(struct tls_hello *h, uint32_t bytes, enum state next)
{
	if (bytes > h->left)
		fail(h);
	h->skip = bytes;
	h->state = (uint8_t)next;
}

static void begin_extensions(struct tls_hello *h)
{
	/* Extensions must fill the rest of the hello. */
	if (h->number != h->left)
		fail(h);
	h->state = EXTENSION_KIND;
}

/* The extension's length is known. Skips the extension unless it is one that counts. */
static void begin_extension(struct tls_hello *h)
{
	h->extension_left = h->number;
	/* `left` no longer counts this header. */
	if (h->extension_left > h->left) {
		fail(h);
		return;
	}
	h->has_early_data |= h->extension == EXTENSION_EARLY_DATA;
	if (h->extension != EXTENSION_SERVER_NAME) {
		skip_to(h, h->extension_left, EXTENSION_KIND);
		return;
	}
	/*
	 * SECURITY: refuse a second server name. A server might use that one, and only one is
	 * checked.
	 */
	if (h->has_name)
		fail(h);
	h->has_name = true;
	h->state = LIST;
}

static void begin_name(struct tls_hello *h)
{
	/*
	 * The list must hold exactly one name: 2 bytes of its length, 1 of the type, 2 of the
	 * name's length.
	 */
	if (h->number == 0 || h->number >= TLS_HELLO_NAME_BYTES ||
	    h->number + 5U != h->extension_left)
		fail(h);
	h->state = NAME;
}

static void add_to_name(struct tls_hello *h, uint8_t byte)
{
	if (byte <= ' ' || byte >= 0x7F) {
		fail(h);
		return;
	}
	h->name[h->name_len++] = (char)byte;
	if (h->name_len == h->number)
		h->state = EXTENSION_KIND;
}

/* The fields up to the extensions. */
static void take_head(struct tls_hello *h, uint8_t byte)
{
	switch (h->state) {
	case HELLO_KIND:
		if (byte != CLIENT_HELLO && h->is_next)
			h->result = TLS_HELLO_NOT_TLS;
		else if (byte != CLIENT_HELLO)
			fail(h);
		h->state = HELLO_LENGTH;
		break;
	case HELLO_LENGTH:
		if (byte != 0)
			fail(h);
		h->state = HELLO_LENGTH_2;
		break;
	case HELLO_LENGTH_3:
		h->left = h->number;
		if (h->left > TLS_HELLO_MAX_BYTES)
			fail(h);
		else
			skip_to(h, FIXED_BYTES, SESSION);
		break;
	case SESSION:
		if (byte > SESSION_MAX)
			fail(h);
		else
			skip_to(h, byte, CIPHERS);
		break;
	case CIPHERS_2:
		if (h->number == 0 || h->number % 2)
			fail(h);
		else
			skip_to(h, h->number, COMPRESSIONS);
		break;
	case COMPRESSIONS:
		if (byte == 0)
			fail(h);
		else
			skip_to(h, byte, EXTENSIONS);
		break;
	default: /* the first byte of a number */
		h->state++;
		break;
	}
}

static void take_extension(struct tls_hello *h, uint8_t byte)
{
	switch (h->state) {
	case EXTENSIONS_2:
		begin_extensions(h);
		break;
	case EXTENSION_KIND_2:
		h->extension = h->number;
		h->state = EXTENSION_LENGTH;
		break;
	case EXTENSION_LENGTH_2:
		begin_extension(h);
		break;
	case LIST_2:
		if (h->number + 2U != h->extension_left)
			fail(h);
		h->state = NAME_KIND;
		break;
	case NAME_KIND:
		if (byte != 0)
			fail(h);
		h->state = NAME_LENGTH;
		break;
	case NAME_LENGTH_2:
		begin_name(h);
		break;
	case NAME:
		add_to_name(h, byte);
		break;
	default: /* the first byte of a number */
		h->state++;
		break;
	}
}

/* Whether the hello may end here: after the compression methods, or after an extension. */
static bool may_end(const struct tls_hello *h)
{
	return h->skip == 0 && (h->state == EXTENSIONS || h->state == EXTENSION_KIND);
}

static void end_hello(struct tls_hello *h)
{
	if (!may_end(h))
		fail(h);
	else
		h->result = h->has_name ? TLS_HELLO_NAME : TLS_HELLO_NO_NAME;
}

static void take_byte(struct tls_hello *h, uint8_t byte)
{
	bool counts = h->state > HELLO_LENGTH_3;

	if (counts)
		h->left--;
	if (h->skip) {
		h->skip--;
	} else {
		/* The inner machine must not change the name's length while the name is read. */
		if (h->state != NAME)
			h->number = (uint16_t)(h->number << 8 | byte);
		if (h->state < EXTENSIONS)
			take_head(h, byte);
		else
			take_extension(h, byte);
	}
	if (h->result == TLS_HELLO_MORE && counts && h->left == 0)
		end_hello(h);
}

/* ---- Records --------------------------------------------------------------------------- */

/*
 * Record types that may come between two hellos. SECURITY: also application data, if the first
 * hello announced early data. A server that asks for a second hello skips that data; if the
 * search ended there, the second hello would pass unchecked.
 */
static bool may_come_between(const struct tls_hello *h, uint8_t kind)
{
	return kind == RECORD_CCS || kind == RECORD_ALERT ||
	       (kind == RECORD_DATA && h->comes_early);
}

/*
 * The first two bytes decide whether the stream is TLS; every later record has to be. SECURITY:
 * some servers also accept a stream that begins with another record type (an alert, which they
 * skip) or another version below 16, and then read a hello. So such a stream is refused as malformed
 * TLS; if it passed as another protocol, its hello would be unchecked.
 */
static void begin_record(struct tls_hello *h, uint8_t kind)
{
	bool is_first = h->state == HELLO_KIND;

	h->is_skipped = is_first && h->is_next && may_come_between(h, kind);
	if (h->is_skipped) {
		h->record_state = RECORD_MAJOR;
		return;
	}
	if (kind != RECORD_HANDSHAKE && !is_first)
		fail(h);
	else if ((kind != RECORD_HANDSHAKE && h->is_next) || kind < RECORD_KIND_FIRST ||
		 kind > RECORD_KIND_LAST)
		h->result = TLS_HELLO_NOT_TLS;
	h->is_odd = kind != RECORD_HANDSHAKE;
	h->record_state = RECORD_MAJOR;
}

static void take_major(struct tls_hello *h, uint8_t major)
{
	if (h->state == HELLO_KIND && !h->is_next && major >= VERSION_END)
		h->result = TLS_HELLO_NOT_TLS;
	else if (h->is_odd || major != 3)
		fail(h);
	h->record_state = RECORD_MINOR;
}

static void take_record_byte(struct tls_hello *h, uint8_t byte)
{
	switch ((enum record_state)h->record_state) {
	case RECORD_KIND:
		begin_record(h, byte);
		break;
	case RECORD_MAJOR:
		take_major(h, byte);
		break;
	case RECORD_MINOR:
		h->record_state = RECORD_LENGTH;
		break;
	case RECORD_LENGTH:
		h->record_left = (uint16_t)(byte << 8);
		h->record_state = RECORD_LENGTH_2;
		break;
	case RECORD_LENGTH_2:
		h->record_left = (uint16_t)(h->record_left | byte);
		if (h->record_left == 0 ||
		    h->record_left > (h->is_skipped ? RECORD_MAX_ENCRYPTED : RECORD_MAX))
			fail(h);
		h->record_state = RECORD_BODY;
		break;
	case RECORD_BODY:
		take_byte(h, byte);
		if (--h->record_left == 0)
			h->record_state = RECORD_KIND;
		break;
	}
}

static bool is_in_skipped(const struct tls_hello *h)
{
	return h->is_skipped && h->record_state == RECORD_BODY;
}

/* How many of `len` bytes belong to a record that is skipped. */
static size_t skip_body(struct tls_hello *h, size_t len)
{
	size_t n = MIN_OF(len, (size_t)h->record_left);

	h->record_left = (uint16_t)(h->record_left - n);
	if (h->record_left == 0)
		h->record_state = RECORD_KIND;
	return n;
}

enum tls_hello_result tls_hello_feed(struct tls_hello *h, struct str bytes)
{
	size_t i = 0;

	h->settled = 0;
	while (i < bytes.len && h->result == TLS_HELLO_MORE) {
		if (is_in_skipped(h))
			i += skip_body(h, bytes.len - i);
		else
			take_record_byte(h, (uint8_t)bytes.p[i++]);
		if (tls_hello_is_between(h))
			h->settled = i;
	}
	h->taken = i;
	return h->result;
}

void tls_hello_next(struct tls_hello *h)
{
	/* The second hello may begin in the record in which the first one ends. */
	*h = (struct tls_hello){ .result = TLS_HELLO_MORE,
				 .record_state = h->record_state,
				 .record_left = h->record_left,
				 .is_next = true,
				 .comes_early = h->has_early_data };
}

/* A record whose type shows that it is skipped can't contain a hello. */
bool tls_hello_is_between(const struct tls_hello *h)
{
	return h->is_next && h->state == HELLO_KIND &&
	       (h->record_state == RECORD_KIND || h->is_skipped);
}
