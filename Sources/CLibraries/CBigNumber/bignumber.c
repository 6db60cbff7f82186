#include "CBigNumber.h"
#include <gmp.h>
#include <stdlib.h>
#include <string.h>

/* Links the library also into programs built without the package manager, such as the fuzz targets. */
#pragma comment(lib, "gmp")

#define LIMB_BYTES (GMP_NUMB_BITS / 8)

/* One allocation for all temporaries, zeroed before it is freed. */
typedef struct {
  mp_limb_t *limbs;
  size_t count, used;
} arena;

static int arena_open(arena *memory, size_t count) {
  memory->limbs = calloc(count ? count : 1, sizeof(mp_limb_t));
  memory->count = count;
  memory->used = 0;
  return memory->limbs ? 0 : -1;
}

static mp_limb_t *arena_take(arena *memory, size_t count) {
  mp_limb_t *taken = memory->limbs + memory->used;
  memory->used += count;
  return taken;
}

static void arena_close(arena *memory) {
  explicit_bzero(memory->limbs, memory->count * sizeof(mp_limb_t));
  free(memory->limbs);
}

static size_t limbs_for(size_t bytes) { return (bytes + LIMB_BYTES - 1) / LIMB_BYTES; }

static void load(mp_limb_t *limbs, size_t count, const uint8_t *bytes, size_t length) {
  memset(limbs, 0, count * sizeof(mp_limb_t));
  for (size_t i = 0; i < length; i++)
    limbs[i / LIMB_BYTES] |= (mp_limb_t)bytes[length - 1 - i] << (8 * (i % LIMB_BYTES));
}

static void store(uint8_t *bytes, size_t length, const mp_limb_t *limbs, size_t count) {
  for (size_t i = 0; i < length; i++)
    bytes[length - 1 - i] =
        i / LIMB_BYTES < count ? (uint8_t)(limbs[i / LIMB_BYTES] >> (8 * (i % LIMB_BYTES))) : 0;
}

static int usable(const uint8_t *modulus, size_t length) {
  return length > 0 && length % LIMB_BYTES == 0 && length <= 4096 && modulus[0] != 0 && (modulus[length - 1] & 1);
}

int cbn_power(uint8_t *result, const uint8_t *base, const uint8_t *modulus, size_t length,
              const uint8_t *exponent, size_t exponent_length) {
  if (!usable(modulus, length) || exponent_length > 4096) return -1;
  size_t n = limbs_for(length), e = limbs_for(exponent_length);
  if (e == 0) e = 1;
  mp_bitcnt_t bits = (mp_bitcnt_t)e * GMP_NUMB_BITS;
  size_t scratch = (size_t)mpn_sec_powm_itch(n, bits, n);
  arena memory;
  if (arena_open(&memory, 3 * n + e + scratch) != 0) return -1;
  mp_limb_t *r = arena_take(&memory, n), *b = arena_take(&memory, n), *m = arena_take(&memory, n);
  mp_limb_t *x = arena_take(&memory, e), *t = arena_take(&memory, scratch);
  load(b, n, base, length);
  load(m, n, modulus, length);
  load(x, e, exponent, exponent_length);
  mpn_sec_powm(r, b, n, x, bits, m, n, t);
  store(result, length, r, n);
  arena_close(&memory);
  return 0;
}

int cbn_multiply(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length) {
  if (!usable(modulus, length)) return -1;
  size_t n = limbs_for(length);
  size_t multiply = (size_t)mpn_sec_mul_itch(n, n), divide = (size_t)mpn_sec_div_r_itch(2 * n, n);
  size_t scratch = multiply > divide ? multiply : divide;
  arena memory;
  if (arena_open(&memory, 5 * n + scratch) != 0) return -1;
  mp_limb_t *x = arena_take(&memory, n), *y = arena_take(&memory, n), *m = arena_take(&memory, n);
  mp_limb_t *p = arena_take(&memory, 2 * n), *t = arena_take(&memory, scratch);
  load(x, n, a, length);
  load(y, n, b, length);
  load(m, n, modulus, length);
  mpn_sec_mul(p, x, n, y, n, t);
  mpn_sec_div_r(p, 2 * n, m, n, t);
  store(result, length, p, n);
  arena_close(&memory);
  return 0;
}

static int add_or_subtract(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus,
                           size_t length, int subtracting) {
  if (!usable(modulus, length)) return -1;
  size_t n = limbs_for(length), scratch = (size_t)mpn_sec_div_r_itch(n + 1, n);
  arena memory;
  if (arena_open(&memory, 4 * n + 1 + scratch) != 0) return -1;
  mp_limb_t *x = arena_take(&memory, n + 1), *y = arena_take(&memory, n), *m = arena_take(&memory, n);
  arena_take(&memory, n);
  mp_limb_t *t = arena_take(&memory, scratch);
  load(x, n, a, length);
  load(y, n, b, length);
  load(m, n, modulus, length);
  /* Both are reduced first, so that one conditional addition suffices. */
  mpn_sec_div_r(x, n, m, n, t);
  mpn_sec_div_r(y, n, m, n, t);
  if (subtracting) {
    mp_limb_t borrow = mpn_sub_n(x, x, y, n);
    mpn_cnd_add_n(borrow, x, x, m, n);
  } else {
    x[n] = mpn_add_n(x, x, y, n);
    mpn_sec_div_r(x, n + 1, m, n, t);
  }
  store(result, length, x, n);
  arena_close(&memory);
  return 0;
}

int cbn_add(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length) {
  return add_or_subtract(result, a, b, modulus, length, 0);
}

int cbn_subtract(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length) {
  return add_or_subtract(result, a, b, modulus, length, 1);
}

int cbn_multiply_add(uint8_t *result, size_t result_length, const uint8_t *factor, size_t factor_length,
                     const uint8_t *other, size_t other_length, const uint8_t *addend, size_t addend_length) {
  size_t f = limbs_for(factor_length), o = limbs_for(other_length), d = limbs_for(addend_length);
  if (f == 0 || o == 0 || f + o > 4096 || d > 4096) return -1;
  size_t product = f + o, sum = (product > d ? product : d) + 1;
  size_t bytes = factor_length + other_length;
  if (addend_length > bytes) bytes = addend_length;
  if (result_length < bytes + 1) return -1;
  mp_size_t large = (mp_size_t)(f > o ? f : o), small = (mp_size_t)(f > o ? o : f);
  size_t scratch = (size_t)mpn_sec_mul_itch(large, small);
  arena memory;
  if (arena_open(&memory, f + o + 2 * sum + scratch) != 0) return -1;
  mp_limb_t *x = arena_take(&memory, f), *y = arena_take(&memory, o);
  mp_limb_t *p = arena_take(&memory, sum), *a = arena_take(&memory, sum), *t = arena_take(&memory, scratch);
  load(x, f, factor, factor_length);
  load(y, o, other, other_length);
  load(a, sum, addend, addend_length);
  if (f >= o)
    mpn_sec_mul(p, x, large, y, small, t);
  else
    mpn_sec_mul(p, y, large, x, small, t);
  mpn_add_n(p, p, a, (mp_size_t)sum);
  store(result, result_length, p, sum);
  arena_close(&memory);
  return 0;
}
