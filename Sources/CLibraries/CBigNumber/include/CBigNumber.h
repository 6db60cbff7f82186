#pragma once
#include <stddef.h>
#include <stdint.h>

/*
 * Arithmetic modulo an odd number on big-endian byte strings of equal length. The running time depends on lengths only.
 *
 * Written in C because all public names of GMP are macros, which Swift does not import. Uses GMP's side-channel quiet
 * functions (mpn_sec_*) with caller-provided scratch memory, so that every limb of a secret is zeroed before return.
 *
 * All functions return 0 on success. They return -1, with the result unchanged, for an invalid length or modulus (zero
 * length, even modulus, leading zero byte in the modulus), or if out of memory.
 */

/* result = base ^ exponent mod modulus. The result of a zero exponent is 1. */
int cbn_power(uint8_t *result, const uint8_t *base, const uint8_t *modulus, size_t length,
              const uint8_t *exponent, size_t exponent_length);

/* result = a * b mod modulus */
int cbn_multiply(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length);

/* result = a + b mod modulus */
int cbn_add(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length);

/* result = a - b mod modulus */
int cbn_subtract(uint8_t *result, const uint8_t *a, const uint8_t *b, const uint8_t *modulus, size_t length);

/* result = factor * other + addend, without a modulus. Fails if result_length cannot hold the maximum sum. */
int cbn_multiply_add(uint8_t *result, size_t result_length, const uint8_t *factor, size_t factor_length,
                     const uint8_t *other, size_t other_length, const uint8_t *addend, size_t addend_length);
