/* SPDX-License-Identifier: MIT */
/* See idna.h. */
#include "base/idna.h"

#include "base/idna_table.h"
#include "base/utf8.h"

/* Punycode: the names and numbers of RFC 3492, section 5. */
enum {
	PUNY_BASE = 36,
	PUNY_TMIN = 1,
	PUNY_TMAX = 26,
	PUNY_SKEW = 38,
	PUNY_DAMP = 700,
	PUNY_BIAS = 72,
	PUNY_FIRST = 0x80,
};

/* Section 6.1. */
static uint32_t puny_adapt(uint32_t delta, size_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / PUNY_DAMP : delta / 2;
	delta += delta / (uint32_t)points;
	for (; delta > (PUNY_BASE - PUNY_TMIN) * PUNY_TMAX / 2; k += PUNY_BASE)
		delta /= PUNY_BASE - PUNY_TMIN;
	return k + (PUNY_BASE - PUNY_TMIN + 1) * delta / (delta + PUNY_SKEW);
}

static uint32_t puny_threshold(uint32_t k, uint32_t bias)
{
	if (k <= bias + PUNY_TMIN)
		return PUNY_TMIN;
	return k >= bias + PUNY_TMAX ? PUNY_TMAX : k - bias;
}

struct puny_out {
	char *p;
	size_t room, len;
	bool full;
};

static void puny_put(struct puny_out *o, uint32_t digit)
{
	if (o->len < o->room)
		o->p[o->len++] = (char)(digit < 26 ? 'a' + digit : '0' + digit - 26);
	else
		o->full = true;
}

/* A number in digits whose weights depend on `bias`. */
static void puny_put_number(struct puny_out *o, uint32_t n, uint32_t bias)
{
	for (uint32_t k = PUNY_BASE;; k += PUNY_BASE) {
		uint32_t t = puny_threshold(k, bias);

		if (n < t)
			break;
		puny_put(o, t + (n - t) % (PUNY_BASE - t));
		n = (n - t) / (PUNY_BASE - t);
	}
	puny_put(o, n);
}

static uint32_t smallest_from(const uint32_t *in, size_t count, uint32_t from)
{
	uint32_t smallest = UINT32_MAX;

	for (size_t i = 0; i < count; i++)
		if (in[i] >= from && in[i] < smallest)
			smallest = in[i];
	return smallest;
}

/* Section 6.3. A delta can't overflow: labels are short, see idna_label_parse. */
bool punycode_encode(const uint32_t *in, size_t count, char *out, size_t room, size_t *len)
{
	struct puny_out o = { .p = out, .room = room };
	uint32_t bias = PUNY_BIAS, n = PUNY_FIRST, delta = 0;
	size_t basic, done;

	if (count > IDNA_MAX_LABEL)
		return false;
	for (size_t i = 0; i < count; i++)
		if (in[i] < PUNY_FIRST) {
			if (o.len == room)
				return false;
			out[o.len++] = (char)in[i];
		}
	done = basic = o.len;
	if (basic > 0) {
		if (o.len == room)
			return false;
		out[o.len++] = '-';
	}
	while (done < count && !o.full) {
		uint32_t next = smallest_from(in, count, n);

		delta += (next - n) * (uint32_t)(done + 1);
		n = next;
		for (size_t i = 0; i < count; i++) {
			delta += in[i] < n;
			if (in[i] != n)
				continue;
			puny_put_number(&o, delta, bias);
			bias = puny_adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
		delta++;
		n++;
	}
	*len = o.len;
	return !o.full;
}

static int puny_digit(char c)
{
	if (ascii_is_digit(c))
		return c - '0' + 26;
	return ascii_is_alpha(c) ? ascii_lower(c) - 'a' : -1;
}

/* Section 6.2: one number at `*at`, added to `*i`. */
static bool puny_get_number(struct str in, size_t *at, uint32_t bias, uint32_t *i)
{
	uint32_t weight = 1;

	for (uint32_t k = PUNY_BASE;; k += PUNY_BASE) {
		int digit = *at < in.len ? puny_digit(in.p[(*at)++]) : -1;
		uint32_t t = puny_threshold(k, bias);

		if (digit < 0 || (uint32_t)digit > (UINT32_MAX - *i) / weight)
			return false;
		*i += (uint32_t)digit * weight;
		if ((uint32_t)digit < t)
			return true;
		if (weight > UINT32_MAX / (PUNY_BASE - t))
			return false;
		weight *= PUNY_BASE - t;
	}
}

bool punycode_decode(struct str in, uint32_t *out, size_t room, size_t *count)
{
	uint32_t bias = PUNY_BIAS, n = PUNY_FIRST, i = 0;
	size_t basic = in.len, used, at;

	while (basic > 0 && in.p[basic - 1] != '-')
		basic--;
	at = basic; /* behind the last hyphen, which is no character itself */
	used = basic > 0 ? basic - 1 : 0;
	if (used > room)
		return false;
	for (size_t k = 0; k < used; k++) {
		if ((unsigned char)in.p[k] >= PUNY_FIRST)
			return false;
		out[k] = (unsigned char)in.p[k];
	}
	while (at < in.len) {
		uint32_t before = i;

		if (used == room || !puny_get_number(in, &at, bias, &i))
			return false;
		bias = puny_adapt(i - before, used + 1, before == 0);
		if (i / (uint32_t)(used + 1) > UINT32_MAX - n)
			return false;
		n += i / (uint32_t)(used + 1);
		i %= (uint32_t)(used + 1);
		if (n > 0x10FFFF)
			return false;
		memmove(out + i + 1, out + i, (used - i) * sizeof(*out));
		out[i++] = n;
		used++;
	}
	*count = used;
	return true;
}

/* Characters */

static const struct idna_run *find_allowed(uint32_t c)
{
	size_t low = 0, high = idna_allowed_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct idna_run *run = &idna_allowed[middle];

		if (c < run->first)
			high = middle;
		else if (c > run->last)
			low = middle + 1;
		else
			return (c - run->first) % run->step == 0 ? run : NULL;
	}
	return NULL;
}

