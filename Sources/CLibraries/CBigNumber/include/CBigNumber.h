#pragma once
#include <stddef.h>
#include <stdint.h>

/*
 * Arithmetic modulo one odd number, on big-endian byte strings of one length, in time that depends on lengths only.
 * Written in C because every public name of GMP is a macro that Swift cannot see. Uses GMP's side-channel quiet
 * layer (mpn_sec_*), whose scratch memory is ours, so that every limb that held a secret is wiped before return.
 *
 * All functions return 0 when done and -1 when a length or the modulus is unusable (zero length, even modulus,
 * modulus with a leading zero byte) or memory is short; the result is then untouched.
 */

/* result = base ^ exponent mod modulus. A zero exponent gives 1. */
int cbn_power(uint8_t *result, const uint8_t *base, const uint8_t *modulus, size_t length,
              const uint8_t *exponent, size_t exponent_length);

/* result = a * b mod modulus */
int cbn_multiply(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length);

/* result = a + b mod modulus */
int cbn_add(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length);

/* result = a - b mod modulus */
int cbn_subtract(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length);

/* result = factor * other + addend, without a modulus; fails when result_length cannot hold every possible sum. */
int cbn_multiply_add(uint8_t *result, size_t result_length, const uint8_t *factor, size_t factor_length,
                     const uint8_t *other, size_t other_length, const uint8_t *addend, size_t addend_length);
