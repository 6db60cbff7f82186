internal import CBigNumber

/// The arithmetic of HomeKit pairing: RFC 5054 appendix A, 3072 bits, generator 5.
///
/// Numbers are big-endian strings of 384 bytes. `minimal` removes leading zeros, as the hashes of HomeKit require.
enum SRPGroup {
    /// Size of a number in bytes.
    static let size = 384

    static let modulus: [UInt8] = {
        var bytes: [UInt8] = []
        var digits = Array(modulusDigits.utf8)[...]
        while let high = digits.popFirst(), let low = digits.popFirst() {
            func value(_ digit: UInt8) -> UInt8 { digit < 0x3A ? digit - 0x30 : digit - 0x37 }
            bytes.append(value(high) << 4 | value(low))
        }
        return bytes
    }()

    static let generator: [UInt8] = padded([5])

    private static let modulusDigits = """
        FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74\
        020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437\
        4FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
        EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF05\
        98DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356208552BB\
        9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B\
        E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF695581718\
        3995497CEA956AE515D2261898FA051015728E5A8AAAC42DAD33170D04507A33\
        A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7\
        ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864\
        D87602733EC86A64521F2B18177B200CBBE117577A615D6C770988C0BAD946E2\
        08E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF
        """

    /// Returns a number with leading zeros, 384 bytes.
    static func padded(_ number: [UInt8]) -> [UInt8] {
        [UInt8](repeating: 0, count: max(0, size - number.count)) + number
    }

    /// Returns a number without leading zeros.
    static func minimal(_ number: some Collection<UInt8>) -> [UInt8] { Array(number.drop { $0 == 0 }) }

    static func isZero(_ number: [UInt8]) -> Bool { number.allSatisfy { $0 == 0 } }

    /// Returns base ^ exponent mod N. The running time depends on the exponent's length only.
    static func power(_ base: [UInt8], _ exponent: SecretBytes) -> SecretBytes {
        SecretBytes(count: size) { result in
            exponent.withBytes { exponent in
                check(cbn_power(result.baseAddress!, base, modulus, size, exponent.baseAddress!, exponent.count))
            }
        }
    }

    /// Returns a × b mod N.
    static func multiply(_ a: [UInt8], _ b: SecretBytes) -> SecretBytes {
        SecretBytes(count: size) { result in
            b.withBytes { b in check(cbn_multiply(result.baseAddress!, a, b.baseAddress!, modulus, size)) }
        }
    }

    /// Returns a + b mod N.
    static func add(_ a: SecretBytes, _ b: SecretBytes) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: size)
        a.withBytes { a in
            b.withBytes { b in check(cbn_add(&result, a.baseAddress!, b.baseAddress!, modulus, size)) }
        }
        return result
    }

    /// Returns a - b mod N.
    static func subtract(_ a: [UInt8], _ b: SecretBytes) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: size)
        b.withBytes { b in check(cbn_subtract(&result, a, b.baseAddress!, modulus, size)) }
        return result
    }

    /// Returns number mod N.
    static func reduced(_ number: [UInt8]) -> [UInt8] {
        subtract(number, SecretBytes([UInt8](repeating: 0, count: size)))
    }

    /// Returns factor × other + addend without a modulus, for the exponent a + u·x.
    static func multiplyAdd(_ factor: [UInt8], _ other: SecretBytes, _ addend: SecretBytes) -> SecretBytes {
        SecretBytes(count: max(factor.count + other.count, addend.count) + 1) { result in
            other.withBytes { other in
                addend.withBytes { addend in
                    check(
                        cbn_multiply_add(
                            result.baseAddress!, result.count, factor, factor.count, other.baseAddress!, other.count,
                            addend.baseAddress!, addend.count))
                }
            }
        }
    }

    /// Traps on failure: lengths and modulus are constants, so it is a programming error or exhausted memory.
    private static func check(_ code: Int32) { precondition(code == 0, "big-number arithmetic refused its operands") }
}