static uint32_t fold(uint32_t c)
{
	size_t low = 0, high = idna_folds_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct idna_fold *run = &idna_folds[middle];

		if (c < run->first)
			high = middle;
		else if (c > run->last)
			low = middle + 1;
		else
			return (c - run->first) % run->step == 0 ? run->to + (c - run->first) : c;
	}
	return c;
}

/* What NFC makes of the two, or 0. */
static uint32_t compose(uint32_t first, uint32_t second)
{
	size_t low = 0, high = idna_pairs_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct idna_pair *pair = &idna_pairs[middle];

		if (pair->second == second && pair->first == first)
			return pair->both;
		if (second < pair->second || (second == pair->second && first < pair->first))
			high = middle;
		else
			low = middle + 1;
	}
	return 0;
}

static const struct idna_pair *find_composed(uint32_t both)
{
	for (size_t i = 0; i < idna_pairs_count; i++)
		if (idna_pairs[i].both == both)
			return &idna_pairs[i];
	return NULL;
}

static int check_allowed(const uint32_t *c, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (!find_allowed(c[i]))
			return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
					  "U+%04X can't be part of a host name", (unsigned)c[i]);
	if (find_allowed(c[0])->kind & IDNA_MARK)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "a label can't start with the combining mark U+%04X",
				  (unsigned)c[0]);
	return 0;
}

/* Characters that are being brought into NFC; one of a label becomes four at most. */
struct nfc {
	uint32_t c[4 * IDNA_MAX_LABEL];
	uint8_t class[4 * IDNA_MAX_LABEL]; /* canonical combining class */
	size_t count;
};

/* Adds one character, decomposed, each part at its place in canonical order (UAX 15). */
static void nfc_add(struct nfc *n, uint32_t c)
{
	uint32_t parts[4];
	size_t count = 0;

	for (const struct idna_pair *pair; count < 3 && (pair = find_composed(c)); c = pair->first)
		parts[count++] = pair->second;
	parts[count++] = c;
	while (count-- > 0) {
		const struct idna_run *run = find_allowed(parts[count]);
		uint8_t class = run ? run->combining : 0;
		size_t at = n->count++;

		for (; class && at > 0 && n->class[at - 1] > class; at--) {
			n->c[at] = n->c[at - 1];
			n->class[at] = n->class[at - 1];
		}
		n->c[at] = parts[count];
		n->class[at] = class;
	}
}

/* Composes each character with the last starter, unless one between blocks it (UAX 15, D117). */
static void nfc_compose(struct nfc *n)
{
	size_t used = 1, starter = 0;

	for (size_t i = 1; i < n->count; i++) {
		bool adjacent = used == starter + 1;
		uint32_t both = 0;

		if (adjacent || n->class[used - 1] < n -> class[i])
			both = compose(n->c[starter], n->c[i]);
		if (both) {
			n->c[starter] = both;
			continue;
		}
		if (n->class[i] == 0)
			starter = used;
		n->c[used] = n->c[i];
		n->class[used++] = n->class[i];
	}
	n->count = used;
}

/*
 * Whether the characters, all allowed and the first no mark, are their own NFC.
 * Hangul syllables count as they are: their parts are not allowed in a name.
 */
static bool is_nfc(const uint32_t *c, size_t count)
{
	struct nfc n = { .count = 0 };

	for (size_t i = 0; i < count; i++)
		nfc_add(&n, c[i]);
	nfc_compose(&n);
	return n.count == count && memcmp(n.c, c, count * sizeof(*c)) == 0;
}

/* RFC 5893, section 2. `kind` as in struct idna_run. */
static bool keeps_bidi_rule(const uint8_t *kinds, size_t count)
{
	unsigned first = kinds[0] & IDNA_BIDI, end = IDNA_OTHER;
	bool has_en = false, has_an = false;

	if (first != IDNA_L && first != IDNA_R)
		return false;
	for (size_t i = 0; i < count; i++) {
		unsigned kind = kinds[i] & IDNA_BIDI;

		has_en |= kind == IDNA_EN;
		has_an |= kind == IDNA_AN;
		if (kind == (first == IDNA_L ? IDNA_R : IDNA_L) ||
		    (first == IDNA_L && kind == IDNA_AN))
			return false;
		if (kind != IDNA_NSM)
			end = kind;
	}
	if (first == IDNA_L)
		return end == IDNA_L || end == IDNA_EN;
	return !(has_en && has_an) && (end == IDNA_R || end == IDNA_EN || end == IDNA_AN);
}

