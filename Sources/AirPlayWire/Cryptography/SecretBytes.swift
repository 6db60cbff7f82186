internal import CSodium

/// Secret bytes (keys, exponents, passwords) that are zeroed on deallocation.
///
/// `@unchecked Sendable`: the bytes are written once, before `init` returns, and only read afterwards.
package final class SecretBytes: @unchecked Sendable {
    let count: Int
    private let storage: UnsafeMutablePointer<UInt8>

    /// Creates a secret that `fill` writes in place, so that no other copy exists.
    init<Failure: Error>(
        count: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        self.count = count
        storage = .allocate(capacity: max(1, count))
        storage.initialize(repeating: 0, count: max(1, count))
        try fill(UnsafeMutableBufferPointer(start: storage, count: count))
    }

    /// Copies bytes; zeroing the original is the caller's responsibility.
    package convenience init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { target in _ = target.initialize(from: bytes) }
    }

    /// Returns random bytes from the system's generator.
    package static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { Sodium.fill($0) }
    }

    deinit {
        sodium_memzero(storage, count)
        storage.deallocate()
    }

    /// Calls `body` with the bytes in place; the pointer must not escape.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeBufferPointer(start: storage, count: count))
    }

    /// Returns a new secret with the first bytes of this one.
    func prefix(_ length: Int) -> SecretBytes {
        withBytes { source in SecretBytes(source.prefix(length)) }
    }
}

extension SecretBytes: Equatable {
    /// Compares in time that depends on the lengths only.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.count == right.count && sodium_memcmp(left.storage, right.storage, left.count) == 0
    }
}

/// The libsodium functions that several files use, after its initialization.
enum Sodium {
    /// Initializes libsodium once, from any thread (sodium_init). False on failure.
    static let ready: Bool = sodium_init() >= 0

    static func fill(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
        precondition(ready, "libsodium cannot be initialised: the system has no source of randomness")
        randombytes_buf(bytes.baseAddress!, bytes.count)
    }

    static func sha512(_ parts: [UInt8]...) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 64)
        var state = crypto_hash_sha512_state()
        crypto_hash_sha512_init(&state)
        for part in parts { crypto_hash_sha512_update(&state, part, UInt64(part.count)) }
        crypto_hash_sha512_final(&state, &digest)
        sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        return digest
    }

    /// Returns true if both are equal, in time that depends on the lengths only.
    static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }
}