static void judge_bidi(const uint32_t *c, size_t count, struct idna_label *out)
{
	uint8_t kinds[IDNA_MAX_LABEL] = { IDNA_OTHER };

	out->rtl = false;
	for (size_t i = 0; i < count; i++) {
		const struct idna_run *run = find_allowed(c[i]);

		kinds[i] = run ? run->kind : IDNA_OTHER;
		out->rtl |= (kinds[i] & IDNA_BIDI) == IDNA_R || (kinds[i] & IDNA_BIDI) == IDNA_AN;
	}
	out->bidi_ok = keeps_bidi_rule(kinds, count);
}

/* Labels */

/* A label of more than ASCII, mapped already: RFC 5891, 4.2.3, and RFC 5893. */
static int check_u_label(const uint32_t *c, size_t count, struct idna_label *out, struct err *e)
{
	if (check_allowed(c, count, e) < 0)
		return err_result(e);
	if (c[0] == '-' || c[count - 1] == '-')
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a label can't start or end with '-'");
	if (count >= 4 && c[2] == '-' && c[3] == '-')
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "'--' in the third place marks an encoded label");
	if (!is_nfc(c, count))
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "a label is not in its composed form (NFC); "
				  "write that, or the encoded form (xn--...)");
	judge_bidi(c, count, out);
	if (out->rtl && !out->bidi_ok)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "a label mixes writing directions (RFC 5893)");
	return 0;
}

static int encode(const uint32_t *c, size_t count, struct idna_label *out, struct err *e)
{
	memcpy(out->text, "xn--", 4);
	if (!punycode_encode(c, count, out->text + 4, IDNA_MAX_LABEL - 4, &out->len))
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "a label has more than %d bytes in its encoded form",
				  IDNA_MAX_LABEL);
	out->len += 4;
	out->text[out->len] = '\0';
	return 0;
}

/*
 * A label must have exactly one encoding. Otherwise one host would have two names, and a rule for
 * one would not cover the other.
 */
static int check_a_label(struct idna_label *label, struct err *e)
{
	struct str text = { label->text, label->len };
	struct idna_label again = { .len = 0 };
	uint32_t c[IDNA_MAX_LABEL];
	size_t count = 0;
	bool plain = true;

	if (!punycode_decode(str_from(text, 4), c, COUNT_OF(c), &count) || count == 0)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "'%s' is not Punycode", label->text);
	for (size_t i = 0; i < count; i++)
		plain &= c[i] < 0x80;
	if (plain)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "'%s' encodes a plain label", label->text);
	if (check_u_label(c, count, label, e) < 0)
		return err_wrap(e, "'%s'", label->text);
	if (encode(c, count, &again, e) < 0 || again.len != label->len ||
	    memcmp(again.text, label->text, label->len) != 0)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "'%s' is not the standard encoding of its name", label->text);
	return 0;
}

/*
 * Letters, digits and '-', mapped already; and '_', which is in no host name but
 * in many real ones (RFC 8552). '--' in the third place is left alone: names as
 * r3---sn-x.googlevideo.com have it, and only "xn--" has a meaning.
 */
static int parse_ascii(const uint32_t *c, size_t count, struct idna_label *out, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		if (!find_allowed(c[i]) && c[i] != '_') {
			if (c[i] > 0x20 && c[i] < 0x7f)
				return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
						  "'%c' can't be part of a host name", (char)c[i]);
			return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
					  "U+%04X can't be part of a host name", (unsigned)c[i]);
		}
		out->text[i] = (char)c[i];
	}
	out->text[count] = '\0';
	out->len = count;
	if (c[0] == '-' || c[count - 1] == '-')
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a label can't start or end with '-'");
	if (count >= 4 && memcmp(out->text, "xn--", 4) == 0)
		return check_a_label(out, e);
	judge_bidi(c, count, out);
	return 0;
}

int idna_label_parse(struct str text, struct idna_label *out, struct err *e)
{
	struct idna_label label = { .len = 0 };
	uint32_t c[IDNA_MAX_LABEL];
	size_t count = 0;
	bool ascii = true;
	int result;

	if (text.len == 0)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a label is empty");
	for (size_t at = 0; at < text.len; count++) {
		if (count == COUNT_OF(c))
			return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a label has more than %d bytes",
					  IDNA_MAX_LABEL);
		if (!utf8_next(text, &at, &c[count]))
			return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "the name is not UTF-8");
		c[count] = fold(c[count]);
		ascii &= c[count] < 0x80;
	}
	if (ascii) {
		result = parse_ascii(c, count, &label, e);
	} else {
		result = check_u_label(c, count, &label, e);
		if (result == 0)
			result = encode(c, count, &label, e);
	}
	if (result < 0)
		return result;
	*out = label;
	return 0;
}
